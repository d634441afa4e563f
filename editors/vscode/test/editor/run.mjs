// Installs the packaged extension in code-server, opens a folder there with a headless Chromium, and lets
// checks.js check it.
//
//   npm run package
//   CANNY=…/canny CODE_SERVER=…/code-server/out/node/entry.js node test/editor/run.mjs
//
// CHROMIUM names the browser, /usr/bin/chromium unless given.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const { CANNY, CODE_SERVER, CHROMIUM = "/usr/bin/chromium" } = process.env;
const WAIT = 240000;

if (!CANNY || !CODE_SERVER) {
  console.log("CANNY and CODE_SERVER have to name the command and code-server's entry.js");
  process.exit(2);
}

const files = {
  "program.scm": `(import (scheme base) (scheme write))
(define (twice x)
  ;; A comment.
  (* 2 x))
(display (twice 4))
(newline)
`,
  "reader.scm": `(import (scheme base) (scheme write))
(define (show line)
  (display line))
(show (read-line))
`,
  "service.scm": `(import (scheme base) (scheme write) (canny tasks))
(define (work n)
  (sleep 0.05)
  (+ n 1))
(display "ready")
(newline)
(flush-output-port)
(let loop ((n 0)) (loop (work n)))
`,
  "wrong.scm": "(import (scheme base))\n(no-such-name 1)\n",
  "shop.sld": `(define-library (shop)
  (export price discount)
  (import (scheme base))
  (begin
    (define (price n)
      (* n 3))
    (define (discount n)
      (- n 1))))
`,
  "package.scm": "(package (name \"shop\") (version \"0.1.0\"))\n",
  "tests/numbers.scm": `(import (scheme base) (canny test) (shop))
(test-group "numbers"
  (test "sum" 3 (price 1))
  (test "product" 5 (price 2)))
`,
  "tests/broken.scm": "(import (scheme base) (canny test))\n(test 1 (lambda))\n",
  ".vscode/settings.json": JSON.stringify({ "canny.path": CANNY }),
};

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const directory = mkdtempSync(join(tmpdir(), "canny-editor-"));
const place = (...words) => join(directory, ...words);
for (const [name, text] of Object.entries(files)) {
  mkdirSync(dirname(place("work", name)), { recursive: true });
  writeFileSync(place("work", name), text);
}
writeFileSync(place("config.yaml"), "");
const common = [
  CODE_SERVER, "--config", place("config.yaml"), "--user-data-dir", place("data"), "--extensions-dir", place("extensions"),
];
const report = place("report.json");
const children = [];

async function main() {
  const own = readdirSync(root).filter((name) => name.endsWith(".vsix")).map((name) => join(root, name));
  const vsce = join(root, "node_modules/.bin/vsce");
  const words = ["package", "--allow-missing-repository", "--skip-license", "--no-dependencies", "--out", place("checks.vsix")];
  execFileSync(vsce, words, { cwd: here, stdio: "ignore" });
  for (const file of [...own, place("checks.vsix")]) {
    execFileSync(process.execPath, [...common, "--install-extension", file], { stdio: ["ignore", "inherit", "inherit"] });
  }
  const port = await freePort();
  const settings = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"];
  const server = [...common, ...settings, "--disable-workspace-trust", place("work")];
  children.push(spawn(process.execPath, server, { env: { ...process.env, CHECKS_REPORT: report }, stdio: "ignore" }));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  children.push(spawn(CHROMIUM, [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", `--user-data-dir=${place("chromium")}`, "--remote-debugging-port=0",
    `http://127.0.0.1:${port}/?folder=${place("work")}`,
  ], { stdio: "ignore" }));
  const end = Date.now() + WAIT;
  while (!existsSync(report) && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  if (!existsSync(report)) {
    console.log("FAILED: the editor did not report");
    return 1;
  }
  const { editor, results } = JSON.parse(readFileSync(report, "utf8"));
  console.log(editor);
  for (const { name, failure } of results) {
    console.log(failure ? `FAILED: ${name}: ${failure}` : `ok: ${name}`);
  }
  return results.some(({ failure }) => failure) ? 1 : 0;
}

let code = 1;
try {
  code = await main();
} finally {
  for (const child of children) {
    child.kill();
    await new Promise((resolve) => (child.exitCode ?? child.signalCode) === null ? child.once("exit", resolve) : resolve());
  }
  if (!process.env.KEEP) {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  } else {
    console.log(directory);
  }
}
process.exit(code);
