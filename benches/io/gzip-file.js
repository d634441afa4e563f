const fs = require("fs");
const zlib = require("zlib");

fs.writeFileSync(
  "outputs/records.json.gz",
  zlib.gzipSync(fs.readFileSync("inputs/records.json"), { level: 6 }),
);
console.log("done");
