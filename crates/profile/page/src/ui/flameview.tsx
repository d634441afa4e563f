// The view of flame graphs: chooses the layout, and shows what the picture says about the chosen box.

import { useEffect, useMemo, useState } from "preact/hooks";
import { matcher } from "../data/filter";
import { TIER_COUNT } from "../data/profile";
import { STARTED_BY, TAIL, type Layout } from "../data/tree";
import type { Lane } from "../data/timeline";
import { change, useAppState } from "../state";
import {
  MEASURE_NAMES, functionName, groupOf, measuresOf, stackMeasure, taskName, threadName, unitOf, useQuery, useShared,
} from "./context";
import { Flame, matchedShare, pathTo, type Look } from "./flame";
import { GROUP_NAMES, TIER_NAMES, amount, clock, percent, place } from "./format";
import { Choice, FunctionLink, Nothing, Segments } from "./parts";

export function useLook(): Look {
  const { meta } = useShared();
  return useMemo(() => {
    const names = new Map<number, string>();
    return {
      name: (row) => {
        let name = names.get(row);
        if (name === undefined) names.set(row, (name = functionName(meta, row)));
        return name;
      },
      group: (row) => groupOf(meta, row),
    };
  }, [meta.version]);
}

export function useMatches(): ((row: number) => boolean) | null {
  const { meta } = useShared();
  const { search } = useAppState();
  return useMemo(() => {
    if (search === "") return null;
    const matches = matcher(search);
    return (row: number) => row >= 0 &&
      (matches(meta.functions.name[row] ?? "") || matches(meta.functions.file[row] ?? "\0"));
  }, [search, meta.version]);
}

export function tierText(layout: Layout, box: number): string {
  return TIER_NAMES.map((name, tier) => ({ name, share: layout.tiers[box * TIER_COUNT + tier]! / 255 }))
    .filter((part) => part.share > 0.005).sort((a, b) => b.share - a.share)
    .map((part) => (part.share > 0.995 ? part.name : `${part.name} ${percent(part.share)}`)).join(", ");
}

