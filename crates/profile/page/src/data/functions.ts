// The table of functions and the call graph around one of them, for weights of stacks or, where the
// instrumented profiler ran, for its exact counts.

import { NO_STACK, TIER_COUNT, type Profile } from "./profile";
import { tierOfStack, type Async } from "./tree";

export interface FunctionTable {
  function: Int32Array;
  self: Float64Array;
  total: Float64Array;
  /** Five for each function: its own weight by tier. */
  tiers: Float64Array;
  sum: number;
  /** Exact calls, where they were counted. */
  calls: Float64Array | null;
}

export interface Edge {
  function: number;
  weight: number;
  calls: number;
}

export interface LineCost {
  line: number;
  self: number;
  total: number;
  tier: number;
}

export interface FunctionDetail {
  self: number;
  total: number;
  callers: Edge[];
  callees: Edge[];
  lines: LineCost[];
}

/** Functions with a weight, unsorted; a function that calls itself is counted once for each stack. */
export function functionTable(profile: Profile, byStack: Float64Array, async: Async): FunctionTable {
  const { stacks, frames } = profile;
  const count = profile.functions.name.length;
  // The last row is "no stack".
  const self = new Float64Array(count + 1);
  const total = new Float64Array(count + 1);
  const tiers = new Float64Array((count + 1) * TIER_COUNT);
  const seen = new Int32Array(count + 1).fill(-1);
  let sum = 0;
  for (let stack = 0; stack < byStack.length; stack++) {
    const weight = byStack[stack]!;
    if (weight <= 0) continue;
    sum += weight;
    let row = stack < stacks.frame.length ? stack : -1;
    const newest = functionAt(profile, row);
    const own = newest < 0 ? count : newest;
    self[own]! += weight;
    tiers[own * TIER_COUNT + tierOfStack(profile, stack)]! += weight;
    if (row < 0) total[count]! += weight;
    while (row >= 0) {
      const frame = stacks.frame.data[row]!;
      const name = frame < 0 ? count : frames.function.data[frame]!;
      if (seen[name] !== stack) {
        seen[name] = stack;
        total[name]! += weight;
      }
      row = older(profile, row, async);
    }
  }
  const kept: number[] = [];
  for (let row = 0; row <= count; row++) if (total[row]! > 0) kept.push(row);
  return {
    function: Int32Array.from(kept, (row) => (row === count ? NO_STACK : row)),
    self: Float64Array.from(kept, (row) => self[row]!),
    total: Float64Array.from(kept, (row) => total[row]!),
    tiers: Float64Array.from({ length: kept.length * TIER_COUNT }, (_, index) =>
      tiers[kept[Math.floor(index / TIER_COUNT)]! * TIER_COUNT + (index % TIER_COUNT)]!),
    sum,
    calls: null,
  };
}

function functionAt(profile: Profile, stack: number): number {
  if (stack < 0) return NO_STACK;
  const frame = profile.stacks.frame.data[stack]!;
  return frame < 0 ? NO_STACK : profile.frames.function.data[frame]!;
}

function older(profile: Profile, stack: number, async: Async): number {
  return profile.stacks.kind.data[stack] === 1 && async === "cut" ? -1 : profile.stacks.parent.data[stack]!;
}

