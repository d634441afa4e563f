// Finds tests in the text of a suite: `canny test --list` gives names without lines. Knows nothing of the
// editor.
//
// A test without a name is called by its expression, on one line and cut after some characters.
"use strict";

// The text without comments, and with one blank in place of several; `lines` has the line of each character.
function squeezed(text) {
  const parts = /"(?:\\[^]|[^"\\])*"|#\\(?:[A-Za-z0-9]+|[^])|;[^\n]*|#\|[^]*?\|#|\s+|[^]/g;
  let result = "";
  const lines = [];
  let line = 0;
  for (const [part] of text.matchAll(parts)) {
    const isBlank = part.startsWith(";") || part.startsWith("#|") || /^\s/.test(part);
    const shown = isBlank ? (result.endsWith(" ") ? "" : " ") : part;
    for (let index = 0; index < shown.length; index += 1) {
      lines.push(line);
    }
    result += shown;
    line += part.split("\n").length - 1;
  }
  return { text: result, lines };
}

// As the printer writes a string.
function written(name) {
  return `"${name.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}"`;
}

function positions(text, word) {
  const found = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    found.push(at);
  }
  return found;
}

// The lines, from 0 on, of tests with these names in this order; undefined where none is found. A name
// that comes several times is looked for behind the place before.
function linesOf(text, names) {
  const source = squeezed(text);
  const next = new Map();
  let last = 0;
  return names.map((name) => {
    const start = name.endsWith("...") ? name.slice(0, -3) : name;
    let places = positions(source.text, written(name));
    if (places.length === 0) {
      places = positions(source.text, start);
    }
    const least = next.get(name) ?? 0;
    const left = places.filter((place) => place >= least);
    // Tests are mostly told in the order of the text.
    const place = left.find((one) => one >= last) ?? left[0] ?? places.at(-1);
    if (place === undefined) {
      return undefined;
    }
    next.set(name, place + 1);
    last = place;
    return source.lines[place];
  });
}

module.exports = { linesOf };
