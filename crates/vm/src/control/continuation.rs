//! Continuations: sealing the stack into the heap and bringing frames back.
//!
//! Capturing moves the frames on the stack into continuations, once, with dead registers cleared, so
//! that each object is an ordinary scannable one (see [`canny_tables::layout::continuation`]); the
//! stack is empty afterwards and rests on the newest. A deep stack becomes a chain of them, each with a
//! few frames. Returning below the oldest frame brings the frames of the newest one back, all of them,
//! so that nothing refers to that any more unless the program does: frames do not keep objects
//! alive that only returned frames held. Each frame is copied at most once out and once in per
//! capture, whatever the depth.
//!
//! The usual capture and the usual way back are handlers of the interpreter; cases that they leave
//! to the runtime, and everything that may raise, are here. Both do the same to the thread's
//! [`Sealed`]:
//!
//! - Its continuation has its whole slice left, or was just called, or was just escaped into.
//! - The return address of the oldest frame on the stack is the underflow's, or the exit's before the
//!   first capture; in a slice it is the true one.

use canny_tables::kinds::Kind;
use canny_tables::layout::continuation::{
    CODE, DEPTH, HANDLERS, PARAMETERS, PARENT, RESUME_PC, SLICE, WINDERS,
};
use canny_tables::layout::frame::{CLOSURE, LINK_WORDS, RETURN_PC};
use canny_tables::opcodes::Opcode;
use canny_value::{ObjectRef, Value};

use crate::frames::{FrameWalk, described, is_retired};
use crate::primitive::Raise;
use crate::runtime::{Next, Passed};
use crate::thread::{Sealed, Thread};

/// Words of a slice, at least, where there are more frames below: a few small frames.
const PART_WORDS: usize = 48;

/// Library procedure that runs winders and then calls a continuation or an escape procedure again.
const REWINDER: &str = "%rewind-and-call";

/// Bytes of all frames below a continuation's slice.
pub(crate) fn depth_of(continuation: ObjectRef) -> usize {
    continuation.field(DEPTH).bits() as usize
}

/// Registers of a frame below what it called: field a of the call instruction before a return address.
///
/// # Safety
/// `pc` is a return address.
pub(crate) unsafe fn call_base(pc: *const u32) -> usize {
    // SAFETY: a call instruction and its live map lie before the address.
    unsafe { *pc.cast::<u8>().sub(7) }.into()
}

impl Sealed {
    /// The continuation with the newest frames, and the number of words of its slice that are left.
    pub(crate) fn newest(&self) -> Option<(ObjectRef, usize)> {
        let object = self.continuation.as_kind(Kind::Closure)?;
        Some((object, (self.bytes - depth_of(object)) / 8))
    }

    /// The frames below the slice of a continuation whose oldest frame returns to `pc`.
    pub(crate) fn below(continuation: ObjectRef, pc: *const u32) -> Sealed {
        Sealed {
            continuation: continuation.field(PARENT),
            bytes: depth_of(continuation),
            pc,
        }
    }

    /// Everything that a continuation holds.
    pub(crate) fn all_of(continuation: ObjectRef) -> Sealed {
        Sealed {
            continuation: continuation.value(),
            bytes: depth_of(continuation) + 8 * (continuation.length() - SLICE),
            pc: continuation.field(RESUME_PC).bits() as *const u32,
        }
    }
}

/// A frame in a continuation.
pub(crate) struct SealedFrame {
    pub(crate) closure: Value,
    /// Where it resumes in the bytecode, or the instruction that it is in the middle of.
    pub(crate) pc: *const u32,
    /// The opcode of the descriptor that stands for it in compiled code.
    pub(crate) opcode: Option<Opcode>,
    /// Where it resumes; none if it is in the middle of an instruction.
    pub(crate) return_pc: Option<*const u32>,
    /// The continuation, and the field with the first register.
    pub(crate) object: ObjectRef,
    pub(crate) first_register: usize,
}

