// Pictures of each view in light and dark and at the width of a phone: `npm run screenshots -- FOLDER`.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { withBrowser } from "./browser.mjs";
import { embed, generate } from "./generate.mjs";

const folder = process.argv[2] ?? "/tmp/canny-page-screenshots";
const only = process.argv[3] ?? "";
mkdirSync(folder, { recursive: true });
const now = gzipSync(generate({}).text);
const before = gzipSync(generate({ slow: 0.3 }).text);
const file = join(folder, "page.html");
writeFileSync(file, embed(now, before));
const VIEWS = {
  summary: "", flame: "view=flame", selected: "view=flame", help: "view=waits", tier: "view=flame&color=tier&search=render", ordered: "view=flame&shape=ordered",
  inverted: "view=flame&shape=inverted", timeline: "view=timeline", range: "view=timeline&from=5000000000&to=9000000000",
  table: "view=table", chosen: "view=table&function=19", allocation: "view=allocation", waits: "view=waits", difference: "view=difference",
};
await withBrowser({}, async (context) => {
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(message.text()));
  page.on("pageerror", (error) => console.log(error.message));
  for (const [scheme, width, height] of [["light", 1360, 850], ["dark", 1360, 850], ["light", 390, 800]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height });
    for (const [name, fragment] of Object.entries(VIEWS)) {
      const shot = `${name}-${scheme}-${width}`;
      if (only !== "" && !shot.includes(only)) continue;
      await page.goto("about:blank");
      await page.goto(`${pathToFileURL(file).href}#${fragment}`);
      await page.waitForSelector(".panel");
      await page.waitForTimeout(500);
      if (name === "flame" && width > 600) await page.mouse.move(500, 420);
      if (name === "selected") {
        await page.mouse.click(width / 4, width > 600 ? 330 : 370);
        await page.waitForTimeout(400);
      }
      if (name === "help") await page.keyboard.press("?");
      if (name === "timeline" && width > 600) await page.mouse.move(620, 520);
      await page.waitForTimeout(150);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) console.log(`${shot}: ${wide} px too wide`);
      await page.screenshot({ path: join(folder, `${shot}.png`) });
    }
  }
});
