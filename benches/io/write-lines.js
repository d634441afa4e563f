const fs = require("fs");

const file = fs.createWriteStream("outputs/lines.txt");
let next = 0;
function writeMore() {
  while (next < 1000000) {
    if (!file.write("line " + next++ + "\n")) {
      file.once("drain", writeMore);
      return;
    }
  }
  file.end();
}
file.on("finish", () => console.log(fs.statSync("outputs/lines.txt").size));
writeMore();
