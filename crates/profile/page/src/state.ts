// The state of the page: what is shown and filtered. It lives in the fragment of the address, so that
// a view can be kept as a bookmark and the back button works.

import { useEffect, useState } from "preact/hooks";
import type { Filter, Measure } from "./data/filter";
import type { Async } from "./data/tree";

export const VIEWS = ["summary", "flame", "timeline", "table", "allocation", "waits", "difference"] as const;
export type View = (typeof VIEWS)[number];
export const VIEW_NAMES: Record<View, string> = {
  summary: "Summary", flame: "Flame graph", timeline: "Timeline", table: "Table", allocation: "Allocation",
  waits: "Waits", difference: "Difference",
};

export interface State {
  view: View;
  measure: Measure | "counts";
  async: Async;
  shape: "left-heavy" | "ordered" | "inverted";
  color: "group" | "tier";
  /** The lane of the time-ordered graph, `task:3` or `thread:0`; empty for the busiest task. */
  lane: string;
  function: number | null;
  task: number | null;
  thread: number | null;
  label: string | null;
  groups: number;
  from: number | null;
  to: number | null;
  search: string;
  /** Whether the search hides what does not match. */
  only: boolean;
  sort: string;
  width: "mean" | "before" | "after";
}

export const START: State = {
  view: "summary", measure: "cpu", async: "follow", shape: "left-heavy", color: "group", lane: "", function: null,
  task: null, thread: null, label: null, groups: 0, from: null, to: null, search: "", only: false,
  sort: "-self", width: "mean",
};

const CHOICES: Partial<Record<keyof State, readonly string[]>> = {
  view: VIEWS,
  measure: ["cpu", "wait", "allocated", "live", "counts"],
  async: ["follow", "cut"],
  shape: ["left-heavy", "ordered", "inverted"],
  color: ["group", "tier"],
  width: ["mean", "before", "after"],
};
const NUMBERS: (keyof State)[] = ["function", "task", "thread", "groups", "from", "to"];

export function parseFragment(fragment: string): State {
  const state: Record<string, unknown> = { ...START };
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!Object.hasOwn(START, key)) continue;
    const choices = CHOICES[key as keyof State];
    if (choices !== undefined) {
      if (choices.includes(value)) state[key] = value;
    } else if (NUMBERS.includes(key as keyof State)) {
      const number = Number(value);
      if (value !== "" && Number.isFinite(number) && number >= 0) state[key] = number;
    } else if (key === "only") state[key] = value === "true";
    else state[key] = value;
  }
  return state as unknown as State;
}

export function formatFragment(state: State): string {
  const parameters = new URLSearchParams();
  for (const key in START) {
    const value = state[key as keyof State];
    if (value !== START[key as keyof State] && value !== null) parameters.set(key, String(value));
  }
  return parameters.toString();
}

let current = START;
const listeners = new Set<(state: State) => void>();

function announce(): void {
  for (const listener of listeners) listener(current);
}

export function readAddress(): void {
  current = parseFragment(location.hash);
  announce();
}

/** Changes the state. A change of the view or of a range is a step of the back button. */
export function change(part: Partial<State>): void {
  const before = current;
  current = { ...current, ...part };
  const address = `#${formatFragment(current)}`;
  const step = before.view !== current.view || before.from !== current.from || before.to !== current.to;
  try {
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A browser refuses more than some hundred changes in a few seconds; the page goes on without.
  }
  announce();
}

export function state(): State {
  return current;
}

export function useAppState(): State {
  const [value, set] = useState(current);
  useEffect(() => {
    listeners.add(set);
    set(current);
    return () => void listeners.delete(set);
  }, []);
  return value;
}

export function filterOf(from: State): Filter {
  return {
    task: from.task, thread: from.thread, label: from.label, groups: from.groups, from: from.from, to: from.to,
    only: from.only ? from.search : "",
  };
}
