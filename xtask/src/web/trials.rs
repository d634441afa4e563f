//! Handlers that use up the heap, compute for long or send events to slow readers, and how long others
//! wait meanwhile.
//!
//! The server is `benches/web/trials.scm`. Clients are threads that block, one request at a time each:
//! they need little of the processor beside such handlers. An innocent request is one for `/`, whose
//! answer is checked as a whole.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::load::{Times, connect};
use super::servers::{Server, peak_megabytes, processor_time};

/// The trials, as `--trial` names them.
pub const TRIALS: [&str; 3] = ["memory", "fairness", "streams"];

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Requests of the trial of memory, of which each tenth uses up the heap.
    pub requests: u64,
    /// Clients of the trial of memory at once.
    pub clients: u64,
}

/// Runs a trial of [`TRIALS`] against a server.
pub fn run(trial: &str, plan: Plan, server: &Server) -> Result<(), String> {
    let page = page();
    let mut client = Client::new(server.port);
    for _ in 0..500 {
        // Code is compiled before anything is counted.
        client.expect("/", 200, &page)?;
    }
    match trial {
        "memory" => memory(plan, server, &page),
        "fairness" => fairness(server, &page),
        _ => streams(server, &page),
    }
}

fn page() -> String {
    (1..=2000).map(|number: u32| number.to_string()).collect()
}

/// A client that keeps its connection.
struct Client {
    port: u16,
    stream: Option<TcpStream>,
}

impl Client {
    fn new(port: u16) -> Client {
        Client { port, stream: None }
    }

    /// Status and body of the answer to a request for a path.
    fn ask(&mut self, path: &str) -> Result<(u16, Vec<u8>), String> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.port)?,
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let result = stream.write_all(request.as_bytes());
        result.map_err(|error| format!("{path}: {error}"))?;
        let answer = read_answer(&mut stream).map_err(|error| format!("{path}: {error}"))?;
        self.stream = Some(stream);
        Ok(answer)
    }

    fn expect(&mut self, path: &str, wanted: u16, page: &str) -> Result<(), String> {
        let (status, body) = self.ask(path)?;
        let is_right = status == wanted && (wanted != 200 || body == page.as_bytes());
        if is_right {
            Ok(())
        } else {
            Err(format!("{path}: status {status}, {} bytes", body.len()))
        }
    }
}

/// Status and body of an answer that tells its length.
pub(super) fn read_answer(stream: &mut TcpStream) -> Result<(u16, Vec<u8>), String> {
    let mut answer = Vec::new();
    let mut buffer = [0; 16384];
    loop {
        let count = stream
            .read(&mut buffer)
            .map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("the connection ended".to_owned());
        }
        answer.extend_from_slice(&buffer[..count]);
        let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .and_then(|text| text.parse::<usize>().ok())
            .ok_or("no length")?;
        let body = &answer[end + 4..];
        if body.len() >= length {
            let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
            return Ok((status.ok_or("no status")?, body[..length].to_vec()));
        }
    }
}

/// Clients of whose requests each tenth uses up the heap.
fn memory(plan: Plan, server: &Server, page: &str) -> Result<(), String> {
    let (innocent, greedy) = (Times::new(), Times::new());
    let (next, failures) = (AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    let processor = processor_time(server);
    std::thread::scope(|scope| {
        for _ in 0..plan.clients {
            scope.spawn(|| {
                let mut client = Client::new(server.port);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plan.requests {
                        return;
                    }
                    let (path, wanted, times) = match number % 10 {
                        9 => ("/endless", 500, &greedy),
                        _ => ("/", 200, &innocent),
                    };
                    let asked = Instant::now();
                    match client.expect(path, wanted, page) {
                        Ok(()) => times.add(asked.elapsed()),
                        Err(error) => {
                            if failures.fetch_add(1, Ordering::Relaxed) < 10 {
                                eprintln!("failed: {error}");
                            }
                        }
                    }
                }
            });
        }
    });
    println!(
        "{} requests, {} at once, in {:.1} s and {:.1} s of processor time, at most {:.1} MB; {} failed",
        plan.requests,
        plan.clients,
        begun.elapsed().as_secs_f64(),
        processor_time(server) - processor,
        peak_megabytes(server),
        failures.load(Ordering::Relaxed)
    );
    println!(
        "innocent: 50% {:.1} ms, 90% {:.1} ms, 99% {:.1} ms, longest {:.1} ms; {:.2} % within 50 ms",
        innocent.quantile(500),
        innocent.quantile(900),
        innocent.quantile(990),
        innocent.longest(),
        innocent.percent_within(Duration::from_millis(50)),
    );
    println!(
        "that use up the heap: 50% {:.1} ms, 99% {:.1} ms",
        greedy.quantile(500),
        greedy.quantile(990)
    );
    match failures.into_inner() {
        0 => Ok(()),
        count => Err(format!("{count} requests failed")),
    }
}

