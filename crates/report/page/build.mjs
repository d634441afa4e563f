// Writes a page as one file with script and style inside.
//
// The Content-Security-Policy names the hashes of exactly this script and this style, so that nothing
// that a measured program wrote can run. Packages are those of the folder of the page.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The licences of packages, which stand in the page. */
function noticesOf(folder, packages) {
  return packages.map((name) => {
    const place = join(folder, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(place, "LICENSE"), "utf8").trim()}`;
  }).join("\n\n----\n\n");
}

/**
 * Bundles the page of a folder with `build` of esbuild and writes it to `target`. `rules` are more
 * directives of the policy; `marker` is a comment that stands before the script.
 */
export async function writePage(build, { folder, target, entry, packages, title, shows, rules = [], marker = "" }) {
  const bundled = await build({
    entryPoints: [join(folder, entry)],
    bundle: true, write: false, minify: true, format: "iife", target: "es2022", charset: "utf8",
    jsx: "automatic", jsxImportSource: "preact", legalComments: "none",
    define: { __NOTICES__: JSON.stringify(noticesOf(folder, packages)) },
  });
  const styled = await build({
    entryPoints: [join(folder, "src/page.css")], bundle: true, write: false, minify: true, charset: "utf8", target: "es2022",
  });
  // Within a script element neither an end tag nor a comment may begin.
  const script = bundled.outputFiles[0].text.trim().replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
  const style = styled.outputFiles[0].text.trim();
  const policy = [
    "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "img-src data:",
    ...rules, "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
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
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<div id="root"><noscript>This page shows ${shows} and needs JavaScript for it.</noscript></div>
${marker === "" ? "" : `${marker}\n`}<script>${script}</script>
</body>
</html>
`;
  if (marker !== "" && page.split(marker).length !== 2) throw new Error("the marker has to be in the page once");
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, page);
  console.log(`${target}: ${(page.length / 1024).toFixed(1)} KiB`);
}
