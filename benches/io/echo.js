const net = require("net");

const piece = Buffer.alloc(65536, 7);
const listener = net.createServer((socket) => socket.pipe(socket));
listener.listen(0, "127.0.0.1", () => {
  const client = net.connect(listener.address().port, "127.0.0.1");
  let sum = 0;
  let missing = piece.length;
  client.on("data", (data) => {
    sum += data.length;
    missing -= data.length;
    if (missing > 0) return;
    if (sum === 16384 * piece.length) {
      console.log(sum);
      client.destroy();
      listener.close();
      return;
    }
    missing = piece.length;
    client.write(piece);
  });
  client.write(piece);
});
