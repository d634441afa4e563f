// The page in a real browser. Without a Chromium these tests are skipped; CANNY_BROWSER=required makes
// that a failure. CANNY_CHROMIUM names the browser to take, and CANNY the program that serves.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { browserPath, withBrowser } from "./browser.mjs";
import { BULK_LINE, HARMFUL, KEEPER_LINE, haveCanny, withServer } from "./server.mjs";

const missing = browserPath() === null ? "there is no Chromium" : haveCanny() ? false : "there is no canny";
if (missing && process.env.CANNY_BROWSER === "required") throw new Error(missing);

test("the page is one file, names no other host, and has a strict policy", () => {
  const source = readFileSync(new URL("../../src/page/page.html", import.meta.url), "utf8");
  assert.match(source, /default-src 'none'/);
  assert.ok(!/unsafe-(inline|eval)/.test(source));
  assert.ok(!/(src|href)="?https?:/i.test(source));
  assert.match(source, /Permission is hereby granted/);
});

describe("the page", { skip: missing }, () => {
  let page;
  let address;
  let finish;
  let closed;
  const problems = [];
  const requests = [];
  before(async () => {
    await new Promise((resolve, reject) => {
      closed = withServer((served) => withBrowser({ viewport: { width: 1280, height: 800 } }, async (context) => {
        address = served;
        page = await context.newPage();
        page.on("pageerror", (error) => problems.push(error.message));
        page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
        page.on("request", (request) => requests.push(request.url()));
        const end = new Promise((done) => (finish = done));
        resolve();
        await end;
      }));
      closed.catch(reject);
    });
  });
  after(async () => {
    finish?.();
    await closed;
  });
  const settled = async () => {
    await page.waitForTimeout(50);
    await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
    await page.waitForTimeout(50);
  };
  const open = async (fragment = "") => {
    problems.length = 0;
    requests.length = 0;
    await page.goto("about:blank");
    await page.goto(`${address}#${fragment}`);
    await page.waitForSelector("h1, [role=alert]");
    await settled();
  };
  const text = () => page.evaluate(() => document.body.innerText);
  const state = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  const fine = () => {
    assert.deepEqual(problems, []);
    assert.deepEqual(requests.filter((url) => url !== "about:blank" && !url.startsWith(address) && !url.startsWith("data:")), []);
  };
  const VIEWS = ["overview", "types", "map", "query", "duplicates", "unused", "compare", "suspects"];

  test("every view has a heading, no errors and no scrolling sideways at both widths", async () => {
    for (const [width, height] of [[1280, 800], [380, 800]]) {
      await page.setViewportSize({ width, height });
      for (const view of VIEWS) {
        await open(`view=${view}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} at ${width}: ${wide} px too wide`);
        assert.ok((await page.locator("main h1").count()) === 1, view);
        fine();
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("the overview has the snapshots and charts of their growth", async () => {
    await open();
    assert.equal(await page.locator("figure.chart").count(), 3);
    assert.match(await text(), /known\.scm/);
    await page.locator("header select").selectOption("1");
    await settled();
    assert.equal((await state()).snapshot, "1");
    assert.match(await text(), /Largest types of snapshot 1/);
    fine();
  });

  test("types are sorted, filtered and lead to their objects", async () => {
    await open("view=types");
    await page.getByRole("button", { name: "objects" }).click();
    await settled();
    assert.equal((await state()).sort, "objects");
    await page.locator("[data-focus]").fill("ENTRY");
    await page.waitForFunction(() => location.hash.includes("filter=ENTRY"));
    await settled();
    assert.equal(await page.locator("main tbody tr").count(), 1);
    await page.getByRole("link", { name: "entry", exact: true }).click();
    await settled();
    assert.equal((await state()).query, '(type? "entry")');
    assert.match(await text(), /1,400 objects/);
    fine();
  });

  test("sampled allocations have their places", async () => {
    await open("view=types&by=place");
    assert.match(await text(), /as samples of allocations tell/);
    assert.match(await text(), new RegExp(`bulk-of \\S*known\\.scm:${BULK_LINE}`));
    await open(`view=query&query=${encodeURIComponent("(and (family? 'bytevector) (allocated-at? \"known.scm\"))")}`);
    await page.locator("main tbody td a").first().click();
    await settled();
    assert.match(await text(), /allocated by\s+bulk-of/);
    await open("view=suspects");
    assert.match(await text(), /Places that allocate\s[\s\S]*bulk-of/);
    await open("view=types&by=label");
    assert.match(await text(), /no label/);
    fine();
  });

  test("results of a query come in pages", async () => {
    await open(`view=query&query=${encodeURIComponent("(type? 'entry)")}`);
    assert.match(await text(), /1 to 50 of 1,400/);
    const first = await page.locator("main tbody td a").first().getAttribute("href");
    await page.getByRole("button", { name: "Next" }).click();
    await settled();
    assert.match(await text(), /51 to 100 of 1,400/);
    assert.notEqual(await page.locator("main tbody td a").first().getAttribute("href"), first);
    await page.goBack();
    await settled();
    assert.match(await text(), /1 to 50 of 1,400/);
    fine();
  });

  test("a wrong query shows its wrong part", async () => {
    await open("view=query");
    await page.keyboard.press("/");
    await page.keyboard.type("(retained > 1MX)");
    await page.keyboard.press("Enter");
    await settled();
    assert.match(await page.locator("[role=alert]").innerText(), /1MX is no size/);
    // The browser notes the refused request; the page itself has no error.
    assert.ok(problems.every((problem) => problem.includes("400")), problems.join());
  });

  test("an object says why it is alive, with paths, edges and dominators", async () => {
    await open(`view=query&query=${encodeURIComponent("(and (type? 'string) (text-prefix? \"<script>\"))")}&sort=node`);
    await page.locator("main tbody td a").first().click();
    await settled();
    assert.equal((await state()).view, "object");
    assert.match(await page.locator(".why").innerText(), /is alive because .*kept/);
    assert.ok((await page.locator(".chain li").count()) > 2);
    assert.match(await page.locator("pre").innerText(), /<script>/);
    fine();
  });

  test("texts and names are never markup", async () => {
    for (const fragment of ["view=duplicates", "view=types", `view=query&query=${encodeURIComponent(`(text? ${JSON.stringify(HARMFUL)})`)}`, "view=types&filter=odd"]) {
      await open(fragment);
      assert.equal(await page.locator("main script, main img, main b[onclick]").count(), 0, fragment);
      assert.doesNotMatch(await page.title(), /harm/);
      fine();
    }
    // The name of a record type loses its outer brackets.
    assert.match(await text(), /b onclick="1">odd<\/b/);
  });

  const procedures = (file) => `view=query&sort=node&query=${encodeURIComponent(`(and (family? 'procedure) (file? "${file}"))`)}`;
  const marked = ".source .code [aria-current]";

  test("an object shows the lines of its source, with its own one marked", async () => {
    await open(procedures("known.scm"));
    await page.locator("main tbody tr", { hasText: `known.scm:${KEEPER_LINE}` }).locator("a").first().click();
    await settled();
    assert.equal(await page.locator(".source li").count(), 7);
    assert.match(await page.locator(marked).innerText(), /\(lambda \(\) \(entry-name entry\)\)/);
    assert.match(await page.locator(".source").innerText(), /<script>document/);
    assert.equal(await page.locator("main script, main img").count(), 0);
    assert.equal(await page.locator(".source .note").count(), 0);
    fine();
  });

  test("tables show the lines of a place on demand, in light and dark and at both widths", async () => {
    for (const [width, theme] of [[1280, "light"], [400, "dark"], [400, "light"]]) {
      await page.setViewportSize({ width, height: 800 });
      for (const fragment of [procedures("known.scm"), "view=types&filter=keeper-of"]) {
        await open(fragment);
        if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) await page.keyboard.press("t");
        assert.equal(await page.locator(".source").count(), 0);
        const button = page.locator("button.lines").first();
        await button.focus();
        await page.keyboard.press("Enter");
        await settled();
        assert.equal(await button.getAttribute("aria-expanded"), "true");
        assert.equal(await page.locator(marked).count(), 1);
        const [shade, ink] = await page.locator(`${marked} code`).evaluate((code) =>
          [getComputedStyle(code.parentElement).backgroundColor, getComputedStyle(code).color].map((color) => {
            const [red, green, blue] = color.match(/\d+/g).map(Number);
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
          }));
        assert.ok(theme === "dark" ? ink - shade > 100 : shade - ink > 100, `${theme}: ${ink} on ${shade}`);
        const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth - innerWidth,
          ...[...document.querySelectorAll(".scroll")].map((one) => one.scrollWidth - one.clientWidth)));
        assert.ok(wide <= 0, `${fragment} at ${width}: ${wide} px too wide`);
        await button.click();
        assert.equal(await page.locator(".source").count(), 0);
        fine();
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a source that is missing says so, and other files are not shown", async () => {
    await open(procedures("gone.scm"));
    await page.locator("button.lines").first().click();
    await settled();
    assert.match(await page.locator(".source .note").innerText(), /is not on this machine/);
    fine();
    for (const file of ["/etc/passwd", "../../../../etc/passwd", "known.heap", ""]) {
      const answer = await fetch(`${address}api/source?line=1&file=${encodeURIComponent(file)}`);
      assert.equal(answer.status, 400, file);
      assert.match((await answer.json()).error, /names/);
    }
  });

  test("the map descends by clicks and keys and goes up again, in both shapes", async () => {
    for (const shape of ["treemap", "sunburst"]) {
      await open(shape === "treemap" ? "view=map" : "view=map&shape=sunburst");
      const parts = page.locator(`svg.${shape} g[role=button]`);
      assert.ok((await parts.count()) > 2);
      await parts.first().focus();
      await page.keyboard.press("Enter");
      await settled();
      const { id } = await state();
      assert.notEqual(id, undefined);
      assert.ok((await page.locator(".crumbs li").count()) >= 2);
      await page.keyboard.press("u");
      await page.waitForFunction((before) => !location.hash.includes(`id=${before}&`) && !location.hash.endsWith(`id=${before}`), id);
      await settled();
      fine();
    }
  });

  test("two snapshots are compared, with new objects", async () => {
    await open("view=compare");
    assert.match(await text(), /objects are new/);
    assert.match(await page.locator("main tbody tr").first().innerText(), /entry|vector/);
    await page.getByRole("link", { name: "New objects" }).click();
    await settled();
    assert.equal((await state()).query, "(new-since? 2)");
    fine();
    await open("view=suspects");
    assert.match(await text(), /entry/);
    fine();
  });

  test("keys choose views, the theme and help", async () => {
    await open();
    await page.keyboard.press("5");
    await settled();
    assert.equal((await state()).view, "duplicates");
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const earlier = await theme();
    await page.keyboard.press("t");
    assert.notEqual(await theme(), earlier);
    await page.keyboard.press("t");
    await page.keyboard.press("?");
    assert.ok(await page.locator("dialog[open]").isVisible());
    await page.keyboard.press("Escape");
    assert.ok(!(await page.locator("dialog").isVisible()));
    fine();
  });

  test("odd addresses do no harm", async () => {
    for (const fragment of ["view=nothing", "view=object&id=999999", "view=object&id=-1", "view=types&first=99999&sort=x", "snapshot=77"]) {
      await open(fragment);
      assert.ok((await text()).length > 50, fragment);
      assert.ok(problems.every((problem) => problem.includes("400")), problems.join());
    }
  });

  test("other paths of the server are refused", async () => {
    const base = new URL(address).origin;
    for (const path of ["/", "/0123456789abcdef0123456789abcdef/", `${new URL(address).pathname}etc`]) {
      assert.equal((await fetch(base + path)).status, 404, path);
    }
    assert.equal((await fetch(address, { method: "POST" })).status, 405);
  });
});
