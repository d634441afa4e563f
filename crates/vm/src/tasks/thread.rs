//! State of a thread for the tasks that it runs.

use std::sync::Arc;

use canny_sched::WorkerId;
use canny_value::Value;

use super::Tasks;

/// A thread's part of the scheduling of tasks.
pub(crate) struct ThreadTasks {
    /// The task that runs, or `#f`: then there is none that could give way.
    pub(crate) current: Value,
    /// Nothing else may run on this thread, whatever is asked, while this is not 0.
    pub(crate) critical: u32,
    /// Requests that came while it was not.
    pub(crate) deferred: u32,
    /// The preempt procedure was called in the middle of a procedure of the standard library.
    pub(crate) preempted_in_library: bool,
    /// Slices that the task has had beyond its own since it was taken up; see `accounts`.
    pub(crate) extra_slices: u32,
    /// The heap's epoch when the task was taken up, or asked to give way.
    pub(crate) slice_epoch: u64,
    /// The machine's tasks, once the thread has to do with them.
    pub(crate) shared: Option<Arc<Tasks>>,
    /// The worker that the thread serves as.
    pub(crate) worker: Option<WorkerId>,
    /// The worker is about to end.
    pub(crate) retires: bool,
    /// The ticket of the wait for which the operation under way has to be done again.
    pub(crate) ticket: Option<u64>,
    /// The ticket, now over, of the operation that is about to be done again, if it had begun something.
    pub(crate) resumption: Option<u64>,
    /// Where the thread resumes in place of the operation that failed; see [`switch`](crate::switch).
    pub(crate) switch: Option<*const u32>,
}

impl Default for ThreadTasks {
    fn default() -> ThreadTasks {
        ThreadTasks {
            current: Value::FALSE,
            critical: 0,
            deferred: 0,
            preempted_in_library: false,
            extra_slices: 0,
            slice_epoch: 0,
            shared: None,
            worker: None,
            retires: false,
            ticket: None,
            resumption: None,
            switch: None,
        }
    }
}
