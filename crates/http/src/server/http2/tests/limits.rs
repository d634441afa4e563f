//! Times, windows and numbers of streams have limits; connections that break the rules end.

use super::*;

#[test]
fn connections_without_streams_end_after_a_time() {
    let mut bench = bench(impatient());
    let mut client = client(&mut bench);
    client.sweeps = true;
    client.until(&mut bench, |frame| {
        frame.kind == GOAWAY && frame.code() == NO_ERROR
    });
    assert_eq!(bench.server.statistics().timed_out, 1);
    let ping = client.until(&mut bench, |frame| frame.kind == PING);
    client.send(&mut bench, &frame(PING, ACK, 0, &ping.payload));
    assert_eq!(client.last_code(&mut bench), Some(NO_ERROR));
}

#[test]
fn a_head_that_does_not_end_ends_the_connection() {
    let mut bench = bench(ServerOptions {
        head_time: Duration::ZERO,
        ..ServerOptions::default()
    });
    // While another stream of it is busy.
    let mut client = client(&mut bench);
    client.get(&mut bench, 1, "/");
    let (request, _) = client.request(&mut bench);
    client.send(
        &mut bench,
        &frame(HEADERS, END_STREAM, 3, &head_of("GET", "/", &[])),
    );
    let before = bench.server.statistics().bytes_in;
    client.send(
        &mut bench,
        &frame(CONTINUATION, 0, 3, &block(&[("a", "b")])),
    );
    while bench.server.statistics().bytes_in == before {
        client.turn(&mut bench);
    }
    client.sweeps = true;
    client.rest(&mut bench);
    assert!(!bench.respond(&request, "too late"));
    assert_eq!(bench.server.statistics().timed_out, 1);
}

#[test]
fn windows_that_never_open_end_their_stream() {
    let mut bench = bench(ServerOptions {
        body_time: Duration::ZERO,
        ..ServerOptions::default()
    });
    let mut client = client(&mut bench);
    // No window for any stream.
    client.send(&mut bench, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    client.get(&mut bench, 1, "/");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "never read"));
    client.until(&mut bench, |frame| frame.kind == HEADERS);
    bench.server.sweep();
    let reset = client.until(&mut bench, |frame| frame.kind == RESET);
    client.sweeps = false;
    assert_eq!((reset.stream, reset.code()), (1, CANCEL));
    assert_eq!(bench.server.statistics().timed_out, 1);
    client.send(&mut bench, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]));
    client.get(&mut bench, 3, "/");
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "read"));
    assert_eq!(client.body(&mut bench, 3), "read");
}

#[test]
fn streams_that_are_opened_and_reset_are_limited() {
    let mut bench = bench(ServerOptions {
        streams_max: 10,
        ..ServerOptions::default()
    });
    let mut client = client(&mut bench);
    let head = head_of("GET", "/", &[]);
    for turn in 0..10_000u32 {
        let stream = 2 * turn + 1;
        let mut bytes = frame(HEADERS, END_STREAM | END_HEADERS, stream, &head);
        bytes.extend(frame(RESET, 0, stream, &CANCEL.to_be_bytes()));
        // Nobody answers.
        if !client.try_send(&mut bench, &bytes) {
            break;
        }
    }
    assert_eq!(client.last_code(&mut bench), Some(ENHANCE_YOUR_CALM));
    assert!(client.requests.len() <= 10, "{}", client.requests.len());
    for (request, _) in std::mem::take(&mut client.requests) {
        assert!(!bench.respond(&request, "nobody is there"));
    }
    drop(client);
    while bench.server.statistics().connections > 0 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let mut bench = bench(ServerOptions {
        streams_max: 2,
        ..ServerOptions::default()
    });
    let mut client = client(&mut bench);
    for stream in [1, 3, 5] {
        client.get(&mut bench, stream, "/");
    }
    let reset = client.until(&mut bench, |frame| frame.kind == RESET);
    // REFUSED_STREAM: it may be tried again.
    assert_eq!((reset.stream, reset.code()), (5, 7));
    let (request, _) = client.request(&mut bench);
    assert!(bench.respond(&request, "one"));
    client.get(&mut bench, 7, "/");
    for _ in 0..2 {
        let (request, _) = client.request(&mut bench);
        assert!(bench.respond(&request, "more"));
    }
    assert_eq!(client.body(&mut bench, 7), "more");
}

