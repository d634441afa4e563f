//! The attacks: the bytes to send, and the outcomes that have to follow.

/// The outcome that an attack has to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// One answer with this status, and the connection ends.
    Refused(u16),
    /// The connection ends without an answer.
    Dropped,
    /// An answer with this status and text, and no other: the request is harmless.
    Harmless(u16, &'static str),
    /// An answer with this status that does not have this text.
    Without(u16, &'static str),
    /// A WebSocket that is closed with this code.
    Closed(u16),
    /// A WebSocket that answers and stays.
    Open,
}

pub struct Attack {
    pub group: &'static str,
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Bytes that follow the first ones again and again, after a pause each time: a slow client.
    pub drop_by_drop: Option<&'static [u8]>,
    /// The answer is not read before the server stopped.
    pub never_reads: bool,
    pub outcome: Outcome,
}

use Outcome::{Closed, Dropped, Harmless, Open, Refused, Without};

fn attack(
    group: &'static str,
    name: &'static str,
    bytes: impl Into<Vec<u8>>,
    outcome: Outcome,
) -> Attack {
    Attack {
        group,
        name,
        bytes: bytes.into(),
        drop_by_drop: None,
        never_reads: false,
        outcome,
    }
}

/// A request inside of another, which must not be answered.
const INNER: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// A request that is as it should be but for some lines of its head, with something behind it.
fn request(line: &str, head: &str, behind: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: a\r\n{head}\r\n{behind}")
}

/// A request after which the connection is to end.
fn last(line: &str, head: &str, body: &str) -> String {
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    request(line, &format!("Connection: close\r\n{head}{length}"), body)
}

fn get(target: &str) -> String {
    last(&format!("GET {target}"), "", "")
}

fn smuggling() -> Vec<Attack> {
    let post = |head: &str, body: &str| request("POST /count", head, &format!("{body}{INNER}"));
    let chunked = |body: &str| post("Transfer-Encoding: chunked\r\n", body);
    let row = |name, bytes: String, outcome| attack("Request smuggling", name, bytes, outcome);
    let refused = |name, bytes| row(name, bytes, Refused(400));
    vec![
        refused(
            "`Content-Length` with `Transfer-Encoding`",
            post(
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
        ),
        refused(
            "`Transfer-Encoding` with `Content-Length`",
            post(
                "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                "0\r\n\r\n",
            ),
        ),
        refused(
            "two lengths that differ",
            post("Content-Length: 5\r\nContent-Length: 0\r\n", ""),
        ),
        refused(
            "a list of lengths that differ",
            post("Content-Length: 5, 0\r\n", ""),
        ),
        refused(
            "a length with a sign",
            post("Content-Length: +5\r\n", "hello"),
        ),
        refused("a negative length", post("Content-Length: -1\r\n", "")),
        refused(
            "a length in base 16",
            post("Content-Length: 0x5\r\n", "hello"),
        ),
        refused(
            "a length with an underscore",
            post("Content-Length: 1_0\r\n", ""),
        ),
        refused("an empty length", post("Content-Length: \r\n", "")),
        refused(
            "a length of more than 64 bits",
            post("Content-Length: 99999999999999999999999\r\n", ""),
        ),
        refused(
            "a length in digits of another script",
            post("Content-Length: \u{0665}\r\n", "hello"),
        ),
        refused(
            "a coding nobody knows",
            post("Transfer-Encoding: cow\r\n", "0\r\n\r\n"),
        ),
        refused(
            "`xchunked`",
            post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "`chunked` not last",
            post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ),
        refused(
            "`chunked` twice",
            post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "`Transfer-Encoding` twice",
            post(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                "0\r\n\r\n",
            ),
        ),
        refused(
            "`chunked` behind a vertical tab",
            post("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "a space before the colon",
            post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "a field on the next line (obs-fold)",
            post("X-A: b\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "the first field folded",
            post(" Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ),
        refused(
            "`Transfer-Encoding` in HTTP/1.0",
            format!("POST /count HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        ),
        refused(
            "bare line feeds",
            format!("POST /count HTTP/1.1\nHost: a\nContent-Length: 0\n\n{INNER}"),
        ),
        refused(
            "a bare line feed among others",
            format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: b\nContent-Length: 9\r\n\r\n{INNER}"),
        ),
        refused(
            "a bare carriage return in a value",
            format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rContent-Length: 9\r\n\r\n{INNER}"),
        ),
        refused(
            "a chunk whose size is no number",
            chunked("g\r\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a chunk's size with a sign",
            chunked("+5\r\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a chunk's size with `0x`",
            chunked("0x5\r\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a chunk's size of more than 64 bits",
            chunked("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a chunk's size behind a space",
            chunked(" 5\r\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a bare line feed behind a chunk's size",
            chunked("5\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "a bare line feed in a chunk's extension",
            chunked("5;a\nhello\r\n0\r\n\r\n"),
        ),
        refused(
            "more bytes than the chunk's size",
            chunked("5\r\nhello!\r\n0\r\n\r\n"),
        ),
        refused(
            "an extension without end",
            chunked(&format!("5;{}", "a".repeat(70_000))),
        ),
        row(
            "trailers without end",
            chunked(&format!("0\r\nX-A: {}", "a".repeat(70_000))),
            Refused(431),
        ),
        row(
            "extensions of chunks",
            post(
                "Transfer-Encoding: chunked\r\nConnection: close\r\n",
                "5;a=\"b;\\\"\"\r\nhello\r\n0\r\n\r\n",
            ),
            Harmless(200, "5 bytes"),
        ),
        row(
            "a length in a trailer",
            post(
                "Transfer-Encoding: chunked\r\nConnection: close\r\n",
                "5\r\nhello\r\n0\r\nContent-Length: 40\r\n\r\n",
            ),
            Harmless(200, "5 bytes"),
        ),
        row(
            "a request behind one that says `close`",
            post("Content-Length: 5\r\nConnection: close\r\n", "hello"),
            Harmless(200, "5 bytes"),
        ),
    ]
}

fn heads() -> Vec<Attack> {
    let row = |name, bytes: Vec<u8>, outcome| attack("Malformed heads", name, bytes, outcome);
    let refused = |name, bytes: &str| row(name, bytes.into(), Refused(400));
    vec![
        refused("no `Host`", "GET / HTTP/1.1\r\n\r\n"),
        refused(
            "two of `Host`",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ),
        refused(
            "a `Host` with a path",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        ),
        refused(
            "a `Host` with a user",
            "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
        ),
        refused(
            "a `Host` with a port of 99999",
            "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        ),
        refused(
            "a `Host` with an encoded NUL",
            "GET / HTTP/1.1\r\nHost: a%00\r\n\r\n",
        ),
        refused(
            "a `Host` with an encoded slash",
            "GET / HTTP/1.1\r\nHost: a%2f\r\n\r\n",
        ),
        refused(
            "a NUL in a value",
            "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n",
        ),
        refused("a NUL in a target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused(
            "a name that is no token",
            "GET / HTTP/1.1\r\nHost: a\r\nX(A): b\r\n\r\n",
        ),
        refused("an empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"),
        refused(
            "a line without a colon",
            "GET / HTTP/1.1\r\nHost: a\r\nhello\r\n\r\n",
        ),
        refused("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("tabs for spaces", "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n"),
        refused(
            "a space in the target",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        refused("no version", "GET /\r\nHost: a\r\n\r\n"),
        refused(
            "a version in small letters",
            "GET / http/1.1\r\nHost: a\r\n\r\n",
        ),
        refused(
            "a target without a slash",
            "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        refused(
            "a fragment in the target",
            "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        refused(
            "a method that is no token",
            "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        row(
            "a greeting of TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            Refused(400),
        ),
        row("bytes that are no text", vec![0xff; 3000], Refused(400)),
        row(
            "bytes that are no UTF-8 in a value",
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-A: \xc3\x28\xff\r\n\r\n".to_vec(),
            Harmless(200, "hello"),
        ),
    ]
}

fn sizes() -> Vec<Attack> {
    let row = |name, bytes: String, outcome| attack("Too much", name, bytes, outcome);
    let fields: String = (0..200)
        .map(|number| format!("X-{number}: a\r\n"))
        .collect();
    let pairs = |count: usize| vec!["a=b"; count].join("&");
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let json = "Content-Type: application/json\r\n";
    let parts: String = (0..300)
        .map(|number| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{number}\"\r\n\r\na\r\n")
        })
        .collect();
    let multipart = "Content-Type: multipart/form-data; boundary=b\r\n";
    let head = "a".repeat(40_000);
    vec![
        row(
            "a field of 40 kB",
            request("GET /", &format!("X-A: {head}\r\n"), ""),
            Refused(431),
        ),
        row(
            "a name of 40 kB",
            request("GET /", &format!("{head}: b\r\n"), ""),
            Refused(431),
        ),
        row("200 fields", request("GET /", &fields, ""), Refused(431)),
        row(
            "a target of 10 kB",
            get(&format!("/{}", "a".repeat(10_000))),
            Refused(414),
        ),
        row(
            "a method of 40 kB",
            format!("{head} / HTTP/1.1\r\nHost: a\r\n\r\n"),
            Refused(431),
        ),
        row(
            "a length beyond the limit",
            request("POST /count", "Content-Length: 100001\r\n", ""),
            Refused(413),
        ),
        row(
            "chunks beyond the limit",
            request(
                "POST /count",
                "Transfer-Encoding: chunked\r\n",
                &format!("186a1\r\n{}\r\n0\r\n\r\n", "a".repeat(100_001)),
            ),
            Refused(413),
        ),
        row(
            "a hundred thousand chunks of one byte",
            request(
                "POST /count",
                "Transfer-Encoding: chunked\r\nConnection: close\r\n",
                &format!("{}0\r\n\r\n", "1\r\na\r\n".repeat(100_000)),
            ),
            Harmless(200, "100000 bytes"),
        ),
        row(
            "a form of 1,000 fields",
            last("POST /form", form, &pairs(1000)),
            Refused(413),
        ),
        row(
            "JSON 5,000 levels deep",
            last("POST /json", json, &"[".repeat(5000)),
            Refused(400),
        ),
        row(
            "JSON of one number of 9,000 digits",
            last("POST /json", json, &"9".repeat(9000)),
            Harmless(200, "json"),
        ),
        row(
            "300 parts",
            last("POST /upload", multipart, &format!("{parts}--b--\r\n")),
            Refused(413),
        ),
        row(
            "a part with a head of 40 kB",
            last(
                "POST /upload",
                multipart,
                &format!("--b\r\nX: {head}\r\n\r\na\r\n--b--\r\n"),
            ),
            Refused(413),
        ),
        row(
            "a body of parts without the last boundary",
            last(
                "POST /upload",
                multipart,
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\na",
            ),
            Refused(400),
        ),
        row(
            "a path of 4,000 segments",
            get(&"/a".repeat(4000)),
            Harmless(404, ""),
        ),
        row(
            "a path that matches a route up to its last segment, in many ways",
            get(&format!("/deep{}", "/deep".repeat(1500))),
            Harmless(404, ""),
        ),
        row(
            "a query with 2,000 keys",
            get(&format!("/header?{}&value=x", pairs(2000))),
            Harmless(200, "x-name: x"),
        ),
        row(
            "a number of 500 digits in a path",
            get(&format!("/item/{}", "9".repeat(500))),
            Harmless(404, ""),
        ),
        row(
            "1,000 cookies",
            last(
                "GET /visits",
                &format!("Cookie: {}\r\n", vec!["a=b"; 1000].join("; ")),
                "",
            ),
            Harmless(200, "0 visits"),
        ),
        row(
            "100 ranges",
            last(
                "GET /files/a.txt",
                &format!("Range: bytes={}\r\n", vec!["0-1"; 100].join(",")),
                "",
            ),
            Without(200, "multipart"),
        ),
        row(
            "a range of a file whose version nobody can tell",
            last(
                "GET /files/a.txt",
                "Range: bytes=0-1\r\nIf-Range: x\r\n",
                "",
            ),
            Harmless(200, "public"),
        ),
        row(
            "a quality list of 1,000 elements",
            last(
                "GET /files/a.txt",
                &format!("Accept-Encoding: {}\r\n", vec!["x;q=0.1"; 1000].join(", ")),
                "",
            ),
            Harmless(200, "public"),
        ),
    ]
}

fn slow() -> Vec<Attack> {
    let slow = |name, bytes: String, drops: &'static [u8], outcome| Attack {
        drop_by_drop: Some(drops),
        ..attack("Slow clients", name, bytes, outcome)
    };
    vec![
        slow(
            "a head that never ends (slowloris)",
            "GET / HTTP/1.1\r\nHost: a\r\n".into(),
            b"X-A: b\r\n",
            Refused(408),
        ),
        slow(
            "a request line byte by byte",
            "G".into(),
            b"G",
            Refused(408),
        ),
        slow("nothing at all", String::new(), b"", Dropped),
        slow(
            "nothing after a request",
            request("GET /", "", ""),
            b"",
            Harmless(200, "hello"),
        ),
        slow(
            "a body that stops",
            request("POST /count", "Content-Length: 100\r\n", "hello"),
            b"",
            Refused(408),
        ),
        slow(
            "a chunk that stops",
            request("POST /count", "Transfer-Encoding: chunked\r\n", "5\r\nhel"),
            b"",
            Refused(408),
        ),
        Attack {
            never_reads: true,
            ..attack(
                "Slow clients",
                "256 MB that nobody reads",
                get("/large"),
                Dropped,
            )
        },
    ]
}

fn injection() -> Vec<Attack> {
    let row = |name, bytes: String, outcome| attack("Injection", name, bytes, outcome);
    vec![
        row(
            "a line end in a header's value",
            get("/header?value=a%0d%0aSet-Cookie:%20b=c"),
            Without(500, "set-cookie: b"),
        ),
        row(
            "a bare line feed in a header's value",
            get("/header?value=a%0aSet-Cookie:%20b=c"),
            Without(500, "set-cookie: b"),
        ),
        row(
            "a line end in a header's name",
            get("/name?value=a%0d%0aSet-Cookie:%20b=c"),
            Without(500, "set-cookie: b"),
        ),
        row(
            "a line end in a redirection",
            get("/redirect?value=/%0d%0aSet-Cookie:%20b=c"),
            Without(500, "set-cookie: b"),
        ),
        row(
            "a semicolon in a cookie",
            get("/cookie?value=a;%20Domain=example.com"),
            Without(500, "domain="),
        ),
        row(
            "NUL in a header's value",
            get("/header?value=a%00b"),
            Without(500, "a\0b"),
        ),
        row(
            "characters whose low bytes are a line end",
            get("/header?value=%E5%98%8D%E5%98%8ASet-Cookie:%20b=c"),
            Without(200, "\r\nset-cookie: b"),
        ),
        row(
            "a script in a page",
            get("/html?value=%3Cscript%3Ealert(1)%3C/script%3E"),
            Harmless(200, "&lt;script"),
        ),
        row(
            "the end of an attribute in a page",
            get("/html?value=%22%20onclick=%22alert(1)"),
            Harmless(200, "class=\"&quot; onclick"),
        ),
        row(
            "a page that is left for a script",
            get("/leave?value=0;url=javascript:alert(1)"),
            Without(500, "javascript"),
        ),
    ]
}

fn paths() -> Vec<Attack> {
    let row = |name, target: &str, outcome| attack("Paths", name, get(target), outcome);
    let none = |name, target| row(name, target, Without(404, "secret"));
    let malformed = |name, target| row(name, target, Without(400, "secret"));
    vec![
        malformed("`..`", "/files/../secret.txt"),
        malformed("`..` encoded", "/files/%2e%2e/secret.txt"),
        malformed("`..` half encoded", "/files/.%2e/secret.txt"),
        none("a slash encoded", "/files/..%2fsecret.txt"),
        none("`..` encoded twice", "/files/%252e%252e/secret.txt"),
        none("a backslash", "/files/..\\secret.txt"),
        none("a backslash encoded", "/files/..%5csecret.txt"),
        malformed("overlong UTF-8", "/files/%c0%ae%c0%ae/secret.txt"),
        malformed("a slash in overlong UTF-8", "/files/..%c0%afsecret.txt"),
        none("full-width dots", "/files/%EF%BC%8E%EF%BC%8E/secret.txt"),
        none("an absolute name", "/files//etc/passwd"),
        none("an absolute name encoded", "/files/%2fetc%2fpasswd"),
        malformed("NUL behind a name", "/files/a.txt%00.html"),
        none("a link that leads out", "/files/link.txt"),
        none("a directory that leads out", "/files/out/secret.txt"),
        none("a file whose name begins with a dot", "/files/.hidden"),
        malformed("`.`", "/files/./a.txt"),
        malformed("a percent sign without digits", "/files/%zz"),
        malformed("half a percent encoding", "/files/%2"),
        row("the file itself", "/files/a.txt", Harmless(200, "public")),
    ]
}

fn states() -> Vec<Attack> {
    let row = |name, bytes: String, outcome| attack("Sessions and forms", name, bytes, outcome);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    vec![
        row(
            "a form without a token",
            last("POST /change", form, "a=b"),
            Without(403, "changed"),
        ),
        row(
            "a form with a token of one's own",
            last("POST /change", form, "csrf-token=AAAA"),
            Without(403, "changed"),
        ),
        row(
            "a form from another site",
            last(
                "POST /change",
                &format!("{form}Origin: http://evil.example\r\n"),
                "a=b",
            ),
            Without(403, "changed"),
        ),
        row(
            "a session without signature",
            last("GET /visits", "Cookie: session=eyJ2aXNpdHMiOjk5fQ\r\n", ""),
            Harmless(200, "0 visits"),
        ),
        row(
            "a session with a signature of nothing",
            last(
                "GET /visits",
                "Cookie: session=eyJ2aXNpdHMiOjk5fQ.zzzzzz.AAAA\r\n",
                "",
            ),
            Harmless(200, "0 visits"),
        ),
        row(
            "keys of a form that a hash could collide on",
            last(
                "POST /form",
                form,
                &(0..90)
                    .map(|n| format!("{}{}=1", "Aa".repeat(n % 7), "BB".repeat(n / 7)))
                    .collect::<Vec<_>>()
                    .join("&"),
            ),
            Harmless(200, "90 fields"),
        ),
        row(
            "percent-encoding that is no UTF-8 in a form",
            last("POST /form", form, "a=%ff%fe"),
            Harmless(200, "1 fields"),
        ),
        row(
            "a form of parts with an empty boundary",
            last(
                "POST /upload",
                "Content-Type: multipart/form-data; boundary=\r\n",
                "a",
            ),
            Refused(400),
        ),
        row(
            "a compressed form",
            last(
                "POST /form",
                &format!("{form}Content-Encoding: gzip\r\n"),
                "\u{1f}",
            ),
            Refused(415),
        ),
    ]
}

/// A handshake, and frames behind it.
fn socket(frames: &[u8]) -> Vec<u8> {
    socket_with("", frames)
}

/// The same with another field.
fn socket_with(field: &str, frames: &[u8]) -> Vec<u8> {
    let head = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut bytes = request("GET /socket", &format!("{head}{field}"), "").into_bytes();
    bytes.extend_from_slice(frames);
    bytes
}

/// A frame whose mask is zeros, so that its payload stands there as it is.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => bytes.push(0x80 | length),
        _ => {
            bytes.push(0xFE);
            bytes.extend_from_slice(&(payload.len() as u16).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

fn sockets() -> Vec<Attack> {
    let row = |name, frames: &[u8], outcome| attack("WebSockets", name, socket(frames), outcome);
    let compressed = |name, frames: &[u8], outcome| {
        let field = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
        attack("WebSockets", name, socket_with(field, frames), outcome)
    };
    // A hundred thousand noughts.
    let mut zeros = b"\xec\xc1\x31\x01\0\0\0\xc2\xa0\xf5\x4f\x6d\x0d\x0f\xa0".to_vec();
    zeros.extend_from_slice(&[0; 96]);
    zeros.extend_from_slice(b"\x80\x57\x03\0\0\xff\xff");
    let fragments: Vec<u8> = std::iter::once(frame(0x01, b"a"))
        .chain((0..2000).map(|_| frame(0x00, b"a")))
        .flatten()
        .collect();
    let pings = frame(0x89, b"ping").repeat(5000);
    let unread = frame(0x89, &[b'p'; 125]).repeat(250_000);
    let empty = [frame(0x01, b"a"), frame(0x00, b"").repeat(50_000)].concat();
    let single = [frame(0x01, b"a"), frame(0x00, b"a").repeat(999)].concat();
    let farewell = frame(0x88, &1000_u16.to_be_bytes());
    vec![
        row("a frame without a mask", b"\x81\x05hello", Closed(1002)),
        row("a reserved bit", &frame(0xC1, b"hello"), Closed(1002)),
        row("a reserved operation", &frame(0x83, b"hello"), Closed(1002)),
        row("a ping in fragments", &frame(0x09, b"hello"), Closed(1002)),
        row(
            "a ping of 126 bytes",
            &frame(0x89, &[b'a'; 126]),
            Closed(1002),
        ),
        row(
            "a continuation of nothing",
            &frame(0x80, b"hello"),
            Closed(1002),
        ),
        row(
            "a message within a message",
            &[frame(0x01, b"a"), frame(0x81, b"b")].concat(),
            Closed(1002),
        ),
        row(
            "a length of 2^63",
            b"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\0\0\0\0",
            Closed(1002),
        ),
        row(
            "a length that is larger than it need be",
            b"\x81\xfe\x00\x05\0\0\0\0hello",
            Closed(1002),
        ),
        row(
            "text that is no UTF-8",
            &frame(0x81, b"\xc3\x28"),
            Closed(1007),
        ),
        row("a surrogate", &frame(0x81, b"\xed\xa0\x80"), Closed(1007)),
        row(
            "a message beyond the limit",
            &frame(0x81, &[b'a'; 1001]),
            Closed(1009),
        ),
        row("fragments beyond the limit", &fragments, Closed(1009)),
        row(
            "a length beyond the limit, without the bytes",
            b"\x81\xff\x00\x00\x00\x00\x7f\xff\xff\xff\0\0\0\0",
            Closed(1009),
        ),
        row(
            "50,000 empty fragments",
            &[&empty[..], &farewell].concat(),
            Open,
        ),
        row(
            "a fragment for each byte",
            &[&single[..], &frame(0x80, b""), &farewell].concat(),
            Open,
        ),
        row("a farewell of one byte", &frame(0x88, b"a"), Closed(1002)),
        row(
            "a farewell with a reserved code",
            &frame(0x88, &1005_u16.to_be_bytes()),
            Closed(1002),
        ),
        row("5,000 pings", &[pings, farewell.clone()].concat(), Open),
        Attack {
            never_reads: true,
            ..row(
                "250,000 pings, of whose answers none is read",
                &unread,
                Dropped,
            )
        },
        compressed(
            "100 MB compressed to 118 kB",
            &[
                frame(0x42, &zeros),
                frame(0x00, &zeros).repeat(999),
                farewell.clone(),
            ]
            .concat(),
            Closed(1009),
        ),
        compressed(
            "compressed data that are corrupt",
            &frame(0xC1, b"\xff\xff\xff"),
            Closed(1007),
        ),
        compressed(
            "compressed text that is no UTF-8",
            &frame(0xC1, b"\x00\x02\x00\xfd\xff\xc3(\x00"),
            Closed(1007),
        ),
        compressed("a compressed ping", &frame(0xC9, b"\x02\x00"), Closed(1002)),
        compressed(
            "a continuation that says it is compressed",
            &[frame(0x41, b"\x02"), frame(0xC0, b"\x00")].concat(),
            Closed(1002),
        ),
        compressed(
            "50,000 empty compressed blocks",
            &[
                frame(0x41, b""),
                frame(0x00, &b"\x00\x00\x00\xff\xff".repeat(1000)).repeat(50),
                farewell.clone(),
            ]
            .concat(),
            Open,
        ),
        attack(
            "WebSockets",
            "a handshake with another version",
            request(
                "GET /socket",
                "Upgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: \
                 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
                "",
            ),
            Harmless(426, ""),
        ),
        attack(
            "WebSockets",
            "a handshake with a short key",
            last(
                "GET /socket",
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: \
                 13\r\nSec-WebSocket-Key: YQ==\r\n",
                "",
            ),
            Refused(400),
        ),
        attack(
            "WebSockets",
            "a handshake with a key without padding",
            last(
                "GET /socket",
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: \
                 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n",
                "",
            ),
            Refused(400),
        ),
        attack(
            "WebSockets",
            "a handshake in HTTP/1.0",
            String::from_utf8_lossy(&socket(b"")).replace("HTTP/1.1", "HTTP/1.0"),
            Harmless(426, ""),
        ),
    ]
}

/// All of them, in the order of the page.
pub fn attacks() -> Vec<Attack> {
    [
        smuggling(),
        heads(),
        sizes(),
        slow(),
        injection(),
        paths(),
        states(),
        sockets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
