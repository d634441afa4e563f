"use strict";

const assert = require("node:assert/strict");
const test = require("node:test");
const vscode = require("./support/vscode");
const { adapters, configurations, problemOf, processesIn } = require("../src/debugger");
const { expanded } = require("../src/settings");
const manifest = require("../package.json");

const folder = { uri: vscode.Uri.file("/work") };

test("F5 without a configuration debugs a file of Scheme only", () => {
  vscode.window.activeTextEditor = { document: { languageId: "scheme" } };
  const made = configurations.resolveDebugConfiguration(folder, {});
  assert.deepEqual(made, { type: "canny", request: "launch", name: "Debug this file", program: "${file}", cwd: "/work" });
  vscode.window.activeTextEditor = { document: { languageId: "python" } };
  assert.deepEqual(configurations.resolveDebugConfiguration(folder, {}), {});
});

test("configurations are completed and nothing that is there is changed", () => {
  const complete = (configuration) => configurations.resolveDebugConfiguration(folder, configuration);
  assert.equal(complete({ type: "canny", request: "launch", cwd: "/a", program: "b" }).cwd, "/a");
  assert.equal(complete({ type: "canny", request: "attach" }).pid, "${command:pickProcess}");
  assert.equal(complete({ type: "canny", request: "attach", processId: 3 }).pid, undefined);
});

test("wrong configurations are refused with a reason", async () => {
  assert.equal(problemOf({ request: "launch", program: "a.scm", args: ["b"] }), undefined);
  assert.match(problemOf({ request: "launch", program: "" }), /program/);
  assert.match(problemOf({ request: "launch", program: "a.scm", args: "b" }), /args/);
  assert.match(problemOf({ request: "attach", pid: "abc" }), /abc/);
  assert.equal(problemOf({ request: "attach", pid: " 12 " }), undefined);
  const check = configurations.resolveDebugConfigurationWithSubstitutedVariables;
  assert.equal(await check(folder, { request: "attach", pid: 0 }), undefined);
  assert.equal(vscode.stub.messages.length, 1);
});

test("the adapter is the command of the settings", () => {
  vscode.stub.values.path = "~/bin/canny";
  const { command, args } = adapters.createDebugAdapterDescriptor({ workspaceFolder: folder });
  assert.match(command, /^\/.*\/bin\/canny$/);
  assert.deepEqual(args, ["dap"]);
  assert.equal(expanded("${workspaceFolder}/canny", "/work"), "/work/canny");
  assert.equal(expanded("canny", "/work"), "canny");
});

test("processes of Canny are listed, newest first, without servers of editors", () => {
  const listing = "  1 /sbin/init\n 20 /usr/bin/canny run service.scm\n 21 canny lsp\n 22 vi canny\n 23 canny b.scm\n";
  assert.deepEqual(processesIn(listing, "canny").map((one) => one.pid), ["23", "20"]);
});

test("snippets and attributes agree", () => {
  const [debuggers] = manifest.contributes.debuggers;
  for (const { body } of debuggers.configurationSnippets) {
    const { properties } = debuggers.configurationAttributes[body.request];
    for (const name of Object.keys(body).filter((one) => !["type", "request", "name"].includes(one))) {
      assert.ok(properties[name], `${name} of ${body.request}`);
    }
  }
});
