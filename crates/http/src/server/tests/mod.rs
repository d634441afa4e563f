//! A server with clients that are plain sockets; it is asked for requests by the test itself.

mod pipelining;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::response::{push_length, push_status};

pub(super) struct Bench {
    pub(super) server: Server,
    pub(super) address: SocketAddr,
    pub(super) scratch: Scratch,
}

pub(super) fn bench(options: ServerOptions) -> Bench {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(options).unwrap();
    server.listen(listener.into(), None).unwrap();
    Bench {
        server,
        address,
        scratch: Scratch::default(),
    }
}

pub(super) fn usual() -> Bench {
    bench(ServerOptions::default())
}

impl Bench {
    fn client(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        client
    }

    /// The next request, its method and target; looks until there is one.
    pub(super) fn next(&mut self) -> (Request, String) {
        loop {
            if let Some(request) = self.server.next(&mut self.scratch) {
                let text = |range| String::from_utf8_lossy(self.scratch.bytes(range)).into_owned();
                let line = format!(
                    "{} {}",
                    text(request.head.method.clone()),
                    text(request.head.target.clone())
                );
                return (request, line);
            }
            std::thread::yield_now();
        }
    }

    pub(super) fn answer(&mut self, body: &str) -> String {
        let (request, line) = self.next();
        self.respond(&request, body);
        line
    }

