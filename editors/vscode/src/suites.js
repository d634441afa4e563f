// Which files are suites, and what `canny test` says of them. Knows nothing of the editor.
//
// A file is a suite by the rules of `canny test` for directories, but its text is not parsed: a comment
// that mentions a test library in an import makes a suite that turns out to be empty.
"use strict";

const IMPORT = /\(import\b[^;]*?\((?:srfi\s+(?::|srfi-)?(?:64|78)|canny\s+test)\)/;
const DIRECTORIES = new Set(["test", "tests"]);

// `name` is relative to the folder that is open, with slashes.
function isSuite(name, text) {
  const parts = name.split("/");
  const file = parts.pop();
  if (!/\.(scm|sps|ss)$/.test(file)) {
    return false;
  }
  if (parts.some((part) => DIRECTORIES.has(part)) || /[-.]test\.[a-z]+$/.test(file)) {
    return !isLibrary(text);
  }
  return IMPORT.test(text);
}

// Whether a text has libraries only: no line begins with another form.
function isLibrary(text) {
  const forms = text.match(/^\([^\s()]*/gm) ?? [];
  return forms.length > 0 && forms.every((form) => form === "(define-library" || form === "(library");
}

// Cuts a stream of text into events of `--format json`; anything else is given to `other`.
class Events {
  constructor(take, other = () => {}) {
    this.take = take;
    this.other = other;
    this.rest = "";
  }

  add(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) {
      this.line(line);
    }
  }

  end() {
    this.line(this.rest);
    this.rest = "";
  }

  line(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      event = undefined;
    }
    if (event && typeof event.event === "string") {
      this.take(event);
    } else if (line !== "") {
      this.other(line);
    }
  }
}

// Gives each event of a test the path of its item: the groups, the name, and a number for tests of the
// same name, which the command tells in the same order each time.
class Paths {
  constructor() {
    this.seen = new Map();
  }

  of(event) {
    const words = [event.file, ...event.groups, event.name];
    const key = JSON.stringify(words);
    const count = (this.seen.get(key) ?? 0) + 1;
    this.seen.set(key, count);
    return { groups: event.groups, name: event.name, count };
  }
}

// The text by which `--filter` finds a test or group; it finds those too whose names begin alike.
function filterOf(file, words, isGroup) {
  return [file, ...words].join(": ") + (isGroup ? ": " : "");
}

// The options and files of a run. `wishes` has a list of filters for each file, or nothing for all of its
// tests. The command's filters count for all files, so that files with filters run by themselves.
function runs(wishes) {
  const whole = [];
  const parts = [];
  for (const [file, filters] of wishes) {
    if (filters === undefined) {
      whole.push(file);
    } else {
      parts.push({ files: [file], filters });
    }
  }
  return whole.length > 0 ? [{ files: whole, filters: [] }, ...parts] : parts;
}

function commandLine(run, options = []) {
  const filters = run.filters.flatMap((filter) => ["--filter", filter]);
  // A name with a hyphen in front is no option.
  const files = run.files.map((file) => (file.startsWith("-") ? `./${file}` : file));
  return ["test", "--format", "json", ...options, ...filters, ...files];
}

// The message of a test that failed.
function messageOf(event) {
  const lines = [];
  if (event.expression) {
    lines.push(event.expression);
  }
  for (const difference of event.differences ?? []) {
    lines.push(difference);
  }
  if (event.expected === undefined && event.actual !== undefined) {
    lines.push(event.actual);
  }
  return lines.join("\n") || "The test failed.";
}

module.exports = { Events, Paths, commandLine, filterOf, isSuite, messageOf, runs };
