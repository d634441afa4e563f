//! Clocks, and waiting for one of several things.
//!
//! A poll that is put off is called again with the same arguments. When it ends is kept meanwhile, or
//! a time that is given relative to now would begin anew.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canny_sched::{Interest, Wake};
use rustix::time::{ClockId, Timespec};

use super::Row;
use super::call::{Call, Stop};
use super::entries::What;
use super::errno::Errno;
use crate::patience::patience;

pub const ROWS: &[Row] = &[
    ("clock_res_get", "ii", |call| {
        let time = rustix::time::clock_getres(clock(call.number(0))?);
        call.write64(call.number(1), nanoseconds(time))?;
        Ok(())
    }),
    ("clock_time_get", "ili", |call| {
        let time = rustix::time::clock_gettime(clock(call.number(0))?);
        call.write64(call.number(2), nanoseconds(time))?;
        Ok(())
    }),
    ("poll_oneoff", "iiii", poll),
];

/// A poll that was put off.
#[derive(Clone, Copy)]
pub struct Poll {
    subscriptions: u32,
    ends: Option<Instant>,
}

fn clock(number: u32) -> Result<ClockId, Errno> {
    match number {
        0 => Ok(ClockId::Realtime),
        1 => Ok(ClockId::Monotonic),
        2 => Ok(ClockId::ProcessCPUTime),
        3 => Ok(ClockId::ThreadCPUTime),
        _ => Err(Errno::INVALID),
    }
}

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// The event of a subscription.
enum Subscribed {
    /// A time: until then.
    Time(Instant),
    /// Bytes to be read or written: a copy of the descriptor, or none if that is ready.
    Bytes {
        writes: bool,
        descriptor: Option<OwnedFd>,
    },
    /// Nothing that can be waited for.
    Wrong(Errno),
}

struct Subscription {
    user_data: [u8; 8],
    kind: u8,
    what: Subscribed,
}

/// Bytes of a subscription and of an event.
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;

fn subscription(call: &mut Call<'_>, at: u32) -> Result<Subscription, Errno> {
    let user_data = call.read(at)?;
    let [kind] = call.read(at + 8)?;
    let what = match kind {
        0 => {
            let id = call.read32(at + 16)?;
            let given = u64::from_le_bytes(call.read(at + 24)?);
            let flags = u16::from_le_bytes(call.read(at + 40)?);
            match clock(id) {
                Ok(id) => {
                    let passed = if flags & 1 == 0 {
                        0
                    } else {
                        nanoseconds(rustix::time::clock_gettime(id))
                    };
                    // A time that is longer than a clock can tell never comes.
                    let rest = Duration::from_nanos(given.saturating_sub(passed));
                    let now = Instant::now();
                    let years = Duration::from_secs(100 * 365 * 86_400);
                    Subscribed::Time(now.checked_add(rest).unwrap_or(now + years))
                }
                Err(error) => Subscribed::Wrong(error),
            }
        }
        1 | 2 => {
            let number = call.read32(at + 16)?;
            match watched(call, number, kind == 2) {
                Ok(descriptor) => Subscribed::Bytes {
                    writes: kind == 2,
                    descriptor,
                },
                Err(error) => Subscribed::Wrong(error),
            }
        }
        _ => return Err(Errno::INVALID),
    };
    Ok(Subscription {
        user_data,
        kind,
        what,
    })
}

/// A descriptor that is ready when that of the guest is; none if it always is.
fn watched(call: &mut Call<'_>, number: u32, writes: bool) -> Result<Option<OwnedFd>, Errno> {
    let handle = match &call.state.entries.get(number)?.what {
        What::File(_) | What::Folder { .. } | What::Nothing => return Ok(None),
        What::Stream(handle) => handle,
        What::Connection { output, .. } if writes => output,
        What::Connection { input, .. } => input,
        What::Listener(listener) => {
            let copy = listener.duplicate();
            return copy.map(Some).map_err(|error| Errno::from(&error));
        }
    };
    // Streams in memory are ready.
    Ok(handle.duplicate().ok())
}

