//! How long an operation may wait. Passed with every operation instead of being stored in a port,
//! because the same port may be used by several threads, each with an interrupt flag of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The behaviour of an operation when the other side is not ready.
#[derive(Clone, Copy, Debug)]
pub enum Wait<'a> {
    /// Return [`IoError::WouldBlock`](crate::IoError::WouldBlock) at once.
    NonBlocking,
    /// Wait until ready, whatever signals arrive.
    Blocking,
    /// Wait until ready or until the flag is set; the operation then returns
    /// [`IoError::Interrupted`](crate::IoError::Interrupted). The flag is read, never cleared.
    Interruptible(&'a AtomicBool),
    /// The same, but not longer than until then; the operation then returns
    /// [`IoError::TimedOut`](crate::IoError::TimedOut).
    Until(Instant, Option<&'a AtomicBool>),
}

impl<'a> Wait<'a> {
    /// The same, but not longer than until a point in time. An operation that does not wait at all stays so.
    pub fn with_deadline(self, deadline: Instant) -> Wait<'a> {
        match self {
            Wait::NonBlocking => Wait::NonBlocking,
            Wait::Blocking => Wait::Until(deadline, None),
            Wait::Interruptible(flag) => Wait::Until(deadline, Some(flag)),
            Wait::Until(other, flag) => Wait::Until(other.min(deadline), flag),
        }
    }

    /// Whether the caller asked for the wait to end.
    pub fn is_interrupted(self) -> bool {
        self.interrupt()
            .is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    /// The flag that ends the wait.
    pub fn interrupt(self) -> Option<&'a AtomicBool> {
        match self {
            Wait::Interruptible(flag) => Some(flag),
            Wait::Until(_, flag) => flag,
            Wait::NonBlocking | Wait::Blocking => None,
        }
    }

    /// When the wait ends at the latest.
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Wait::Until(deadline, _) => Some(deadline),
            Wait::NonBlocking | Wait::Blocking | Wait::Interruptible(_) => None,
        }
    }

    pub(crate) fn is_non_blocking(self) -> bool {
        matches!(self, Wait::NonBlocking)
    }
}
