//! Notices: how a thread notifies others that something in memory has changed.
//!
//! | shared state | written by | when |
//! |---|---|---|
//! | `count` | who gives the notice | each time |
//! | `waiters` | who waits and blocks its thread | under `lock` |
//! | `parks` | who parks a word for it | once, when it makes the list of `lock` |
//! | the list's entries | who parks adds, the giver takes all out, the pool takes those out that woke otherwise | under the list's lock |
//!
//! Giving a notice without a waiter is one addition and two loads. No notice is lost: a waiter announces
//! itself before it looks at the count, and a giver counts before it looks for waiters, all in one total
//! order. The list is shared with the tickets in it, which outlive no pool but may outlive the notice. The
//! giver wakes them without any lock.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::names::Ticket;
use super::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use super::sync::{Condvar, Mutex};

/// Something that threads wait for and other threads give. It has no memory beyond a count: test the
/// condition that it is about after [`Notice::look`] and before waiting.
#[derive(Debug, Default)]
pub struct Notice {
    count: AtomicU64,
    waiters: AtomicU32,
    parks: AtomicBool,
    lock: Mutex<Option<Arc<ParkedList>>>,
    given: Condvar,
}

/// Has tickets, and wakes one whose interest with this number is ready. It is a pool.
pub(crate) trait Waker: Send + Sync {
    fn wake_ready(&self, ticket: Ticket, index: usize);
}

/// The tickets that wait for a notice.
#[derive(Debug, Default)]
pub(crate) struct ParkedList {
    entries: Mutex<Vec<Parked>>,
}

#[derive(Debug)]
struct Parked {
    waker: Weak<dyn Waker>,
    ticket: Ticket,
    index: usize,
}

impl ParkedList {
    /// A ticket does not wait any more.
    pub(crate) fn remove(&self, ticket: Ticket) {
        let mut entries = self.entries.lock();
        if let Some(position) = entries.iter().position(|entry| entry.ticket == ticket) {
            entries.swap_remove(position);
        }
    }
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
            parks: AtomicBool::new(false),
            lock: Mutex::new(None),
            given: Condvar::new(),
        }
    }

    /// Wakes everybody who waits.
    pub fn give(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            let _guard = self.lock.lock();
            self.given.notify_all();
        }
        if self.parks.load(Ordering::SeqCst) {
            let list = self.lock.lock().clone();
            let entries = list.map(|list| std::mem::take(&mut *list.entries.lock()));
            for entry in entries.into_iter().flatten() {
                if let Some(waker) = entry.waker.upgrade() {
                    waker.wake_ready(entry.ticket, entry.index);
                }
            }
        }
    }

    /// Lets a ticket wait. The caller looks afterwards whether the notice was given meanwhile.
    pub(crate) fn park(
        &self,
        waker: Weak<dyn Waker>,
        ticket: Ticket,
        index: usize,
    ) -> Arc<ParkedList> {
        let list = Arc::clone(self.lock.lock().get_or_insert_default());
        list.entries.lock().push(Parked {
            waker,
            ticket,
            index,
        });
        self.parks.store(true, Ordering::SeqCst);
        list
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
        let guard = self.lock.lock();
        self.waiters.fetch_add(1, Ordering::SeqCst);
        if !self.was_given_since(seen) {
            let _ = self.given.wait_timeout(guard, patience);
        }
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}
