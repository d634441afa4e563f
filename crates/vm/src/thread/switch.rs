//! Switching between tasks: a thread drops what it runs and continues with something else.
//!
//! A task that is to continue later has captured its continuation first, so that dropping its frames
//! loses nothing. State that belongs to a task and not to the thread it runs on is in its
//! continuation: frames, winders, handlers, parameters. The thread keeps the default ports, which
//! all tasks share, and the reserves of its stack, which are closed.
//!
//! *Critical sections* are pieces of library code in which the thread must not be given to another
//! task, since they hold a lock or are in the middle of a switch. Requests that come meanwhile wait
//! until the last one is left.

use canny_tables::layout::continuation::{HANDLERS, PARAMETERS, WINDERS};
use canny_tables::layout::{code, frame};
use canny_value::Value;

use crate::code::CodeRef;
use crate::primitive::Raise;
use crate::thread::Thread;
use crate::thread::interrupt::{HEAP, PREEMPT};

impl Thread {
    /// The task that runs; `#f` while there is none.
    pub fn current_task(&self) -> Value {
        self.tasks.current
    }

    /// Changes it.
    pub fn set_current_task(&mut self, task: Value) {
        self.profile_task(task);
        let before = std::mem::replace(&mut self.tasks.current, task);
        self.use_account_of(task);
        if self.vm.debugger.is_on() {
            self.debug_leave_task(before);
            self.meet_debugger();
        }
    }

    /// Begins a critical section.
    pub fn enter_critical(&mut self) {
        self.tasks.critical += 1;
    }

    /// Ends one, and repeats the requests that came meanwhile.
    pub fn leave_critical(&mut self) {
        self.tasks.critical = self.tasks.critical.saturating_sub(1);
        if self.tasks.critical == 0 {
            if self.reserve.borrowed_words > 0 {
                self.return_borrowed_reserve();
            }
            let deferred = std::mem::take(&mut self.tasks.deferred);
            if deferred != 0 {
                self.interrupts.notify(deferred);
            }
        }
    }

    /// Whether a section can be ended without anything else to be done.
    pub(crate) fn leaves_critical_quietly(&self) -> bool {
        self.tasks.deferred == 0 && self.reserve.borrowed_words == 0
    }

    /// Ends them all, since another task begins: the task that wanted that has got it, and an account
    /// that has used up the heap is notified again if it continues.
    fn end_critical(&mut self) {
        self.tasks.critical = 0;
        self.return_borrowed_reserve();
        self.interrupts.forget(PREEMPT);
        let deferred = std::mem::take(&mut self.tasks.deferred) & !(PREEMPT | HEAP);
        if deferred != 0 {
            self.interrupts.notify(deferred);
        }
    }

    /// Whether the thread is in a critical section.
    pub fn is_critical(&self) -> bool {
        self.tasks.critical > 0
    }

    /// In place of a primitive's result: drops every frame and continues with a continuation, to which
    /// the value is returned, in the dynamic state in which it was captured. No winders are run.
    pub fn switch_to(&mut self, continuation: Value, value: Value) -> Raise {
        let Some((sealed, (object, _))) = self
            .sealed_of(continuation)
            .and_then(|sealed| Some((sealed, sealed.newest()?)))
        else {
            return self.raise_type("%switch", 1, "continuation", continuation);
        };
        self.dynamic.winders = object.field(WINDERS);
        self.dynamic.handlers = object.field(HANDLERS);
        self.dynamic.parameters = object.field(PARAMETERS);
        self.end_critical();
        let pc = self.return_to(sealed, value);
        self.tasks.switch = Some(pc);
        Raise(())
    }

    /// In place of a primitive's result: drops every frame and calls a closure without arguments, with
    /// no handlers, no winders and these parameters. When it returns, the machine is left.
    pub fn switch_to_call(&mut self, procedure: Value, parameters: Value) -> Raise {
        let Some(target) = CodeRef::of_closure(procedure) else {
            return self.raise_type("%switch", 1, "procedure", procedure);
        };
        debug_assert!(target.arity() == 0 || target.arity() == code::VARIADIC);
        self.forget_frames();
        self.dynamic.parameters = parameters;
        self.end_critical();
        self.begin_log();
        let base = self.stack.base();
        // SAFETY: the stack is empty and has room for a link.
        unsafe {
            *base = procedure;
            *base.add(1) = Value::from_aligned_address(self.vm.stubs.exit() as usize);
            self.fp = base.add(frame::LINK_WORDS);
        }
        self.argument_count = 0;
        self.tasks.switch = Some(target.entry());
        Raise(())
    }
}
