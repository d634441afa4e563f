// Runs a guest in Node: `node guest.js FILE N` calls its `run`, `node guest.js FILE` runs a WASI command.
const { readFileSync } = require("fs");
const [file, argument] = process.argv.slice(2);
const code = new WebAssembly.Module(readFileSync(file));
if (argument === undefined) {
  process.removeAllListeners("warning");
  const { WASI } = require("wasi");
  const wasi = new WASI({ version: "preview1", args: [file], env: {} });
  wasi.start(new WebAssembly.Instance(code, wasi.getImportObject()));
} else {
  console.log(String(new WebAssembly.Instance(code).exports.run(Number(argument))));
}
