// Views of tables: overview, types, query, waste, comparison, suspects.

import { useEffect, useState } from "preact/hooks";
import {
  type Brief, type Change, type Difference, type Duplicates, type Growth, type Objects, type Series, type Snapshot, type Suspect,
  type TypeRow, type Types, type Unused, useAnswer,
} from "./api";
import { Chart } from "./chart";
import { bytes, count, signed, time, visible } from "./format";
import { Choice, type Column, Filter, ObjectLink, PAGE_ROWS, Pages, Place, Table, objectColumns, withoutPlace } from "./parts";
import { change, fragment, type State } from "./state";
import { Waiting } from "./waiting";

interface ViewProps { state: State; snapshot: number; series: Series }

/** A query for the objects of a type. */
export function typeQuery(name: string): string {
  return `(type? ${JSON.stringify(name)})`;
}

function TypeName({ row }: { row: { name: string; title?: string; family?: string; file?: string; line?: number } }) {
  return <>
    <a href={fragment("query", { query: typeQuery(row.name) })}><bdi>{visible(withoutPlace(row.title ?? row.name, row))}</bdi></a>
    {row.family !== undefined && row.family !== row.name && <span class="id"> {row.family}</span>} <Place {...row} />
  </>;
}

const WAYS: Record<string, string> = { fork: "by a copy of the process", "in-place": "in place", summary: "sums only" };

function SnapshotFacts({ snapshot }: { snapshot: Snapshot }) {
  const facts: [string, string][] = [
    ["objects", count(snapshot.objects)], ["bytes", bytes(snapshot.bytes)], ["heap", bytes(snapshot.heap)],
    ["outside of the heap", bytes(snapshot.outside)], ["reason", snapshot.reason], ["taken", WAYS[snapshot.way] ?? snapshot.way],
    ["at", time(snapshot.time)], ["program stood still", `${(snapshot.stopped / 1000).toFixed(1)} ms`],
  ];
  return <dl class="facts">{facts.map(([name, value]) => <div><dt>{name}</dt><dd>{visible(value)}</dd></div>)}</dl>;
}

const typeColumns: Column<TypeRow>[] = [
  { title: "name", sort: "name", cell: (row) => <TypeName row={row} /> },
  { title: "objects", isNumber: true, isMinor: true, sort: "objects", cell: (row) => count(row.objects) },
  { title: "bytes", isNumber: true, sort: "bytes", cell: (row) => bytes(row.bytes) },
  { title: "retained", isNumber: true, sort: "retained", cell: (row) => bytes(row.retained) },
];

const outsideColumn: Column<TypeRow> = { title: "outside", isNumber: true, isMinor: true, cell: (row) => row.outside > 0 ? bytes(row.outside) : "–" };

/** The name of a group that is no type. */
function groupName(by: string, row: TypeRow) {
  if (by === "file") return <Place file={row.name} />;
  if (by === "place") return <><bdi>{visible(withoutPlace(row.name, row))}</bdi> <Place {...row} /></>;
  return <bdi>{visible(row.name)}</bdi>;
}

const snapshotColumns: Column<Snapshot>[] = [
  { title: "snapshot", cell: (row) => <a href={fragment("overview", { snapshot: row.number })}>{row.number}</a> },
  { title: "at", isMinor: true, cell: (row) => time(row.time) },
  { title: "reason", cell: (row) => `${visible(row.reason)}${row.whole ? "" : ", cut off"}${row.graph ? "" : ", sums only"}` },
  { title: "objects", isNumber: true, cell: (row) => count(row.objects) },
  { title: "bytes", isNumber: true, cell: (row) => bytes(row.bytes) },
];

