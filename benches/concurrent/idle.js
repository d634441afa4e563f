// As idle.scm.
const net = require('node:net');
const seconds = Number(process.argv[2] ?? 30);
net.createServer(() => {}).listen(0, '127.0.0.1');
setTimeout(() => {}, 1000000);
setTimeout(() => {
  const before = process.cpuUsage();
  setTimeout(() => {
    const used = process.cpuUsage(before);
    console.log(`microseconds of processor time in ${seconds} s: ${used.user + used.system}`);
    process.exit();
  }, seconds * 1000);
}, 500);