/// Frames that are sealed together: words of the stack from its base on.
struct Part {
    start: usize,
    end: usize,
    /// Where the newest of the frames resumes.
    pc: *const u32,
}

impl Thread {
    /// `capture-stub`: R0 is the receiver. Seals the frames below this one and gives the continuation.
    pub(crate) fn capture(&mut self) -> Result<Value, Raise> {
        let base = self.stack.base();
        // SAFETY: fp is a live frame of this stack; its link lies above everything to be sealed.
        let words = unsafe { self.fp.offset_from(base) } as usize - LINK_WORDS;
        if words == 0 {
            // Nothing was called since the last capture.
            return self.capture_nothing();
        }
        self.check_depth(self.sealed.bytes / 8 + words)?;
        let parts = self.parts_to_seal(words);
        let first = self.scratch.len();
        let sealed = self.seal(&parts, first);
        self.scratch.truncate(first);
        let continuation = sealed?;
        self.sealed = Sealed {
            continuation,
            bytes: self.sealed.bytes + 8 * words,
            pc: parts[0].pc,
        };
        self.move_frame_to_base();
        Ok(continuation)
    }

    /// The frames below the current one, `words` in all, as they will lie in slices, newest first.
    fn parts_to_seal(&self, words: usize) -> Vec<Part> {
        let base = self.stack.base();
        let mut walk = FrameWalk::new(self);
        walk.next();
        // SAFETY: fp is a live frame.
        let mut pc = unsafe { self.return_address(self.fp) };
        let (mut parts, mut end) = (Vec::new(), words);
        while let Some(step) = walk.next() {
            // SAFETY: the walk gives live frames of this stack.
            let start = unsafe { step.fp.offset_from(base) } as usize - LINK_WORDS;
            // Compiled code wants the frames that it inlined together with the one that they belong to,
            // and a trap frame comes along with the one that it interrupted.
            let is_apart = !step.is_trap && !is_retired(step.return_pc);
            if start == 0 || is_apart && end - start >= PART_WORDS {
                parts.push(Part { start, end, pc });
                (end, pc) = (start, step.return_pc);
            }
        }
        parts
    }

    /// Makes the continuations of all parts; gives the newest one. They are scratch roots from `first` on.
    fn seal(&mut self, parts: &[Part], first: usize) -> Result<Value, Raise> {
        for part in parts {
            let length = SLICE + part.end - part.start;
            let object = self.try_object(Kind::Closure, 0, length, Value::ZERO)?;
            self.scratch.push(object);
        }
        // Nothing is collected from here on.
        for (index, part) in parts.iter().enumerate() {
            let object = self.scratch[first + index];
            let older = self.scratch.get(first + index + 1);
            let parent = older.copied().unwrap_or(self.sealed.continuation);
            let below = Sealed {
                continuation: parent,
                bytes: self.sealed.bytes + 8 * part.start,
                pc: part.pc,
            };
            // Only the newest one can be called.
            let is_newest = index == 0;
            self.describe_continuation(object, below, is_newest);
        }
        self.copy_live_words(parts, first);
        Ok(self.scratch[first])
    }

    /// A continuation for the frames that the stack rests on: the same if it is as it was captured.
    fn capture_nothing(&mut self) -> Result<Value, Raise> {
        let sealed = self.sealed;
        if let Some((object, words)) = sealed.newest()
            && words == object.length() - SLICE
            && object.field(WINDERS) == self.dynamic.winders
            && object.field(HANDLERS) == self.dynamic.handlers
            && object.field(PARAMETERS) == self.dynamic.parameters
        {
            return Ok(sealed.continuation);
        }
        let object = self.object(Kind::Closure, 0, SLICE, Value::ZERO);
        self.describe_continuation(object, self.sealed, true);
        Ok(object)
    }

