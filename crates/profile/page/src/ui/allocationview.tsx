// Allocation: by type who allocates, or by function what is allocated, with the optimizer's reasons.

import { useMemo, useState } from "preact/hooks";
import type { AllocationRow, AllocationTable } from "../data/places";
import { useShared, useQuery, functionName } from "./context";
import { useMatches } from "./flameview";
import { count, percent, size, visible } from "./format";
import { Bar, BigTable, FunctionLink, Nothing, Segments, sortRows, type ColumnOf } from "./parts";

interface Sum {
  key: number;
  total: number;
  live: number;
  objects: number;
  sampled: number;
}

type By = "type" | "function" | "reason";

function sums(rows: AllocationRow[], by: By): Sum[] {
  const found = new Map<number, Sum>();
  for (const row of rows) {
    let sum = found.get(row[by]);
    if (sum === undefined) found.set(row[by], (sum = { key: row[by], total: 0, live: 0, objects: 0, sampled: 0 }));
    sum.total += row.total;
    sum.live += row.live;
    sum.objects += row.objects;
    sum.sampled += row.sampled;
  }
  return [...found.values()].sort((a, b) => b.total - a.total);
}

export function AllocationView() {
  const { meta } = useShared();
  const { data, error } = useQuery("allocations", {});
  const [by, setBy] = useState<"type" | "function">("type");
  const [chosen, setChosen] = useState<number | null>(null);
  const [sort, setSort] = useState("-total");
  const matches = useMatches();
  const rows = useMemo(
    () => (data === null ? [] : matches === null ? data.rows : data.rows.filter((row) => matches(row.function))),
    [data, matches]);
  const groups = useMemo(() => sums(rows, by), [rows, by]);
  const name = (key: number, kind: By) => kind === "function" ? functionName(meta, key)
    : key < 0 ? (kind === "reason" ? "no reason given" : "(unknown type)") : visible(data?.names[key] ?? "");
  const weightColumns = (table: AllocationTable | null): ColumnOf<Sum>[] => [
    { key: "total", name: "Allocated", figure: true, width: "150px", sort: (row) => row.total,
      cell: (row) => <span class="weighed"><Bar share={row.total / (table?.total || 1)} kind="accent" /><b>{size(row.total)}</b></span> },
    { key: "share", minor: true, name: "", figure: true, width: "62px", cell: (row) => <span class="muted">{percent(row.total / (table?.total || 1))}</span> },
    { key: "live", name: "Live", figure: true, width: "90px", title: "Not found dead by the collector", sort: (row) => row.live, cell: (row) => size(row.live) },
    { key: "objects", minor: true, name: "Objects", figure: true, width: "80px", title: "About, from the samples", sort: (row) => row.objects, cell: (row) => <span title={`${row.sampled} sampled`}>{count(row.objects)}</span> },
  ];
  if (meta.counts.allocations === 0) {
    return <Nothing>The profile has no allocations. Profile with allocation sampling to see who allocates.</Nothing>;
  }
  if (error !== null) return <Nothing>{error}</Nothing>;
  const columns: ColumnOf<Sum>[] = [
    ...weightColumns(data),
    { key: "name", name: by === "type" ? "Type" : "Function", sort: (row) => name(row.key, by),
      cell: (row) => by === "function"
        ? <FunctionLink row={row.key} chosen={setChosen} />
        : <button type="button" class="link" onClick={() => setChosen(row.key)}>{name(row.key, by)}</button> },
  ];
  const selected = groups.find((group) => group.key === chosen) ?? groups[0];
  const inside = selected === undefined ? [] : rows.filter((row) => row[by] === selected.key);
  const other = by === "type" ? "function" : "type";
  return (
    <div class="view">
      <div class="toolbar">
        <Segments
          label="Grouping" value={by} choices={[["type", "By type"], ["function", "By function"]]}
          onChange={(value) => { setBy(value); setChosen(null); }}
        />
        {data !== null && <span class="muted">{size(data.total)} allocated, {size(data.live)} of it live at the end</span>}
      </div>
      <div class={chosen !== null ? "split chosen" : "split"}>
        <BigTable
          rows={sortRows(groups, columns, sort)} columns={columns} sort={sort} onSort={setSort} fill
          label={by === "type" ? "Allocation by type" : "Allocation by function"} keyOf={(row) => row.key}
          isSelected={(row) => row.key === selected?.key} empty={data === null ? "" : "Nothing passes these filters."}
        />
        {selected !== undefined && (
          <aside class="detail" aria-label="The chosen row">
            <header>
              <div>
                <h3>{name(selected.key, by)}</h3>
                <p class="muted">{size(selected.total)} allocated in about {count(selected.objects)} objects, {size(selected.live)} live</p>
              </div>
              {chosen !== null && <button type="button" class="quiet" aria-label="Close" onClick={() => setChosen(null)}>✕</button>}
            </header>
            <section>
              <h4>{by === "type" ? "Who allocates it" : "What it allocates"}</h4>
              <ul class="edge-list">
                {(by === "type" ? places(inside) : sums(inside, other).map((sum) => ({ ...sum, line: 0 }))).slice(0, 60).map((sum) => (
                  <li key={`${sum.key} ${sum.line}`}>
                    {other === "function" ? <FunctionLink row={sum.key} line={sum.line} /> : <span class="function">{name(sum.key, other)}</span>}
                    <Bar share={sum.total / selected.total} />
                    <span class="figure" title={percent(sum.total / selected.total)}>{size(sum.total)}</span>
                  </li>
                ))}
              </ul>
            </section>
            <section>
              <h4>Why the optimizer kept it</h4>
              <ul class="edge-list">
                {sums(inside, "reason").slice(0, 20).map((sum) => (
                  <li key={sum.key}>
                    <span class={sum.key < 0 ? "muted function" : "function wrap"}>{name(sum.key, "reason")}</span>
                    <Bar share={sum.total / selected.total} />
                    <span class="figure">{percent(sum.total / selected.total)}</span>
                  </li>
                ))}
              </ul>
            </section>
          </aside>
        )}
      </div>
    </div>
  );
}

function places(rows: AllocationRow[]): (Sum & { line: number })[] {
  const found = new Map<string, Sum & { line: number }>();
  for (const row of rows) {
    const key = `${row.function} ${row.line}`;
    let sum = found.get(key);
    if (sum === undefined) {
      found.set(key, (sum = { key: row.function, line: row.line, total: 0, live: 0, objects: 0, sampled: 0 }));
    }
    sum.total += row.total;
    sum.live += row.live;
    sum.objects += row.objects;
    sum.sampled += row.sampled;
  }
  return [...found.values()].sort((a, b) => b.total - a.total);
}
