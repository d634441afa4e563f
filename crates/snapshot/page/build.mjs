// Writes the page: one file with script and style inside, at ../src/page/page.html.
//
// The Content-Security-Policy names the hashes of exactly this script and this style, so that nothing
// that a snapshot holds can run. Answers come from the server of the page.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../src/page/page.html");

const packages = ["preact"];
const notices = packages.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}`;
}).join("\n\n----\n\n");

const bundled = await build({
  entryPoints: [join(here, "src/main.tsx")],
  bundle: true, write: false, minify: true, format: "iife", target: "es2022", charset: "utf8",
  jsx: "automatic", jsxImportSource: "preact", legalComments: "none",
  define: { __NOTICES__: JSON.stringify(notices) },
});
const styled = await build({
  entryPoints: [join(here, "src/page.css")], bundle: true, write: false, minify: true, charset: "utf8", target: "es2022",
});
// Within a script element neither an end tag nor a comment may begin.
const script = bundled.outputFiles[0].text.trim().replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
const style = styled.outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "img-src data:",
  "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
].join("; ");

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>Canny heap snapshots</title>
<style>${style}</style>
</head>
<body>
<div id="root"><noscript>This page shows heap snapshots and needs JavaScript for it.</noscript></div>
<script>${script}</script>
</body>
</html>
`;
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
console.log(`${target}: ${(page.length / 1024).toFixed(1)} KiB`);
