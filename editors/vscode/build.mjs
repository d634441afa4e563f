// Writes dist/extension.js, the extension with all that it needs in one file, and LICENSE.txt, the
// licences of Canny and of the packages in that file.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const result = await build({
  absWorkingDir: folder,
  entryPoints: ["src/extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node18",
  format: "cjs",
  external: ["vscode"],
  metafile: true,
  logLevel: "warning",
});

// A package may have packages of its own.
const inside = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const packages = new Set(Object.keys(result.metafile.inputs).map((path) => inside.exec(path)?.[0]).filter(Boolean));

function licenseOf(place) {
  const path = join(folder, place);
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const file = readdirSync(path).find((one) => /^licen[cs]e/i.test(one));
  if (!file) {
    throw new Error(`${name} has no file with its licence (${license})`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(join(path, file), "utf8").trim()}\n`;
}

const own = ["LICENSE-MIT", "LICENSE-APACHE"].map((name) => readFileSync(join(folder, "../..", name), "utf8").trim());
const parts = [
  "Canny Scheme: MIT or Apache-2.0, as you like.\n", ...own.map((text) => `${text}\n`),
  "This extension contains the following packages.\n", ...[...packages].sort().map(licenseOf),
];
writeFileSync(join(folder, "LICENSE.txt"), parts.join(`\n${"-".repeat(72)}\n\n`));