/// Handlers that compute, and 50 ms later a request on a new connection.
fn fairness(server: &Server, page: &str) -> Result<(), String> {
    const TURNS: usize = 15;
    for computing in [1, 4, 12, 16, 24, 32] {
        let mut waits = Vec::new();
        for _ in 0..TURNS {
            let wait = std::thread::scope(|scope| {
                let computing: Vec<_> = (0..computing)
                    .map(|_| scope.spawn(|| Client::new(server.port).ask("/compute")))
                    .collect();
                std::thread::sleep(Duration::from_millis(50));
                let asked = Instant::now();
                let outcome = Client::new(server.port).expect("/", 200, page);
                let wait = asked.elapsed();
                for thread in computing {
                    let answer = thread.join().unwrap_or_else(|_| Err("panicked".to_owned()));
                    if answer?.1 != b"done" {
                        return Err::<Duration, String>("/compute: another answer".to_owned());
                    }
                }
                outcome.map(|()| wait)
            })?;
            waits.push(wait.as_secs_f64() * 1000.0);
        }
        waits.sort_by(f64::total_cmp);
        println!(
            "{computing:3} that compute: `GET /` on a new connection takes {:.1} ms in the median of \
             {TURNS}, {:.1} ms at most",
            waits[TURNS / 2],
            waits[TURNS - 1]
        );
    }
    Ok(())
}

/// Event streams whose clients read slowly, beside a client with a limit of five seconds.
fn streams(server: &Server, page: &str) -> Result<(), String> {
    const STREAMS: usize = 100;
    const LIMIT: Duration = Duration::from_secs(5);
    let is_over = AtomicBool::new(false);
    let (times, ended) = (Times::new(), AtomicU64::new(0));
    let outcome = std::thread::scope(|scope| {
        for _ in 0..STREAMS {
            scope.spawn(|| {
                if let Err(error) = read_slowly(server.port, &is_over)
                    && ended.fetch_add(1, Ordering::Relaxed) < 10
                {
                    eprintln!("stream: {error}");
                }
            });
        }
        std::thread::sleep(Duration::from_secs(1));
        let begun = Instant::now();
        let outcome = (|| -> Result<(), String> {
            while begun.elapsed() < Duration::from_secs(20) {
                let asked = Instant::now();
                let mut client = Client::new(server.port);
                client.expect("/", 200, page)?;
                times.add(asked.elapsed());
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        })();
        is_over.store(true, Ordering::Relaxed);
        outcome
    });
    println!(
        "{} requests on new connections beside {STREAMS} event streams that are read slowly: 50% {:.1} ms, \
         99% {:.1} ms, longest {:.1} ms; {} streams ended; at most {:.1} MB",
        times.count(),
        times.quantile(500),
        times.quantile(990),
        times.longest(),
        ended.load(Ordering::Relaxed),
        peak_megabytes(server),
    );
    outcome?;
    if times.longest() > LIMIT.as_secs_f64() * 1000.0 {
        Err("a request took longer than five seconds".to_owned())
    } else {
        Ok(())
    }
}

/// Two kilobytes in a second, until it is over.
fn read_slowly(port: u16, is_over: &AtomicBool) -> Result<(), String> {
    let mut stream = connect(port)?;
    let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    let result = stream.write_all(request);
    result.map_err(|error| error.to_string())?;
    let mut buffer = [0; 200];
    while !is_over.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return Err("ended".to_owned()),
            Ok(_) => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
