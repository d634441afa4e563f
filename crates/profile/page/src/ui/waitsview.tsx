// Waits by kind and place, and the contention of locks.

import { useMemo, useState } from "preact/hooks";
import type { WaitRow } from "../data/places";
import { functionName, taskName, useQuery, useShared } from "./context";
import type { Meta } from "../engine";
import { useMatches } from "./flameview";
import { WAIT_NAMES, count, percent, time, visible } from "./format";
import { BigTable, FunctionLink, Nothing, Stack, sortRows, type ColumnOf } from "./parts";

const STEPS = ["≤ 1 µs", "≤ 10 µs", "≤ 100 µs", "≤ 1 ms", "≤ 10 ms", "≤ 100 ms", "≤ 1 s", "≤ 10 s", "> 10 s"];

function Spread({ row }: { row: WaitRow }) {
  const most = Math.max(1, ...row.spread);
  const text = row.spread.map((each, step) => (each > 0 ? `${STEPS[step]}: ${each}` : "")).filter(Boolean).join("\n");
  return (
    <span class="spread" role="img" aria-label={`Lengths: ${text.replace(/\n/g, ", ")}`} title={text}>
      {row.spread.map((each, step) => (
        <i key={step} style={{ height: `${each === 0 ? 4 : 18 + (each / most) * 82}%`, background: each === 0 ? "var(--line)" : `var(--wait-${row.kind})` }} />
      ))}
    </span>
  );
}

function holderName(meta: Meta, row: WaitRow): string {
  const holder = row.holders[0];
  if (holder === undefined) return "";
  const [first] = holder.tasks;
  return holder.tasks.size === 1 ? visible(taskName(meta, first!)) : `${count(holder.tasks.size)} tasks`;
}

