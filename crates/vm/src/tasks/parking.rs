//! Operations that would wait: in a task they arm a ticket of the pool instead, and are done again once that is over.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use canny_sched::Interest;
use canny_sched::hook::{Parking, with_parking};
use canny_sched::{Lane, Pool, Ticket};

use crate::thread::Thread;

/// Takes note of the wait that an operation of a task would begin.
struct TaskParking {
    pool: Arc<Pool>,
    lane: Lane,
    ticket: Cell<Option<Ticket>>,
}

impl Parking for TaskParking {
    fn park(&self, interests: &[Interest<'_>], deadline: Option<Instant>) -> bool {
        if self.ticket.get().is_some() {
            return false;
        }
        match self.pool.arm(interests, deadline, self.lane) {
            Ok(ticket) => {
                self.ticket.set(Some(ticket));
                true
            }
            // What the pool cannot watch is waited for by sleeping.
            Err(_) => false,
        }
    }
}

impl Thread {
    /// Runs an operation that may wait, outside of the heap. If a task runs, and there are others, the operation is made
    /// to give up instead of waiting; the second result is then the ticket for what it would have waited for.
    pub fn wait_outside_heap<R>(&mut self, work: impl FnOnce() -> R) -> (R, Option<u64>) {
        let Some(parking) = self.task_parking() else {
            return (self.outside_heap(work), None);
        };
        let outcome = {
            let parking = parking.clone();
            self.outside_heap(|| with_parking(parking, work))
        };
        (outcome, parking.ticket.get().map(|ticket| ticket.number()))
    }

    fn task_parking(&self) -> Option<Rc<TaskParking>> {
        if !self.task.is_true() || self.is_critical() {
            return None;
        }
        let tasks = self.vm.tasks.get()?;
        if !tasks.are_there_others(self) {
            return None;
        }
        Some(Rc::new(TaskParking {
            pool: tasks.pool.clone(),
            lane: self.lane_of_task(Lane::General),
            ticket: Cell::new(None),
        }))
    }

    /// Keeps the ticket of an operation that gave up for whoever makes its failure known.
    pub fn set_ticket(&mut self, ticket: Option<u64>) {
        self.ticket = ticket;
    }

    /// That ticket.
    pub fn take_ticket(&mut self) -> Option<u64> {
        self.ticket.take()
    }

    /// Notes that the operation that gave up for a ticket is done again after that was over in vain.
    pub fn set_expired(&mut self, expired: bool) {
        self.expired = expired;
    }

    /// Whether the operation is done again although its time is over; it is asked once.
    pub fn take_expired(&mut self) -> bool {
        std::mem::take(&mut self.expired)
    }
}
