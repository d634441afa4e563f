//! Clients that open no window, or take nothing: what waits for them has a limit, and is given back.

use super::*;

const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];
const WIDE_WINDOW: [u8; 6] = [0, 4, 0, 16, 0, 0];

/// A client whose streams have no window, and which has asked so often.
fn asking(bench: &mut Bench, count: u32) -> Client {
    let mut client = client(bench);
    client.socket.set_nodelay(true).unwrap();
    client.send(bench, &frame(SETTINGS, 0, 0, &NO_WINDOW));
    let mut bytes = Vec::new();
    for index in 0..count {
        let flags = END_STREAM | END_HEADERS;
        let head = head_of("GET", "/", &[]);
        bytes.extend(frame(HEADERS, flags, 2 * index + 1, &head));
    }
    client.send(bench, &bytes);
    client
}

/// Answers what comes, until nothing does any more; how many requests that were.
fn answer_all(client: &mut Client, bench: &mut Bench, body: &str) -> usize {
    let mut count = 0;
    let mut quiet_turns = 0;
    while quiet_turns < 200 {
        client.turn(bench);
        quiet_turns += 1;
        for (request, _) in std::mem::take(&mut client.requests) {
            assert!(bench.respond(&request, body));
            count += 1;
            quiet_turns = 0;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    count
}

fn small() -> ServerOptions {
    ServerOptions {
        unsent_per_connection: 10_000,
        ..ServerOptions::default()
    }
}

fn unsent(bench: &Bench) -> usize {
    bench.server.statistics().unsent
}

#[test]
fn a_connection_on_which_much_waits_gets_no_further_requests() {
    let mut bench = bench(small());
    let body = "x".repeat(3000);
    let mut client = asking(&mut bench, 50);
    // The fourth one reaches the limit.
    assert_eq!(answer_all(&mut client, &mut bench, &body), 4);
    assert_eq!(unsent(&bench), 12_000);
    // All are answered when it opens its windows.
    client.send(&mut bench, &frame(SETTINGS, 0, 0, &WIDE_WINDOW));
    client.send(&mut bench, &frame(WINDOW_UPDATE, 0, 0, &[0, 16, 0, 0]));
    assert_eq!(answer_all(&mut client, &mut bench, &body), 46);
    assert_eq!(unsent(&bench), 0);
    assert_eq!(client.body(&mut bench, 99), body);
}

#[test]
fn what_waits_is_given_back_with_its_stream_and_its_connection() {
    let mut bench = bench(small());
    let body = "x".repeat(3000);
    let mut client = asking(&mut bench, 50);
    assert_eq!(answer_all(&mut client, &mut bench, &body), 4);
    for stream in [1, 3, 5] {
        client.send(&mut bench, &frame(RESET, 0, stream, &CANCEL.to_be_bytes()));
    }
    // Some were given out before others were answered.
    let count = answer_all(&mut client, &mut bench, &body);
    assert!((3..=5).contains(&count), "{count}");
    assert_eq!(unsent(&bench), (1 + count) * 3000);
    // Somebody who has a port of a request of the connection keeps nothing.
    for stream in [7, 9, 11, 13] {
        client.send(&mut bench, &frame(RESET, 0, stream, &CANCEL.to_be_bytes()));
    }
    let (request, _) = client.request(&mut bench);
    let port = bench.server.body(request.id).unwrap();
    drop(client);
    while bench.server.statistics().connections > 0 {
        bench.server.next(&mut bench.scratch);
    }
    assert_eq!(unsent(&bench), 0);
    assert!(port.read(&mut [0; 10], Wait::NonBlocking).is_err());
}

#[test]
fn who_holds_most_loses_it_when_too_much_waits() {
    let mut bench = bench(ServerOptions {
        unsent_max: 100_000,
        ..ServerOptions::default()
    });
    let body = "x".repeat(10_000);
    let mut modest = asking(&mut bench, 2);
    assert_eq!(answer_all(&mut modest, &mut bench, &body), 2);
    let mut greedy = asking(&mut bench, 20);
    let mut most = 0;
    for _ in 0..20 {
        let (request, _) = greedy.request(&mut bench);
        assert!(bench.respond(&request, &body));
        most = most.max(unsent(&bench));
        greedy.turn(&mut bench);
    }
    assert!(most <= 110_000, "{most}");
    assert!(unsent(&bench) <= 100_000);
    let reset = greedy.until(&mut bench, |frame| frame.kind == RESET);
    assert_eq!(reset.code(), ENHANCE_YOUR_CALM);
    let statistics = bench.server.statistics();
    assert!(statistics.shed > 0);
    assert_eq!(statistics.connections, 2);
    // The other one has everything.
    modest.send(&mut bench, &frame(SETTINGS, 0, 0, &WIDE_WINDOW));
    for stream in [1, 3] {
        assert_eq!(modest.body(&mut bench, stream), body);
    }
}

#[test]
fn a_client_of_http1_that_does_not_read_loses_its_connection() {
    let mut bench = bench(ServerOptions {
        unsent_max: 1_000_000,
        ..ServerOptions::default()
    });
    let mut client = bare(&bench);
    client.send(&mut bench, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let (request, _) = client.request(&mut bench);
    // More than the system takes.
    assert!(bench.respond(&request, &"x".repeat(30_000_000)));
    while bench.server.statistics().connections > 0 {
        client.turn(&mut bench);
    }
    let statistics = bench.server.statistics();
    assert_eq!((statistics.shed, statistics.unsent), (1, 0));
}
