//! How long an operation may wait. Passed with every operation instead of being stored in a port,
//! because the same port may be used by several threads, each with an interrupt flag of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest time that a waiting operation sleeps before it looks at its interrupt flag and at
/// whether its handle was closed. A signal that reaches this very thread ends the sleep at once; the
/// slice bounds the delay when the signal was delivered to another thread, or just before the sleep.
pub(crate) const WAIT_SLICE: Duration = Duration::from_millis(100);

/// What an operation does when the other side is not ready.
#[derive(Clone, Copy, Debug)]
pub enum Wait<'a> {
    /// Return [`IoError::WouldBlock`](crate::IoError::WouldBlock) at once.
    NonBlocking,
    /// Wait until ready, whatever signals arrive.
    Blocking,
    /// Wait until ready or until the flag is set; the operation then returns
    /// [`IoError::Interrupted`](crate::IoError::Interrupted). The flag is read, never cleared.
    Interruptible(&'a AtomicBool),
}

impl Wait<'_> {
    /// Whether the caller asked for the wait to end.
    pub fn is_interrupted(self) -> bool {
        match self {
            Wait::Interruptible(flag) => flag.load(Ordering::Acquire),
            Wait::NonBlocking | Wait::Blocking => false,
        }
    }

    pub(crate) fn is_non_blocking(self) -> bool {
        matches!(self, Wait::NonBlocking)
    }
}
