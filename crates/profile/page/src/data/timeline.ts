// What happened when: processor use over time, lanes of threads and tasks, and the time-ordered flame
// graph. All of them are computed for the columns of pixels that are shown, never for all samples.

import { bytes, doubles, ints } from "./column";
import { Selection, type Filter, type StackFacts } from "./filter";
import { EVENT_KINDS, GROUP_COUNT, TIER_COUNT, type Profile } from "./profile";
import { CallNodes, tierOfStack, type Layout } from "./tree";

export interface Lane {
  kind: "thread" | "task";
  row: number;
}

/** The rows of a table by lane, each lane in the order of time. */
export class Sorted {
  readonly start: Int32Array;
  readonly order: Int32Array;

  constructor(key: ArrayLike<number>, at: Float64Array, count: number, laneCount: number) {
    this.start = new Int32Array(laneCount + 1);
    for (let row = 0; row < count; row++) {
      const lane = key[row]!;
      if (lane >= 0 && lane < laneCount) this.start[lane + 1]! += 1;
    }
    for (let lane = 0; lane < laneCount; lane++) this.start[lane + 1]! += this.start[lane]!;
    const fill = this.start.slice();
    this.order = new Int32Array(this.start[laneCount]!);
    for (let row = 0; row < count; row++) {
      const lane = key[row]!;
      if (lane >= 0 && lane < laneCount) this.order[fill[lane]!++] = row;
    }
    for (let lane = 0; lane < laneCount; lane++) {
      sortByTime(this.order.subarray(this.start[lane]!, this.start[lane + 1]!), at);
    }
  }

  of(lane: number): Int32Array {
    return this.order.subarray(this.start[lane]!, this.start[lane + 1]!);
  }
}

/** Rows come nearly in order, since each thread writes its own in order: insertion is then fastest. */
function sortByTime(rows: Int32Array, at: Float64Array): void {
  let moves = rows.length * 4;
  for (let index = 1; index < rows.length; index++) {
    const row = rows[index]!;
    const time = at[row]!;
    let to = index;
    while (to > 0 && at[rows[to - 1]!]! > time) {
      rows[to] = rows[to - 1]!;
      to -= 1;
    }
    rows[to] = row;
    moves -= index - to;
    if (moves < 0) {
      mergeByTime(rows, at);
      return;
    }
  }
}

/** A merge sort from the bottom; a comparison function of `sort` would take ten times as long. */
function mergeByTime(rows: Int32Array, at: Float64Array): void {
  let from = rows;
  let into = new Int32Array(rows.length);
  for (let run = 1; run < rows.length; run *= 2) {
    for (let start = 0; start < rows.length; start += 2 * run) {
      const middle = Math.min(start + run, rows.length);
      const end = Math.min(start + 2 * run, rows.length);
      let left = start;
      let right = middle;
      for (let to = start; to < end; to++) {
        into[to] = left < middle && (right >= end || at[from[left]!]! <= at[from[right]!]!)
          ? from[left++]! : from[right++]!;
      }
    }
    [from, into] = [into, from as Int32Array<ArrayBuffer>];
  }
  if (from !== rows) rows.set(from);
}

