//! Parked words with all that can wake them: tickets, timers and waiters for descriptors, under one
//! lock.
//!
//! The lock is the pool's parking lock. Everything in `Parking` changes only under it, so that of
//! several events exactly one takes a ticket. It is held for short steps only: undoing
//! registrations and putting a woken item into a queue happen after it is released (`Woken`).
//! Parking takes two steps, arming and finishing, because an event may arrive while registrations
//! are still being made. Times are `Moment`s in nanoseconds.

use std::io;
use std::os::fd::AsRawFd;

use rustix::process::Pid;

use super::blocking::{Child, child};
use super::names::Ticket;
use super::poller::{Fired, Poller, Waiter, Watches};
use super::tickets::{Registration, Registrations, Tickets};
use super::timers::{Moment, Timers};
use super::word::Lane;
use super::{Interest, Wake};

/// A ticket that was made ready. The thread that made it so undoes its registrations and puts its item
/// into a queue, without the lock.
#[derive(Debug)]
pub(crate) struct Woken {
    pub(crate) ticket: Ticket,
    pub(crate) lane: Lane,
    pub(crate) registrations: Registrations,
}

#[derive(Debug, Default)]
pub(crate) struct Parking {
    pub(crate) tickets: Tickets,
    timers: Timers,
    watches: Watches,
    /// The time until which the polling thread sleeps; zero if no thread does.
    pub(crate) sleeps_until: Moment,
}

/// A deadline before the steward's next tick.
pub(crate) const SOON: Moment = 10_000_000;

/// At most so many timers fire at once; the rest come at the next look, which is at once.
const DUE_MAX: usize = 256;

/// A ticket that is being armed, what was registered, and children that a helper must wait for.
pub(crate) type Armed = (Ticket, Vec<Registration>, Vec<(usize, Pid)>);

