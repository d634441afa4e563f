// Processor use over time as a stacked area chart, by uPlot. The cursor's selection is the time range.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { GROUP_COUNT } from "../data/profile";
import type { Use } from "../data/timeline";
import { GROUP_NAMES, clock } from "./format";
import { FONT, colors, useTheme } from "./theme";

interface Props {
  use: Use | null;
  width: number;
  gutter: number;
  view: [number, number];
  range: [number, number] | null;
  onBrush: (range: [number, number] | null) => void;
}

/** Sums of the groups from the last to the first: each area is drawn over the larger one behind it. */
function stacked(use: Use): { data: uPlot.AlignedData; groups: number[]; peak: number } {
  const step = (use.to - use.from) / use.columns;
  const x = Array.from({ length: use.columns }, (_, column) => (use.from + (column + 0.5) * step) / 1e9);
  const groups: number[] = [];
  for (let group = 0; group < GROUP_COUNT; group++) {
    for (let column = 0; column < use.columns; column++) {
      if (use.use[column * GROUP_COUNT + group]! > 0) {
        groups.push(group);
        break;
      }
    }
  }
  const sums = new Float64Array(use.columns);
  const series: number[][] = [];
  for (const group of groups) {
    for (let column = 0; column < use.columns; column++) sums[column]! += use.use[column * GROUP_COUNT + group]!;
    series.unshift(Array.from(sums));
  }
  return { data: [x, ...series] as uPlot.AlignedData, groups: groups.reverse(), peak: Math.max(0.01, ...sums) };
}

export function UseChart({ use, width, gutter, view, range, onBrush }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const theme = useTheme();
  const own = useRef(false);
  const brush = useRef(onBrush);
  brush.current = onBrush;
  useLayoutEffect(() => {
    if (use === null || width < 50) return;
    const palette = colors();
    const { data, groups, peak } = stacked(use);
    const axis = { stroke: palette.muted, font: FONT, grid: { stroke: palette.line, width: 1 }, ticks: { show: false } };
    chart.current = new uPlot({
      width, height: 150, padding: [10, 0, 0, 0], legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: { x: { time: false, min: view[0] / 1e9, max: view[1] / 1e9 }, y: { range: [0, peak * 1.05] } },
      axes: [
        { ...axis, size: 24, gap: 4, values: (_, marks) => marks.map((mark) => mark * 1e9 > view[1] - (view[1] - view[0]) * 30 / width ? "" : clock(mark * 1e9, marks.length > 1 ? (marks[1]! - marks[0]!) * 1e11 : 1e9)) },
        { ...axis, size: gutter, gap: 8 },
      ],
      series: [
        {},
        ...groups.map((group) => ({
          label: GROUP_NAMES[group]!, fill: palette.group[group]![2]!, stroke: palette.surface, width: 0.5,
          points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }),
        })),
      ],
      hooks: {
        setSelect: [(plot) => {
          if (own.current) return;
          const { left, width: wide } = plot.select;
          if (wide < 3) brush.current(null);
          else brush.current([plot.posToVal(left, "x") * 1e9, plot.posToVal(left + wide, "x") * 1e9]);
        }],
      },
    }, data, element.current!);
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [use, width, gutter, theme]);
  useEffect(() => {
    const plot = chart.current;
    if (plot === null) return;
    own.current = true;
    if (range === null) plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    else {
      const left = plot.valToPos(Math.max(view[0], range[0]) / 1e9, "x");
      const right = plot.valToPos(Math.min(view[1], range[1]) / 1e9, "x");
      plot.setSelect({ left, top: 0, width: Math.max(0, right - left), height: plot.over.clientHeight }, false);
    }
    own.current = false;
  }, [range?.[0], range?.[1], use, width, gutter, theme]);
  return <div class={range === null ? "chart" : "chart brushed"} ref={element} role="img" aria-label="Processors in use over time, by group" />;
}
