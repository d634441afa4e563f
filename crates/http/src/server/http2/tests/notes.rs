//! Streams in the log, and their trailers.

use super::*;
use crate::server::journal::{LogFormat, Taken};

fn logging() -> Bench {
    bench(ServerOptions {
        log: Some(LogFormat::Common),
        ..ServerOptions::default()
    })
}

/// The lines of the log so far, without the peer and the time.
fn lines(bench: &Bench) -> Vec<String> {
    match bench.server.journal().unwrap().take() {
        Taken::Lines(lines) => String::from_utf8(lines)
            .unwrap()
            .lines()
            .map(|line| line.split_once("] ").unwrap().1.to_owned())
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn each_stream_is_a_line_of_the_log() {
    let mut bench = logging();
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/a");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "hello"));
    assert_eq!(client.body(&mut bench, 1), "hello");
    assert_eq!(lines(&bench), ["\"GET /a HTTP/2.0\" 200 5"]);
    // One that the client cancels, one that is aborted.
    client.get(&mut bench, 3, "/b");
    client.get(&mut bench, 5, "/c");
    let (given_up, _) = client.request(&mut bench);
    let (aborted, _) = client.request(&mut bench);
    client.send(&mut bench, &frame(RESET, 0, 3, &8u32.to_be_bytes()));
    bench.server.abort(aborted.id);
    client.until(&mut bench, |frame| frame.kind == RESET);
    assert_eq!(lines(&bench), ["\"GET /c HTTP/2.0\" 000 0"]);
    bench.respond(&given_up, "nobody reads this");
    let line = lines(&bench);
    assert!(
        line.len() == 1 && line[0].starts_with("\"GET /b HTTP/2.0\""),
        "{line:?}"
    );
    // The end of the connection is that of what is handled.
    client.get(&mut bench, 7, "/d");
    let _ = client.request(&mut bench);
    bench.server.close_all();
    let line = lines(&bench);
    assert!(
        line.len() == 1 && line[0].starts_with("\"GET /d HTTP/2.0\" 000 0"),
        "{line:?}"
    );
}

#[test]
fn trailers_go_both_ways() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    let head = head_of("POST", "/", &[]);
    client.send(&mut bench, &frame(HEADERS, END_HEADERS, 1, &head));
    client.send(&mut bench, &frame(DATA, 0, 1, b"hello"));
    let trailers = block(&[("x-sum", "5")]);
    let flags = END_HEADERS | END_STREAM;
    client.send(&mut bench, &frame(HEADERS, flags, 1, &trailers));
    let (request, _) = client.request(&mut bench);
    let id = request.id;
    assert!(bench.server.trailers(id).is_empty());
    let body = bench.server.body(id).unwrap();
    let mut buffer = [0; 100];
    assert_eq!(body.read(&mut buffer, Wait::NonBlocking).unwrap(), 5);
    let end = loop {
        match body.read(&mut buffer, Wait::NonBlocking) {
            Ok(count) => break count,
            Err(_) => client.turn(&mut bench),
        }
    };
    assert_eq!(end, 0);
    assert_eq!(bench.server.trailers(id), b"x-sum: 5\r\n\r\n");
    let mut head = Vec::new();
    push_status(&mut head, 200);
    head.extend_from_slice(b"\r\n");
    let begun = bench
        .server
        .respond_with_body(id, &head, BodyCoding::Chunked, false);
    begun.unwrap().write(b"abc", Wait::NonBlocking).unwrap();
    assert!(bench.server.end_response(id, b"X-Sum: 3\r\n"));
    let last = client.until(&mut bench, |frame| {
        frame.stream == 1 && frame.flags & END_STREAM != 0
    });
    assert_eq!(last.kind, HEADERS);
    let text = String::from_utf8_lossy(&last.payload).into_owned();
    assert!(text.len() < 20, "{text}");
}
