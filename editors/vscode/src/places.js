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

// The places of one text.
class Places {
  constructor(text) {
    this.source = squeezed(text);
    // By name, where to look for its next use.
    this.next = new Map();
    this.last = 0;
  }

  // The line, from 0 on, of the next test with this name; undefined if there is none. A name that comes
  // several times is looked for behind the place before.
  line(name) {
    const start = name.endsWith("...") ? name.slice(0, -3) : name;
    const { text, lines } = this.source;
    let places = positions(text, written(name));
    if (places.length === 0) {
      places = positions(text, start);
    }
    const least = this.next.get(name) ?? 0;
    const left = places.filter((place) => place >= least);
    // Tests are mostly told in the order of the text.
    const place = left.find((one) => one >= this.last) ?? left[0] ?? places.at(-1);
    if (place === undefined) {
      return undefined;
    }
    this.next.set(name, place + 1);
    this.last = place;
    return lines[place];
  }

  // The line of a group whose first test is in `line`: the last place of its name up to there.
  lineOfGroup(name, line) {
    if (line === undefined) {
      return undefined;
    }
    const lines = positions(this.source.text, written(name)).map((place) => this.source.lines[place]);
    return lines.filter((one) => one <= line).at(-1) ?? line;
  }
}

module.exports = { Places };
