// Debugs a program with the client that the protocol's authors test adapters with.
//
//   CANNY=target/release/canny node client.mjs

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const canny = process.env.CANNY ?? "canny";
const directory = mkdtempSync(join(tmpdir(), "canny-dap-"));
const program = join(directory, "program.scm");
writeFileSync(program, `(import (scheme base) (scheme read) (scheme write))
(define (twice x)
  (let ((y (* 2 x)))
    y))
(display (twice 4))
(newline)
(display "on standard error" (current-error-port))
(car (read (open-input-string "()")))
`);

async function withClient(work) {
  const client = new DebugClient(canny, "dap", "canny");
  client.defaultTimeout = 20000;
  await client.start();
  await work(client);
  await client.stop();
}

const checks = {
  async "unknown requests are refused"(client) {
    await assert.rejects(client.send("illegal_request"));
  },
  async "initialize tells what is there"(client) {
    const { body } = await client.initializeRequest();
    assert.equal(body.supportsConfigurationDoneRequest, true);
    assert.equal(body.supportsConditionalBreakpoints, true);
  },
  async "a program runs to its end"(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ program }),
      client.waitForEvent("terminated"),
    ]);
  },
  async "stopOnEntry stops at the first line"(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ program, stopOnEntry: true }),
      client.assertStoppedLocation("entry", { path: program, line: 2 }),
    ]);
  },
  async "a breakpoint is hit"(client) {
    await client.hitBreakpoint({ program }, { path: program, line: 4 });
    const { body } = await client.stackTraceRequest({ threadId: 1 });
    const scopes = await client.scopesRequest({ frameId: body.stackFrames[0].id });
    const { variablesReference } = scopes.body.scopes[0];
    const { body: { variables } } = await client.variablesRequest({ variablesReference });
    assert.deepEqual(variables.map((one) => [one.name, one.value]), [["y", "8"], ["x", "4"]]);
    const value = await client.evaluateRequest({ expression: "(+ x y)", frameId: body.stackFrames[0].id });
    assert.equal(value.body.result, "12");
    await Promise.all([
      client.stepOutRequest({ threadId: 1 }),
      client.assertStoppedLocation("step", { path: program, line: 5 }),
    ]);
  },
  async "a condition chooses the hit"(client) {
    await client.hitBreakpoint({ program }, { path: program, line: 4, condition: "(= y 8)" });
  },
  async "output comes by category"(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ program }),
      client.assertOutput("stdout", "8\n"),
      client.assertOutput("stderr", "on standard error"),
    ]);
  },
  async "an uncaught object stops"(client) {
    await Promise.all([
      client.waitForEvent("initialized").then(async () => {
        await client.setExceptionBreakpointsRequest({ filters: ["uncaught"] });
        await client.configurationDoneRequest();
      }),
      client.launch({ program }),
      client.waitForEvent("stopped").then((event) => assert.equal(event.body.reason, "exception")),
    ]);
  },
};

let failures = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await withClient(check);
    console.log(`ok: ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED: ${name}: ${error.message ?? error}`);
  }
}
rmSync(directory, { recursive: true });
process.exit(failures === 0 ? 0 : 1);
