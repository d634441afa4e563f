//! Counters of a server's requests: by method and status class, and a histogram of durations.
//!
//! Every counter is one atomic word that any thread adds to, without a lock. A reader sees each
//! word at a slightly different moment; the order of reads keeps the number of requests in flight
//! from being negative.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Methods that are counted apart; the last one stands for all others.
pub const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "other",
];

/// Classes of statuses; the first one is no status at all.
pub const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Bounds of durations, in microseconds.
pub const BOUNDS: [u64; 15] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

/// Where a method stands in [`METHODS`].
pub(super) fn method_index(method: &[u8]) -> usize {
    METHODS
        .iter()
        .position(|name| name.as_bytes() == method)
        .unwrap_or(METHODS.len() - 1)
}

/// Counters of requests by method, status and duration.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    begun: AtomicU64,
    ended: AtomicU64,
    counts: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    /// Those that took at most the bound of the same index and more than the one before; the last one
    /// more than all.
    durations: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// The numbers at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Requests that are not answered yet.
    pub in_flight: u64,
    /// Requests by method and class of the status.
    pub counts: [[u64; CLASSES.len()]; METHODS.len()],
    /// Requests by duration: the last one is of those longer than all of [`BOUNDS`].
    pub durations: [u64; BOUNDS.len() + 1],
    /// All durations together.
    pub nanoseconds: u64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Measurements {
    pub(super) fn begin(&self) {
        add(&self.begun, 1);
    }

    pub(super) fn finish(&self, method: usize, status: u16, duration: Duration) {
        let class = usize::from(status / 100).min(CLASSES.len() - 1);
        add(&self.counts[method][class], 1);
        let microseconds = duration.as_nanos().div_ceil(1000) as u64;
        add(
            &self.durations[BOUNDS.partition_point(|bound| *bound < microseconds)],
            1,
        );
        add(&self.nanoseconds, duration.as_nanos() as u64);
        add(&self.ended, 1);
    }

    pub(super) fn read(&self) -> Measured {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // In this order a request that ends meanwhile is no negative number.
        let ended = read(&self.ended);
        Measured {
            in_flight: read(&self.begun).saturating_sub(ended),
            counts: std::array::from_fn(|method| {
                std::array::from_fn(|class| read(&self.counts[method][class]))
            }),
            durations: std::array::from_fn(|at| read(&self.durations[at])),
            nanoseconds: read(&self.nanoseconds),
        }
    }
}
