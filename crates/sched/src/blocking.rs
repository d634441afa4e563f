//! Waits that block the system thread. They sleep in slices, after each of which they look at
//! everything that cannot end a sleep by itself: the flag, and notices when there are descriptors
//! besides.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use canny_replay::Kind;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{Interest, Wake};

/// The longest sleep without a look around.
const SLICE: Duration = Duration::from_millis(100);

/// The same when the end of a child must be asked for.
const CHILD_SLICE: Duration = Duration::from_millis(5);

pub(crate) fn wait(
    interests: &[Interest<'_>],
    deadline: Option<Instant>,
    interrupt: Option<&AtomicBool>,
) -> Wake {
    let children = ChildDescriptors::open(interests);
    loop {
        if let Some(index) = look_at(interests, &children, Duration::ZERO) {
            return Wake::Ready(index);
        }
        if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
            return Wake::Interrupted;
        }
        let patience = match deadline {
            None => SLICE,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Wake::TimedOut;
                }
                left.min(SLICE)
            }
        };
        if let Some(index) = sleep(interests, &children, patience) {
            return Wake::Ready(index);
        }
    }
}

/// The first interest that is ready now.
pub(crate) fn look(interests: &[Interest<'_>]) -> Option<usize> {
    look_at(interests, &ChildDescriptors::none(), Duration::ZERO)
}

/// Sleeps until something may be ready; says what if that is known.
fn sleep(
    interests: &[Interest<'_>],
    children: &ChildDescriptors,
    patience: Duration,
) -> Option<usize> {
    match interests {
        [] => {
            // Not `std::thread::sleep`, which keeps sleeping after a signal.
            poll(&mut [], patience);
            None
        }
        [Interest::Notice(notice, seen)] => {
            notice.wait_briefly(*seen, patience);
            notice.was_given_since(*seen).then_some(0)
        }
        _ => look_at(interests, children, children.patience(patience)),
    }
}

/// Polls the descriptors among the interests and looks at the others.
fn look_at(
    interests: &[Interest<'_>],
    children: &ChildDescriptors,
    patience: Duration,
) -> Option<usize> {
    let by_looking = |interest: &Interest<'_>| match interest {
        Interest::Notice(notice, seen) => notice.was_given_since(*seen),
        Interest::ChildEnded(pid) => has_ended(*pid),
        Interest::Readable(_) | Interest::Writable(_) => false,
    };
    if let Some(index) = interests.iter().position(by_looking) {
        return Some(index);
    }
    let mut polled = Vec::with_capacity(interests.len());
    let mut indices = Vec::with_capacity(interests.len());
    for (index, interest) in interests.iter().enumerate() {
        let entry = match interest {
            Interest::Readable(descriptor) => PollFd::new(descriptor, PollFlags::IN),
            Interest::Writable(descriptor) => PollFd::new(descriptor, PollFlags::OUT),
            Interest::ChildEnded(_) => match children.get(index) {
                Some(descriptor) => PollFd::new(descriptor, PollFlags::IN),
                None => continue,
            },
            Interest::Notice(..) => continue,
        };
        polled.push(entry);
        indices.push(index);
    }
    if polled.is_empty() && patience.is_zero() {
        return None;
    }
    poll(&mut polled, patience);
    let ready = polled.iter().position(|entry| !entry.revents().is_empty());
    ready
        .map(|position| indices[position])
        .or_else(|| interests.iter().position(by_looking))
}

/// Polls so long. The caller looks again whatever happened: readiness, end of time, signal or error.
fn poll(entries: &mut [PollFd<'_>], patience: Duration) {
    let timeout = Timespec {
        tv_sec: patience.as_secs() as _,
        tv_nsec: patience.subsec_nanos() as _,
    };
    if rustix::event::poll(entries, Some(&timeout)).is_err() {
        for entry in entries {
            entry.clear_revents();
        }
    }
}

/// Whether a child has ended. A process that is no child, or no child any more, has ended.
fn has_ended(pid: rustix::process::Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// For each interest in a child a descriptor that becomes readable at its end, where the system has such.
struct ChildDescriptors {
    by_index: Vec<Option<OwnedFd>>,
    /// A child without one must be asked about.
    asks: bool,
}

impl ChildDescriptors {
    /// For a look at everything, which needs none.
    fn none() -> ChildDescriptors {
        ChildDescriptors {
            by_index: Vec::new(),
            asks: true,
        }
    }

    fn open(interests: &[Interest<'_>]) -> ChildDescriptors {
        if !interests
            .iter()
            .any(|interest| matches!(interest, Interest::ChildEnded(_)))
        {
            return ChildDescriptors {
                by_index: Vec::new(),
                asks: false,
            };
        }
        let mut asks = false;
        let by_index = interests.iter().map(|interest| match interest {
            Interest::ChildEnded(pid) => {
                let descriptor = child_descriptor(*pid);
                asks |= descriptor.is_none();
                descriptor
            }
            _ => None,
        });
        let by_index = by_index.collect();
        ChildDescriptors { by_index, asks }
    }

    fn get(&self, index: usize) -> Option<&OwnedFd> {
        self.by_index.get(index)?.as_ref()
    }

    fn patience(&self, patience: Duration) -> Duration {
        if self.asks {
            patience.min(CHILD_SLICE)
        } else {
            patience
        }
    }
}

/// How the end of a child can be waited for.
#[derive(Debug)]
pub(crate) enum Child {
    Ended,
    /// By a descriptor that becomes readable.
    Descriptor(OwnedFd),
    /// By a thread that blocks in [`wait_for_child`].
    Unknown,
}

pub(crate) fn child(pid: rustix::process::Pid) -> Child {
    let descriptor = canny_replay::ask_for_descriptor(Kind::Watch, || {
        child_descriptor(pid).ok_or(rustix::io::Errno::NOSYS)
    });
    match descriptor {
        _ if canny_replay::ask(Kind::Ready, || has_ended(pid)) => Child::Ended,
        Ok(descriptor) => Child::Descriptor(descriptor),
        Err(_) => Child::Unknown,
    }
}

/// Blocks until a child has ended, and leaves its status.
pub(crate) fn wait_for_child(pid: rustix::process::Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
}

#[cfg(target_os = "linux")]
fn child_descriptor(pid: rustix::process::Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn child_descriptor(_pid: rustix::process::Pid) -> Option<OwnedFd> {
    None
}
