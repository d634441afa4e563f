// The list of tests over a stub of the editor. The command is a script that prints events, and Canny itself
// if CANNY names it.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const vscode = require("./support/vscode");
const { Tests } = require("../src/testing");

const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };

const SUITE = `(import (scheme base) (canny test))
(test-group "numbers"
  (test "sum" 3 (+ 1 2))
  (test "product" 5 (* 2 2)))
(test 1 (vector-ref (vector 1) 0))
`;

function project(t, files, command) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "canny-vscode-"));
  t.after(() => fs.rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
  if (command) {
    fs.writeFileSync(path.join(root, "command"), `#!/bin/sh\n${command}`, { mode: 0o755 });
  }
  vscode.stub.values.path = command ? path.join(root, "command") : process.env.CANNY;
  vscode.stub.folders.splice(0, Infinity, { uri: vscode.Uri.file(root) });
  const controller = new vscode.stub.Controller();
  return { root, controller, tests: new Tests(controller) };
}

function labels(items) {
  return [...items].map(([, item]) => (item.children.size > 0 ? [item.label, labels(item.children)] : item.label));
}

function find(items, label) {
  for (const [, item] of items) {
    const found = item.label === label ? item : find(item.children, label);
    if (found) {
      return found;
    }
  }
  return undefined;
}

function results(controller) {
  const told = controller.log.filter(({ what }) => ["passed", "failed", "errored", "skipped"].includes(what));
  return Object.fromEntries(told.map(({ what, item }) => [item, what]));
}

const line = (event) => `echo '${JSON.stringify(event)}'\n`;

test("a command that is missing is an error of the suite", async (t) => {
  const { controller, tests } = project(t, { "tests/a.scm": SUITE }, "exit 0");
  vscode.stub.values.path = "/no/such/command";
  await tests.findAll();
  const item = find(controller.items, "tests/a.scm");
  await tests.resolve(item);
  assert.match(item.error, /cannot be run/);
  await tests.run({}, token);
  assert.deepEqual(results(controller), { "tests/a.scm": "errored" });
});

test("a refused command line is an error of the suite", async (t) => {
  const { controller, tests } = project(t, { "tests/a.scm": SUITE }, "echo 'unknown option' >&2; exit 64");
  await tests.findAll();
  await tests.run({}, token);
  assert.equal(controller.log.find(({ what }) => what === "errored").message.message, "unknown option");
});

test("tests that vanish are forgotten, and failures while listing keep the old ones", async (t) => {
  const listed = (name, groups = []) => line({ event: "test", file: "tests/a.scm", groups, name, result: "listed" });
  const { root, controller, tests } = project(t, { "tests/a.scm": SUITE }, listed("one", ["g"]) + listed("two"));
  await tests.findAll();
  const item = find(controller.items, "tests/a.scm");
  await tests.resolve(item);
  assert.deepEqual(labels(item.children), [["g", ["one"]], "two"]);
  fs.writeFileSync(vscode.stub.values.path, `#!/bin/sh\n${listed("two")}`);
  await tests.changed(item.uri);
  assert.deepEqual(labels(item.children), ["two"]);
  const broken = line({ event: "file", file: "tests/a.scm", problems: ["it has syntax errors"], output: "a.scm:1" });
  fs.writeFileSync(vscode.stub.values.path, `#!/bin/sh\n${broken}`);
  await tests.changed(item.uri);
  assert.deepEqual(labels(item.children), ["two"]);
  assert.equal(item.error, "it has syntax errors\na.scm:1");
  fs.rmSync(path.join(root, "tests/a.scm"));
  await tests.findAll();
  assert.equal(controller.items.size, 0);
});

test("a cancelled run starts nothing more and has no errors", async (t) => {
  const { controller, tests } = project(t, { "tests/a.scm": SUITE }, "exit 130");
  await tests.findAll();
  await tests.run({}, { ...token, isCancellationRequested: true });
  assert.deepEqual(results(controller), {});
});

const withCanny = { skip: process.env.CANNY ? false : "CANNY names no command" };

test("Canny lists and runs", withCanny, async (t) => {
  const files = { "tests/a.scm": SUITE, "tests/b.scm": "(import (canny test))\n(test 1 (lambda))\n", "c.scm": "(display 1)\n" };
  const { controller, tests } = project(t, files);
  await tests.findAll();
  assert.deepEqual(labels(controller.items).sort(), ["tests/a.scm", "tests/b.scm"]);
  const item = find(controller.items, "tests/a.scm");
  await tests.resolve(item);
  const expression = "(vector-ref (vector 1) 0)";
  assert.deepEqual(labels(item.children), [["numbers", ["sum", "product"]], expression]);
  assert.deepEqual(["sum", "product", expression].map((one) => find(item.children, one).range.start.line), [2, 3, 4]);
  await tests.run({}, token);
  assert.deepEqual(results(controller), { sum: "passed", product: "failed", [expression]: "passed", "tests/b.scm": "errored" });
  const failure = controller.log.find(({ what }) => what === "failed").message;
  assert.deepEqual([failure.message, failure.expectedOutput, failure.actualOutput], ["(* 2 2)", "5", "4"]);
  assert.equal(failure.location.range.line, 3);
});

test("Canny runs a group and a test alone", withCanny, async (t) => {
  const { controller, tests } = project(t, { "tests/a.scm": SUITE });
  await tests.findAll();
  const item = find(controller.items, "tests/a.scm");
  await tests.resolve(item);
  await tests.run({ include: [find(item.children, "numbers")] }, token);
  assert.deepEqual(results(controller), { sum: "passed", product: "failed" });
  controller.log.length = 0;
  await tests.run({ include: [find(item.children, "sum")] }, token);
  assert.deepEqual(results(controller), { sum: "passed" });
  controller.log.length = 0;
  await tests.run({ include: [item], exclude: [find(item.children, "numbers")] }, token);
  assert.deepEqual(results(controller), { "(vector-ref (vector 1) 0)": "passed" });
});

test("Canny's coverage reaches the editor", withCanny, async (t) => {
  const library = "(define-library (m)\n  (export f)\n  (import (scheme base))\n  (begin\n    (define (f x)\n      (if x\n          1\n          2))))\n";
  const suite = "(import (canny test) (m))\n(test 1 (f #t))\n";
  const manifest = '(package (name "m") (version "0.1.0"))\n';
  const { root, controller, tests } = project(t, { "m.sld": library, "tests/a.scm": suite, "package.scm": manifest });
  await tests.findAll();
  await tests.run({}, token, true);
  const found = controller.log.find(({ what }) => what === "coverage");
  assert.equal(found.file, path.join(root, "m.sld"));
  assert.ok(found.details.some(({ words: [count, place] }) => count === 0 && place.line === 7));
});

test("a test is debugged with a filter, a suite without", async (t) => {
  const { controller, tests } = project(t, { "tests/a.scm": SUITE }, line({ event: "test", file: "tests/a.scm", groups: ["g"], name: "one", result: "listed" }));
  await tests.findAll();
  const item = find(controller.items, "tests/a.scm");
  await tests.resolve(item);
  await tests.debug({ include: [find(item.children, "one")] }, token);
  await tests.debug({ include: [item] }, token);
  const [alone, whole] = vscode.stub.sessions;
  assert.equal(alone.env.CANNY_TEST_FILTER, "tests/a.scm: g: one");
  assert.deepEqual([whole.program, whole.env], ["tests/a.scm", {}]);
});
