//! Offloads long computations to another system thread, while the program's thread waits outside of the heap.
//!
//! A product of large integers, or a digest of a gigabyte, cannot be stopped in the middle. So another
//! system thread computes it, on values of Rust's own, and the thread of the program waits outside of
//! the heap: collections continue, other tasks get a thread once they have waited for a slice, and an
//! interrupt or the end of the task ends the wait. An abandoned computation runs to its end, and
//! the result is dropped.
//!
//! A task that runs on the main thread is parked instead, and calls the primitive again when the result
//! is there.

use std::any::{Any, TypeId};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{Builder, Result as Outcome};
use std::time::{Duration, Instant};

use canny_locks::{Condvar, Mutex, MutexGuard};
use canny_profile::model::WaitKind;
use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_NEGATIVE;
use canny_tables::protocols::task;
use canny_value::Value;

use crate::control::condition::ConditionKind;
use crate::primitive::Raise;
use crate::thread::Thread;
use crate::thread::interrupt::InterruptState;

/// So often who waits looks whether somebody wants something.
const LOOK: Duration = Duration::from_millis(10);

/// Name of the root with the procedure that raises what is to end the current task, if there is such a thing.
const CHECK: &str = "raise what ends the task";

/// Where the result is put.
struct Slot<R> {
    outcome: Mutex<Option<Outcome<R>>>,
    done: Condvar,
}

impl<R> Slot<R> {
    fn new() -> Arc<Slot<R>> {
        Arc::new(Slot {
            outcome: Mutex::new(None),
            done: Condvar::new(),
        })
    }

    /// Does the work and puts the result there.
    fn fill(&self, work: impl FnOnce() -> R) {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        *self.lock() = Some(outcome);
        self.done.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Outcome<R>>> {
        self.outcome.lock()
    }

    /// Waits for the result, or until somebody wants something of the thread that waits.
    fn wait(&self, interrupts: &InterruptState) -> Option<Outcome<R>> {
        let mut outcome = self.lock();
        loop {
            if outcome.is_some() || interrupts.asks_for_attention() {
                return outcome.take();
            }
            (outcome, _) = self.done.wait_timeout(outcome, LOOK);
        }
    }
}

type Anything = Box<dyn Any + Send>;

/// Names an operation of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ComputationId {
    /// The task's number.
    task: i64,
    /// Tells operations and their arguments apart.
    key: u64,
}

/// A computation of a task that is parked.
struct Parked {
    id: ComputationId,
    slot: Arc<Slot<Anything>>,
    /// When it was seen that it has ended.
    ended: Option<Instant>,
}

/// Computations of tasks that are parked. An entry goes when the operation is repeated and takes
/// the result.
#[derive(Default)]
pub(crate) struct ParkedComputations(Mutex<Vec<Parked>>);

/// A result that nobody has taken for so long belongs to a task that was cancelled.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);

impl ParkedComputations {
    fn lock(&self) -> MutexGuard<'_, Vec<Parked>> {
        self.0.lock()
    }

    /// Takes the entry of a task for an operation. All others of the task were abandoned.
    fn take(&self, id: ComputationId) -> Option<Arc<Slot<Anything>>> {
        let mut entries = self.lock();
        let index = entries.iter().position(|entry| entry.id == id);
        let found = index.map(|index| entries.swap_remove(index).slot);
        entries.retain_mut(|entry| {
            if entry.ended.is_none() && entry.slot.lock().is_some() {
                entry.ended = Some(Instant::now());
            }
            let is_old = |ended: Instant| ended.elapsed() > FORGOTTEN_AFTER;
            entry.id.task != id.task && !entry.ended.is_some_and(is_old)
        });
        found
    }

    fn put(&self, id: ComputationId, slot: Arc<Slot<Anything>>) {
        self.lock().push(Parked {
            id,
            slot,
            ended: None,
        });
    }
}

/// Hashes an operation and its arguments. The content of an argument counts if it is a number, a
/// name, a string or bytes.
fn key_of<R: 'static>(who: &str, arguments: &[Value]) -> u64 {
    fn add(value: Value, hasher: &mut DefaultHasher) {
        let Some(object) = value.as_object() else {
            return value.bits().hash(hasher);
        };
        let kind = object.kind();
        kind.row().name.hash(hasher);
        match kind {
            Kind::Bignum => {
                hasher.write_u8(u8::from(object.has_flag(FLAG_NEGATIVE)));
                object.with_limbs(|limbs| limbs.hash(hasher));
            }
            Kind::Bytevector | Kind::String8 | Kind::String32 | Kind::Flonum => {
                object.with_bytes(|bytes| bytes.hash(hasher));
            }
            Kind::Ratnum | Kind::Compnum | Kind::String => {
                add(object.field(0), hasher);
                add(object.field(1), hasher);
            }
            // The algorithm or format, for example.
            Kind::Symbol | Kind::Keyword => add(object.field(0), hasher),
            _ => {}
        }
    }
    let mut hasher = DefaultHasher::new();
    TypeId::of::<R>().hash(&mut hasher);
    who.hash(&mut hasher);
    for argument in arguments {
        add(*argument, &mut hasher);
    }
    hasher.finish()
}

