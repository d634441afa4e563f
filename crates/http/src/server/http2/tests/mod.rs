//! Clients that speak HTTP/2 in frames made by hand, so that they can do what no client should.

mod limits;
mod notes;
mod unsent;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use canny_io::{IoError, Wait};

use super::*;
use crate::response::{push_length, push_status};
use crate::server::tests::{Bench, bench, usual};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// The code of a stream or a connection that ends.
    fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.payload).unwrap()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Fields as literals, whose lengths are below 16,000.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            match text.len() {
                length @ ..127 => bytes.push(length as u8),
                length => {
                    let rest = length - 127;
                    bytes.extend_from_slice(&[127, (rest % 128) as u8 | 128, (rest / 128) as u8]);
                }
            }
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

/// The head of a request, with these fields behind the usual ones.
fn head_of(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let mut fields = vec![
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x.test"),
    ];
    fields.extend_from_slice(more);
    block(&fields)
}

struct Client {
    socket: TcpStream,
    input: Vec<u8>,
    /// The requests that came while it waited.
    requests: Vec<(Request, String)>,
    turns: usize,
    /// The server looks for what takes too long each time.
    sweeps: bool,
}

fn bare(bench: &Bench) -> Client {
    let socket = TcpStream::connect(bench.address).unwrap();
    socket.set_nonblocking(true).unwrap();
    Client {
        socket,
        input: Vec::new(),
        requests: Vec::new(),
        turns: 0,
        sweeps: false,
    }
}

fn client(bench: &mut Bench) -> Client {
    let mut client = bare(bench);
    client.send(bench, PREFACE);
    client.send(bench, &frame(SETTINGS, 0, 0, &[]));
    // The settings of the server, its acknowledgement and the window of the connection.
    client.until(bench, |frame| frame.kind == WINDOW_UPDATE);
    client.send(bench, &frame(SETTINGS, ACK, 0, &[]));
    client
}

impl Client {
    /// Has the server look around.
    fn turn(&mut self, bench: &mut Bench) {
        self.turns += 1;
        assert!(self.turns < 3_000_000, "nothing happens");
        if self.sweeps {
            bench.server.sweep();
        }
        if let Some(request) = bench.server.next(&mut bench.scratch) {
            let text = |range| String::from_utf8_lossy(bench.scratch.bytes(range)).into_owned();
            let head = text(0..request.head.length);
            self.requests.push((request, head));
        }
    }

    /// Sends while the server looks around; whether it took everything.
    fn try_send(&mut self, bench: &mut Bench, mut bytes: &[u8]) -> bool {
        let mut patience = 2000;
        while !bytes.is_empty() && patience > 0 {
            match self.socket.write(bytes) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    patience = 2000;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => patience -= 1,
                Err(_) => return false,
            }
            self.turn(bench);
        }
        bytes.is_empty()
    }

    fn send(&mut self, bench: &mut Bench, bytes: &[u8]) {
        assert!(self.try_send(bench, bytes));
    }

    fn get(&mut self, bench: &mut Bench, stream: u32, path: &str) {
        let flags = END_STREAM | END_HEADERS;
        self.send(
            bench,
            &frame(HEADERS, flags, stream, &head_of("GET", path, &[])),
        );
    }

    /// The next frame, or none at the end of the connection.
    fn next_frame(&mut self, bench: &mut Bench) -> Option<Frame> {
        let mut buffer = [0; 16 * 1024];
        loop {
            if let Some(&[a, b, c, kind, flags, d, e, f, g]) = self.input.first_chunk() {
                let length = u32::from_be_bytes([0, a, b, c]) as usize;
                if self.input.len() >= 9 + length {
                    let rest = self.input.split_off(9 + length);
                    let payload = std::mem::replace(&mut self.input, rest).split_off(9);
                    let stream = u32::from_be_bytes([d, e, f, g]);
                    return Some(Frame {
                        kind,
                        flags,
                        stream,
                        payload,
                    });
                }
            }
            self.turn(bench);
            match self.socket.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
    }

    fn until(&mut self, bench: &mut Bench, is_wanted: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.next_frame(bench).expect("the connection has ended");
            if is_wanted(&frame) {
                return frame;
            }
        }
    }

    /// The frames that follow until the connection ends.
    fn rest(&mut self, bench: &mut Bench) -> Vec<Frame> {
        std::iter::from_fn(|| self.next_frame(bench)).collect()
    }

    fn request(&mut self, bench: &mut Bench) -> (Request, String) {
        while self.requests.is_empty() {
            self.turn(bench);
        }
        self.requests.remove(0)
    }

    /// The body of the answer to a stream.
    fn body(&mut self, bench: &mut Bench, stream: u32) -> String {
        let mut body = String::new();
        loop {
            let frame = self.until(bench, |frame| frame.kind == DATA && frame.stream == stream);
            body.push_str(frame.text());
            if frame.flags & END_STREAM != 0 {
                return body;
            }
        }
    }

    /// Ends the other side's patience: how the connection ended.
    fn last_code(&mut self, bench: &mut Bench) -> Option<u32> {
        let frames = self.rest(bench);
        frames.iter().rfind(|it| it.kind == GOAWAY).map(Frame::code)
    }
}

