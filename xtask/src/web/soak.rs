//! A server under a steady load, for as long as one likes, among clients that misbehave.
//!
//! Requests come when they are due, not when the last one was answered, and a request's time counts from when it was due: a pause
//! of the server is seen in all requests that it holds up. First the most that goes through is found out; then a share of it is asked for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is asked for, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub port: u16,
    pub seconds: u64,
    /// Hundredths of what goes through at most.
    pub load: u64,
    pub connections: usize,
    /// Clients that do what they should not.
    pub misbehaving: usize,
}

/// Times in microseconds, in buckets that are a thirty-second apart.
#[derive(Debug)]
struct Times {
    buckets: Vec<AtomicU64>,
    longest: AtomicU64,
}

const STEPS: u64 = 32;

impl Times {
    fn new() -> Times {
        Times {
            buckets: (0..64 * STEPS).map(|_| AtomicU64::new(0)).collect(),
            longest: AtomicU64::new(0),
        }
    }

    fn bucket(micros: u64) -> usize {
        if micros < STEPS {
            return micros as usize;
        }
        let shift = micros.ilog2() - STEPS.ilog2();
        (u64::from(shift) * STEPS + (micros >> shift)) as usize
    }

    /// The least time of a bucket.
    fn least(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        if bucket < 2 * STEPS {
            return bucket;
        }
        let shift = bucket / STEPS - 1;
        (bucket - shift * STEPS) << shift
    }

