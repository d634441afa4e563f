// Suites and tests in the editor's list of tests, found and run by `canny test`.
//
// Finding suites reads files and runs nothing. The tests of a suite are listed when its entry is opened
// or run, since the command runs the suite's program for that, without its tests.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { spawn } = require("node:child_process");
const vscode = require("vscode");
const coverage = require("./coverage");
const { Places } = require("./places");
const settings = require("./settings");
const suites = require("./suites");

const PATTERN = "**/*.{scm,sps,ss}";
const LEFT_OUT = "**/{node_modules,target,vendor,.*}/**";
// As much of a suite as the command looks at.
const BYTES_MAX = 4 << 20;

class Tests {
  constructor(controller) {
    this.controller = controller;
    // What an item is: { kind, folder, file, words, count }, by item.
    this.data = new WeakMap();
    // The lines and branches of files of a run with coverage.
    this.details = new WeakMap();
    controller.resolveHandler = (item) => (item ? this.resolve(item) : this.findAll());
    controller.refreshHandler = () => this.findAll();
  }

  // Finding

  async findAll() {
    const found = new Set();
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const pattern = new vscode.RelativePattern(folder, PATTERN);
      for (const uri of await vscode.workspace.findFiles(pattern, LEFT_OUT)) {
        if (await this.look(uri)) {
          found.add(uri.toString());
        }
      }
    }
    for (const [id] of [...this.controller.items]) {
      if (!found.has(id)) {
        this.controller.items.delete(id);
      }
    }
  }

  // Adds a file if it is a suite, and forgets it if it is none any more; gives its item.
  async look(uri) {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const id = uri.toString();
    const text = folder ? await this.read(uri) : undefined;
    const name = folder ? path.relative(folder.uri.fsPath, uri.fsPath).split(path.sep).join("/") : "";
    if (text === undefined || !suites.isSuite(name, text)) {
      this.controller.items.delete(id);
      return undefined;
    }
    let item = this.controller.items.get(id);
    if (!item) {
      item = this.controller.createTestItem(id, name, uri);
      item.canResolveChildren = true;
      this.data.set(item, { kind: "file", folder: folder.uri, file: name, words: [] });
      this.controller.items.add(item);
    }
    return item;
  }

  async read(uri) {
    try {
      const bytes = await vscode.workspace.fs.readFile(uri);
      return new TextDecoder().decode(bytes.slice(0, BYTES_MAX));
    } catch {
      return undefined;
    }
  }

  // A file was saved. Its tests are listed again if they were before.
  async changed(uri) {
    const item = await this.look(uri);
    if (item && item.children.size > 0) {
      await this.resolve(item);
    }
  }

  // Lists the tests of a suite.
  async resolve(item) {
    const data = this.data.get(item);
    if (data?.kind !== "file") {
      return;
    }
    const text = (await this.read(item.uri)) ?? "";
    const paths = new suites.Paths();
    const listed = [];
    let problem;
    const take = (event) => {
      if (event.event === "test") {
        listed.push(paths.of(event));
      } else if (event.event === "file" && event.problems.length > 0) {
        problem = [...event.problems, event.output ?? ""].join("\n").trim();
      }
    };
    item.busy = true;
    const options = ["--list", ...this.options(item.uri)];
    const run = { files: [data.file], filters: [] };
    const failure = await this.command(data.folder, suites.commandLine(run, options), take);
    item.busy = false;
    item.error = problem ?? failure;
    // What fails half-way keeps the tests of before.
    if (item.error === undefined || listed.length > 0) {
      item.children.forEach((child) => this.each(child, (one) => (one.range = undefined)));
      const places = new Places(text);
      const kept = new Set(listed.map((test) => this.place(item, places, test, places.line(test.name))));
      this.forgetOthers(item, kept);
    }
  }

  // The item of a test of a suite with these places; it is made if it is not there.
  place(suite, places, test, line) {
    let parent = suite;
    const data = this.data.get(suite);
    test.groups.forEach((group, index) => {
      const words = test.groups.slice(0, index + 1);
      parent = this.child(parent, `group ${group}`, group, { ...data, kind: "group", words });
      this.spread(parent, places.lineOfGroup(group, line));
    });
    const label = test.count > 1 ? `${test.name} (${test.count})` : test.name;
    const words = [...test.groups, test.name];
    const id = `test ${test.count} ${test.name}`;
    const item = this.child(parent, id, label, { ...data, kind: "test", words, count: test.count });
    this.spread(item, line);
    return item;
  }

  child(parent, id, label, data) {
    let item = parent.children.get(id);
    if (!item) {
      item = this.controller.createTestItem(id, label, parent.uri);
      this.data.set(item, data);
      parent.children.add(item);
      // Tests are shown in the order of the suite.
      item.sortText = String(parent.children.size).padStart(6, "0");
    }
    return item;
  }

  // Moves an item to a line, if that is known. A group of several parts is where the first one is.
  spread(item, line) {
    const isGroup = this.data.get(item).kind === "group";
    if (line !== undefined && !(isGroup && item.range && item.range.start.line < line)) {
      item.range = new vscode.Range(line, 0, line, 0);
    }
  }

  forgetOthers(parent, kept) {
    for (const [id, item] of [...parent.children]) {
      if (this.data.get(item).kind === "group") {
        this.forgetOthers(item, kept);
      }
      const isLeft = this.data.get(item).kind === "group" ? item.children.size > 0 : kept.has(item);
      if (!isLeft) {
        parent.children.delete(id);
      }
    }
  }

  // Running

  options(uri) {
    return [...settings.list("arguments", uri), ...settings.list("test.arguments", uri)];
  }

  // The files of a request by folder, each with its filters, or without for all of its tests. Items that
  // the request excludes run nevertheless where a file runs as a whole; their results are left out.
  wishes(request) {
    const folders = new Map();
    const wish = (item) => {
      const { folder, file, kind, words } = this.data.get(item);
      const key = folder.toString();
      if (!folders.has(key)) {
        folders.set(key, { folder, files: new Map() });
      }
      const { files } = folders.get(key);
      const before = files.has(file) ? files.get(file) : [];
      const filter = suites.filterOf(file, words, kind === "group");
      files.set(file, kind === "file" || before === undefined ? undefined : [...before, filter]);
    };
    const all = request.include ?? [...this.controller.items].map(([, item]) => item);
    all.filter((item) => !request.exclude?.includes(item)).forEach(wish);
    return [...folders.values()];
  }

  async run(request, token, withCoverage = false) {
    const run = this.controller.createTestRun(request);
    const session = { run, excluded: this.excluded(request), token };
    const wanted = request.include ?? [...this.controller.items].map(([, item]) => item);
    wanted.forEach((item) => this.each(item, (test) => this.isWanted(session, test) && run.enqueued(test)));
    for (const { folder, files } of this.wishes(request)) {
      for (const part of suites.runs(files)) {
        if (!token.isCancellationRequested) {
          await this.runPart(session, folder, part, withCoverage);
        }
      }
    }
    run.end();
  }

  excluded(request) {
    const all = new Set();
    for (const item of request.exclude ?? []) {
      this.each(item, (one) => all.add(one));
    }
    return all;
  }

  each(item, work) {
    work(item);
    item.children.forEach((child) => this.each(child, work));
  }

  isWanted(session, item) {
    return !session.excluded.has(item);
  }

  async runPart(session, folder, part, withCoverage) {
    const { run, token } = session;
    const state = { paths: new suites.Paths(), places: new Map(), files: new Set() };
    for (const file of part.files) {
      const uri = vscode.Uri.joinPath(folder, file);
      state.places.set(file, new Places((await this.read(uri)) ?? ""));
      const item = this.controller.items.get(uri.toString());
      if (item && part.filters.length === 0 && this.isWanted(session, item)) {
        run.started(item);
      }
    }
    const options = this.options(folder);
    const tracefile = withCoverage ? path.join(os.tmpdir(), `canny-${process.pid}-${Date.now()}.lcov`) : undefined;
    if (tracefile) {
      options.push("--coverage-lcov", tracefile);
    }
    const take = (event) => this.take(session, folder, state, part, event);
    const say = (line) => run.appendOutput(`${line}\r\n`);
    const failure = await this.command(folder, suites.commandLine(part, options), take, say, token);
    for (const file of part.files.filter((one) => !state.files.has(one))) {
      const item = this.controller.items.get(vscode.Uri.joinPath(folder, file).toString());
      if (item && failure && !token.isCancellationRequested) {
        run.errored(item, new vscode.TestMessage(failure));
      }
    }
    if (tracefile) {
      await this.addCoverage(run, folder, tracefile);
    }
  }

  // An event of a run.
  take(session, folder, state, part, event) {
    const { run } = session;
    if (event.event !== "test" && event.event !== "file") {
      return;
    }
    const uri = vscode.Uri.joinPath(folder, event.file);
    const suite = this.controller.items.get(uri.toString());
    if (!suite) {
      return;
    }
    if (event.event === "file") {
      state.files.add(event.file);
      this.takeFile(session, suite, part, event);
      return;
    }
    const test = state.paths.of(event);
    const places = state.places.get(event.file) ?? new Places("");
    const found = places.line(test.name);
    // The line of a failure is known. Tests that run alone were listed, and found better, before.
    const isKnown = event.line !== undefined && event.source === event.file;
    const other = part.filters.length > 0 ? undefined : found;
    const item = this.place(suite, places, test, isKnown ? event.line - 1 : other);
    if (!this.isWanted(session, item)) {
      return;
    }
    const time = event.microseconds / 1000;
    if (event.result === "passed" || event.result === "expected-failure") {
      run.passed(item, time);
    } else if (event.result === "skipped") {
      run.skipped(item);
    } else {
      const message = this.message(folder, item, event);
      run.failed(item, message, time);
      run.appendOutput(`${event.file}:${event.line ?? "?"}: ${[...event.groups, event.name].join(": ")}\r\n`, message.location, item);
    }
  }

  message(folder, item, event) {
    const text = suites.messageOf(event);
    const isDifference = event.expected !== undefined && event.actual !== undefined;
    const message = isDifference ? vscode.TestMessage.diff(text, event.expected, event.actual) : new vscode.TestMessage(text);
    if (event.line !== undefined) {
      const uri = path.isAbsolute(event.source) ? vscode.Uri.file(event.source) : vscode.Uri.joinPath(folder, event.source);
      message.location = new vscode.Location(uri, new vscode.Position(event.line - 1, 0));
    } else if (item.range) {
      message.location = new vscode.Location(item.uri, item.range);
    }
    return message;
  }

  // A suite has a state of its own only if something is wrong beside its tests, or if it has none.
  takeFile(session, suite, part, event) {
    const { run } = session;
    if (event.output) {
      run.appendOutput(`${event.output.replace(/\r?\n/g, "\r\n")}\r\n`, undefined, suite);
    }
    if (!this.isWanted(session, suite)) {
      return;
    }
    const time = event.seconds * 1000;
    if (event.problems.length > 0) {
      const text = [...event.problems, event.output ?? ""].join("\n").trim();
      run.errored(suite, new vscode.TestMessage(text), time);
    } else if (part.filters.length === 0 && suite.children.size === 0) {
      run.passed(suite, time);
    }
  }

  // Runs the command in a folder and gives events to `take`; gives the reason if it could not be run or
  // refused its command line.
  command(folder, words, take, say = () => {}, token = undefined) {
    return new Promise((resolve) => {
      const other = [];
      const child = spawn(settings.command(folder), words, { cwd: folder.fsPath, stdio: ["ignore", "pipe", "pipe"] });
      // The command ends its suites when it is interrupted.
      const cancelling = token?.onCancellationRequested(() => child.kill("SIGINT"));
      const events = new suites.Events(take, say);
      child.stdout.setEncoding("utf8").on("data", (text) => events.add(text));
      child.stderr.setEncoding("utf8").on("data", (text) => other.push(text));
      child.on("error", (error) => resolve(`canny test cannot be run: ${error.message}. Is "canny.path" right?`));
      child.on("close", (code, signal) => {
        cancelling?.dispose();
        events.end();
        const text = other.join("").trim();
        text.split("\n").filter((line) => line !== "").forEach(say);
        const isFailure = signal !== null || (code !== 0 && code !== 1);
        resolve(isFailure ? text || `canny test ended with ${signal ?? code}` : undefined);
      });
    });
  }

  // Coverage

  async addCoverage(run, folder, tracefile) {
    let text;
    try {
      text = await fs.promises.readFile(tracefile, "utf8");
    } catch {
      // No suite came to its end; the output says why.
      return;
    }
    await fs.promises.rm(tracefile, { force: true });
    for (const file of coverage.read(text)) {
      const uri = path.isAbsolute(file.path) ? vscode.Uri.file(file.path) : vscode.Uri.joinPath(folder, file.path);
      const details = detailsOf(file);
      const whole = vscode.FileCoverage.fromDetails(uri, details);
      this.details.set(whole, details);
      run.addCoverage(whole);
    }
  }

  // Debugging

  // Debugs the suites of a request, one after the other.
  async debug(request, token) {
    const run = this.controller.createTestRun(request);
    for (const { folder, files } of this.wishes(request)) {
      for (const [file, filters] of files) {
        if (!token.isCancellationRequested) {
          await this.debugFile(folder, file, filters, token);
        }
      }
    }
    run.end();
  }

  async debugFile(folder, file, filters, token) {
    const env = {};
    let report;
    if (filters) {
      // The library takes filters from the command only, which wants a report.
      report = path.join(os.tmpdir(), `canny-${process.pid}-${Date.now()}.report`);
      Object.assign(env, { CANNY_TEST_FILTER: filters.join("\n"), CANNY_TEST_FILE: file, CANNY_TEST_REPORT: report });
    }
    const configuration = {
      type: "canny", request: "launch", name: `Tests of ${file}`, program: file, cwd: folder.fsPath, env,
      cannyArgs: settings.list("arguments", folder),
    };
    await debugged(vscode.workspace.getWorkspaceFolder(folder), configuration, token);
    if (report) {
      await fs.promises.rm(report, { force: true });
    }
  }
}

