//! Detects that no task looks for requests any more.
//!
//! A task that looks for requests can end unexpectedly: memory may not suffice for its next step.
//! If a connection waits from one check to the next without a look, a new task has to serve the
//! server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use canny_replay::Kind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Server;

#[derive(Debug, Default)]
pub(super) struct Attention {
    /// How often somebody has looked for requests.
    looks: AtomicU64,
    /// The same when that was asked last.
    seen: AtomicU64,
    /// Something waited then.
    has_waited: AtomicBool,
}

impl Attention {
    pub(super) fn note(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Whether something waits, did so when this was asked last, and nobody has looked for requests in
    /// between. A task that was believed to wait for them is not any more.
    pub fn is_deserted(&self) -> bool {
        let looks = self.attention.looks.load(Ordering::Relaxed);
        let has_looked = self.attention.seen.swap(looks, Ordering::Relaxed) != looks;
        let waits = self.has_something();
        let has_waited = self.attention.has_waited.swap(waits, Ordering::Relaxed);
        let is_deserted = waits && has_waited && !has_looked;
        if is_deserted {
            self.end_waiting();
        }
        is_deserted
    }

    /// How many connections wait to be looked at, as far as is known.
    pub fn waiting(&self) -> usize {
        self.ready.lock().len()
    }

    /// Whether there is something to look at.
    fn has_something(&self) -> bool {
        let Some(system) = self.system() else {
            return false;
        };
        let mut descriptors = [PollFd::new(&system, PollFlags::IN)];
        let nothing = Timespec::default();
        !self.ready.lock().is_empty()
            || canny_replay::ask(Kind::Ready, || {
                poll(&mut descriptors, Some(&nothing)).is_ok_and(|count| count > 0)
            })
    }
}
