const fs = require("fs");
const readline = require("readline");

const pattern = /(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET \/([a-z]+)\/sigma\?id=(\d+)/;
let sum = 0;
const lines = readline.createInterface({ input: fs.createReadStream("inputs/server.log") });
lines.on("line", (line) => {
  const match = pattern.exec(line);
  if (match) sum += Number(match[4]);
});
lines.on("close", () => console.log(sum));
