// Pictures of each view in light and dark and at the width of a phone: `npm run screenshots -- FOLDER [PART [FILE]]`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { withBrowser } from "./browser.mjs";
import { withServer } from "./server.mjs";

const folder = process.argv[2] ?? "/tmp/canny-heap-screenshots";
const only = process.argv[3] ?? "";
mkdirSync(folder, { recursive: true });
await withServer((address) => withBrowser({}, async (context) => {
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(message.text()));
  page.on("pageerror", (error) => console.log(error.message));
  const answer = await fetch(`${address}api/objects?query=${encodeURIComponent("(type? \"string\")")}&count=1`);
  const { objects } = await answer.json();
  const id = objects[0]?.id ?? 1;
  const query = encodeURIComponent("(and (retained > 100B) (not library?))");
  const views = {
    overview: "", types: "view=types&sort=retained", map: "view=map", sunburst: "view=map&shape=sunburst", query: `view=query&query=${query}`,
    empty: "view=query", wrong: "view=query&query=(foo)", duplicates: "view=duplicates", unused: "view=unused", compare: "view=compare",
    suspects: "view=suspects", object: `view=object&id=${id}`,
  };
  for (const [scheme, width, height] of [["light", 1280, 900], ["dark", 1280, 900], ["light", 380, 800]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height });
    for (const [name, fragment] of Object.entries(views)) {
      const shot = `${name}-${scheme}-${width}`;
      if (only !== "" && !shot.includes(only)) continue;
      await page.goto("about:blank");
      await page.goto(`${address}#${fragment}`);
      await page.waitForSelector("h1");
      await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
      await page.waitForTimeout(200);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) console.log(`${shot}: ${wide} px too wide`);
      await page.screenshot({ path: join(folder, `${shot}.png`), fullPage: true });
    }
  }
}), process.argv[4]);