    /// Fills in what stands before the slice of a new continuation that rests on `below`, whose newest
    /// frame resumes at the address in that. Those that nobody can call keep no dynamic state alive.
    fn describe_continuation(&mut self, object: Value, below: Sealed, can_be_called: bool) {
        self.store(object, CODE, self.continuation_code);
        let dynamic = self.dynamic;
        for (index, value) in [
            (WINDERS, dynamic.winders),
            (HANDLERS, dynamic.handlers),
            (PARAMETERS, dynamic.parameters),
        ] {
            let value = if can_be_called { value } else { Value::FALSE };
            self.store(object, index, value);
        }
        self.store(object, PARENT, below.continuation);
        self.store(object, DEPTH, Value::from_aligned_address(below.bytes));
        let resume = Value::from_aligned_address(below.pc as usize);
        self.store(object, RESUME_PC, resume);
    }

    /// Frames count towards the stack's limit wherever they are: a recursion that captures at every
    /// step would else fill the heap.
    pub(crate) fn check_depth(&mut self, words: usize) -> Result<(), Raise> {
        let excess_words = words.saturating_sub(self.stack.frame_words());
        // A handler that captures takes what it has of the reserve along.
        self.reserve.sealed_words = self.reserve.sealed_words.max(self.reserve.words);
        if excess_words == 0 {
            self.reserve.sealed_words = 0;
        } else if excess_words > self.reserve.sealed_words {
            return Err(self.raise_sealed_overflow(excess_words));
        }
        self.reset_capture_limit();
        Ok(())
    }

    /// The return address of a frame, which may have the barrier in its place.
    ///
    /// # Safety
    /// The frame is live.
    pub(crate) unsafe fn return_address(&self, fp: *mut Value) -> *const u32 {
        // SAFETY: a live frame has its link.
        let pc = unsafe { (*fp.offset(RETURN_PC as isize)).bits() as *const u32 };
        if pc == self.vm.stubs.barrier() {
            self.watermark.return_pc
        } else {
            pc
        }
    }

    /// Copies link words and live registers of every frame below the current one into the slices, which
    /// are scratch roots from `first` on; their other words stay zero.
    fn copy_live_words(&mut self, parts: &[Part], first: usize) {
        let base = self.stack.base();
        let mut walk = FrameWalk::new(self);
        // The current frame itself is not part of a slice.
        walk.next();
        let mut index = 0;
        while let Some(step) = walk.next() {
            // SAFETY: the walk gives live frames of this stack.
            unsafe {
                let place = step.fp.offset_from(base) as usize;
                while place < parts[index].start + LINK_WORDS {
                    index += 1;
                }
                let object = self.scratch[first + index];
                let at = SLICE + place - parts[index].start;
                let return_pc = if place == LINK_WORDS {
                    self.sealed.pc
                } else {
                    self.return_address(step.fp)
                };
                let return_pc = Value::from_aligned_address(return_pc as usize);
                self.store(object, at - 2, *step.fp.offset(CLOSURE as isize));
                self.store(object, at - 1, return_pc);
                if step.is_trap {
                    self.store(object, at, *step.fp);
                }
                step.live
                    .each(|register| self.store(object, at + register, *step.fp.add(register)));
            }
        }
    }

    /// Moves the current frame (link and arguments) to the base of the emptied stack.
    fn move_frame_to_base(&mut self) {
        let base = self.stack.base();
        let arguments = self.argument_count as usize;
        // SAFETY: both ranges lie on this stack; `copy` allows them to overlap.
        unsafe {
            let closure = *self.fp.offset(CLOSURE as isize);
            let fp = base.add(LINK_WORDS);
            std::ptr::copy(self.fp, fp, arguments);
            *fp.offset(CLOSURE as isize) = closure;
            *fp.offset(RETURN_PC as isize) =
                Value::from_aligned_address(self.vm.stubs.underflow() as usize);
            self.fp = fp;
        }
        self.watermark.fp = std::ptr::null_mut();
        self.close_reserve();
    }

