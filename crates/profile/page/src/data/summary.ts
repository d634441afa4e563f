// The summary: totals, the hottest functions, and sentences that say why a place is slow. The
// sentences are the notes of the machine, and findings that follow from the figures themselves.

import { Selection, passesAllocation, type Filter, type StackFacts, type Weights } from "./filter";
import type { FunctionTable } from "./functions";
import { EVENT_KINDS, GROUP_COUNT, TIER_COUNT, type Profile } from "./profile";

export interface Note {
  function: number;
  line: number;
  text: string;
  /** The time in the place itself. */
  weight: number;
}

export interface EventSum {
  kind: string;
  count: number;
  total: number;
  longest: number;
}

export interface Summary {
  wall: number;
  cpu: number;
  samples: number;
  groups: number[];
  tiers: number[];
  waiting: number;
  runnable: number;
  waitCount: number;
  events: EventSum[];
  allocated: number;
  live: number;
  notes: Note[];
  /** Deoptimizations by function, the most frequent first. */
  deoptimized: { text: string; count: number }[];
}

export function summary(
  profile: Profile, facts: StackFacts, filter: Filter, cpu: Weights, table: FunctionTable,
): Summary {
  const selection = new Selection(profile, facts, filter);
  const result: Summary = {
    wall: (filter.to ?? profile.duration) - (filter.from ?? 0),
    cpu: cpu.total,
    samples: cpu.rows,
    groups: new Array(GROUP_COUNT).fill(0),
    tiers: new Array(TIER_COUNT).fill(0),
    waiting: 0, runnable: 0, waitCount: 0, events: [], allocated: 0, live: 0,
    notes: [], deoptimized: [],
  };
  for (let stack = 0; stack < cpu.byStack.length; stack++) {
    result.groups[facts.group[stack]!]! += cpu.byStack[stack]!;
  }
  for (let index = 0; index < table.function.length; index++) {
    for (let tier = 0; tier < TIER_COUNT; tier++) result.tiers[tier]! += table.tiers[index * TIER_COUNT + tier]!;
  }
  const { waits, allocations, events } = profile;
  for (let row = 0; row < waits.from.length; row++) {
    if (!selection.passes(waits.task.data[row]!, waits.label.data[row]!, waits.stack.data[row]!)) continue;
    const length = selection.clip(waits.from.data[row]!, waits.resumed.data[row]!);
    if (length === 0) continue;
    const weight = waits.weight.data[row]!;
    result.waiting += weight * length;
    result.runnable += weight * selection.clip(waits.ready.data[row]!, waits.resumed.data[row]!);
    result.waitCount += weight;
  }
  for (let row = 0; row < allocations.at.length; row++) {
    if (!passesAllocation(profile, selection, row)) continue;
    result.allocated += allocations.weight.data[row]!;
    if (allocations.freed.data[row] === 0) result.live += allocations.weight.data[row]!;
  }
  const sums = EVENT_KINDS.map((kind) => ({ kind, count: 0, total: 0, longest: 0 }));
  const deoptimized = new Map<string, number>();
  for (let row = 0; row < events.at.length; row++) {
    const at = events.at.data[row]!;
    if (at < selection.from || at > selection.to) continue;
    const sum = sums[events.kind.data[row]!]!;
    sum.count += 1;
    sum.total += events.duration.data[row]!;
    sum.longest = Math.max(sum.longest, events.duration.data[row]!);
    if (events.kind.data[row] === 2) {
      const text = profile.string(events.text.data[row]!) ?? "";
      deoptimized.set(text, (deoptimized.get(text) ?? 0) + 1);
    }
  }
  result.events = sums.filter((sum) => sum.count > 0);
  result.deoptimized = [...deoptimized].map(([text, count]) => ({ text, count }))
    .sort((a, b) => b.count - a.count).slice(0, 5);
  result.notes = weighedNotes(profile, cpu.byStack, table);
  return result;
}

/** The notes, those of the hottest places first. */
export function weighedNotes(profile: Profile, byStack: Float64Array, table: FunctionTable): Note[] {
  const { notes, stacks, frames } = profile;
  if (notes.text.length === 0) return [];
  const byFunction = new Map<number, number>();
  table.function.forEach((row, index) => byFunction.set(row, table.self[index]!));
  const byPlace = new Map<string, number>();
  for (let stack = 0; stack < stacks.frame.length; stack++) {
    const weight = byStack[stack]!;
    const frame = stacks.frame.data[stack]!;
    if (weight <= 0 || frame < 0) continue;
    const key = `${frames.function.data[frame]} ${frames.line.data[frame]}`;
    byPlace.set(key, (byPlace.get(key) ?? 0) + weight);
  }
  const result: Note[] = [];
  for (let row = 0; row < notes.text.length; row++) {
    const name = notes.function.data[row]!;
    const line = notes.line.data[row]!;
    const text = profile.string(notes.text.data[row]!);
    if (text === null) continue;
    const weight = name < 0 ? 0 : line > 0 ? byPlace.get(`${name} ${line}`) ?? 0 : byFunction.get(name) ?? 0;
    result.push({ function: name, line, text, weight });
  }
  // A note on a line without samples of its own still belongs to a hot function.
  const rank = (note: Note) => note.weight + (byFunction.get(note.function) ?? 0) * 1e-3;
  return result.sort((a, b) => rank(b) - rank(a)).slice(0, 200);
}
