//! Continuations: sealing the stack into the heap and bringing frames back.
//!
//! Capturing moves the frames on the stack into a continuation object, once, with dead registers cleared,
//! so that the object is an ordinary scannable one; the stack is empty afterwards and rests on the
//! object. Returning below the oldest frame brings the newest frame (or few frames) of the slice
//! back. Each frame is copied at most once out and once in per capture, whatever the depth.

use canny_tables::kinds::Kind;
use canny_tables::layout::frame::{CLOSURE, LINK_WORDS, RETURN_PC};
use canny_value::Value;

use crate::frames::{FrameWalk, is_retired};
use crate::primitive::Raise;
use crate::thread::{Below, Thread};

/// Payload words of a continuation before its slice.
const PARENT: usize = 0;
const PARENT_WORDS: usize = 1;
const PARENT_PC: usize = 2;
const RESUME_PC: usize = 3;
/// Words of all sealed frames below the slice.
const DEPTH_WORDS: usize = 4;
const SLICE: usize = 5;

/// Words that are brought back at once, at least: a few small frames.
const CHUNK_WORDS: usize = 48;

impl Thread {
    /// `capture-stub`: R0 is the receiver. Seals the frames below this one and gives the continuation.
    pub(crate) fn capture(&mut self) -> Result<Value, Raise> {
        self.leave_used_slices();
        let base = self.stack.base();
        // SAFETY: fp is a live frame of this stack; its link lies above everything to be sealed.
        let words = unsafe { self.fp.offset_from(base) } as usize - LINK_WORDS;
        // SAFETY: as above.
        let mut resume = unsafe { (*self.fp.offset(RETURN_PC as isize)).bits() as *const u32 };
        if resume == self.vm.stubs.barrier() {
            resume = self.watermark.pc;
        }
        if words == 0 {
            // Nothing was called since the last capture: the continuation is the one below.
            return self.continuation_below();
        }
        let below_words = self.sealed_words();
        self.check_depth(below_words + words)?;
        let object = self.try_object(Kind::Continuation, 0, SLICE + words, Value::ZERO)?;
        self.store(object, PARENT, self.below.continuation);
        self.store(object, PARENT_WORDS, Value::fixnum(self.below.words as i64));
        self.store(
            object,
            PARENT_PC,
            Value::from_aligned_address(self.below.pc as usize),
        );
        self.store(
            object,
            RESUME_PC,
            Value::from_aligned_address(resume as usize),
        );
        self.store(object, DEPTH_WORDS, Value::fixnum(below_words as i64));
        self.copy_live_words(object, words);
        self.below = Below {
            continuation: object,
            words,
            pc: resume,
        };
        self.move_frame_to_base();
        Ok(object)
    }

    /// A slice of which all frames were brought back would only lengthen the way down: a loop that captures at each
    /// round would keep the slices of all rounds alive.
    fn leave_used_slices(&mut self) {
        while self.below.words == 0
            && let Some(object) = self.below.continuation.as_kind(Kind::Continuation)
            && object.length() > SLICE
        {
            self.below = parent_of(object);
        }
    }

    /// Words of the frames that the stack rests on.
    fn sealed_words(&self) -> usize {
        match self.below.continuation.as_kind(Kind::Continuation) {
            Some(object) => object.field(DEPTH_WORDS).as_index().unwrap_or(0) + self.below.words,
            None => 0,
        }
    }

    /// Frames count towards the stack's limit wherever they are: a recursion that captures at every
    /// step would else fill the heap.
    fn check_depth(&mut self, words: usize) -> Result<(), Raise> {
        let excess_words = words.saturating_sub(self.stack.frame_words());
        // A handler that captures takes what it has of the reserve along.
        self.sealed_reserve_words = self.sealed_reserve_words.max(self.reserve_words);
        if excess_words == 0 {
            self.sealed_reserve_words = 0;
        } else if excess_words > self.sealed_reserve_words {
            return Err(self.raise_sealed_overflow(excess_words));
        }
        Ok(())
    }

