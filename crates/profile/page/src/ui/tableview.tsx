// The table of functions; beside it callers, callees and source lines of the chosen one.

import { useMemo } from "preact/hooks";
import { TIER_COUNT } from "../data/profile";
import type { Edge } from "../data/functions";
import type { DetailResult } from "../engine";
import { change, useAppState } from "../state";
import { MEASURE_NAMES, functionName, groupOf, measureFor, measuresOf, unitOf, useQuery, useShared } from "./context";
import { useMatches } from "./flameview";
import { GROUP_NAMES, TIER_NAMES, amount, count, percent, place, visible, type Unit } from "./format";
import { Bar, BigTable, Choice, FunctionLink, Nothing, Stack, Tiers, sortRows, type ColumnOf } from "./parts";

interface Row {
  index: number;
  function: number;
  self: number;
  total: number;
  calls: number;
}

export function TableView() {
  const { meta } = useShared();
  const state = useAppState();
  const measure = measureFor(meta, state.measure);
  const unit = unitOf(measure);
  const { data, error } = useQuery("table", { measure, async: state.async });
  const matches = useMatches();
  const sum = data?.sum || 1;
  const most = useMemo(() => (data?.self ?? new Float64Array(0)).reduce((most, self) => Math.max(most, self), 1), [data]);
  const columns: ColumnOf<Row>[] = useMemo(() => [
    { key: "self", name: "Self", figure: true, width: "128px", title: "In the function itself", sort: (row) => row.self,
      cell: (row) => <span class="weighed"><Bar share={row.self / most} kind={`group-${groupOf(meta, row.function)}`} /><b>{percent(row.self / sum)}</b></span> },
    { key: "selfAmount", minor: true, name: unit === "size" ? "bytes" : "time", figure: true, width: "80px", cell: (row) => <span class="muted">{amount(row.self, unit)}</span> },
    { key: "total", name: "Total", figure: true, width: "70px", title: "With everything it calls", sort: (row) => row.total,
      cell: (row) => <b>{percent(row.total / sum)}</b> },
    { key: "totalAmount", minor: true, name: unit === "size" ? "bytes" : "time", figure: true, width: "80px", cell: (row) => <span class="muted">{amount(row.total, unit)}</span> },
    ...(data?.calls ? [{ key: "calls", name: "Calls", figure: true, width: "70px", sort: (row: Row) => row.calls,
      cell: (row: Row) => count(row.calls) } satisfies ColumnOf<Row>] : []),
    { key: "tier", minor: true, name: "Tiers", width: "76px", title: "Share of the own time by tier",
      cell: (row) => <Tiers tiers={data!.tiers} at={row.index} sum={row.self} /> },
    { key: "name", name: "Function", sort: (row) => functionName(meta, row.function).toLowerCase(),
      cell: (row) => <FunctionLink row={row.function} chosen={(chosen) => change({ function: chosen })} /> },
  ], [data, meta.version, unit]);
  const rows = useMemo(() => {
    if (data === null) return [];
    const all: Row[] = [];
    data.function.forEach((row, index) => {
      if (matches !== null && !matches(row)) return;
      all.push({ index, function: row, self: data.self[index]!, total: data.total[index]!, calls: data.calls?.[index] ?? 0 });
    });
    return sortRows(all, columns, state.sort);
  }, [data, matches, state.sort, columns]);
  if (error !== null) return <Nothing>{error}</Nothing>;
  return (
    <div class="view">
      <div class="toolbar">
        <Choice
          label="Measure" value={measure} choices={measuresOf(meta).map((each) => [each, MEASURE_NAMES[each]])}
          onChange={(value) => change({ measure: value })}
        />
        {measure !== "counts" && <Choice
          label="Started tasks" value={state.async} choices={[["follow", "below their starter"], ["cut", "on their own"]]}
          onChange={(async) => change({ async })}
        />}
        <span class="muted">{count(rows.length)} functions</span>
        {measure === "counts" && <span class="muted">Exact counts are over the whole run: filters of tasks and time do not apply.</span>}
      </div>
      <div class={state.function !== null ? "split chosen" : "split"}>
        <BigTable
          rows={rows} columns={columns} sort={state.sort} onSort={(sort) => change({ sort })} label="Functions" fill
          keyOf={(row) => row.function} isSelected={(row) => row.function === state.function}
          empty={data === null ? "" : "Nothing passes these filters."}
        />
        <Detail measure={measure} unit={unit} sum={sum} tiers={data ? tiersOf(data, state.function) : null} />
      </div>
    </div>
  );
}

function tiersOf(data: { function: Int32Array; tiers: Float64Array; self: Float64Array }, wanted: number | null) {
  const index = wanted === null ? -1 : data.function.indexOf(wanted);
  if (index < 0 || data.self[index]! <= 0) return null;
  return TIER_NAMES.map((name, tier) => ({
    name, color: `tier-${tier}`, share: data.tiers[index * TIER_COUNT + tier]! / data.self[index]!,
  }));
}

