//! Escape procedures: returning from a frame that is still there, without a copy of any frame.
//!
//! `call-with-escape-continuation` is code of the machine's own, in whose frame a register holds the
//! escape procedure as long as the call lasts. An escape looks for the frame that holds it, from the
//! newest on: it costs as much as the frames that it drops. Whether the frame is on the stack, was
//! sealed by a capture in between or came back with a continuation makes no difference, and a frame
//! that is gone is not found. The search goes from frame to frame, since no word tells by itself that
//! it is in a frame's link; the depth, which is the same wherever the frame is, tells in which slice to
//! look and when to stop. Once frames have been copied to other places (see `graft`), the newest frame
//! that holds it counts, wherever it lies.

use canny_tables::kinds::Kind;
use canny_tables::layout::continuation::{PARENT, SLICE};
use canny_tables::layout::escape::{CODE, DEPTH, HANDLERS, HOLDER, PARAMETERS, WINDERS, WORDS};
use canny_tables::layout::frame::{CLOSURE, LINK_WORDS};
use canny_tables::opcodes::Opcode;
use canny_value::Value;

use crate::code::CodeRef;
use crate::control::condition::ConditionKind;
use crate::control::continuation::call_base;
use crate::control::graft::original_escape;
use crate::runtime::Next;
use crate::thread::{Sealed, Thread};

/// Where the frame is that holds an escape procedure.
enum Holder {
    /// On the stack; it resumes at the address.
    OnStack(*mut Value, *const u32),
    /// The newest of these.
    Sealed(Sealed),
}

/// Whether a closure is the one whose frames hold escape procedures.
pub(crate) fn makes_escapes(closure: Value) -> bool {
    // SAFETY: code starts with an instruction.
    CodeRef::of_closure(closure)
        .is_some_and(|code| unsafe { *code.start() } as u8 == Opcode::MakeEscape as u8)
}

impl Thread {
    /// `make-escape`: an escape procedure for the current frame.
    pub(crate) fn make_escape(&mut self) -> Value {
        let escape = self.object(Kind::Closure, 0, WORDS, Value::NIL);
        let dynamic = self.dynamic;
        self.store(escape, CODE, self.escape_code);
        self.store(escape, WINDERS, dynamic.winders);
        self.store(escape, HANDLERS, dynamic.handlers);
        self.store(escape, PARAMETERS, dynamic.parameters);
        let depth = self.sealed.bytes + self.bytes_below(self.fp);
        self.store(escape, DEPTH, Value::from_aligned_address(depth));
        escape
    }

    /// Bytes from the base of the stack to a frame's registers.
    fn bytes_below(&self, fp: *const Value) -> usize {
        fp as usize - self.stack.base() as usize
    }

    /// `escape-stub`: returns `value` from the frame that holds the escape procedure.
    pub(crate) fn escape(&mut self, escape: Value, value: Value) -> Next {
        let Some((holder, escape)) = self.holder_of(escape) else {
            let message = "the call that this procedure escapes from has returned";
            return Err(self.raise(ConditionKind::Escape, message, &[escape], None));
        };
        let object = escape.as_object().expect("a closure");
        if object.field(WINDERS) != self.dynamic.winders {
            // The winders to be run are those of the procedure that the frame holds, which is called next.
            // SAFETY: fp is the live frame of the escape procedure that was called.
            unsafe { *self.fp.offset(CLOSURE as isize) = escape };
            return self.rewind_and_call(value);
        }
        self.dynamic.handlers = object.field(HANDLERS);
        self.dynamic.parameters = object.field(PARAMETERS);
        Ok(match holder {
            Holder::OnStack(fp, pc) => self.return_on_stack(fp, pc, value),
            Holder::Sealed(sealed) => self.return_to(sealed, value),
        })
    }

    /// Drops the frames above the one at `fp`, which resumes at `pc` with the value.
    fn return_on_stack(&mut self, fp: *mut Value, pc: *const u32, value: Value) -> *const u32 {
        if self.watermark.fp > fp {
            self.watermark.fp = std::ptr::null_mut();
        }
        self.fp = fp;
        // SAFETY: the frame is live, and the callee's link begins there.
        unsafe { *fp.add(call_base(pc)) = value };
        if self.bytes_below(fp) <= 8 * self.stack.frame_words() {
            self.close_reserve();
        }
        pc
    }

    /// The frame that holds an escape procedure, and the procedure that it holds: that one, or one made
    /// for a copy of the frame.
    fn holder_of(&self, escape: Value) -> Option<(Holder, Value)> {
        if self.vm.has_grafted() {
            return self.newest_holder_of(original_escape(escape));
        }
        self.only_holder_of(escape).map(|holder| (holder, escape))
    }

