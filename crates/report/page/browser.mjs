// Starts a Chromium with a profile directory of its own and ends it again, for tests of pages.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CANDIDATES = [process.env.CANNY_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function browserPath() {
  return CANDIDATES.find((path) => path && existsSync(path)) ?? null;
}

/** A function that runs another one with a browser; `chromium` is that of Playwright. */
export function browserOf(chromium) {
  return async (options, use) => {
    const folder = mkdtempSync(join(tmpdir(), "canny-page-"));
    const context = await chromium.launchPersistentContext(folder, {
      ...options, executablePath: browserPath(), headless: true,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--enable-precise-memory-info", ...(options.args ?? [])],
    });
    try {
      return await use(context);
    } finally {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    }
  };
}
