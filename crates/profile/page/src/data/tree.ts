// Call trees and their layout as flame graphs.
//
// A node of a tree is a function under a path of callers; the frames of one function at several lines
// fall together. `CallNodes` depends on the stacks alone and is made once; a layout adds the weights
// of one filter. The boxes of a layout are sorted by depth, then by start, so that a picture finds the
// visible ones by binary search.

import { PairMap, ints, bytes } from "./column";
import { CUT, NO_STACK, TIER_COUNT, type Profile } from "./profile";

export type Async = "follow" | "cut";

/** Flags of a box. */
export const STARTED_BY = 1;
export const TAIL = 2;

export interface Layout {
  count: number;
  /** Where the boxes of each depth begin; one more than there are depths. */
  rows: Int32Array;
  function: Int32Array;
  /** The box below, -1 for the first row. */
  parent: Int32Array;
  start: Float64Array;
  total: Float64Array;
  self: Float64Array;
  /** Shares of the tiers in the box itself, five bytes for each box, 255 for all of it. */
  tiers: Uint8Array;
  flags: Uint8Array;
  /** The weight of everything. */
  sum: number;
  /** Of a difference: the weights before and after. */
  before?: Float64Array;
  after?: Float64Array;
}

export class CallNodes {
  parent = ints();
  function = ints();
  flags = bytes();
  /** The node of each stack; the last is the node of "no stack". */
  readonly ofStack: Int32Array;

  constructor(profile: Profile, readonly async: Async) {
    const { stacks, frames } = profile;
    const count = stacks.frame.length;
    this.ofStack = new Int32Array(count + 1);
    const map = new PairMap(count);
    const child = (parent: number, row: number, flags: number): number => {
      // A function under an async boundary is another node than the same function called directly.
      const fresh = this.parent.length;
      const node = map.intern(parent * 2 + (flags & STARTED_BY), row, fresh);
      if (node === fresh) {
        this.parent.push(parent);
        this.function.push(row);
        this.flags.push(flags);
      } else if ((flags & TAIL) === 0) {
        this.flags.data[node]! &= ~TAIL;
      }
      return node;
    };
    for (let stack = 0; stack < count; stack++) {
      const frame = stacks.frame.data[stack]!;
      const kind = stacks.kind.data[stack]!;
      let row = stacks.parent.data[stack]!;
      if (kind === 1 && async === "cut") row = -1;
      let parent = row < 0 ? -1 : this.ofStack[row]!;
      if (kind === 2) parent = child(parent, CUT, 0);
      const flags = (kind === 1 && parent >= 0 ? STARTED_BY : 0) |
        (frame >= 0 && frames.tail.data[frame] === 1 ? TAIL : 0);
      this.ofStack[stack] = child(parent, frame < 0 ? NO_STACK : frames.function.data[frame]!, flags);
    }
    this.ofStack[count] = child(-1, NO_STACK, 0);
    this.parent.trim();
    this.function.trim();
    this.flags.trim();
  }
}

export function tierOfStack(profile: Profile, stack: number): number {
  const frame = stack < profile.stacks.frame.length ? profile.stacks.frame.data[stack]! : -1;
  return frame < 0 ? 4 : profile.frames.tier.data[frame]!;
}

/** The tree from the oldest frame to the newest, left-heavy. */
export function topDown(profile: Profile, nodes: CallNodes, byStack: Float64Array): Layout {
  const { stacks } = profile;
  const count = nodes.parent.length;
  const self = new Float64Array(count);
  for (let stack = 0; stack < byStack.length; stack++) {
    const weight = byStack[stack]!;
    if (weight > 0) self[nodes.ofStack[stack]!]! += weight;
  }
  // The tier belongs to the frame of a box, whether it is the newest or not: sum over the stacks.
  const tiers = new Float64Array(count * TIER_COUNT);
  const below = Float64Array.from(byStack);
  for (let stack = stacks.frame.length - 1; stack >= 0; stack--) {
    const weight = below[stack]!;
    if (weight <= 0) continue;
    tiers[nodes.ofStack[stack]! * TIER_COUNT + tierOfStack(profile, stack)]! += weight;
    const parent = stacks.parent.data[stack]!;
    if (parent >= 0 && !(stacks.kind.data[stack] === 1 && nodes.async === "cut")) below[parent]! += weight;
  }
  return layOut(nodes.parent.view(), nodes.function.view(), nodes.flags.view(), self, tiers);
}