impl Parking {
    /// Reserves a ticket and registers it at descriptors.
    pub(crate) fn park(
        &mut self,
        poller: Option<&Poller>,
        word: Option<u64>,
        interests: &[Interest<'_>],
        lane: Lane,
    ) -> io::Result<Armed> {
        let ticket = self.tickets.reserve(word, lane);
        let mut registrations = Vec::new();
        let mut helped = Vec::new();
        for (index, interest) in interests.iter().enumerate() {
            let registered = self.register(
                poller,
                ticket,
                index,
                *interest,
                &mut registrations,
                &mut helped,
            );
            if let Err(error) = registered {
                self.cancel(ticket, registrations);
                return Err(error);
            }
        }
        Ok((ticket, registrations, helped))
    }

    fn register(
        &mut self,
        poller: Option<&Poller>,
        ticket: Ticket,
        index: usize,
        interest: Interest<'_>,
        registrations: &mut Vec<Registration>,
        helped: &mut Vec<(usize, Pid)>,
    ) -> io::Result<()> {
        let (descriptor, writes) = match interest {
            Interest::Readable(descriptor) => (descriptor, false),
            Interest::Writable(descriptor) => (descriptor, true),
            Interest::Notice(..) => return Ok(()),
            Interest::ChildEnded(pid) => {
                match child(pid) {
                    Child::Ended => self.wake_arming(ticket, index),
                    Child::Descriptor(descriptor) if poller.is_some() => {
                        use std::os::fd::AsFd;
                        self.watch(poller, ticket, index, descriptor.as_fd(), false)?;
                        registrations.push(Registration::Child(descriptor));
                    }
                    Child::Descriptor(_) | Child::Unknown => helped.push((index, pid)),
                }
                return Ok(());
            }
        };
        if self.watch(poller, ticket, index, descriptor, writes)? {
            registrations.push(Registration::Descriptor(descriptor.as_raw_fd()));
        }
        Ok(())
    }

    fn watch(
        &mut self,
        poller: Option<&Poller>,
        ticket: Ticket,
        index: usize,
        descriptor: std::os::fd::BorrowedFd<'_>,
        writes: bool,
    ) -> io::Result<bool> {
        let poller = poller.ok_or(io::ErrorKind::Unsupported)?;
        let waiter = Waiter {
            ticket,
            index: u32::try_from(index).unwrap_or(u32::MAX),
            writes,
        };
        let is_waiting = self.watches.add(poller, descriptor, waiter)?;
        if !is_waiting {
            self.wake_arming(ticket, index);
        }
        Ok(is_waiting)
    }

    fn wake_arming(&mut self, ticket: Ticket, index: usize) {
        let woken = self
            .tickets
            .wake(ticket, Wake::Ready(index), &mut self.timers);
        debug_assert!(woken.is_none(), "a ticket that is being armed is not ready");
    }

    /// Ends the arming. The reason if it woke meanwhile, and whether the polling thread must look at the
    /// clock again.
    pub(crate) fn finish(
        &mut self,
        ticket: Ticket,
        registrations: Vec<Registration>,
        deadline: Option<Moment>,
    ) -> (Option<Woken>, bool) {
        let registrations: Registrations =
            (!registrations.is_empty()).then(|| registrations.into_boxed_slice());
        if let Some((lane, registrations)) = self.tickets.finish(ticket, registrations) {
            self.unwatch(ticket, &registrations);
            let woken = Woken {
                ticket,
                lane,
                registrations,
            };
            return (Some(woken), false);
        }
        let Some(deadline) = deadline else {
            return (None, false);
        };
        self.tickets.set_timer(ticket, deadline, &mut self.timers);
        (None, deadline < self.sleeps_until)
    }

    /// Ends an arming that failed. The cleanup that is done without the lock.
    pub(crate) fn cancel(
        &mut self,
        ticket: Ticket,
        registrations: Vec<Registration>,
    ) -> Registrations {
        let registrations = Some(registrations.into_boxed_slice());
        self.unwatch(ticket, &registrations);
        self.tickets.cancel(ticket);
        registrations
    }

    pub(crate) fn wake(&mut self, ticket: Ticket, wake: Wake) -> Option<Woken> {
        let (lane, registrations) = self.tickets.wake(ticket, wake, &mut self.timers)?;
        self.unwatch(ticket, &registrations);
        Some(Woken {
            ticket,
            lane,
            registrations,
        })
    }

    pub(crate) fn unpark(&mut self, ticket: Ticket) -> Option<(u64, Registrations)> {
        let (word, registrations) = self.tickets.unpark(ticket, &mut self.timers)?;
        self.unwatch(ticket, &registrations);
        Some((word, registrations))
    }

    fn unwatch(&mut self, ticket: Ticket, registrations: &Registrations) {
        for registration in registrations.iter().flatten() {
            match registration {
                Registration::Descriptor(number) => self.watches.remove(*number, ticket),
                Registration::Child(descriptor) => {
                    self.watches.remove(descriptor.as_raw_fd(), ticket);
                }
                Registration::Notice(_) => {}
            }
        }
    }

    /// Handles an event of the poller: wakes the waiters for it.
    pub(crate) fn fired(&mut self, fired: Fired, woken: &mut Vec<Woken>) {
        let Fired::Descriptor {
            number,
            readable,
            writable,
        } = fired
        else {
            return;
        };
        while let Some(waiter) = self.watches.waiter(number, readable, writable) {
            let wake = Wake::Ready(waiter.index as usize);
            woken.extend(self.wake(waiter.ticket, wake));
        }
    }

    /// The earliest deadline.
    pub(crate) fn next_moment(&mut self) -> Option<Moment> {
        self.timers.next(|ticket| self.tickets.is_timed(ticket))
    }

    /// Wakes those whose deadline has passed, but not so many at once that others wait long for the lock.
    pub(crate) fn due(&mut self, now: Moment, woken: &mut Vec<Woken>) {
        for _ in 0..DUE_MAX {
            let due = self
                .timers
                .pop_due(now, |ticket| self.tickets.is_timed(ticket));
            let Some((moment, ticket)) = due else {
                return;
            };
            self.tickets.timer_fired(ticket);
            let one = self.wake(ticket, Wake::TimedOut);
            if one.is_some() {
                self.tickets.was_ready_at(ticket, moment);
            }
            woken.extend(one);
        }
    }
}