fn impatient() -> ServerOptions {
    ServerOptions {
        idle: Duration::ZERO,
        head_time: Duration::ZERO,
        body_time: Duration::ZERO,
        ..ServerOptions::default()
    }
}

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const STREAM_CLOSED: u32 = 5;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

#[test]
fn a_stream_is_a_request() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let more = [
        ("cookie", "a=1"),
        ("x-y", "z"),
        ("cookie", "b=2"),
        ("te", "trailers"),
    ];
    let head = head_of("GET", "/a?b", &more);
    client.send(
        &mut bench,
        &frame(HEADERS, END_STREAM | END_HEADERS, 1, &head),
    );
    let (request, head) = client.request(&mut bench);
    let wanted =
        "GET /a?b HTTP/1.1\r\nhost: x.test\r\ncookie: a=1; b=2\r\nx-y: z\r\nte: trailers\r\n\r\n";
    assert_eq!(head, wanted);
    assert!(request.is_http2 && !request.is_secure && request.framing.keeps_alive);
    assert_eq!(request.framing.body, BodyLength::NONE);
    assert!(!bench.server.has_begun(request.id));
    assert!(bench.respond(&request, "hello"));
    assert!(!bench.respond(&request, "again"));
    assert!(bench.server.has_begun(request.id));
    let answer = client.until(&mut bench, |frame| frame.kind == HEADERS);
    assert_eq!((answer.stream, answer.flags), (1, END_HEADERS));
    // `:status: 200` is the eighth entry of the table.
    assert_eq!(answer.payload[0], 0x88);
    assert_eq!(client.body(&mut bench, 1), "hello");
    let statistics = bench.server.statistics();
    assert_eq!(
        (statistics.requests, statistics.http2, statistics.accepted),
        (1, 1, 1)
    );
}

#[test]
fn streams_are_answered_in_any_order() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let mut all = Vec::new();
    for stream in [1, 3, 5] {
        let head = head_of("GET", &format!("/{stream}"), &[]);
        all.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &head));
    }
    client.send(&mut bench, &all);
    let requests: Vec<_> = (0..3).map(|_| client.request(&mut bench)).collect();
    for ((request, head), stream) in requests.iter().zip([1, 3, 5]).rev() {
        assert!(head.starts_with(&format!("GET /{stream} ")), "{head}");
        assert!(bench.respond(request, &format!("to {stream}")));
        assert_eq!(client.body(&mut bench, stream), format!("to {stream}"));
    }
    client.get(&mut bench, 7, "/more");
    let (request, _) = client.request(&mut bench);
    // No body, and not by chunks.
    let head =
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(bench.server.respond(request.id, head, true));
    let answer = client.until(&mut bench, |frame| frame.kind == HEADERS);
    assert_eq!(
        (answer.flags, &answer.payload[..]),
        (END_STREAM | END_HEADERS, &[0x89][..])
    );
}

