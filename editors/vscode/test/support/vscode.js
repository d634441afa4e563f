// Stands in for the editor's own module: the parts that the extension uses, over files of the disk.
"use strict";

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");

class Uri {
  constructor(fsPath) {
    this.fsPath = fsPath;
  }
  static file(name) {
    return new Uri(name);
  }
  static joinPath(base, ...words) {
    return new Uri(path.join(base.fsPath, ...words));
  }
  toString() {
    return `file://${this.fsPath}`;
  }
}

class Items {
  constructor() {
    this.all = new Map();
  }
  get size() {
    return this.all.size;
  }
  add(item) {
    this.all.set(item.id, item);
  }
  delete(id) {
    this.all.delete(id);
  }
  get(id) {
    return this.all.get(id);
  }
  forEach(work) {
    this.all.forEach((item) => work(item));
  }
  [Symbol.iterator]() {
    return this.all.entries();
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(line, character) {
    this.start = new Position(line, character);
  }
}

class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}

class TestMessage {
  constructor(message) {
    this.message = message;
  }
  static diff(message, expectedOutput, actualOutput) {
    return Object.assign(new TestMessage(message), { expectedOutput, actualOutput });
  }
}

class Coverage {
  constructor(...words) {
    this.words = words;
  }
  static fromDetails(uri, details) {
    return { uri, details };
  }
}

// Keeps what is reported of a run.
class Run {
  constructor(log) {
    this.log = log;
    this.output = "";
    for (const what of ["enqueued", "started", "passed", "failed", "errored", "skipped"]) {
      this[what] = (item, message) => log.push({ what, item: item.label, message });
    }
  }
  appendOutput(text) {
    this.output += text;
  }
  addCoverage(file) {
    this.log.push({ what: "coverage", file: file.uri.fsPath, details: file.details });
  }
  end() {
    this.log.push({ what: "end" });
  }
}

class Controller {
  constructor() {
    this.items = new Items();
    this.log = [];
  }
  createTestItem(id, label, uri) {
    return { id, label, uri, children: new Items() };
  }
  createTestRun() {
    this.lastRun = new Run(this.log);
    return this.lastRun;
  }
}

const values = {};
const folders = [];
const nothing = { dispose() {} };
const messages = [];
const sessions = [];

const vscode = {
  Uri, Position, Range, Location, TestMessage,
  FileCoverage: Coverage, StatementCoverage: Coverage, BranchCoverage: Coverage, DeclarationCoverage: Coverage,
  RelativePattern: class {
    constructor(folder) {
      this.folder = folder;
    }
  },
  DebugAdapterExecutable: class {
    constructor(command, args) {
      Object.assign(this, { command, args });
    }
  },
  workspace: {
    workspaceFolders: folders,
    getWorkspaceFolder: (uri) => folders.find((folder) => uri.fsPath.startsWith(folder.uri.fsPath)),
    getConfiguration: () => ({ get: (name) => values[name] }),
    findFiles: async ({ folder }) =>
      fs.readdirSync(folder.uri.fsPath, { recursive: true })
        .filter((name) => /\.(scm|sps|ss)$/.test(name))
        .map((name) => Uri.joinPath(folder.uri, name)),
    fs: { readFile: async (uri) => fs.promises.readFile(uri.fsPath) },
  },
  window: { activeTextEditor: undefined, showErrorMessage: async (text) => messages.push(text) },
  debug: {
    onDidStartDebugSession: (work) => ((vscode.debug.begin = work), nothing),
    onDidTerminateDebugSession: (work) => ((vscode.debug.finish = work), nothing),
    startDebugging: async (_folder, configuration) => {
      sessions.push(configuration);
      vscode.debug.begin(configuration);
      vscode.debug.finish(configuration);
      return true;
    },
    stopDebugging: async () => {},
  },
};

const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => (name === "vscode" ? __filename : resolve(name, ...rest));

module.exports = vscode;
// What tests set and look at.
vscode.stub = { Controller, folders, messages, sessions, values };
