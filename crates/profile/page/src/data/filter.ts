// What is looked at: the filter that all views share, the measure, and the weight of each stack under
// both. Every picture of stacks starts from these weights, so that one pass over the samples serves all.

import { NO_STACK, type Profile } from "./profile";

export type Measure = "cpu" | "wait" | "allocated" | "live";

export interface Filter {
  task: number | null;
  thread: number | null;
  /** `key=value` */
  label: string | null;
  /** A bit for each group of functions; 0 for all. The group of a sample is that of its newest frame. */
  groups: number;
  /** Nanoseconds; null for the start and the end of the profile. */
  from: number | null;
  to: number | null;
  /** Only stacks with a function that matches; the empty string for all. */
  only: string;
}

export const NO_FILTER: Filter = {
  task: null, thread: null, label: null, groups: 0, from: null, to: null, only: "",
};

/** A text search: `/…/` is a regular expression, all else a part of the name or file in any case. */
export function matcher(search: string): (text: string) => boolean {
  const expression = /^\/(.*)\/$/s.exec(search);
  if (expression) {
    try {
      const compiled = new RegExp(expression[1]!, "iu");
      return (text) => compiled.test(text);
    } catch {
      return () => false;
    }
  }
  const wanted = search.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

/** What depends on the stacks alone: group, place and depth of each, one row more for "no stack". */
export class StackFacts {
  readonly group: Uint8Array;
  /** The newest frame of the program, else of a library, else the newest one; -1 for none. */
  readonly place: Int32Array;

  constructor(profile: Profile) {
    const { stacks, frames, functions } = profile;
    const count = stacks.frame.length;
    this.group = new Uint8Array(count + 1).fill(12);
    this.place = new Int32Array(count + 1).fill(-1);
    const program = new Int32Array(count).fill(-1);
    const library = new Int32Array(count).fill(-1);
    for (let stack = 0; stack < count; stack++) {
      const frame = stacks.frame.data[stack]!;
      const row = frame < 0 ? -1 : frames.function.data[frame]!;
      const group = row < 0 ? 12 : functions.group.data[row]!;
      this.group[stack] = group;
      const parent = stacks.kind.data[stack] === 0 ? stacks.parent.data[stack]! : -1;
      program[stack] = group === 0 ? frame : parent < 0 ? -1 : program[parent]!;
      library[stack] = group === 1 ? frame : parent < 0 ? -1 : library[parent]!;
      this.place[stack] = program[stack]! >= 0 ? program[stack]! : library[stack]! >= 0 ? library[stack]! : frame;
    }
  }
}

/** Tells for each stack (and for "no stack", the last) whether the filter lets it pass. */
export function stackMask(profile: Profile, facts: StackFacts, filter: Filter): Uint8Array | null {
  if (filter.groups === 0 && filter.only === "") return null;
  const { stacks, frames } = profile;
  const count = stacks.frame.length;
  const mask = new Uint8Array(count + 1);
  const matches = functionMatches(profile, filter.only);
  for (let stack = 0; stack < count; stack++) {
    const frame = stacks.frame.data[stack]!;
    const row = frame < 0 ? -1 : frames.function.data[frame]!;
    const parent = stacks.parent.data[stack]!;
    mask[stack] = (row >= 0 && matches[row]) || (parent >= 0 && mask[parent]) ? 1 : 0;
  }
  if (filter.only === "") mask.fill(1);
  if (filter.groups !== 0) {
    for (let stack = 0; stack <= count; stack++) {
      if ((filter.groups & (1 << facts.group[stack]!)) === 0) mask[stack] = 0;
    }
  }
  return mask;
}

export function functionMatches(profile: Profile, search: string): Uint8Array {
  const count = profile.functions.name.length;
  const result = new Uint8Array(count);
  if (search === "") return result.fill(1);
  const matches = matcher(search);
  for (let row = 0; row < count; row++) {
    const file = profile.string(profile.functions.file.data[row]!);
    if (matches(profile.functionName(row)) || (file !== null && matches(file))) result[row] = 1;
  }
  return result;
}

/** Tells for each set of labels whether it has the wanted `key=value`; null for no wish. */
export function labelMask(profile: Profile, label: string | null): Uint8Array | null {
  if (label === null) return null;
  const mask = new Uint8Array(profile.labels.length);
  profile.labels.forEach((set, row) => {
    if (set.some(([key, value]) => `${profile.string(key)}=${profile.string(value)}` === label)) mask[row] = 1;
  });
  return mask;
}

/** One filter, ready to be asked row by row. */
export class Selection {
  readonly from: number;
  readonly to: number;
  readonly stacks: Uint8Array | null;
  readonly labels: Uint8Array | null;
  readonly task: number;
  readonly thread: number;
  private readonly none: number;

  constructor(profile: Profile, facts: StackFacts, filter: Filter) {
    this.from = filter.from ?? -Infinity;
    this.to = filter.to ?? Infinity;
    this.stacks = stackMask(profile, facts, filter);
    this.labels = labelMask(profile, filter.label);
    this.task = filter.task ?? -1;
    this.thread = filter.thread ?? -1;
    this.none = profile.stacks.frame.length;
  }

  /** All but the time and the thread. */
  passes(task: number, label: number, stack: number): boolean {
    return (
      (this.task < 0 || this.task === task) &&
      (this.labels === null || (label >= 0 && this.labels[label] === 1)) &&
      (this.stacks === null || this.stacks[stack < 0 ? this.none : stack] === 1)
    );
  }

  /** The part of a wait within the time range. */
  clip(from: number, to: number): number {
    const clipped = Math.min(to, this.to) - Math.max(from, this.from);
    return clipped > 0 ? clipped : 0;
  }
}

export interface Weights {
  /** By stack; the last is the weight of samples without a stack. */
  byStack: Float64Array;
  total: number;
  /** How many samples, waits or sampled objects. */
  rows: number;
}

export function weigh(profile: Profile, facts: StackFacts, filter: Filter, measure: Measure): Weights {
  const selection = new Selection(profile, facts, filter);
  const none = profile.stacks.frame.length;
  const byStack = new Float64Array(none + 1);
  let total = 0;
  let rows = 0;
  const add = (stack: number, weight: number, count = 1) => {
    byStack[stack < 0 ? none : stack]! += weight;
    total += weight;
    rows += count;
  };
  if (measure === "cpu") {
    const { samples } = profile;
    const at = samples.at.data, thread = samples.thread.data, task = samples.task.data;
    const label = samples.label.data, stack = samples.stack.data, weight = samples.weight.data;
    const { from, to } = selection;
    const wantedThread = selection.thread;
    for (let row = 0, count = samples.at.length; row < count; row++) {
      const now = at[row]!;
      if (now < from || now > to) continue;
      if (wantedThread >= 0 && wantedThread !== thread[row]) continue;
      if (selection.passes(task[row]!, label[row]!, stack[row]!)) add(stack[row]!, weight[row]!);
    }
  } else if (measure === "wait") {
    const { waits } = profile;
    for (let row = 0; row < waits.from.length; row++) {
      const length = selection.clip(waits.from.data[row]!, waits.resumed.data[row]!);
      if (length === 0) continue;
      if (selection.passes(waits.task.data[row]!, waits.label.data[row]!, waits.stack.data[row]!)) {
        add(waits.stack.data[row]!, length * waits.weight.data[row]!, waits.weight.data[row]!);
      }
    }
  } else {
    const { allocations } = profile;
    for (let row = 0; row < allocations.at.length; row++) {
      if (measure === "live" && allocations.freed.data[row] === 1) continue;
      if (passesAllocation(profile, selection, row)) {
        add(allocations.stack.data[row]!, allocations.weight.data[row]!);
      }
    }
  }
  return { byStack, total, rows };
}

export function passesAllocation(profile: Profile, selection: Selection, row: number): boolean {
  const { allocations } = profile;
  const at = allocations.at.data[row]!;
  if (at < selection.from || at > selection.to) return false;
  if (selection.thread >= 0 && selection.thread !== allocations.thread.data[row]) return false;
  return selection.passes(allocations.task.data[row]!, allocations.label.data[row]!, allocations.stack.data[row]!);
}

export function functionOfFrame(profile: Profile, frame: number): number {
  return frame < 0 ? NO_STACK : profile.frames.function.data[frame]!;
}
