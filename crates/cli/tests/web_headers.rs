//! Every header that the web libraries read, malformed in many ways, behind every middleware: an answer
//! that the standards have for it, never one of 500 to 599, and never a line on standard error.

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Canny, Running, files_below, root, scratch};

const SOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                      Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\nX-Open: 1\r\n";
const JSON: &str = "Content-Type: application/json\r\nX-Open: 1\r\n";
const PARTS: &str = "Content-Type: multipart/form-data; boundary=b\r\nX-Open: 1\r\n";
const ONE_PART: &str = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n";
const WRONG_PART: &str = "--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=x'y\r\n\
                          Content-Type: ;;\r\n\r\n\u{e4}\r\n--b--\r\n";

/// A line, fields that belong to it, and a body.
type Page = (&'static str, &'static str, &'static str);

const PAGES: &[Page] = &[
    ("GET /", "", ""),
    ("GET /everything", "", ""),
    ("GET /private", "", ""),
    ("GET /socket", SOCKET, ""),
    ("GET /events", "", ""),
    ("GET /metrics", "", ""),
    ("GET /health", "", ""),
    ("GET /tasks", "", ""),
    ("GET /files/a.txt", "Range: bytes=0-3\r\n", ""),
    ("GET /files/a.txt", "", ""),
    ("GET /files/", "", ""),
    ("GET /nowhere?a=%zz&%ff", "", ""),
    ("OPTIONS /", "Origin: https://example.org\r\n", ""),
    ("OPTIONS *", "", ""),
    ("DELETE /", "", ""),
    ("POST /", "", ""),
    ("POST /form", FORM, "a=b&%zz=%ff"),
    ("POST /form", JSON, "[1]"),
    ("POST /form", JSON, "["),
    ("POST /form", PARTS, ONE_PART),
    ("POST /form", PARTS, WRONG_PART),
    ("POST /text", "X-Open: 1\r\n", "text"),
];

/// Headers that are read, beside those that the sources name.
const FURTHER: &[&str] = &[
    "accept-language",
    "accept-charset",
    "x-request-id",
    "x-csrf-token",
    "x-forwarded-proto",
    "te",
    "trailer",
    "date",
    "via",
    "priority",
    "cache-control",
];

/// Headers whose faults the parser of heads answers, with 400 to 417, or 501 for a transfer coding.
const OF_THE_HEAD: &[&str] = &["host", "content-length", "transfer-encoding", "expect"];

/// Values that are malformed for one header or the other.
fn values() -> Vec<Vec<u8>> {
    let texts = [
        "",
        ",",
        ", ,",
        ";",
        "=",
        "\"",
        "\"a",
        "a\"",
        "\\",
        "@",
        "a@b",
        "(",
        "<",
        "[",
        "{",
        "*",
        "%",
        "%zz",
        "%00",
        "a b",
        "a\tb",
        "-1",
        "+1",
        "1.5.2",
        "0x10",
        "99999999999999999999999",
        "gzip;q=",
        "gzip;q=2",
        "gzip;q=0.1234",
        "gzip;x=1",
        ";q=1",
        "*;q=a",
        "gzip;;q=1,,@",
        "text/",
        "/",
        "text/html;q=9",
        "text/html;charset",
        "*/*;q=\"",
        "null",
        "://",
        "http://",
        "http://[",
        "http://a:99999",
        "http://a b",
        "https://example.org:x",
        "Mon, 99 Foo 2020 99:99:99 GMT",
        "Sun, 06 Nov 1994",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=9-1",
        "bytes=a-b",
        "bytes=0-99999999999999999999",
        "bytes=0-1,",
        "bytes =0-1",
        "W/",
        "W/\"",
        "W/\"a",
        "\"a\"b",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic Og==",
        "Basic Og",
        "Basic /w==",
        "Basic YQ==",
        "Bearer",
        "Digest a",
        "Digest a=\"",
        "session",
        "session=",
        "session=a.b.c",
        "session=..",
        "session=.zz.",
        "session=\"",
        "=;=",
        "a=b; session",
        "upgrade, @",
        "websocket/13/14",
        "close, ,keep-alive=",
        "permessage-deflate; server_max_window_bits=99",
        "permessage-deflate; \"",
        "chat, \"",
        "for=",
        "for=\"[::1\"",
        "for=_a;by",
        "for=1.2.3.4;proto=\"",
        "1.2.3.4.5",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"a",
        "multipart/form-data; boundary=a\u{e4}",
        "multipart/form-data; boundary=b; boundary=",
        "application/json; =",
        "application/json, text/html",
        "application/x-www-form-urlencoded; charset=\"",
        "text/plain; charset=nothing",
        "same-origin, x",
        "utf-8''%zz",
    ];
    let mut values: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    values.push(b"\xff\xfe\xc3(".to_vec());
    values.push("x".repeat(4000).into_bytes());
    values.push("a,".repeat(2000).into_bytes());
    values.push("a;".repeat(2000).into_bytes());
    values.push("=?&%".repeat(500).into_bytes());
    values
}

/// The headers that the sources of the web libraries ask requests for.
fn read_headers() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files_below(&root().join("lib/canny/web")) {
        let text = std::fs::read_to_string(path).expect("a source");
        for start in ["(request-header request '", "(request-field request '"] {
            for (at, _) in text.match_indices(start) {
                let rest = &text[at + start.len()..];
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
                names.insert(rest[..end.unwrap_or(rest.len())].to_owned());
            }
        }
    }
    names
}

