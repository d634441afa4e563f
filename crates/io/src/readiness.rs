//! Waiting for descriptors that no [`Handle`](crate::Handle) reads or writes just now: the end of a process, events of a
//! directory, several streams at once. The one place of this crate, beside a handle's own, where a thread sleeps.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec};
use rustix::io::Errno;

use crate::wait::{WAIT_SLICE, Wait};

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Some descriptor is ready, or has an error to report.
    Ready,
    /// The deadline passed.
    TimedOut,
    /// The caller's interrupt flag was set.
    Interrupted,
}

/// Waits until one of the descriptors is ready. Without descriptors it only waits for time to pass.
pub fn wait_ready(
    descriptors: &mut [PollFd<'_>],
    deadline: Option<Instant>,
    wait: Wait<'_>,
) -> io::Result<Readiness> {
    loop {
        if wait.is_interrupted() {
            return Ok(Readiness::Interrupted);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let slice = if wait.is_non_blocking() {
            Duration::ZERO
        } else {
            left.map_or(WAIT_SLICE, |left| left.min(WAIT_SLICE))
        };
        let slice = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(slice.subsec_nanos()) as _,
        };
        match rustix::event::poll(descriptors, Some(&slice)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(Readiness::Ready),
            Err(errno) => return Err(errno.into()),
        }
        if wait.is_non_blocking() || left.is_some_and(|left| left.is_zero()) {
            return Ok(Readiness::TimedOut);
        }
    }
}
