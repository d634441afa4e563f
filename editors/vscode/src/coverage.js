// Reads a tracefile of lcov, as `canny test --coverage-lcov` writes it. Knows nothing of the editor.
"use strict";

// A list of files, each with its lines and branches. `taken` is undefined in lines that did not run.
function read(text) {
  const files = [];
  let file;
  for (const line of text.split("\n")) {
    const [, word, rest] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    if (word === "SF") {
      file = { path: rest, lines: [], branches: [], functions: [] };
      files.push(file);
    } else if (word && file) {
      note(file, word, rest.split(","));
    }
  }
  return files;
}

function note(file, word, values) {
  if (word === "DA") {
    file.lines.push({ line: Number(values[0]), count: Number(values[1]) });
  } else if (word === "BRDA") {
    const taken = values[3] === "-" ? undefined : Number(values[3]);
    file.branches.push({ line: Number(values[0]), taken });
  } else if (word === "FN") {
    file.functions.push({ line: Number(values[0]), name: values.slice(1).join(","), count: 0 });
  } else if (word === "FNDA") {
    const name = values.slice(1).join(",");
    const found = file.functions.find((one) => one.name === name);
    if (found) {
      found.count = Number(values[0]);
    }
  }
}

module.exports = { read };