fn start() -> (Running, String) {
    let directory = scratch();
    let public = directory.join("public");
    std::fs::create_dir(&public).expect("a directory");
    std::fs::write(public.join("a.txt"), "a public text\n").expect("a file");
    std::fs::write(public.join("a.txt.gz"), "not really compressed").expect("a file");
    let mut server = Canny::new(directory, &["served.scm"])
        .file("served.scm", include_str!("web_headers/served.scm"))
        .start();
    server.wait_for_output("\n");
    let address = server.output().trim().to_owned();
    (server, address)
}

/// Sends a request that is the last one of its connection, and gives the response.
fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).expect("an option");
    // The server may refuse before it has everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let digits = answer
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// A request for a page in which a header has this value, in place of what it should have.
fn request(page: &Page, name: &str, value: &[u8]) -> Vec<u8> {
    let (line, fields, body) = page;
    let is_other = |field: &&str| {
        let (other, _) = field.split_once(':').unwrap_or_default();
        !other.eq_ignore_ascii_case(name)
    };
    let mut head = format!("{line} HTTP/1.1\r\n");
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    for field in format!("Host: a\r\n{fields}{length}")
        .split_inclusive("\r\n")
        .filter(is_other)
    {
        head.push_str(field);
    }
    head.push_str(name);
    head.push_str(": ");
    [head.as_bytes(), value, b"\r\n\r\n", body.as_bytes()].concat()
}

#[test]
fn malformed_headers_are_nobodys_failure() {
    let (server, address) = start();
    let mut names = read_headers();
    assert!(names.len() > 25, "the sources are searched: {names:?}");
    names.extend(FURTHER.iter().chain(OF_THE_HEAD).map(ToString::to_string));
    let values = values();
    let cases: Vec<(&Page, &String, &Vec<u8>)> = PAGES
        .iter()
        .flat_map(|page| names.iter().map(move |name| (page, name)))
        .flat_map(|(page, name)| values.iter().map(move |value| (page, name, value)))
        .collect();
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((page, name, value)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let answer = exchange(&address, &request(page, name, value));
                    let status = status(&answer);
                    let is_of_the_head = OF_THE_HEAD.contains(&name.as_str());
                    let is_right = (200..500).contains(&status)
                        || status == 101
                        || is_of_the_head && status == 501;
                    if !is_right {
                        let value = String::from_utf8_lossy(&value[..value.len().min(60)]);
                        let complaint = format!("{page:?} {name}: {value:?}: {answer:.200}");
                        complaints.lock().expect("a lock").push(complaint);
                    }
                }
            });
        }
    });
    let failures = exchange(&address, b"GET /failures HTTP/1.1\r\nHost: a\r\n\r\n");
    server.signal("TERM");
    let outcome = server.wait();
    let complaints = complaints.into_inner().expect("a lock");
    let count = complaints.len();
    assert!(
        complaints.is_empty(),
        "{count} of {}:\n{}\n{}",
        cases.len(),
        complaints[..count.min(30)].join("\n"),
        outcome.errors
    );
    assert!(failures.ends_with("\r\n\r\n0 failures\n"), "{failures}");
    assert_eq!(outcome.errors, "");
}

/// Sends texts and checks the status of each answer.
fn answers(cases: &[(&str, u16)]) {
    let (server, address) = start();
    let mut wrong = Vec::new();
    for (bytes, wanted) in cases {
        let answer = exchange(&address, bytes.as_bytes());
        if status(&answer) != *wanted {
            wrong.push(format!("{bytes:?}: {answer:.200}, not {wanted}"));
        }
    }
    let failures = exchange(&address, b"GET /failures HTTP/1.1\r\nHost: a\r\n\r\n");
    server.signal("TERM");
    let outcome = server.wait();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(failures.ends_with("\r\n\r\n0 failures\n"), "{failures}");
    assert_eq!(outcome.errors, "");
}

