// The data code: reading, filters, trees, tables. Each test is a small profile and what it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { NO_FILTER, StackFacts, weigh, type Filter, type Measure } from "../src/data/filter";
import { countedDetail, countedTable, functionDetail, functionTable } from "../src/data/functions";
import { Join, differenceTable, differenceTree } from "../src/data/difference";
import { PairMap } from "../src/data/column";
import { allocationTable, waitTable } from "../src/data/places";
import { NO_STACK, Profile, ProfileError } from "../src/data/profile";
import { Reader, base64Stream, readStream } from "../src/data/reader";
import { summary } from "../src/data/summary";
import { Sorted, activity, lanePictures, processorUse, timeOrdered } from "../src/data/timeline";
import { CallNodes, STARTED_BY, TAIL, inverted, topDown, type Layout } from "../src/data/tree";
import { parseFragment, formatFragment, START } from "../src/state";
import { percent, signedPercent, size, time, visible, clock } from "../src/ui/format";

const HEADER = {
  profile: 1, program: "p.scm", arguments: [], canny: "1", pid: 1, started: 0, interval: 10, allocation_interval: null, modes: ["cpu"],
};

/**
 * main (program) calls work (program) and read (library); work calls cons (machine). Stack 4 is a task
 * that work started. Samples: main 10, work 20 + 30, cons 40, the task's work 50, and 5 without a stack.
 */
const LINES: unknown[] = [
  HEADER,
  { strings: ["main", "work", "read", "cons", "a.scm", "b.sld", "route", "/x", "/y", "lock", "socket", "the lock"] },
  { functions: { name: [0, 1, 2, 3], file: [4, 4, 5, null], line: [1, 10, 3, 0], group: [0, 0, 1, 2] } },
  { frames: { function: [0, 1, 3, 2, 1], line: [2, 11, 0, 4, 12], column: [1, 1, 1, 1, 1], tier: [1, 1, 3, 0, 0], tail: [0, 1, 0, 0, 0] } },
  { stacks: { parent: [null, 0, 1, 0, 1], frame: [0, 1, 2, 3, 4], kind: [0, 0, 0, 0, 1] } },
  { threads: { id: [100, 101], name: [0, 1] } },
  { tasks: { number: [0, 1], name: [null, 1], starter: [null, 0], started: [0, 5] } },
  { labels: [[], [[6, 7]], [[6, 8]]] },
  { samples: { at: [10, 20, 30], thread: [0, 0, 1], task: [0, 0, 0], label: [0, 1, 1], stack: [0, 1, 2], weight: [10, 20, 40] } },
  { samples: { at: [40, 100, -30], thread: [1, 1, 0], task: [1, 0, 0], label: [2, 0, 0], stack: [4, 1, null], weight: [50, 30, 5] } },
];

function profileOf(lines: unknown[]): Profile {
  const profile = new Profile();
  for (const line of lines) profile.append(line);
  return profile;
}

function weights(profile: Profile, filter: Partial<Filter> = {}, measure: Measure = "cpu") {
  return weigh(profile, new StackFacts(profile), { ...NO_FILTER, ...filter }, measure);
}

function boxesOf(profile: Profile, layout: Layout): string[] {
  const result: string[] = [];
  for (let depth = 0; depth + 1 < layout.rows.length; depth++) {
    for (let box = layout.rows[depth]!; box < layout.rows[depth + 1]!; box++) {
      result.push(`${"  ".repeat(depth)}${profile.functionName(layout.function[box]!)} ${layout.start[box]} ${layout.total[box]} ${layout.self[box]}`);
    }
  }
  return result;
}

async function read(bytes: Uint8Array, pieces = 1): Promise<Reader> {
  const reader = new Reader();
  const step = Math.ceil(bytes.length / pieces) || 1;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += step) controller.enqueue(bytes.slice(at, at + step));
      controller.close();
    },
  });
  await readStream(reader, stream, () => {});
  reader.finish();
  return reader;
}

const text = (lines: unknown[]) => lines.map((line) => JSON.stringify(line)).join("\n");
const utf8 = (value: string) => new TextEncoder().encode(value);

test("times of samples are differences that go on over lines and may be negative", () => {
  const profile = profileOf(LINES);
  assert.deepEqual([...profile.samples.at.view()], [10, 30, 60, 100, 200, 170]);
  assert.equal(profile.latest, 200);
});

