//! A server under a steady load, for as long as one likes, among clients that misbehave.
//!
//! Requests come when they are due, not when the last one was answered, and a request's time counts
//! from when it was due: a pause of the server is seen in all requests that it delays. First the most
//! that goes through is found out; then a share of it is asked for.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::load::{Outcome, Pace, ask, connect, quantile_between};

/// The requests of a soak run, and its duration.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub port: u16,
    pub seconds: u64,
    /// Hundredths of the highest rate that goes through.
    pub load: u64,
    pub connections: usize,
    /// Clients that do what they should not.
    pub misbehaving: usize,
}

/// One after the other over each connection until it is time: the most that goes through, in requests
/// per second.
fn capacity(plan: Plan, duration: Duration) -> Result<f64, String> {
    let outcome = Outcome::new();
    let begun = Instant::now();
    let end = begun + duration;
    ask(plan.port, plan.connections, Pace::AtOnce, end, &outcome)?;
    Ok(outcome.times.count() as f64 / begun.elapsed().as_secs_f64())
}

/// The behaviour of clients that mean no good, or are gone before they are answered.
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

/// The state of the server at a moment: resident kilobytes, open descriptors, threads.
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

/// Processor time, in seconds, that others on the same host had while this machine had something to do.
fn stolen_time() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.split_whitespace().nth(8);
    ticks.and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0) / 100.0
}

fn tell(begun: Instant, outcome: &Outcome, process: u32) {
    let (memory, files, threads) = state(process);
    println!(
        "{:7.0} {:12} {:9.2} {:9.1} {memory:8} {files:6} {threads:8}",
        begun.elapsed().as_secs_f64(),
        outcome.times.count(),
        outcome.times.quantile(999),
        outcome.times.longest(),
    );
}

/// Runs a plan against the server that is this process.
pub fn run(plan: Plan, process: u32) -> Result<(), String> {
    // Code is compiled before anything is counted.
    capacity(plan, Duration::from_secs(2))?;
    let most = capacity(plan, Duration::from_secs(5))?;
    let rate = most * plan.load as f64 / 100.0;
    println!(
        "{most:.0} requests a second go through over {} connections; {rate:.0} of them for {} s, among {} \
         clients that misbehave",
        plan.connections, plan.seconds, plan.misbehaving
    );
    let pace = Pace::Every(Duration::from_secs_f64(plan.connections as f64 / rate));
    let begun = Instant::now();
    let end = begun + Duration::from_secs(plan.seconds);
    let (outcome, turns, is_over) = (Outcome::new(), AtomicU64::new(0), AtomicBool::new(false));
    println!(
        "{:>7} {:>12} {:>9} {:>9} {:>8} {:>6} {:>8}",
        "s", "requests", "99.9% ms", "max ms", "RSS kB", "files", "threads"
    );
    let mut seconds = Vec::new();
    let stolen = stolen_time();
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(plan.port, plan.connections, pace, end, &outcome));
        for number in 0..plan.misbehaving {
            let (turns, is_over) = (&turns, &is_over);
            scope.spawn(move || {
                while Instant::now() < end {
                    let turn = turns.fetch_add(1, Ordering::Relaxed);
                    misbehave(plan.port, turn as usize + number, is_over);
                }
            });
        }
        let mut before = outcome.times.counts();
        for second in 1..=plan.seconds {
            let next = begun + Duration::from_secs(second);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            let after = outcome.times.counts();
            seconds.push(quantile_between(&before, &after, 999));
            before = after;
            if second % (plan.seconds / 20).max(1) == 0 {
                tell(begun, &outcome, process);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        asking.join().unwrap_or_else(|_| Err("panicked".to_owned()))
    });
    asked?;
    // Remains of the clients that are gone end by their time limits, or at once.
    std::thread::sleep(Duration::from_secs(3));
    let (memory, files, threads) = state(process);
    println!("afterwards: {memory} kB, {files} files, {threads} threads");
    let failures = outcome.failures.load(Ordering::Relaxed);
    let times = outcome.times;
    println!(
        "{} requests, {failures} failed, {} turns of clients that misbehave; 50% {:.2} ms, 99% {:.2} ms, \
         99.9% {:.2} ms, longest {:.1} ms",
        times.count(),
        turns.load(Ordering::Relaxed),
        times.quantile(500),
        times.quantile(990),
        times.quantile(999),
        times.longest(),
    );
    seconds.sort_by(f64::total_cmp);
    let part = |hundredths: usize| seconds[(seconds.len() - 1) * hundredths / 100];
    println!(
        "99.9% in each second: {:.2} ms in the least second, {:.2} in the median, {:.2} in nine of ten, \
         {:.2} in the worst; the host took {:.1} s of processor time away",
        part(0),
        part(50),
        part(90),
        part(100),
        stolen_time() - stolen,
    );
    match failures {
        0 => Ok(()),
        count => Err(format!("{count} requests failed")),
    }
}
