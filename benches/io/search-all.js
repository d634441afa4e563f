const fs = require("fs");

const pattern = /(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET \/([a-z]+)\/sigma\?id=(\d+)/g;
let sum = 0;
for (const match of fs.readFileSync("inputs/server.log", "utf8").matchAll(pattern)) {
  sum += Number(match[4]);
}
console.log(sum);
