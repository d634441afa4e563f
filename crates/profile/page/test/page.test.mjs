// The page in a real browser. Without a Chromium these tests are skipped; CANNY_BROWSER=required makes
// that a failure. CANNY_CHROMIUM names the browser to take.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { browserPath, withBrowser } from "./browser.mjs";
import { MARKER, PAGE, embed, generate } from "./generate.mjs";

const missing = browserPath() === null;
if (missing && process.env.CANNY_BROWSER === "required") throw new Error("there is no Chromium");

const folder = mkdtempSync(join(tmpdir(), "canny-page-test-"));
const now = generate({ seconds: 6, stacks: 200, waits: 800, allocations: 600 });
const earlier = generate({ seconds: 6, stacks: 200, waits: 800, allocations: 600, slow: 0.2 });
const HEADER = { profile: 1, program: "p.scm", arguments: [], canny: "1", pid: 1, started: 0, interval: 1e6, allocation_interval: null, modes: ["cpu"] };
const text = (lines) => `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;

let files = 0;
function pageWith(profile, base = null) {
  const bytes = (value) => (Buffer.isBuffer(value) ? value : gzipSync(value));
  const file = join(folder, `page-${files++}.html`);
  writeFileSync(file, embed(bytes(profile), base === null ? null : bytes(base)));
  return pathToFileURL(file).href;
}

describe("the page", { skip: missing ? "there is no Chromium" : false }, () => {
  let page;
  let finish;
  let closed;
  const problems = [];
  const requests = [];
  before(async () => {
    const ready = new Promise((resolve) => {
      closed = withBrowser({ viewport: { width: 1280, height: 800 } }, async (context) => {
        page = await context.newPage();
        page.on("pageerror", (error) => problems.push(error.message));
        page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
        page.on("request", (request) => requests.push(request.url()));
        const end = new Promise((done) => (finish = done));
        resolve();
        await end;
      });
    });
    await ready;
  });
  after(async () => {
    finish();
    await closed;
    rmSync(folder, { recursive: true, force: true });
  });
  const open = async (address, selector = ".panel") => {
    problems.length = 0;
    requests.length = 0;
    await page.goto("about:blank");
    await page.goto(address);
    await page.waitForSelector(selector);
  };
  const settled = async () => {
    await page.waitForTimeout(60);
    await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
    await page.waitForTimeout(60);
  };
  const fragment = () => page.evaluate(() => location.hash);

  test("is one file with the marker once, no address of another host, and a strict policy", () => {
    const source = readFileSync(PAGE, "utf8");
    assert.equal(source.split(MARKER).length, 2);
    assert.match(source, /default-src 'none'/);
    assert.ok(!/unsafe-(inline|eval)/.test(source));
    assert.ok(!/(src|href)="?https?:/i.test(source));
    assert.match(source, /Permission is hereby granted/);
  });

  test("shows every view without an error and asks no other host", async () => {
    await open(pageWith(now.text, earlier.text));
    for (const name of ["summary", "flame", "timeline", "table", "allocation", "waits", "difference"]) {
      await page.click(`#tab-${name}`);
      await settled();
      assert.equal(await page.getAttribute(`#tab-${name}`, "aria-selected"), "true");
      assert.ok((await page.textContent("#panel")).length > 20, name);
      assert.equal(await page.locator("#panel [role=alert]").count(), 0, name);
    }
    assert.deepEqual(problems, []);
    assert.deepEqual(requests.filter((address) => !/^(file|data|blob|about):/.test(address)), []);
  });

  test("has the summary of what ran", async () => {
    await open(pageWith(now.text));
    await page.waitForSelector(".hottest li");
    const summary = await page.textContent("#panel");
    assert.match(summary, /wiki\/server\.scm --port 8080/);
    assert.equal(await page.locator(".hottest > li").count(), 10);
    assert.match(summary, /not inlined into “map”/);
  });

  test("draws the flame graph, zooms by click, wheel and keys, and shows a tooltip", async () => {
    await open(`${pageWith(now.text)}#view=flame`, ".flame canvas");
    await settled();
    const colors = () => page.evaluate(() => {
      const canvas = document.querySelector(".flame canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 200);
      const found = new Set();
      for (let at = 0; at < data.length; at += 400) found.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
      return found.size;
    });
    assert.ok(await colors() > 5);
    const box = await page.locator(".flame canvas").boundingBox();
    await page.mouse.move(box.x + 200, box.y + 10);
    await page.waitForSelector(".tooltip");
    const tooltip = await page.textContent(".tooltip");
    for (const part of ["main", "server.scm:12", "Total", "Self", "Tier", "compiled"]) assert.ok(tooltip.includes(part), tooltip);
    const reset = page.locator("button:has-text('Reset zoom')");
    assert.ok(await reset.isDisabled());
    await page.mouse.wheel(0, -300);
    await settled();
    assert.ok(await reset.isEnabled());
    await reset.click();
    await page.mouse.click(box.x + 300, box.y + 6 * 20 + 10);
    await settled();
    assert.ok(await reset.isEnabled());
    assert.match(await page.textContent(".details"), /Total/);
    await page.focus(".flame canvas");
    await page.keyboard.press("Escape");
    assert.ok(await reset.isDisabled());
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.match(await page.textContent(".flame [aria-live]"), /^serve, /);
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowUp");
    assert.match(await page.textContent(".flame [aria-live]"), /^main, /);
    for (const shape of ["Inverted", "Time-ordered"]) {
      await page.click(`text=${shape}`);
      await settled();
      assert.ok(await colors() > 5, shape);
    }
    assert.deepEqual(problems, []);
  });

  test("search tells the share, and can filter", async () => {
    await open(`${pageWith(now.text)}#view=flame`, ".flame canvas");
    await page.keyboard.press("/");
    await page.keyboard.type("render-page");
    await page.waitForSelector(".found");
    const share = parseFloat((await page.textContent(".found")).replace(/[^\d.]/g, ""));
    assert.ok(share > 0 && share < 100);
    await page.click("text=Only");
    await settled();
    assert.match(await page.textContent(".found"), /100\.0/);
    assert.match(await fragment(), /search=render-page.*only=true/);
    await page.click("text=Clear filters");
    assert.equal(await page.locator(".found").count(), 0);
  });

  test("filters by task, label and group, from the address too", async () => {
    const address = pageWith(now.text);
    await open(`${address}#view=table`);
    await page.waitForSelector(".big-table tbody tr");
    const sum = () => page.textContent(".big-table tbody tr:not([aria-hidden]) td:nth-child(2)");
    const whole = await sum();
    await page.selectOption(".choice:has-text('Task') select", "2");
    await settled();
    assert.notEqual(await sum(), whole);
    assert.match(await fragment(), /task=2/);
    await page.selectOption(".choice:has-text('Label') select", "route=/save");
    await settled();
    await open(`${address}#view=table&groups=8`);
    await page.waitForSelector(".big-table tbody tr");
    await settled();
    assert.match(await page.textContent(".menu summary"), /Collector/);
    assert.match(await page.textContent(".big-table tbody"), /evacuate/);
    await page.click("text=Clear filters");
    assert.match(await page.textContent(".menu summary"), /All groups/);
  });

  test("a range that is brushed in the timeline filters all views, and the back button removes it", async () => {
    await open(`${pageWith(now.text)}#view=timeline`, ".lanes canvas");
    await settled();
    const box = await page.locator(".lanes canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 160, { steps: 4 });
    await page.mouse.up();
    await settled();
    const chosen = new URLSearchParams((await fragment()).slice(1));
    assert.ok(Math.abs(Number(chosen.get("from")) - 1.5e9) < 5e7 && Math.abs(Number(chosen.get("to")) - 3e9) < 5e7);
    await page.click("#tab-summary");
    await settled();
    assert.match(await page.textContent(".tiles"), /1\.5\d? s/);
    await page.goBack();
    await page.goBack();
    await settled();
    assert.equal(await page.locator(".chip").count(), 0);
    const chart = await page.locator(".chart .u-over").boundingBox();
    await page.mouse.move(chart.x + 100, chart.y + 40);
    await page.mouse.down();
    await page.mouse.move(chart.x + 300, chart.y + 40, { steps: 4 });
    await page.mouse.up();
    await settled();
    assert.equal(await page.locator(".chip").count(), 1);
    assert.deepEqual(problems, []);
  });

  test("the table shows callers, callees and source lines with notes", async () => {
    await open(`${pageWith(now.text)}#view=table&search=escape`);
    await page.click(".big-table .link:text-is('escape')");
    await page.waitForSelector(".source");
    const detail = await page.textContent(".detail");
    for (const part of ["Callers", "render-node", "Callees", "append", "(define (escape text)", "copies the first list"]) {
      assert.ok(detail.includes(part), part);
    }
    await page.click(".detail .link:text-is('render-node')");
    await page.waitForFunction(() => document.querySelector(".detail h3").textContent === "render-node");
  });

  test("names of any characters are shown as text", async () => {
    const names = ["<script>globalThis.broken = 1</script>", "\"><img src=x onerror=\"globalThis.broken = 1\">", "a\nb\u202e\u0000", "</title>&amp;", "λ 😀"];
    const lines = [
      { ...HEADER, program: names[0], arguments: names }, { strings: names },
      { functions: { name: [0, 1, 2, 3, 4], file: [0, 1, 2, 3, 4], line: [1, 2, 3, 4, 5], group: [0, 1, 2, 3, 4] } },
      { frames: { function: [0, 1, 2, 3, 4], line: [1, 2, 3, 4, 5], column: [0, 0, 0, 0, 0], tier: [0, 1, 2, 3, 4], tail: [0, 0, 0, 0, 1] } },
      { stacks: { parent: [null, 0, 1, 2, 3], frame: [0, 1, 2, 3, 4], kind: [0, 0, 0, 0, 0] } },
      { threads: { id: [1], name: [0] } }, { tasks: { number: [0, 1], name: [1, 2], starter: [null, 0], started: [0, 0] } },
      { labels: [[[0, 1]]] },
      { samples: { at: [1e6, 1e6, 1e6], thread: [0, 0, 0], task: [0, 1, 1], label: [0, 0, 0], stack: [4, 3, 2], weight: [1e6, 1e6, 1e6] } },
      { waits: { task: [0], label: [0], stack: [4], from: [0], ready: [1e6], resumed: [2e6], kind: ["lock"], on: [0] } },
      { allocations: { at: [1], thread: [0], task: [0], label: [0], stack: [1], type: [0], size: [1], weight: [9], reason: [1], id: [1] } },
      { events: { at: [1], duration: [1], thread: [0], kind: ["deoptimization"], text: [1], stack: [null] } },
      { notes: { function: [0, 1], line: [0, 2], text: [0, 1] } }, { sources: { file: [0, 1], text: [0, 1] } }, { end: 4e6 },
    ];
    await open(`${pageWith(text(lines), text(lines))}`);
    for (const name of ["summary", "flame", "timeline", "table", "allocation", "waits", "difference"]) {
      await page.click(`#tab-${name}`);
      await settled();
    }
    await page.click("#tab-table");
    await page.waitForSelector(".big-table .link");
    const table = await page.textContent(".big-table");
    assert.ok(table.includes(names[0]) && table.includes(names[1]) && table.includes("a⏎b�␀") && table.includes(names[4]), table);
    for (const link of await page.locator(".big-table .link").all()) {
      await link.click();
      await settled();
    }
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
    assert.equal(await page.locator("#root script, #root img").count(), 0);
    assert.deepEqual(problems, []);
  });

  test("broken, cut and empty profiles are said so", async () => {
    const cases = [
      [gzipSync(""), ".problem", /empty/],
      [Buffer.from("no gzip at all"), ".problem", /not a profile of Canny/],
      [Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]), ".problem", /damaged/],
      ["{\"other\": 1}\n", ".problem", /not a profile of Canny/],
      [text([{ ...HEADER, profile: 9 }]), ".problem", /version 9/],
      [now.text.slice(0, now.text.length - 40), ".warning", /last line is cut/],
      [text([HEADER]), ".warning", /end is missing/],
      [text([HEADER, { end: 5 }]), ".warning", /no samples/],
      [text([HEADER, { lost: 12 }, { end: 5 }]), ".warning", /12 samples could not be kept/],
      [text([HEADER, { frames: { function: [4], line: [1], column: [1], tier: [1], tail: [0] } }, { end: 5 }]), ".warning", /not defined/],
      [gzipSync(now.text).subarray(0, 40000), ".warning", /compressed data are cut/],
    ];
    for (const [profile, selector, message] of cases) {
      await open(pageWith(profile), selector);
      assert.match((await page.locator(selector).allTextContents()).join("\n"), message);
      if (selector === ".problem") assert.equal(await page.locator("input[type=file]").count(), 1);
      else {
        for (const name of ["flame", "timeline", "table", "allocation", "waits", "difference"]) {
          await page.click(`#tab-${name}`);
          await settled();
          assert.ok((await page.textContent("#panel")).trim().length > 5, `${message} ${name}`);
        }
      }
      assert.deepEqual(problems, []);
    }
  });

  test("exact counts alone have a summary and a table", async () => {
    await open(pageWith(text([{ ...HEADER, modes: ["counts"] }, { strings: ["f", "g"] },
      { functions: { name: [0, 1], file: [null, null], line: [0, 0], group: [0, 0] } },
      { counts: { caller: [null, 0], callee: [0, 1], calls: [1, 70], inclusive: [9e6, 7e6], exclusive: [2e6, 7e6], interpreted: [1, 0], compiled: [0, 70], inlined: [0, 0] } },
      { end: 1e7 }])));
    await page.waitForSelector(".hottest li");
    assert.match(await page.textContent(".hottest"), /g.*77\.8/s);
    await page.click("#tab-table");
    await page.waitForSelector(".big-table .link");
    assert.match(await page.textContent(".big-table"), /Calls/);
    await page.click("#tab-flame");
    assert.match(await page.textContent("#panel"), /Exact counts have no stacks/);
  });

  test("without a profile it offers to open one; a second one that is dropped is compared", async () => {
    const bare = join(folder, "bare.html");
    writeFileSync(bare, readFileSync(PAGE));
    await open(pathToFileURL(bare).href, ".center .button");
    await page.setInputFiles(".center input[type=file]", { name: "bad", mimeType: "", buffer: Buffer.from("bad") });
    await page.waitForSelector(".problem");
    await page.setInputFiles(".center input[type=file]", { name: "run.profile", mimeType: "", buffer: gzipSync(now.text) });
    await page.waitForSelector(".hottest li");
    const drop = async (bytes) => {
      const data = await page.evaluateHandle((content) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], "earlier.profile"));
        return transfer;
      }, bytes.toString("base64"));
      await page.dispatchEvent("body", "dragenter", { dataTransfer: data });
      await page.waitForSelector(".drop");
      await page.dispatchEvent("body", "drop", { dataTransfer: data });
    };
    await drop(Buffer.from("nonsense"));
    await page.waitForSelector("[role=alert]");
    await drop(gzipSync(earlier.text));
    await page.waitForSelector(".difference .flame canvas");
    await settled();
    assert.match(await page.textContent(".big-table tbody"), /append/);
    assert.match(await page.textContent(".difference .toolbar"), /before, .* now/);
  });

  test("a served profile is followed while it grows", async (context) => {
    const lines = Buffer.from(generate({ seconds: 6, stacks: 100, rowsOfLine: 300, waits: 50, allocations: 50 }).text);
    let sent = Math.floor(lines.length * 0.6);
    const asked = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      if (request.url === "/") {
        response.setHeader("content-type", "text/html");
        response.end(readFileSync(PAGE));
      } else if (request.url === "/profile") response.end(lines.subarray(0, sent));
      else {
        const from = Number(/^\/profile\?from=(\d+)$/.exec(request.url)?.[1]);
        response.end(lines.subarray(from, sent));
        sent = Math.min(lines.length, sent + Math.ceil(lines.length / 4));
      }
    });
    context.after(() => {
      server.closeAllConnections();
      server.close();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await open(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForSelector(".live");
    await page.waitForFunction(() => document.querySelector(".live") === null, null, { timeout: 15000 });
    await settled();
    assert.match(await page.textContent(".tiles"), /6\.00 s/);
    assert.ok(asked.filter((address) => address.includes("?from=")).length >= 2, asked.join(" "));
    assert.equal(await page.locator(".warning").count(), 0);
    assert.deepEqual(problems, []);
  });

  test("works where the browser refuses the worker, at once or later", async () => {
    for (const refuse of [
      () => (globalThis.Worker = class { constructor() { throw new Error("refused"); } }),
      () => (globalThis.Worker = class { postMessage() { setTimeout(() => this.onerror?.(new Event("error"))); } }),
    ]) {
      const other = await page.context().newPage();
      await other.addInitScript(`(${refuse})()`);
      await other.goto(pageWith(now.text));
      await other.waitForSelector(".hottest li");
      await other.click("#tab-timeline");
      await other.waitForSelector(".lanes canvas");
      await other.close();
    }
  });

  test("is used by keys alone", async () => {
    await open(pageWith(now.text));
    await page.focus("#tab-summary");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.getAttribute("#tab-flame", "aria-selected"), "true");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-flame");
    await page.keyboard.press("End");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-difference");
    await page.keyboard.press("4");
    assert.equal(await page.getAttribute("#tab-table", "aria-selected"), "true");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    assert.match(await page.textContent("dialog"), /Flame graph/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, input")]
      .filter((element) => !element.textContent.trim() && !element.getAttribute("aria-label") && !element.closest("label")).length);
    assert.equal(unnamed, 0);
  });

  test("has a dark mode by the system and by its switch", async () => {
    await page.emulateMedia({ colorScheme: "dark" });
    await open(pageWith(now.text));
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.click("[aria-label='Light colours']");
    assert.notEqual(await background(), dark);
    await page.click("[aria-label='Dark colours']");
    assert.equal(await background(), dark);
    await page.evaluate(() => localStorage.clear());
    await page.emulateMedia({ colorScheme: "light" });
  });

  test("fits the width of a phone", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(pageWith(now.text, earlier.text));
    for (const name of ["summary", "flame", "timeline", "table", "allocation", "waits", "difference"]) {
      await page.click(`#tab-${name}`);
      await settled();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});
