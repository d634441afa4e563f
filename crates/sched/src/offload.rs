//! Helper threads for work that blocks: looking up names, slow files. They come when jobs wait and go
//! when none come.
//!
//! A helper knows no words: the one that a job is for is parked, and its ticket wakes when the job has
//! ended, by return or by panic.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::time::Duration;

use super::Wake;
use super::pool::Pool;
use super::sync::{Condvar, Mutex, spawn};
use super::tickets::Ticket;

/// At most so many helpers; further jobs wait.
const HELPERS_MAX: usize = 64;

/// A helper goes when it was idle so long.
const PATIENCE: Duration = Duration::from_secs(2);

struct Job {
    body: Box<dyn FnOnce() + Send>,
    ticket: Ticket,
    index: usize,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    helpers: usize,
    idle: usize,
    is_shut: bool,
}

#[derive(Default)]
pub(crate) struct Offload {
    jobs: Mutex<Jobs>,
    come: Condvar,
}

impl Offload {
    /// Gives a job to a helper. It fails if there is none and the system has no thread for one.
    pub(crate) fn submit(
        &self,
        pool: &Weak<Pool>,
        ticket: Ticket,
        index: usize,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()> {
        let mut jobs = self.jobs.lock();
        let needs_helper = jobs.waiting.len() >= jobs.idle && jobs.helpers < HELPERS_MAX;
        if needs_helper {
            let pool = Weak::clone(pool);
            match spawn("canny-helper", move || help(&pool)) {
                Ok(()) => jobs.helpers += 1,
                Err(error) if jobs.helpers == 0 => return Err(error),
                Err(_) => {}
            }
        }
        jobs.waiting.push_back(Job {
            body,
            ticket,
            index,
        });
        drop(jobs);
        self.come.notify_one();
        Ok(())
    }

    pub(crate) fn helpers(&self) -> usize {
        self.jobs.lock().helpers
    }

    /// Helpers end when they have done what waits.
    pub(crate) fn shut_down(&self) {
        self.jobs.lock().is_shut = true;
        self.come.notify_all();
    }

    /// The next job, or nothing when the helper shall go.
    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        let mut is_patient = true;
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            if jobs.is_shut || !is_patient {
                jobs.helpers -= 1;
                return None;
            }
            jobs.idle += 1;
            let (guard, was_in_vain) = self.come.wait_timeout(jobs, PATIENCE);
            jobs = guard;
            jobs.idle -= 1;
            is_patient = !was_in_vain;
        }
    }
}

fn help(pool: &Weak<Pool>) {
    // The pool stays while its helper waits for jobs; it ends when it is shut down.
    let Some(pool) = pool.upgrade() else { return };
    while let Some(job) = pool.offload_queue().next() {
        // A job that panics has ended, too; the waiting task finds no result.
        let _ = catch_unwind(AssertUnwindSafe(job.body));
        pool.wake(job.ticket, Wake::Ready(job.index));
    }
}