impl Thread {
    /// Sets the procedure that raises, in the current task, the condition that is to end it. It has
    /// one parameter, which is of no use.
    pub fn set_check(&mut self, check: Value) {
        self.vm.set_root(CHECK, check);
    }

    /// Has another system thread do work that takes long and cannot look for interrupts itself, and
    /// waits for the result. It is an error if an interrupt comes or the task is to end, but in a
    /// critical section. The work depends on the primitive's arguments only, which are read at
    /// once; the error may be that the primitive is to be called again.
    pub fn compute_offloaded<R: Send + 'static>(
        &mut self,
        who: &str,
        arguments: &[Value],
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Raise> {
        if self.is_guest_of_main()
            && !self.is_critical()
            && let Some(task) = self.task_number()
            && let Some(tasks) = self.vm.tasks.get().cloned()
        {
            let key = key_of::<R>(who, arguments);
            return self.compute_parked(
                who,
                &tasks.computations,
                ComputationId { task, key },
                work,
            );
        }
        let slot = Slot::new();
        // The system may have no thread for it.
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<_>>| {
            let mut work = work.lock();
            work.take()
        };
        let (theirs, taken) = (Arc::clone(&slot), Arc::clone(&work));
        let compute = move || {
            if let Some(work) = take(&taken) {
                theirs.fill(work);
            }
        };
        match Builder::new().name("canny-offload".into()).spawn(compute) {
            Ok(_) => {}
            Err(_) => {
                let work = take(&work);
                self.outside_heap(|| work.map(|work| slot.fill(work)));
            }
        }
        self.wait_for_slot(who, &slot)
    }

    /// The number of the current task, if there is one.
    pub fn task_number(&self) -> Option<i64> {
        let record = self.tasks.current.as_kind(Kind::Record)?;
        let number = (record.length() > task::NUMBER).then(|| record.field(task::NUMBER))?;
        number.as_fixnum()
    }

    /// The same for a task on the main thread, whose program can continue nowhere else: the task is
    /// parked meanwhile.
    fn compute_parked<R: Send + 'static>(
        &mut self,
        who: &str,
        computations: &ParkedComputations,
        id: ComputationId,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Raise> {
        if let Some(slot) = computations.take(id) {
            let result = self.wait_for_slot(who, &slot)?;
            let result = result.downcast::<R>();
            return Ok(*result.expect("the key tells types apart"));
        }
        let slot = Slot::new();
        let theirs = Arc::clone(&slot);
        let job = Box::new(move || theirs.fill(move || Box::new(work()) as Anything));
        match self.offload(job) {
            Ok(ticket) => {
                computations.put(id, slot);
                self.note_operation(WaitKind::Pool, Some(who));
                Err(self.repeat_after_ticket(ticket))
            }
            Err(error) => {
                let message = format!("the system has no thread for a long operation: {error}");
                Err(self.raise(ConditionKind::System, &message, &[], Some(who)))
            }
        }
    }

    fn wait_for_slot<R>(&mut self, who: &str, slot: &Slot<R>) -> Result<R, Raise> {
        let nobody = InterruptState::default();
        let mut others_wait = false;
        loop {
            let interrupts = self.interrupts();
            // Raising in a critical section would leave locks held.
            let watched = if self.is_critical() {
                &nobody
            } else {
                &*interrupts
            };
            let wait = || slot.wait(watched);
            let outcome = if others_wait {
                self.block_outside_heap(wait)
            } else {
                self.outside_heap(wait)
            };
            match outcome {
                Some(Ok(result)) => return Ok(result),
                Some(Err(panic)) => resume_unwind(panic),
                None => {}
            }
            others_wait |= interrupts.take_preemption();
            self.look_up(who)?;
        }
    }

    /// A safepoint inside a long-running primitive that can raise: an interrupt, or the end of the task.
    pub fn look_up(&mut self, who: &str) -> Result<(), Raise> {
        let is_interrupted = self.safepoint();
        if self.is_critical() {
            return Ok(());
        }
        if is_interrupted {
            self.interrupts.take_interrupt();
            return Err(self.raise(ConditionKind::Interrupt, "interrupted", &[], Some(who)));
        }
        if self.is_to_end()
            && let Some(check) = self.vm.root(CHECK)
        {
            return Err(self.repeat_after(check, 0));
        }
        Ok(())
    }

    /// Whether the current task is forced to end, or what it computes is.
    fn is_to_end(&mut self) -> bool {
        let forced = self.symbol("forced");
        let record = self.tasks.current.as_kind(Kind::Record);
        record.is_some_and(|record| {
            record.length() > task::INTERRUPTIONS
                && (record.field(task::INTERRUPTIONS).as_pair().is_some()
                    || record.field(task::CANCELLED) == forced)
        })
    }
}