    /// `continue-stub` where no winders are to be run: replaces every frame by those of a continuation,
    /// restores the dynamic state and returns `value`.
    pub(crate) fn continue_with(&mut self, continuation: ObjectRef, value: Value) -> *const u32 {
        self.dynamic.handlers = continuation.field(HANDLERS);
        self.dynamic.parameters = continuation.field(PARAMETERS);
        self.return_to(Sealed::all_of(continuation), value)
    }

    /// `throw-stub`: replaces every frame by those of a continuation and returns `value`.
    pub(crate) fn throw(&mut self, continuation: Value, value: Value) -> Next {
        match self.sealed_of(continuation) {
            Some(sealed) => Ok(self.return_to(sealed, value)),
            None => Err(self.raise_type("%throw", 1, "continuation", continuation)),
        }
    }

    /// Drops the stack and returns a value to sealed frames.
    pub(crate) fn return_to(&mut self, sealed: Sealed, value: Value) -> *const u32 {
        self.sealed = sealed;
        self.watermark.fp = std::ptr::null_mut();
        self.close_reserve();
        self.note_other_frames();
        self.return_to_sealed(value)
    }

    /// Calls the library, in place of the current frame, to run winders and then to call the closure of
    /// this frame again with the value.
    pub(crate) fn rewind_and_call(&mut self, value: Value) -> Next {
        let rewinder = match self.vm.shared_roots.named(REWINDER) {
            Some(rewinder) => rewinder,
            None => {
                let rewinder = self
                    .machine_procedure(REWINDER)
                    .expect("who has winders has the library");
                self.vm.shared_roots.set_named(REWINDER, rewinder);
                rewinder
            }
        };
        let target = self.check_callee(rewinder, 3, Passed::Unmade)?;
        self.check_stack(target, 3)?;
        // SAFETY: the current frame is live and there is room for three registers.
        unsafe {
            let closure = Thread::closure_of(self.fp);
            let winders = closure
                .as_object()
                .map_or(Value::NIL, |object| object.field(WINDERS));
            *self.fp = winders;
            *self.fp.add(1) = closure;
            *self.fp.add(2) = value;
        }
        self.enter_in_place(rewinder, 3)
    }

    /// The arguments of the current frame, which takes any number, as one value.
    pub(crate) fn arguments_as_values(&mut self) -> Result<Value, Raise> {
        let count = self.argument_count as usize;
        if count == 1 {
            // SAFETY: the frame has so many arguments.
            return Ok(unsafe { *self.fp });
        }
        let object = self.try_object(Kind::Values, 0, count, Value::UNSPECIFIED)?;
        for index in 0..count {
            // SAFETY: as above.
            let argument = unsafe { *self.fp.add(index) };
            self.store(object, index, argument);
        }
        Ok(object)
    }

    /// The stack is empty: brings back the newest sealed frames, as many as are in one slice, and
    /// returns `value` to them.
    pub(crate) fn return_to_sealed(&mut self, value: Value) -> *const u32 {
        let (object, words) = loop {
            match self.sealed.newest() {
                None => return self.leave_with(value),
                // A continuation without frames of its own.
                Some((object, 0)) => self.sealed.continuation = object.field(PARENT),
                Some(newest) => break newest,
            }
        };
        let resume = self.sealed.pc;
        let base = self.stack.base();
        assert!(SLICE + words <= object.length());
        // SAFETY: the words lie in the object, and the slice fitted the stack when it was captured.
        unsafe {
            let slice = object.slot_address(SLICE) as *const Value;
            base.copy_from_nonoverlapping(slice, words);
        }
        // SAFETY: the oldest frame begins with its link at the base. The newest frame's registers begin
        // as far below the end as the call instruction's field a says; the value goes behind them,
        // where the call wants it.
        unsafe {
            let below = (*base.add(1)).bits() as *const u32;
            self.sealed = Sealed::below(object, below);
            *base.add(1) = Value::from_aligned_address(self.vm.stubs.underflow() as usize);
            self.fp = base.add(words - call_base(resume));
            *base.add(words) = value;
        }
        resume
    }

