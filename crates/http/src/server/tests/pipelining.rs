//! Requests that come together, however they are cut: every read size, every place of a cut, every
//! moment for what comes later.
//!
//! The socket is a pair within this process, which has delivered what was written when `write` returns.
//! So whoever gets no request although one was written whole has found a connection that rests for
//! ever, and no test here waits for anything.

use std::os::unix::net::UnixStream;

use canny_io::Wait;

use super::*;

/// A request, and what its handler has to see.
#[derive(Clone)]
struct Message {
    bytes: Vec<u8>,
    line: String,
    body: Vec<u8>,
}

fn plain(name: u32) -> Message {
    Message {
        bytes: format!("GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes(),
        line: format!("GET /{name}"),
        body: Vec::new(),
    }
}

fn with_body(name: u32, length: usize) -> Message {
    let body: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
    let head = format!("PUT /{name} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    Message {
        bytes: [head.as_bytes(), &body].concat(),
        line: format!("PUT /{name}"),
        body,
    }
}

fn in_chunks(name: u32, sizes: &[usize]) -> Message {
    let head = format!("PUT /{name} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut bytes = head.into_bytes();
    let mut body = Vec::new();
    for size in sizes {
        let chunk = vec![b'z'; *size];
        bytes.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        bytes.extend_from_slice(&chunk);
        bytes.extend_from_slice(b"\r\n");
        body.extend_from_slice(&chunk);
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    Message {
        bytes,
        line: format!("PUT /{name}"),
        body,
    }
}

/// The amount of the body that a handler reads before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Nothing,
    OneByte,
    Everything,
}

/// One connection, and how far the handler of its present request is.
struct Run<'a> {
    bench: &'a mut Bench,
    client: UnixStream,
    messages: &'a [Message],
    reads: Reads,
    held: Option<(Request, Vec<u8>)>,
    answered: usize,
}

impl Run<'_> {
    fn new<'a>(bench: &'a mut Bench, messages: &'a [Message], reads: Reads) -> Run<'a> {
        let (client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let connection = bench.server.admit(server.into(), None, None).unwrap();
        bench.server.ready.lock().push_back(connection);
        Run {
            bench,
            client,
            messages,
            reads,
            held: None,
            answered: 0,
        }
    }

    /// Does one thing: takes a request, reads a part of its body, or answers it. `false` if there is
    /// nothing to do until more was written.
    fn step(&mut self) -> bool {
        let Some((request, body)) = &mut self.held else {
            let server = &self.bench.server;
            let Some(request) = server.next(&mut self.bench.scratch) else {
                return false;
            };
            let text =
                |range| String::from_utf8_lossy(self.bench.scratch.bytes(range)).into_owned();
            let line = format!(
                "{} {}",
                text(request.head.method.clone()),
                text(request.head.target.clone())
            );
            assert_eq!(line, self.messages[self.answered].line);
            self.held = Some((request, Vec::new()));
            return true;
        };
        let wanted = match self.reads {
            Reads::Nothing => 0,
            Reads::OneByte => 1,
            Reads::Everything => usize::MAX,
        };
        if body.len() < wanted {
            let handle = self.bench.server.body(request.id).unwrap();
            let mut buffer = [0; 7];
            let room = buffer.len().min(wanted - body.len());
            match handle.read(&mut buffer[..room], Wait::NonBlocking) {
                Ok(0) => assert_eq!(*body, self.messages[self.answered].body),
                Ok(count) => {
                    body.extend_from_slice(&buffer[..count]);
                    return true;
                }
                Err(_) => return false,
            }
        }
        let (request, _) = self.held.take().unwrap();
        assert!(self.bench.respond(&request, "ok"));
        self.answered += 1;
        true
    }

    fn write(&mut self, bytes: &[u8]) {
        self.client.write_all(bytes).unwrap();
    }

    /// Does all that can be done: every request has to be answered.
    fn finish(mut self, what: &str) {
        while self.step() {}
        assert_eq!(self.answered, self.messages.len(), "{what}");
        let mut answers = Vec::new();
        let end = self.client.read_to_end(&mut answers);
        assert!(end.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
        let text = String::from_utf8_lossy(&answers);
        assert_eq!(text, format!("{OK}ok").repeat(self.answered), "{what}");
        drop(self.client);
        while self.bench.server.next(&mut self.bench.scratch).is_some() {}
        assert_eq!(self.bench.server.statistics().connections, 0, "{what}");
    }
}

fn bytes_of(messages: &[Message]) -> Vec<u8> {
    let parts = messages.iter().map(|message| &message.bytes[..]);
    parts.collect::<Vec<_>>().concat()
}

/// A server that reads at most so many bytes of a head at once.
fn reading(bytes: usize) -> Bench {
    bench(ServerOptions {
        head: HeadLimits {
            bytes,
            ..HeadLimits::default()
        },
        ..ServerOptions::default()
    })
}

#[test]
fn reads_may_end_anywhere_and_bytes_come_at_any_moment() {
    let messages = [
        plain(1),
        with_body(2, 3),
        plain(3),
        in_chunks(4, &[2, 1]),
        plain(5),
    ];
    let bytes = bytes_of(&messages);
    let head_bytes_max = 58;
    for read_bytes in head_bytes_max..bytes.len() + 2 {
        let mut bench = reading(read_bytes);
        for cut in 0..bytes.len() {
            // The bytes behind the cut come before the first look, or after some of the steps.
            let reads = [Reads::Nothing, Reads::OneByte, Reads::Everything][cut % 3];
            for steps in [0, 1 + (read_bytes + cut / 3) % 13] {
                let mut run = Run::new(&mut bench, &messages, reads);
                run.write(&bytes[..cut]);
                for _ in 0..steps {
                    run.step();
                }
                run.write(&bytes[cut..]);
                let what = format!(
                    "reads of {read_bytes}, cut at {cut} after {steps} steps, handlers read {reads:?}"
                );
                run.finish(&what);
            }
        }
    }
}

/// Numbers that look random, the same for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % limit as u64) as usize
    }
}