test("a profile is read whole, in pieces, and compressed", async () => {
  const lines = text([...LINES, { end: 300 }]);
  for (const bytes of [utf8(lines), utf8(`${lines}\n`), new Uint8Array(gzipSync(lines))]) {
    for (const pieces of [1, 7, 50]) {
      const reader = await read(bytes, pieces);
      assert.equal(reader.profile.samples.at.length, 6);
      assert.equal(reader.incomplete, null);
      assert.equal(reader.profile.duration, 300);
      assert.equal(reader.profile.faults, 0);
    }
  }
});

test("a character that is cut between two pieces stays whole", async () => {
  const reader = await read(utf8(text([HEADER, { strings: ["λ→😀"] }, { end: 1 }])), 40);
  assert.equal(reader.profile.strings[0], "λ→😀");
});

test("base64 with and without line ends gives the same bytes", async () => {
  const bytes = gzipSync(text([...LINES, { end: 300 }]));
  const encoded = bytes.toString("base64");
  for (const form of [encoded, `\n${encoded.replace(/(.{61})/g, "$1\n")}\n`]) {
    const reader = new Reader();
    await readStream(reader, base64Stream(form), () => {});
    reader.finish();
    assert.equal(reader.profile.samples.at.length, 6);
  }
  await assert.rejects(readStream(new Reader(), base64Stream("#!*?"), () => {}), ProfileError);
});

test("a cut last line, a missing end and cut compression are noted, and the rest is kept", async () => {
  const lines = text(LINES);
  const cut = await read(utf8(lines.slice(0, -20)));
  assert.match(cut.incomplete!, /last line is cut/);
  assert.equal(cut.profile.samples.at.length, 3);
  assert.match((await read(utf8(lines))).incomplete!, /end is missing/);
  const numbers = Array.from({ length: 20000 }, (_, index) => (index * 7919) % 10007);
  const long = gzipSync(text([...LINES, { strings: numbers.map(String) }, { strings: numbers.map((n) => String(n * n)) }, { end: 1 }]));
  const damaged = await read(new Uint8Array(long.subarray(0, long.length - 200)));
  assert.match(damaged.incomplete!, /compressed data are cut/);
});

test("a line that is not JSON in the middle is a fault, not the end", async () => {
  const lines = [...LINES.map((line) => JSON.stringify(line)), "{broken", JSON.stringify({ end: 300 })].join("\n");
  const reader = await read(utf8(lines));
  assert.equal(reader.profile.faults, 1);
  assert.match(reader.profile.faultTexts[0]!, /line 11 is not JSON/);
  assert.equal(reader.incomplete, null);
});

test("what is no profile is refused in words", async () => {
  for (const [content, message] of [
    ["", /empty/], ["\n\n", /empty/], ["hello", /not a profile/], ["[1]", /not an object/], ['{"a":1}', /no member “profile”/],
    ['{"profile":2}', /version 2/], ['{"profile":1,"prog', /cut within its first line/],
  ] as [string, RegExp][]) {
    await assert.rejects(read(utf8(content)), (error: Error) => error instanceof ProfileError && message.test(error.message), content);
  }
  await assert.rejects(read(new Uint8Array([0x1f, 0x8b, 1, 2, 3, 4])), /damaged/);
});

test("references to rows that do not exist become none and are counted", () => {
  const profile = profileOf([
    HEADER, { strings: ["f"] },
    { functions: { name: [0, 9], file: [null, -1], line: [1, "x"], group: [0, 99] } },
    { frames: { function: [0, 7], line: [1, 1], column: [0, 0], tier: [9, 0], tail: [0, 0] } },
    { stacks: { parent: [0, null, 5], frame: [0, 1, 0.5], kind: [7, 0, 0] } },
    { samples: { at: [1], thread: [0], task: [3], label: [2], stack: [77], weight: [1] } },
    { samples: "no" }, { waits: { task: [1] } }, { unknown: { a: 1 } }, 17,
  ]);
  assert.ok(profile.faults >= 9, String(profile.faults));
  assert.equal(profile.functions.group.data[1], 12);
  assert.equal(profile.stacks.parent.data[0], -1);
  const { byStack } = weights(profile);
  assert.equal(byStack[byStack.length - 1], 1);
  functionTable(profile, byStack, "follow");
  topDown(profile, new CallNodes(profile, "follow"), byStack);
  inverted(profile, byStack, "cut");
});

