//! Work about snapshots that a program waits for.
//!
//! A task that waits may be moved to another thread, and calls its primitive again there. So one primitive
//! begins the work, which then happens once, and another one waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canny_locks::{Condvar, Mutex};
use canny_vm::Vm;
use canny_vm::survey::SnapshotReport;

use super::WatchReport;
use crate::host;

/// Name of the threads.
const THREAD_NAME: &str = "canny-heap";
/// A result that nobody takes for so long is dropped: the task was cancelled.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// The result of work that did not fail.
#[derive(Clone)]
pub(crate) enum Done {
    Snapshot(SnapshotReport),
    /// None if there was no watch.
    Watch(Option<WatchReport>),
}

type Outcome = Result<Done, String>;

/// Work that was begun.
#[derive(Default)]
pub(crate) struct Job {
    outcome: Mutex<Option<(Outcome, Instant)>>,
    done: Condvar,
}

impl Job {
    /// Waits for the end. Several threads may.
    pub(crate) fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.lock();
        loop {
            if let Some((outcome, _)) = &*outcome {
                return outcome.clone();
            }
            outcome = self.done.wait(outcome);
        }
    }

    fn is_forgotten(&self) -> bool {
        let outcome = self.outcome.lock();
        outcome
            .as_ref()
            .is_some_and(|(_, ended)| ended.elapsed() > FORGOTTEN_AFTER)
    }
}

/// The jobs of a machine by their numbers.
#[derive(Default)]
pub(crate) struct HeapJobs {
    jobs: Mutex<HashMap<u64, Arc<Job>>>,
    last: AtomicU64,
}

/// Has a thread do some work; its number.
pub(crate) fn begin(
    vm: &Vm,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> Result<u64, String> {
    let jobs: &HeapJobs = host::state(vm);
    let job = Arc::new(Job::default());
    let told = job.clone();
    let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
    let spawned = thread.spawn(move || {
        let outcome = work();
        *told.outcome.lock() = Some((outcome, Instant::now()));
        told.done.notify_all();
    });
    spawned.map_err(|error| format!("the system has no thread for it: {error}"))?;
    let number = jobs.last.fetch_add(1, Ordering::Relaxed);
    let mut known = jobs.jobs.lock();
    known.retain(|_, job| !job.is_forgotten());
    known.insert(number, job);
    Ok(number)
}

/// The job with a number.
pub(crate) fn find(vm: &Vm, number: u64) -> Option<Arc<Job>> {
    let jobs: &HeapJobs = host::state(vm);
    jobs.jobs.lock().get(&number).cloned()
}

/// The result was taken.
pub(crate) fn forget(vm: &Vm, number: u64) {
    let jobs: &HeapJobs = host::state(vm);
    jobs.jobs.lock().remove(&number);
}
