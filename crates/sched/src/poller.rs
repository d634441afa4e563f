//! Events of the system: readiness of descriptors, by one `epoll`, and the waiters for it.
//!
//! Descriptors are known by number only. A registration stays without waiters; the system drops it with the
//! descriptor. Each wait registers anew, so that a number that has come to mean another descriptor corrects
//! itself: its entry in the table is only a guess at which of `add` and `modify` succeeds. At worst a
//! wait wakes for nothing, once.
//!
//! A registration fires once, if those who wait want one direction: then it has woken all of them. If
//! they want both, it fires at each edge, since nothing in here could arm it again: only who waits has
//! the descriptor in hand.
//!
//! The **bell** wakes the thread that sleeps in the poller; the **alarm** does, too, and any code may write
//! to its descriptor, even a signal handler.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use canny_replay::{Answer, Kind, Mode, Reading};

use super::names::Ticket;

/// The result of a sleep in the poller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fired {
    Descriptor {
        number: RawFd,
        readable: bool,
        writable: bool,
    },
    Bell,
    Alarm,
}

impl Answer for Fired {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (number, readable, writable) = match *self {
            Fired::Descriptor {
                number,
                readable,
                writable,
            } => (number, readable, writable),
            Fired::Bell => (-1, false, false),
            Fired::Alarm => (-2, false, false),
        };
        (number, readable, writable).write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Fired> {
        let (number, readable, writable) = Answer::read(bytes)?;
        Some(match number {
            -1 => Fired::Bell,
            -2 => Fired::Alarm,
            number => Fired::Descriptor {
                number,
                readable,
                writable,
            },
        })
    }
}

impl Poller {
    /// Sleeps like [`Poller::sleep`]. The events of a recording come at once.
    pub(crate) fn events(&self, patience: Option<Duration>, tell: impl FnMut(Fired)) {
        if canny_replay::mode() == Mode::Live {
            return self.sleep(patience, tell);
        }
        let events: Vec<Fired> = canny_replay::ask(Kind::Events, || {
            let mut events = Vec::new();
            self.sleep(patience, |fired| events.push(fired));
            events
        });
        // The numbers of descriptors are those of the recording.
        let here = events.into_iter().map(|fired| match fired {
            Fired::Descriptor {
                number,
                readable,
                writable,
            } => Fired::Descriptor {
                number: canny_replay::descriptor_of(number),
                readable,
                writable,
            },
            fired => fired,
        });
        here.for_each(tell);
    }
}

/// One that waits at a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) index: u32,
    pub(crate) writes: bool,
}

#[derive(Debug, Default)]
struct Watch {
    waiters: Vec<Waiter>,
    is_registered: bool,
}

/// The waiting tickets, by the descriptor's number.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    by_number: Vec<Watch>,
}

impl Watches {
    /// Lets a ticket wait for a descriptor. `false` says that it is always ready, as files are.
    pub(crate) fn add(
        &mut self,
        poller: &Poller,
        descriptor: BorrowedFd<'_>,
        waiter: Waiter,
    ) -> io::Result<bool> {
        let number = descriptor.as_raw_fd();
        let place = usize::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?;
        if self.by_number.len() <= place {
            self.by_number.resize_with(place + 1, Watch::default);
        }
        let watch = &mut self.by_number[place];
        let reads = !waiter.writes || watch.waiters.iter().any(|other| !other.writes);
        let writes = waiter.writes || watch.waiters.iter().any(|other| other.writes);
        let is_waiting = canny_replay::ask(Kind::Watch, || {
            poller.arm(descriptor, reads, writes, watch.is_registered)
        })?;
        watch.is_registered = is_waiting;
        if is_waiting {
            watch.waiters.push(waiter);
        }
        Ok(is_waiting)
    }

    /// A ticket does not wait any more.
    pub(crate) fn remove(&mut self, number: RawFd, ticket: Ticket) {
        if let Some(watch) = self.watch(number) {
            watch.waiters.retain(|waiter| waiter.ticket != ticket);
        }
    }

    fn watch(&mut self, number: RawFd) -> Option<&mut Watch> {
        self.by_number.get_mut(usize::try_from(number).ok()?)
    }

    /// One of those that a readiness is for; repeat until there is none, waking each, which removes it.
    pub(crate) fn waiter(
        &mut self,
        number: RawFd,
        readable: bool,
        writable: bool,
    ) -> Option<Waiter> {
        let watch = self.watch(number)?;
        let wanted = |waiter: &Waiter| if waiter.writes { writable } else { readable };
        let position = watch.waiters.iter().position(wanted)?;
        Some(watch.waiters.swap_remove(position))
    }
}

pub(crate) use system::Poller;

#[cfg(target_os = "linux")]
mod system {
    use super::*;

    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;

    use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::io::Errno;

    const BELL: u64 = u64::MAX;
    const ALARM: u64 = u64::MAX - 1;

    /// So many are reported at once.
    const EVENTS_MAX: usize = 64;