test("weights by filter", () => {
  const profile = profileOf(LINES);
  const total = (filter: Partial<Filter>) => weights(profile, filter).total;
  assert.equal(total({}), 155);
  assert.equal(total({ task: 1 }), 50);
  assert.equal(total({ thread: 0 }), 35);
  assert.equal(total({ label: "route=/x" }), 60);
  assert.equal(total({ from: 30, to: 100 }), 110);
  assert.equal(total({ groups: 1 << 2 }), 40);
  assert.equal(total({ groups: (1 << 2) | (1 << 0) }), 150);
  assert.equal(total({ only: "WORK" }), 140);
  assert.equal(total({ only: "/^co/" }), 40);
  assert.equal(total({ only: "/(/" }), 0);
  assert.equal(total({ task: 0, label: "route=/y" }), 0);
});

test("the tree from the top, with started tasks below their starter", () => {
  const profile = profileOf(LINES);
  const layout = topDown(profile, new CallNodes(profile, "follow"), weights(profile).byStack);
  assert.deepEqual(boxesOf(profile, layout), [
    "main 0 150 10", "(no stack) 150 5 5",
    "  work 0 140 50",
    "    work 0 50 50", "    cons 50 40 40",
  ]);
  assert.equal(layout.sum, 155);
  assert.equal(layout.flags[3]! & STARTED_BY, STARTED_BY);
  assert.equal(layout.flags[2]! & TAIL, TAIL);
  assert.deepEqual([...layout.tiers.subarray(15, 20)], [255, 0, 0, 0, 0]);
});

test("the tree from the top, with started tasks on their own", () => {
  const profile = profileOf(LINES);
  const layout = topDown(profile, new CallNodes(profile, "cut"), weights(profile).byStack);
  assert.deepEqual(boxesOf(profile, layout), [
    "main 0 100 10", "work 100 50 50", "(no stack) 150 5 5",
    "  work 0 90 50",
    "    cons 0 40 40",
  ]);
  assert.deepEqual([...layout.tiers.subarray(0, 5)], [0, 255, 0, 0, 0]);
});

test("the inverted tree", () => {
  const profile = profileOf(LINES);
  const layout = inverted(profile, weights(profile).byStack, "cut");
  assert.deepEqual(boxesOf(profile, layout), [
    "work 0 100 50", "cons 100 40 0", "main 140 10 10", "(no stack) 150 5 5",
    "  main 0 50 50", "  work 100 40 0",
    "    main 100 40 40",
  ]);
});

test("a cut stack stands on a box that says so", () => {
  const profile = profileOf([...LINES,
    { stacks: { parent: [null], frame: [1], kind: [2] } },
    { samples: { at: [1], thread: [0], task: [0], label: [0], stack: [5], weight: [7] } }]);
  const { byStack } = weights(profile, { from: 201 });
  assert.deepEqual(boxesOf(profile, topDown(profile, new CallNodes(profile, "follow"), byStack)),
    ["(older frames were cut) 0 0 0"].filter(() => false));
  const all = weights(profile);
  const names = boxesOf(profile, topDown(profile, new CallNodes(profile, "follow"), all.byStack));
  assert.ok(names.includes("(older frames were cut) 150 7 0"), names.join("\n"));
  assert.ok(boxesOf(profile, inverted(profile, all.byStack, "follow")).some((name) => name.includes("cut")));
});

test("the table of functions counts a recursion once", () => {
  const profile = profileOf(LINES);
  const table = functionTable(profile, weights(profile).byStack, "follow");
  const row = (name: number) => [...table.function].indexOf(name);
  assert.deepEqual([...table.function].map((name) => profile.functionName(name)), ["main", "work", "cons", "(no stack)"]);
  assert.equal(table.total[row(1)], 140);
  assert.equal(table.self[row(1)], 100);
  assert.equal(table.total[row(NO_STACK)], 5);
  assert.deepEqual([...table.tiers.subarray(5, 10)], [50, 50, 0, 0, 0]);
  assert.equal(functionTable(profile, weights(profile).byStack, "cut").total[row(0)], 100);
});

