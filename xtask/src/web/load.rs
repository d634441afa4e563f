//! Requests to a server over many connections at once, by one thread, as they are due or one after the other.
//!
//! A thread for each connection would need more of the processor than the servers do, and would be
//! measured instead of them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

/// Times in microseconds, in buckets that are a thirty-second apart.
#[derive(Debug)]
pub struct Times {
    buckets: Vec<AtomicU64>,
    longest: AtomicU64,
}

const STEPS: u64 = 32;

impl Times {
    pub fn new() -> Times {
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

    pub fn add(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.buckets[Times::bucket(micros)].fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(micros, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// The longest time, in milliseconds.
    pub fn longest(&self) -> f64 {
        self.longest.load(Ordering::Relaxed) as f64 / 1000.0
    }

    /// The time in milliseconds that so many thousandths of the requests did not exceed by more than a
    /// thirty-second.
    pub fn quantile(&self, thousandths: u64) -> f64 {
        quantile(&self.counts(), thousandths)
    }

    /// The share of those that took no longer, as a percentage, to a thirty-second of the time.
    pub fn percent_within(&self, time: Duration) -> f64 {
        let counts = self.counts();
        let end = Times::bucket(time.as_micros() as u64);
        let within: u64 = counts[..end].iter().sum();
        100.0 * within as f64 / counts.iter().sum::<u64>().max(1) as f64
    }

    /// How many requests there are in each bucket.
    pub fn counts(&self) -> Vec<u64> {
        let buckets = self.buckets.iter();
        buckets.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// The quantile of so many thousandths of what came between two moments, in milliseconds.
pub fn quantile_between(before: &[u64], after: &[u64], thousandths: u64) -> f64 {
    let counts: Vec<u64> = before.iter().zip(after).map(|(a, b)| b - a).collect();
    quantile(&counts, thousandths)
}

fn quantile(counts: &[u64], thousandths: u64) -> f64 {
    let count: u64 = counts.iter().sum();
    let wanted = (count * thousandths).div_ceil(1000);
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= wanted {
            return Times::least(bucket) as f64 / 1000.0;
        }
    }
    0.0
}

/// How often each connection asks.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// As soon as it has its answer.
    AtOnce,
    /// Once in so long, however long the answers take.
    Every(Duration),
}

/// The outcome of the requests so far.
#[derive(Debug)]
pub struct Outcome {
    pub times: Times,
    pub failures: AtomicU64,
}

impl Outcome {
    pub fn new() -> Outcome {
        Outcome {
            times: Times::new(),
            failures: AtomicU64::new(0),
        }
    }

    fn failed(&self, why: &str) {
        if self.failures.fetch_add(1, Ordering::Relaxed) < 10 {
            eprintln!("failed: {why}");
        }
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The end of the answer to it.
const BODY: &[u8] = b"Hello, World!";

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(20);

pub fn connect(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(LIMIT));
    let _ = stream.set_write_timeout(Some(LIMIT));
    Ok(stream)
}

struct Connection {
    stream: TcpStream,
    /// When the request is due that it will make next, or has made.
    due: Instant,
    /// When it was made.
    asked: Instant,
    is_waiting: bool,
    buffer: [u8; 1024],
    there: usize,
}

impl Connection {
    fn ask(&mut self) -> Result<(), String> {
        self.is_waiting = true;
        self.asked = Instant::now();
        self.there = 0;
        // A request is a small part of what the system keeps for a connection.
        let result = self.stream.write_all(REQUEST);
        result.map_err(|error| error.to_string())
    }

    /// Reads what there is; whether the answer is whole.
    fn read(&mut self) -> Result<bool, String> {
        match self.stream.read(&mut self.buffer[self.there..]) {
            Ok(0) => return Err("the connection ended".to_owned()),
            Ok(count) => self.there += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
        let answer = &self.buffer[..self.there];
        if !answer.ends_with(BODY) {
            return if self.there < self.buffer.len() {
                Ok(false)
            } else {
                Err("another answer".to_owned())
            };
        }
        if answer.starts_with(b"HTTP/1.1 200 OK\r\n") {
            Ok(true)
        } else {
            Err("another status".to_owned())
        }
    }
}

struct Client<'a> {
    port: u16,
    pace: Pace,
    outcome: &'a Outcome,
    poll: rustix::fd::OwnedFd,
    connections: Vec<Connection>,
}

impl Client<'_> {
    fn open(&self, index: usize, due: Instant) -> Result<Connection, String> {
        let stream = connect(self.port)?;
        let result = stream.set_nonblocking(true);
        result.map_err(|error| error.to_string())?;
        let data = epoll::EventData::new_u64(index as u64);
        let result = epoll::add(&self.poll, stream.as_fd(), data, epoll::EventFlags::IN);
        result.map_err(|error| error.to_string())?;
        Ok(Connection {
            stream,
            due,
            asked: due,
            is_waiting: false,
            buffer: [0; 1024],
            there: 0,
        })
    }

    /// The next request of a connection, which has its answer or has lost it.
    fn go_on(&mut self, index: usize) {
        let now = Instant::now();
        let connection = &mut self.connections[index];
        connection.is_waiting = false;
        connection.due = match self.pace {
            Pace::AtOnce => now,
            Pace::Every(interval) => connection.due + interval,
        };
        if connection.due <= now
            && let Err(error) = connection.ask()
        {
            self.lose(index, &error);
        }
    }

    /// A connection whose request has failed makes way for another one.
    fn lose(&mut self, index: usize, why: &str) {
        self.outcome.failed(why);
        let now = Instant::now();
        let due = match self.pace {
            Pace::AtOnce => now,
            Pace::Every(interval) => (self.connections[index].due + interval).max(now),
        };
        match self.open(index, due) {
            Ok(connection) => self.connections[index] = connection,
            Err(error) => {
                self.outcome.failed(&error);
                self.connections[index].is_waiting = false;
                self.connections[index].due = now + Duration::from_secs(1);
            }
        }
    }

    fn take(&mut self, index: usize) {
        match self.connections[index].read() {
            Ok(false) => {}
            Ok(true) => {
                let time = self.connections[index].due.elapsed();
                self.outcome.times.add(time);
                self.go_on(index);
            }
            Err(error) => self.lose(index, &error),
        }
    }

    /// Asks for what is due; when the next request is, or the next answer too late.
    fn ask_what_is_due(&mut self) -> Instant {
        let now = Instant::now();
        let mut next = now + Duration::from_millis(100);
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            if connection.is_waiting {
                if connection.asked + LIMIT < now {
                    self.lose(index, "no answer");
                }
            } else if connection.due > now {
                next = next.min(connection.due);
            } else if let Err(error) = connection.ask() {
                self.lose(index, &error);
            }
        }
        next
    }
}

/// Asks over so many connections until a moment, the first requests spread over one interval.
pub fn ask(
    port: u16,
    connections: usize,
    pace: Pace,
    end: Instant,
    outcome: &Outcome,
) -> Result<(), String> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| error.to_string())?;
    let mut client = Client {
        port,
        pace,
        outcome,
        poll,
        connections: Vec::new(),
    };
    let begun = Instant::now();
    for index in 0..connections {
        let due = match pace {
            Pace::AtOnce => begun,
            Pace::Every(interval) => begun + interval.mul_f64(index as f64 / connections as f64),
        };
        let connection = client.open(index, due)?;
        client.connections.push(connection);
    }
    let mut events = Vec::with_capacity(connections.max(1));
    while Instant::now() < end {
        let next = client.ask_what_is_due();
        let wait = next.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        events.clear();
        match epoll::wait(&client.poll, spare_capacity(&mut events), Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
        for event in &events {
            client.take(event.data.u64() as usize);
        }
    }
    Ok(())
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