#[test]
fn the_preface_may_come_byte_by_byte() {
    let mut bench = usual();
    let mut client = bare(&bench);
    client.socket.set_nodelay(true).unwrap();
    for byte in PREFACE {
        client.send(&mut bench, &[*byte]);
        for _ in 0..20 {
            client.turn(&mut bench);
        }
    }
    client.send(&mut bench, &frame(SETTINGS, 0, 0, &[]));
    client.get(&mut bench, 1, "/a");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "x"));
    assert_eq!(client.body(&mut bench, 1), "x");
}

#[test]
fn who_does_not_want_it_does_not_speak_it() {
    let mut bench = bench(ServerOptions {
        streams_max: 0,
        ..ServerOptions::default()
    });
    let mut client = bare(&bench);
    client.send(&mut bench, PREFACE);
    let mut text = Vec::new();
    loop {
        client.turn(&mut bench);
        let mut buffer = [0; 1024];
        match client.socket.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert!(text.starts_with(b"HTTP/1.1 400 "));
}

#[test]
fn bodies_come_as_they_are_read() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let head = head_of("POST", "/", &[("content-length", "200000")]);
    client.send(&mut bench, &frame(HEADERS, END_HEADERS, 1, &head));
    let (request, _) = client.request(&mut bench);
    assert_eq!(request.framing.body, BodyLength::Known(200_000));
    let body = bench.server.body(request.id).unwrap();
    let mut buffer = vec![0; 5000];
    let outcome = body.read(&mut buffer, Wait::NonBlocking);
    assert!(matches!(outcome, Err(IoError::WouldBlock)));
    // As much as the window of a stream takes.
    let mut sent = 0;
    while sent < STREAM_WINDOW as usize {
        let part = vec![b'x'; 16_384.min(STREAM_WINDOW as usize - sent)];
        client.send(&mut bench, &frame(DATA, 0, 1, &part));
        sent += part.len();
    }
    let mut count = 0;
    while count < sent {
        count += match body.read(&mut buffer, Wait::NonBlocking) {
            Ok(count) => count,
            Err(_) => {
                client.turn(&mut bench);
                0
            }
        };
    }
    let update = client.until(&mut bench, |it| it.kind == WINDOW_UPDATE && it.stream == 1);
    assert!(update.code() > 0);
    while sent < 200_000 {
        let part = vec![b'x'; 10_000.min(200_000 - sent)];
        sent += part.len();
        let flags = if sent == 200_000 { END_STREAM } else { 0 };
        client.send(&mut bench, &frame(DATA, flags, 1, &part));
        count += body.read(&mut buffer, Wait::NonBlocking).unwrap_or(0);
    }
    while count < 200_000 {
        count += body.read(&mut buffer, Wait::NonBlocking).unwrap_or(0);
        client.turn(&mut bench);
    }
    assert!(matches!(body.read(&mut buffer, Wait::NonBlocking), Ok(0)));
    assert!(bench.respond(&request, "done"));
    assert_eq!(client.body(&mut bench, 1), "done");
    assert!(
        body.read(&mut buffer, Wait::NonBlocking).is_err(),
        "the request is over"
    );
}

#[test]
fn whole_answers_go_out_as_the_windows_allow() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/");
    let (request, _) = client.request(&mut bench);
    let body = "0123456789".repeat(50_000);
    assert!(bench.respond(&request, &body));
    let mut received = 0;
    let mut has_ended = false;
    let mut room = 65_535;
    while !has_ended {
        while room > 0 && !has_ended {
            let frame = client.until(&mut bench, |frame| frame.kind == DATA);
            received += frame.payload.len();
            room -= frame.payload.len();
            has_ended = frame.flags & END_STREAM != 0;
        }
        room += 100_000;
        for stream in [0, 1] {
            let increment = 100_000u32.to_be_bytes();
            client.send(&mut bench, &frame(WINDOW_UPDATE, 0, stream, &increment));
        }
    }
    assert_eq!(received, body.len());
}