test("callers, callees and lines of a function", () => {
  const profile = profileOf(LINES);
  const detail = functionDetail(profile, weights(profile).byStack, "cut", 1);
  assert.equal(detail.total, 140);
  assert.equal(detail.self, 100);
  assert.deepEqual(detail.callers, [{ function: 0, weight: 90, calls: 0 }, { function: -1, weight: 50, calls: 0 }]);
  assert.deepEqual(detail.callees, [{ function: 3, weight: 40, calls: 0 }]);
  assert.deepEqual(detail.lines, [{ line: 11, self: 50, total: 90, tier: 1 }, { line: 12, self: 50, total: 50, tier: 0 }]);
});

test("exact counts", () => {
  const profile = profileOf([...LINES.slice(0, 3), { counts: {
    caller: [null, 0, 1], callee: [0, 1, 1], calls: [1, 10, 90], inclusive: [100, 80, 70], exclusive: [20, 30, 50],
    interpreted: [1, 0, 90], compiled: [0, 10, 0], inlined: [0, 0, 0],
  } }]);
  const table = countedTable(profile);
  assert.deepEqual([[...table.self], [...table.total], [...table.calls!]], [[20, 80], [100, 80], [1, 100]]);
  assert.deepEqual([...table.tiers.subarray(5, 10)], [50, 30, 0, 0, 0]);
  const detail = countedDetail(profile, 1);
  assert.deepEqual(detail.callers.map((edge) => [edge.function, edge.calls]), [[0, 10], [1, 90]]);
});

const WAITS = { waits: {
  task: [0, 1, 1], label: [0, 1, 1], stack: [2, 2, 4], from: [0, 100, 300], ready: [50, 180, 400], resumed: [60, 200, 400],
  kind: [9, 9, 10], on: [11, 11, null], holder: [1, null, null], holder_stack: [4, null, null],
} };

test("waits by place, cut to the time range", () => {
  const profile = profileOf([...LINES, WAITS]);
  const facts = new StackFacts(profile);
  const all = waitTable(profile, facts, NO_FILTER);
  assert.equal(all.total, 260);
  assert.equal(all.runnable, 30);
  assert.deepEqual(all.rows.map((row) => [row.kind, row.function, row.line, row.on, row.count, row.total, row.longest, row.runnable]), [
    [0, 1, 11, "the lock", 2, 160, 100, 30], [4, 1, 12, null, 1, 100, 100, 0],
  ]);
  assert.deepEqual(all.rows.map((row) => row.tasks), [2, 1]);
  assert.deepEqual(all.rows[0]!.holders, [{ tasks: new Set([1]), function: 1, line: 12, count: 1, total: 60 }]);
  assert.deepEqual(all.rows[1]!.holders, []);
  const part = waitTable(profile, facts, { ...NO_FILTER, from: 150, to: 350 });
  assert.equal(part.total, 100);
  assert.equal(weights(profile, { task: 1 }, "wait").total, 200);
});

test("a wait stands for as many as its weight", () => {
  const weighted = { waits: { ...WAITS.waits, weight: [10, 1, 3] } };
  const profile = profileOf([...LINES, weighted]);
  const all = waitTable(profile, new StackFacts(profile), NO_FILTER);
  assert.deepEqual([all.total, all.count, all.noted, all.runnable], [1000, 14, 3, 120]);
  assert.deepEqual(all.rows.map((row) => [row.count, row.total, row.longest]), [[11, 700, 100], [3, 300, 100]]);
  assert.equal(all.rows[0]!.holders[0]!.total, 600);
  assert.equal(weights(profile, { task: 1 }, "wait").total, 400);
});

const ALLOCATIONS = [{ allocations: {
  at: [1, 2, 3], thread: [0, 0, 1], task: [0, 0, 1], label: [0, 0, 0], stack: [2, 1, 4], type: [3, 3, 0], size: [16, 16, 32],
  weight: [1600, 800, 3200], reason: [1, null, null], id: [10, 11, 12],
} }, { freed: [10, 99] }];

