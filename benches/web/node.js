// The same pages by Node's `http`. The first argument is the port.
const escapes = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'};
const escape = (text) => String(text).replace(/[&<>"']/g, (c) => escapes[c]);
const item = (i) =>
  `<tr><td>${i}</td><td><a href="${escape('/items/' + i)}">${escape('Item <' + i + '>')}</a></td><td>` +
  escape('A description of the item, with "quotes" & ampersands, that goes on for a while.') + '</td></tr>';
const page = () => {
  let rows = '';
  for (let i = 1; i <= 300; i++) rows += item(i);
  return `<!DOCTYPE html>\n<html><head><title>Items</title></head><body><h1>Items</h1><table>${rows}</table></body></html>`;
};
const headers = (request) => {
  let rows = '';
  for (const [name, value] of Object.entries(request.headers)) {
    rows += `<tr><td>${escape(name)}</td><td>${escape(JSON.stringify(value))}</td></tr>`;
  }
  return `<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><table>${rows}</table></body></html>`;
};
const html = {'Content-Type': 'text/html; charset=utf-8'};
require('http').createServer((request, response) => {
  switch (request.url) {
    case '/': response.writeHead(200, {'Content-Type': 'text/plain'}); response.end('Hello, World!'); break;
    case '/page': response.writeHead(200, html); response.end(page()); break;
    case '/headers': response.writeHead(200, html); response.end(headers(request)); break;
    default: response.writeHead(404); response.end('no such page\n');
  }
}).listen(Number(process.argv[2]), '127.0.0.1');
