const fs = require("fs");
const readline = require("readline");

const pattern = /(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET \/([a-z]+)\/sigma\?id=(\d+)/;
let count = 0;
const lines = readline.createInterface({ input: fs.createReadStream("inputs/server.log") });
lines.on("line", (line) => { if (pattern.test(line)) count++; });
lines.on("close", () => console.log(count));
