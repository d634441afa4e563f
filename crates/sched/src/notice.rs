//! Notices: how a thread tells others that something in memory has changed.
//!
//! | shared state | written by | when |
//! |---|---|---|
//! | `count` | who gives the notice | each time |
//! | `waiters` | who waits | under `lock` |
//!
//! Giving a notice that nobody waits for is one addition and one load. No notice is lost: a waiter announces itself before
//! it looks at the count, and a giver counts before it looks for waiters, all in one total order.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Something that threads wait for and other threads give. It has no memory beyond a count: look at what it is about
/// after [`Notice::look`] and before waiting.
#[derive(Debug, Default)]
pub struct Notice {
    count: AtomicU64,
    waiters: AtomicU32,
    lock: Mutex<()>,
    given: Condvar,
}

/// Up to where a notice was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen(u64);

impl Notice {
    /// A notice that was never given.
    pub const fn new() -> Notice {
        Notice {
            count: AtomicU64::new(0),
            waiters: AtomicU32::new(0),
            lock: Mutex::new(()),
            given: Condvar::new(),
        }
    }

    /// Wakes everybody who waits.
    pub fn give(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.given.notify_all();
        }
    }

    /// How often it was given so far: a wait ends when that changes.
    pub fn look(&self) -> Seen {
        Seen(self.count.load(Ordering::SeqCst))
    }

    /// Whether it was given since `seen`.
    pub fn was_given_since(&self, seen: Seen) -> bool {
        self.look() != seen
    }

    /// Waits until it was given since `seen`, or so long. It may return early.
    pub(crate) fn wait_briefly(&self, seen: Seen, patience: Duration) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiters.fetch_add(1, Ordering::SeqCst);
        if !self.was_given_since(seen) {
            let _ = self.given.wait_timeout(guard, patience);
        }
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}
