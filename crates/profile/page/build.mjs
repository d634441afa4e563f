// Writes the page of profiles: one file with script and style inside, at ../src/page/page.html.
//
// `connect-src 'self'` of its policy is for the live mode.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writePage } from "../../report/page/build.mjs";

const folder = dirname(fileURLToPath(import.meta.url));
export const MARKER = "<!--CANNY-PROFILE-->";

await writePage(build, {
  folder, target: join(folder, "../src/page/page.html"), entry: "src/main.ts", packages: ["preact", "uplot"],
  title: "Canny profile", shows: "a profile", rules: ["worker-src blob:"], marker: MARKER,
});