#[test]
fn what_is_written_piece_by_piece_waits_for_the_windows() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/");
    let (request, _) = client.request(&mut bench);
    let mut head = Vec::new();
    push_status(&mut head, 200);
    head.extend_from_slice(b"\r\n");
    let id = request.id;
    let coding = BodyCoding::Chunked;
    let writer = bench
        .server
        .respond_with_body(id, &head, coding, false)
        .unwrap();
    assert!(bench.server.has_begun(id));
    let mut written = 0;
    let stopped = loop {
        match writer.write(&[b'x'; 10_000], Wait::NonBlocking) {
            Ok(count) => written += count,
            Err(error) => break error,
        }
        client.turn(&mut bench);
    };
    assert!(matches!(stopped, IoError::WouldBlock));
    assert_eq!(written, 65_535);
    for stream in [0, 1] {
        let increment = 5000u32.to_be_bytes();
        client.send(&mut bench, &frame(WINDOW_UPDATE, 0, stream, &increment));
    }
    let count = loop {
        match writer.write(&[b'x'; 10_000], Wait::NonBlocking) {
            Ok(count) => break count,
            Err(_) => client.turn(&mut bench),
        }
    };
    assert_eq!(count, 5000);
    assert!(bench.server.end_response(id, b""));
    assert_eq!(client.body(&mut bench, 1).len(), written + count);
}

#[test]
fn a_body_that_is_shorter_than_said_ends_its_stream_only() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/");
    client.get(&mut bench, 3, "/");
    let (request, _) = client.request(&mut bench);
    let (other, _) = client.request(&mut bench);
    let mut head = Vec::new();
    push_status(&mut head, 200);
    push_length(&mut head, 10);
    head.extend_from_slice(b"\r\n");
    let id = request.id;
    let coding = BodyCoding::Known(10);
    let writer = bench
        .server
        .respond_with_body(id, &head, coding, false)
        .unwrap();
    assert!(matches!(writer.write(b"12345", Wait::NonBlocking), Ok(5)));
    assert!(!bench.server.end_response(id, b""));
    let reset = client.until(&mut bench, |frame| frame.kind == RESET);
    assert_eq!((reset.stream, reset.code()), (1, 2));
    // Nor can a stream become something else.
    let head = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";
    let id = other.id;
    let coding = BodyCoding::Chunked;
    assert!(
        bench
            .server
            .respond_with_body(id, head, coding, false)
            .is_none()
    );
    assert!(bench.server.detach(id).is_none());
    assert!(bench.respond(&other, "ok"));
    assert_eq!(client.body(&mut bench, 3), "ok");
}

