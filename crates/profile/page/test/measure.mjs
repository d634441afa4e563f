// Measures the page with a long profile in Chromium: `npm run measure [-- FILE]`. Without a file it
// makes the profile of a run of ten minutes with 16 tasks: 1.2 million samples, 5,000 distinct stacks.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { withBrowser } from "./browser.mjs";
import { embed, generate } from "./generate.mjs";

const folder = mkdtempSync(join(tmpdir(), "canny-measure-"));
const file = join(folder, "page.html");
if (process.argv[2]) writeFileSync(file, embed(readFileSync(process.argv[2])));
else {
  const { text, sampleCount, stackCount } = generate({
    seconds: 600, tasks: 16, stacks: 5000, interval: 8e6, full: true, allocations: 50000, waits: 100000,
  });
  const gzip = gzipSync(text);
  console.log(`${sampleCount} samples, ${stackCount} stacks, ${(text.length / 1e6).toFixed(1)} MB, ${(gzip.length / 1e6).toFixed(1)} MB compressed`);
  writeFileSync(file, embed(gzip));
}
console.log(`page: ${(statSync(file).size / 1e6).toFixed(1)} MB`);

/** Proportional memory of a process, in MB, from the kernel. */
function memory(pid) {
  try {
    const found = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
    return Number(found[1]) / 1024;
  } catch {
    return 0;
  }
}

await withBrowser({ viewport: { width: 1360, height: 850 } }, async (context) => {
  const browser = await context.browser()?.newBrowserCDPSession();
  const renderers = async () => {
    if (!browser) return [];
    const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
    return processInfo.filter((process) => process.type === "renderer").map((process) => memory(process.id));
  };
  const page = await context.newPage();
  await page.goto("about:blank");
  const empty = Math.max(0, ...await renderers());
  let peak = 0;
  const watch = setInterval(async () => (peak = Math.max(peak, ...await renderers().catch(() => [0]))), 50);
  await page.goto(pathToFileURL(file).href, { waitUntil: "commit" });
  await page.waitForSelector(".hottest li");
  const first = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(performance.now()))));
  const found = await page.evaluate(() => performance.getEntriesByName("profile found")[0]?.startTime ?? 0);
  console.log(`the page is parsed after ${found.toFixed(0)} ms`);
  console.log(`first picture: ${first.toFixed(0)} ms after the navigation`);
  const rest = async (name, act, selector) => {
    const begin = performance.now();
    await act();
    if (selector) await page.waitForSelector(selector);
    await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
    await page.waitForTimeout(300);
    const times = await page.evaluate(() => globalThis.cannyProfile.client.times.splice(0));
    const shown = times.map((time) => `${time.kind} ${time.milliseconds.toFixed(0)} ms`).join(", ");
    console.log(`${name}: ${(performance.now() - begin - 300).toFixed(0)} ms; worker: ${shown}`);
  };
  const tab = (name) => () => page.click(`#tab-${name}`);
  await rest("summary", async () => {});
  await rest("flame graph", tab("flame"), ".flame canvas");
  await rest("inverted", () => page.click("text=Inverted"));
  await rest("time-ordered", () => page.click("text=Time-ordered"));
  await rest("left-heavy again", () => page.click("text=Left-heavy"));
  await rest("search", () => page.fill("[type=search]", "visit-node"));
  await rest("search as filter", () => page.click("text=Only"));
  await rest("no search", () => page.fill("[type=search]", ""));
  await rest("timeline", tab("timeline"), ".lanes canvas");
  await rest("zoomed timeline", () => page.click("[aria-label='Zoom in']"));
  await rest("one task", () => page.selectOption(".choice:has-text('Task') select", "3"));
  await rest("table", tab("table"), ".big-table");
  await rest("a function", () => page.click(".big-table .link >> nth=2"));
  await rest("allocation", tab("allocation"), ".big-table");
  await rest("waits", tab("waits"), ".big-table");
  // Frames while the wheel turns over the flame graph.
  await tab("flame")();
  await page.waitForTimeout(400);
  await page.evaluate(() => {
    globalThis.frames = [];
    let last = performance.now();
    const step = (now) => {
      globalThis.frames.push(now - last);
      last = now;
      globalThis.asked = requestAnimationFrame(step);
    };
    globalThis.asked = requestAnimationFrame(step);
  });
  await page.mouse.move(500, 400);
  for (let turn = 0; turn < 60; turn++) await page.mouse.wheel(0, turn < 30 ? -60 : 60);
  const frames = (await page.evaluate(() => globalThis.frames)).slice(1).sort((a, b) => a - b);
  console.log(`frames while zooming: median ${frames[frames.length >> 1].toFixed(1)} ms, longest ${frames[frames.length - 1].toFixed(1)} ms`);
  clearInterval(watch);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  const used = Math.max(0, ...await renderers());
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await page.waitForTimeout(1000);
  console.log(`after a collection in the page: ${Math.max(0, ...await renderers()).toFixed(0)} MB`);
  console.log(`memory of the renderer: ${used.toFixed(0)} MB at the end, peak ${peak.toFixed(0)} MB, an empty page ${empty.toFixed(0)} MB; heap of the page ${(heap / 1e6).toFixed(0)} MB`);
});
rmSync(folder, { recursive: true, force: true });
