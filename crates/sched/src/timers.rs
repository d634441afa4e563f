//! Points in time at which tickets wake: a heap of 16 bytes an entry.
//!
//! A ticket that woke for another reason leaves its entry behind. Such entries are counted, and swept
//! when they are half of the heap: setting a timeout that never comes costs the same as one that does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::names::Ticket;

/// Nanoseconds since the pool was made.
pub(crate) type Moment = u64;

/// A moment that never comes.
pub(crate) const NEVER: Moment = u64::MAX;

/// So few stale entries are not worth a sweep.
const SWEEP_MIN: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Moment, Ticket)>>,
    stale: usize,
}

impl Timers {
    pub(crate) fn add(&mut self, moment: Moment, ticket: Ticket) {
        self.heap.push(Reverse((moment, ticket)));
    }

    /// One of the entries has become stale.
    pub(crate) fn forget_one(&mut self, is_live: impl Fn(Ticket) -> bool) {
        self.stale += 1;
        if self.stale > SWEEP_MIN && self.stale > self.heap.len() / 2 {
            self.heap.retain(|Reverse((_, ticket))| is_live(*ticket));
            self.stale = 0;
            if self.heap.len() < self.heap.capacity() / 8 {
                self.heap.shrink_to(self.heap.len() * 2);
            }
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&mut self, is_live: impl Fn(Ticket) -> bool) -> Option<Moment> {
        loop {
            let Reverse((moment, ticket)) = *self.heap.peek()?;
            if is_live(ticket) {
                return Some(moment);
            }
            self.heap.pop();
            self.stale = self.stale.saturating_sub(1);
        }
    }

    /// A ticket whose moment has come, and that moment.
    pub(crate) fn pop_due(
        &mut self,
        now: Moment,
        is_live: impl Fn(Ticket) -> bool,
    ) -> Option<(Moment, Ticket)> {
        if self.next(is_live)? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
    }
}
