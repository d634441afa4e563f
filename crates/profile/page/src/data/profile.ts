// The tables of a profile as columns, filled line by line; docs/profile-format.md is the contract.
//
// Invariant: every reference in a table is -1 (none) or a row that exists, whatever the file says.
// References to rows that do not exist are counted in `faults`, so that the page can say so.
// This module knows nothing of files, compression, filters or pictures.

import { bytes, doubles, ints, shorts, type Column } from "./column";

export const GROUP_COUNT = 13;
export const TIER_COUNT = 5;
export const WAIT_KINDS = [
  "lock", "condition", "barrier", "channel", "socket", "dns", "database", "timer", "process", "future", "pool", "other",
];
export const EVENT_KINDS = ["collection", "compilation", "deoptimization", "osr", "other"];

/** Functions that are not in the table: what is shown where a stack is missing or was cut. */
export const NO_STACK = -2;
export const CUT = -3;

export interface Header {
  program: string;
  arguments: string[];
  canny: string;
  pid: number;
  started: number;
  interval: number;
  allocation_interval: number | null;
  modes: string[];
}

export class ProfileError extends Error {}

type Row = Record<string, unknown>;
type Values = readonly unknown[];

const none: Values = [];

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export class Profile {
  header: Header | null = null;
  /** The time of the line `end`, or null. */
  end: number | null = null;
  lost = 0;
  strings: string[] = [];
  functions = { name: ints(), file: ints(), line: ints(), group: bytes() };
  frames = { function: ints(), line: ints(), column: ints(), tier: bytes(), tail: bytes() };
  stacks = { parent: ints(), frame: ints(), kind: bytes() };
  threads = { id: doubles(), name: ints() };
  tasks = { number: doubles(), name: ints(), starter: ints(), started: doubles() };
  labels: [number, number][][] = [];
  samples = { at: doubles(), thread: shorts(), task: ints(), label: ints(), stack: ints(), weight: doubles() };
  waits = {
    task: ints(), label: ints(), stack: ints(),
    from: doubles(), ready: doubles(), resumed: doubles(), kind: bytes(), on: ints(),
    holder: ints(), holderStack: ints(), weight: doubles(),
  };
  allocations = {
    at: doubles(), thread: shorts(), task: ints(), label: ints(), stack: ints(),
    type: ints(), size: doubles(), weight: doubles(), reason: ints(), freed: bytes(),
  };
  events = { at: doubles(), duration: doubles(), thread: ints(), kind: bytes(), text: ints(), stack: ints() };
  counts = {
    caller: ints(), callee: ints(), calls: doubles(), inclusive: doubles(), exclusive: doubles(),
    interpreted: doubles(), compiled: doubles(), inlined: doubles(),
  };
  notes = { function: ints(), line: ints(), text: ints() };
  /** The text of sources by the row of the file's name. */
  sources = new Map<number, string>();
  /** The latest time that anything happened. */
  latest = 0;
  /** How many values were wrong, and what was wrong with the first ones. */
  faults = 0;
  faultTexts: string[] = [];
  /** Grows with every line, so that a reader of the tables knows that its results are old. */
  version = 0;
  private allocationRow = new Map<number, number>();
  private lineCount = 0;

  fault(message: string): void {
    this.faults += 1;
    if (this.faultTexts.length < 5) this.faultTexts.push(message);
  }

  /** Takes one line, parsed. The first one has to be the header. */
  append(line: unknown): void {
    this.lineCount += 1;
    if (typeof line !== "object" || line === null || Array.isArray(line)) {
      if (this.header === null) throw new ProfileError("The first line is not an object of JSON.");
      this.fault(`line ${this.lineCount} is not an object`);
      return;
    }
    const row = line as Row;
    if (this.header === null) {
      this.setHeader(row);
      return;
    }
    this.version += 1;
    for (const kind in row) this.appendTable(kind, row[kind]);
  }

  private setHeader(row: Row): void {
    if (!("profile" in row)) {
      throw new ProfileError("This is not a profile of Canny: the first line has no member “profile”.");
    }
    if (row.profile !== 1) {
      throw new ProfileError(
        `This profile has version ${JSON.stringify(row.profile)}; this page knows version 1. ` +
          "Write the page with the canny that wrote the profile.",
      );
    }
    const strings = (value: unknown) => (Array.isArray(value) ? value.map(text) : []);
    this.header = {
      program: text(row.program),
      arguments: strings(row.arguments),
      canny: text(row.canny),
      pid: number(row.pid),
      started: number(row.started),
      interval: number(row.interval),
      allocation_interval: row.allocation_interval == null ? null : number(row.allocation_interval),
      modes: strings(row.modes),
    };
  }

  private appendTable(kind: string, value: unknown): void {
    switch (kind) {
      case "strings":
        if (Array.isArray(value)) for (const item of value) this.strings.push(text(item));
        return;
      case "labels":
        if (Array.isArray(value)) for (const set of value) this.labels.push(this.labelSet(set));
        return;
      case "freed":
        if (Array.isArray(value)) for (const id of value) this.free(id);
        return;
      case "lost":
        this.lost += number(value);
        return;
      case "end":
        this.end = number(value);
        this.reach(this.end);
        return;
    }
    const table = this.tables[kind];
    if (table === undefined) return;
    if (typeof value !== "object" || value === null) {
      this.fault(`line ${this.lineCount}: ${kind} is not an object of columns`);
      return;
    }
    const columns = value as Row;
    const first = columns[table.first];
    if (!Array.isArray(first)) {
      this.fault(`line ${this.lineCount}: ${kind} has no column ${table.first}`);
      return;
    }
    const column = (name: string): Values => {
      const found = columns[name];
      return Array.isArray(found) ? found : none;
    };
    table.append(column, first.length);
  }

  private labelSet(set: unknown): [number, number][] {
    if (!Array.isArray(set)) return [];
    const valid = (row: unknown) => typeof row === "number" && row >= 0 && row < this.strings.length;
    return set.filter((pair) => Array.isArray(pair) && valid(pair[0]) && valid(pair[1])) as [number, number][];
  }

  private free(id: unknown): void {
    const row = this.allocationRow.get(id as number);
    if (row !== undefined) this.allocations.freed.data[row] = 1;
  }

  private reach(at: number): void {
    if (at > this.latest) this.latest = at;
  }

  // Each table has the column that decides how many rows a line has, and how it is appended.
  private readonly tables: Record<
    string,
    { first: string; append: (column: (name: string) => Values, count: number) => void }
  > = {
    functions: {
      first: "name",
      append: (column, count) => {
        const { functions: to, strings } = this;
        this.references(to.name, column("name"), count, strings.length, "string");
        this.references(to.file, column("file"), count, strings.length, "string", true);
        this.numbers(to.line, column("line"), count);
        this.small(to.group, column("group"), count, GROUP_COUNT, 12);
      },
    },
    frames: {
      first: "function",
      append: (column, count) => {
        const to = this.frames;
        this.references(to.function, column("function"), count, this.functions.name.length, "function");
        this.numbers(to.line, column("line"), count);
        this.numbers(to.column, column("column"), count);
        this.small(to.tier, column("tier"), count, TIER_COUNT, 4);
        this.small(to.tail, column("tail"), count, 2, 0);
      },
    },
    stacks: {
      first: "frame",
      append: (column, count) => {
        const to = this.stacks;
        const base = to.parent.length;
        const parent = column("parent");
        to.parent.reserve(count);
        for (let index = 0; index < count; index++) {
          to.parent.push(this.reference(parent[index], base + index, "stack", true));
        }
        this.references(to.frame, column("frame"), count, this.frames.line.length, "frame");
        this.small(to.kind, column("kind"), count, 3, 0);
      },
    },
    threads: {
      first: "id",
      append: (column, count) => {
        this.numbers(this.threads.id, column("id"), count);
        this.references(this.threads.name, column("name"), count, this.strings.length, "string", true);
      },
    },
    tasks: {
      first: "number",
      append: (column, count) => {
        const to = this.tasks;
        this.numbers(to.number, column("number"), count);
        this.references(to.name, column("name"), count, this.strings.length, "string", true);
        this.references(to.starter, column("starter"), count, to.number.length, "task", true);
        this.numbers(to.started, column("started"), count);
      },
    },
    samples: {
      first: "at",
      append: (column, count) => {
        const to = this.samples;
        const at = column("at");
        to.at.reserve(count);
        let now = to.at.length > 0 ? to.at.data[to.at.length - 1]! : 0;
        for (let index = 0; index < count; index++) {
          now += number(at[index]);
          to.at.data[to.at.length++] = now;
          this.reach(now);
        }
        this.who(to, column, count);
        this.numbers(to.weight, column("weight"), count);
      },
    },
    waits: {
      first: "from",
      append: (column, count) => {
        const to = this.waits;
        this.numbers(to.from, column("from"), count);
        this.numbers(to.ready, column("ready"), count);
        this.numbers(to.resumed, column("resumed"), count);
        // A wait that is not over yet has no end; it is taken to last until the last known time.
        for (let row = to.from.length - count; row < to.from.length; row++) {
          const from = to.from.data[row]!;
          if (to.ready.data[row]! < from) to.ready.data[row] = from;
          if (to.resumed.data[row]! < to.ready.data[row]!) to.resumed.data[row] = to.ready.data[row]!;
          this.reach(to.resumed.data[row]!);
        }
        this.references(to.task, column("task"), count, this.tasks.number.length, "task", true);
        this.references(to.label, column("label"), count, this.labels.length, "label", true);
        this.references(to.stack, column("stack"), count, this.stacks.frame.length, "stack", true);
        this.named(to.kind, column("kind"), count, WAIT_KINDS);
        this.references(to.on, column("on"), count, this.strings.length, "string", true);
        this.references(to.holder, column("holder"), count, this.tasks.number.length, "task", true);
        this.references(to.holderStack, column("holder_stack"), count, this.stacks.frame.length, "stack", true);
        this.numbers(to.weight, column("weight"), count);
        // A profile of before has no weights: each row is one wait.
        for (let row = to.from.length - count; row < to.from.length; row++) {
          to.weight.data[row] = Math.max(1, to.weight.data[row]!);
        }
      },
    },
    allocations: {
      first: "at",
      append: (column, count) => {
        const to = this.allocations;
        const base = to.at.length;
        this.numbers(to.at, column("at"), count);
        this.who(to, column, count);
        this.references(to.type, column("type"), count, this.strings.length, "string", true);
        this.numbers(to.size, column("size"), count);
        this.numbers(to.weight, column("weight"), count);
        this.references(to.reason, column("reason"), count, this.strings.length, "string", true);
        const id = column("id");
        for (let index = 0; index < count; index++) {
          to.freed.push(0);
          this.reach(to.at.data[base + index]!);
          if (typeof id[index] === "number") this.allocationRow.set(id[index] as number, base + index);
        }
      },
    },
    events: {
      first: "at",
      append: (column, count) => {
        const to = this.events;
        this.numbers(to.at, column("at"), count);
        this.numbers(to.duration, column("duration"), count);
        this.references(to.thread, column("thread"), count, this.threads.id.length, "thread", true);
        this.named(to.kind, column("kind"), count, EVENT_KINDS);
        this.references(to.text, column("text"), count, this.strings.length, "string", true);
        this.references(to.stack, column("stack"), count, this.stacks.frame.length, "stack", true);
        for (let row = to.at.length - count; row < to.at.length; row++) {
          this.reach(to.at.data[row]! + to.duration.data[row]!);
        }
      },
    },
    counts: {
      first: "callee",
      append: (column, count) => {
        const to = this.counts;
        const functions = this.functions.name.length;
        this.references(to.caller, column("caller"), count, functions, "function", true);
        this.references(to.callee, column("callee"), count, functions, "function");
        for (const name of ["calls", "inclusive", "exclusive", "interpreted", "compiled", "inlined"] as const) {
          this.numbers(to[name], column(name), count);
        }
      },
    },
    notes: {
      first: "text",
      append: (column, count) => {
        const to = this.notes;
        this.references(to.function, column("function"), count, this.functions.name.length, "function", true);
        this.numbers(to.line, column("line"), count);
        this.references(to.text, column("text"), count, this.strings.length, "string");
      },
    },
    sources: {
      first: "file",
      append: (column, count) => {
        const [file, source] = [column("file"), column("text")];
        for (let index = 0; index < count; index++) {
          const name = this.reference(file[index], this.strings.length, "string", false);
          const body = this.reference(source[index], this.strings.length, "string", false);
          if (name >= 0 && body >= 0) this.sources.set(name, this.strings[body]!);
        }
      },
    },
  };

  private who(
    to: { thread: Column<Uint16Array>; task: Column<Int32Array>; label: Column<Int32Array>; stack: Column<Int32Array> },
    column: (name: string) => Values,
    count: number,
  ): void {
    this.small(to.thread, column("thread"), count, 65536, 0);
    this.references(to.task, column("task"), count, this.tasks.number.length, "task", true);
    this.references(to.label, column("label"), count, this.labels.length, "label", true);
    this.references(to.stack, column("stack"), count, this.stacks.frame.length, "stack", true);
  }

  private reference(value: unknown, limit: number, what: string, optional: boolean): number {
    if (typeof value === "number" && value >= 0 && value < limit && Number.isInteger(value)) return value;
    if (value == null && optional) return -1;
    this.fault(`line ${this.lineCount} refers to ${what} ${JSON.stringify(value) ?? "(missing)"}, which is not defined`);
    return -1;
  }

  private references(
    to: Column<Int32Array>, values: Values, count: number, limit: number, what: string, optional = false,
  ): void {
    to.reserve(count);
    const data = to.data;
    let length = to.length;
    for (let index = 0; index < count; index++) {
      const value = values[index];
      data[length++] =
        typeof value === "number" && value >= 0 && value < limit && (value | 0) === value
          ? value
          : this.reference(value, limit, what, optional);
    }
    to.length = length;
  }

  private numbers(to: Column<Int32Array> | Column<Float64Array>, values: Values, count: number): void {
    to.reserve(count);
    const data = to.data;
    let length = to.length;
    for (let index = 0; index < count; index++) data[length++] = number(values[index]);
    to.length = length;
  }

  private small(
    to: Column<Uint8Array> | Column<Uint16Array>, values: Values, count: number, limit: number, other: number,
  ): void {
    to.reserve(count);
    const data = to.data;
    let length = to.length;
    for (let index = 0; index < count; index++) {
      const value = values[index];
      data[length++] = typeof value === "number" && value >= 0 && value < limit ? value : other;
    }
    to.length = length;
  }

  private named(to: Column<Uint8Array>, values: Values, count: number, names: string[]): void {
    to.reserve(count);
    for (let index = 0; index < count; index++) {
      // The kind is a string of the table; a literal string is understood as well.
      const value = values[index];
      const name = typeof value === "number" ? this.strings[value] : value;
      const found = names.indexOf(name as string);
      to.push(found < 0 ? names.length - 1 : found);
    }
  }

  string(row: number): string | null {
    return row < 0 ? null : (this.strings[row] ?? null);
  }

  functionName(row: number): string {
    if (row === NO_STACK) return "(no stack)";
    if (row === CUT) return "(older frames were cut)";
    return this.string(this.functions.name.data[row] ?? -1) ?? "(anonymous)";
  }

  functionOfStack(stack: number): number {
    if (stack < 0) return NO_STACK;
    const frame = this.stacks.frame.data[stack]!;
    return frame < 0 ? NO_STACK : this.frames.function.data[frame]!;
  }

  /** How long the profile lasted. */
  get duration(): number {
    return this.end === null ? this.latest : Math.max(this.end, this.latest);
  }

  trim(): void {
    for (const table of [this.samples, this.waits, this.allocations, this.stacks, this.frames]) {
      for (const column of Object.values(table)) column.trim();
    }
  }
}
