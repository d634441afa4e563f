// As swamped-timers.scm.
const { spawn } = require('node:child_process');
const rounds = Number(process.argv[2] ?? 10);
const now = () => Number(process.hrtime.bigint()) / 1e6;
const ticks = [], kills = [];
let bytes = 0;
const round = () => new Promise((resolve) => {
  const child = spawn('yes', ['a line that is written again and again'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const begin = now();
  // An interval of Node's drifts; so each tick is due on the grid.
  let number = 1, timer;
  const tick = () => {
    const late = now() - begin - number * 10;
    ticks.push(late);
    number = Math.max(number + 1, Math.floor((now() - begin) / 10) + 1);
    timer = setTimeout(tick, Math.max(0, begin + number * 10 - now()));
  };
  timer = setTimeout(tick, 10);
  setTimeout(() => { kills.push(now() - begin - 500); child.kill('SIGKILL'); }, 500);
  child.stdout.on('data', (piece) => { bytes += piece.length; });
  child.on('close', () => { clearTimeout(timer); resolve(); });
});
const show = (name, list) => {
  list.sort((a, b) => a - b);
  const at = (share) => list[Math.min(list.length - 1, Math.floor(share * list.length))].toFixed(3);
  console.log(`${name}: ${list.length}, ms late: median ${at(0.5)}, 99 of 100 ${at(0.99)}, most ${at(1)}`);
};
(async () => {
  for (let i = 0; i < rounds; i++) await round();
  show('ticks', ticks);
  show('kills', kills);
  console.log(`megabytes read: ${Math.floor(bytes / 1e6)}`);
})();
