//! Operations that would wait: in a task they arm a ticket of the pool instead, and are done again once
//! that is over. An operation that blocks the system thread after all reports it to the pool.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use canny_sched::Interest;
use canny_sched::hook::{Parking, with_parking};
use canny_sched::{Lane, Pool, Ticket, WorkerId};

use crate::thread::Thread;

/// Takes note of the wait that an operation of a task would begin.
struct TaskParking {
    pool: Arc<Pool>,
    lane: Lane,
    ticket: Cell<Option<Ticket>>,
    /// The pool cannot watch for what the operation waits for.
    is_refused: Cell<bool>,
}

impl Parking for TaskParking {
    fn park(&self, interests: &[Interest<'_>], deadline: Option<Instant>) -> bool {
        if self.ticket.get().is_some() || self.is_refused.get() {
            return false;
        }
        match self.pool.arm(interests, deadline, self.lane) {
            Ok(ticket) => self.ticket.set(Some(ticket)),
            // The operation is abandoned all the same: how it waits then must be known before the heap
            // is left.
            Err(_) => self.is_refused.set(true),
        }
        true
    }
}

/// A worker that blocks its thread, until this is dropped.
struct Blocking {
    pool: Arc<Pool>,
    worker: WorkerId,
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.pool.end_blocking(self.worker);
    }
}

impl Thread {
    /// Runs an operation that may wait, outside of the heap. If a task runs, and there are others, the
    /// operation is made to fail with a ticket instead of waiting; the second result is then the
    /// ticket for its wait. An operation that gives up is run once more if nobody can tell when to
    /// do it again; it waits then.
    pub fn wait_outside_heap<R>(&mut self, mut work: impl FnMut() -> R) -> (R, Option<u64>) {
        if let Some(parking) = self.task_parking() {
            let outcome = {
                let parking = parking.clone();
                self.outside_heap(|| with_parking(parking, &mut work))
            };
            if !parking.is_refused.get() {
                return (outcome, parking.ticket.get().map(|ticket| ticket.number()));
            }
        }
        (self.wait_watched(work), None)
    }

    /// Runs an operation that may block its system thread for long, outside of the heap. The pool gives
    /// the core to somebody else meanwhile.
    pub fn block_outside_heap<R>(&mut self, work: impl FnOnce() -> R) -> R {
        // It moves words, which must not happen while a collector looks for them.
        let _blocking = self.begin_blocking();
        self.outside_heap(work)
    }

    /// Runs outside of the heap an operation that takes microseconds or blocks its system thread for
    /// long. It says so once it has found out, by calling what it is given, as often as it likes; from
    /// then on it is as in [`Thread::block_outside_heap`]. Telling the pool beforehand would cost more
    /// than what is short, if others have to be woken for what waits.
    pub fn perhaps_block_outside_heap<R>(&mut self, work: impl FnOnce(&mut dyn FnMut()) -> R) -> R {
        let worker = self.tasks.worker.filter(|_| self.has_other_tasks());
        let pool = self.vm.tasks.get().map(|tasks| tasks.pool.clone());
        let mut waiting = pool.zip(worker);
        let mut blocking = None;
        let result = {
            let mut region = self.mutator().enter_native();
            let mut turns_long = || {
                if let Some((pool, worker)) = waiting.take() {
                    // It moves words, which must not happen while a collector looks for them.
                    region.interrupted(|| pool.begin_blocking(worker));
                    blocking = Some(Blocking { pool, worker });
                }
            };
            work(&mut turns_long)
        };
        drop(blocking);
        result
    }

    /// Whether there are tasks that could run while the one of this thread waits.
    pub fn has_other_tasks(&self) -> bool {
        let tasks = self.vm.tasks.get();
        self.tasks.worker.is_some() && tasks.is_some_and(|tasks| tasks.are_there_others(self))
    }

    fn begin_blocking(&self) -> Option<Blocking> {
        let worker = self.tasks.worker.filter(|_| self.has_other_tasks())?;
        let tasks = self.vm.tasks.get()?;
        let pool = tasks.pool.clone();
        pool.begin_blocking(worker);
        Some(Blocking { pool, worker })
    }

    fn task_parking(&self) -> Option<Rc<TaskParking>> {
        if !self.tasks.current.is_true() || self.is_critical() || !self.has_other_tasks() {
            return None;
        }
        let tasks = self.vm.tasks.get()?;
        Some(Rc::new(TaskParking {
            pool: tasks.pool.clone(),
            lane: self.lane_of_task(Lane::General),
            ticket: Cell::new(None),
            is_refused: Cell::new(false),
        }))
    }

    /// Keeps the ticket of an abandoned operation for the code that reports its failure.
    pub fn set_ticket(&mut self, ticket: Option<u64>) {
        self.tasks.ticket = ticket;
    }

    /// That ticket.
    pub fn take_ticket(&mut self) -> Option<u64> {
        self.tasks.ticket.take()
    }

    /// Notes that the operation that was abandoned for a ticket is about to be done again, and
    /// continues with what it had begun.
    pub fn set_resumption(&mut self, ticket: Option<u64>) {
        self.tasks.resumption = ticket;
    }

    /// That ticket; it is asked for once.
    pub fn take_resumption(&mut self) -> Option<u64> {
        self.tasks.resumption.take()
    }
}
