//! Heads of HTTP messages beside `httparse`, and chunked bodies beside a reader of whole ones:
//! generators and oracles.
//!
//! Others read accepted messages in the same way, and the result does not depend on how the bytes
//! were cut. A refused message stays refused, whatever follows it.

use canny_http::chunked::{ChunkReader, Piece, push_chunk};
use canny_http::framing::Framing;
use canny_http::head::{HeadLimits, RequestHead, read_request};

use crate::corpus::Corpus;
use crate::generate::mutated;
use crate::random::Random;

const HEAD_PIECES: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    ",",
    ";",
    "\0",
    "\u{7f}",
    "é",
    "/",
    "?",
    "#",
    "%",
    "%0d",
    "*",
    "@",
    "[::1]",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/2.0",
    "GET",
    "CONNECT",
    "http://a/",
    "Host: a",
    "Host:",
    "Content-Length: 5",
    "Content-Length: 5, 5",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Connection: close",
    "Upgrade: h2c",
    "Expect: 100-continue",
    " X: folded",
    "X : y",
];

/// Requests, right ones and wrong ones.
pub fn head_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let mut text = Vec::new();
    let method = *random.choose(&["GET", "POST", "OPTIONS", "CONNECT", "X-Y"]);
    let target = match method {
        "CONNECT" => "a.b:443",
        "OPTIONS" => "*",
        _ => *random.choose(&["/", "/a/b?c=d", "/%2e", "http://a.b:80/c", "//"]),
    };
    let version = *random.choose(&["HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]);
    text.extend_from_slice(format!("{method} {target} {version}\r\nHost: a\r\n").as_bytes());
    for _ in 0..random.below(5) {
        let field = *random.choose(&[
            "Accept: text/html;q=0.5, */*",
            "Content-Length: 12",
            "Transfer-Encoding: chunked",
            "Connection: keep-alive, upgrade",
            "Cookie: a=b; c=\"d\"",
            "X-Empty:",
            "X-Blanks: \t a b \t",
            "Expect: 100-continue",
        ]);
        text.extend_from_slice(field.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    if random.once_in(3) {
        text.extend_from_slice(b"body GET / HTTP/1.1\r\n\r\n");
    }
    if random.once_in(3) {
        text
    } else {
        mutated(random, text, HEAD_PIECES)
    }
}

/// Bytes that are no beginning of a head are refused however many there are of them, and those that are
/// one never are.
pub fn head(input: &[u8]) -> Result<(), String> {
    let limits = HeadLimits::default();
    let whole = read_request(input, &limits);
    let length = match &whole {
        Ok(Some(head)) => head.length,
        _ => input.len(),
    };
    let mut refused = None;
    for end in 0..length {
        match (read_request(&input[..end], &limits), refused) {
            (Ok(None), None) => {}
            (Ok(None), Some(at)) => return Err(format!("refused at {at}, not at {end}")),
            (Ok(Some(_)), _) => return Err(format!("a head of {end} bytes, then one of {length}")),
            (Err(_), _) => refused = refused.or(Some(end)),
        }
    }
    if refused.is_some() && whole.is_ok() {
        return Err("a beginning was refused, the whole is not".to_owned());
    }
    match whole {
        Ok(Some(head)) => compare(input, &head),
        _ => Ok(()),
    }
}

fn compare(input: &[u8], head: &RequestHead) -> Result<(), String> {
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut other = httparse::Request::new(&mut fields);
    // Later versions than 1.1 are read as that one, as RFC 9110 has it; `httparse` knows two.
    let mut known = input.to_vec();
    if head.minor == 1 {
        known[head.target.end + " HTTP/1.".len()] = b'1';
    }
    match other.parse(&known) {
        Ok(httparse::Status::Complete(length)) if length == head.length => {}
        answer => return Err(format!("httparse says {answer:?}")),
    }
    let is_same = other.method.map(str::as_bytes) == Some(&input[head.method.clone()])
        && other.path.map(str::as_bytes) == Some(&input[head.target.clone()])
        && other.version == Some(head.minor)
        && other.headers.len() == head.fields.len()
        && other.headers.iter().zip(&head.fields).all(|(other, ours)| {
            other.name.as_bytes() == &input[ours.name()]
                && other.value.trim_ascii() == &input[ours.value()]
        });
    if !is_same {
        return Err(format!("httparse reads {other:?}"));
    }
    // The head frames a body unambiguously: no length beside a coding, no more than one host.
    let count = |name: &str| {
        let is = |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
        other.headers.iter().filter(is).count()
    };
    let is_clear = count("host") <= 1
        && count("content-length") <= 1
        && (count("transfer-encoding") == 0 || count("content-length") == 0);
    match Framing::of_request(input, head) {
        Ok(framing) if !is_clear => Err(format!(
            "two ways to read it, of which {framing:?} was taken"
        )),
        _ => Ok(()),
    }
}

const CHUNK_PIECES: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "0\r\n\r\n",
    "5\r\n",
    "0x5",
    "+5",
    "-1",
    " ",
    "\t",
    ";",
    ";a=b",
    ";a=\"\r\n\"",
    "ffffffffffffffff",
    "A: b\r\n",
    "Content-Length: 3\r\n",
    "g",
    "00000005\r\n",
    "\0",
];

/// How to cut, then a chunked body and what follows it.
pub fn chunked_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..random.below(5) {
        let data = vec![b'x'; random.below(40)];
        push_chunk(&mut body, &data);
    }
    body.extend_from_slice(
        random
            .choose(&["0\r\n\r\n", "0;a=b\r\nA: b\r\n\r\n", "000\r\n\r\n"])
            .as_bytes(),
    );
    body.extend_from_slice(b"GET /");
    if !random.once_in(3) {
        body = mutated(random, body, CHUNK_PIECES);
    }
    body.insert(0, random.below(256) as u8);
    body
}

/// The content, and how many bytes it took.
type Content = (Vec<u8>, usize);

/// Reads what comes in pieces of such a size, and takes so many bytes at once.
fn read_in_pieces(bytes: &[u8], step: usize, room: usize) -> Result<Option<Content>, String> {
    let limits = HeadLimits::default();
    let mut reader = ChunkReader::default();
    let (mut content, mut at, mut there) = (Vec::new(), 0, step.min(bytes.len()));
    loop {
        match reader.next(&bytes[at..there], room, &limits) {
            Ok(Piece::Skip(count)) => at += count,
            Ok(Piece::Data(count)) if count > 0 && count <= room && at + count <= there => {
                content.extend_from_slice(&bytes[at..at + count]);
                at += count;
            }
            Ok(Piece::Data(count)) => return Err(format!("a piece of {count} bytes")),
            Ok(Piece::End(count)) => return Ok(Some((content, at + count))),
            Ok(Piece::More) if there == bytes.len() => return Ok(None),
            Ok(Piece::More) => there = (there + step).min(bytes.len()),
            // Refused; nothing of it counts.
            Err(_) => return Ok(None),
        }
    }
}

/// The same of a whole body, the plain way; extensions and trailers are taken as they come.
fn read_at_once(bytes: &[u8]) -> Option<Content> {
    let line = |at: usize| -> Option<(&[u8], usize)> {
        let length = bytes[at..].windows(2).position(|pair| pair == b"\r\n")?;
        Some((&bytes[at..at + length], at + length + 2))
    };
    let (mut content, mut at) = (Vec::new(), 0);
    loop {
        let (head, next) = line(at)?;
        let text = std::str::from_utf8(head.split(|byte| *byte == b';').next()?).ok()?;
        let text = text.trim_end_matches([' ', '\t']);
        let size = text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then_some(text)?;
        let size = usize::from_str_radix(size, 16).ok()?;
        at = next;
        if size == 0 {
            break;
        }
        content.extend_from_slice(bytes.get(at..at.checked_add(size)?)?);
        at += size;
        (bytes.get(at..at + 2)? == b"\r\n").then_some(())?;
        at += 2;
    }
    loop {
        let (trailer, next) = line(at)?;
        at = next;
        if trailer.is_empty() {
            return Some((content, at));
        }
    }
}

/// The result does not depend on how the body is cut, and an accepted body is read as in the plain
/// way.
pub fn chunked(input: &[u8]) -> Result<(), String> {
    let Some((cut, bytes)) = input.split_first() else {
        return Ok(());
    };
    let whole = read_in_pieces(bytes, usize::MAX, usize::MAX)?;
    for (step, room) in [
        (1, 1),
        (usize::from(*cut) + 1, 7),
        (3, usize::from(*cut) + 1),
    ] {
        let pieces = read_in_pieces(bytes, step, room)?;
        if pieces != whole {
            return Err(format!(
                "{whole:?} as a whole, {pieces:?} by {step} and {room}"
            ));
        }
    }
    let plain = read_at_once(bytes);
    match whole {
        Some(_) if whole != plain => Err(format!("{whole:?} here, {plain:?} the plain way")),
        _ => Ok(()),
    }
}
