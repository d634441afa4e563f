"use strict";

const assert = require("node:assert/strict");
const test = require("node:test");
const { Events, Paths, commandLine, filterOf, isSuite, messageOf, runs } = require("../src/suites");

test("suites are found as the command finds them", () => {
  const program = "(import (scheme base))\n(display 1)\n";
  const library = "(define-library (a)\n  (export b)\n  (begin (define b 1)))\n";
  assert.equal(isSuite("tests/a.scm", program), true);
  assert.equal(isSuite("a/test/b/c.scm", program), true);
  assert.equal(isSuite("a-test.scm", program), true);
  assert.equal(isSuite("a.test.sps", program), true);
  assert.equal(isSuite("a.scm", program), false);
  assert.equal(isSuite("contest/a.scm", program), false);
  assert.equal(isSuite("tests/a.sld", library), false);
  assert.equal(isSuite("tests/a.scm", library), false);
  assert.equal(isSuite("a.scm", "(import (scheme base)\n        (canny test))"), true);
  assert.equal(isSuite("a.scm", "(import (only (srfi 64) test-assert))"), true);
  assert.equal(isSuite("a.scm", "(import (srfi :78))"), true);
  assert.equal(isSuite("a.scm", "(import (srfi 164))"), false);
  assert.equal(isSuite("a.scm", "(import (scheme base)) ; not (canny test)"), false);
});

test("events come in pieces and between other lines", () => {
  const events = [];
  const others = [];
  const reader = new Events((event) => events.push(event.event), (line) => others.push(line));
  for (const piece of ['{"event":"te', 'st"}\nnoise\n{"a":1}\n\n', '{"event":"summary"}']) {
    reader.add(piece);
  }
  reader.end();
  assert.deepEqual(events, ["test", "summary"]);
  assert.deepEqual(others, ["noise", '{"a":1}']);
});

test("tests of the same name are numbered, by group and file", () => {
  const paths = new Paths();
  const event = (file, groups) => ({ file, groups, name: "(f)" });
  const counts = [event("a", []), event("a", []), event("a", ["g"]), event("b", [])].map((one) => paths.of(one).count);
  assert.deepEqual(counts, [1, 2, 1, 1]);
});

test("filters are full names", () => {
  assert.equal(filterOf("tests/a.scm", ["numbers", "sum"], false), "tests/a.scm: numbers: sum");
  assert.equal(filterOf("tests/a.scm", ["numbers"], true), "tests/a.scm: numbers: ");
});

test("whole files run together, parts of files alone", () => {
  const wishes = new Map([["a", undefined], ["b", ["x", "y"]], ["-c", undefined]]);
  const all = runs(wishes);
  assert.deepEqual(all, [{ files: ["a", "-c"], filters: [] }, { files: ["b"], filters: ["x", "y"] }]);
  assert.deepEqual(commandLine(all[0], ["-I", "lib"]), ["test", "--format", "json", "-I", "lib", "a", "./-c"]);
  assert.deepEqual(commandLine(all[1]), ["test", "--format", "json", "--filter", "x", "--filter", "y", "b"]);
  assert.deepEqual(runs(new Map()), []);
});

test("messages have what the editor does not show by itself", () => {
  const failed = { name: "sum", expression: "(+ 1 1)", expected: "3", actual: "2", differences: ["at [2]", "- 3", "+ 2"] };
  assert.equal(messageOf(failed), "(+ 1 1)\nat [2]\n- 3\n+ 2");
  assert.equal(messageOf({ name: "(f)", expression: "(f)", actual: "it raised 1" }), "(f)\nit raised 1");
  assert.equal(messageOf({ name: "(f)" }), "The test failed.");
});
