const fs = require("fs");

// The rows of a text, with quoted fields as in RFC 4180.
function* rows(text) {
  let row = [];
  let at = 0;
  while (at < text.length) {
    let field;
    if (text[at] === '"') {
      field = "";
      at++;
      for (;;) {
        const quote = text.indexOf('"', at);
        field += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        field += '"';
        at++;
      }
    } else {
      const start = at;
      while (at < text.length && text[at] !== "," && text[at] !== "\n") at++;
      field = text.slice(start, at);
    }
    row.push(field);
    if (text[at] !== ",") {
      yield row;
      row = [];
    }
    at++;
  }
}

let sum = 0;
for (const row of rows(fs.readFileSync("inputs/rows.csv", "utf8"))) sum += row[7].length;
console.log(sum);
