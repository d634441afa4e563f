const fs = require("fs");
const readline = require("readline");

let sum = 0;
const lines = readline.createInterface({ input: fs.createReadStream("inputs/ascii.txt") });
lines.on("line", (line) => { sum += line.length; });
lines.on("close", () => console.log(sum));
