// The dominator tree as nested rectangles or as rings. A click descends.

import { useState } from "preact/hooks";
import { type Tile, type Tiles, useAnswer } from "./api";
import { bytes, percent, visible } from "./format";
import { ObjectLink, useWidth } from "./parts";
import { change, fragment, type State } from "./state";
import { Waiting } from "./waiting";

interface Box { tile: Tile | null; name: string; amount: number; x: number; y: number; width: number; height: number; depth: number; color: number }

/** The parts of a tile: its children, the others, and the object itself. */
function partsOf(tile: Tile): { tile: Tile | null; name: string; amount: number }[] {
  const parts: { tile: Tile | null; name: string; amount: number }[] =
    tile.children.map((child) => ({ tile: child, name: child.label, amount: child.retained }));
  if (tile["others-retained"] > 0) parts.push({ tile: null, name: `${tile.others.toLocaleString("en-US")} more`, amount: tile["others-retained"] });
  if (tile.bytes > 0) parts.push({ tile: null, name: "itself", amount: tile.bytes });
  return parts.filter((part) => part.amount > 0).sort((one, other) => other.amount - one.amount);
}

/** Rectangles that are as square as can be. */
function squarify(tile: Tile, x: number, y: number, width: number, height: number, depth: number, color: number, boxes: Box[]): void {
  const parts = partsOf(tile);
  const whole = parts.reduce((sum, part) => sum + part.amount, 0);
  if (whole === 0 || width < 3 || height < 3) return;
  const scale = (width * height) / whole;
  let at = 0;
  while (at < parts.length && width > 1 && height > 1) {
    const side = Math.min(width, height);
    let end = at;
    let sum = 0;
    let worst = Infinity;
    while (end < parts.length) {
      const next = sum + parts[end]!.amount * scale;
      const [large, small] = [parts[at]!.amount * scale, parts[end]!.amount * scale];
      const ratio = Math.max((side * side * large) / (next * next), (next * next) / (side * side * small));
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
      end += 1;
    }
    const thick = sum / side;
    let along = 0;
    for (; at < end; at++) {
      const part = parts[at]!;
      const length = (part.amount * scale) / thick;
      const box: Box = width >= height
        ? { ...part, x, y: y + along, width: thick, height: length, depth, color: depth === 0 ? at % 12 : color }
        : { ...part, x: x + along, y, width: length, height: thick, depth, color: depth === 0 ? at % 12 : color };
      boxes.push(box);
      if (part.tile !== null && part.tile.children.length > 0 && depth < 3 && box.width > 30 && box.height > 34) {
        squarify(part.tile, box.x + 3, box.y + 19, box.width - 6, box.height - 22, depth + 1, box.color, boxes);
      }
      along += length;
    }
    if (width >= height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
  }
}

interface Common { root: Tile; say: (text: string) => void }

const descend = (tile: Tile) => change({ id: tile.id });

function press(tile: Tile | null) {
  if (tile === null) return {};
  return {
    tabIndex: 0, role: "button" as const, onClick: (event: Event) => { event.stopPropagation(); descend(tile); },
    onKeyDown: (event: KeyboardEvent) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); descend(tile); } },
  };
}

function hint(name: string, amount: number, root: Tile): string {
  return `${visible(name)}: ${bytes(amount)}, ${percent(amount, root.retained)}`;
}

function Treemap({ root, say }: Common) {
  const [element, width] = useWidth();
  const height = Math.max(360, Math.min(620, Math.round(width * 0.55)));
  const boxes: Box[] = [];
  if (width > 0) squarify(root, 0, 0, width, height, 0, 0, boxes);
  return <div ref={element}>{width > 0 && <svg class="treemap" width={width} height={height} role="group" aria-label="Treemap of retained bytes">
    {boxes.map((box) => {
      const text = hint(box.name, box.amount, root);
      const letters = Math.floor((box.width - 8) / 6.6);
      return <g class={`color-${box.color} depth-${box.depth} ${box.tile === null ? "rest" : ""}`} {...press(box.tile)} aria-label={text}
        onMouseEnter={() => say(text)} onFocus={() => say(text)}>
        <rect x={box.x} y={box.y} width={Math.max(0, box.width - 1)} height={Math.max(0, box.height - 1)}><title>{text}</title></rect>
        {box.height > 17 && letters > 2 && <text x={box.x + 4} y={box.y + 14}>{cut(visible(box.name), letters)}</text>}
      </g>;
    })}
  </svg>}</div>;
}

