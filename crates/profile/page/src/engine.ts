// Answers the questions of the views. It owns the profiles and runs in the worker; the page has only
// what is needed to show names. Results are plain objects and typed arrays, which are handed over
// without a copy.

import { NO_FILTER, StackFacts, weigh, type Filter, type Measure, type Weights } from "./data/filter";
import {
  countedDetail, countedTable, functionDetail, functionTable, type FunctionDetail, type FunctionTable,
} from "./data/functions";
import { Join, differenceTable, differenceTree, type DifferenceRow, type JoinedFunction, type Width } from "./data/difference";
import { allocationTable, waitTable, type AllocationTable, type WaitTable } from "./data/places";
import { Profile, type Header } from "./data/profile";
import { Reader, base64Stream, readStream } from "./data/reader";
import { summary, type Summary } from "./data/summary";
import {
  Sorted, activity, lanePictures, processorUse, timeOrdered,
  type Activity, type Lane, type LanePictures, type Use,
} from "./data/timeline";
import { CallNodes, inverted, topDown, type Async, type Layout } from "./data/tree";

/** What the page knows of a profile. */
export interface Meta {
  header: Header;
  duration: number;
  version: number;
  ended: boolean;
  incomplete: string | null;
  faults: number;
  faultTexts: string[];
  lost: number;
  functions: { name: string[]; file: (string | null)[]; line: Int32Array; group: Uint8Array };
  /** Function and line of each frame, for places. */
  frameLine: Int32Array;
  frameFunction: Int32Array;
  threads: { id: number[]; name: string[] };
  tasks: { number: number[]; name: (string | null)[]; starter: Int32Array; started: Float64Array };
  /** All `key=value`, sorted. */
  labels: string[];
  counts: { samples: number; waits: number; allocations: number; events: number; counted: number; stacks: number };
  /** Bytes of the profile, uncompressed. */
  byteCount: number;
}

export interface Source {
  base64?: string;
  file?: Blob;
  /** The address of a profile that may still grow. */
  address?: string;
}

export interface FlameQuery {
  measure: Measure;
  async: Async;
  shape: "left-heavy" | "inverted";
}

export interface DetailResult extends FunctionDetail {
  notes: { line: number; text: string }[];
  /** The lines of the source from `sourceFrom` on, if the profile has its text. */
  source: string[] | null;
  sourceFrom: number;
}

export interface DifferenceResult {
  layout: Layout;
  rows: DifferenceRow[];
  functions: JoinedFunction[];
  base: { program: string; started: number; sum: number; canny: string };
  sum: number;
}

export interface Queries {
  summary: { arguments: {}; result: Summary & { table: FunctionTable; counted: boolean } };
  flame: { arguments: FlameQuery; result: Layout };
  ordered: { arguments: { async: Async; lane: Lane; from: number; to: number; columns: number }; result: Layout };
  table: { arguments: { measure: Measure | "counts"; async: Async }; result: FunctionTable };
  detail: { arguments: { measure: Measure | "counts"; async: Async; function: number }; result: DetailResult };
  use: { arguments: { from: number; to: number; columns: number }; result: Use };
  activity: { arguments: {}; result: Activity };
  lanes: { arguments: { lanes: Lane[]; from: number; to: number; columns: number }; result: LanePictures };
  waits: { arguments: {}; result: WaitTable };
  allocations: { arguments: {}; result: AllocationTable };
  difference: { arguments: { measure: Measure; async: Async; width: Width }; result: DifferenceResult };
}

export type QueryKind = keyof Queries;

/** One profile with everything that is derived from it, until a new line makes that old. */
class Loaded {
  facts!: StackFacts;
  private version = -1;
  private cache = new Map<string, unknown>();

  constructor(readonly reader: Reader) {}

  get profile(): Profile {
    return this.reader.profile;
  }

  refresh(): void {
    if (this.version === this.profile.version) return;
    this.version = this.profile.version;
    this.cache.clear();
    this.facts = new StackFacts(this.profile);
  }

  /** The few newest results of each kind are kept. */
  cached<T>(key: string, make: () => T): T {
    if (this.cache.has(key)) {
      const value = this.cache.get(key) as T;
      this.cache.delete(key);
      this.cache.set(key, value);
      return value;
    }
    const value = make();
    this.cache.set(key, value);
    if (this.cache.size > 10) this.cache.delete(this.cache.keys().next().value!);
    return value;
  }

  weights(filter: Filter, measure: Measure): Weights {
    return this.cached(`weights ${measure} ${JSON.stringify(filter)}`, () =>
      weigh(this.profile, this.facts, filter, measure));
  }

  nodes(async: Async): CallNodes {
    return this.cached(`nodes ${async}`, () => new CallNodes(this.profile, async));
  }