#[test]
fn heads_that_are_none_are_refused() {
    let mut bench = usual();
    let usual = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "x"),
    ];
    let with = |more: &[(&'static str, &'static str)]| {
        let mut fields = usual.to_vec();
        fields.extend_from_slice(more);
        fields
    };
    let heads = [
        with(&[("X-Upper", "1")]),
        with(&[("connection", "close")]),
        with(&[("transfer-encoding", "chunked")]),
        with(&[("upgrade", "websocket")]),
        with(&[("te", "gzip")]),
        with(&[("x", "a\r\nb: c")]),
        with(&[("x", "a\0")]),
        with(&[("x y", "a")]),
        with(&[(":path", "/again")]),
        with(&[("x", "a"), (":late", "b")]),
        with(&[("content-length", "1")]),
        usual[1..].to_vec(),
        vec![usual[0], usual[1], usual[3]],
        vec![usual[0], usual[2], usual[3]],
        vec![usual[0], usual[1], (":path", ""), usual[3]],
    ];
    for fields in heads {
        let mut client = self::client(&mut bench);
        let bytes = frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(&fields));
        client.send(&mut bench, &bytes);
        let end = client.until(&mut bench, |it| matches!(it.kind, RESET | HEADERS | GOAWAY));
        // A byte that no field can have is an error of the connection.
        assert!(matches!(end.kind, RESET | GOAWAY), "{fields:?}");
        assert_eq!(end.code(), PROTOCOL_ERROR, "{fields:?}");
        assert!(client.requests.is_empty());
    }
    let mut client = client(&mut bench);
    let mut stream = 1;
    // Errors that HTTP/1 would answer get the same answers here.
    let long = format!("/{}", "x".repeat(8400));
    let long: &'static str = long.leak();
    let many: Vec<_> = (0..101).map(|_| ("a", "b")).collect();
    let answers = [
        (with(&[("host", "y")]), "malformed or missing Host"),
        (
            vec![usual[0], usual[1], usual[2]],
            "malformed or missing Host",
        ),
        (
            vec![usual[0], usual[1], (":path", "*"), usual[3]],
            "malformed request target",
        ),
        (
            vec![usual[0], (":scheme", "ftp"), usual[2], usual[3]],
            "malformed request target",
        ),
        (
            vec![usual[0], usual[1], (":path", long), usual[3]],
            "request target too long",
        ),
        (
            with(&[("a", long), ("b", long), ("c", long), ("d", long)]),
            "head too long",
        ),
        (with(&many), "too many fields"),
        (with(&[("expect", "it")]), "this expectation is not served"),
        (with(&[("content-length", "99999999999")]), "body too long"),
    ];
    let count = answers.len() as u64;
    for (fields, text) in answers {
        let has_body = text == "body too long";
        let flags = if has_body {
            END_HEADERS
        } else {
            END_STREAM | END_HEADERS
        };
        let block = block(&fields);
        let (first, rest) = block.split_at(block.len().min(16_384));
        let mut bytes = Vec::new();
        if rest.is_empty() {
            bytes.extend(frame(HEADERS, flags, stream, first));
        } else {
            bytes.extend(frame(HEADERS, flags & END_STREAM, stream, first));
            for part in rest.chunks(16_384) {
                let is_last = part.as_ptr_range().end == rest.as_ptr_range().end;
                let flags = if is_last { END_HEADERS } else { 0 };
                bytes.extend(frame(CONTINUATION, flags, stream, part));
            }
        }
        client.send(&mut bench, &bytes);
        let body = client.body(&mut bench, stream);
        assert!(body.starts_with(text), "{body}");
        stream += 2;
    }
    assert_eq!(bench.server.statistics().refused, count);
    // A longer head is not even kept.
    let fields = with(&[
        ("a", long),
        ("b", long),
        ("c", long),
        ("d", long),
        ("e", long),
    ]);
    let block = block(&fields);
    let (first, rest) = block.split_at(16_384);
    let (second, third) = rest.split_at(16_384);
    let mut bytes = frame(HEADERS, END_STREAM, stream, first);
    bytes.extend(frame(CONTINUATION, 0, stream, second));
    bytes.extend(frame(CONTINUATION, END_HEADERS, stream, third));
    client.send(&mut bench, &bytes);
    let answer = client.until(&mut bench, |frame| frame.stream == stream);
    assert_eq!(
        (answer.kind, answer.flags),
        (HEADERS, END_STREAM | END_HEADERS)
    );
    stream += 2;
    client.get(&mut bench, stream, "/");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "still there"));
    assert_eq!(client.body(&mut bench, stream), "still there");
}

