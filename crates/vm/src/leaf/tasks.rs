//! Leaf functions of tasks: they lock and unlock records, claim waiters and make them ready, if
//! there is nothing to wait for and no request came meanwhile. They decline everything else before
//! they have changed anything.

use canny_tables::kinds::Kind;
use canny_tables::protocols::{LOCK_WORD, waiter};
use canny_value::Value;

use super::InPlace;

/// Whether a value is a record that has a first field.
fn has_flag(record: Value) -> bool {
    record
        .as_kind(Kind::Record)
        .is_some_and(|record| record.length() > LOCK_WORD)
}

impl InPlace {
    /// Locks a record and enters a critical section, if the record is free.
    #[inline]
    pub fn lock_record(&mut self, record: Value) -> bool {
        let is_locked = has_flag(record) && self.0.mutator().raise_flag(record, LOCK_WORD);
        if is_locked {
            self.0.enter_critical();
        }
        is_locked
    }

    /// Unlocks a record and leaves the section, if nothing was asked for in it.
    #[inline]
    pub fn unlock_record(&mut self, record: Value) -> bool {
        let is_quiet = has_flag(record) && self.0.leaves_critical_quietly();
        if is_quiet {
            self.0.mutator().lower_flag(record, LOCK_WORD);
            self.0.leave_critical();
        }
        is_quiet
    }

    /// Begins a critical section.
    #[inline]
    pub fn enter_critical(&mut self) {
        self.0.enter_critical();
    }

    /// Ends one, if nothing was asked for in it.
    #[inline]
    pub fn leave_critical(&mut self) -> bool {
        let is_quiet = self.0.leaves_critical_quietly();
        if is_quiet {
            self.0.leave_critical();
        }
        is_quiet
    }

    /// Whether this call changed the flag of a waiter from `#f` to `#t`. None for a value without a
    /// flag.
    #[inline]
    pub fn claim(&mut self, waiter: Value) -> Option<bool> {
        has_flag(waiter).then(|| self.0.mutator().raise_flag(waiter, waiter::STATE))
    }

    /// The task that runs.
    #[inline]
    pub fn current_task(&self) -> Value {
        self.0.current_task()
    }

    /// Changes the task that runs.
    #[inline]
    pub fn set_current_task(&mut self, task: Value) {
        self.0.set_current_task(task);
    }

    /// Hands a waiter that was claimed to the workers; whether it is one. Not under a debugger, which
    /// looks at the frames.
    #[inline]
    pub fn make_ready(&mut self, waiter: Value, behind: bool) -> bool {
        !self.0.vm.debugger.notes_wakes() && self.0.try_make_ready(waiter, behind)
    }
}
