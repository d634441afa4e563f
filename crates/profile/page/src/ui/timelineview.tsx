// The timeline: processor use, then a lane for the machine's events and one for each thread and task.
// Only the lanes in sight are fetched and drawn. Dragging chooses the time range of all views.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { EVENT_KINDS, GROUP_COUNT, WAIT_KINDS } from "../data/profile";
import type { LanePictures } from "../data/timeline";
import { change, useAppState } from "../state";
import { functionName, taskName, threadName, useQuery, useShared } from "./context";
import { UseChart } from "./chart";
import { Tooltip } from "./flame";
import { GROUP_NAMES, WAIT_NAMES, clock, percent, place, time, visible } from "./format";
import { Nothing } from "./parts";
import { colors, mix, useTheme } from "./theme";

const LANE = 38;
const EVENTS = 30;
const EVENT_NAMES: Record<string, string> = {
  collection: "Collection", compilation: "Compilation", deoptimization: "Deoptimization", osr: "OSR entry", other: "Event",
};

function hatch(context: CanvasRenderingContext2D, color: string, soft: string): CanvasPattern {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const pen = tile.getContext("2d")!;
  pen.fillStyle = soft;
  pen.fillRect(0, 0, 12, 12);
  pen.strokeStyle = color;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const offset of [-12, 0, 12]) {
    pen.moveTo(offset - 2, 14);
    pen.lineTo(offset + 14, -2);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

export function TimelineView() {
  const { meta } = useShared();
  const state = useAppState();
  const theme = useTheme();
  const [view, setView] = useState<[number, number]>([0, meta.duration]);
  const [top, setTop] = useState(0);
  const [box, setBox] = useState({ width: 0, height: 0 });
  const [hover, setHover] = useState<{ x: number; y: number; at: number; lane: number } | null>(null);
  const [brush, setBrush] = useState<[number, number] | null>(null);
  const outer = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; at: number; moved: boolean } | null>(null);
  const gutter = box.width < 600 ? 92 : 176;
  const width = Math.max(0, box.width - gutter);
  const columns = Math.max(20, Math.min(1200, Math.floor(width / 3)));
  // Columns of the chart that are narrower than some samples would show noise.
  const chartColumns = Math.max(20, Math.min(
    Math.floor(width / 4), Math.floor((view[1] - view[0]) / (16 * Math.max(1e5, meta.header.interval)))));
  const known = useRef(meta.duration);
  useEffect(() => {
    // A growing profile keeps its whole length in sight as long as nobody zoomed.
    setView((old) => (old[0] === 0 && old[1] === known.current ? [0, meta.duration] : old));
    known.current = meta.duration;
  }, [meta.duration]);
  const activity = useQuery("activity", {}, { from: null, to: null });
  const use = useQuery("use", width > 0 ? { from: view[0], to: view[1], columns: chartColumns } : null,
    { from: null, to: null });
  const lanes = activity.data?.lanes ?? [];
  const first = Math.max(0, Math.floor((top - EVENTS) / LANE) - 2);
  const last = Math.min(lanes.length, Math.ceil((top - EVENTS + box.height) / LANE) + 2);
  const shown = useMemo(() => lanes.slice(first, last), [activity.data, first, last]);
  const pictures = useQuery("lanes", width > 0 && activity.data !== null
    ? { lanes: shown, from: view[0], to: view[1], columns } : null, { from: null, to: null });
  const data: LanePictures | null = pictures.data;
  const answered = pictures.query;

  useLayoutEffect(() => {
    const element = outer.current!;
    const measure = () => setBox({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const range: [number, number] | null = brush ??
    (state.from !== null || state.to !== null ? [state.from ?? 0, state.to ?? meta.duration] : null);
  const pixel = (at: number) => ((at - view[0]) / (view[1] - view[0])) * width;

  // Where the lanes of the answer stand among all lanes, which may have been sorted anew meanwhile.
  const laneAt = useMemo(() => {
    const rows = new Map<string, number>();
    lanes.forEach((lane, index) => rows.set(`${lane.kind}${lane.row}`, index));
    return (answered?.lanes ?? []).map((lane) => rows.get(`${lane.kind}${lane.row}`) ?? -1);
  }, [activity.data, answered]);

  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null || width <= 0) return;
    const scale = devicePixelRatio || 1;
    element.width = Math.round(width * scale);
    element.height = Math.round(box.height * scale);
    const context = element.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const palette = colors();
    if (data !== null) {
      const step = (data.to - data.from) / data.columns;
      const hatches = palette.wait.map((color) => hatch(context, mix(color, palette.surface, 0.25), mix(color, palette.surface, 0.82)));
      const tops = laneAt.map((lane) => EVENTS + lane * LANE - top);
      for (let row = 0; row < data.waitLane.length; row++) {
        const y = tops[data.waitLane[row]!]!;
        if (laneAt[data.waitLane[row]!]! < 0 || y > box.height || y < -LANE) continue;
        const from = Math.max(0, pixel(data.waitFrom[row]!));
        const ready = Math.max(0, Math.min(width, pixel(data.waitReady[row]!)));
        const to = Math.min(width, pixel(data.waitResumed[row]!));
        if (to < 0 || from > width) continue;
        context.fillStyle = hatches[data.waitKind[row]!]!;
        context.fillRect(from, y + 6, Math.max(0.75, ready - from), LANE - 10);
        if (ready - from > 4) {
          context.fillStyle = palette.wait[data.waitKind[row]!]!;
          context.fillRect(from, y + LANE - 6, ready - from, 2);
        }
        if (to - ready > 0.2) {
          context.fillStyle = palette.runnable;
          context.fillRect(ready, y + 16, Math.max(0.75, to - ready), LANE - 20);
        }
      }
      for (let lane = 0; lane < laneAt.length; lane++) {
        const y = tops[lane]!;
        if (laneAt[lane]! < 0 || y > box.height || y < -LANE) continue;
        const floor = y + LANE - 4;
        for (let column = 0; column < data.columns; column++) {
          let height = 0;
          const base = (lane * data.columns + column) * GROUP_COUNT;
          const left = pixel(data.from + column * step);
          const wide = Math.max(1, pixel(data.from + (column + 1) * step) - left) + 0.3;
          if (left > width || left + wide < 0) continue;
          // Clocks are not exact: a column may hold a little more than its length, and is then scaled.
          let sum = 0;
          for (let group = 0; group < GROUP_COUNT; group++) sum += data.use[base + group]!;
          const shrink = sum > 1 ? 1 / sum : 1;
          for (let group = 0; group < GROUP_COUNT; group++) {
            const part = data.use[base + group]! * shrink;
            if (part <= 0) continue;
            const tall = part * (LANE - 12);
            context.fillStyle = palette.group[group]![2]!;
            context.fillRect(left, floor - height * (LANE - 12) - tall, wide, tall);
            height += part;
          }
        }
        context.fillStyle = palette.line;
        context.fillRect(0, y + LANE - 1, width, 1);
      }
      const events = (lane: number, y: number, height: number) => {
        for (let row = 0; row < data.eventLane.length; row++) {
          if (data.eventLane[row] !== lane) continue;
          const left = pixel(data.eventAt[row]!);
          const wide = pixel(data.eventAt[row]! + data.eventDuration[row]!) - left;
          if (left > width || left + wide < 0) continue;
          const kind = data.eventKind[row]!;
          context.fillStyle = palette.event[kind]!;
          if (lane < 0) {
            if (kind === 2) {
              // Deoptimizations have no length: a triangle that points down.
              context.beginPath();
              context.moveTo(left - 4, y + 16);
              context.lineTo(left + 4, y + 16);
              context.lineTo(left, y + 25);
              context.fill();
            } else if (kind === 0) context.fillRect(left, y + 4, Math.max(1.2, wide), height - 8);
            else context.fillRect(left, y + 4, Math.max(1.2, wide), 9);
          } else context.fillRect(left, y + 1, Math.max(1.2, wide), 4);
        }
      };
      context.fillStyle = palette.line;
      context.fillRect(0, EVENTS - 1 - top, width, 1);
      if (top < EVENTS) events(-1, -top, EVENTS);
      laneAt.forEach((lane, index) => lane >= 0 && events(index, tops[index]!, LANE));
    }
    if (range !== null) {
      const [left, right] = [pixel(range[0]), pixel(range[1])];
      context.fillStyle = palette.background;
      context.globalAlpha = 0.62;
      context.fillRect(0, 0, Math.max(0, left), box.height);
      context.fillRect(right, 0, Math.max(0, width - right), box.height);
      context.globalAlpha = 1;
      context.fillStyle = palette.accent;
      context.fillRect(left - 0.5, 0, 1.5, box.height);
      context.fillRect(right - 0.5, 0, 1.5, box.height);
    }
    if (hover !== null) {
      context.fillStyle = palette.muted;
      context.globalAlpha = 0.5;
      context.fillRect(pixel(hover.at), 0, 1, box.height);
      context.globalAlpha = 1;
    }
  }, [data, laneAt, box, top, view, range?.[0], range?.[1], hover?.at, theme, width]);

  const limit = (from: number, to: number): [number, number] => {
    const span = Math.min(meta.duration, Math.max(1000, to - from));
    const start = Math.min(Math.max(0, from), meta.duration - span);
    return [start, start + span];
  };
  const zoomBy = (factor: number, at = (view[0] + view[1]) / 2) =>
    setView(limit(at - (at - view[0]) * factor, at + (view[1] - at) * factor));
  const panBy = (share: number) => setView(limit(view[0] + (view[1] - view[0]) * share, view[1] + (view[1] - view[0]) * share));
  const choose = (chosen: [number, number] | null) => change(chosen === null
    ? { from: null, to: null } : { from: Math.max(0, Math.round(chosen[0])), to: Math.min(meta.duration, Math.round(chosen[1])) });

  const positionOf = (event: MouseEvent) => {
    const rectangle = canvas.current!.getBoundingClientRect();
    const x = Math.max(0, Math.min(rectangle.width, event.clientX - rectangle.left));
    const at = view[0] + (x / Math.max(1, rectangle.width)) * (view[1] - view[0]);
    return { at, lane: Math.floor((event.clientY - rectangle.top + top - EVENTS) / LANE), x: event.clientX, y: event.clientY };
  };
  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoomBy(Math.exp(event.deltaY * 0.003), positionOf(event).at);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      panBy((event.deltaX || event.deltaY) / Math.max(1, width));
    }
  };
  useEffect(() => {
    const element = outer.current!;
    const listener = (event: WheelEvent) => wheel.current(event);
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, []);

  const keyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(target.tagName)) return;
    const actions: Record<string, () => void> = {
      "+": () => zoomBy(0.6), "=": () => zoomBy(0.6), w: () => zoomBy(0.6), "-": () => zoomBy(1 / 0.6),
      s: () => zoomBy(1 / 0.6), ArrowLeft: () => panBy(-0.2), a: () => panBy(-0.2), ArrowRight: () => panBy(0.2),
      d: () => panBy(0.2), "0": () => setView([0, meta.duration]), Escape: () => choose(null),
    };
    if (actions[event.key] === undefined) return;
    event.preventDefault();
    actions[event.key]!();
  };

  const maxCpu = Math.max(1, ...(activity.data?.cpu.slice(0, 2000) ?? []));
  const span = view[1] - view[0];
  return (
    <div class="view timeline" onKeyDown={keyDown}>
      <div class="toolbar">
        <button type="button" onClick={() => zoomBy(0.5)} aria-label="Zoom in">+</button>
        <button type="button" onClick={() => zoomBy(2)} aria-label="Zoom out">−</button>
        <button type="button" disabled={range === null} onClick={() => range && setView(limit(range[0], range[1]))}>Zoom to range</button>
        <button type="button" disabled={view[0] === 0 && view[1] === meta.duration} onClick={() => setView([0, meta.duration])}>Whole run</button>
        <span class="muted wide-only">{clock(view[0], span)} to {clock(view[1], span)}</span>
        <span class="spacer" />
        <span class="muted wide-only">Drag to choose a range for all views; Ctrl and wheel to zoom</span>
      </div>
      <UseChart use={use.data} width={box.width} gutter={gutter} view={use.query ? [use.query.from, use.query.to] : view}
        range={range} onBrush={choose} />
      <div
        class="lanes" ref={outer} tabIndex={0} aria-label="Lanes of threads and tasks"
        onScroll={(event) => { setTop(event.currentTarget.scrollTop); setHover(null); }}
      >
        <div class="lanes-space" style={{ height: `${EVENTS + lanes.length * LANE}px` }}>
          <canvas
            ref={canvas} style={{ left: `${gutter}px`, width: `${width}px`, height: `${box.height}px` }}
            onPointerDown={(event) => {
              if (event.button !== 0) return;
              drag.current = { x: event.clientX, at: positionOf(event).at, moved: false };
              canvas.current!.setPointerCapture(event.pointerId);
            }}
            onPointerMove={(event) => {
              const found = positionOf(event);
              const { current } = drag;
              if (current !== null && (current.moved || Math.abs(event.clientX - current.x) > 3)) {
                current.moved = true;
                setHover(null);
                setBrush([Math.min(current.at, found.at), Math.max(current.at, found.at)]);
              } else if (event.pointerType !== "touch") setHover(found);
            }}
            onPointerUp={() => {
              const { current } = drag;
              drag.current = null;
              if (current === null) return;
              choose(current.moved ? brush : null);
              setBrush(null);
            }}
            onPointerCancel={() => {
              drag.current = null;
              setBrush(null);
            }}
            onPointerLeave={() => setHover(null)}
          />
          <div class="lane-label events" style={{ top: 0, height: `${EVENTS}px`, width: `${gutter}px` }}>Events</div>
          {shown.map((lane, index) => {
            const position = first + index;
            const name = lane.kind === "task" ? taskName(meta, lane.row) : threadName(meta, lane.row);
            const active = lane.kind === "task" ? state.task === lane.row : state.thread === lane.row;
            const cpu = activity.data!.cpu[position] ?? 0;
            return (
              <button
                type="button" key={`${lane.kind}${lane.row}`} class={`lane-label ${active ? "active" : ""}`} aria-pressed={active}
                style={{ top: `${EVENTS + position * LANE}px`, height: `${LANE}px`, width: `${gutter}px` }}
                title={`${lane.kind === "task" ? "Task" : "Thread"} ${name}: ${time(cpu)} of processor time. Click to see only this one.`}
                onClick={() => change(lane.kind === "task"
                  ? { task: active ? null : lane.row } : { thread: active ? null : lane.row })}
              >
                <span class={`badge ${lane.kind}`}>{lane.kind === "task" ? "task" : "thread"}</span>
                <span class="lane-name">{name}</span>
                <span class="lane-use"><span style={{ width: `${(cpu / maxCpu) * 100}%` }} /></span>
              </button>
            );
          })}
        </div>
      </div>
      {lanes.length === 0 && activity.data !== null && <Nothing>The profile has no threads and no tasks.</Nothing>}
      <ul class="legend strip">
        {GROUP_NAMES.map((name, group) => meta.functions.group.includes(group) && (
          <li key={name}><i style={{ background: `var(--group-${group})` }} /> {name}</li>
        ))}
        {meta.counts.waits > 0 && <li class="gap"><i style={{ background: "var(--runnable)" }} /> runnable, not running</li>}
        {meta.counts.waits > 0 && WAIT_NAMES.map((name, kind) => (
          <li key={name}><i class="hatched" style={{ background: `repeating-linear-gradient(135deg, var(--wait-${kind}) 0 2px, transparent 2px 4px)` }} /> {name}</li>
        ))}
        {meta.counts.events > 0 && EVENT_KINDS.slice(0, 4).map((kind, index) => (
          <li key={kind} class={index === 0 ? "gap" : ""}><i class="mark" style={{ background: `var(--event-${index})` }} /> {EVENT_NAMES[kind]}</li>
        ))}
      </ul>
      {hover !== null && data !== null && <LaneTooltip hover={hover} data={data} laneAt={laneAt} span={span / Math.max(1, width)} />}
    </div>
  );
}