export function functionDetail(
  profile: Profile, byStack: Float64Array, async: Async, wanted: number,
): FunctionDetail {
  const { stacks, frames } = profile;
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const lines = new Map<number, { self: number; total: number; tiers: Float64Array }>();
  const add = (map: Map<number, number>, key: number, weight: number) => map.set(key, (map.get(key) ?? 0) + weight);
  let self = 0;
  let total = 0;
  const line = (frame: number, weight: number, own: boolean) => {
    const number = frame < 0 ? 0 : frames.line.data[frame]!;
    let cost = lines.get(number);
    if (cost === undefined) lines.set(number, (cost = { self: 0, total: 0, tiers: new Float64Array(TIER_COUNT) }));
    cost.total += weight;
    if (own) cost.self += weight;
    cost.tiers[frame < 0 ? 4 : frames.tier.data[frame]!]! += weight;
  };
  for (let stack = 0; stack < byStack.length - 1; stack++) {
    const weight = byStack[stack]!;
    if (weight <= 0) continue;
    let newer = -1;
    let found = false;
    let seenCallers: number[] | null = null;
    let seenCallees: number[] | null = null;
    let seenLines: number[] | null = null;
    for (let row = stack; row >= 0; ) {
      const name = functionAt(profile, row);
      const next = older(profile, row, async);
      if (name === wanted) {
        const frame = stacks.frame.data[row]!;
        const number = frame < 0 ? 0 : frames.line.data[frame]!;
        if (!found) total += weight;
        if (row === stack) self += weight;
        found = true;
        if (!seenLines?.includes(number)) {
          (seenLines ??= []).push(number);
          line(frame, weight, row === stack);
        }
        const caller = next < 0 ? -1 : functionAt(profile, next);
        if (!seenCallers?.includes(caller)) {
          (seenCallers ??= []).push(caller);
          add(callers, caller, weight);
        }
        if (row !== stack && !seenCallees?.includes(newer)) {
          (seenCallees ??= []).push(newer);
          add(callees, newer, weight);
        }
      }
      newer = name;
      row = next;
    }
  }
  const edges = (map: Map<number, number>) =>
    [...map].map(([row, weight]) => ({ function: row, weight, calls: 0 })).sort((a, b) => b.weight - a.weight);
  return {
    self,
    total,
    callers: edges(callers),
    callees: edges(callees),
    lines: [...lines].map(([number, cost]) => ({
      line: number, self: cost.self, total: cost.total, tier: cost.tiers.indexOf(Math.max(...cost.tiers)),
    })).sort((a, b) => a.line - b.line),
  };
}

/** The same table from exact counts; no filter applies to them. */
export function countedTable(profile: Profile): FunctionTable {
  const { counts } = profile;
  const count = profile.functions.name.length;
  const self = new Float64Array(count), total = new Float64Array(count), calls = new Float64Array(count);
  const tiers = new Float64Array(count * TIER_COUNT);
  let sum = 0;
  for (let row = 0; row < counts.callee.length; row++) {
    const callee = counts.callee.data[row]!;
    if (callee < 0) continue;
    const exclusive = counts.exclusive.data[row]!;
    self[callee]! += exclusive;
    sum += exclusive;
    // The time of a call of itself is within the outer call.
    if (counts.caller.data[row] !== callee) total[callee]! += counts.inclusive.data[row]!;
    calls[callee]! += counts.calls.data[row]!;
    const [slow, fast, inside] = [counts.interpreted, counts.compiled, counts.inlined].map((c) => c.data[row]!);
    const all = slow! + fast! + inside!;
    if (all > 0) {
      tiers[callee * TIER_COUNT]! += (exclusive * slow!) / all;
      tiers[callee * TIER_COUNT + 1]! += (exclusive * fast!) / all;
      tiers[callee * TIER_COUNT + 2]! += (exclusive * inside!) / all;
    } else {
      tiers[callee * TIER_COUNT + 4]! += exclusive;
    }
  }
  const kept: number[] = [];
  for (let row = 0; row < count; row++) if (calls[row]! > 0 || self[row]! > 0) kept.push(row);
  const take = (from: Float64Array) => Float64Array.from(kept, (row) => from[row]!);
  return {
    function: Int32Array.from(kept),
    self: take(self),
    total: Float64Array.from(kept, (row) => Math.max(total[row]!, self[row]!)),
    tiers: Float64Array.from({ length: kept.length * TIER_COUNT }, (_, index) =>
      tiers[kept[Math.floor(index / TIER_COUNT)]! * TIER_COUNT + (index % TIER_COUNT)]!),
    sum,
    calls: take(calls),
  };
}

export function countedDetail(profile: Profile, wanted: number): FunctionDetail {
  const { counts } = profile;
  const detail: FunctionDetail = { self: 0, total: 0, callers: [], callees: [], lines: [] };
  for (let row = 0; row < counts.callee.length; row++) {
    const caller = counts.caller.data[row]!;
    const callee = counts.callee.data[row]!;
    const edge = { weight: counts.inclusive.data[row]!, calls: counts.calls.data[row]! };
    if (callee === wanted) {
      detail.self += counts.exclusive.data[row]!;
      if (caller !== callee) detail.total += edge.weight;
      detail.callers.push({ function: caller, ...edge });
    }
    if (caller === wanted) detail.callees.push({ function: callee, ...edge });
  }
  detail.total = Math.max(detail.total, detail.self);
  detail.callers.sort((a, b) => b.weight - a.weight);
  detail.callees.sort((a, b) => b.weight - a.weight);
  return detail;
}