test("allocations by type and place, total and live", () => {
  const profile = profileOf([...LINES, ...ALLOCATIONS]);
  const table = allocationTable(profile, new StackFacts(profile), NO_FILTER);
  assert.equal(table.total, 5600);
  assert.equal(table.live, 4000);
  assert.deepEqual(table.rows.map((row) => [table.names[row.type], row.function, row.line, row.total, row.live, row.objects]), [
    ["main", 1, 12, 3200, 3200, 100], ["cons", 1, 11, 1600, 0, 100], ["cons", 1, 11, 800, 800, 50],
  ]);
  assert.equal(weights(profile, {}, "live").total, 4000);
  assert.equal(weights(profile, {}, "allocated").total, 5600);
});

test("processor use, lanes and the time-ordered graph", () => {
  const profile = profileOf([...LINES, WAITS, { events: { at: [20, 50], duration: [5, 0], thread: [null, 1], kind: [9, 9], text: [0, 0], stack: [null, null] } }]);
  const facts = new StackFacts(profile);
  const use = processorUse(profile, facts, NO_FILTER, 0, 200, 4);
  const sum = use.use.reduce((total, value) => total + value, 0) * 50;
  assert.ok(Math.abs(sum - 155) < 0.01, String(sum));
  const lanes = activity(profile, facts, NO_FILTER);
  assert.deepEqual(lanes.lanes.map((lane) => `${lane.kind} ${lane.row}`), ["thread 1", "thread 0", "task 0", "task 1"]);
  assert.deepEqual(lanes.cpu, [120, 35, 105, 50]);
  assert.deepEqual(lanes.waiting, [0, 0, 60, 200]);
  const sorted = (key: "task" | "thread") => new Sorted(profile.samples[key].data, profile.samples.at.data, 6, 2);
  assert.deepEqual([...sorted("task").of(0)], [0, 1, 2, 5, 4]);
  const waits = new Sorted(profile.waits.task.data, profile.waits.from.data, 3, 2);
  const pictures = lanePictures(profile, facts, NO_FILTER, sorted("task"), sorted("thread"), waits, lanes.lanes, 0, 400, 40);
  assert.deepEqual([...pictures.waitLane], [2, 3, 3]);
  assert.deepEqual([...pictures.eventLane], [-1, -1, 0]);
  const nodes = new CallNodes(profile, "follow");
  const ordered = timeOrdered(profile, facts, NO_FILTER, nodes, sorted("task"), { kind: "task", row: 0 }, 0, 200, 200);
  const names = boxesOf(profile, ordered);
  assert.ok(names[0]!.startsWith("main"), names.join("\n"));
  assert.ok(names.some((name) => name.startsWith("    cons")));
  for (let box = 0; box < ordered.count; box++) {
    const parent = ordered.parent[box]!;
    if (parent < 0) continue;
    assert.ok(ordered.start[parent]! <= ordered.start[box]! && ordered.total[parent]! >= ordered.total[box]!);
  }
});

test("a difference joins functions by name and compares shares", () => {
  const before = profileOf(LINES);
  // The same functions in another order; cons is gone and the rest takes its share.
  const after = profileOf([
    HEADER, { strings: ["work", "main", "a.scm", "fresh"] },
    { functions: { name: [0, 1, 3], file: [2, 2, 2], line: [10, 1, 5], group: [0, 0, 0] } },
    { frames: { function: [1, 0, 2], line: [2, 11, 6], column: [0, 0, 0], tier: [1, 1, 1], tail: [0, 0, 0] } },
    { stacks: { parent: [null, 0, 0], frame: [0, 1, 2], kind: [0, 0, 0] } },
    { tasks: { number: [0], name: [null], starter: [null], started: [0] } }, { labels: [[]] },
    { samples: { at: [1, 1], thread: [0, 0], task: [0, 0], label: [0, 0], stack: [1, 2], weight: [30, 10] } },
  ]);
  const join = new Join(before, after);
  const side = (profile: Profile, joined: Int32Array) => {
    const { byStack, total } = weights(profile);
    return { nodes: new CallNodes(profile, "follow"), byStack, sum: total, joined };
  };
  const layout = differenceTree(side(before, join.ofBase), side(after, join.ofNew), "mean");
  const name = (box: number) => (layout.function[box]! < 0 ? "-" : join.functions[layout.function[box]!]!.name);
  const main = [...layout.function.keys()].find((box) => name(box) === "main")!;
  assert.equal(layout.after![main], 1);
  assert.ok(Math.abs(layout.before![main]! - 150 / 155) < 1e-9);
  assert.ok(Math.abs(layout.sum - 1) < 1e-9);
  const shares = (profile: Profile) => {
    const table = functionTable(profile, weights(profile).byStack, "follow");
    return { ...table };
  };
  const rows = differenceTable(join, shares(before), shares(after));
  const row = (wanted: string) => rows.find((each) => each.function >= 0 && join.functions[each.function]!.name === wanted)!;
  assert.equal(row("cons").selfAfter, 0);
  assert.equal(row("fresh").selfBefore, 0);
  assert.equal(row("fresh").selfAfter, 0.25);
});

