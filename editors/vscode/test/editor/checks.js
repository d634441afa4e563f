// Checks of the extension in a real editor: it runs in the editor's extension host, works on the folder
// that is open, and writes what it found to the file that CHECKS_REPORT names, as JSON.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const WAIT = 30000;

async function until(what, look) {
  const end = Date.now() + WAIT;
  for (;;) {
    const found = await look();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`it did not come: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function uriOf(name) {
  return vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
}

async function open(name) {
  const document = await vscode.workspace.openTextDocument(uriOf(name));
  await vscode.window.showTextDocument(document);
  return document;
}

// The next stop of a debug session, with its newest frame and the variables of the first scope.
function stops() {
  const waiting = [];
  const found = [];
  const give = (stop) => (waiting.length > 0 ? waiting.shift()(stop) : found.push(stop));
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory("canny", {
    createDebugAdapterTracker: (session) => ({
      onDidSendMessage: (message) => message.event === "stopped" && give({ session, ...message.body }),
    }),
  });
  const next = () => {
    const stop = found.length > 0 ? Promise.resolve(found.shift()) : new Promise((resolve) => waiting.push(resolve));
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("nothing stopped")), WAIT));
    return Promise.race([stop, late]);
  };
  return { next, dispose: () => tracker.dispose() };
}

async function look({ session, threadId }) {
  const { stackFrames } = await session.customRequest("stackTrace", { threadId });
  const { scopes } = await session.customRequest("scopes", { frameId: stackFrames[0].id });
  const { variablesReference } = scopes[0];
  const { variables } = await session.customRequest("variables", { variablesReference });
  const values = Object.fromEntries(variables.map((one) => [one.name, one.value]));
  return { frame: stackFrames[0], values };
}

// Takes what runs of tests report to the editor, and passes it on.
function reports(tests) {
  const all = [];
  const make = tests.controller.createTestRun.bind(tests.controller);
  tests.controller.createTestRun = (request) => {
    const run = make(request);
    return new Proxy(run, {
      get(target, name) {
        const value = target[name];
        if (typeof value !== "function") {
          return value;
        }
        return (...words) => {
          if (["passed", "failed", "errored", "skipped"].includes(name)) {
            all.push({ what: name, item: words[0].label, message: words[1]?.message, line: words[1]?.location?.range.start.line });
          } else if (name === "addCoverage") {
            all.push({ what: name, file: path.basename(words[0].uri.fsPath), lines: words[0].statementCoverage });
          } else if (name === "end") {
            all.push({ what: name });
          }
          return value.apply(target, words);
        };
      },
    });
  };
  return all;
}

const checks = {
  async "the language server reports errors"() {
    const document = await open("wrong.scm");
    const all = await until("a diagnostic", () => {
      const found = vscode.languages.getDiagnostics(document.uri);
      return found.length > 0 && found;
    });
    assert.ok(all.some((one) => one.message.includes("no-such-name")), JSON.stringify(all));
  },
  async "definitions are found"() {
    const document = await open("program.scm");
    const at = new vscode.Position(4, 11);
    const found = await until("a definition", async () => {
      const places = await vscode.commands.executeCommand("vscode.executeDefinitionProvider", document.uri, at);
      return places.length > 0 && places;
    });
    assert.equal((found[0].targetRange ?? found[0].range).start.line, 1);
  },
  async "a breakpoint stops the program, with variables"() {
    await open("program.scm");
    const stop = stops();
    const place = new vscode.Location(uriOf("program.scm"), new vscode.Position(3, 0));
    const breakpoint = new vscode.SourceBreakpoint(place);
    vscode.debug.addBreakpoints([breakpoint]);
    const wish = { type: "canny", request: "launch", name: "check", program: "${file}" };
    assert.ok(await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], wish));
    const first = await stop.next();
    assert.equal(first.reason, "breakpoint");
    const { frame, values } = await look(first);
    assert.equal(frame.line, 4);
    assert.equal(values.x, "4");
    const { result } = await first.session.customRequest("evaluate", { expression: "(* x x)", frameId: frame.id, context: "repl" });
    assert.equal(result, "16");
    const ended = new Promise((resolve) => vscode.debug.onDidTerminateDebugSession(resolve));
    await vscode.commands.executeCommand("workbench.action.debug.stepOut");
    const second = await stop.next();
    assert.equal(second.reason, "step");
    assert.equal((await look(second)).frame.line, 5);
    vscode.debug.removeBreakpoints([breakpoint]);
    await second.session.customRequest("continue", { threadId: second.threadId });
    await ended;
    stop.dispose();
  },
  async "F5 without a configuration debugs the file"() {
    await open("program.scm");
    const started = new Promise((resolve) => vscode.debug.onDidStartDebugSession(resolve));
    const ended = new Promise((resolve) => vscode.debug.onDidTerminateDebugSession(resolve));
    vscode.commands.executeCommand("workbench.action.debug.start");
    const session = await Promise.race([started, new Promise((resolve) => setTimeout(resolve, WAIT))]);
    assert.equal(session?.type, "canny");
    await ended;
  },
  async "a process that runs is attached to"() {
    await open("service.scm");
    const { spawn } = require("node:child_process");
    const command = vscode.workspace.getConfiguration("canny").get("path");
    const child = spawn(command, ["run", uriOf("service.scm").fsPath], { stdio: ["ignore", "pipe", "ignore"] });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const stop = stops();
    const place = new vscode.Location(uriOf("service.scm"), new vscode.Position(3, 0));
    const breakpoint = new vscode.SourceBreakpoint(place);
    vscode.debug.addBreakpoints([breakpoint]);
    const wish = { type: "canny", request: "attach", name: "attach", pid: String(child.pid) };
    assert.ok(await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], wish));
    const first = await stop.next();
    assert.equal((await look(first)).frame.line, 4);
    vscode.debug.removeBreakpoints([breakpoint]);
    const ended = new Promise((resolve) => vscode.debug.onDidTerminateDebugSession(resolve));
    await vscode.debug.stopDebugging(first.session);
    await ended;
    assert.equal(child.exitCode, null);
    child.kill();
    stop.dispose();
  },
  async "a program in a terminal reads from there"() {
    await open("reader.scm");
    const stop = stops();
    const breakpoint = new vscode.SourceBreakpoint(new vscode.Location(uriOf("reader.scm"), new vscode.Position(2, 0)));
    vscode.debug.addBreakpoints([breakpoint]);
    const wish = { type: "canny", request: "launch", name: "read", program: "${file}", console: "integratedTerminal" };
    assert.ok(await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], wish));
    const terminal = await until("a terminal", () => vscode.window.terminals.find((one) => one.name === "Canny"));
    terminal.sendText("word");
    const first = await stop.next();
    assert.equal((await look(first)).values.line, '"word"');
    const ended = new Promise((resolve) => vscode.debug.onDidTerminateDebugSession(resolve));
    await first.session.customRequest("continue", { threadId: first.threadId });
    await ended;
    vscode.debug.removeBreakpoints([breakpoint]);
    stop.dispose();
  },
  async "a recording is stepped through backwards"() {
    const { execFileSync } = require("node:child_process");
    const command = vscode.workspace.getConfiguration("canny").get("path");
    const cwd = vscode.workspace.workspaceFolders[0].uri.fsPath;
    execFileSync(command, ["record", "program.scm"], { cwd, stdio: "ignore" });
    await open("program.scm");
    const stop = stops();
    const breakpoint = new vscode.SourceBreakpoint(new vscode.Location(uriOf("program.scm"), new vscode.Position(5, 0)));
    vscode.debug.addBreakpoints([breakpoint]);
    const wish = { type: "canny", request: "launch", name: "replay", program: path.join(cwd, "canny.recording") };
    assert.ok(await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], wish));
    const first = await stop.next();
    assert.equal((await look(first)).frame.line, 6);
    await vscode.commands.executeCommand("workbench.action.debug.stepBack");
    const second = await stop.next();
    assert.equal((await look(second)).frame.line, 5);
    const ended = new Promise((resolve) => vscode.debug.onDidTerminateDebugSession(resolve));
    await vscode.debug.stopDebugging(second.session);
    await ended;
    vscode.debug.removeBreakpoints([breakpoint]);
    stop.dispose();
  },
  async "tests are found, listed and run"({ tests }) {
    const all = reports(tests);
    await tests.findAll();
    assert.deepEqual([...tests.controller.items].map(([, item]) => item.label).sort(), ["tests/broken.scm", "tests/numbers.scm"]);
    const item = [...tests.controller.items].map(([, one]) => one).find((one) => one.label === "tests/numbers.scm");
    await tests.resolve(item);
    const group = item.children.get("group numbers");
    assert.equal(group.range.start.line, 1);
    assert.deepEqual([...group.children].map(([, one]) => [one.label, one.range?.start.line]), [["sum", 2], ["product", 3]]);
    await vscode.commands.executeCommand("testing.runAll");
    await until("the end of a run", () => all.some((one) => one.what === "end"));
    const named = (label) => all.find((one) => one.item === label);
    assert.equal(named("sum").what, "passed");
    assert.equal(named("product").what, "failed");
    assert.equal(named("product").line, 3);
    assert.equal(named("tests/broken.scm").what, "errored");
    all.length = 0;
    await vscode.commands.executeCommand("testing.coverageAll");
    const covered = await until("coverage", () => all.find((one) => one.what === "addCoverage"));
    assert.equal(covered.file, "shop.sld");
    assert.equal(covered.lines.covered < covered.lines.total, true);
  },
  async "a test is debugged"({ tests }) {
    const item = [...tests.controller.items].map(([, one]) => one).find((one) => one.label === "tests/numbers.scm");
    const test = item.children.get("group numbers").children.get("test 1 product");
    const stop = stops();
    const breakpoint = new vscode.SourceBreakpoint(new vscode.Location(item.uri, new vscode.Position(3, 0)));
    vscode.debug.addBreakpoints([breakpoint]);
    const ended = tests.debug(new vscode.TestRunRequest([test]), new vscode.CancellationTokenSource().token);
    const first = await stop.next();
    assert.equal((await look(first)).frame.line, 4);
    vscode.debug.removeBreakpoints([breakpoint]);
    await first.session.customRequest("continue", { threadId: first.threadId });
    await ended;
    stop.dispose();
  },
};

async function activate() {
  const file = process.env.CHECKS_REPORT;
  if (!file) {
    return;
  }
  const results = [];
  const extension = vscode.extensions.getExtension("canny.canny-scheme");
  const own = await extension.activate();
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(own);
      results.push({ name });
    } catch (error) {
      results.push({ name, failure: String(error.stack ?? error) });
    }
  }
  fs.writeFileSync(`${file}.new`, JSON.stringify({ editor: `${vscode.env.appName} ${vscode.version}`, results }));
  fs.renameSync(`${file}.new`, file);
}

module.exports = { activate };