export function Overview({ snapshot, series }: ViewProps) {
  const shown = series.snapshots[snapshot - 1]!;
  const labels = series.snapshots.map((one) => String(one.number));
  const types = useAnswer<Types>("types", shown.graph ? { snapshot, count: 12, sort: "retained" } : null);
  return <section>
    <h1>{visible(series.program) || "A program"} <span class="id">process {series.pid}, Canny {visible(series.version)}</span></h1>
    {series.note !== null && <p class="problem" role="alert">{visible(series.note)}</p>}
    <SnapshotFacts snapshot={shown} />
    {series.snapshots.length > 1 && <div class="charts">
      <Chart title="Bytes" labels={labels} lines={[{ name: "bytes", values: series.snapshots.map((one) => one.bytes) }]} />
      <Chart title="Objects" labels={labels} format={count} lines={[{ name: "objects", values: series.snapshots.map((one) => one.objects) }]} />
      <Chart title="Bytes by type" labels={labels} lines={series.types.map((one) => ({ name: visible(one.name), values: one.bytes }))} />
    </div>}
    {shown.graph && <>
      <h2>Largest types of snapshot {snapshot}</h2>
      <Waiting answer={types}>{(data) => <Table rows={data.rows} columns={typeColumns.map(({ sort: _, ...column }) => column)} empty="There are no objects." />}</Waiting>
      <p><a href={fragment("types")}>All types</a> · <a href={fragment("map")}>Who keeps the memory</a></p>
    </>}
    <h2>Snapshots of the file</h2>
    <Table rows={series.snapshots} columns={snapshotColumns} empty="There is no snapshot." />
  </section>;
}

export function TypesView({ state, snapshot }: ViewProps) {
  const by = state.get("by") ?? "type";
  const sort = state.get("sort") ?? "bytes";
  const first = state.number("first") ?? 0;
  const filter = state.get("filter") ?? "";
  const answer = useAnswer<Types>("types", { snapshot, by, sort, filter, first, count: PAGE_ROWS });
  const isSampled = by === "place" || by === "label";
  const columns: Column<TypeRow>[] = by === "type" ? typeColumns
    : [{ title: "name", sort: "name", cell: (row) => groupName(by, row) }, ...typeColumns.slice(1, isSampled ? -1 : undefined)];
  return <section>
    <h1>Types</h1>
    <div class="bar">
      <Choice label="By" value={by} onChange={(value) => change({ by: value === "type" ? undefined : value, first: undefined })}
        options={[["type", "type"], ["family", "kind"], ["library", "library or program"], ["file", "file"], ["place", "allocating place"], ["label", "label"]]} />
      <Filter value={filter} label="Part of a name" />
    </div>
    <Waiting answer={answer}>{(data) => <>
      <p class="muted">{count(data.objects)} objects, {bytes(data.bytes)}{isSampled && ", as samples of allocations tell"}</p>
      <Table rows={data.rows} sorted={sort} empty={isSampled && filter === "" ? "No allocations were sampled. The program must run with --heap-places." : "No name has this part."}
        columns={[...columns, ...data.rows.some((row) => row.outside > 0) ? [outsideColumn] : []].map((column) => column.title === "bytes" ? { ...column, share: (row: TypeRow) => row.bytes / Math.max(1, data.bytes) } : column)} />
      <Pages all={data.count} first={first} />
    </>}</Waiting>
  </section>;
}

const EXAMPLES = [
  "(retained > 1MB)", "(and (family? 'record) (retained >= 10kB))", "(text? \"session\")", "(held-by? (type? 'vector))",
  "(and (family? 'string) (size > 4kB))", "(new-since? 2)", "(and program? (not (family? 'procedure)))",
];

