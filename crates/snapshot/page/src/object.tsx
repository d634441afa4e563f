// All about one object: why it is alive, paths, edges, the objects that it keeps.

import type { Details, Edge, Edges, Objects, Path } from "./api";
import { useAnswer } from "./api";
import { bytes, count, visible } from "./format";
import { type Column, ObjectLink, Pages, Place, Table, objectColumns } from "./parts";
import { SourceLines } from "./source";
import { fragment, type State } from "./state";
import { Waiting } from "./waiting";

const ROWS = 20;

const edgeColumns: Column<Edge>[] = [
  { title: "by", cell: (row) => <><code>{visible(row.name)}</code>{row.weak && <span class="id"> weak</span>}</> },
  ...objectColumns.map(({ title, isNumber, isMinor, cell }): Column<Edge> => ({ title, isNumber, isMinor, cell: (row) => cell(row.object) })),
];

const FACTS: Record<string, string> = {
  "in-use": "elements in use", room: "room for elements", outside: "bytes outside of the heap", "equal-tail": "equal words at the end", bytes: "exact bytes", weight: "allocated bytes that it stands for",
};

function Chain({ path, id }: { path: Path; id: number }) {
  const left = path["left-out"];
  const half = path.steps.length / 2;
  return <ol class="chain" aria-label={path.sentence}>{path.steps.map((step, index) => <>
    {left > 0 && index === half && <li class="muted">{count(left)} more steps</li>}
    <li class={step.id === id ? "end" : ""}>
      {step.edge !== undefined && <code class="edge">{visible(step.edge)}</code>}
      <span class="node"><ObjectLink object={step} /> <span class="id">{bytes(step.retained)}</span></span>
    </li>
  </>)}</ol>;
}

export function ObjectView({ state, snapshot }: { state: State; snapshot: number }) {
  const id = state.number("id") ?? 0;
  const [incoming, outgoing, dominated] = ["in", "out", "dom"].map((name) => state.number(name) ?? 0) as [number, number, number];
  const details = useAnswer<Details>("object", { snapshot, id });
  const paths = useAnswer<{ paths: Path[] }>("paths", { snapshot, id, count: 4 });
  const into = useAnswer<Edges>("incoming", { snapshot, id, first: incoming, count: ROWS });
  const from = useAnswer<Edges>("outgoing", { snapshot, id, first: outgoing, count: ROWS });
  const below = useAnswer<Objects>("dominated", { snapshot, id, first: dominated, count: ROWS });
  return <section>
    <Waiting answer={details}>{(object) => <>
      <h1><bdi>{visible(object.label)}</bdi> <span class="id">@{object.id}</span></h1>
      <p class="why">{visible(object.why)}</p>
      <dl class="facts">
        <div><dt>type</dt><dd><a href={fragment("query", { query: `(type? ${JSON.stringify(object.type)})` })}>{visible(object.type)}</a></dd></div>
        {object.family !== object.type && <div><dt>kind</dt><dd>{visible(object.family)}</dd></div>}
        <div><dt>bytes</dt><dd>{bytes(object.size)}</dd></div>
        <div><dt>retained</dt><dd>{bytes(object.retained)}</dd></div>
        <div><dt>steps from the root</dt><dd>{count(object.distance)}</dd></div>
        {Object.entries(object.facts).filter(([name]) => name !== "place").map(([name, value]) => <div><dt>{FACTS[name] ?? name}</dt><dd>{count(value)}</dd></div>)}
        {object.allocated !== undefined && <div><dt>allocated by</dt><dd>{visible(object.allocated.procedure)} <Place {...object.allocated} />{object.allocated.label !== undefined && <span class="id"> {visible(object.allocated.label)}</span>}</dd></div>}
        {object.file !== undefined && <div><dt>place</dt><dd><Place {...object} shows={false} /></dd></div>}
      </dl>
      {object.file !== undefined && object.line !== undefined && <>
        <h2>Source <span class="id">{visible(object.file)}:{object.line}</span></h2>
        <SourceLines key={`${object.file}:${object.line}`} file={object.file} line={object.line} />
      </>}
      {object.text !== undefined && <>
        <h2>Text <span class="id">{count(object.characters ?? 0)} characters{object.cut ? ", the beginning" : ""}</span></h2>
        <pre dir="auto">{object.text}</pre>
      </>}
      <p><a href={fragment("map", { id: object.id })}>Its part of the map</a> · <a href={fragment("query", { query: `(dominated-by? ${object.id})` })}>All that it keeps alive</a></p>
      {object.dominators.length > 0 && <nav class="crumbs" aria-label="Dominators"><ol>
        {object.dominators.map((one) => <li><a href={fragment("object", { id: one.id })}>{visible(one.label)}</a></li>)}<li><strong>{visible(object.label)}</strong></li>
      </ol></nav>}
    </>}</Waiting>
    <h2>Paths from the roots</h2>
    <Waiting answer={paths}>{(data) => <div class="paths">{data.paths.map((path) => <Chain path={path} id={id} />)}</div>}</Waiting>
    <h2>Held by</h2>
    <Waiting answer={into}>{(data) => <>
      <Table rows={data.edges} columns={edgeColumns} empty="No edge leads to it." /><Pages all={data.count} first={incoming} name="in" rows={ROWS} />
    </>}</Waiting>
    <h2>Holds</h2>
    <Waiting answer={from}>{(data) => <>
      <Table rows={data.edges} columns={edgeColumns} empty="It holds no other object." /><Pages all={data.count} first={outgoing} name="out" rows={ROWS} />
    </>}</Waiting>
    <h2>Keeps alive alone</h2>
    <Waiting answer={below}>{(data) => <>
      <Table rows={data.objects} columns={objectColumns.map(({ sort: _, ...column }) => column)} empty="It keeps no other object alive alone." />
      <Pages all={data.count} first={dominated} name="dom" rows={ROWS} />
    </>}</Waiting>
  </section>;
}