    /// The newest frame that holds the escape procedure or one made for a copy of a frame that held it.
    fn newest_holder_of(&self, origin: Value) -> Option<(Holder, Value)> {
        let stubs = &self.vm.stubs;
        let (exit, underflow, trap) = (stubs.exit(), stubs.underflow(), stubs.trap());
        let holds =
            |closure, held: Value| makes_escapes(closure) && original_escape(held) == origin;
        let mut fp = self.fp;
        loop {
            // SAFETY: as in `only_holder_of`; a frame that made an escape procedure holds it during
            // every call.
            unsafe {
                let pc = self.return_address(fp);
                if pc == exit || pc == underflow {
                    break;
                }
                fp = fp.sub(LINK_WORDS + call_base(pc));
                if pc == trap {
                    fp = fp.sub((*fp).as_index().unwrap_or(0));
                } else if holds(Thread::closure_of(fp), *fp.add(HOLDER)) {
                    return Some((Holder::OnStack(fp, pc), *fp.add(HOLDER)));
                }
            }
        }
        let mut sealed = self.sealed;
        while let Some((object, count)) = sealed.newest() {
            let slice = |index: usize| object.field(SLICE + index);
            let below = sealed.bytes - 8 * count;
            while sealed.bytes > below {
                let end = (sealed.bytes - below) / 8;
                // SAFETY: the pc of sealed frames is a return address.
                let mut fp = end - unsafe { call_base(sealed.pc) };
                if sealed.pc == trap {
                    fp -= slice(fp).as_index().unwrap_or(0);
                } else if fp + HOLDER < end && holds(slice(fp - LINK_WORDS), slice(fp + HOLDER)) {
                    return Some((Holder::Sealed(sealed), slice(fp + HOLDER)));
                }
                sealed.bytes = below + 8 * (fp - LINK_WORDS);
                sealed.pc = slice(fp - 1).bits() as *const u32;
            }
            sealed = Sealed {
                continuation: object.field(PARENT),
                ..sealed
            };
        }
        None
    }

    fn only_holder_of(&self, escape: Value) -> Option<Holder> {
        let depth = escape.as_object()?.field(DEPTH).bits() as usize;
        let Some(above) = depth.checked_sub(self.sealed.bytes) else {
            return self.sealed_holder_of(escape, depth).map(Holder::Sealed);
        };
        let stubs = &self.vm.stubs;
        let (exit, underflow, trap) = (stubs.exit(), stubs.underflow(), stubs.trap());
        let mut fp = self.fp;
        while self.bytes_below(fp) > above {
            // SAFETY: the walk goes from live frame to live frame; a trap frame says how far below the
            // one is that it interrupted. Behind a frame's registers lies the link of what it called,
            // so that there is a word in the holder's place whatever the frame is.
            unsafe {
                let pc = self.return_address(fp);
                if pc == exit || pc == underflow {
                    return None;
                }
                fp = fp.sub(LINK_WORDS + call_base(pc));
                if pc == trap {
                    fp = fp.sub((*fp).as_index().unwrap_or(0));
                } else if self.bytes_below(fp) == above
                    && *fp.add(HOLDER) == escape
                    && makes_escapes(Thread::closure_of(fp))
                {
                    return Some(Holder::OnStack(fp, pc));
                }
            }
        }
        None
    }

    /// The sealed frames of which the newest holds the escape procedure, `depth` bytes over the oldest.
    fn sealed_holder_of(&self, escape: Value, depth: usize) -> Option<Sealed> {
        let trap = self.vm.stubs.trap();
        let mut sealed = self.sealed;
        while let Some((object, count)) = sealed.newest() {
            let slice = |index: usize| object.field(SLICE + index);
            let below = sealed.bytes - 8 * count;
            if depth < below {
                // The oldest frame's return address is where the frames below resume.
                sealed = Sealed::below(object, slice(1).bits() as *const u32);
                continue;
            }
            while sealed.bytes > depth {
                let end = (sealed.bytes - below) / 8;
                // SAFETY: the pc of sealed frames is a return address.
                let mut fp = end - unsafe { call_base(sealed.pc) };
                if sealed.pc == trap {
                    fp -= slice(fp).as_index().unwrap_or(0);
                } else if below + 8 * fp == depth
                    && fp + HOLDER < end
                    && slice(fp + HOLDER) == escape
                    && makes_escapes(slice(fp - LINK_WORDS))
                {
                    return Some(sealed);
                }
                sealed.bytes = below + 8 * (fp - LINK_WORDS);
                sealed.pc = slice(fp - 1).bits() as *const u32;
            }
            return None;
        }
        None
    }
}
