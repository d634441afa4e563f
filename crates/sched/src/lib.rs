//! Waiting and running. The one interface for waits: whatever in Canny may have to wait for the world
//! outside of its thread says here for what: for descriptors, for a point in time, for the end of a
//! child, for a [`Notice`] of another thread. And the [`Pool`] of threads that run what need not wait.
//!
//! [`wait`] blocks the system thread that makes it; [`Pool::park`] parks a word and leaves the thread to
//! others; callers should not notice a difference. So a waiting thread holds no lock, is outside of the heap,
//! and takes every answer as a hint: after [`Wake::Ready`] it tries its operation again and may have to wait
//! again.
//!
//! Boundaries, stated as absences: nothing here reads or writes a byte of a user's, knows a handle or a
//! port, or knows Scheme. The meaning of a queued word is known to the pool's user only.

#![forbid(unsafe_code)]

mod blocking;
pub mod hook;
mod interest;
mod names;
mod notice;
mod offload;
mod parking;
mod partners;
mod policy;
mod poller;
mod pool;
mod queues;
mod slices;
mod statistics;
mod sync;
#[cfg(test)]
mod tests;
mod tickets;
mod timers;
mod word;
mod workers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use canny_replay::Kind;

pub use interest::{Interest, Wake};
pub use names::{Ticket, WorkerId};
pub use notice::{Notice, Seen};
pub use policy::{Decision, Observation, Policy, Reason};
pub use pool::{Host, Idle, Pool, PoolConfig};
pub use rustix::process::Pid;
pub use statistics::{PoolStatistics, TraceSink};
pub use tickets::Deposit;
pub use word::{Lane, Next};
pub use workers::WorkerKind;

/// Waits until one of `interests` is ready, `deadline` has passed or `interrupt` is set; the flag is read and
/// never cleared. Readiness counts before an expired deadline: a wait whose deadline lies in the past is a
/// look. A signal that sets the flag on this very thread ends the wait at once, one that is taken by another
/// thread within a tenth of a second.
pub fn wait(
    interests: &[Interest<'_>],
    deadline: Option<Instant>,
    interrupt: Option<&AtomicBool>,
) -> Wake {
    let Some(parking) = hook::parking() else {
        return block(interests, deadline, interrupt);
    };
    if let Some(index) = look(interests) {
        return Wake::Ready(index);
    }
    if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
        return Wake::Interrupted;
    }
    if deadline.is_some_and(|deadline| deadline <= canny_replay::now()) {
        return Wake::TimedOut;
    }
    if parking.park(interests, deadline) {
        return Wake::Parked;
    }
    block(interests, deadline, interrupt)
}

/// Sleeps until a point in time.
pub fn sleep_until(deadline: Instant, interrupt: Option<&AtomicBool>) -> Wake {
    wait(&[], Some(deadline), interrupt)
}

/// Whether a descriptor could be read, or written, at once. Errors and hang-ups count as ready, since
/// the operation itself reports them without waiting.
pub fn is_ready(interest: Interest<'_>) -> bool {
    look(&[interest]).is_some()
}

/// The first interest that is ready now.
fn look(interests: &[Interest<'_>]) -> Option<usize> {
    canny_replay::ask(Kind::Ready, || blocking::look(interests))
}

/// Waits on this thread.
fn block(
    interests: &[Interest<'_>],
    deadline: Option<Instant>,
    interrupt: Option<&AtomicBool>,
) -> Wake {
    canny_replay::ask(Kind::Ready, || {
        blocking::wait(interests, deadline, interrupt)
    })
}