test("the summary and its notes, the hottest place first", () => {
  const profile = profileOf([...LINES, WAITS, { strings: ["slow since", "cold", "everywhere"] },
    { notes: { function: [2, 1, null], line: [0, 11, 0], text: [13, 12, 14] } },
    { events: { at: [20, 50], duration: [5, 9], thread: [null, 1], kind: ["collection", "collection"], text: [0, 0], stack: [null, null] } }]);
  const facts = new StackFacts(profile);
  const cpu = weights(profile);
  const result = summary(profile, facts, NO_FILTER, cpu, functionTable(profile, cpu.byStack, "follow"));
  assert.deepEqual(result.notes.map((note) => [note.text, note.weight]), [["slow since", 50], ["cold", 0], ["everywhere", 0]]);
  assert.deepEqual(result.events, [{ kind: "collection", count: 2, total: 14, longest: 9 }]);
  assert.equal(result.groups[2], 40);
  assert.equal(result.tiers[0], 50);
});

test("the text of sources is kept by file", () => {
  const profile = profileOf([...LINES, { strings: ["(define x 1)\n"] }, { sources: { file: [4], text: [12] } }]);
  assert.equal(profile.sources.get(4), "(define x 1)\n");
});

test("lanes are in the order of time, however the rows come", () => {
  const count = 3000;
  for (const time of [(row: number) => row, (row: number) => -row, (row: number) => (row * 7919) % 3001, (row: number) => row ^ 3]) {
    const at = Float64Array.from({ length: count }, (_, row) => time(row));
    const sorted = new Sorted(Int32Array.from(at, (_, row) => row % 3), at, count, 3);
    for (let lane = 0; lane < 3; lane++) {
      const rows = sorted.of(lane);
      assert.equal(rows.length, count / 3);
      for (let index = 1; index < rows.length; index++) assert.ok(at[rows[index - 1]!]! <= at[rows[index]!]!);
    }
  }
});

test("pairs keep their values when the map grows", () => {
  const map = new PairMap(2);
  for (let index = 0; index < 5000; index++) assert.equal(map.intern(index % 70, -3 + index, index), index);
  for (let index = 0; index < 5000; index++) assert.equal(map.intern(index % 70, -3 + index, 9e6), index);
});

test("the fragment of the address holds the state and ignores nonsense", () => {
  const state = { ...START, view: "flame" as const, task: 3, label: "a=b&c", from: 5, search: "<x>", only: true };
  assert.deepEqual(parseFragment(`#${formatFragment(state)}`), state);
  assert.equal(formatFragment(START), "");
  assert.deepEqual(parseFragment("#view=nothing&task=x&constructor=1&task=-1&from="), START);
});

test("figures and names", () => {
  assert.deepEqual([0, 999, 1500, 12345678, 1e9, 119.5e9, 3723e9].map(time),
    ["0 ns", "999 ns", "1.50 µs", "12.3 ms", "1.00 s", "120 s", "1 h 2 min 3 s"]);
  assert.deepEqual([0, 1023, 1536, 5 * 2 ** 30].map(size), ["0 B", "1,023 B", "1.50 KiB", "5.00 GiB"]);
  assert.deepEqual([0, 0.0001, 0.5, NaN].map(percent), ["0.0 %", "< 0.1 %", "50.0 %", "–"]);
  assert.deepEqual([0, 0.1, -0.1].map(signedPercent), ["± 0.0 %", "+10.0 %", "−10.0 %"]);
  assert.equal(visible("a\nb\tc\u202ed\u0007"), "a⏎b⇥c�d␇");
  assert.equal(clock(1.5e9, 1e9), "1.50 s");
});
