//! The counters of a server.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Server;

/// Counts since the server was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStatistics {
    /// Connections now.
    pub connections: usize,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Requests that were given to somebody.
    pub requests: u64,
    /// Heads that were refused.
    pub refused: u64,
    /// Connections that ended because they took too long.
    pub timed_out: u64,
    /// Connections that were closed at once, since their client has too many.
    pub turned_away: u64,
    /// Attempts to accept that the system refused, for want of descriptors or memory.
    pub accept_failures: u64,
    /// Connections that came to speak HTTP/2.
    pub http2: u64,
    /// Bytes that were read.
    pub bytes_in: u64,
    /// Bytes that were written.
    pub bytes_out: u64,
    /// Bytes of whole responses that wait for their clients now.
    pub unsent: usize,
    /// Connections that lost what waited on them, since too much did altogether.
    pub shed: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) timed_out: AtomicU64,
    pub(super) turned_away: AtomicU64,
    pub(super) accept_failures: AtomicU64,
    pub(super) http2: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) shed: AtomicU64,
}

impl Server {
    /// Numbers about the server.
    pub fn statistics(&self) -> ServerStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServerStatistics {
            connections: self.connections.load(Ordering::Relaxed),
            accepted: read(&self.common.counters.accepted),
            requests: read(&self.common.counters.requests),
            refused: read(&self.common.counters.refused),
            timed_out: read(&self.common.counters.timed_out),
            turned_away: read(&self.common.counters.turned_away),
            accept_failures: read(&self.common.counters.accept_failures),
            http2: read(&self.common.counters.http2),
            bytes_in: read(&self.common.counters.bytes_in),
            bytes_out: read(&self.common.counters.bytes_out),
            unsent: self.common.unsent.load(Ordering::Relaxed),
            shed: read(&self.common.counters.shed),
        }
    }
}