/** The tree from the newest frame to the oldest: who called what is at the bottom. */
export function inverted(
  profile: Profile, byStack: Float64Array, async: Async, root: number | null = null,
): Layout {
  const parents = ints(), functions = ints(), flags = bytes();
  const map = new PairMap(4096);
  const { stacks, frames } = profile;
  const selfOf: number[] = [];
  const tierOf: number[] = [];
  const child = (parent: number, row: number, flag: number): number => {
    const fresh = parents.length;
    const node = map.intern(parent * 2 + (flag & STARTED_BY), row, fresh);
    if (node === fresh) {
      parents.push(parent);
      functions.push(row);
      flags.push(flag);
      selfOf.push(0);
      for (let tier = 0; tier < TIER_COUNT; tier++) tierOf.push(0);
    }
    return node;
  };
  for (let stack = 0; stack < byStack.length; stack++) {
    const weight = byStack[stack]!;
    if (weight <= 0) continue;
    let row = stack < stacks.frame.length ? stack : -1;
    let node = -1;
    if (row < 0) node = child(-1, NO_STACK, 0);
    let flag = 0;
    while (row >= 0) {
      const frame = stacks.frame.data[row]!;
      const name = frame < 0 ? NO_STACK : frames.function.data[frame]!;
      if (node >= 0 || root === null || name === root) {
        node = child(node, name, flag);
        tierOf[node * TIER_COUNT + tierOfStack(profile, row)]! += weight;
      }
      const kind = stacks.kind.data[row]!;
      if (kind === 2) node = node < 0 ? node : child(node, CUT, 0);
      if (kind === 1 && async === "cut") break;
      flag = kind === 1 ? STARTED_BY : 0;
      row = stacks.parent.data[row]!;
    }
    if (node >= 0) selfOf[node]! += weight;
  }
  return layOut(
    parents.view(), functions.view(), flags.view(), Float64Array.from(selfOf), Float64Array.from(tierOf),
  );
}

/**
 * Sorts the children of each node by weight and gives every node its place. Parents stand before
 * their children in the arrays.
 */
export function layOut(
  parent: Int32Array, functions: Int32Array, flags: Uint8Array, self: Float64Array, tiers: Float64Array | null,
): Layout {
  const count = parent.length;
  const total = Float64Array.from(self);
  for (let node = count - 1; node >= 0; node--) {
    if (parent[node]! >= 0) total[parent[node]!]! += total[node]!;
  }
  let kept = 0;
  const childCount = new Int32Array(count + 1);
  for (let node = 0; node < count; node++) {
    if (total[node]! <= 0) continue;
    kept += 1;
    childCount[parent[node]! + 1]! += 1;
  }
  // The children of each node side by side, as in a compressed sparse row.
  const first = new Int32Array(count + 2);
  for (let node = 0; node <= count; node++) first[node + 1] = first[node]! + childCount[node]!;
  const fill = first.slice();
  const children = new Int32Array(kept);
  for (let node = 0; node < count; node++) {
    if (total[node]! > 0) children[fill[parent[node]! + 1]!++] = node;
  }
  const result: Layout = {
    count: kept,
    rows: new Int32Array(0),
    function: new Int32Array(kept),
    parent: new Int32Array(kept),
    start: new Float64Array(kept),
    total: new Float64Array(kept),
    self: new Float64Array(kept),
    tiers: new Uint8Array(kept * TIER_COUNT),
    flags: new Uint8Array(kept),
    sum: 0,
  };
  const nodeOf = new Int32Array(kept);
  const rows: number[] = [0];
  const heavier = (left: number, right: number) => total[right]! - total[left]! || left - right;
  let written = 0;
  const place = (node: number, below: number, start: number) => {
    const from = first[node + 1]!;
    const to = first[node + 2]!;
    if (to - from > 1) children.subarray(from, to).sort(heavier);
    for (let index = from; index < to; index++) {
      const child = children[index]!;
      nodeOf[written] = child;
      result.function[written] = functions[child]!;
      result.flags[written] = flags[child]!;
      result.parent[written] = below;
      result.start[written] = start;
      result.total[written] = total[child]!;
      result.self[written] = self[child]!;
      if (tiers !== null && total[child]! > 0) {
        for (let tier = 0; tier < TIER_COUNT; tier++) {
          const share = tiers[child * TIER_COUNT + tier]! / total[child]!;
          result.tiers[written * TIER_COUNT + tier] = Math.round(Math.min(1, share) * 255);
        }
      }
      start += total[child]!;
      written += 1;
    }
    return start;
  };
  result.sum = place(-1, -1, 0);
  let level = 0;
  while (written > level) {
    rows.push(written);
    const end = written;
    for (let box = level; box < end; box++) place(nodeOf[box]!, box, result.start[box]!);
    level = end;
  }
  result.rows = Int32Array.from(rows);
  return result;
}
