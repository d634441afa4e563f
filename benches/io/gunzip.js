const fs = require("fs");
const readline = require("readline");
const zlib = require("zlib");

let count = 0;
const input = fs.createReadStream("inputs/server.log.gz").pipe(zlib.createGunzip());
const lines = readline.createInterface({ input });
lines.on("line", () => { count++; });
lines.on("close", () => console.log(count));
