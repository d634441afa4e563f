"use strict";

const assert = require("node:assert/strict");
const test = require("node:test");
const { Places } = require("../src/places");

function linesOf(text, names) {
  const places = new Places(text);
  return names.map((name) => places.line(name));
}

test("named tests are at their names, others at their expressions", () => {
  const text = `(import (canny test))
;; (test "sum" is not here)
(test "sum" 3 (+ 1 2))
(test 4
      (* 2
         2))   ; blanks do not count
(test-group "strings"
  (test "a \\"quoted\\" name" "x" "x"))
`;
  assert.deepEqual(linesOf(text, ["sum", "(* 2 2)", 'a "quoted" name']), [2, 4, 7]);
});

test("the same name comes again, and long ones are cut", () => {
  const text = "(check (f 1) => 2)\n(check (f 1) => 3)\n(check (list \"a long expression\" 1) => 4)\n";
  assert.deepEqual(linesOf(text, ["(f 1)", "(f 1)", "(list \"a long expr..."]), [0, 1, 2]);
});

test("unknown names have no line; more uses than places stay at the last", () => {
  assert.deepEqual(linesOf("(a)\n(b)\n", ["nowhere", "(a)", "(a)", "(b)"]), [undefined, 0, 0, 1]);
});

test("comments, characters and strings do not confuse", () => {
  const text = '#| (test "x" |#\n(define c #\\")\n(define d #\\;)\n(define s ";")\n(test "x" 1 1)\n';
  assert.deepEqual(linesOf(text, ["x"]), [4]);
});

test("groups are at their names, or at their first tests", () => {
  const text = '(test-group "g"\n  (test "a" 1 1))\n(test-group "g"\n  (test "b" 1 1))\n';
  const places = new Places(text);
  assert.deepEqual([1, 3].map((line) => places.lineOfGroup("g", line)), [0, 2]);
  assert.equal(places.lineOfGroup("made by a macro", 3), 3);
  assert.equal(places.lineOfGroup("g", undefined), undefined);
});