/** A label that begins with what tells it from others. */
function cut(label: string, letters: number): string {
  const text = label.replace(/^(cell|code|procedure|record|string|symbol) (?=\S)/, "");
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`;
}

interface Arc { tile: Tile | null; name: string; amount: number; from: number; to: number; ring: number; color: number }

function arcs(tile: Tile, from: number, to: number, ring: number, color: number, found: Arc[]): void {
  const whole = Math.max(tile.retained, 1);
  let at = from;
  partsOf(tile).forEach((part, index) => {
    const end = at + ((to - from) * part.amount) / whole;
    if (end - at > 0.004) {
      const own = ring === 0 ? index % 12 : color;
      // The bytes of an object itself stay empty, so that rings show what it holds.
      if (part.name !== "itself" || part.tile !== null) found.push({ ...part, from: at, to: end, ring, color: own });
      if (part.tile !== null && ring < 3) arcs(part.tile, at, end, ring + 1, own, found);
    }
    at = end;
  });
}

function Sunburst({ root, say }: Common) {
  const [element, width] = useWidth();
  const size = Math.min(width, 600);
  const found: Arc[] = [];
  arcs(root, 0, 1, 0, 0, found);
  const inner = size * 0.14;
  const thick = (size / 2 - inner - 2) / 4;
  const path = ({ from, to, ring }: Arc) => {
    const [near, far] = [inner + ring * thick, inner + (ring + 1) * thick - 1];
    const end = Math.min(to, from + 0.9999);
    const at = (turn: number, radius: number) =>
      `${(size / 2 + radius * Math.sin(2 * Math.PI * turn)).toFixed(2)},${(size / 2 - radius * Math.cos(2 * Math.PI * turn)).toFixed(2)}`;
    const large = end - from > 0.5 ? 1 : 0;
    return `M${at(from, near)}L${at(from, far)}A${far},${far} 0 ${large} 1 ${at(end, far)}L${at(end, near)}A${near},${near} 0 ${large} 0 ${at(from, near)}Z`;
  };
  return <div ref={element}>{width > 0 && <svg class="sunburst" width={size} height={size} role="group" aria-label="Sunburst of retained bytes">
    {found.map((arc) => {
      const text = hint(arc.name, arc.amount, root);
      return <g class={`color-${arc.color} depth-${arc.ring} ${arc.tile === null ? "rest" : ""}`} {...press(arc.tile)} aria-label={text}
        onMouseEnter={() => say(text)} onFocus={() => say(text)}>
        <path d={path(arc)}><title>{text}</title></path>
      </g>;
    })}
    <text x={size / 2} y={size / 2} text-anchor="middle">{bytes(root.retained)}</text>
  </svg>}</div>;
}

export function MapView({ state, snapshot }: { state: State; snapshot: number }) {
  const id = state.number("id") ?? 0;
  const shape = state.get("shape") ?? "treemap";
  const answer = useAnswer<Tiles>("tiles", { snapshot, id, depth: 4, count: 40 });
  const [said, say] = useState("");
  return <section>
    <h1>Who keeps the memory</h1>
    <div class="bar" role="group" aria-label="Shape">
      {["treemap", "sunburst"].map((name) => <button type="button" aria-pressed={shape === name} onClick={() => change({ shape: name === "treemap" ? undefined : name })}>{name}</button>)}
    </div>
    <Waiting answer={answer}>{({ tile, above }) => <>
      <nav class="crumbs" aria-label="Path"><ol>{above.map((one, index) => <li>
        {index + 1 < above.length ? <a href={fragment("map", { id: one.id, shape: state.get("shape") })}>{visible(one.label)}</a> : <strong>{visible(one.label)}</strong>}
      </li>)}</ol></nav>
      <p class="muted">{bytes(tile.retained)} would be free without it. <ObjectLink object={above[above.length - 1]!} /></p>
      {tile.children.length === 0 ? <p class="muted">It keeps no other object alive alone.</p>
        : shape === "sunburst" ? <Sunburst root={tile} say={say} /> : <Treemap root={tile} say={say} />}
      <p class="said" aria-live="polite">{said || "Click a part to go into it; u goes up."}</p>
    </>}</Waiting>
  </section>;
}
