//! The slow path of calls and loops: safepoints, interrupts, preemption, log hand-over and growth
//! of the stack.
//!
//! Another thread asks for attention by zeroing a thread's limit word or patching its `loop`
//! handler, so that fast paths test nothing else. This module, on the thread itself, resets both,
//! takes the bits of `interrupts` and serves them. At a safepoint all live values of Scheme are in
//! frames, so a collection may run; a request that raises does so before the interrupted
//! instruction, which is executed again.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use canny_heap::{Mutator, Roots};
use canny_tables::opcodes::Opcode;

use crate::control::condition::ConditionKind;
use crate::primitive::Raise;

use crate::thread::Thread;
use crate::thread::interrupt::{DEBUG, INTERRUPT, LOG, PREEMPT, PROFILE, QUIT};

impl Thread {
    /// Connects the boxed thread block with the heap.
    pub(crate) fn attach_to_heap(self: &mut Box<Thread>) {
        let area = NonNull::from(&mut self.area);
        let roots: NonNull<dyn Roots> = NonNull::from(&mut **self as &mut dyn Roots);
        let request = self.interrupts.clone();
        let heap = self.vm.heap.clone();
        // SAFETY: the block is boxed and drops the mutator first; it is used on this thread only.
        self.mutator = Some(unsafe { Mutator::attach(&heap, area, Some(roots), request) });
    }

    /// At a call or loop that took the slow path because of a request or a full stack. `Ok(Some(pc))`
    /// interrupts the instruction (first word before `self.pc`), which is executed again afterwards.
    pub(crate) fn poll(&mut self) -> Result<Option<*const u32>, Raise> {
        let asked = self.limit.load(Ordering::Relaxed) == 0
            || self.dispatch[Opcode::Loop as usize] == canny_llint::slow_stub(Opcode::Loop);
        if asked {
            self.reset_limit();
            let bits = self.interrupts.take();
            if bits & PROFILE != 0 || self.profile.has_samples() {
                self.read_samples();
            }
            self.meet_profiler();
            self.mutator().safepoint();
            if self.vm.specializer.take_collection_wish() {
                self.collect_garbage(true);
            }
            self.grant_wishes();
            if bits & DEBUG != 0 {
                self.meet_debugger();
            }
            if bits & QUIT != 0
                && let Some(exit) = self.exit_of_tasks()
            {
                return Err(self.leave(exit));
            }
            if bits & LOG != 0 {
                self.resume_log();
            }
            self.meet_heap_limit()?;
            let bits = self.with_order_of_accounts(bits);
            let deferred = bits & (INTERRUPT | PREEMPT);
            if self.tasks.critical > 0 {
                self.tasks.deferred |= deferred;
            } else if bits & PREEMPT != 0
                && bits & INTERRUPT == 0
                && self.tasks.current.is_true()
                && let Some(handler) = self.machine_procedure("%preempt-handler")
            {
                self.tasks.preempted_in_library = self.is_in_library();
                self.note_repetition();
                // SAFETY: slow stubs save pc behind the first word of the instruction.
                let resume = unsafe { self.pc.sub(1) };
                return Ok(Some(self.trap_call(resume, handler, &[])));
            } else if bits & INTERRUPT != 0
                && let Some(handler) = self.machine_procedure("%interrupt-handler")
            {
                self.note_repetition();
                // SAFETY: slow stubs save pc behind the first word of the instruction.
                let resume = unsafe { self.pc.sub(1) };
                return Ok(Some(self.trap_call(resume, handler, &[])));
            }
        }
        while self.fp as u64 > self.limit.load(Ordering::Relaxed).max(1) && self.stack_is_full(0) {
            if !self.borrows_reserve() {
                return Err(self.raise_stack_overflow());
            }
        }
        Ok(None)
    }

    /// Whether what runs is a procedure of the standard library.
    fn is_in_library(&self) -> bool {
        let frames = self.describe_frames(1);
        frames.first().is_none_or(|frame| frame.is_library)
    }

    /// Whether the preempt procedure was called in the middle of a procedure of the standard library.
    /// Asked once: other calls of that procedure are no interruptions.
    pub fn take_preempted_in_library(&mut self) -> bool {
        std::mem::take(&mut self.tasks.preempted_in_library)
    }