  sorted(what: "task" | "thread" | "wait"): Sorted {
    const { samples, waits, tasks, threads } = this.profile;
    return this.cached(`sorted ${what}`, () =>
      what === "wait"
        ? new Sorted(waits.task.data, waits.from.data, waits.from.length, tasks.number.length)
        : new Sorted(
          samples[what].data, samples.at.data, samples.at.length,
          what === "task" ? tasks.number.length : threads.id.length,
        ));
  }
}

export class Engine {
  private main: Loaded | null = null;
  private base: Loaded | null = null;
  private join: { key: string; join: Join } | null = null;

  async load(source: Source, which: "main" | "base", progress: (bytes: number) => void): Promise<Meta> {
    const reader = new Reader();
    if (source.base64 !== undefined) {
      const stream = base64Stream(source.base64);
      source.base64 = undefined;
      await readStream(reader, stream, progress);
    } else if (source.file !== undefined) {
      await readStream(reader, source.file.stream(), progress);
    } else {
      const response = await fetch(source.address!);
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      await readStream(reader, response.body, progress);
    }
    // A profile that is served may go on in the middle of a line.
    if (source.address === undefined || reader.profile.end !== null) reader.finish();
    const loaded = new Loaded(reader);
    loaded.refresh();
    this[which] = loaded;
    return this.meta(which);
  }

