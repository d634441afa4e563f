"use strict";

const assert = require("node:assert/strict");
const test = require("node:test");
const { read } = require("../src/coverage");

test("a tracefile is read", () => {
  const text = `TN:
SF:/p/lib/m.sld
FN:5,f
FN:9,g
FNDA:1,f
FNDA:0,g
FNF:2
BRDA:6,112,0,1
BRDA:6,112,1,-
DA:5,1
DA:8,0
end_of_record
SF:/p/lib/n.sld
DA:1,7
end_of_record
`;
  const [first, second] = read(text);
  assert.equal(first.path, "/p/lib/m.sld");
  assert.deepEqual(first.lines, [{ line: 5, count: 1 }, { line: 8, count: 0 }]);
  assert.deepEqual(first.branches, [{ line: 6, taken: 1 }, { line: 6, taken: undefined }]);
  assert.deepEqual(first.functions, [{ line: 5, name: "f", count: 1 }, { line: 9, name: "g", count: 0 }]);
  assert.deepEqual(second.lines, [{ line: 1, count: 7 }]);
});