/** The first index of `rows` whose time is at least `wanted`. */
export function lowerBound(rows: Int32Array, at: Float64Array, wanted: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[rows[middle]!]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Use {
  from: number;
  to: number;
  columns: number;
  /** Processors in use by column and group: `use[column * GROUP_COUNT + group]`. */
  use: Float32Array;
}

/** Processors in use over time, by group; the time range of the filter does not cut it. */
export function processorUse(
  profile: Profile, facts: StackFacts, filter: Filter, from: number, to: number, columns: number,
): Use {
  const selection = new Selection(profile, facts, { ...filter, from: null, to: null });
  const use = new Float32Array(columns * GROUP_COUNT);
  const { samples } = profile;
  const none = profile.stacks.frame.length;
  const width = Math.max(1, (to - from) / columns);
  for (let row = 0; row < samples.at.length; row++) {
    const at = samples.at.data[row]!;
    const weight = samples.weight.data[row]!;
    if (at < from || at - weight > to) continue;
    if (selection.thread >= 0 && selection.thread !== samples.thread.data[row]) continue;
    const stack = samples.stack.data[row]!;
    if (!selection.passes(samples.task.data[row]!, samples.label.data[row]!, stack)) continue;
    spread(use, 0, facts.group[stack < 0 ? none : stack]!, at, weight, from, width, columns);
  }
  return { from, to, columns, use };
}

/** Adds a sample to the columns of the time before it, as processors in use. */
function spread(
  use: Float32Array, base: number, group: number, at: number, weight: number,
  from: number, width: number, columns: number,
): void {
  const end = (at - from) / width;
  const start = (at - weight - from) / width;
  let column = Math.floor(start);
  const last = Math.min(columns - 1, Math.ceil(end) - 1);
  if (column >= last) {
    column = Math.min(columns - 1, Math.max(0, last));
    use[base + column * GROUP_COUNT + group]! += weight / width;
    return;
  }
  for (column = Math.max(0, column); column <= last; column++) {
    const part = Math.min(end, column + 1) - Math.max(start, column);
    if (part > 0) use[base + column * GROUP_COUNT + group]! += part;
  }
}

export interface Activity {
  lanes: Lane[];
  cpu: number[];
  waiting: number[];
}

/** All threads, then all tasks, the most active first. */
export function activity(profile: Profile, facts: StackFacts, filter: Filter): Activity {
  const selection = new Selection(profile, facts, filter);
  const threads = new Float64Array(profile.threads.id.length);
  const tasks = new Float64Array(profile.tasks.number.length);
  const waiting = new Float64Array(profile.tasks.number.length);
  const { samples, waits } = profile;
  for (let row = 0; row < samples.at.length; row++) {
    const at = samples.at.data[row]!;
    if (at < selection.from || at > selection.to) continue;
    const thread = samples.thread.data[row]!;
    if (selection.thread >= 0 && selection.thread !== thread) continue;
    const task = samples.task.data[row]!;
    if (!selection.passes(task, samples.label.data[row]!, samples.stack.data[row]!)) continue;
    const weight = samples.weight.data[row]!;
    if (thread < threads.length) threads[thread]! += weight;
    if (task >= 0) tasks[task]! += weight;
  }
  for (let row = 0; row < waits.from.length; row++) {
    const task = waits.task.data[row]!;
    if (task < 0 || !selection.passes(task, waits.label.data[row]!, waits.stack.data[row]!)) continue;
    waiting[task]! += waits.weight.data[row]! * selection.clip(waits.from.data[row]!, waits.resumed.data[row]!);
  }
  const result: Activity = { lanes: [], cpu: [], waiting: [] };
  const take = (kind: Lane["kind"], cpu: Float64Array, idle: Float64Array | null, only: number) => {
    const rows: number[] = [];
    for (let row = 0; row < cpu.length; row++) if (only < 0 || only === row) rows.push(row);
    rows.sort((a, b) => cpu[b]! - cpu[a]! || (idle ? idle[b]! - idle[a]! : 0) || a - b);
    for (const row of rows) {
      result.lanes.push({ kind, row });
      result.cpu.push(cpu[row]!);
      result.waiting.push(idle ? idle[row]! : 0);
    }
  };
  take("thread", threads, null, selection.thread);
  take("task", tasks, waiting, selection.task);
  return result;
}

export interface LanePictures {
  from: number;
  to: number;
  columns: number;
  /** Use of each lane as in `Use`, one lane after the other. */
  use: Float32Array;
  /** Waits, by index of the lane; those within one pixel of each other are one. */
  waitLane: Int32Array;
  waitFrom: Float64Array;
  waitReady: Float64Array;
  waitResumed: Float64Array;
  waitKind: Uint8Array;
  waitPlace: Int32Array;
  waitOn: (string | null)[];
  /** Events, by index of the lane; -1 for the machine as a whole. */
  eventLane: Int32Array;
  eventAt: Float64Array;
  eventDuration: Float64Array;
  eventKind: Uint8Array;
  eventText: (string | null)[];
}

export function lanePictures(
  profile: Profile, facts: StackFacts, filter: Filter, byTask: Sorted, byThread: Sorted, waitsByTask: Sorted,
  lanes: Lane[], from: number, to: number, columns: number,
): LanePictures {
  const selection = new Selection(profile, facts, { ...filter, from: null, to: null });
  const width = Math.max(1, (to - from) / columns);
  const use = new Float32Array(lanes.length * columns * GROUP_COUNT);
  const { samples, waits, events } = profile;
  const none = profile.stacks.frame.length;
  const longest = 64 * Math.max(1, profile.header?.interval ?? 1e7);
  const waitLane = ints(), waitKind = bytes(), waitPlace = ints();
  const waitFrom = doubles(), waitReady = doubles(), waitResumed = doubles();
  const waitOn: (string | null)[] = [];
  lanes.forEach((lane, index) => {
    const rows = (lane.kind === "task" ? byTask : byThread).of(lane.row);
    const base = index * columns * GROUP_COUNT;
    for (let at = lowerBound(rows, samples.at.data, from); at < rows.length; at++) {
      const row = rows[at]!;
      const now = samples.at.data[row]!;
      const weight = samples.weight.data[row]!;
      if (now - weight > to && now > to + longest) break;
      if (now - weight > to) continue;
      const stack = samples.stack.data[row]!;
      if (selection.thread >= 0 && selection.thread !== samples.thread.data[row]) continue;
      if (!selection.passes(samples.task.data[row]!, samples.label.data[row]!, stack)) continue;
      spread(use, base, facts.group[stack < 0 ? none : stack]!, now, weight, from, width, columns);
    }
    if (lane.kind !== "task") return;
    let last = -1;
    for (const row of waitsByTask.of(lane.row)) {
      const begin = waits.from.data[row]!;
      const end = waits.resumed.data[row]!;
      if (begin > to) break;
      if (end < from || !selection.passes(lane.row, waits.label.data[row]!, waits.stack.data[row]!)) continue;
      // A wait that is narrower than a pixel and touches the one before it joins it.
      if (last >= 0 && end - begin < width && begin - waitResumed.data[last]! < width &&
          waitResumed.data[last]! - waitFrom.data[last]! < 4 * width) {
        waitReady.data[last] = Math.max(waitReady.data[last]!, waits.ready.data[row]!);
        waitResumed.data[last] = Math.max(waitResumed.data[last]!, end);
        continue;
      }
      last = waitLane.length;
      waitLane.push(index);
      waitFrom.push(begin);
      waitReady.push(waits.ready.data[row]!);
      waitResumed.push(end);
      waitKind.push(waits.kind.data[row]!);
      waitPlace.push(facts.place[waits.stack.data[row]! < 0 ? none : waits.stack.data[row]!]!);
      waitOn.push(profile.string(waits.on.data[row]!));
    }
  });
  const laneOfThread = new Map<number, number>();
  lanes.forEach((lane, index) => lane.kind === "thread" && laneOfThread.set(lane.row, index));
  const eventLane = ints(), eventKind = bytes(), eventAt = doubles(), eventDuration = doubles();
  const eventText: (string | null)[] = [];
  const taken = new Set<number>();
  for (let row = 0; row < events.at.length; row++) {
    const at = events.at.data[row]!;
    const duration = events.duration.data[row]!;
    if (at > to || at + duration < from) continue;
    const thread = events.thread.data[row]!;
    const lane = thread < 0 ? -1 : laneOfThread.get(thread);
    const kind = events.kind.data[row]!;
    for (const target of lane === undefined || lane < 0 ? [-1] : [-1, lane]) {
      const key = ((target + 1) * 8 + kind) * 8192 + Math.floor((at - from) / width);
      if (duration < width && taken.has(key)) continue;
      taken.add(key);
      eventLane.push(target);
      eventAt.push(at);
      eventDuration.push(duration);
      eventKind.push(Math.min(kind, EVENT_KINDS.length - 1));
      eventText.push(profile.string(events.text.data[row]!));
    }
  }
  return {
    from, to, columns, use,
    waitLane: waitLane.view(), waitFrom: waitFrom.view(), waitReady: waitReady.view(),
    waitResumed: waitResumed.view(), waitKind: waitKind.view(), waitPlace: waitPlace.view(), waitOn,
    eventLane: eventLane.view(), eventAt: eventAt.view(), eventDuration: eventDuration.view(),
    eventKind: eventKind.view(), eventText,
  };
}

/**
 * The flame graph of one lane in the order of time: each column shows the stack that has most of it,
 * and neighbours with the same callers are one box. Starts and totals are times.
 */
export function timeOrdered(
  profile: Profile, facts: StackFacts, filter: Filter, nodes: CallNodes, sorted: Sorted,
  lane: Lane, from: number, to: number, columns: number,
): Layout {
  const selection = new Selection(profile, facts, filter);
  const { samples } = profile;
  const none = profile.stacks.frame.length;
  const width = Math.max(1, (to - from) / columns);
  const rows = lane.row < 0 ? new Int32Array(0) : sorted.of(lane.row);
  const stackOf = new Int32Array(columns).fill(-1);
  const heaviest = new Float64Array(columns);
  const usual = profile.header?.interval ?? 0;
  for (let index = lowerBound(rows, samples.at.data, from); index < rows.length; index++) {
    const row = rows[index]!;
    const now = samples.at.data[row]!;
    const weight = samples.weight.data[row]!;
    const before = index > 0 ? samples.at.data[rows[index - 1]!]! : -Infinity;
    // A sample stands for the time since the last one, but not for a pause between them.
    const begin = Math.max(before, now - Math.max(weight, usual) * 1.6);
    if (begin > to) break;
    const stack = samples.stack.data[row]!;
    if (selection.thread >= 0 && selection.thread !== samples.thread.data[row]) continue;
    if (!selection.passes(samples.task.data[row]!, samples.label.data[row]!, stack)) continue;
    const first = Math.max(0, Math.floor((begin - from) / width));
    const last = Math.min(columns - 1, Math.max(first, Math.ceil((now - from) / width) - 1));
    for (let column = first; column <= last; column++) {
      const part = Math.min(now, from + (column + 1) * width) - Math.max(begin, from + column * width);
      if (stackOf[column]! < 0 || part > heaviest[column]!) {
        stackOf[column] = stack < 0 ? none : stack;
        heaviest[column] = part;
      }
    }
  }
  // A pause of one or two columns would only cut the boxes into slices that nobody can read.
  let last = -1;
  for (let column = 0; column < columns; column++) {
    if (stackOf[column]! < 0) continue;
    if (last >= 0 && column - last <= 3) stackOf.fill(stackOf[last]!, last + 1, column);
    last = column;
  }
  return boxes(profile, nodes, stackOf, from, width);
}

function boxes(
  profile: Profile, nodes: CallNodes, stackOf: Int32Array, from: number, width: number,
): Layout {
  interface Box { node: number; start: number; end: number; parent: number; self: number; tier: number }
  const levels: Box[][] = [];
  const path: number[] = [];
  const tiers: number[] = [];
  const { stacks } = profile;
  for (let column = 0; column < stackOf.length; column++) {
    const stack = stackOf[column]!;
    if (stack < 0) continue;
    path.length = 0;
    tiers.length = 0;
    for (let node = nodes.ofStack[stack]!; node >= 0; node = nodes.parent.data[node]!) path.push(node);
    for (let row = stack < stacks.frame.length ? stack : -1; row >= 0; row = stacks.parent.data[row]!) {
      tiers.push(tierOfStack(profile, row));
    }
    let joined = true;
    for (let depth = 0; depth < path.length; depth++) {
      const node = path[path.length - 1 - depth]!;
      const level = (levels[depth] ??= []);
      const last = level[level.length - 1];
      joined = joined && last !== undefined && last.node === node && last.end === column;
      if (joined) last!.end = column + 1;
      else {
        level.push({
          node, start: column, end: column + 1, parent: depth === 0 ? -1 : levels[depth - 1]!.length - 1,
          self: 0, tier: tiers[path.length - 1 - depth] ?? 4,
        });
      }
      if (depth === path.length - 1) level[level.length - 1]!.self += 1;
    }
  }
  const count = levels.reduce((sum, level) => sum + level.length, 0);
  const layout: Layout = {
    count, rows: new Int32Array(levels.length + 1),
    function: new Int32Array(count), parent: new Int32Array(count), start: new Float64Array(count),
    total: new Float64Array(count), self: new Float64Array(count),
    tiers: new Uint8Array(count * TIER_COUNT), flags: new Uint8Array(count), sum: 0,
  };
  let written = 0;
  let below = 0;
  levels.forEach((level, depth) => {
    const base = written;
    for (const box of level) {
      layout.function[written] = nodes.function.data[box.node]!;
      layout.flags[written] = nodes.flags.data[box.node]!;
      layout.parent[written] = box.parent < 0 ? -1 : below + box.parent;
      layout.start[written] = from + box.start * width;
      layout.total[written] = (box.end - box.start) * width;
      layout.self[written] = box.self * width;
      layout.tiers[written * TIER_COUNT + box.tier] = 255;
      if (depth === 0) layout.sum += layout.total[written]!;
      written += 1;
    }
    below = base;
    layout.rows[depth + 1] = written;
  });
  return layout;
}