export function WaitsView() {
  const { meta } = useShared();
  const { data, error } = useQuery("waits", {});
  const [kind, setKind] = useState<number | null>(null);
  const [sort, setSort] = useState("-total");
  const matches = useMatches();
  const columns: ColumnOf<WaitRow>[] = useMemo(() => [
    { key: "kind", name: "Kind", width: "112px", sort: (row) => WAIT_NAMES[row.kind]!,
      cell: (row) => <span><i class="dot" style={{ background: `var(--wait-${row.kind})` }} /> {WAIT_NAMES[row.kind]}</span> },
    { key: "total", name: "Total", figure: true, width: "86px", sort: (row) => row.total, cell: (row) => <b>{time(row.total)}</b> },
    { key: "count", name: "Count", figure: true, width: "74px", sort: (row) => row.count, cell: (row) => count(row.count) },
    { key: "mean", name: "Mean", figure: true, width: "80px", sort: (row) => row.total / row.count, cell: (row) => time(row.total / row.count) },
    { key: "longest", name: "Longest", figure: true, width: "86px", sort: (row) => row.longest, cell: (row) => time(row.longest) },
    { key: "runnable", name: "Runnable", figure: true, width: "92px", title: "Ready to run, but not running: in total", sort: (row) => row.runnable, cell: (row) => time(row.runnable) },
    { key: "spread", name: "Lengths", width: "92px", title: "How many waits lasted up to 1 µs, 10 µs, … 10 s, and longer", cell: (row) => <Spread row={row} /> },
    { key: "tasks", name: "Tasks", figure: true, width: "66px", title: "How many tasks waited here", sort: (row) => row.tasks, cell: (row) => count(row.tasks) },
    { key: "place", name: "Place", sort: (row) => functionName(meta, row.function), cell: (row) => <FunctionLink row={row.function} line={row.line} /> },
    { key: "on", name: "On", width: "100px", sort: (row) => row.on ?? "", cell: (row) => <span class="cut-text" title={row.on ?? ""}>{row.on === null ? "" : visible(row.on)}</span> },
    { key: "holder", name: "Held by", width: "150px", title: "The tasks that had it, and where they were most of the time", sort: (row) => holderName(meta, row),
      cell: (row) => (row.holders[0] ? <span class="cut-text">{holderName(meta, row)} <FunctionLink row={row.holders[0].function} line={row.holders[0].line} /></span> : "") },
  ], [meta.version]);
  const rows = useMemo(() => {
    const all = (data?.rows ?? []).filter((row) => (kind === null || row.kind === kind) && (matches === null || matches(row.function)));
    return sortRows(all, columns, sort);
  }, [data, kind, sort, matches, columns]);
  if (meta.counts.waits === 0) {
    return <Nothing>The profile has no waits. Profile with the mode “wait” to see what tasks wait for.</Nothing>;
  }
  if (error !== null) return <Nothing>{error}</Nothing>;
  if (data === null) return <div class="scroll" aria-busy="true" />;
  const locks = new Map<string, { on: string; total: number; count: number; places: Set<string>; longest: number; tasks: number; row: WaitRow }>();
  for (const row of data.rows) {
    if (row.kind !== 0) continue;
    const on = row.on ?? "(unnamed lock)";
    const found = locks.get(on) ?? { on, total: 0, count: 0, places: new Set<string>(), longest: 0, tasks: 0, row };
    found.total += row.total;
    found.count += row.count;
    found.longest = Math.max(found.longest, row.longest);
    found.tasks = Math.max(found.tasks, row.tasks);
    found.places.add(`${row.function} ${row.line}`);
    locks.set(on, found);
  }
  const contended = [...locks.values()].sort((a, b) => b.total - a.total).slice(0, 6);
  return (
    <div class="view">
      <div class="scroll waits">
        <div class="tiles kinds" role="group" aria-label="Kinds of waits">
          {data.kinds.map((each) => (
            <button
              type="button" key={each.kind} class="tile" aria-pressed={kind === each.kind}
              onClick={() => setKind(kind === each.kind ? null : each.kind)}
            >
              <dl>
                <dt><i class="dot" style={{ background: `var(--wait-${each.kind})` }} /> {WAIT_NAMES[each.kind]}</dt>
                <dd>{time(each.total)}</dd>
                <p>{count(each.count)} waits, longest {time(each.longest)}; runnable {time(each.runnable)}</p>
              </dl>
            </button>
          ))}
        </div>
        <Stack
          label="Waiting by kind"
          parts={data.kinds.map((each) => ({ name: WAIT_NAMES[each.kind]!, color: `wait-${each.kind}`, share: each.total / (data.total || 1) }))}
        />
        <p class="muted">
          {time(data.total)} in {count(data.count)} waits of all tasks. For {time(data.runnable)} of it ({percent(data.runnable / (data.total || 1))}) the
          task was runnable but no processor ran it.
          {data.noted < data.count && ` ${count(data.noted)} of the waits were noted; they stand for the others.`}
        </p>
        {contended.length > 0 && (kind === null || kind === 0) && (
          <section class="card">
            <h3>Contended locks</h3>
            <ul class="locks">
              {contended.map((lock) => (
                <li key={lock.on}>
                  <b class="cut-text" title={lock.on}>{visible(lock.on)}</b>
                  <span>{time(lock.total)} in {count(lock.count)} waits, longest {time(lock.longest)}, at {lock.places.size === 1 ? "one place" : `${lock.places.size} places`}; most at</span>
                  <FunctionLink row={lock.row.function} line={lock.row.line} />
                  {lock.row.holders[0] && <>
                    <span>{lock.tasks === 1 ? "by one task" : `by ${lock.tasks} tasks`}; mostly held by {holderName(meta, lock.row)} at</span>
                    <FunctionLink row={lock.row.holders[0].function} line={lock.row.holders[0].line} />
                  </>}
                </li>
              ))}
            </ul>
          </section>
        )}
        <BigTable
          rows={rows} columns={columns} sort={sort} onSort={setSort} label="Waits by kind and place"
          keyOf={(row) => `${row.kind} ${row.function} ${row.line} ${row.on}`} empty="Nothing passes these filters."
        />
      </div>
    </div>
  );
}