export function FlameView() {
  const { meta } = useShared();
  const state = useAppState();
  const measure = stackMeasure(meta, state.measure);
  const ordered = state.shape === "ordered";
  const activity = useQuery("activity", ordered ? {} : null);
  const lane: Lane = useMemo(() => {
    const found = /^(task|thread):(\d+)$/.exec(state.lane);
    if (found) return { kind: found[1] as Lane["kind"], row: Number(found[2]) };
    if (state.task !== null) return { kind: "task", row: state.task };
    return activity.data?.lanes.find((each) => each.kind === "task") ??
      activity.data?.lanes[0] ?? { kind: "task", row: meta.tasks.number.length > 0 ? 0 : -1 };
  }, [state.lane, state.task, activity.data]);
  const whole: [number, number] = [state.from ?? 0, state.to ?? meta.duration];
  const [range, setRange] = useState<[number, number]>(whole);
  const still = useQuery("flame", ordered ? null : {
    measure, async: state.async, shape: state.shape === "inverted" ? "inverted" : "left-heavy",
  });
  const moving = useQuery("ordered", ordered && (activity.data !== null || state.lane !== "")
    ? { async: state.async, lane, from: range[0], to: range[1], columns: 1400 } : null, {});
  const layout = ordered ? moving.data : still.data;
  const error = ordered ? moving.error : still.error;
  const domain: [number, number] = ordered ? whole : [0, layout?.sum || 1];
  const [selected, setSelected] = useState(-1);
  const key = JSON.stringify([state.shape, state.async, measure, state.lane, state.task, state.thread, state.label,
    state.groups, state.from, state.to, state.only && state.search, ordered || layout === null ? 0 : layout.sum]);
  useEffect(() => {
    setRange(domain);
    setSelected(-1);
  }, [key]);
  useEffect(() => setSelected(-1), [layout]);
  const look = useLook();
  const matches = useMatches();
  const share = useMemo(
    () => (layout !== null && matches !== null ? matchedShare(layout, matches) : null), [layout, matches]);
  const unit = ordered ? "time" : unitOf(measure);
  const shownRange: [number, number] = ordered || (range[1] <= domain[1] && range[1] > 0) ? range : domain;

  const lanes: [string, string][] = useMemo(() => (activity.data?.lanes.slice(0, 300) ?? [{ ...lane }])
    .map((each) => [`${each.kind}:${each.row}`,
      each.kind === "task" ? `Task: ${taskName(meta, each.row)}` : `Thread: ${threadName(meta, each.row)}`]),
  [activity.data, meta.version]);

  if (measuresOf(meta).every((each) => each === "counts")) {
    return <Nothing>{meta.counts.counted > 0
      ? "Exact counts have no stacks, so there is no flame graph. The table has them."
      : "The profile has no samples, no waits and no allocations."}</Nothing>;
  }
  const details = (box: number) => {
    const row = layout!.function[box]!;
    const file = row >= 0 ? meta.functions.file[row] ?? null : null;
    const flags = layout!.flags[box]!;
    return (
      <>
        <strong>{look.name(row)}</strong>
        {file !== null && <div class="muted">{place(file, meta.functions.line[row]!, true)}</div>}
        <dl>
          {ordered
            ? <><dt>From</dt><dd>{clock(layout!.start[box]!, range[1] - range[0])}</dd><dt>Length</dt><dd>{amount(layout!.total[box]!, "time")}</dd></>
            : <>
              <dt>Total</dt><dd>{amount(layout!.total[box]!, unit)} <span class="muted">{percent(layout!.total[box]! / layout!.sum)}</span></dd>
              <dt>Self</dt><dd>{amount(layout!.self[box]!, unit)} <span class="muted">{percent(layout!.self[box]! / layout!.sum)}</span></dd>
            </>}
          <dt>Group</dt><dd>{GROUP_NAMES[groupOf(meta, row)]}</dd>
          {tierText(layout!, box) !== "" && <><dt>Tier</dt><dd>{tierText(layout!, box)}</dd></>}
        </dl>
        {(flags & STARTED_BY) !== 0 && <div class="muted">{state.shape === "inverted" ? "Started the task above." : "Runs in a task that the function above started."}</div>}
        {(flags & TAIL) !== 0 && <div class="muted">Ended with a tail call; this frame was reconstructed.</div>}
      </>
    );
  };
  return (
    <div class="view">
      <div class="toolbar">
        <Segments
          label="Shape of the graph" value={state.shape}
          choices={[["left-heavy", "Left-heavy"], ["ordered", "Time-ordered"], ["inverted", "Inverted"]]}
          onChange={(shape) => change({ shape })}
        />
        {ordered
          ? <Choice label="Lane" value={`${lane.kind}:${lane.row}`} choices={lanes} onChange={(value) => change({ lane: value })} />
          : <Choice
            label="Measure" value={measure}
            choices={measuresOf(meta).filter((each) => each !== "counts").map((each) => [each, MEASURE_NAMES[each]])}
            onChange={(value) => change({ measure: value })}
          />}
        <Choice
          label="Started tasks" value={state.async} choices={[["follow", "below their starter"], ["cut", "on their own"]]}
          onChange={(async) => change({ async })}
        />
        <Choice
          label="Colour" value={state.color} choices={[["group", "by group"], ["tier", "by tier"]]}
          onChange={(color) => change({ color })}
        />
        <span class="spacer" />
        {share !== null && <output class="found" aria-live="polite">Matches: <b>{percent(share)}</b></output>}
        <button
          type="button" onClick={() => setRange(domain)}
          disabled={shownRange[0] === domain[0] && shownRange[1] === domain[1]}
        >
          Reset zoom
        </button>
      </div>
      {error !== null ? <Nothing>{error}</Nothing> : layout === null ? <div class="flame" aria-busy="true" /> :
        layout.count === 0 ? <Nothing>{ordered ? "This lane has no samples in this range." : "Nothing passes these filters."}</Nothing> : (
          <>{ordered && (
            <div class="ruler" aria-hidden="true">
              {[0, 0.25, 0.5, 0.75, 1].map((share) => (
                <span key={share}>{clock(shownRange[0] + share * (shownRange[1] - shownRange[0]), shownRange[1] - shownRange[0])}</span>
              ))}
            </div>
          )}
          <Flame
            layout={layout} look={look} color={state.color} domain={domain} range={shownRange} onRange={setRange}
            matches={matches} selected={selected} onSelect={setSelected}
            label={`Flame graph, ${MEASURE_NAMES[measure]}, ${layout.count} boxes. The arrow keys choose a box, Enter zooms.`}
            describe={(box) => `${look.name(layout.function[box]!)}, ${amount(layout.total[box]!, unit)}, ${percent(layout.total[box]! / layout.sum)}`}
            tooltip={details}
          /></>
        )}
      <Legends />
      {layout !== null && selected >= 0 && selected < layout.count ? (
        <div class="details">
          <FunctionLink row={layout.function[selected]!} />
          <span>Total <b>{amount(layout.total[selected]!, unit)}</b> <span class="muted">{percent(layout.total[selected]! / (ordered ? whole[1] - whole[0] : layout.sum))}</span></span>
          {!ordered && <span>Self <b>{amount(layout.self[selected]!, unit)}</b> <span class="muted">{percent(layout.self[selected]! / layout.sum)}</span></span>}
          <span class="muted">{tierText(layout, selected)}</span>
          <nav class="path" aria-label="Path to the chosen box">
            {pathTo(layout, selected).map((box, index) => (
              <button
                type="button" class="link" key={index} aria-current={box === selected}
                onClick={() => { setSelected(box); setRange([layout.start[box]!, layout.start[box]! + layout.total[box]!]); }}
              >
                {look.name(layout.function[box]!)}
              </button>
            ))}
          </nav>
        </div>
      ) : (
        <div class="details muted hint">
          <span>Click a box or turn the wheel to zoom, drag to move; <kbd>/</kbd> to search, <kbd>?</kbd> for all keys.</span>
        </div>
      )}
    </div>
  );
}

export function Legends() {
  const { meta } = useShared();
  const { color, groups } = useAppState();
  const used = useMemo(() => new Set(meta.functions.group), [meta.version]);
  if (color === "tier") {
    return (
      <ul class="legend strip">
        {TIER_NAMES.map((name, tier) => <li key={name}><i style={{ background: `var(--tier-${tier})` }} /> {name}</li>)}
      </ul>
    );
  }
  return (
    <ul class="legend strip">
      {GROUP_NAMES.map((name, group) => used.has(group) && (
        <li key={name} class={groups !== 0 && !(groups & (1 << group)) ? "off" : ""}>
          <i style={{ background: `var(--group-${group})` }} /> {name}
        </li>
      ))}
    </ul>
  );
}
