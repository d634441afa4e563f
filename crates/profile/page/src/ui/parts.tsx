// Small parts that several views share: bars, shares of tiers, tables of many rows, empty states.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { TIER_COUNT } from "../data/profile";
import { change } from "../state";
import { functionName, groupOf, useShared } from "./context";
import { GROUP_NAMES, TIER_NAMES, percent, place } from "./format";

export function Bar({ share, kind = "accent" }: { share: number; kind?: string }) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${width}%`, background: `var(--${kind})` }} />
    </span>
  );
}

/** A bar of several parts; parts of nothing are left out. */
export function Stack({ parts, label, thin }: {
  parts: { share: number; color: string; name: string }[]; label: string; thin?: boolean;
}) {
  const shown = parts.filter((part) => part.share > 0.0005);
  const text = shown.map((part) => `${part.name} ${percent(part.share)}`).join(", ");
  return (
    <span class={thin ? "stack thin" : "stack"} role="img" aria-label={`${label}: ${text}`} title={text}>
      {shown.map((part) => (
        <span key={part.name} style={{ width: `${part.share * 100}%`, background: `var(--${part.color})` }} />
      ))}
    </span>
  );
}

export function Legend({ parts }: { parts: { share: number; color: string; name: string }[] }) {
  return (
    <ul class="legend">
      {parts.filter((part) => part.share > 0.0005).map((part) => (
        <li key={part.name}>
          <i style={{ background: `var(--${part.color})` }} /> {part.name} <b>{percent(part.share)}</b>
        </li>
      ))}
    </ul>
  );
}

export function Tiers({ tiers, at, sum }: { tiers: ArrayLike<number>; at: number; sum: number }) {
  if (sum <= 0) return <span class="stack thin" />;
  return (
    <Stack
      thin label="Tiers"
      parts={TIER_NAMES.map((name, tier) => ({
        name, color: `tier-${tier}`, share: tiers[at * TIER_COUNT + tier]! / sum,
      }))}
    />
  );
}

export function Dot({ group }: { group: number }) {
  return <i class="dot" style={{ background: `var(--group-${group})` }} title={GROUP_NAMES[group]} />;
}

/** A function's name as a button that opens it in the table. */
export function FunctionLink({ row, line, chosen }: { row: number; line?: number; chosen?: (row: number) => void }) {
  const { meta } = useShared();
  const file = row >= 0 ? meta.functions.file[row] ?? null : null;
  const where = place(file, line || (row >= 0 ? meta.functions.line[row]! : 0));
  const name = functionName(meta, row);
  return (
    <span class="function" title={file === null ? name : `${name}\n${place(file, line || meta.functions.line[row]!, true)}`}>
      <Dot group={groupOf(meta, row)} />
      {row >= 0 ? (
        <button
          type="button" class="link"
          onClick={(event) => {
            event.stopPropagation();
            if (chosen) chosen(row);
            else change({ view: "table", function: row });
          }}
        >
          {name}
        </button>
      ) : <span class="muted">{name}</span>}
      {where !== "" && <span class="where">{where}</span>}
    </span>
  );
}

export interface ColumnOf<Row> {
  key: string;
  name: string;
  title?: string;
  /** Figures stand at the right. */
  figure?: boolean;
  /** Left out where there is little room. */
  minor?: boolean;
  width?: string;
  sort?: (row: Row) => number | string;
  cell: (row: Row) => ComponentChildren;
}

const HEIGHT = 30;

function classOf(column: { figure?: boolean; minor?: boolean }): string {
  return `${column.figure ? "figure" : ""}${column.minor ? " minor" : ""}`;
}

/** A table that draws only the rows in sight; a column with `sort` has a button in its heading. */
export function BigTable<Row>({ rows, columns, sort, onSort, label, keyOf, isSelected, empty, fill }: {
  rows: Row[]; columns: ColumnOf<Row>[]; sort: string; onSort: (sort: string) => void; label: string;
  keyOf: (row: Row) => string | number; isSelected?: (row: Row) => boolean; empty: string;
  /** Fills its container instead of being as high as its rows. */
  fill?: boolean;
}) {
  const outer = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const measure = () => {
    const element = outer.current!;
    setView((old) => old.top === element.scrollTop && old.height === element.clientHeight
      ? old : { top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(outer.current!);
    measure();
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / HEIGHT) - 8);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / HEIGHT) + 8);
  const descending = sort.startsWith("-");
  const sortKey = sort.replace(/^-/, "");
  return (
    <div class={fill ? "big-table fill" : "big-table"} ref={outer} onScroll={measure} tabIndex={-1}>
      <table aria-label={label} aria-rowcount={rows.length}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key} class={classOf(column)} style={column.width ? { width: column.width } : {}}
                aria-sort={sortKey === column.key ? (descending ? "descending" : "ascending") : undefined}
                title={column.title}
              >
                {column.sort ? (
                  <button
                    type="button"
                    onClick={() => onSort(sortKey === column.key
                      ? `${descending ? "" : "-"}${column.key}`
                      : `${column.figure ? "-" : ""}${column.key}`)}
                  >
                    {column.name}<span class="arrow" aria-hidden="true">{sortKey === column.key ? (descending ? "↓" : "↑") : ""}</span>
                  </button>
                ) : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr aria-hidden="true"><td style={{ height: `${first * HEIGHT}px`, padding: 0 }} /></tr>}
          {rows.slice(first, last).map((row) => (
            <tr key={keyOf(row)} class={isSelected?.(row) ? "selected" : ""} aria-selected={isSelected?.(row)}>
              {columns.map((column) => <td key={column.key} class={classOf(column)}>{column.cell(row)}</td>)}
            </tr>
          ))}
          {last < rows.length && (
            <tr aria-hidden="true"><td style={{ height: `${(rows.length - last) * HEIGHT}px`, padding: 0 }} /></tr>
          )}
        </tbody>
      </table>
      {rows.length === 0 && <p class="nothing">{empty}</p>}
    </div>
  );
}

export function sortRows<Row>(rows: Row[], columns: ColumnOf<Row>[], sort: string): Row[] {
  const column = columns.find((each) => each.key === sort.replace(/^-/, ""));
  if (column?.sort === undefined) return rows;
  const sign = sort.startsWith("-") ? -1 : 1;
  const value = column.sort;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    return sign * (typeof left === "string" ? left.localeCompare(right as string) : left - (right as number));
  });
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <div class="nothing">{children}</div>;
}

export function Segments<Value extends string>({ label, value, choices, onChange }: {
  label: string; value: Value; choices: [Value, string][]; onChange: (value: Value) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([each, name]) => (
        <button type="button" key={each} aria-pressed={each === value} onClick={() => onChange(each)}>{name}</button>
      ))}
    </div>
  );
}

export function Choice<Value extends string>({ label, value, choices, onChange }: {
  label: string; value: Value; choices: [Value, string][]; onChange: (value: Value) => void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {choices.map(([each, name]) => <option key={each} value={each}>{name}</option>)}
      </select>
    </label>
  );
}