fn poll(call: &mut Call<'_>) -> Result<(), Stop> {
    let (list, events, count) = (call.number(0), call.number(1), call.number(2));
    if count == 0 {
        return Err(Errno::INVALID.into());
    }
    let end = count
        .checked_mul(SUBSCRIPTION)
        .and_then(|size| list.checked_add(size));
    if end.is_none_or(|end| u64::from(end) > call.memory.size()) {
        return Err(Errno::FAULT.into());
    }
    let mut subscriptions = Vec::new();
    for index in 0..count {
        subscriptions.push(subscription(call, list + index * SUBSCRIPTION)?);
    }
    // A poll that goes on ends when it would have ended.
    let before = call
        .state
        .polls
        .remove(&call.store)
        .filter(|before| before.subscriptions == list);
    let earliest = subscriptions
        .iter()
        .filter_map(|subscription| match subscription.what {
            Subscribed::Time(time) => Some(time),
            _ => None,
        });
    let ends = match before {
        Some(before) => before.ends,
        None => earliest.min(),
    };
    let ready = ready(&subscriptions, ends);
    if ready.is_empty() {
        let poll = Poll {
            subscriptions: list,
            ends,
        };
        call.state.polls.insert(call.store, poll);
        return Err(Stop::Wait);
    }
    for (place, (index, error)) in ready.iter().enumerate() {
        let subscription = &subscriptions[*index];
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&subscription.user_data);
        event[8..10].copy_from_slice(&error.to_le_bytes());
        event[10] = subscription.kind;
        if subscription.kind != 0 {
            // How many bytes there are is not known; one is.
            event[16] = 1;
        }
        let at = events.checked_add(place as u32 * EVENT);
        call.write(at.ok_or(Errno::FAULT)?, event)?;
    }
    call.write32(call.number(3), ready.len() as u32)?;
    Ok(())
}

/// Waits until something is ready; gives the indices of all that is, with errors. Nothing if the wait is put
/// off.
fn ready(subscriptions: &[Subscription], ends: Option<Instant>) -> Vec<(usize, u16)> {
    let descriptors: Vec<(usize, bool, BorrowedFd)> = subscriptions
        .iter()
        .enumerate()
        .filter_map(|(index, subscription)| match &subscription.what {
            Subscribed::Bytes {
                writes,
                descriptor: Some(descriptor),
            } => Some((index, *writes, descriptor.as_fd())),
            _ => None,
        })
        .collect();
    let interest = |writes: bool, descriptor| {
        if writes {
            Interest::Writable(descriptor)
        } else {
            Interest::Readable(descriptor)
        }
    };
    let now_ready = || -> Vec<(usize, u16)> {
        let now = Instant::now();
        let all = subscriptions.iter().enumerate();
        all.filter_map(|(index, subscription)| match &subscription.what {
            Subscribed::Wrong(error) => Some((index, error.0)),
            Subscribed::Bytes {
                descriptor: None, ..
            } => Some((index, 0)),
            Subscribed::Bytes {
                writes,
                descriptor: Some(descriptor),
            } => canny_sched::is_ready(interest(*writes, descriptor.as_fd())).then_some((index, 0)),
            Subscribed::Time(_) => ends.is_some_and(|ends| ends <= now).then_some((index, 0)),
        })
        .collect()
    };
    let found = now_ready();
    if !found.is_empty() {
        return found;
    }
    let interests: Vec<Interest> = descriptors
        .iter()
        .map(|(_, writes, descriptor)| interest(*writes, *descriptor))
        .collect();
    let deadline = [ends, patience()].into_iter().flatten().min();
    match canny_sched::wait(&interests, deadline, None) {
        Wake::Ready(_) | Wake::TimedOut => now_ready(),
        Wake::Interrupted | Wake::Parked => Vec::new(),
    }
}
