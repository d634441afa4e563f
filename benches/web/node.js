// The same pages by Node's `http`, and `http2` inside of TLS. The first argument is the port; if there are more, the others are a
// port for TLS, a certificate and its key.
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
// Ten rows of a database of a hundred thousand, from the number in the query on; where better-sqlite3 is installed.
let rows;
try {
  const Database = require('better-sqlite3');
  const db = new Database(':memory:');
  db.exec("create table items (id integer primary key, name text not null, price real not null)");
  db.exec(`insert into items (name, price)
           with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
           select 'Item "' || i || '"', i / 4.0 from n`);
  rows = db.prepare('select id, name, price from items where id >= ? order by id limit 10');
} catch { rows = null; }
const html = {'Content-Type': 'text/html; charset=utf-8'};
const handler = (request, response) => {
  switch (request.url) {
    case '/': response.writeHead(200, {'Content-Type': 'text/plain'}); response.end('Hello, World!'); break;
    case '/page': response.writeHead(200, html); response.end(page()); break;
    case '/headers': response.writeHead(200, html); response.end(headers(request)); break;
    case (rows && request.url.startsWith('/rows?') ? request.url : null): {
      const from = new URL(request.url, 'http://localhost').searchParams.get('from');
      response.writeHead(200, {'Content-Type': 'application/json'});
      response.end(JSON.stringify(rows.all(Number(from))));
      break;
    }
    default: response.writeHead(404); response.end('no such page\n');
  }
};
require('http').createServer(handler).listen(Number(process.argv[2]), '127.0.0.1');
if (process.argv.length > 3) {
  const {readFileSync} = require('fs');
  const [, , , port, certificate, key] = process.argv;
  const options = {cert: readFileSync(certificate), key: readFileSync(key), allowHTTP1: true};
  require('http2').createSecureServer(options, handler).listen(Number(port), '127.0.0.1');
}