export function QueryView({ state, snapshot }: ViewProps) {
  const query = state.get("query") ?? "";
  const sort = state.get("sort") ?? "retained";
  const first = state.number("first") ?? 0;
  const [text, setText] = useState(query);
  useEffect(() => setText(query), [query]);
  const answer = useAnswer<Objects>("objects", query === "" ? null : { snapshot, query, sort, first, count: PAGE_ROWS });
  return <section>
    <h1>Query</h1>
    <form class="bar" onSubmit={(event) => { event.preventDefault(); change({ query: text.trim(), first: undefined }); }}>
      <input class="query" data-focus value={text} onInput={(event) => setText(event.currentTarget.value)} aria-label="Query"
        placeholder="(and (type? 'entry) (retained > 1MB))" spellcheck={false} autocapitalize="off" autocomplete="off" />
      <button type="submit">Find</button>
    </form>
    {query === "" ? <div>
      <p class="muted">A query is a Scheme expression: <code>and</code>, <code>or</code>, <code>not</code>, <code>type?</code>, <code>family?</code>, <code>field?</code>, <code>file?</code>, <code>library?</code>, <code>program?</code>, <code>size</code>, <code>retained</code>, <code>outside</code>, <code>text?</code>, <code>text-prefix?</code>, <code>allocated-at?</code>, <code>label?</code>, <code>new-since?</code>, <code>held-by?</code>, <code>holds?</code>, <code>dominated-by?</code>, <code>virtual?</code>.</p>
      <ul class="examples">{EXAMPLES.map((example) => <li><a href={fragment("query", { query: example })}><code>{example}</code></a></li>)}</ul>
    </div> : <Waiting answer={answer}>{(data) => <>
      <p class="muted">{count(data.count)} objects, {bytes(data.bytes ?? 0)}</p>
      <Table rows={data.objects} columns={objectColumns} sorted={sort} empty="No object has these properties." />
      <Pages all={data.count} first={first} />
    </>}</Waiting>}
  </section>;
}

export function DuplicatesView({ state, snapshot }: ViewProps) {
  const first = state.number("first") ?? 0;
  const answer = useAnswer<Duplicates>("duplicates", { snapshot, first, count: PAGE_ROWS });
  return <section>
    <h1>Equal strings</h1>
    <Waiting answer={answer}>{(data) => <>
      <p class="muted">{bytes(data.saved)} would be saved if equal strings were one.</p>
      <Table rows={data.rows} empty="No two strings are equal." columns={[
        { title: "string", cell: (row: { object: Brief }) => <ObjectLink object={row.object} /> },
        { title: "copies", isNumber: true, cell: (row) => count(row.copies) },
        { title: "saves", isNumber: true, cell: (row) => bytes(row.saved) },
      ] as Column<Duplicates["rows"][number]>[]} />
      <Pages all={data.count} first={first} />
    </>}</Waiting>
  </section>;
}

export function UnusedView({ state, snapshot }: ViewProps) {
  const first = state.number("first") ?? 0;
  const answer = useAnswer<Unused>("unused", { snapshot, first, count: PAGE_ROWS });
  return <section>
    <h1>Room that is not used</h1>
    <Waiting answer={answer}>{(data) => <>
      <p class="muted">{bytes(data.bytes)} in tables and vectors have no elements, or all the same one at the end.</p>
      <Table rows={data.rows} empty="No object has unused room." columns={[
        { title: "object", cell: (row: { object: Brief }) => <ObjectLink object={row.object} /> },
        { title: "used", isNumber: true, cell: (row) => count(row.used) },
        { title: "room", isNumber: true, isMinor: true, cell: (row) => count(row.room) },
        { title: "saves", isNumber: true, cell: (row) => bytes(row.bytes) },
      ] as Column<Unused["rows"][number]>[]} />
      <Pages all={data.count} first={first} />
    </>}</Waiting>
  </section>;
}

