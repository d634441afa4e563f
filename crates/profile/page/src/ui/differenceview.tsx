// Two profiles: what takes a larger share than before, and what a smaller one.

import { useEffect, useMemo, useState } from "preact/hooks";
import { matcher } from "../data/filter";
import type { DifferenceRow } from "../data/difference";
import { change, useAppState } from "../state";
import { MEASURE_NAMES, functionName, measuresOf, stackMeasure, unitOf, useQuery, useShared } from "./context";
import { Flame, type Look } from "./flame";
import { amount, percent, place, signedPercent, visible } from "./format";
import { BigTable, Choice, Dot, Nothing, Segments, sortRows, type ColumnOf } from "./parts";

export function DifferenceView() {
  const { meta, base, openBase } = useShared();
  if (base === null) {
    return (
      <Nothing>
        <h3>Compare with a second profile</h3>
        <p>Drop an earlier profile on this page, or choose its file. What takes a larger share now is shown in red, a smaller share in blue.</p>
        <label class="button primary">
          Choose the earlier profile
          <input
            type="file" class="sr-only"
            onChange={(event) => event.currentTarget.files?.[0] && openBase(event.currentTarget.files[0])}
          />
        </label>
      </Nothing>
    );
  }
  if (measuresOf(meta).every((each) => each === "counts") || measuresOf(base).every((each) => each === "counts")) {
    return <Nothing>One of the two profiles has no samples, so there is nothing to compare.</Nothing>;
  }
  return <Comparison />;
}

