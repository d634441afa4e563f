//! The one interface for waits. Whatever in Canny may have to wait for the world outside of its thread says here for what:
//! for descriptors, for a point in time, for the end of a child, for a [`Notice`] of another thread.
//!
//! Today a wait blocks the system thread that makes it. A scheduler will park a task instead; callers must not be able to
//! tell. So whoever waits holds no lock, is outside of the heap, and takes every answer as a hint: after [`Wake::Ready`]
//! it tries its operation again and may have to wait again.
//!
//! Boundaries, stated as absences: nothing here reads or writes a byte, knows a handle or a port, or knows Scheme.

#![forbid(unsafe_code)]

mod blocking;
mod notice;
pub mod parking;
pub mod pool;

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use notice::{Notice, Seen};
pub use rustix::process::Pid;

/// What a wait can end for.
#[derive(Clone, Copy, Debug)]
pub enum Interest<'a> {
    /// Bytes can be read from the descriptor, or its end or an error was reached.
    Readable(BorrowedFd<'a>),
    /// Bytes can be written to the descriptor, or an error was reached.
    Writable(BorrowedFd<'a>),
    /// The child process has ended. Its status is still there to be asked for.
    ChildEnded(Pid),
    /// The notice was given since it was looked at.
    Notice(&'a Notice, Seen),
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// What the interest with this index is about may have happened.
    Ready(usize),
    /// The deadline has passed.
    TimedOut,
    /// The interrupt flag is set.
    Interrupted,
    /// Who is in charge of the thread's waits has taken note of it; see [`parking`]. The operation is to be given up.
    Parked,
}

/// Waits until one of `interests` is ready, `deadline` has passed or `interrupt` is set; the flag is read and never cleared.
/// What is ready counts before what has passed: a wait whose deadline lies in the past is a look. A signal that sets the
/// flag on this very thread ends the wait at once, one that is taken by another thread within a tenth of a second.
pub fn wait(
    interests: &[Interest<'_>],
    deadline: Option<Instant>,
    interrupt: Option<&AtomicBool>,
) -> Wake {
    let Some(parking) = parking::parking() else {
        return blocking::wait(interests, deadline, interrupt);
    };
    if let Some(index) = blocking::look(interests) {
        return Wake::Ready(index);
    }
    if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
        return Wake::Interrupted;
    }
    if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
        return Wake::TimedOut;
    }
    if parking.park(interests, deadline) {
        return Wake::Parked;
    }
    blocking::wait(interests, deadline, interrupt)
}

/// Sleeps until a point in time.
pub fn sleep_until(deadline: Instant, interrupt: Option<&AtomicBool>) -> Wake {
    wait(&[], Some(deadline), interrupt)
}

/// Whether a descriptor could be read, or written, at once. Errors and hang-ups count as ready, since the operation itself
/// reports them without waiting.
pub fn is_ready(interest: Interest<'_>) -> bool {
    blocking::look(&[interest]).is_some()
}

#[cfg(test)]
mod tests;
