// The flame graph as a canvas: draws the visible boxes of a layout, and owns zoom, scrolling, hover and
// the selected box. It knows nothing of where the layout comes from.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { STARTED_BY, TAIL, type Layout } from "../data/tree";
import { TIER_COUNT } from "../data/profile";
import { colors, FONT, mix, useTheme, VARIANTS } from "./theme";

export const ROW = 20;

export interface Look {
  name: (row: number) => string;
  group: (row: number) => number;
}

interface Props {
  layout: Layout;
  look: Look;
  color: "group" | "tier" | "difference";
  /** What the whole width stands for when not zoomed. */
  domain: [number, number];
  /** The name of the picture for screen readers. */
  label: string;
  matches: ((row: number) => boolean) | null;
  /** The range that is shown; the owner may fetch a finer layout for it. */
  range: [number, number];
  onRange: (range: [number, number]) => void;
  selected: number;
  onSelect: (box: number) => void;
  describe: (box: number) => string;
  tooltip: (box: number) => ComponentChildren;
}

/** The first box of a row that ends after `at`. */
function firstVisible(layout: Layout, from: number, to: number, at: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.start[middle]! + layout.total[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function boxAt(layout: Layout, depth: number, at: number): number {
  if (depth < 0 || depth >= layout.rows.length - 1) return -1;
  const box = firstVisible(layout, layout.rows[depth]!, layout.rows[depth + 1]!, at);
  return box < layout.rows[depth + 1]! && layout.start[box]! <= at ? box : -1;
}

export function depthOf(layout: Layout, box: number): number {
  let depth = 0;
  while (depth + 1 < layout.rows.length && layout.rows[depth + 1]! <= box) depth += 1;
  return depth;
}

export function children(layout: Layout, box: number): number[] {
  const depth = depthOf(layout, box) + 1;
  if (depth >= layout.rows.length - 1) return [];
  const result: number[] = [];
  const end = layout.start[box]! + layout.total[box]!;
  const last = layout.rows[depth + 1]!;
  for (let child = firstVisible(layout, layout.rows[depth]!, last, layout.start[box]!); child < last; child++) {
    if (layout.start[child]! >= end) break;
    if (layout.parent[child] === box) result.push(child);
  }
  return result;
}

export function pathTo(layout: Layout, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at >= 0; at = layout.parent[at]!) path.unshift(at);
  return path;
}

/** The share of all weight that lies under a match. */
export function matchedShare(layout: Layout, matches: (row: number) => boolean): number {
  const under = new Uint8Array(layout.count);
  const known = new Map<number, boolean>();
  let sum = 0;
  for (let box = 0; box < layout.count; box++) {
    const parent = layout.parent[box]!;
    if (parent >= 0 && under[parent]) {
      under[box] = 1;
      continue;
    }
    const row = layout.function[box]!;
    let matched = known.get(row);
    if (matched === undefined) known.set(row, (matched = matches(row)));
    if (matched) {
      under[box] = 1;
      sum += layout.total[box]!;
    }
  }
  return layout.sum > 0 ? sum / layout.sum : 0;
}

function hash(row: number): number {
  return (Math.imul(row + 7, 0x9e3779b1) >>> 16) % VARIANTS;
}

const widths = new Map<string, number>();

function fit(context: CanvasRenderingContext2D, name: string, room: number): string {
  if (room < 14) return "";
  let width = widths.get(name);
  if (width === undefined) {
    width = context.measureText(name.length > 400 ? name.slice(0, 400) : name).width;
    if (widths.size > 20000) widths.clear();
    widths.set(name, width);
  }
  if (width <= room) return name;
  const kept = Math.floor((name.length * (room - 9)) / width);
  return kept < 2 ? "" : `${name.slice(0, kept)}…`;
}

export function Flame(props: Props) {
  const { layout, look, color, domain, range, matches, selected } = props;
  const theme = useTheme();
  const outer = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, setBox] = useState({ width: 0, height: 0 });
  const [hover, setHover] = useState<{ box: number; x: number; y: number } | null>(null);
  const drag = useRef<{ x: number; y: number; range: [number, number]; top: number; moved: boolean } | null>(null);
  const shown = useRef<[number, number]>(range);
  const animation = useRef(0);
  const rowCount = layout.rows.length - 1;

  const matched = useMemo(() => {
    if (matches === null) return null;
    const known = new Map<number, boolean>();
    return (row: number) => {
      let value = known.get(row);
      if (value === undefined) known.set(row, (value = matches(row)));
      return value;
    };
  }, [matches]);

  useLayoutEffect(() => {
    const element = outer.current!;
    const measure = () => setBox({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const differenceColor = (index: number): string => {
    const palette = colors();
    const before = layout.before![index]!, after = layout.after![index]!;
    const strength = Math.min(1, Math.sqrt(Math.abs(after - before) / Math.max(0.002, (after + before) / 2)) * 0.9);
    return mix(palette.same, after >= before ? palette.red : palette.blue, strength < 0.12 ? 0 : strength);
  };

  const draw = () => {
    const element = canvas.current;
    if (element === null || box.width === 0) return;
    const scale = devicePixelRatio || 1;
    const context = element.getContext("2d")!;
    const wanted = [Math.round(box.width * scale), Math.round(box.height * scale)] as const;
    if (element.width !== wanted[0] || element.height !== wanted[1]) [element.width, element.height] = wanted;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    context.font = FONT;
    context.textBaseline = "middle";
    const palette = colors();
    const [from, to] = shown.current;
    const pixels = box.width / Math.max(1e-12, to - from);
    const top = outer.current!.scrollTop;
    const firstRow = Math.floor(top / ROW);
    const lastRow = Math.min(rowCount - 1, Math.floor((top + box.height) / ROW));
    for (let depth = Math.max(0, firstRow); depth <= lastRow; depth++) {
      const y = depth * ROW - top;
      const end = layout.rows[depth + 1]!;
      let index = firstVisible(layout, layout.rows[depth]!, end, from);
      while (index < end) {
        const left = (layout.start[index]! - from) * pixels;
        if (left > box.width) break;
        const right = left + layout.total[index]! * pixels;
        const row = layout.function[index]!;
        const isMatch = matched === null || matched(row);
        if (color === "difference") context.fillStyle = isMatch ? differenceColor(index) : palette.line;
        else if (color === "tier") {
          let tier = 4;
          let best = 0;
          for (let each = 0; each < TIER_COUNT; each++) {
            const share = layout.tiers[index * TIER_COUNT + each]!;
            if (share > best) [tier, best] = [each, share];
          }
          context.fillStyle = isMatch ? palette.tier[tier]![hash(row)]! : palette.tierDim[tier]!;
        } else {
          const group = look.group(row);
          context.fillStyle = isMatch ? palette.group[group]![hash(row)]! : palette.groupDim[group]!;
        }
        if (right - left < 1.2) {
          // Boxes narrower than a pixel are one line; the next one that shows is a pixel further on.
          context.fillRect(left, y, Math.max(0.8, right - left), ROW - 1);
          const next = firstVisible(layout, index + 1, end, from + (left + 1) / pixels);
          index = Math.max(index + 1, next);
          continue;
        }
        const visibleLeft = Math.max(0, left);
        const visibleRight = Math.min(box.width, right);
        context.fillRect(visibleLeft, y, visibleRight - visibleLeft - (right > box.width ? 0 : right - left > 3 ? 1 : 0.3), ROW - 1);
        const flags = layout.flags[index]!;
        if ((flags & STARTED_BY) !== 0) {
          context.fillStyle = palette.text;
          context.globalAlpha = 0.55;
          for (let x = visibleLeft; x < visibleRight - 2; x += 6) context.fillRect(x, y - 1, 3, 1.5);
          context.globalAlpha = 1;
        }
        const room = visibleRight - visibleLeft - 9;
        if (room >= 14) {
          const name = fit(context, look.name(row), room);
          if (name !== "") {
            context.fillStyle = isMatch ? palette.boxText : palette.dimText;
            if ((flags & TAIL) !== 0) context.font = `italic ${FONT}`;
            context.fillText(name, visibleLeft + 4, y + ROW / 2);
            if ((flags & TAIL) !== 0) context.font = FONT;
          }
        }
        if (matched !== null && isMatch && right - left > 3) {
          context.strokeStyle = palette.match;
          context.lineWidth = 1.5;
          context.strokeRect(visibleLeft + 0.75, y + 0.75, visibleRight - visibleLeft - 2.5, ROW - 2.5);
        }
        index += 1;
      }
    }
    const outline = (index: number, style: string, width: number) => {
      if (index < 0 || index >= layout.count) return;
      const y = depthOf(layout, index) * ROW - top;
      const left = Math.max(-4, (layout.start[index]! - from) * pixels);
      const right = Math.min(box.width + 4, (layout.start[index]! + layout.total[index]! - from) * pixels);
      context.strokeStyle = style;
      context.lineWidth = width;
      context.strokeRect(left + width / 2, y + width / 2, Math.max(1, right - left - 1 - width), ROW - 1 - width);
    };
    if (hover !== null) outline(hover.box, palette.text, 1);
    outline(selected, palette.accent, 2);
  };
  const drawing = useRef(draw);
  drawing.current = draw;

  useLayoutEffect(() => draw());

  // A change of the range is a short movement, unless a hand drives it.
  useEffect(() => {
    const target = range;
    const begin = shown.current;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || drag.current !== null;
    cancelAnimationFrame(animation.current);
    const far = Math.abs(Math.log((begin[1] - begin[0]) / (target[1] - target[0]))) > 0.35;
    if (still || !far) {
      shown.current = target;
      drawing.current();
      return;
    }
    const started = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, (now - started) / 160));
      const eased = 1 - (1 - part) ** 3;
      shown.current = [begin[0] + (target[0] - begin[0]) * eased, begin[1] + (target[1] - begin[1]) * eased];
      drawing.current();
      if (part < 1) animation.current = requestAnimationFrame(step);
    };
    animation.current = requestAnimationFrame(step);
    return () => cancelAnimationFrame(animation.current);
  }, [range[0], range[1]]);

  const limit = (from: number, to: number): [number, number] => {
    const whole = domain[1] - domain[0];
    const span = Math.min(whole, Math.max(whole * 1e-7, to - from));
    const start = Math.min(Math.max(domain[0], from), domain[1] - span);
    return [start, start + span];
  };
  const zoomBy = (factor: number, at: number) => {
    const [from, to] = range;
    props.onRange(limit(at - (at - from) * factor, at + (to - at) * factor));
  };
  const panBy = (share: number) => {
    const step = (range[1] - range[0]) * share;
    props.onRange(limit(range[0] + step, range[1] + step));
  };
  const zoomTo = (index: number) => {
    if (index < 0) props.onRange(domain);
    else props.onRange(limit(layout.start[index]!, layout.start[index]! + layout.total[index]!));
  };
  const reveal = (index: number) => {
    const element = outer.current!;
    const y = depthOf(layout, index) * ROW;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + ROW - element.clientHeight;
    const start = layout.start[index]!, end = start + layout.total[index]!;
    if (end < range[0] || start > range[1]) zoomTo(index);
  };

  const positionOf = (event: MouseEvent) => {
    const rectangle = canvas.current!.getBoundingClientRect();
    const x = event.clientX - rectangle.left;
    const y = event.clientY - rectangle.top + outer.current!.scrollTop;
    const at = shown.current[0] + (x / rectangle.width) * (shown.current[1] - shown.current[0]);
    return { at, depth: Math.floor(y / ROW), x: event.clientX, y: event.clientY };
  };

  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    event.preventDefault();
    setHover(null);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      panBy((event.deltaX || event.deltaY) / box.width);
    } else {
      const lines = event.deltaMode === 1 ? 16 : 1;
      zoomBy(Math.exp(event.deltaY * lines * 0.0018), positionOf(event).at);
    }
  };
  useEffect(() => {
    // Passive listeners may not keep the page from scrolling.
    const element = canvas.current!;
    const listener = (event: WheelEvent) => wheel.current(event);
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, []);

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (range[0] + range[1]) / 2;
    const select = (index: number | undefined) => {
      if (index === undefined || index < 0) return;
      props.onSelect(index);
      reveal(index);
    };
    const siblings = (step: number) => {
      if (selected < 0) return select(layout.count > 0 ? 0 : -1);
      const depth = depthOf(layout, selected);
      const next = selected + step;
      if (next >= layout.rows[depth]! && next < layout.rows[depth + 1]!) select(next);
    };
    const actions: Record<string, () => void> = {
      ArrowUp: () => (selected < 0 ? select(0) : select(layout.parent[selected])),
      ArrowDown: () => {
        if (selected < 0) return select(layout.count > 0 ? 0 : -1);
        const below = children(layout, selected);
        select(below.sort((a, b) => layout.total[b]! - layout.total[a]!)[0]);
      },
      ArrowLeft: () => siblings(-1),
      ArrowRight: () => siblings(1),
      Enter: () => zoomTo(selected),
      Escape: () => (range[0] === domain[0] && range[1] === domain[1] ? props.onSelect(-1) : zoomTo(-1)),
      Backspace: () => zoomTo(selected < 0 ? -1 : layout.parent[selected]!),
      "+": () => zoomBy(0.6, middle), "=": () => zoomBy(0.6, middle), w: () => zoomBy(0.6, middle),
      "-": () => zoomBy(1 / 0.6, middle), s: () => zoomBy(1 / 0.6, middle),
      a: () => panBy(-0.2), d: () => panBy(0.2), "0": () => zoomTo(-1),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };

  void theme;
  return (
    <div
      class="flame" ref={outer} onScroll={() => { setHover(null); drawing.current(); }}
      style={{ touchAction: "pan-y" }}
    >
      <div class="flame-space" style={{ height: `${Math.max(1, rowCount) * ROW + 4}px` }}>
        <canvas
          ref={canvas} tabIndex={0} role="img" aria-label={props.label}
          style={{ width: `${box.width}px`, height: `${box.height}px` }}
          onKeyDown={keyDown}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            drag.current = { x: event.clientX, y: event.clientY, range, top: outer.current!.scrollTop, moved: false };
            if (event.pointerType === "mouse") canvas.current!.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const { current } = drag;
            if (current !== null) {
              const [dx, dy] = [event.clientX - current.x, event.clientY - current.y];
              if (!current.moved && Math.hypot(dx, dy) > 4) current.moved = true;
              if (current.moved) {
                setHover(null);
                const step = (dx / box.width) * (current.range[1] - current.range[0]);
                if (event.pointerType === "mouse") outer.current!.scrollTop = current.top - dy;
                props.onRange(limit(current.range[0] - step, current.range[1] - step));
                return;
              }
            }
            const found = positionOf(event);
            const index = boxAt(layout, found.depth, found.at);
            setHover(index < 0 || event.pointerType === "touch" ? null : { box: index, x: found.x, y: found.y });
          }}
          onPointerUp={(event) => {
            const { current } = drag;
            drag.current = null;
            if (current === null || current.moved) return;
            const found = positionOf(event);
            const index = boxAt(layout, found.depth, found.at);
            props.onSelect(index);
            zoomTo(index);
          }}
          onPointerCancel={() => (drag.current = null)}
          onPointerLeave={() => setHover(null)}
        />
      </div>
      <div class="sr-only" aria-live="polite">{selected >= 0 && selected < layout.count ? props.describe(selected) : ""}</div>
      {hover !== null && hover.box < layout.count && (
        <Tooltip x={hover.x} y={hover.y}>{props.tooltip(hover.box)}</Tooltip>
      )}
    </div>
  );
}

/** A box beside the pointer that stays within the window. */
export function Tooltip({ x, y, children: content }: { x: number; y: number; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style } = element.current!;
    const left = x + 16 + offsetWidth > innerWidth - 8 ? x - offsetWidth - 12 : x + 16;
    const top = y + 18 + offsetHeight > innerHeight - 8 ? y - offsetHeight - 12 : y + 18;
    style.left = `${Math.max(8, left)}px`;
    style.top = `${Math.max(8, top)}px`;
  });
  return <div class="tooltip" ref={element} role="tooltip">{content}</div>;
}