  /** New bytes of a growing profile; null if there are none. */
  async grow(address: string): Promise<Meta | null> {
    const { reader } = this.main!;
    const response = await fetch(`${address}?from=${reader.byteCount}`);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length === 0) return null;
    reader.push(bytes);
    this.main!.refresh();
    return this.meta("main");
  }

  meta(which: "main" | "base"): Meta {
    const { reader, profile } = this[which]!;
    const { functions, frames, tasks, threads } = profile;
    const list = (length: number, item: (row: number) => string | null) =>
      Array.from({ length }, (_, row) => item(row));
    const labels = new Set<string>();
    for (const set of profile.labels) {
      for (const [key, value] of set) labels.add(`${profile.string(key)}=${profile.string(value)}`);
    }
    const live = profile.end === null && profile.header === null;
    return {
      header: profile.header ?? {
        program: "", arguments: [], canny: "", pid: 0, started: 0, interval: 0, allocation_interval: null, modes: [],
      },
      duration: Math.max(1, profile.duration),
      version: profile.version,
      ended: profile.end !== null,
      incomplete: live ? null : reader.incomplete,
      faults: profile.faults,
      faultTexts: profile.faultTexts,
      lost: profile.lost,
      functions: {
        name: list(functions.name.length, (row) => profile.functionName(row)) as string[],
        file: list(functions.name.length, (row) => profile.string(functions.file.data[row]!)),
        line: functions.line.view().slice(),
        group: functions.group.view().slice(),
      },
      frameLine: frames.line.view().slice(),
      frameFunction: frames.function.view().slice(),
      threads: {
        id: Array.from(threads.id.view()),
        name: list(threads.id.length, (row) => profile.string(threads.name.data[row]!) ?? "") as string[],
      },
      tasks: {
        number: Array.from(tasks.number.view()),
        name: list(tasks.number.length, (row) => profile.string(tasks.name.data[row]!)),
        starter: tasks.starter.view().slice(),
        started: tasks.started.view().slice(),
      },
      labels: [...labels].sort(),
      counts: {
        samples: profile.samples.at.length,
        waits: profile.waits.from.length,
        allocations: profile.allocations.at.length,
        events: profile.events.at.length,
        counted: profile.counts.callee.length,
        stacks: profile.stacks.frame.length,
      },
      byteCount: reader.byteCount,
    };
  }

  ask<K extends QueryKind>(kind: K, filter: Filter, query: Queries[K]["arguments"]): Queries[K]["result"] {
    const answer = (this as unknown as Record<string, (filter: Filter, query: unknown) => unknown>)[kind]!;
    return answer.call(this, filter, query) as Queries[K]["result"];
  }

  protected summary(filter: Filter): Queries["summary"]["result"] {
    const { profile, facts } = this.main!;
    const cpu = this.main!.weights(filter, "cpu");
    const counted = profile.samples.at.length === 0 && profile.counts.callee.length > 0;
    const table = counted ? countedTable(profile) : functionTable(profile, cpu.byStack, "follow");
    const result = summary(profile, facts, filter, cpu, table);
    if (counted) result.cpu = table.sum;
    return { ...result, table, counted };
  }

  protected flame(filter: Filter, query: FlameQuery): Layout {
    const main = this.main!;
    const { byStack } = main.weights(filter, query.measure);
    return query.shape === "inverted"
      ? inverted(main.profile, byStack, query.async)
      : topDown(main.profile, main.nodes(query.async), byStack);
  }

  protected ordered(filter: Filter, query: Queries["ordered"]["arguments"]): Layout {
    const main = this.main!;
    return timeOrdered(
      main.profile, main.facts, filter, main.nodes(query.async), main.sorted(query.lane.kind),
      query.lane, query.from, query.to, query.columns,
    );
  }

  protected table(filter: Filter, query: Queries["table"]["arguments"]): FunctionTable {
    const { profile } = this.main!;
    if (query.measure === "counts") return countedTable(profile);
    return functionTable(profile, this.main!.weights(filter, query.measure).byStack, query.async);
  }

  protected detail(filter: Filter, query: Queries["detail"]["arguments"]): DetailResult {
    const { profile } = this.main!;
    const detail = query.measure === "counts"
      ? countedDetail(profile, query.function)
      : functionDetail(profile, this.main!.weights(filter, query.measure).byStack, query.async, query.function);
    const notes: DetailResult["notes"] = [];
    for (let row = 0; row < profile.notes.text.length; row++) {
      if (profile.notes.function.data[row] !== query.function) continue;
      notes.push({ line: profile.notes.line.data[row]!, text: profile.string(profile.notes.text.data[row]!) ?? "" });
    }
    const file = query.function < 0 ? -1 : profile.functions.file.data[query.function]!;
    const text = profile.sources.get(file);
    let source: string[] | null = null;
    let sourceFrom = 0;
    if (text !== undefined) {
      const lines = text.split(/\r?\n/);
      const known = [profile.functions.line.data[query.function]!, ...detail.lines.map((cost) => cost.line)]
        .filter((line) => line > 0 && line <= lines.length);
      if (known.length > 0) {
        sourceFrom = Math.max(1, Math.min(...known) - 2);
        source = lines.slice(sourceFrom - 1, Math.min(lines.length, Math.max(...known) + 3, sourceFrom + 1500));
      }
    }
    return { ...detail, notes, source, sourceFrom };
  }

  protected use(filter: Filter, query: Queries["use"]["arguments"]): Use {
    return processorUse(this.main!.profile, this.main!.facts, filter, query.from, query.to, query.columns);
  }

  protected activity(filter: Filter): Activity {
    return activity(this.main!.profile, this.main!.facts, filter);
  }

  protected lanes(filter: Filter, query: Queries["lanes"]["arguments"]): LanePictures {
    const main = this.main!;
    return lanePictures(
      main.profile, main.facts, filter, main.sorted("task"), main.sorted("thread"), main.sorted("wait"),
      query.lanes, query.from, query.to, query.columns,
    );
  }

  protected waits(filter: Filter): WaitTable {
    return waitTable(this.main!.profile, this.main!.facts, filter);
  }

  protected allocations(filter: Filter): AllocationTable {
    return allocationTable(this.main!.profile, this.main!.facts, filter);
  }

  protected difference(filter: Filter, query: Queries["difference"]["arguments"]): DifferenceResult {
    const main = this.main!;
    const base = this.base!;
    const key = `${main.profile.version} ${base.profile.version}`;
    if (this.join?.key !== key || this.base === null) this.join = { key, join: new Join(base.profile, main.profile) };
    const { join } = this.join!;
    // Rows of tasks and threads and times have no meaning in the other profile.
    const common: Filter = { ...NO_FILTER, label: filter.label, groups: filter.groups, only: filter.only };
    const before = base.weights(common, query.measure);
    const after = main.weights(filter, query.measure);
    const side = (loaded: Loaded, weights: Weights, joined: Int32Array) => ({
      nodes: loaded.nodes(query.async), byStack: weights.byStack, sum: weights.total || 1, joined,
    });
    const layout = differenceTree(side(base, before, join.ofBase), side(main, after, join.ofNew), query.width);
    const shares = (loaded: Loaded, weights: Weights) => {
      const table = functionTable(loaded.profile, weights.byStack, query.async);
      return { ...table, sum: table.sum || 1 };
    };
    return {
      layout,
      rows: differenceTable(join, shares(base, before), shares(main, after)),
      functions: join.functions,
      base: {
        program: base.profile.header!.program, started: base.profile.header!.started, sum: before.total,
        canny: base.profile.header!.canny,
      },
      sum: after.total,
    };
  }

  forgetJoin(): void {
    this.join = null;
  }
}

/** The buffers within a result, to be handed over instead of copied. */
export function buffersOf(value: unknown, found: Set<ArrayBuffer> = new Set()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (Array.isArray(value)) {
    if (typeof value[0] === "object") for (const item of value) buffersOf(item, found);
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) buffersOf(item, found);
  }
  return found;
}
