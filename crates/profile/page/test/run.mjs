// Bundles the tests of the data code and runs all tests with Node's runner.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(here, "../node_modules/.tests-"));
const sources = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
try {
  await build({
    entryPoints: sources.map((name) => join(here, name)), outdir: folder, bundle: true, format: "esm",
    platform: "node", target: "node20", outExtension: { ".js": ".mjs" }, sourcemap: "inline", logLevel: "warning",
  });
  const files = sources.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  const { status } = spawnSync(
    process.execPath, ["--test", "--test-concurrency=1", "--test-timeout=120000", "--enable-source-maps", ...files, join(here, "page.test.mjs")], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