    /// Whether a frame of so many words does not fit above fp.
    pub(crate) fn stack_is_full(&self, words: usize) -> bool {
        let limit = self.stack.frame_words() + self.reserve.words;
        // SAFETY: fp lies on this stack.
        let used = unsafe { self.fp.offset_from(self.stack.base()) } as usize;
        used + words > limit
    }

    /// Opens a piece of the stack's reserve for a critical section, which is short, without a
    /// condition: raising there would leave locks held. Returns whether that was possible.
    pub(crate) fn borrows_reserve(&mut self) -> bool {
        let reserve_words = self.reserve.words + crate::VmStack::HANDLER_WORDS;
        if self.tasks.critical == 0 || reserve_words > self.stack.reserve_words() {
            return false;
        }
        self.reserve.borrowed_words += crate::VmStack::HANDLER_WORDS;
        self.reserve.words = reserve_words;
        self.reset_limit();
        self.reset_capture_limit();
        true
    }

    /// Gives back what critical sections have opened of the reserve. A thread that is still above the
    /// limit raises at the next call.
    pub(crate) fn return_borrowed_reserve(&mut self) {
        let borrowed = std::mem::take(&mut self.reserve.borrowed_words);
        if borrowed > 0 && self.reserve.words > 0 {
            self.reserve.words = self.reserve.words.saturating_sub(borrowed);
            self.reset_limit();
            self.reset_capture_limit();
        }
    }

    /// Opens a piece of the stack's reserve for the handler and raises. A handler that overflows its piece
    /// raises in turn, with another piece; a program that uses up all of them ends.
    pub(crate) fn raise_stack_overflow(&mut self) -> Raise {
        let reserve_words = self.reserve.words + crate::VmStack::HANDLER_WORDS;
        if reserve_words > self.stack.reserve_words() {
            return self.leave_on_overflow();
        }
        self.reserve.words = reserve_words;
        self.reset_limit();
        self.reset_capture_limit();
        self.raise_too_deep()
    }

    /// As [`Thread::raise_stack_overflow`], for frames that captures have moved to the heap.
    pub(crate) fn raise_sealed_overflow(&mut self, excess_words: usize) -> Raise {
        let reserve_words = excess_words + crate::VmStack::HANDLER_WORDS;
        if reserve_words > self.stack.reserve_words() {
            return self.leave_on_overflow();
        }
        self.reserve.sealed_words = reserve_words;
        self.reset_capture_limit();
        self.raise_too_deep()
    }

    fn leave_on_overflow(&mut self) -> Raise {
        eprintln!("canny: recursion too deep while handling an earlier stack overflow");
        self.leave(crate::Exit::Code(70))
    }

    fn raise_too_deep(&mut self) -> Raise {
        let bytes = 8 * self.stack.frame_words();
        let limit = self.integer(bytes as i64);
        self.raise(
            ConditionKind::Stack,
            "recursion is too deep: the stack limit is exceeded",
            &[limit],
            None,
        )
    }

    /// The stack was unwound below its limit: closes the reserve.
    pub(crate) fn close_reserve(&mut self) {
        if self.reserve.words > 0 {
            (self.reserve.words, self.reserve.borrowed_words) = (0, 0);
            self.reset_limit();
            self.reset_capture_limit();
        }
    }

    /// Lets captures look at the limits while a reserve is in use, and near the limit.
    pub(crate) fn reset_capture_limit(&mut self) {
        let is_plain = self.reserve.words == 0 && self.reserve.sealed_words == 0;
        self.capture_limit = if is_plain {
            8 * self.stack.frame_words()
        } else {
            0
        };
    }

    /// Waits until every other thread has come to a safepoint, if there are others.
    pub fn meet_threads(&mut self) {
        if self.has_others() {
            self.mutator().meet_at_safepoints();
        }
    }

    /// A safepoint inside a long-running primitive: lets a waiting collection run; true if an interrupt
    /// waits.
    pub fn safepoint(&mut self) -> bool {
        self.mutator().safepoint();
        self.interrupts.interrupt_waiting().load(Ordering::Relaxed)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.leave_profile();
        self.interrupts.disconnect();
        self.end_log();
        self.mutator = None;
    }
}