    /// A continuation object for what the stack rests on.
    fn continuation_below(&mut self) -> Result<Value, Raise> {
        let below = self.below;
        if let Some(object) = below.continuation.as_kind(Kind::Continuation)
            && object.length() - SLICE == below.words
        {
            return Ok(below.continuation);
        }
        let object = self.try_object(Kind::Continuation, 0, SLICE, Value::ZERO)?;
        self.store(object, PARENT, self.below.continuation);
        self.store(object, PARENT_WORDS, Value::fixnum(below.words as i64));
        self.store(
            object,
            PARENT_PC,
            Value::from_aligned_address(below.pc as usize),
        );
        self.store(
            object,
            RESUME_PC,
            Value::from_aligned_address(below.pc as usize),
        );
        let below_words = self.sealed_words();
        self.store(object, DEPTH_WORDS, Value::fixnum(below_words as i64));
        self.below = Below {
            continuation: object,
            words: 0,
            pc: below.pc,
        };
        Ok(object)
    }

    /// Copies link words and live registers of every frame below the current one; the other words of the
    /// object stay zero.
    fn copy_live_words(&mut self, object: Value, words: usize) {
        let base = self.stack.base();
        let mut walk = FrameWalk::new(self);
        // The current frame itself is not part of the slice.
        walk.next();
        let barrier = self.vm.stubs.barrier();
        let mut copies: Vec<(usize, Value)> = Vec::with_capacity(words);
        while let Some(step) = walk.next() {
            // SAFETY: the walk gives live frames of this stack.
            unsafe {
                let at = step.fp.offset_from(base) as usize;
                copies.push((at - 2, *step.fp.offset(CLOSURE as isize)));
                let mut return_pc = *step.fp.offset(RETURN_PC as isize);
                if return_pc.bits() as *const u32 == barrier {
                    return_pc = Value::from_aligned_address(self.watermark.pc as usize);
                }
                copies.push((at - 1, return_pc));
                if step.is_trap {
                    copies.push((at, *step.fp));
                }
                step.live
                    .each(|register| copies.push((at + register, *step.fp.add(register))));
            }
        }
        // No allocation happens while the copies are outside the roots.
        for (index, value) in copies {
            debug_assert!(index < words);
            self.store(object, SLICE + index, value);
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

    /// `throw-stub`: replaces every frame by those of a continuation and returns `value` to it.
    pub(crate) fn throw(&mut self, continuation: Value, value: Value) -> Result<*const u32, Raise> {
        let Some(object) = continuation.as_kind(Kind::Continuation) else {
            return Err(self.raise_type("%throw", 1, "continuation", continuation));
        };
        self.below = Below {
            continuation,
            words: object.length() - SLICE,
            pc: object.field(RESUME_PC).bits() as *const u32,
        };
        self.watermark.fp = std::ptr::null_mut();
        self.close_reserve();
        Ok(self.return_to_below(value))
    }

    /// The stack is empty: brings back the newest frames of what lies below and returns `value` to them.
    pub(crate) fn return_to_below(&mut self, value: Value) -> *const u32 {
        // A slice that is used up leads to its parent.
        while self.below.words == 0 {
            let Some(object) = self.below.continuation.as_kind(Kind::Continuation) else {
                return self.leave_with(value);
            };
            self.below = parent_of(object);
        }
        let resume = self.below.pc;
        if resume == self.vm.stubs.exit() {
            return self.leave_with(value);
        }
        let object = self
            .below
            .continuation
            .as_kind(Kind::Continuation)
            .expect("frames lie in a continuation");
        let (start, frames_pc, top) = self.frames_to_bring_back(object);
        let words = self.below.words - start;
        let base = self.stack.base();
        for index in 0..words {
            // SAFETY: the slice fitted the stack when it was captured.
            unsafe { *base.add(index) = object.field(SLICE + start + index) };
        }
        // SAFETY: the oldest frame brought back begins with its link at the base.
        unsafe { *base.add(1) = Value::from_aligned_address(self.vm.stubs.underflow() as usize) };
        self.below.words = start;
        self.below.pc = frames_pc;
        // SAFETY: the newest frame's registers begin at `top` in the slice; the value goes where the call
        // instruction's field a says, which is the word after the last one copied.
        unsafe {
            self.fp = base.add(top - start);
            *base.add(words) = value;
        }
        resume
    }

    /// Decides how much of the slice comes back: gives where it starts, where the frames below go on, and the
    /// newest frame's fp as an index into the slice.
    fn frames_to_bring_back(&self, object: canny_value::ObjectRef) -> (usize, *const u32, usize) {
        let trap = self.vm.stubs.trap();
        let underflow = self.vm.stubs.underflow();
        let slice = |index: usize| object.field(SLICE + index);
        let mut end = self.below.words;
        let mut pc = self.below.pc;
        let mut newest = None;
        loop {
            // SAFETY: `pc` is a return address: field a of the call instruction is seven bytes before it.
            let base = unsafe { *pc.cast::<u8>().sub(7) } as usize;
            let mut fp = end - base;
            newest.get_or_insert(fp);
            if pc == trap {
                // The interrupted frame comes along with its trap frame.
                fp -= slice(fp).as_index().unwrap_or(0);
            }
            let start = fp - LINK_WORDS;
            let below = slice(fp - 1).bits() as *const u32;
            // Compiled code wants the frames that it inlined together with the one that they belong to.
            let is_apart = !is_retired(below) && self.below.words - start >= CHUNK_WORDS;
            if start == 0 || below == underflow || is_apart {
                return (start, below, newest.unwrap_or(fp));
            }
            end = start;
            pc = below;
        }
    }

    /// Calls `visit` with closure and pc of each frame below the stack, newest first, until it says no.
    pub(crate) fn each_sealed_frame(&self, visit: &mut dyn FnMut(Value, *const u32) -> bool) {
        let trap = self.vm.stubs.trap();
        let mut below = self.below;
        while let Some(object) = below.continuation.as_kind(Kind::Continuation) {
            let slice = |index: usize| object.field(SLICE + index);
            let (mut end, mut pc) = (below.words, below.pc);
            while end > 0 {
                // SAFETY: `pc` is a return address: field a of the call instruction is seven bytes before it.
                let base = unsafe { *pc.cast::<u8>().sub(7) } as usize;
                let mut fp = end - base;
                if pc == trap {
                    // The interrupted frame is in the middle of the instruction where it will go on.
                    // SAFETY: an instruction is at least one word long.
                    pc = unsafe { (slice(fp - 1).bits() as *const u32).add(1) };
                    fp -= slice(fp).as_index().unwrap_or(0);
                }
                if !visit(slice(fp - LINK_WORDS), pc) {
                    return;
                }
                end = fp - LINK_WORDS;
                pc = slice(fp - 1).bits() as *const u32;
            }
            below = parent_of(object);
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
            self.watermark.pc = (*slot).bits() as *const u32;
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
                Value::from_aligned_address(self.watermark.pc as usize);
        }
        self.watermark.fp = std::ptr::null_mut();
    }

    /// `return-barrier`: the frame above the watermark returned; the stub's call instruction says a = 0, so fp
    /// is the frame's closure word, which holds the value.
    pub(crate) fn return_through_barrier(&mut self) -> *const u32 {
        let pc = self.watermark.pc;
        self.watermark.fp = std::ptr::null_mut();
        // SAFETY: `pc` is a return address: field a of the call instruction is seven bytes before it.
        let base = unsafe { *pc.cast::<u8>().sub(7) } as usize;
        // SAFETY: the caller's frame begins so many words below the callee's closure word.
        self.fp = unsafe { self.fp.sub(base) };
        pc
    }
}

/// What a slice rests on.
fn parent_of(object: canny_value::ObjectRef) -> Below {
    Below {
        continuation: object.field(PARENT),
        words: object.field(PARENT_WORDS).as_index().unwrap_or(0),
        pc: object.field(PARENT_PC).bits() as *const u32,
    }
}
