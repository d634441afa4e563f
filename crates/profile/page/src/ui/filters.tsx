// The filters that all views share, in one bar.

import { useEffect, useRef } from "preact/hooks";
import { change, START, useAppState } from "../state";
import { taskName, threadName, useShared } from "./context";
import { clock, GROUP_NAMES, time } from "./format";
import { Choice } from "./parts";

const TASKS_MAX = 500;

export function Filters() {
  const { meta } = useShared();
  const state = useAppState();
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
        event.preventDefault();
        search.current?.focus();
        search.current?.select();
      }
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
  const taskRows = meta.tasks.number.map((_, row) => row).slice(0, TASKS_MAX);
  if (state.task !== null && state.task >= TASKS_MAX) taskRows.push(state.task);
  const filtered = state.task !== null || state.thread !== null || state.label !== null || state.groups !== 0 ||
    state.from !== null || state.to !== null || state.search !== "";
  const used = new Set(meta.functions.group);
  const groupCount = GROUP_NAMES.filter((_, group) => state.groups & (1 << group)).length;
  const number = (value: string) => (value === "" ? null : Number(value));
  return (
    <div class="filters" role="search" aria-label="Filters">
      <div class="search">
        <input
          ref={search} type="search" placeholder="Search functions and files" aria-label="Search functions and files"
          title="Part of a name or a file; /…/ is a regular expression" value={state.search} spellcheck={false}
          onInput={(event) => change({ search: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Escape" && (change({ search: "", only: false }), event.currentTarget.blur())}
        />
        <button
          type="button" aria-pressed={state.only} class="toggle" disabled={state.search === ""}
          title="Show only stacks with a match" onClick={() => change({ only: !state.only })}
        >
          Only
        </button>
      </div>
      {meta.tasks.number.length > 1 && (
        <Choice
          label="Task" value={state.task === null ? "" : String(state.task)}
          choices={[["", meta.tasks.number.length > TASKS_MAX ? `All (${meta.tasks.number.length})` : "All"],
            ...taskRows.map((row) => [String(row), taskName(meta, row)] as [string, string])]}
          onChange={(value) => change({ task: number(value) })}
        />
      )}
      {meta.threads.id.length > 1 && (
        <Choice
          label="Thread" value={state.thread === null ? "" : String(state.thread)}
          choices={[["", "All"], ...meta.threads.id.map((_, row) => [String(row), threadName(meta, row)] as [string, string])]}
          onChange={(value) => change({ thread: number(value) })}
        />
      )}
      {meta.labels.length > 0 && (
        <Choice
          label="Label" value={state.label ?? ""}
          choices={[["", "All"], ...meta.labels.slice(0, 2000).map((label) => [label, label] as [string, string])]}
          onChange={(value) => change({ label: value === "" ? null : value })}
        />
      )}
      {used.size > 1 && (
        <details class="menu">
          <summary>{groupCount === 0 ? "All groups" : groupCount === 1
            ? GROUP_NAMES[Math.log2(state.groups)] : `${groupCount} groups`}</summary>
          <div class="menu-body" role="group" aria-label="Groups of the newest frame">
            {GROUP_NAMES.map((name, group) => used.has(group) && (
              <label key={name}>
                <input
                  type="checkbox" checked={(state.groups & (1 << group)) !== 0}
                  onChange={() => change({ groups: state.groups ^ (1 << group) })}
                />
                <i class="dot" style={{ background: `var(--group-${group})` }} /> {name}
              </label>
            ))}
          </div>
        </details>
      )}
      {(state.from !== null || state.to !== null) && (
        <button
          type="button" class="chip" title="Remove the time range"
          onClick={() => change({ from: null, to: null })}
        >
          {clock(state.from ?? 0, (state.to ?? meta.duration) - (state.from ?? 0))} to{" "}
          {clock(state.to ?? meta.duration, (state.to ?? meta.duration) - (state.from ?? 0))}{" "}
          <small>({time((state.to ?? meta.duration) - (state.from ?? 0))})</small> <span aria-hidden="true">✕</span>
        </button>
      )}
      {filtered && (
        <button
          type="button" class="quiet"
          onClick={() => change({
            task: null, thread: null, label: null, groups: 0, from: null, to: null, search: START.search, only: false,
          })}
        >
          Clear filters
        </button>
      )}
    </div>
  );
}