#[test]
fn requests_that_were_left_are_taken_when_others_have_ended() {
    let mut bench = bench(ServerOptions {
        streams_max: 2,
        ..ServerOptions::default()
    });
    let mut client = client(&mut bench);
    for stream in [1, 3] {
        client.get(&mut bench, stream, "/");
        client.send(&mut bench, &frame(RESET, 0, stream, &CANCEL.to_be_bytes()));
    }
    let first = client.request(&mut bench);
    let _second = client.request(&mut bench);
    client.get(&mut bench, 5, "/left");
    for _ in 0..200 {
        client.turn(&mut bench);
    }
    assert!(client.requests.is_empty(), "two are handled");
    bench.respond(&first.0, "to nobody");
    let (request, head) = client.request(&mut bench);
    assert!(head.starts_with("GET /left "));
    assert!(bench.respond(&request, "ok"));
    assert_eq!(client.body(&mut bench, 5), "ok");
}

#[test]
fn heads_without_end_are_cut_off() {
    let mut bench = usual();
    let mut client = client(&mut bench);
    client.send(
        &mut bench,
        &frame(HEADERS, END_STREAM, 1, &head_of("GET", "/", &[])),
    );
    let part = frame(CONTINUATION, 0, 1, &block(&[("a", &"x".repeat(10_000))]));
    for _ in 0..10_000 {
        if !client.try_send(&mut bench, &part) {
            break;
        }
    }
    let code = client.last_code(&mut bench);
    assert!(matches!(code, Some(ENHANCE_YOUR_CALM) | None), "{code:?}");
    assert!(client.requests.is_empty());
    assert!(bench.server.statistics().bytes_in < 1 << 20);
}

#[test]
fn who_asks_without_reading_the_answers_waits() {
    for part in [
        frame(PING, 0, 0, &[7; 8]),
        frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]),
    ] {
        let mut bench = bench(ServerOptions {
            body_time: Duration::ZERO,
            ..ServerOptions::default()
        });
        let mut client = client(&mut bench);
        let many = part.repeat(1000);
        let mut is_taken = true;
        for _ in 0..100_000 {
            is_taken = client.try_send(&mut bench, &many);
            if !is_taken {
                break;
            }
        }
        // The server no longer reads from a client that does not read. Then the time limit ends the
        // connection.
        assert!(!is_taken);
        client.sweeps = true;
        while bench.server.statistics().connections > 0 {
            client.turn(&mut bench);
        }
        assert_eq!(bench.server.statistics().timed_out, 1);
    }
}

#[test]
fn streams_are_not_used_twice() {
    type Break = fn(&mut Client, &mut Bench);
    let breaks: [(Break, &[u32]); 4] = [
        (
            |client, bench| client.send(bench, &frame(DATA, 0, 1, b"after the end")),
            &[STREAM_CLOSED, PROTOCOL_ERROR],
        ),
        (
            |client, bench| client.get(bench, 1, "/again"),
            &[STREAM_CLOSED, PROTOCOL_ERROR],
        ),
        (
            |client, bench| client.send(bench, &frame(DATA, 0, 9, b"never begun")),
            &[PROTOCOL_ERROR],
        ),
        (
            |client, bench| client.get(bench, 2, "/even"),
            &[PROTOCOL_ERROR],
        ),
    ];
    for (index, (break_it, codes)) in breaks.into_iter().enumerate() {
        let mut bench = usual();
        let mut client = client(&mut bench);
        client.get(&mut bench, 1, "/");
        let (request, _) = client.request(&mut bench);
        if index != 0 {
            assert!(bench.respond(&request, "ok"));
            assert_eq!(client.body(&mut bench, 1), "ok");
        }
        break_it(&mut client, &mut bench);
        let end = client.until(&mut bench, |frame| matches!(frame.kind, GOAWAY | RESET));
        assert!(codes.contains(&end.code()), "{index}: {end:?}");
        assert!(client.requests.is_empty());
    }
}

#[test]
fn what_is_no_frame_ends_the_connection() {
    let mut bench = usual();
    for bytes in [
        frame(0x42, 0, 0, &[]).repeat(3).as_slice(),
        &frame(SETTINGS, 0, 0, &[1, 2, 3]),
        &[0xFF; 100],
    ] {
        let mut client = client(&mut bench);
        client.try_send(&mut bench, bytes);
        if bytes[3] != 0x42 {
            let code = client.last_code(&mut bench);
            assert!(code.is_some_and(|code| code != NO_ERROR), "{code:?}");
        }
    }
    // A preface that continues as something else.
    let mut client = bare(&bench);
    client.send(&mut bench, b"PRI * HTTP/2.0\r\n\r\n");
    client.send(&mut bench, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.rest(&mut bench);
    assert!(client.requests.is_empty());
}
