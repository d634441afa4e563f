//! Offloads SQL statements to helper threads, for tasks on the main thread.
//!
//! A statement that blocks there would also stop the main program, which can run on no other thread. A
//! database has at most one offloaded statement, since the task that began it has the database's lock.
//! An abandoned statement is interrupted and its result dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use canny_locks::{Condvar, Mutex, MutexGuard};
use canny_sqlite::{Connection, Failure, Tape, Watch};
use canny_value::Value;
use canny_vm::{ConditionKind, Thread};

use super::{Database, Refusal};

/// The outcome of a statement, and its text.
pub(super) struct Done {
    pub(super) outcome: Result<(i64, Tape), Failure>,
    pub(super) sql: String,
}

#[derive(Default)]
struct Slot {
    done: Mutex<Option<Done>>,
    notice: Condvar,
    is_abandoned: AtomicBool,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Done>> {
        self.done.lock()
    }
}

/// The offloaded statement, if there is one.
#[derive(Default)]
pub(super) struct Offloaded {
    slot: Mutex<Arc<Slot>>,
    ticket: AtomicU64,
}

impl Offloaded {
    fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot.lock())
    }

    fn renew(&self) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        *self.slot.lock() = Arc::clone(&slot);
        slot
    }

    pub(super) fn ticket(&self) -> u64 {
        self.ticket.load(Ordering::Relaxed)
    }

    /// Asks the offloaded statement to end.
    pub(super) fn abandon(&self) {
        self.slot().is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Waits for its end.
    pub(super) fn wait(&self) -> Done {
        let slot = self.slot();
        let mut done = slot.lock();
        loop {
            match done.take() {
                Some(done) => return done,
                None => {
                    done = slot.notice.wait(done);
                }
            }
        }
    }
}

/// Watches a statement on such a thread, which nobody else needs.
struct Helping(Arc<Slot>);

impl Watch for Helping {
    fn turns_long(&mut self) {}

    fn shall_stop(&mut self) -> bool {
        self.0.is_abandoned.load(Ordering::Relaxed)
    }
}

/// Gives the result when it is dropped, so that the waiting task gets one in any case.
struct Giver {
    slot: Arc<Slot>,
    done: Option<Done>,
}

impl Drop for Giver {
    fn drop(&mut self) {
        let lost = Done {
            outcome: Err(Failure::Closed),
            sql: String::new(),
        };
        *self.slot.lock() = Some(self.done.take().unwrap_or(lost));
        self.slot.notice.notify_all();
    }
}

/// Begins something; gives the symbol `offloaded`.
pub(super) fn begin(
    thread: &mut Thread,
    database: &Arc<Database>,
    sql: String,
    work: impl FnOnce(&mut Connection, &mut dyn Watch, &mut Tape) -> Result<i64, Failure>
    + Send
    + 'static,
) -> Result<Value, Refusal> {
    let slot = database.offloaded.renew();
    let used = Arc::clone(database);
    let job = Box::new(move || {
        let mut giver = Giver {
            slot: Arc::clone(&slot),
            done: None,
        };
        let mut tape = Tape::default();
        let outcome = used.with(|connection| work(connection, &mut Helping(slot), &mut tape));
        let outcome = outcome.map(|changes| (changes, tape));
        giver.done = Some(Done { outcome, sql });
    });
    match thread.offload(job) {
        Ok(ticket) => {
            database.offloaded.ticket.store(ticket, Ordering::Relaxed);
            Ok(thread.symbol("offloaded"))
        }
        Err(error) => {
            let message = format!("the system has no thread for a statement: {error}");
            let kind = ConditionKind::System;
            Err(Refusal::Raised(thread.raise(kind, &message, &[], None)))
        }
    }
}
