//! Helper threads for work that blocks: looking up names, slow files. They come when jobs wait and go
//! when none come.
//!
//! A helper knows no words and no tickets: whom to wake when a job has ended is the job's own matter.
//! A job does not panic.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::sync::{Condvar, Mutex, spawn};

/// At most so many helpers; further jobs wait.
const HELPERS_MAX: usize = 64;

/// A helper goes when it was idle so long.
const PATIENCE: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce() + Send>;

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
    pub(crate) fn submit(self: &Arc<Offload>, job: Job) -> io::Result<()> {
        let mut jobs = self.jobs.lock();
        let needs_helper = jobs.waiting.len() >= jobs.idle && jobs.helpers < HELPERS_MAX;
        if needs_helper {
            let offload = Arc::clone(self);
            match spawn("canny-helper", move || offload.help()) {
                Ok(()) => jobs.helpers += 1,
                Err(error) if jobs.helpers == 0 => return Err(error),
                Err(_) => {}
            }
        }
        jobs.waiting.push_back(job);
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

    fn help(&self) {
        while let Some(job) = self.next() {
            job();
        }
    }
}