function Detail({ measure, unit, sum, tiers }: {
  measure: ReturnType<typeof measureFor>; unit: Unit; sum: number;
  tiers: { name: string; color: string; share: number }[] | null;
}) {
  const { meta } = useShared();
  const { function: chosen, async } = useAppState();
  const known = chosen !== null && chosen < meta.functions.name.length ? chosen : null;
  const { data } = useQuery("detail", known === null ? null : { measure, async, function: known });
  if (known === null) {
    return <aside class="detail empty"><p class="muted">Choose a function to see its callers, its callees and its source lines.</p></aside>;
  }
  const file = meta.functions.file[known] ?? null;
  return (
    <aside class="detail" aria-label="The chosen function">
      <header>
        <div>
          <h3>{functionName(meta, known)}</h3>
          <p class="muted">{place(file, meta.functions.line[known]!, true) || "no source"} · {GROUP_NAMES[groupOf(meta, known)]}</p>
        </div>
        <button type="button" class="quiet" aria-label="Close" onClick={() => change({ function: null })}>✕</button>
      </header>
      {data !== null && (
        <>
          <dl class="facts">
            <div><dt>Self</dt><dd>{amount(data.self, unit)} <small>{percent(data.self / sum)}</small></dd></div>
            <div><dt>Total</dt><dd>{amount(data.total, unit)} <small>{percent(data.total / sum)}</small></dd></div>
          </dl>
          {tiers !== null && <Stack thin label="Tiers" parts={tiers} />}
          {data.notes.filter((note) => note.line === 0).map((note, index) => <p key={index} class="note">{visible(note.text)}</p>)}
          <div class="edges">
            <Edges title="Callers" edges={data.callers} sum={data.total} unit={unit} empty="Nothing calls it: it is where stacks begin." />
            <Edges title="Callees" edges={data.callees} sum={data.total} unit={unit} empty="It calls nothing that was seen." />
          </div>
          <SourceLines data={data} unit={unit} />
        </>
      )}
    </aside>
  );
}

function Edges({ title, edges, sum, unit, empty }: {
  title: string; edges: Edge[]; sum: number; unit: Unit; empty: string;
}) {
  return (
    <section>
      <h4>{title}</h4>
      {edges.length === 0 && <p class="muted">{empty}</p>}
      <ul class="edge-list">
        {edges.slice(0, 40).map((edge) => (
          <li key={edge.function}>
            <FunctionLink row={edge.function} chosen={(row) => change({ function: row })} />
            <Bar share={edge.weight / (sum || 1)} kind="accent" />
            <span class="figure" title={amount(edge.weight, unit)}>{percent(edge.weight / (sum || 1))}</span>
            {edge.calls > 0 && <span class="muted figure">{count(edge.calls)}×</span>}
          </li>
        ))}
      </ul>
      {edges.length > 40 && <p class="muted">and {edges.length - 40} more</p>}
    </section>
  );
}

function SourceLines({ data, unit }: { data: DetailResult; unit: Unit }) {
  const costs = new Map(data.lines.map((cost) => [cost.line, cost]));
  const notes = new Map<number, string[]>();
  for (const note of data.notes) if (note.line > 0) notes.set(note.line, [...(notes.get(note.line) ?? []), note.text]);
  const most = Math.max(1, ...data.lines.map((cost) => cost.total));
  const numbers = data.source !== null
    ? data.source.map((_, index) => data.sourceFrom + index)
    : [...new Set([...costs.keys(), ...notes.keys()])].sort((a, b) => a - b);
  if (numbers.length === 0) return null;
  return (
    <section>
      <h4>Source lines</h4>
      <div class="source-frame" tabIndex={0} aria-label="Source lines"><table class="source">
        <thead><tr><th class="figure">Self</th><th class="figure">Total</th><th class="figure">Line</th><th>{data.source === null ? "Tier" : ""}</th></tr></thead>
        <tbody>
          {numbers.slice(0, 1500).map((line) => {
            const cost = costs.get(line);
            const heat = cost === undefined ? 0 : cost.total / most;
            return (
              <tr key={line} style={heat > 0 ? { background: `color-mix(in srgb, var(--heat) ${Math.round(4 + heat * 30)}%, transparent)` } : {}}>
                <td class="figure">{cost && cost.self > 0 ? amount(cost.self, unit) : ""}</td>
                <td class="figure">{cost ? amount(cost.total, unit) : ""}</td>
                <td class="figure muted">{line > 0 ? line : "?"}</td>
                <td class="code">
                  {data.source !== null
                    ? <code>{data.source[line - data.sourceFrom]}</code>
                    : cost !== undefined && <span class="muted">{TIER_NAMES[cost.tier]}</span>}
                  {notes.get(line)?.map((text, index) => <div key={index} class="note">{visible(text)}</div>)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table></div>
      {data.source === null && <p class="muted">The profile does not have the text of this file.</p>}
    </section>
  );
}