#[test]
fn each_has_the_answer_of_the_standards() {
    let socket = |version: &str, key: &str| {
        format!(
            "GET /socket HTTP/{version}\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        )
    };
    let get =
        |target: &str, fields: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let host = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let post = |target: &str, fields: &str, body: &str| {
        format!("POST {target} HTTP/1.1\r\nHost: a\r\nX-Open: 1\r\n{fields}\r\n{body}")
    };
    let file = |fields: &str| get("/files/a.txt", &format!("Range: bytes=0-3\r\n{fields}"));
    let key = "dGhlIHNhbXBsZSBub25jZQ==";
    let cases = [
        (get("/", "Accept-Encoding: gzip;q=9\r\n"), 200),
        // The client ends its direction in the midst of a body.
        (post("/text", "Content-Length: 100\r\n", "short"), 400),
        (
            post("/text", "Transfer-Encoding: chunked\r\n", "5\r\nhel"),
            400,
        ),
        (
            post("/text", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"),
            400,
        ),
        (
            post("/form", &format!("{FORM}Content-Length: 100\r\n"), "a=b"),
            400,
        ),
        (
            post("/form", &format!("{JSON}Content-Length: 100\r\n"), "[1"),
            400,
        ),
        (
            post(
                "/form",
                &format!("{PARTS}Content-Length: 100\r\n"),
                "--b\r\n",
            ),
            400,
        ),
        (
            post(
                "/text",
                "Content-Length: 100\r\nExpect: 100-continue\r\n",
                "",
            ),
            100,
        ),
        (post("/text", "Content-Length: 2\r\n", "\u{e4}"), 200),
        (file(""), 206),
        (file("If-Range: nonsense\r\n"), 200),
        (file("If-Range: \"other\"\r\n"), 200),
        (file("If-Range: Sun, 06 Nov\r\n"), 200),
        (file("If-Range: W/\"\r\n"), 200),
        (file("If-Range: \r\n"), 200),
        (get("/files/a.txt", "If-Match: nonsense\r\n"), 412),
        (get("/files/a.txt", "If-None-Match: nonsense\r\n"), 200),
        (get("/files/a.txt", "If-Modified-Since: nonsense\r\n"), 200),
        (
            get("/files/a.txt", "If-Unmodified-Since: nonsense\r\n"),
            200,
        ),
        (get("/files/a.txt", "Range: bytes=2-1\r\n"), 200),
        (host("a:99999"), 400),
        (host("a:65536"), 400),
        (host("a:65535"), 200),
        (host("a%00"), 400),
        (host("a%2f"), 400),
        (host("a%zz"), 400),
        (host("[::g]"), 400),
        (socket("1.1", key), 101),
        (socket("1.0", key), 426),
        (socket("1.1", "dGhlIHNhbXBsZSBub25jZQ"), 400),
        (socket("1.1", "dGhlIHNhbXBs ZSBub25jZQ=="), 400),
        (
            socket("1.1", "dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ=="),
            400,
        ),
        (socket("1.1", ""), 400),
        (
            post(
                "/form",
                "Content-Type: multipart/form-data; boundary=\r\nContent-Length: 3\r\n",
                "abc",
            ),
            400,
        ),
        (
            post(
                "/form",
                "Content-Type: multipart/form-data; boundary=\"\"\r\nContent-Length: 3\r\n",
                "abc",
            ),
            400,
        ),
        (
            post(
                "/form",
                "Content-Type: multipart/form-data\r\nContent-Length: 3\r\n",
                "abc",
            ),
            400,
        ),
        (
            post(
                "/form",
                "Content-Type: Application/JSON;=\r\nContent-Length: 3\r\n",
                "[1]",
            ),
            400,
        ),
        (
            post(
                "/text",
                "Content-Type: nonsense\r\nContent-Length: 3\r\n",
                "abc",
            ),
            200,
        ),
        (get("/private", "Authorization: Basic !!!\r\n"), 401),
        (get("/private", "Authorization: Basic YQ==\r\n"), 401),
    ];
    let cases: Vec<(&str, u16)> = cases
        .iter()
        .map(|(text, code)| (&text[..], *code))
        .collect();
    answers(&cases);
    // Bytes that are no UTF-8, which no string of this language can be.
    let (server, address) = start();
    let mut bytes = post("/text", "Content-Length: 2\r\n", "").into_bytes();
    bytes.extend_from_slice(b"\xc3(");
    assert_eq!(status(&exchange(&address, &bytes)), 400);
    server.signal("TERM");
    assert_eq!(server.wait().errors, "");
}
