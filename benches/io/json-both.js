const fs = require("fs");

const records = JSON.parse(fs.readFileSync("inputs/records.json", "utf8"));
fs.writeFileSync("outputs/records.json", JSON.stringify(records));
console.log(records.length);
