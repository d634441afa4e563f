// Makes profiles for tests and measurements: an imagined web server with a pool of tasks, locks,
// sockets, collections and a hot place that deserves a note. The same arguments give the same bytes.
//
//   node test/generate.mjs --seconds 600 --tasks 16 --stacks 5000 --interval-ms 8 out.profile.gz
//
// `--page FILE` also writes the page with the profile inside.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
export const PAGE = join(here, "../../src/page/page.html");
export const MARKER = "<!--CANNY-PROFILE-->";

export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const SOURCE = `(define-library (wiki render)
  (export render-page)
  (import (scheme base) (canny text))
  (begin

    (define (escape text)
      (let loop ((rest (string->list text)) (out '()))
        (cond
          ((null? rest) (list->string (reverse out)))
          ((char=? (car rest) #\\<) (loop (cdr rest) (append '(#\\; #\\t #\\l #\\&) out)))
          (else (loop (cdr rest) (cons (car rest) out))))))

    (define (render-node node)
      (cond
        ((string? node) (escape node))
        ((pair? node)
         (string-append "<" (symbol->string (car node)) ">"
           (apply string-append (map render-node (cdr node)))
           "</" (symbol->string (car node)) ">"))
        (else "")))

    (define (render-page page)
      (render-node (parse-markup (page-text page))))))
`;

/** Functions of the imagined program: name, file, line, group, tiers with weights, callees. */
const PROGRAM = {
  "main": ["server.scm", 12, 0, [[1, 1]], ["serve", "load-configuration"]],
  "load-configuration": ["server.scm", 40, 0, [[0, 1]], ["read", "string-split"]],
  "serve": ["server.scm", 61, 0, [[1, 1]], ["accept-loop"]],
  "accept-loop": ["server.scm", 70, 0, [[1, 1]], []],
  "handle-connection": ["server.scm", 88, 0, [[1, 3], [0, 1]], ["handle-request", "read-request", "write-response"]],
  "read-request": ["(canny http)", 210, 1, [[1, 1]], ["parse-headers", "read-bytes"]],
  "parse-headers": ["(canny http)", 255, 1, [[1, 4], [2, 2]], ["string-index", "string-downcase", "substring"]],
  "write-response": ["(canny http)", 400, 1, [[1, 1]], ["write-bytes", "number->string"]],
  "handle-request": ["server.scm", 120, 0, [[1, 2], [2, 1]], ["dispatch"]],
  "dispatch": ["routes.scm", 15, 0, [[1, 1]], ["show-page", "save-page", "search-pages", "with-lock"]],
  "with-lock": ["routes.scm", 55, 0, [[1, 1]], ["update-index"]],
  "update-index": ["index.scm", 30, 0, [[1, 2], [0, 2]], ["hash-table-update!", "tokenize", "hash-table-ref"]],
  "tokenize": ["index.scm", 74, 0, [[0, 3], [1, 1]], ["string-index", "substring", "string-downcase", "regexp-search"]],
  "show-page": ["routes.scm", 90, 0, [[1, 1]], ["render-page", "query"]],
  "save-page": ["routes.scm", 130, 0, [[1, 1]], ["execute", "update-index", "sha256"]],
  "search-pages": ["routes.scm", 160, 0, [[1, 1]], ["query", "rank", "tokenize"]],
  "rank": ["index.scm", 120, 0, [[1, 3], [2, 1]], ["list-sort", "exact->inexact", "log"]],
  "render-page": ["wiki/render.sld", 23, 0, [[1, 1]], ["render-node", "parse-markup"]],
  "render-node": ["wiki/render.sld", 14, 0, [[1, 4], [2, 2], [0, 1]], ["render-node", "escape", "map", "string-append"]],
  "escape": ["wiki/render.sld", 6, 0, [[1, 3], [2, 1], [0, 1]], ["string->list", "append", "reverse", "list->string"]],
  "parse-markup": ["wiki/markup.sld", 33, 0, [[1, 1]], ["parse-block", "read-line"]],
  "parse-block": ["wiki/markup.sld", 80, 0, [[1, 2], [0, 1]], ["parse-block", "parse-inline"]],
  "parse-inline": ["wiki/markup.sld", 142, 0, [[1, 2], [2, 1]], ["regexp-search", "substring", "string-index"]],
  "map": ["(scheme base)", 0, 1, [[1, 1], [2, 2]], ["render-node"]],
  "list-sort": ["(scheme list)", 310, 1, [[1, 1]], ["merge-lists"]],
  "merge-lists": ["(scheme list)", 340, 1, [[1, 1]], []],
  "query": ["(canny sqlite)", 88, 1, [[1, 1]], ["sqlite-step", "column-text"]],
  "execute": ["(canny sqlite)", 120, 1, [[1, 1]], ["sqlite-step"]],
};
const MACHINE = {
  "read": 6, "string-split": 2, "string-index": 6, "string-downcase": 6, "substring": 2, "regexp-search": 6,
  "hash-table-update!": 2, "hash-table-ref": 2, "exact->inexact": 7, "log": 7, "number->string": 7, "string->list": 2,
  "append": 2, "reverse": 2, "list->string": 2, "string-append": 2, "read-line": 5, "read-bytes": 8, "write-bytes": 8,
  "sqlite-step": 9, "column-text": 9, "sha256": 8, "evacuate": 3, "mark roots": 3, "specialize": 4, "emit machine code": 4,
  "park": 10, "steal": 10, "[kernel] epoll_wait": 11, "[kernel] write": 11, "[kernel] read": 11, "libc memcpy": 12,
};

