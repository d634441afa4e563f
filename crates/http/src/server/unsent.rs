//! Unsent whole responses that their clients do not take, counted by connection and altogether.
//!
//! A response that was given as a whole is the server's until the client has taken it. A client that
//! opens no window, or does not read, has the server keep it. Two limits hold against that. A
//! connection on which much waits is given no further requests. When too much waits altogether, the
//! connections with most of it lose what they have: those of HTTP/2 their streams, others everything.
//! Bytes are counted until they are sent, or until their stream or connection has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::connection::Connection;
use super::{Common, Server};

/// Bytes that wait on a connection; those of its server are changed with them.
pub(super) struct Unsent {
    bytes: AtomicUsize,
    common: Arc<Common>,
}

impl Unsent {
    pub(super) fn new(common: Arc<Common>) -> Unsent {
        Unsent {
            bytes: AtomicUsize::new(0),
            common,
        }
    }

    pub(super) fn get(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// So many wait now. To be called by whoever has the connection's lock.
    pub(super) fn set(&self, bytes: usize) {
        if self.get() == bytes {
            return;
        }
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        let all = &self.common.unsent;
        match bytes.checked_sub(before) {
            Some(more) => {
                let now = all.fetch_add(more, Ordering::Relaxed) + more;
                self.common.unsent_peak.fetch_max(now, Ordering::Relaxed);
            }
            None => {
                all.fetch_sub(before - bytes, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// When so much less waits than before the allocator is asked to give memory back.
const GIVEN_BACK_MIN: usize = 16 * 1024 * 1024;

impl Server {
    /// Gives the system back what waited and does so no more: the allocator would keep it. Called once
    /// in a second.
    pub(super) fn give_back(&self) {
        let now = self.common.unsent.load(Ordering::Relaxed);
        let peak = &self.common.unsent_peak;
        if peak.load(Ordering::Relaxed) >= now + GIVEN_BACK_MIN {
            peak.store(now, Ordering::Relaxed);
            canny_io::allocator::give_back();
        }
    }

    /// Takes from the connections that hold most of what waits, if that is more than the limit, until
    /// it is well below.
    pub(super) fn shed(&self) {
        let limit = self.options().unsent_max;
        let all = self.common.unsent.load(Ordering::Relaxed);
        if all <= limit {
            return;
        }
        let mut excess = all - (limit - limit / 8);
        let mut holders: Vec<(usize, Arc<Connection>)> = Vec::new();
        for connection in self.slots.lock().connections() {
            let bytes = connection.unsent.get();
            if connection.is_shed() {
                // It is going to.
                excess = excess.saturating_sub(bytes);
            } else if bytes > 0 {
                holders.push((bytes, connection.clone()));
            }
        }
        holders.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let mut is_any = false;
        for (bytes, connection) in holders {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(bytes);
            self.common.counters.shed.fetch_add(1, Ordering::Relaxed);
            if connection.shed() {
                self.ready.lock().push_back(connection);
            }
            is_any = true;
        }
        if is_any {
            self.ring();
        }
    }
}
