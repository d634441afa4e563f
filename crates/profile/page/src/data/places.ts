// Waits and allocations, summed up by the place in the program that they come from.

import { passesAllocation, Selection, functionOfFrame, type Filter, type StackFacts } from "./filter";
import { WAIT_KINDS, type Profile } from "./profile";

export interface WaitRow {
  kind: number;
  function: number;
  line: number;
  on: string | null;
  count: number;
  total: number;
  longest: number;
  runnable: number;
  runnableLongest: number;
  /** How many tasks waited. */
  tasks: number;
  /** Where the tasks were that had the thing when waits began, the longest first. */
  holders: Holder[];
  /** How many waits lasted up to 1 µs, 10 µs, … 10 s, and longer. */
  spread: number[];
}

export interface Holder {
  tasks: Set<number>;
  function: number;
  line: number;
  count: number;
  total: number;
}

export interface WaitTable {
  rows: WaitRow[];
  kinds: { kind: number; count: number; total: number; longest: number; runnable: number }[];
  total: number;
  runnable: number;
  count: number;
  /** How many of them are in the profile; these stand for the others. */
  noted: number;
}

/** Waits by kind, place and what was waited for; the times are cut to the range of the filter. */
export function waitTable(profile: Profile, facts: StackFacts, filter: Filter): WaitTable {
  const selection = new Selection(profile, facts, filter);
  const { waits, frames } = profile;
  const none = profile.stacks.frame.length;
  const rows = new Map<string, WaitRow>();
  const tasks = new Map<WaitRow, Set<number>>();
  const kinds = WAIT_KINDS.map((_, kind) => ({ kind, count: 0, total: 0, longest: 0, runnable: 0 }));
  const result: WaitTable = { rows: [], kinds: [], total: 0, runnable: 0, count: 0, noted: 0 };
  for (let row = 0; row < waits.from.length; row++) {
    const [from, ready, resumed] = [waits.from.data[row]!, waits.ready.data[row]!, waits.resumed.data[row]!];
    const length = selection.clip(from, resumed);
    const stack = waits.stack.data[row]!;
    if (length === 0 || !selection.passes(waits.task.data[row]!, waits.label.data[row]!, stack)) continue;
    const frame = facts.place[stack < 0 ? none : stack]!;
    const place = functionOfFrame(profile, frame);
    const line = frame < 0 ? 0 : frames.line.data[frame]!;
    const kind = waits.kind.data[row]!;
    const key = `${kind} ${place} ${line} ${waits.on.data[row]}`;
    let found = rows.get(key);
    if (found === undefined) {
      found = {
        kind, function: place, line, on: profile.string(waits.on.data[row]!), count: 0, total: 0, longest: 0,
        runnable: 0, runnableLongest: 0, tasks: 0, holders: [], spread: new Array(9).fill(0),
      };
      rows.set(key, found);
      tasks.set(found, new Set());
    }
    const runnable = selection.clip(ready, resumed);
    const weight = waits.weight.data[row]!;
    found.count += weight;
    found.total += weight * length;
    found.longest = Math.max(found.longest, length);
    found.runnable += weight * runnable;
    found.runnableLongest = Math.max(found.runnableLongest, runnable);
    found.spread[Math.min(8, Math.max(0, Math.ceil(Math.log10(length / 1000))))]! += weight;
    tasks.get(found)!.add(waits.task.data[row]!);
    const holder = waits.holder.data[row]!;
    if (holder >= 0) addHolder(profile, facts, found, holder, waits.holderStack.data[row]!, length, weight);
    const sum = kinds[kind]!;
    sum.count += weight;
    sum.total += weight * length;
    sum.longest = Math.max(sum.longest, length);
    sum.runnable += weight * runnable;
    result.total += weight * length;
    result.runnable += weight * runnable;
    result.count += weight;
    result.noted += 1;
  }
  for (const [row, seen] of tasks) {
    row.tasks = seen.size;
    row.holders.sort((a, b) => b.total - a.total);
  }
  result.rows = [...rows.values()].sort((a, b) => b.total - a.total);
  result.kinds = kinds.filter((kind) => kind.count > 0).sort((a, b) => b.total - a.total);
  return result;
}

function addHolder(profile: Profile, facts: StackFacts, to: WaitRow, task: number, stack: number, length: number,
  weight: number): void {
  const frame = facts.place[stack < 0 ? profile.stacks.frame.length : stack]!;
  const place = functionOfFrame(profile, frame);
  const line = frame < 0 ? 0 : profile.frames.line.data[frame]!;
  let found = to.holders.find((one) => one.function === place && one.line === line);
  if (found === undefined) {
    found = { tasks: new Set(), function: place, line, count: 0, total: 0 };
    to.holders.push(found);
  }
  found.tasks.add(task);
  found.count += weight;
  found.total += weight * length;
}

export interface AllocationRow {
  type: number;
  function: number;
  line: number;
  reason: number;
  total: number;
  live: number;
  /** Sampled objects, and about how many objects they stand for. */
  sampled: number;
  objects: number;
}

export interface AllocationTable {
  rows: AllocationRow[];
  /** The names that the rows refer to by string. */
  names: Record<number, string>;
  total: number;
  live: number;
}

export function allocationTable(profile: Profile, facts: StackFacts, filter: Filter): AllocationTable {
  const selection = new Selection(profile, facts, filter);
  const { allocations, frames } = profile;
  const none = profile.stacks.frame.length;
  const rows = new Map<string, AllocationRow>();
  const result: AllocationTable = { rows: [], names: {}, total: 0, live: 0 };
  for (let row = 0; row < allocations.at.length; row++) {
    if (!passesAllocation(profile, selection, row)) continue;
    const stack = allocations.stack.data[row]!;
    const frame = facts.place[stack < 0 ? none : stack]!;
    const place = functionOfFrame(profile, frame);
    const line = frame < 0 ? 0 : frames.line.data[frame]!;
    const type = allocations.type.data[row]!;
    const reason = allocations.reason.data[row]!;
    const key = `${type} ${place} ${line} ${reason}`;
    let found = rows.get(key);
    if (found === undefined) {
      found = { type, function: place, line, reason, total: 0, live: 0, sampled: 0, objects: 0 };
      rows.set(key, found);
      for (const name of [type, reason]) if (name >= 0) result.names[name] = profile.string(name)!;
    }
    const weight = allocations.weight.data[row]!;
    found.sampled += 1;
    found.objects += weight / Math.max(1, allocations.size.data[row]!);
    found.total += weight;
    result.total += weight;
    if (allocations.freed.data[row] === 0) {
      found.live += weight;
      result.live += weight;
    }
  }
  result.rows = [...rows.values()].sort((a, b) => b.total - a.total);
  return result;
}
