const fs = require("fs");

fs.copyFileSync("inputs/server.log", "outputs/server.log");
console.log(fs.statSync("outputs/server.log").size);