    pub(super) fn respond(&self, request: &Request, body: &str) -> bool {
        let mut bytes = Vec::new();
        push_status(&mut bytes, 200);
        push_length(&mut bytes, body.len() as u64);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.as_bytes());
        self.server.respond(request.id, &bytes, false)
    }

    /// Looks until the client has read everything up to the end of the connection.
    fn until_the_end(&mut self, mut client: TcpStream) -> String {
        client.set_nonblocking(true).unwrap();
        let mut all = Vec::new();
        loop {
            assert!(self.server.next(&mut self.scratch).is_none(), "no request");
            let mut buffer = [0; 4096];
            match client.read(&mut buffer) {
                Ok(0) => return String::from_utf8_lossy(&all).into_owned(),
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn read(client: &mut TcpStream, count: usize) -> String {
    let mut bytes = vec![0; count];
    client.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

#[test]
fn a_connection_has_one_request_after_the_other() {
    let mut bench = usual();
    let mut client = bench.client();
    for body in ["ab", "cd", "ef"] {
        client.write_all(GET).unwrap();
        assert_eq!(bench.answer(body), "GET /a");
        assert_eq!(read(&mut client, OK.len() + 2), format!("{OK}{body}"));
    }
    drop(client);
    while bench.server.statistics().connections > 0 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    let statistics = bench.server.statistics();
    assert_eq!((statistics.accepted, statistics.requests), (1, 3));
    assert_eq!(statistics.bytes_in, 3 * GET.len() as u64);
}

#[test]
fn requests_that_came_together_are_answered_in_their_order() {
    let mut bench = usual();
    let mut client = bench.client();
    client
        .write_all(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HT")
        .unwrap();
    assert_eq!(bench.answer("a1"), "GET /1");
    assert_eq!(bench.answer("a2"), "GET /2");
    client.write_all(b"TP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(bench.answer("a3"), "GET /3");
    let answers = read(&mut client, 3 * (OK.len() + 2));
    assert_eq!(answers, format!("{OK}a1{OK}a2{OK}a3"));
}

#[test]
fn heads_may_come_byte_by_byte() {
    let mut bench = usual();
    let mut client = bench.client();
    client.set_nodelay(true).unwrap();
    for byte in &GET[..GET.len() - 1] {
        client.write_all(&[*byte]).unwrap();
        for _ in 0..3 {
            assert!(bench.server.next(&mut bench.scratch).is_none());
        }
    }
    client.write_all(b"\n").unwrap();
    assert_eq!(bench.answer("ok"), "GET /a");
}

#[test]
fn what_is_no_request_is_refused_and_the_connection_ends() {
    let heads: [(&[u8], &str); 12] = [
        (b"GET / HTTP/1.1\nHost: x\n\n", "400"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"),
        (b"GET / HTTP/3.0\r\n\r\n", "505"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
        (b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", "413"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nExpect: it\r\n\r\n", "417"),
    ];
    let mut bench = usual();
    for (head, status) in heads {
        let mut client = bench.client();
        client.write_all(head).unwrap();
        // The bytes behind it are not taken for a request.
        client.write_all(GET).unwrap();
        let answer = bench.until_the_end(client);
        assert_eq!(answer.get(9..12), Some(status), "{head:?}: {answer}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    assert_eq!(bench.server.statistics().refused, 12);
    assert_eq!(bench.server.statistics().requests, 0);
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let mut bench = usual();
    let mut client = bench.client();
    client.write_all(GET).unwrap();
    let (request, _) = bench.next();
    let body = "0123456789".repeat(1_000_000);
    assert!(bench.respond(&request, &body));
    // It is over for who gave it, but not out.
    assert!(!bench.respond(&request, "again"));
    let server = &bench.server;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n".len();
            let text = read(&mut client, head + body.len());
            done.store(true, Ordering::SeqCst);
            text
        });
        let mut scratch = Scratch::default();
        while !done.load(Ordering::SeqCst) {
            assert!(server.next(&mut scratch).is_none());
        }
        assert!(reader.join().unwrap().ends_with(&body));
    });
}

#[test]
fn bodies_that_nobody_reads_are_passed_over() {
    let mut bench = usual();
    let mut client = bench.client();
    for start in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ] {
        let text = format!("POST /b HTTP/1.1\r\nHost: x\r\n{start}");
        client.write_all(text.as_bytes()).unwrap();
        assert_eq!(bench.answer("ok"), "POST /b");
    }
    client.write_all(GET).unwrap();
    assert_eq!(bench.answer("ok"), "GET /a");
}

#[test]
fn what_takes_too_long_ends() {
    let mut bench = bench(ServerOptions {
        head_time: Duration::ZERO,
        idle: Duration::ZERO,
        ..ServerOptions::default()
    });
    let mut slow = bench.client();
    slow.write_all(b"GET / HT").unwrap();
    while bench.server.statistics().bytes_in == 0 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    let idle = bench.client();
    while bench.server.statistics().accepted < 2 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    bench.server.sweep();
    assert!(bench.until_the_end(slow).starts_with("HTTP/1.1 408 "));
    assert_eq!(bench.until_the_end(idle), "");
    assert_eq!(bench.server.statistics().timed_out, 2);
}

#[test]
fn a_server_that_stops_answers_what_it_has() {
    let mut bench = usual();
    let mut busy = bench.client();
    busy.write_all(GET).unwrap();
    let (request, _) = bench.next();
    let mut waiting = bench.client();
    waiting.write_all(GET).unwrap();
    bench.server.stop();
    assert!(!bench.server.has_stopped());
    let (other, _) = bench.next();
    assert!(bench.respond(&request, "ok"));
    assert!(bench.respond(&other, "ok"));
    let answer = format!("{OK}ok");
    assert_eq!(bench.until_the_end(busy), answer);
    assert_eq!(bench.until_the_end(waiting), answer);
    assert!(bench.server.has_stopped());
    assert!(TcpStream::connect(bench.address).is_err());
}

#[test]
fn who_was_answered_a_moment_ago_may_ask_once_more() {
    // On a busy machine the moment may be over too soon.
    for _ in 0..100 {
        let mut bench = usual();
        let mut client = bench.client();
        client.write_all(GET).unwrap();
        let before = clock();
        assert_eq!(bench.answer("ok"), "GET /a");
        assert_eq!(read(&mut client, OK.len() + 2), format!("{OK}ok"));
        bench.server.stop();
        let is_early = clock() - before < connection::GRACE;
        assert!(bench.server.next(&mut bench.scratch).is_none());
        if !is_early {
            continue;
        }
        assert!(!bench.server.has_stopped());
        client.write_all(GET).unwrap();
        assert_eq!(bench.answer("ok"), "GET /a");
        assert_eq!(bench.until_the_end(client), format!("{OK}ok"));
        assert!(bench.server.has_stopped());
        return;
    }
}

#[test]
fn who_was_answered_some_time_ago_may_not() {
    let mut bench = usual();
    let mut client = bench.client();
    client.write_all(GET).unwrap();
    assert_eq!(bench.answer("ok"), "GET /a");
    assert_eq!(read(&mut client, OK.len() + 2), format!("{OK}ok"));
    bench.server.stop();
    while !bench.server.has_stopped() {
        bench.server.sweep();
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    assert_eq!(bench.until_the_end(client), "");
}

#[test]
fn clients_have_so_many_connections() {
    let mut bench = bench(ServerOptions {
        connections_per_client: Some(2),
        ..ServerOptions::default()
    });
    let clients: Vec<TcpStream> = (0..3).map(|_| bench.client()).collect();
    while bench.server.statistics().turned_away == 0 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    assert_eq!(bench.server.statistics().connections, 2);
    drop(clients);
    while bench.server.statistics().connections > 0 {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    let mut client = bench.client();
    client.write_all(GET).unwrap();
    assert_eq!(bench.answer("ok"), "GET /a");
}

#[test]
fn numbers_of_connections_are_not_used_twice() {
    let mut slots = Slots::default();
    let common = Arc::new(Common {
        options: ServerOptions::default(),
        is_stopping: AtomicBool::new(false),
        counters: Counters::default(),
        observer: None,
        unsent: AtomicUsize::new(0),
        unsent_peak: AtomicUsize::new(0),
    });
    let mut seen = Vec::new();
    for _ in 0..5 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = Stream::new(listener.into(), None);
        let id = slots
            .insert(|id| Connection::new(id, stream, None, 0, common.clone()))
            .id();
        assert!(!seen.contains(&id));
        assert!(slots.find(id).is_some());
        assert!(slots.remove(id));
        assert!(slots.find(id).is_none() && !slots.remove(id));
        seen.push(id);
    }
    let has_first_slot = |id: &ConnectionId| id.number() & 0xFFFF_FFFF == 0;
    assert!(seen.iter().all(has_first_slot));
}

#[test]
fn who_ends_within_a_body_is_answered_all_the_same() {
    let mut bench = usual();
    for sent in [
        "Content-Length: 5\r\n\r\nhel",
        "Content-Length: 5\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\na",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n",
    ] {
        let mut client = bench.client();
        let text = format!("POST /b HTTP/1.1\r\nHost: x\r\n{sent}");
        client.write_all(text.as_bytes()).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let (request, _) = bench.next();
        let body = bench.server.body(request.id).unwrap();
        let mut buffer = [0; 100];
        let error = loop {
            match body.read(&mut buffer, canny_io::Wait::NonBlocking) {
                Ok(0) => panic!("{sent:?} has no end"),
                Ok(_) | Err(canny_io::IoError::WouldBlock) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(bench.server.fault(request.id), Some(400), "{error}");
        assert!(bench.respond(&request, "short"));
        assert!(bench.until_the_end(client).ends_with("short"));
    }
}

#[test]
fn clients_that_go_are_noticed_while_their_requests_are_handled() {
    let mut bench = usual();
    let mut client = bench.client();
    client.write_all(GET).unwrap();
    let (request, _) = bench.next();
    let id = request.id;
    assert!(!bench.server.is_gone(id));
    drop(client);
    while !bench.server.is_gone(id) {
        assert!(bench.server.next(&mut bench.scratch).is_none());
    }
    bench.server.abort(id);
    assert!(!bench.respond(&request, "to nobody"));
    assert_eq!(bench.server.statistics().connections, 0);
    assert!(bench.server.is_gone(id));
}

#[test]
fn a_server_that_has_stopped_has_no_descriptors() {
    let mut bench = usual();
    assert!(bench.server.begin_to_wait());
    bench.server.stop();
    assert!(bench.server.has_stopped());
    // A waiting thread is woken first.
    bench.server.release();
    assert!(bench.server.system().is_some());
    bench.server.end_waiting();
    bench.server.release();
    assert!(bench.server.system().is_none());
    assert!(bench.server.next(&mut bench.scratch).is_none());
    assert!(!bench.server.is_deserted());
}