    /// Below this a sleep ends by the microsecond.
    const EXACT_BELOW: Duration = Duration::from_millis(50);

    fn timespec(patience: Duration) -> Timespec {
        Timespec {
            tv_sec: patience.as_secs() as _,
            tv_nsec: patience.subsec_nanos() as _,
        }
    }

    /// Rounded up: a thread that sleeps a little less would look once more.
    fn in_milliseconds(patience: Duration) -> Timespec {
        let milliseconds = u64::try_from(patience.as_nanos().div_ceil(1_000_000));
        let milliseconds = milliseconds.unwrap_or(u64::MAX).min(i32::MAX as u64);
        timespec(Duration::from_millis(milliseconds))
    }

    #[derive(Debug)]
    pub(crate) struct Poller {
        epoll: OwnedFd,
        bell: OwnedFd,
        alarm: OwnedFd,
    }

    impl Poller {
        pub(crate) fn new() -> io::Result<Poller> {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            let poller = Poller {
                epoll: epoll::create(CreateFlags::CLOEXEC)?,
                bell: eventfd(0, flags)?,
                alarm: eventfd(0, flags)?,
            };
            for (descriptor, data) in [(&poller.bell, BELL), (&poller.alarm, ALARM)] {
                // At edges: the written bytes need not be read.
                let flags = EventFlags::IN | EventFlags::ET;
                epoll::add(&poller.epoll, descriptor, EventData::new_u64(data), flags)?;
            }
            Ok(poller)
        }

        pub(super) fn arm(
            &self,
            descriptor: BorrowedFd<'_>,
            reads: bool,
            writes: bool,
            is_registered: bool,
        ) -> io::Result<bool> {
            let mut flags = EventFlags::empty();
            if reads {
                flags |= EventFlags::IN | EventFlags::RDHUP;
            }
            if writes {
                flags |= EventFlags::OUT;
            }
            flags |= if reads && writes {
                EventFlags::ET
            } else {
                EventFlags::ONESHOT
            };
            let number = u64::try_from(descriptor.as_raw_fd()).unwrap_or(0);
            let data = EventData::new_u64(number);
            let add = || epoll::add(&self.epoll, descriptor, data, flags);
            let modify = || epoll::modify(&self.epoll, descriptor, data, flags);
            let outcome = if is_registered {
                match modify() {
                    Err(Errno::NOENT) => add(),
                    outcome => outcome,
                }
            } else {
                match add() {
                    Err(Errno::EXIST) => modify(),
                    outcome => outcome,
                }
            };
            match outcome {
                Ok(()) => Ok(true),
                Err(Errno::PERM) => Ok(false),
                Err(errno) => Err(errno.into()),
            }
        }

        /// Sleeps until there is an event, so long, or until a signal.
        pub(crate) fn sleep(&self, patience: Option<Duration>, mut tell: impl FnMut(Fired)) {
            // Old systems let `epoll` count in milliseconds only. A short sleep is one in `poll`, which
            // is exact, on the descriptor of `epoll`.
            let mut timeout = patience.map(in_milliseconds);
            if let Some(patience) = patience
                && !patience.is_zero()
                && patience < EXACT_BELOW
            {
                let mut epoll = [PollFd::new(&self.epoll, PollFlags::IN)];
                if poll(&mut epoll, Some(&timespec(patience))).is_err() {
                    return;
                }
                timeout = Some(Timespec::default());
            }
            let mut buffer = [const { MaybeUninit::<Event>::uninit() }; EVENTS_MAX];
            let Ok((events, _)) = epoll::wait(&self.epoll, &mut buffer, timeout.as_ref()) else {
                return;
            };
            for event in events {
                let flags = event.flags;
                let data = event.data;
                tell(match data.u64() {
                    BELL => Fired::Bell,
                    ALARM => Fired::Alarm,
                    number => {
                        let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
                        Fired::Descriptor {
                            number: number as RawFd,
                            readable: failed
                                || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
                            writable: failed || flags.contains(EventFlags::OUT),
                        }
                    }
                });
            }
        }

        pub(crate) fn ring(&self) {
            // It fails only when it was rung 2^64 times.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }

        pub(crate) fn alarm(&self) -> BorrowedFd<'_> {
            self.alarm.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    /// There is none yet: descriptors cannot be parked for, everything else works.
    #[derive(Debug)]
    pub(crate) enum Poller {}

    impl Poller {
        pub(crate) fn new() -> io::Result<Poller> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn arm(&self, _: BorrowedFd<'_>, _: bool, _: bool, _: bool) -> io::Result<bool> {
            match *self {}
        }

        pub(crate) fn sleep(&self, _: Option<Duration>, _: impl FnMut(Fired)) {
            match *self {}
        }

        pub(crate) fn ring(&self) {
            match *self {}
        }

        pub(crate) fn alarm(&self) -> BorrowedFd<'_> {
            match *self {}
        }
    }
}
