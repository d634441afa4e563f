const fs = require("fs");

const bytes = fs.readFileSync("inputs/records.json");
const text = bytes.toString("base64");
console.log(text.length, Buffer.from(text, "base64").equals(bytes) ? "same" : "other");
