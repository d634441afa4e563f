//! The wait of a run for an address of a shared memory, and what it comes to.
//!
//! The activation of the run has it, and its end is the end of the wait.

use std::sync::Arc;
use std::time::Instant;

use crate::memory::MemoryRecord;
use crate::waits::Waiter;

/// A wait of a run that has begun.
#[derive(Debug)]
pub struct Waiting {
    memory: Arc<MemoryRecord>,
    address: u64,
    waiter: Waiter,
    /// Whether its result was given.
    is_over: bool,
}

impl Waiting {
    /// Begins to wait if so many bytes at an address, which lie inside, are an expected number.
    pub fn begin(
        memory: Arc<MemoryRecord>,
        (address, bytes): (u64, u64),
        expected: u64,
        ends: Option<Instant>,
    ) -> Option<Waiting> {
        let is_equal = || memory.atomic_number(address, bytes) == Some(expected);
        let waiter = memory.queues.enter(address, ends, is_equal)?;
        Some(Waiting {
            memory,
            address,
            waiter,
            is_over: false,
        })
    }

    /// Its place in the queue.
    pub fn waiter(&self) -> Waiter {
        self.waiter.clone()
    }

    /// The result of the wait, if it is over.
    pub fn outcome(&mut self) -> Option<u64> {
        let result = self.result()?;
        self.is_over = true;
        Some(result)
    }

    fn result(&self) -> Option<u64> {
        if self.waiter.is_notified() {
            return Some(NOTIFIED);
        }
        let ends = self.waiter.deadline();
        ends.filter(|ends| *ends <= Instant::now())?;
        let is_notified = self.memory.queues.leave(self.address, &self.waiter);
        Some(if is_notified { NOTIFIED } else { TIMED_OUT })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let queues = &self.memory.queues;
        if !self.is_over && queues.leave(self.address, &self.waiter) {
            // A run that ends does nothing with the notification, which others may wait for.
            queues.notify(self.address, 1);
        }
    }
}

/// The results of a wait.
const NOTIFIED: u64 = 0;
pub const NOT_EQUAL: u64 = 1;
const TIMED_OUT: u64 = 2;
