const fs = require("fs");

function field(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

const file = fs.createWriteStream("outputs/rows.csv");
let next = 0;
function writeMore() {
  while (next < 1000000) {
    const i = next++;
    const row = [i, "name", i % 2 === 0 ? "plain text" : "one, two", i * 3, "end"];
    if (!file.write(row.map(field).join(",") + "\n")) {
      file.once("drain", writeMore);
      return;
    }
  }
  file.end();
}
file.on("finish", () => console.log(fs.statSync("outputs/rows.csv").size));
writeMore();
