// Writes the page of heap snapshots: one file with script and style inside, at ../src/page/page.html.
//
// Answers come from the server of the page, which `connect-src 'self'` of its policy allows.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writePage } from "../../report/page/build.mjs";

const folder = dirname(fileURLToPath(import.meta.url));

await writePage(build, {
  folder, target: join(folder, "../src/page/page.html"), entry: "src/main.tsx", packages: ["preact"],
  title: "Canny heap snapshots", shows: "heap snapshots",
});