#[test]
fn a_body_of_another_length_than_said_is_none() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let head = head_of("POST", "/", &[("content-length", "10")]);
    for (stream, part) in [(1, &b"short"[..]), (3, b"longer than that")] {
        client.send(&mut bench, &frame(HEADERS, END_HEADERS, stream, &head));
        client.send(&mut bench, &frame(DATA, END_STREAM, stream, part));
        let (request, _) = client.request(&mut bench);
        let body = bench.server.body(request.id).unwrap();
        let reset = client.until(&mut bench, |frame| frame.kind == RESET);
        assert_eq!((reset.stream, reset.code()), (stream, PROTOCOL_ERROR));
        let mut buffer = [0; 100];
        let mut outcome = body.read(&mut buffer, Wait::NonBlocking);
        if outcome.is_ok() {
            outcome = body.read(&mut buffer, Wait::NonBlocking);
        }
        assert!(outcome.is_err(), "{outcome:?}");
        // That is the client's fault, and nobody's failure here.
        let fault = bench.server.fault(request.id);
        assert_eq!(fault, Some(400));
    }
}

#[test]
fn who_answers_before_the_body_came_throws_it_away() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.send(
        &mut bench,
        &frame(HEADERS, END_HEADERS, 1, &head_of("POST", "/", &[])),
    );
    let (request, _) = client.request(&mut bench);
    assert_eq!(request.framing.body, BodyLength::Chunked);
    assert!(bench.respond(&request, "no"));
    assert_eq!(client.body(&mut bench, 1), "no");
    client.send(&mut bench, &frame(DATA, 0, 1, &[b'x'; 1000]));
    client.send(&mut bench, &frame(DATA, END_STREAM, 1, &[b'x'; 1000]));
    client.get(&mut bench, 3, "/");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "yes"));
    let next = client.until(&mut bench, |frame| {
        !matches!(frame.kind, SETTINGS | WINDOW_UPDATE)
    });
    assert_eq!((next.kind, next.stream), (HEADERS, 3));
    // More than is thrown away: that is said without an error.
    client.send(
        &mut bench,
        &frame(HEADERS, END_HEADERS, 5, &head_of("POST", "/", &[])),
    );
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "no"));
    let mut sent = 0;
    let mut room = STREAM_WINDOW as usize;
    let reset = loop {
        if room >= 16_384 {
            client.send(&mut bench, &frame(DATA, 0, 5, &[b'x'; 16_384]));
            sent += 16_384;
            room -= 16_384;
            assert!(sent < 1 << 20);
        } else {
            let frame = client.until(&mut bench, |frame| {
                frame.stream == 5 && matches!(frame.kind, WINDOW_UPDATE | RESET)
            });
            if frame.kind == RESET {
                break frame;
            }
            room += frame.code() as usize;
        }
    };
    assert_eq!(reset.code(), NO_ERROR);
}

#[test]
fn clients_that_ask_are_told_to_send_the_body() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let head = head_of("POST", "/", &[("expect", "100-continue")]);
    client.send(&mut bench, &frame(HEADERS, END_HEADERS, 1, &head));
    let (request, _) = client.request(&mut bench);
    let body = bench.server.body(request.id).unwrap();
    let mut buffer = [0; 100];
    assert!(body.read(&mut buffer, Wait::NonBlocking).is_err());
    let invitation = client.until(&mut bench, |frame| frame.kind == HEADERS);
    assert_eq!(invitation.flags, END_HEADERS);
    client.send(&mut bench, &frame(DATA, END_STREAM, 1, b"body"));
    let count = loop {
        match body.read(&mut buffer, Wait::NonBlocking) {
            Ok(count) => break count,
            Err(_) => client.turn(&mut bench),
        }
    };
    assert_eq!(&buffer[..count], b"body");
}

#[test]
fn a_server_that_stops_answers_the_streams_that_it_has() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/");
    let (request, _) = client.request(&mut bench);
    bench.server.stop();
    client.until(&mut bench, |frame| {
        frame.kind == GOAWAY && frame.code() == NO_ERROR
    });
    let ping = client.until(&mut bench, |frame| frame.kind == PING);
    client.send(&mut bench, &frame(PING, ACK, 0, &ping.payload));
    assert!(!bench.server.has_stopped());
    assert!(bench.respond(&request, "last"));
    assert_eq!(client.body(&mut bench, 1), "last");
    client.rest(&mut bench);
    drop(client);
    while !bench.server.has_stopped() {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
}
