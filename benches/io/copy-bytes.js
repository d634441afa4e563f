const fs = require("fs");

const input = fs.openSync("inputs/server.log", "r");
const output = fs.openSync("outputs/server.log", "w");
const piece = Buffer.alloc(65536);
for (;;) {
  const count = fs.readSync(input, piece);
  if (count === 0) break;
  fs.writeSync(output, piece, 0, count);
}
fs.closeSync(output);
console.log(fs.statSync("outputs/server.log").size);
