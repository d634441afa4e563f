// Runs the tests with Node's runner.

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { status } = spawnSync(process.execPath,
  ["--test", "--test-concurrency=1", "--test-timeout=120000", join(here, "page.test.mjs")], { stdio: "inherit" });
process.exitCode = status ?? 1;