// Runs a debug session to its end.
function debugged(folder, configuration, token) {
  return new Promise((resolve) => {
    let own;
    const listeners = [];
    const finish = () => {
      listeners.forEach((listener) => listener.dispose());
      resolve();
    };
    listeners.push(
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.name === configuration.name) {
          own = session;
        }
      }),
      vscode.debug.onDidTerminateDebugSession((session) => session === own && finish()),
      token.onCancellationRequested(() => own && vscode.debug.stopDebugging(own)),
    );
    vscode.debug.startDebugging(folder, configuration).then((isStarted) => isStarted || finish(), finish);
  });
}

function detailsOf(file) {
  const place = (line) => new vscode.Position(line - 1, 0);
  const branches = (line) =>
    file.branches.filter((one) => one.line === line).map((one) => new vscode.BranchCoverage(one.taken ?? 0, place(line)));
  const lines = file.lines.map(({ line, count }) => new vscode.StatementCoverage(count, place(line), branches(line)));
  const functions = file.functions.map(({ line, name, count }) => new vscode.DeclarationCoverage(name, count, place(line)));
  return [...lines, ...functions];
}

function register(context) {
  const controller = vscode.tests.createTestController("canny", "Canny");
  const tests = new Tests(controller);
  const kinds = vscode.TestRunProfileKind;
  controller.createRunProfile("Run", kinds.Run, (request, token) => tests.run(request, token), true);
  controller.createRunProfile("Debug", kinds.Debug, (request, token) => tests.debug(request, token), true);
  const withCoverage = (request, token) => tests.run(request, token, true);
  const profile = controller.createRunProfile("Run with coverage", kinds.Coverage, withCoverage, true);
  profile.loadDetailedCoverage = async (_run, whole) => tests.details.get(whole) ?? [];
  const watcher = vscode.workspace.createFileSystemWatcher(PATTERN);
  watcher.onDidCreate((uri) => tests.look(uri));
  watcher.onDidChange((uri) => tests.changed(uri));
  watcher.onDidDelete((uri) => controller.items.delete(uri.toString()));
  context.subscriptions.push(controller, watcher);
  return tests;
}

module.exports = { Tests, register };
