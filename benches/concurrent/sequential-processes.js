// As sequential-processes.scm.
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const count = Number(process.argv[2] ?? 1000);
const status = (key) => Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1]);
const lines = (number) => new Promise((resolve) => {
  const child = spawn('echo', [String(number)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (piece) => { text += piece; });
  child.on('close', () => resolve(text));
});
(async () => {
  let threads = 0, early = 0;
  for (let number = 1; number <= count; number++) {
    if (await lines(number) !== `${number}\n`) throw new Error('another output than expected');
    threads = Math.max(threads, status('Threads'));
    if (number === Math.min(50, count)) early = status('VmRSS');
  }
  console.log(`processes: ${count}\nthreads: ${threads}\nkilobytes after ${Math.min(50, count)}: ${early}\n`
    + `kilobytes at the end: ${status('VmRSS')}`);
})();