    fn add(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.buckets[Times::bucket(micros)].fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(micros, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        let counts = self.buckets.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The time in milliseconds that so many thousandths of the requests did not exceed by more than a thirty-second.
    fn quantile(&self, thousandths: u64) -> f64 {
        let wanted = (self.count() * thousandths).div_ceil(1000);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count.load(Ordering::Relaxed);
            if seen >= wanted {
                return Times::least(bucket) as f64 / 1000.0;
            }
        }
        0.0
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What ends the answer to it.
const BODY: &[u8] = b"Hello, World!";

fn connect(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    let limit = Some(Duration::from_secs(20));
    let _ = stream.set_read_timeout(limit);
    let _ = stream.set_write_timeout(limit);
    Ok(stream)
}

fn ask(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<(), String> {
    stream
        .write_all(REQUEST)
        .map_err(|error| error.to_string())?;
    let mut there = 0;
    while !buffer[..there].ends_with(BODY) {
        match stream.read(&mut buffer[there..]) {
            Ok(0) => return Err("the connection ended".to_owned()),
            Ok(count) => there += count,
            Err(error) => return Err(error.to_string()),
        }
        if there == buffer.len() {
            return Err("another answer".to_owned());
        }
    }
    if buffer.starts_with(b"HTTP/1.1 200 OK\r\n") {
        return Ok(());
    }
    Err("another status".to_owned())
}

/// One after the other until it is time: the most that goes through, in requests per second.
fn capacity(plan: Plan, duration: Duration) -> f64 {
    let count = AtomicU64::new(0);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..plan.connections {
            scope.spawn(|| {
                let mut buffer = [0; 4096];
                let Ok(mut stream) = connect(plan.port) else {
                    return;
                };
                while begun.elapsed() < duration && ask(&mut stream, &mut buffer).is_ok() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

/// A client that asks every so often.
fn asks_steadily(
    port: u16,
    every: Duration,
    first: Instant,
    end: Instant,
    times: &Times,
    failures: &AtomicU64,
) {
    let mut buffer = [0; 4096];
    let mut stream = connect(port);
    let mut due = first;
    while due < end {
        let now = Instant::now();
        if now < due {
            std::thread::sleep(due - now);
        }
        let answer = match &mut stream {
            Ok(stream) => ask(stream, &mut buffer),
            Err(error) => Err(error.clone()),
        };
        match answer {
            Ok(()) => times.add(due.elapsed()),
            Err(error) => {
                if failures.fetch_add(1, Ordering::Relaxed) < 10 {
                    eprintln!("failed: {error}");
                }
                stream = connect(port);
            }
        }
        due += every;
    }
}

/// What clients do that mean no good, or are gone before they are answered.
fn misbehave(port: u16, turn: usize, is_over: &AtomicBool) {
    let Ok(mut stream) = connect(port) else {
        return;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut send = |bytes: &[u8]| stream.write_all(bytes).is_ok();
    let mut buffer = [0; 4096];
    match turn % 9 {
        // Gone in the middle of a head, or of a body.
        0 => drop(send(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ")),
        1 => drop(send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhello",
        )),
        2 => drop(send(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        )),
        // Many requests, of which no answer is read.
        3 => drop(send(&b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20))),
        // No request at all.
        4 => {
            send(&[0x16; 2000]);
            let _ = stream.read(&mut buffer);
        }
        5 => {
            send(format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: {}", "a".repeat(40_000)).as_bytes());
            let _ = stream.read(&mut buffer);
        }
        // Slow ones.
        6 => {
            for byte in b"GET / HTTP/1.1\r\n" {
                if is_over.load(Ordering::Relaxed) || stream.write_all(&[*byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        7 => {
            send(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
            for _ in 0..20 {
                if is_over.load(Ordering::Relaxed) || stream.read(&mut buffer[..100]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        // Many connections at once, for nothing.
        _ => {
            let idle: Vec<_> = (0..100).map(|_| connect(port)).collect();
            std::thread::sleep(Duration::from_millis(300));
            drop(idle);
        }
    }
}

/// What the server has at a moment: resident kilobytes, open descriptors, threads.
fn state(process: u32) -> (u64, usize, u64) {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    };
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
    (number("VmRSS:"), files, number("Threads:"))
}

/// Runs a plan against the server that is this process.
pub fn run(plan: Plan, process: u32) -> Result<(), String> {
    let most = capacity(plan, Duration::from_secs(5));
    let rate = most * plan.load as f64 / 100.0;
    println!(
        "{most:.0} requests a second go through over {} connections; {rate:.0} of them for {} s, among {} clients that misbehave",
        plan.connections, plan.seconds, plan.misbehaving
    );
    let every = Duration::from_secs_f64(plan.connections as f64 / rate);
    let begun = Instant::now();
    let end = begun + Duration::from_secs(plan.seconds);
    let (times, failures, turns) = (Times::new(), AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    println!(
        "{:>7} {:>12} {:>9} {:>9} {:>8} {:>6} {:>8}",
        "s", "requests", "99.9% ms", "max ms", "RSS kB", "files", "threads"
    );
    std::thread::scope(|scope| {
        for number in 0..plan.connections {
            let first = begun + every.mul_f64(number as f64 / plan.connections as f64);
            let (times, failures) = (&times, &failures);
            scope.spawn(move || asks_steadily(plan.port, every, first, end, times, failures));
        }
        for number in 0..plan.misbehaving {
            let (turns, is_over) = (&turns, &is_over);
            scope.spawn(move || {
                while Instant::now() < end {
                    let turn = turns.fetch_add(1, Ordering::Relaxed);
                    misbehave(plan.port, turn as usize + number, is_over);
                }
            });
        }
        let mut next = begun;
        while Instant::now() < end {
            next += Duration::from_secs((plan.seconds / 20).max(1));
            std::thread::sleep(next.min(end).saturating_duration_since(Instant::now()));
            let (memory, files, threads) = state(process);
            println!(
                "{:7.0} {:12} {:9.2} {:9.1} {memory:8} {files:6} {threads:8}",
                begun.elapsed().as_secs_f64(),
                times.count(),
                times.quantile(999),
                times.longest.load(Ordering::Relaxed) as f64 / 1000.0,
            );
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // What was left behind by those who are gone ends by its time limit, or at once.
    std::thread::sleep(Duration::from_secs(3));
    let (memory, files, threads) = state(process);
    println!("afterwards: {memory} kB, {files} files, {threads} threads");
    println!(
        "{} requests, {} failed, {} turns of clients that misbehave; 50% {:.2} ms, 99% {:.2} ms, 99.9% {:.2} ms, longest {:.1} ms",
        times.count(),
        failures.load(Ordering::Relaxed),
        turns.load(Ordering::Relaxed),
        times.quantile(500),
        times.quantile(990),
        times.quantile(999),
        times.longest.load(Ordering::Relaxed) as f64 / 1000.0,
    );
    match failures.load(Ordering::Relaxed) {
        0 => Ok(()),
        count => Err(format!("{count} requests failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_to_a_thirty_second() {
        for micros in (0..10_000).chain([1_000_000, 60_000_000, u64::MAX / 2]) {
            let bucket = Times::bucket(micros);
            let (least, next) = (Times::least(bucket), Times::least(bucket + 1));
            assert!(least <= micros && micros < next, "{micros}: {least} {next}");
            assert!(next - least <= (micros / STEPS).max(1), "{micros}");
        }
        let times = Times::new();
        for milliseconds in 1..=1000 {
            times.add(Duration::from_millis(milliseconds));
        }
        assert_eq!(times.count(), 1000);
        let half = times.quantile(500);
        assert!((480.0..=500.0).contains(&half), "{half}");
    }
}
