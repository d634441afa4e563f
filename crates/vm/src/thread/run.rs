//! Entering the interpreter from Rust.

use canny_tables::layout::code;
use canny_value::Value;

use crate::code::CodeRef;
use crate::thread::{Exit, Sealed, Thread};

impl Thread {
    /// Calls a procedure with no arguments on the empty stack and runs until it returns or the machine
    /// is left.
    ///
    /// Not to be called while the thread runs: no Rust frame stands between two Scheme frames.
    pub fn run(&mut self, procedure: Value) -> Result<Value, Exit> {
        let Some(target) = CodeRef::of_closure(procedure) else {
            return Ok(Value::UNSPECIFIED);
        };
        debug_assert!(target.arity() == 0 || target.arity() == code::VARIADIC);
        self.reset_stack();
        let base = self.stack.base();
        // SAFETY: the stack is empty and has room for a link.
        unsafe {
            *base = procedure;
            *base.add(1) = Value::from_aligned_address(self.vm.stubs.exit() as usize);
            self.fp = base.add(2);
        }
        self.argument_count = 0;
        let is_library = self
            .vm
            .metadata(target)
            .is_some_and(|(unit, _)| unit.is_library);
        if !is_library {
            self.begin_log();
        }
        self.exit = None;
        let thread: *mut Thread = self;
        // SAFETY: the entry of verified code with its frame at the base of this thread's stack; the block's
        // tables are complete. The thread is reached through this pointer alone until it returns.
        let result = unsafe {
            canny_llint::enter(
                target.entry(),
                (*thread).fp.cast(),
                thread.cast(),
                (*thread).table,
            )
        };
        let exit = self.exit.take();
        // SAFETY: the interpreter's result is a word of the machine; the native stack keeps it alive.
        let value = unsafe { Value::from_bits(result) };
        self.pc = std::ptr::null();
        match exit {
            Some(exit) => Err(exit),
            None => Ok(value),
        }
    }

    /// Forgets every frame and the dynamic state but for the default ports.
    fn reset_stack(&mut self) {
        self.forget_frames();
        self.dynamic.parameters = Value::NIL;
        self.pending = Value::FALSE;
        self.scratch.clear();
    }

    /// Forgets every frame, the winders and the handlers.
    pub(crate) fn forget_frames(&mut self) {
        self.sealed = Sealed {
            continuation: Value::FALSE,
            bytes: 0,
            pc: self.vm.stubs.exit(),
        };
        self.watermark.fp = std::ptr::null_mut();
        self.dynamic.winders = Value::NIL;
        self.dynamic.handlers = Value::NIL;
        self.close_reserve();
        self.fp = self.stack.base();
    }
}
