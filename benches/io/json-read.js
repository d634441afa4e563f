const fs = require("fs");

console.log(JSON.parse(fs.readFileSync("inputs/records.json", "utf8")).length);
