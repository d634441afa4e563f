// Parts that several views have: tables with pages, links to objects and places, notices.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Brief } from "./api";
import { bytes, count, visible } from "./format";
import { SourceToggle } from "./source";
import { change, fragment } from "./state";

export const PAGE_ROWS = 50;

export function Place({ file, line, shows = true }: { file?: string; line?: number; shows?: boolean }) {
  if (file === undefined) return null;
  const query = `(file? ${JSON.stringify(file)})`;
  return <>
    <a class="place" href={fragment("query", { query })} title="Objects whose type stands in this file">{visible(file)}{line === undefined ? "" : `:${line}`}</a>
    {shows && line !== undefined && <> <SourceToggle key={`${file}:${line}`} file={file} line={line} /></>}
  </>;
}

/** A title without the place at its end, where the place is a link of its own. */
export function withoutPlace(title: string, { file, line }: { file?: string; line?: number }): string {
  const place = file === undefined ? "" : ` (${file}${line === undefined ? "" : `:${line}`})`;
  return place !== "" && title.endsWith(place) ? title.slice(0, -place.length) : title;
}

export function ObjectLink({ object }: { object: Brief }) {
  return <>
    <a href={fragment("object", { id: object.id })}><bdi>{visible(withoutPlace(object.label, object))}</bdi></a> <span class="id">@{object.id}</span> <Place {...object} />
  </>;
}

export interface Column<T> {
  title: string; cell: (row: T) => ComponentChildren; isNumber?: boolean; sort?: string; isMinor?: boolean; share?: (row: T) => number;
}

export function Table<T>({ rows, columns, sorted, empty }: { rows: T[]; columns: Column<T>[]; sorted?: string; empty: string }) {
  if (rows.length === 0) return <p class="muted">{empty}</p>;
  return <div class="scroll"><table>
    <thead><tr>{columns.map((column) => <th scope="col" class={`${column.isNumber ? "number" : ""} ${column.isMinor ? "minor" : ""}`} aria-sort={column.sort !== undefined && column.sort === sorted ? "descending" : undefined}>
      {column.sort === undefined ? column.title
        : <button type="button" onClick={() => change({ sort: column.sort, first: undefined })}>{column.title}{column.sort === sorted ? " ▾" : ""}</button>}
    </th>)}</tr></thead>
    <tbody>{rows.map((row) => <tr>{columns.map((column) => <td class={`${column.isNumber ? "number" : "name"} ${column.isMinor ? "minor" : ""}`}>
      {column.share === undefined ? null : <progress class="share" max={1} value={column.share(row)} aria-hidden="true" />}{column.cell(row)}
    </td>)}</tr>)}</tbody>
  </table></div>;
}

/** The pages of a list; the key in the fragment says where the page begins. */
export function Pages({ all, first, name = "first", rows = PAGE_ROWS }: { all: number; first: number; name?: string; rows?: number }) {
  if (all <= rows && first === 0) return null;
  const go = (to: number) => change({ [name]: to <= 0 ? undefined : to });
  const last = Math.floor((all - 1) / rows) * rows;
  return <nav class="pages" aria-label="Pages">
    <button type="button" disabled={first === 0} onClick={() => go(0)} aria-label="First page">«</button>
    <button type="button" disabled={first === 0} onClick={() => go(first - rows)}>Previous</button>
    <span>{count(first + 1)} to {count(Math.min(first + rows, all))} of {count(all)}</span>
    <button type="button" disabled={first + rows >= all} onClick={() => go(first + rows)}>Next</button>
    <button type="button" disabled={first + rows >= all} onClick={() => go(last)} aria-label="Last page">»</button>
  </nav>;
}

/** A field whose text goes to the fragment some time after the last key. */
export function Filter({ value, label }: { value: string; label: string }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  return <input type="search" data-focus value={text} placeholder={label} aria-label={label} onInput={(event) => {
    const wanted = event.currentTarget.value;
    setText(wanted);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => change({ filter: wanted, first: undefined }, true), 250);
  }} />;
}

export function Choice({ label, value, options, onChange }: {
  label: string; value: string; options: [string, string][]; onChange: (value: string) => void;
}) {
  return <label class="choice">{label} <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    {options.map(([key, title]) => <option value={key} selected={key === value}>{title}</option>)}
  </select></label>;
}

/** The width of an element, for pictures that fill it. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

export const objectColumns: Column<Brief>[] = [
  { title: "object", cell: (row) => <ObjectLink object={row} /> },
  { title: "bytes", isNumber: true, isMinor: true, sort: "size", cell: (row) => bytes(row.size) },
  { title: "retained", isNumber: true, sort: "retained", cell: (row) => bytes(row.retained) },
];