#[test]
fn requests_of_any_kind_come_in_any_pieces() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let messages: Vec<Message> = (0..1 + random.below(12) as u32)
            .map(|name| match random.below(4) {
                0 => with_body(name, random.below(90)),
                1 => {
                    let sizes: Vec<usize> =
                        (0..random.below(4)).map(|_| 1 + random.below(40)).collect();
                    in_chunks(name, &sizes)
                }
                _ => plain(name),
            })
            .collect();
        let bytes = bytes_of(&messages);
        let mut bench = reading(64 + random.below(200));
        let reads = [Reads::Nothing, Reads::OneByte, Reads::Everything][random.below(3)];
        let mut run = Run::new(&mut bench, &messages, reads);
        let mut written = 0;
        while written < bytes.len() {
            let end = bytes.len().min(written + 1 + random.below(120));
            run.write(&bytes[written..end]);
            written = end;
            for _ in 0..random.below(8) {
                run.step();
            }
        }
        run.finish(&format!("seed {seed}"));
    }
}

#[test]
fn a_client_may_end_its_direction_behind_its_requests() {
    let messages = [plain(1), with_body(2, 5), plain(3)];
    let bytes = bytes_of(&messages);
    for read_bytes in 58..bytes.len() + 2 {
        let mut bench = reading(read_bytes);
        for steps in 0..10 {
            let mut run = Run::new(&mut bench, &messages, Reads::Everything);
            run.write(&bytes);
            for _ in 0..steps {
                run.step();
            }
            run.client.shutdown(std::net::Shutdown::Write).unwrap();
            while run.step() {}
            assert_eq!(run.answered, 3, "reads of {read_bytes}, {steps} steps");
            let mut answers = String::new();
            run.client.read_to_string(&mut answers).unwrap();
            assert_eq!(answers, format!("{OK}ok").repeat(3));
            assert_eq!(bench.server.statistics().connections, 0);
        }
    }
}

#[test]
fn a_client_that_ends_within_a_head_is_not_waited_for() {
    let messages = [plain(1)];
    let bytes = bytes_of(&messages);
    for cut in 1..bytes.len() {
        let mut bench = reading(64);
        let mut run = Run::new(&mut bench, &messages, Reads::Nothing);
        run.write(&bytes[..cut]);
        run.client.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(!run.step());
        assert_eq!(bench.server.statistics().connections, 0, "cut at {cut}");
    }
}

/// Says that it is over, also when it has failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn thousands_of_requests_at_once_are_all_answered() {
    let mut bench = usual();
    let mut client = bench.client();
    let request = b"GET / HTTP/1.1\r\nHost: abcdef\r\n\r\n";
    assert_eq!(request.len(), 32);
    client.write_all(request).unwrap();
    assert_eq!(bench.answer("ok"), "GET /");
    read(&mut client, OK.len() + 2);
    for count in [1025, 20_000] {
        let mut writer = client.try_clone().unwrap();
        let mut reader = client.try_clone().unwrap();
        let server = &bench.server;
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&request.repeat(count)).unwrap());
            scope.spawn(|| {
                let _done = Done(&is_over);
                read(&mut reader, count * (OK.len() + 2));
            });
            let mut scratch = Scratch::default();
            let bytes = format!("{OK}ok").into_bytes();
            while !is_over.load(Ordering::SeqCst) {
                if let Some(request) = server.next(&mut scratch) {
                    assert!(server.respond(request.id, &bytes, false));
                }
            }
        });
    }
}
