const fs = require("fs");

console.log(fs.readFileSync("inputs/mixed.txt", "utf8").length);