    /// Returns the frames of a continuation, if the value is one of a program's.
    pub(crate) fn sealed_of(&self, continuation: Value) -> Option<Sealed> {
        let object = continuation.as_kind(Kind::Closure)?;
        (object.field(CODE) == self.continuation_code).then(|| Sealed::all_of(object))
    }

    /// Calls `visit` with closure and pc of each sealed frame, newest first, until it says no. The pc is in
    /// bytecode; with it comes the opcode of the descriptor that stands for it in compiled code.
    pub(crate) fn each_sealed_frame(
        &self,
        sealed: Sealed,
        visit: &mut dyn FnMut(Value, *const u32, Option<Opcode>) -> bool,
    ) {
        self.each_sealed(sealed, &mut |frame| {
            visit(frame.closure, frame.pc, frame.opcode)
        });
    }

    /// The same with the registers.
    pub(crate) fn each_sealed(
        &self,
        mut sealed: Sealed,
        visit: &mut dyn FnMut(&SealedFrame) -> bool,
    ) {
        let trap = self.vm.stubs.trap();
        while let Some((object, count)) = sealed.newest() {
            let slice = |index: usize| object.field(SLICE + index);
            let (mut end, mut pc) = (count, sealed.pc);
            while end > 0 {
                // SAFETY: `pc` is a return address.
                let mut fp = end - unsafe { call_base(pc) };
                let is_trap = pc == trap;
                if is_trap {
                    // The interrupted frame is in the middle of the instruction where it will resume.
                    // SAFETY: an instruction is at least one word long.
                    pc = unsafe { (slice(fp - 1).bits() as *const u32).add(1) };
                    fp -= slice(fp).as_index().unwrap_or(0);
                }
                // Behind the first word of an instruction stands no opcode.
                let (bytecode, opcode) = if is_trap { (pc, None) } else { described(pc) };
                let frame = SealedFrame {
                    closure: slice(fp - LINK_WORDS),
                    pc: bytecode,
                    opcode,
                    return_pc: (!is_trap).then_some(pc),
                    object,
                    first_register: SLICE + fp,
                };
                if !visit(&frame) {
                    return;
                }
                end = fp - LINK_WORDS;
                pc = slice(fp - 1).bits() as *const u32;
            }
            sealed = Sealed::below(object, pc);
        }
    }

    fn leave_with(&mut self, value: Value) -> *const u32 {
        self.result = value.bits();
        self.fp = self.stack.base();
        std::ptr::null()
    }

    /// Puts the return barrier in place of the return address of the frame at `fp`.
    pub(crate) fn place_barrier(&mut self, fp: *mut Value) {
        self.remove_barrier();
        // SAFETY: the walk found the frame live; its return address is an ordinary one.
        unsafe {
            let slot = fp.offset(RETURN_PC as isize);
            self.watermark.return_pc = (*slot).bits() as *const u32;
            self.watermark.fp = fp;
            *slot = Value::from_aligned_address(self.vm.stubs.barrier() as usize);
        }
    }

    /// Takes the return barrier away, if there is one on the stack.
    pub(crate) fn remove_barrier(&mut self) {
        let fp = self.watermark.fp;
        if fp.is_null() {
            return;
        }
        // SAFETY: the watermark names a live frame until its barrier was met, which clears it.
        unsafe {
            *fp.offset(RETURN_PC as isize) =
                Value::from_aligned_address(self.watermark.return_pc as usize);
        }
        self.watermark.fp = std::ptr::null_mut();
    }

    /// `return-barrier`: the frame above the watermark returned; the stub's call instruction says a =
    /// 0, so fp is the frame's closure word, which holds the value.
    pub(crate) fn return_through_barrier(&mut self) -> *const u32 {
        let pc = self.watermark.return_pc;
        self.watermark.fp = std::ptr::null_mut();
        // SAFETY: `pc` is a return address.
        let base = unsafe { call_base(pc) };
        // SAFETY: the caller's frame begins so many words below the callee's closure word.
        self.fp = unsafe { self.fp.sub(base) };
        pc
    }
}
