// Lines over the snapshots of a file.

import { bytes } from "./format";
import { useWidth } from "./parts";

export interface Line { name: string; values: number[] }

const HEIGHT = 190;
const LEFT = 62;
const BOTTOM = 22;

/** A round number that is not less. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? 10 * power;
}

export function Chart({ title, lines, labels, format = bytes }: {
  title: string; lines: Line[]; labels: string[]; format?: (value: number) => string;
}) {
  const [element, width] = useWidth();
  const top = ceiling(Math.max(1, ...lines.flatMap((line) => line.values)));
  const count = labels.length;
  const x = (index: number) => LEFT + (count < 2 ? (width - LEFT) / 2 : (index * (width - LEFT - 12)) / (count - 1));
  const y = (value: number) => 10 + (HEIGHT - BOTTOM - 10) * (1 - value / top);
  const step = Math.max(1, Math.ceil(count / Math.max(2, Math.floor(width / 70))));
  return <figure class="chart" ref={element}>
    <figcaption>{title}</figcaption>
    {width > 0 && <svg width={width} height={HEIGHT} role="img" aria-label={title}>
      {[0, 0.5, 1].map((share) => <g>
        <line x1={LEFT} x2={width} y1={y(share * top)} y2={y(share * top)} class="grid" />
        <text x={LEFT - 8} y={y(share * top) + 4} text-anchor="end">{format(share * top)}</text>
      </g>)}
      {labels.map((label, index) => index % step === 0 && <text x={x(index)} y={HEIGHT - 4} text-anchor="middle">{label}</text>)}
      {lines.map((line, index) => <g class={`color-${index % 12}`}>
        <polyline points={line.values.map((value, at) => `${x(at)},${y(value)}`).join(" ")} />
        {line.values.map((value, at) => <circle cx={x(at)} cy={y(value)} r={count > 60 ? 1.5 : 3}><title>{`${line.name}, snapshot ${labels[at]}: ${format(value)}`}</title></circle>)}
      </g>)}
    </svg>}
    {lines.length > 1 && <ul class="legend">{lines.map((line, index) => <li class={`color-${index % 12}`}>{line.name}</li>)}</ul>}
  </figure>;
}