export function generate(options = {}) {
  const { seconds = 20, tasks = 8, stacks: stackGoal = 600, interval = 5e6, seed = 7, depth: depthMax = 60,
    allocations = 4000, waits = 6000, slow = 1, live = false, rowsOfLine = 4000 } = options;
  const next = random(seed);
  const pick = (list) => list[Math.floor(next() * list.length)];
  const lines = [];
  const write = (value) => lines.push(JSON.stringify(value));
  const strings = [];
  const stringRow = new Map();
  let flushed = 0;
  const string = (text) => {
    if (!stringRow.has(text)) {
      stringRow.set(text, strings.length);
      strings.push(text);
    }
    return stringRow.get(text);
  };
  const flush = () => {
    if (flushed < strings.length) write({ strings: strings.slice(flushed) });
    flushed = strings.length;
  };
  write({
    profile: 1, program: "wiki/server.scm", arguments: ["--port", "8080", "--database", "pages.db"], canny: "0.9.0", pid: 4711,
    started: 1795800000e9, interval, allocation_interval: 524288, modes: ["cpu", "wait", "allocation"],
  });
  const functions = { name: [], file: [], line: [], group: [] };
  const functionRow = new Map();
  const addFunction = (name, file, line, group) => {
    functionRow.set(name, functions.name.length);
    functions.name.push(string(name));
    functions.file.push(file === null ? null : string(file));
    functions.line.push(line);
    functions.group.push(group);
  };
  for (const [name, [file, line, group]] of Object.entries(PROGRAM)) addFunction(name, file, line, group);
  for (const [name, group] of Object.entries(MACHINE)) addFunction(name, null, 0, group);
  // A large program has many small functions; they make the stacks distinct and deep.
  const small = [];
  for (let index = 0; index < Math.min(2000, stackGoal / 2); index++) {
    const name = `visit-${pick(["node", "block", "item", "table", "link", "row"])}-${index}`;
    addFunction(name, `wiki/visit-${index % 40}.sld`, 10 + (index * 7) % 400, index % 5 === 0 ? 1 : 0);
    small.push(name);
  }
  const frames = { function: [], line: [], column: [], tier: [], tail: [] };
  const frameRow = new Map();
  const frame = (name) => {
    const described = PROGRAM[name];
    const group = functions.group[functionRow.get(name)];
    const line = described ? (described[1] || 5) + Math.floor(next() * 5) : group <= 1 ? functions.line[functionRow.get(name)] + 1 + Math.floor(next() * 3) : 0;
    let tier = 3;
    if (described) {
      const sum = described[3].reduce((total, [, weight]) => total + weight, 0);
      let at = next() * sum;
      for (const [each, weight] of described[3]) if ((at -= weight) <= 0) { tier = each; break; }
    } else if (group <= 1) tier = next() < 0.15 ? 0 : next() < 0.3 ? 2 : 1;
    const key = `${name} ${line} ${tier}`;
    if (!frameRow.has(key)) {
      frameRow.set(key, frames.line.length);
      frames.function.push(functionRow.get(name));
      frames.line.push(line);
      frames.column.push(4);
      frames.tier.push(tier);
      frames.tail.push(name === "dispatch" ? 1 : 0);
    }
    return frameRow.get(key);
  };
  const stacks = { parent: [], frame: [], kind: [] };
  const stackRow = new Map();
  const push = (parent, name, kind = 0) => {
    const row = frame(name);
    const key = `${parent} ${row} ${kind}`;
    if (!stackRow.has(key)) {
      stackRow.set(key, stacks.frame.length);
      stacks.parent.push(parent);
      stacks.frame.push(row);
      stacks.kind.push(kind);
    }
    return stackRow.get(key);
  };
  const start = push(push(push(null, "main"), "serve"), "accept-loop");
  const leaves = [];
  const weights = [];
  const heat = { "escape": 9 * slow, "append": 12 * slow, "tokenize": 4, "render-node": 3, "regexp-search": 5, "sqlite-step": 5, "merge-lists": 3, "[kernel] write": 3, "evacuate": 4 };
  const grow = () => {
    let at = next() < 0.04 ? push(null, "main") : push(start, "handle-connection", 1);
    let name = next() < 0.04 ? "load-configuration" : pick(["handle-request", "handle-request", "handle-request", "read-request", "write-response"]);
    at = push(at, name);
    for (let depth = 5; depth < depthMax; depth++) {
      let callees = PROGRAM[name]?.[4] ?? [];
      if (small.length > 0 && ["render-node", "parse-block", "map"].includes(name) && next() < 0.5 && stackGoal > 1000) callees = small;
      if (small.includes?.(name) && stackGoal > 1000 && next() < 0.93) callees = small;
      if (callees.length === 0) break;
      if (next() < 0.07 && depth > 6) break;
      name = pick(callees);
      at = push(at, name);
    }
    const dice = next();
    const top = dice < 0.09 ? "evacuate" : dice < 0.1 ? "mark roots" : dice < 0.12 ? "specialize" : dice < 0.125 ? "emit machine code"
      : dice < 0.15 && ["write-response", "write-bytes"].includes(name) ? "[kernel] write" : dice < 0.16 ? "libc memcpy" : null;
    if (top !== null) at = push(at, name = top);
    leaves.push(at);
    weights.push((heat[name] ?? 1) * (0.05 + next() ** 4));
  };
  const seen = new Set();
  for (let tries = 0; seen.size < stackGoal && tries < stackGoal * 30; tries++) {
    grow();
    const leaf = leaves[leaves.length - 1];
    if (seen.has(leaf)) {
      leaves.pop();
      weights.pop();
    } else seen.add(leaf);
  }
  const sums = [];
  weights.reduce((sum, weight, index) => (sums[index] = sum + weight), 0);
  const leaf = () => {
    const wanted = next() * sums[sums.length - 1];
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return leaves[low];
  };
  const threads = { id: [], name: [] };
  const threadCount = Math.min(16, Math.max(2, Math.ceil(tasks / 2)));
  for (let row = 0; row < threadCount; row++) {
    threads.id.push(4711 + row);
    threads.name.push(string(row === 0 ? "main" : `worker-${row}`));
  }
  const taskTable = { number: [0], name: [null], starter: [null], started: [0] };
  for (let row = 1; row < tasks; row++) {
    taskTable.number.push(row);
    taskTable.name.push(row % 3 === 0 ? string(`connection ${row}`) : null);
    taskTable.starter.push(0);
    taskTable.started.push(Math.round(next() * 1e9));
  }
  const labels = [[]];
  const routes = ["/page", "/save", "/search", "/static"];
  for (const route of routes) labels.push([[string("route"), string(route)], [string("method"), string(route === "/save" ? "POST" : "GET")]]);
  const place = { accept: push(start, "park"), lock: push(push(push(push(push(push(start, "handle-connection", 1), "handle-request"), "dispatch"), "with-lock"), "update-index"), "park"),
    socket: push(push(push(push(start, "handle-connection", 1), "read-request"), "read-bytes"), "park"),
    save: push(push(push(push(push(start, "handle-connection", 1), "handle-request"), "dispatch"), "save-page"), "park") };
  const kinds = ["lock", "channel", "socket", "timer", "process", "future", "pool", "other"].map(string);
  const eventKinds = ["collection", "compilation", "deoptimization", "osr"].map(string);
  const texts = ["nursery", "full", "render-node", "escape: the argument was not a string", "tokenize"].map(string);
  const ons = ["index lock", "connection 12", "pages.db", "log queue"].map(string);
  const types = ["pair", "string", "vector", "closure", "flonum", "hash table", "bytevector"].map(string);
  const reasons = ["it is stored in another object", "it is passed to a procedure that was not inlined", "the loop keeps it"].map(string);
  const noteTexts = [
    ["escape", 10, "“append” copies the first list at each character; the time grows with the square of the length."],
    ["render-node", 0, "It was not inlined into “map”: it calls itself."],
    ["tokenize", 76, "It runs in the interpreter: compiled code was deoptimized 12 times, since “text” was a string and then a symbol. After that it was not compiled again."],
    ["update-index", 31, "The hash table is not known to have strings as keys: the generic “equal?” is called."],
    ["rank", 122, "The flonum is boxed, since it is stored in a vector."],
  ];
  const notes = { function: [], line: [], text: [] };
  for (const [name, line, text] of noteTexts) {
    notes.function.push(functionRow.get(name));
    notes.line.push(line);
    notes.text.push(string(text));
  }
  const sources = { file: [string("wiki/render.sld")], text: [string(SOURCE)] };
  flush();
  write({ functions });
  write({ frames });
  for (let from = 0; from < stacks.frame.length; from += 20000) {
    write({ stacks: Object.fromEntries(Object.entries(stacks).map(([key, column]) => [key, column.slice(from, from + 20000)])) });
  }
  write({ threads });
  write({ tasks: taskTable });
  write({ labels });
  write({ sources });

  // Each task is busy in bursts, so that the lanes have something to show.
  const end = seconds * 1e9;
  let samples = [];
  let last = 0;
  const pending = [];
  const flushSamples = () => {
    if (samples.length === 0) return;
    const columns = { at: [], thread: [], task: [], label: [], stack: [], weight: [] };
    for (const [at, thread, task, label, stack, weight] of samples) {
      columns.at.push(at - last);
      last = at;
      columns.thread.push(thread);
      columns.task.push(task);
      columns.label.push(label);
      columns.stack.push(stack);
      columns.weight.push(weight);
    }
    samples = [];
    write({ samples: columns });
  };
  const clocks = Array.from({ length: tasks }, (_, task) => taskTable.started[task]);
  const phases = Array.from({ length: tasks }, () => next() * 6.28);
  const period = seconds * 1e9 / 5;
  const favourites = Array.from({ length: tasks }, leaf);
  let sampleCount = 0;
  const step = interval;
  for (let now = step; now < end; now += step) {
    for (let task = 0; task < tasks; task++) {
      if (now < clocks[task]) continue;
      const busy = task === 0 ? 0.06 : (0.55 + 0.45 * Math.sin((now / period) * 6.28 + phases[task])) * (task % 4 === 3 ? 0.45 : 1);
      if (!options.full && next() > busy) {
        if (next() < 0.06) clocks[task] = now + step * 20 * next();
        continue;
      }
      if (next() < 0.12) favourites[task] = leaf();
      const stack = next() < 0.6 ? favourites[task] : leaf();
      samples.push([Math.round(now + (next() - 0.5) * step), (task + Math.floor(now / 4e9)) % threadCount, task, 1 + ((task + Math.floor(now / 9e8)) % routes.length), stack, Math.round(step * (0.94 + next() * 0.12))]);
      sampleCount += 1;
    }
    if (samples.length >= rowsOfLine) flushSamples();
  }
  flushSamples();
  void pending;

  const wait = { task: [], label: [], stack: [], from: [], ready: [], resumed: [], kind: [], on: [] };
  for (let index = 0; index < waits; index++) {
    const task = Math.floor(next() * tasks);
    const from = Math.round(next() * end * 0.98);
    const dice = next();
    const [kind, on, stack, scale] = task === 0 ? [2, 1, place.accept, 3e7] : dice < 0.2 ? [0, 0, place.lock, 4e6] : dice < 0.75 ? [2, 1, place.socket, 2.5e7]
      : dice < 0.85 ? [3, null, place.save, 5e7] : dice < 0.95 ? [6, 2, place.save, 8e6] : [1, 3, place.save, 3e6];
    const ready = from + Math.round(-Math.log(1 - next()) * scale);
    const resumed = ready + Math.round(-Math.log(1 - next()) * (dice < 0.3 ? 3e6 : 2e5));
    wait.task.push(task);
    wait.label.push(1 + (index % routes.length));
    wait.stack.push(stack);
    wait.from.push(from);
    wait.ready.push(ready);
    wait.resumed.push(Math.min(end, resumed));
    wait.kind.push(kinds[kind]);
    wait.on.push(on === null ? null : ons[on]);
  }
  write({ waits: wait });
  const columns = { at: [], thread: [], task: [], label: [], stack: [], type: [], size: [], weight: [], reason: [], id: [] };
  const freed = [];
  for (let index = 0; index < allocations; index++) {
    const stack = leaf();
    const type = next() < 0.55 ? 0 : Math.floor(next() * types.length);
    columns.at.push(Math.round((index / Math.max(1, allocations)) * end));
    columns.thread.push(index % threadCount);
    columns.task.push(index % tasks);
    columns.label.push(1 + (index % routes.length));
    columns.stack.push(stack);
    columns.type.push(types[type]);
    columns.size.push([16, 64, 128, 48, 16, 512, 4096][type]);
    columns.weight.push(524288);
    columns.reason.push(next() < 0.3 ? null : reasons[Math.floor(next() ** 2 * reasons.length)]);
    columns.id.push(index);
    if (next() < 0.86) freed.push(index);
  }
  write({ allocations: columns });
  write({ freed });
  const events = { at: [], duration: [], thread: [], kind: [], text: [], stack: [] };
  const event = (at, duration, thread, kind, text) => {
    events.at.push(Math.round(at));
    events.duration.push(Math.round(duration));
    events.thread.push(thread);
    events.kind.push(eventKinds[kind]);
    events.text.push(texts[text]);
    events.stack.push(null);
  };
  for (let at = 2e8; at < end; at += 9e8 * (0.5 + next())) event(at, 2e6 + next() * 9e6, null, 0, next() < 0.12 ? 1 : 0);
  for (let index = 0; index < 40; index++) event(next() ** 3 * end, 1e6 + next() * 8e6, index % threadCount, 1, 2);
  for (let index = 0; index < 34; index++) event((0.1 + 0.5 * next()) * end, 0, index % threadCount, 2, next() < 0.6 ? 3 : 4);
  for (let index = 0; index < 6; index++) event(next() * end, 0, 0, 3, 2);
  write({ events });
  write({ notes });
  if (!live) write({ end });
  return { text: `${lines.join("\n")}\n`, sampleCount, stackCount: leaves.length, lines };
}

export function embed(gzip, base = null) {
  const element = (id, bytes) => `<script id="${id}" type="application/gzip;base64">${bytes.toString("base64")}</script>`;
  const parts = element("canny-profile", gzip) + (base === null ? "" : `\n${element("canny-profile-base", base)}`);
  return readFileSync(PAGE, "utf8").replace(MARKER, () => parts);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const values = process.argv.slice(2);
  const options = {};
  let target = "generated.profile.gz";
  let page = null;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === "--page") page = values[++index];
    else if (value === "--full") options.full = true;
    else if (value === "--interval-ms") options.interval = Number(values[++index]) * 1e6;
    else if (value.startsWith("--")) options[value.slice(2)] = Number(values[++index]);
    else target = value;
  }
  const { text, sampleCount, stackCount } = generate(options);
  const gzip = gzipSync(text);
  writeFileSync(target, gzip);
  if (page !== null) writeFileSync(page, embed(gzip));
  console.log(`${target}: ${sampleCount} samples, ${stackCount} stacks, ${(text.length / 1e6).toFixed(1)} MB, ${(gzip.length / 1e6).toFixed(1)} MB compressed`);
}