function Comparison() {
  const { meta, base, openBase } = useShared();
  const state = useAppState();
  const measure = stackMeasure(meta, state.measure);
  const unit = unitOf(measure);
  const { data, error } = useQuery("difference", { measure, async: state.async, width: state.width });
  const [range, setRange] = useState<[number, number]>([0, 1]);
  const [selected, setSelected] = useState(-1);
  const [sort, setSort] = useState("-change");
  const domain: [number, number] = [0, data?.layout.sum || 1];
  useEffect(() => {
    setRange(domain);
    setSelected(-1);
  }, [data]);
  const names = data?.functions ?? [];
  const nameOf = (row: number) => (row >= 0 && names[row] ? visible(names[row]!.name) : functionName(meta, Math.min(row, -2)));
  const look: Look = useMemo(() => ({ name: nameOf, group: (row) => names[row]?.group ?? 12 }), [data]);
  const matches = useMemo(() => {
    if (state.search === "") return null;
    const wanted = matcher(state.search);
    return (row: number) => row >= 0 && names[row] !== undefined && (wanted(names[row]!.name) || wanted(names[row]!.file ?? "\0"));
  }, [state.search, data]);
  const columns: ColumnOf<DifferenceRow>[] = useMemo(() => [
    { key: "change", name: "Change", figure: true, width: "150px", title: "Of the share of the function itself",
      sort: (row) => Math.abs(row.selfAfter - row.selfBefore), cell: (row) => <Change value={row.selfAfter - row.selfBefore} /> },
    { key: "before", minor: true, name: "Self before", figure: true, width: "96px", sort: (row) => row.selfBefore, cell: (row) => percent(row.selfBefore) },
    { key: "after", name: "Self now", figure: true, width: "86px", sort: (row) => row.selfAfter, cell: (row) => percent(row.selfAfter) },
    { key: "totalChange", minor: true, name: "Change of total", figure: true, width: "124px", sort: (row) => row.totalAfter - row.totalBefore,
      cell: (row) => signedPercent(row.totalAfter - row.totalBefore) },
    { key: "name", name: "Function", sort: (row) => nameOf(row.function), cell: (row) => (
      <span class="function">
        <Dot group={names[row.function]?.group ?? 12} />
        {row.function >= 0 && names[row.function]!.row >= 0
          ? <button type="button" class="link" onClick={() => change({ view: "table", function: names[row.function]!.row })}>{nameOf(row.function)}</button>
          : <span>{nameOf(row.function)}</span>}
        {row.function >= 0 && <span class="where">{place(names[row.function]!.file, names[row.function]!.line)}</span>}
        {row.totalAfter === 0 && <span class="badge">gone</span>}
        {row.totalBefore === 0 && <span class="badge">new</span>}
      </span>
    ) },
  ], [data]);
  const rows = useMemo(() => sortRows((data?.rows ?? []).filter((row) => matches === null || matches(row.function)), columns, sort),
    [data, sort, matches, columns]);
  if (error !== null) return <Nothing>{error}</Nothing>;
  if (data === null) return <div class="scroll" aria-busy="true" />;
  const { layout } = data;
  const tooltip = (box: number) => {
    const row = layout.function[box]!;
    const [before, after] = [layout.before![box]!, layout.after![box]!];
    return (
      <>
        <strong>{nameOf(row)}</strong>
        {row >= 0 && names[row]?.file && <div class="muted">{place(names[row]!.file, names[row]!.line, true)}</div>}
        <dl>
          <dt>Before</dt><dd>{percent(before)} <span class="muted">{amount(before * data.base.sum, unit)}</span></dd>
          <dt>Now</dt><dd>{percent(after)} <span class="muted">{amount(after * data.sum, unit)}</span></dd>
          <dt>Change</dt><dd>{signedPercent(after - before)}</dd>
        </dl>
      </>
    );
  };
  const started = (at: number) => (at > 0 ? new Date(at / 1e6).toLocaleString() : "");
  return (
    <div class="view difference">
      <div class="toolbar">
        <Choice
          label="Measure" value={measure} choices={measuresOf(meta).filter((each) => each !== "counts").map((each) => [each, MEASURE_NAMES[each]])}
          onChange={(value) => change({ measure: value })}
        />
        <Segments
          label="Width of the boxes" value={state.width} choices={[["mean", "Both"], ["before", "Before"], ["after", "Now"]]}
          onChange={(width) => change({ width })}
        />
        <span class="muted" title={started(base!.header.started)}>
          {amount(data.base.sum, unit)} before, {amount(data.sum, unit)} now{data.base.sum > 0 && ` (${signedPercent(data.sum / data.base.sum - 1)})`}
        </span>
        {(state.task !== null || state.thread !== null || state.from !== null || state.to !== null) && (
          <span class="muted">Filters of task, thread and time apply to the newer profile only.</span>
        )}
        <span class="spacer" />
        <label class="button">
          Other profile…
          <input type="file" class="sr-only" onChange={(event) => event.currentTarget.files?.[0] && openBase(event.currentTarget.files[0])} />
        </label>
        <button type="button" onClick={() => setRange(domain)} disabled={range[0] === 0 && range[1] === domain[1]}>Reset zoom</button>
      </div>
      {layout.count === 0 ? <Nothing>Nothing passes these filters.</Nothing> : (
        <Flame
          layout={layout} look={look} color="difference" domain={domain} range={range[1] <= domain[1] ? range : domain} onRange={setRange}
          matches={matches} selected={selected} onSelect={setSelected} label="Flame graph of the difference"
          describe={(box) => `${nameOf(layout.function[box]!)}: before ${percent(layout.before![box]!)}, now ${percent(layout.after![box]!)}`}
          tooltip={tooltip}
        />
      )}
      <ul class="legend strip">
        <li><i style={{ background: "var(--red)" }} /> larger share now</li>
        <li><i style={{ background: "var(--same)" }} /> the same</li>
        <li><i style={{ background: "var(--blue)" }} /> smaller share now</li>
        <li class="muted">compared with {visible(base!.header.program)} {started(base!.header.started)}</li>
      </ul>
      <BigTable
        rows={rows} columns={columns} sort={sort} onSort={setSort} label="Differences by function" fill
        keyOf={(row) => row.function} empty="Nothing passes these filters."
      />
    </div>
  );
}

function Change({ value }: { value: number }) {
  const width = Math.min(50, Math.abs(value) * 250);
  return (
    <span class="weighed">
      <span class="two-sided" aria-hidden="true">
        <span style={{ width: `${width}%`, left: value < 0 ? `${50 - width}%` : "50%", background: value < 0 ? "var(--blue)" : "var(--red)" }} />
      </span>
      <b>{signedPercent(value)}</b>
    </span>
  );
}