function LaneTooltip({ hover, data, laneAt, span }: {
  hover: { x: number; y: number; at: number; lane: number }; data: LanePictures; laneAt: number[]; span: number;
}) {
  const { meta } = useShared();
  const { lanes } = { lanes: laneAt };
  const index = lanes.indexOf(hover.lane);
  const near = 4 * span;
  const events: string[] = [];
  for (let row = 0; row < data.eventLane.length && events.length < 4; row++) {
    if (data.eventLane[row] !== (hover.lane < 0 ? -1 : index)) continue;
    if (hover.at < data.eventAt[row]! - near || hover.at > data.eventAt[row]! + data.eventDuration[row]! + near) continue;
    const text = data.eventText[row];
    events.push(`${EVENT_NAMES[EVENT_KINDS[data.eventKind[row]!]!]}${data.eventDuration[row]! > 0 ? `, ${time(data.eventDuration[row]!)}` : ""}${text ? `: ${visible(text)}` : ""}`);
  }
  const parts: { group: number; part: number }[] = [];
  let wait = -1;
  if (index >= 0) {
    const column = Math.floor(((hover.at - data.from) / (data.to - data.from)) * data.columns);
    for (let group = 0; group < GROUP_COUNT; group++) {
      const part = data.use[(index * data.columns + column) * GROUP_COUNT + group] ?? 0;
      if (part > 0.005) parts.push({ group, part });
    }
    parts.sort((a, b) => b.part - a.part);
    for (let row = 0; row < data.waitLane.length; row++) {
      if (data.waitLane[row] === index && data.waitFrom[row]! <= hover.at + span && data.waitResumed[row]! >= hover.at - span) wait = row;
    }
  }
  const frame = wait < 0 ? -1 : data.waitPlace[wait]!;
  const row = frame < 0 ? -1 : meta.frameFunction[frame] ?? -1;
  return (
    <Tooltip x={hover.x} y={hover.y}>
      <strong>{clock(hover.at, (data.to - data.from))}</strong>
      {parts.map(({ group, part }) => (
        <div key={group}><i class="dot" style={{ background: `var(--group-${group})` }} /> {GROUP_NAMES[group]} <b>{percent(part)}</b></div>
      ))}
      {wait >= 0 && (
        <div class="tooltip-part">
          <div><i class="dot" style={{ background: `var(--wait-${data.waitKind[wait]!})` }} /> Waits for <b>{WAIT_KINDS[data.waitKind[wait]!]}</b>{data.waitOn[wait] ? ` ${visible(data.waitOn[wait]!)}` : ""}, {time(data.waitReady[wait]! - data.waitFrom[wait]!)}</div>
          {data.waitResumed[wait]! - data.waitReady[wait]! > 0 && <div>then runnable for {time(data.waitResumed[wait]! - data.waitReady[wait]!)}</div>}
          {row >= 0 && <div class="muted">in {functionName(meta, row)} {place(meta.functions.file[row] ?? null, meta.frameLine[frame]!)}</div>}
        </div>
      )}
      {events.map((text, at) => <div key={at} class="tooltip-part">{text}</div>)}
      {parts.length === 0 && wait < 0 && events.length === 0 && <div class="muted">nothing recorded here</div>}
    </Tooltip>
  );
}