export function CompareView({ state, snapshot, series }: ViewProps) {
  const last = series.snapshots.length;
  const before = Math.min(state.number("before") ?? 1, last);
  const after = Math.min(state.number("after") ?? (snapshot === before ? last : snapshot), last);
  const first = state.number("first") ?? 0;
  const answer = useAnswer<Difference>("compare", last < 2 ? null : { before, after, first, count: PAGE_ROWS });
  if (last < 2) return <section><h1>Comparison</h1><p class="muted">The file has one snapshot. A comparison needs two.</p></section>;
  const options = series.snapshots.map((one): [string, string] => [String(one.number), `snapshot ${one.number}: ${bytes(one.bytes)}`]);
  return <section>
    <h1>Comparison</h1>
    <div class="bar">
      <Choice label="Before" value={String(before)} options={options} onChange={(value) => change({ before: value, first: undefined })} />
      <Choice label="After" value={String(after)} options={options} onChange={(value) => change({ after: value, first: undefined })} />
    </div>
    <Waiting answer={answer}>{(data) => <>
      <p class="muted">
        {bytes(data.before.bytes)} to {bytes(data.after.bytes)}: {signed(data.after.bytes - data.before.bytes, bytes)}.
        {data.followed && ` ${count(data.new.objects)} objects are new, ${count(data.gone.objects)} gone, ${count(data.surviving.objects)} still there.`}
        {data.followed && <> <a href={fragment("query", { snapshot: after, query: `(new-since? ${before + 1})` })}>New objects</a></>}
      </p>
      <Table rows={data.rows} empty="No type changed." columns={[
        { title: "type", cell: (row: Change) => <TypeName row={row} /> },
        { title: "growth", isNumber: true, cell: (row) => <span class={row.growth > 0 ? "more" : "less"}>{signed(row.growth, bytes)}</span> },
        { title: "objects", isNumber: true, cell: (row) => signed(row.after.objects - row.before.objects, count) },
        { title: "new", isNumber: true, isMinor: true, cell: (row) => data.followed ? count(row.new.objects) : "–" },
        { title: "gone", isNumber: true, isMinor: true, cell: (row) => data.followed ? count(row.gone.objects) : "–" },
        { title: "after", isNumber: true, isMinor: true, cell: (row) => bytes(row.after.bytes) },
      ] as Column<Change>[]} />
      <Pages all={data.count} first={first} />
    </>}</Waiting>
  </section>;
}

function suspectColumns(last: number): Column<Suspect>[] {
  return [
    { title: "type or path", cell: (row) => row.path.map((name, index) => {
      const place = row.places[index] ?? {};
      return <>
        {index > 0 && <span class="id"> → </span>}<a href={fragment("query", { query: typeQuery(name) })}><bdi>{visible(withoutPlace(row.titles[index] ?? name, place))}</bdi></a> <Place {...place} />
      </>;
    }) },
    { title: "score", isNumber: true, cell: (row) => row.score.toFixed(2) },
    { title: "growth", isNumber: true, cell: (row) => <span class="more">{signed(row.growth, bytes)}</span> },
    { title: "steps", isNumber: true, isMinor: true, cell: (row) => `${row.grown} of ${last - 1}` },
  ];
}

function suspectPlaceColumns(last: number): Column<Suspect>[] {
  return [{ title: "place", cell: (row) => <bdi>{visible(row.path[0] ?? "")}</bdi> }, ...suspectColumns(last).slice(1)];
}

export function SuspectsView({ series }: ViewProps) {
  const last = series.snapshots.length;
  const answer = useAnswer<Growth>("growth", last < 2 ? null : { count: 30 });
  if (last < 2) return <section><h1>Suspects</h1><p class="muted">The file has one snapshot. Growth needs two at least.</p></section>;
  return <section>
    <h1>Suspects</h1>
    <p class="muted">These grew in most steps of the series. The score is the share of steps with growth, times the share in the heap's growth.</p>
    <Waiting answer={answer}>{(data) => <>
      <h2>Paths of the dominator tree</h2>
      <Table rows={data.paths} columns={suspectColumns(last)} empty="No path grew in most steps." />
      <h2>Types</h2>
      <Table rows={data.types} columns={suspectColumns(last)} empty="No type grew in most steps." />
      {data.places.length > 0 && <>
        <h2>Places that allocate</h2>
        <Table rows={data.places} columns={suspectPlaceColumns(last)} empty="" />
      </>}
      {data.types.length > 0 && <Chart title="Bytes of the suspects" labels={data.types[0]!.bytes.map((_, index) => String(index + 1))}
        lines={data.types.slice(0, 8).map((one) => ({ name: visible(one.titles.join(" → ")), values: one.bytes }))} />}
    </>}</Waiting>
  </section>;
}

