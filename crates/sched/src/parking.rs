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
use std::time::Instant;

use rustix::process::Pid;

use super::blocking::{Child, child};
use super::offload::Offload;
use super::poller::{Fired, Poller, Waiter, Watches};
use super::pool::Pool;
use super::queues::Item;
use super::sync::atomic::Ordering;
use super::tickets::{Deposit, Registration, Registrations, Ticket, Tickets};
use super::timers::{Moment, Timers};
use super::waiting::{NOBODY, STEWARD};
use super::workers::WorkerId;
use super::{Interest, Lane, Wake};

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
            let Some(ticket) = due else { return };
            self.tickets.timer_fired(ticket);
            woken.extend(self.wake(ticket, Wake::TimedOut));
        }
    }
}

impl Pool {
    /// Puts items for tickets that were made ready.
    pub(crate) fn ready_all(&self, woken: Vec<Woken>) {
        for one in woken {
            self.ready(one);
        }
    }

    pub(super) fn ready(&self, woken: Woken) {
        self.undo(woken.ticket, woken.registrations);
        self.enqueue(woken.lane, Item::Ticket(woken.ticket));
    }

    pub(super) fn undo(&self, ticket: Ticket, registrations: Registrations) {
        for registration in registrations.iter().flatten() {
            if let Registration::Notice(list) = registration {
                list.remove(ticket);
            }
        }
    }

    /// Makes a ticket ready if it still waits; by any thread.
    pub(crate) fn wake(&self, ticket: Ticket, wake: Wake) {
        let woken = self.parking.lock().wake(ticket, wake);
        if let Some(woken) = woken {
            self.ready(woken);
        }
    }

    /// Parks a word until one of `interests` is ready or `deadline` has passed; then it is ready in
    /// `lane`. With neither, until it is taken back. If it fails the word is still the caller's.
    pub fn park(
        &self,
        word: u64,
        interests: &[Interest<'_>],
        deadline: Option<Instant>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        self.begin(Some(word), interests, deadline, lane)
    }

    /// Begins to watch for what a word will be parked for: [`Pool::deposit`] brings it, or
    /// [`Pool::disarm`] gives the ticket up; one of them must come.
    pub fn arm(
        &self,
        interests: &[Interest<'_>],
        deadline: Option<Instant>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        self.begin(None, interests, deadline, lane)
    }

    /// Brings the word to a ticket that was armed.
    pub fn deposit(&self, ticket: Ticket, word: u64) -> Deposit {
        self.parking.lock().tickets.deposit(ticket, word)
    }

    /// Gives a ticket up. A word that it has is the caller's again, unless it is ready already.
    pub fn disarm(&self, ticket: Ticket) {
        if !self.parking.lock().tickets.drop_ready(ticket) {
            self.unpark(ticket);
        }
    }

    fn begin(
        &self,
        word: Option<u64>,
        interests: &[Interest<'_>],
        deadline: Option<Instant>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        let deadline = deadline.map(|deadline| self.moment(deadline));
        self.parked.fetch_add(1, Ordering::SeqCst);
        let parked = {
            let mut parking = self.parking.lock();
            parking.park(self.poller.as_ref(), word, interests, lane)
        };
        let (ticket, mut registrations, needs_helper) = match parked {
            Ok(parked) => parked,
            Err(error) => {
                self.parked.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
        };
        for (index, interest) in interests.iter().enumerate() {
            if let Interest::Notice(notice, seen) = interest {
                let list = notice.park(&self.me, ticket, index);
                registrations.push(Registration::Notice(list));
                if notice.was_given_since(*seen) {
                    self.wake(ticket, Wake::Ready(index));
                }
            }
        }
        for (index, pid) in needs_helper {
            let body = Box::new(move || super::blocking::wait_for_child(pid));
            if let Err(error) = self.offload.submit(&self.me, ticket, index, body) {
                let undone = self.parking.lock().cancel(ticket, registrations);
                self.undo(ticket, undone);
                self.parked.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
        }
        let (woken, is_earlier) = self.parking.lock().finish(ticket, registrations, deadline);
        if let Some(woken) = woken {
            self.ready(woken);
        } else {
            self.watch(ticket, deadline, is_earlier);
        }
        Ok(ticket)
    }

    /// Ensures that a thread polls for the parked words.
    pub(super) fn watch(&self, ticket: Ticket, deadline: Option<Moment>, is_earlier: bool) {
        let left = deadline.map(|deadline| deadline.saturating_sub(self.clock()));
        if left == Some(0) {
            return self.wake(ticket, Wake::TimedOut);
        }
        match self.role.load(Ordering::SeqCst) {
            NOBODY => {
                // Most often this very worker polls next; if it does not, the steward must before its
                // next tick.
                if left.is_some_and(|left| left < SOON) {
                    self.is_unwatched.store(true, Ordering::SeqCst);
                }
                self.steward.notice(self);
            }
            // A poller need not look at the clock again.
            _ if !is_earlier => {}
            STEWARD => self.rouse(self.steward.sleeper()),
            worker => {
                let id = WorkerId::from_index(worker as usize - 2);
                self.rouse(&self.workers.get(id).sleeper);
            }
        }
    }

    /// Takes a parked word back, unless it was made ready before: then it comes, or came, as the next
    /// of some worker.
    pub fn unpark(&self, ticket: Ticket) -> Option<u64> {
        let (word, registrations) = self.parking.lock().unpark(ticket)?;
        self.parked.fetch_sub(1, Ordering::SeqCst);
        self.undo(ticket, registrations);
        Some(word)
    }

    /// Lets a helper thread do a job that blocks, and parks a word until it has ended. If that fails
    /// the word is still the caller's.
    pub fn offload(
        &self,
        job: Box<dyn FnOnce() + Send>,
        word: u64,
        lane: Lane,
    ) -> io::Result<Ticket> {
        self.begin_job(job, Some(word), lane)
    }

    /// The same for a word that comes later: [`Pool::deposit`] brings it, or [`Pool::disarm`] gives the
    /// ticket up.
    pub fn offload_ahead(&self, job: Box<dyn FnOnce() + Send>, lane: Lane) -> io::Result<Ticket> {
        self.begin_job(job, None, lane)
    }

    fn begin_job(
        &self,
        job: Box<dyn FnOnce() + Send>,
        word: Option<u64>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        self.parked.fetch_add(1, Ordering::SeqCst);
        let ticket = self.parking.lock().tickets.reserve(word, lane);
        let submitted = self.offload.submit(&self.me, ticket, 0, job);
        if let Err(error) = submitted {
            self.parking.lock().cancel(ticket, Vec::new());
            self.parked.fetch_sub(1, Ordering::SeqCst);
            return Err(error);
        }
        let (woken, _) = self.parking.lock().finish(ticket, Vec::new(), None);
        if let Some(woken) = woken {
            self.ready(woken);
        }
        Ok(ticket)
    }

    pub(crate) fn offload_queue(&self) -> &Offload {
        &self.offload
    }
}
