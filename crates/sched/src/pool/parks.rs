//! How words are parked in the pool, woken and taken back.
//!
//! Each operation takes the lock of parked words for short steps. The thread that made an item ready
//! puts it into a queue afterwards. Jobs that block a thread go to helpers, and wake a ticket when
//! they have ended.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::time::Instant;

use super::super::blocking::wait_for_child;
use super::super::names::{Ticket, WorkerId};
use super::super::notice::Waker;
use super::super::parking::{SOON, Woken};
use super::super::queues::Item;
use super::super::sync::atomic::Ordering;
use super::super::tickets::{Deposit, Registration, Registrations};
use super::super::timers::Moment;
use super::super::word::Lane;
use super::super::{Interest, Wake};
use super::Pool;
use super::waiting::{NOBODY, STEWARD};

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
                let list = notice.park(self.me.clone(), ticket, index);
                registrations.push(Registration::Notice(list));
                if notice.was_given_since(*seen) {
                    self.wake(ticket, Wake::Ready(index));
                }
            }
        }
        for (index, pid) in needs_helper {
            let body = Box::new(move || wait_for_child(pid));
            if let Err(error) = self.submit(ticket, index, body) {
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
        let submitted = self.submit(ticket, 0, job);
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

    /// Lets a helper do a job and wake a ticket then.
    fn submit(
        &self,
        ticket: Ticket,
        index: usize,
        job: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()> {
        if self.config.is_alone {
            let _ = catch_unwind(AssertUnwindSafe(job));
            self.wake(ticket, Wake::Ready(index));
            return Ok(());
        }
        let pool = Weak::clone(&self.me);
        self.offload.submit(Box::new(move || {
            // A job that panics has ended, too; the waiting task finds no result.
            let _ = catch_unwind(AssertUnwindSafe(job));
            if let Some(pool) = pool.upgrade() {
                pool.wake(ticket, Wake::Ready(index));
            }
        }))
    }
}

impl Waker for Pool {
    fn wake_ready(&self, ticket: Ticket, index: usize) {
        self.wake(ticket, Wake::Ready(index));
    }
}
