//! Callees of a step over or out run at full speed.
//!
//! A step *rests* while its task runs frames in which it cannot end: the thread then uses its usual
//! dispatch table, and enters compiled code. The rest ends where the first frame that matters continues:
//! at a break at the return address, or at one of the machine's instructions that lead to other frames,
//! whose entries in the table lead to the debugger during a rest. The break is there for one frame; in
//! others, such as those of a recursion, it is passed. Compiled code need not know of it, since a frame
//! that was stepped through resumes in the bytecode.

use canny_tables::layout::continuation::SLICE;
use canny_tables::opcodes::{Opcode, OpcodeFlags};
use canny_value::{ObjectRef, Value};

use super::patches;
use super::places::possible_places;
use super::step::Step;
use crate::code::CodeRef;
use crate::control::continuation::depth_of;
use crate::frames::{FrameWalk, bytecode_of};
use crate::thread::Thread;

/// Instructions of the machine that resume frames other than the caller's at its return address.
const LEADERS: [Opcode; 7] = [
    Opcode::ContinueStub,
    Opcode::EscapeStub,
    Opcode::ThrowStub,
    Opcode::ReturnUnderflow,
    Opcode::ReturnBarrier,
    Opcode::ReturnTrap,
    Opcode::ReturnExit,
];

/// Frames that are searched for the first one that matters.
const FRAMES_MAX: usize = 1000;

/// The rests of a step.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// The task runs frames that do not matter.
    is_resting: bool,
    /// The end of such frames will be noticed.
    is_prepared: bool,
    /// It would not be, as long as the task runs these.
    is_refused: bool,
    /// Addresses of instructions that have a break for the step, until it ends.
    breaks: Vec<usize>,
    /// Return addresses that can have none.
    impossible: Vec<usize>,
}

impl Drop for Rests {
    fn drop(&mut self) {
        for at in self.breaks.drain(..) {
            patches::remove_for_step(at);
        }
    }
}

/// Bytes of the frames below one whose registers begin at a field of a continuation.
pub(super) fn depth_in(continuation: ObjectRef, first_register: usize) -> usize {
    depth_of(continuation) + 8 * (first_register - SLICE)
}

impl Rests {
    /// An instruction is about to be executed.
    fn meet(&mut self, opcode: Opcode) {
        if LEADERS.contains(&opcode) {
            self.is_refused = false;
        }
        if opcode == Opcode::ContinueStub {
            // Other frames may be below.
            self.is_prepared = false;
        }
    }
}

/// The callee of a frame: where that resumes.
#[derive(Clone, Copy)]
struct Newer {
    return_pc: *const u32,
    is_trap: bool,
    is_newest: bool,
}

impl Thread {
    /// Whether every instruction is asked about.
    pub(super) fn is_stepping(&self) -> bool {
        let step = self.debug.step.as_ref();
        self.debug.counting.is_some() || step.is_some_and(|step| !step.rests.is_resting)
    }

    /// Leads the machine's instructions that resume other frames to the debugger, during a rest.
    pub(crate) fn lead_to_debugger(&mut self) {
        let step = self.debug.step.as_ref();
        if step.is_some_and(|step| step.rests.is_resting) {
            for opcode in LEADERS {
                self.dispatch[opcode as usize] = canny_llint::slow_stub(Opcode::Break);
            }
        }
    }

    /// Begins or ends a rest before an instruction. Whether it begins: then the instruction is dispatched
    /// once more.
    pub(super) fn rests(&mut self, opcode: Opcode, is_break: bool) -> bool {
        if self.debug.counting.is_some() {
            return false;
        }
        let Some(mut step) = self.debug.step.take() else {
            return false;
        };
        let before = step.rests.is_resting;
        if before {
            self.wake(&mut step, opcode, is_break);
        } else {
            self.lie_down(&mut step, opcode);
        }
        let after = step.rests.is_resting;
        self.debug.step = Some(step);
        if before != after {
            // Log entries from before a rest or from it do not fit those behind it.
            self.discard_log();
            self.use_table(self.specializer.log.table());
        }
        after && !before
    }

    /// All frames were replaced by others.
    pub(crate) fn note_other_frames(&mut self) {
        let Some(step) = &mut self.debug.step else {
            return;
        };
        step.rests.is_prepared = false;
        step.rests.is_refused = false;
        if std::mem::take(&mut step.rests.is_resting) {
            self.discard_log();
            self.use_table(self.specializer.log.table());
        }
    }

    fn wake(&mut self, step: &mut Step, opcode: Opcode, is_break: bool) {
        let rests = &mut step.rests;
        if !is_break {
            rests.is_resting = false;
            rests.meet(opcode);
        } else if !self.is_critical() && !step.passes(self.depth()) {
            step.rests.is_resting = false;
            step.rests.is_prepared = false;
        }
    }

    fn lie_down(&mut self, step: &mut Step, opcode: Opcode) {
        step.rests.meet(opcode);
        // Frames of compiled code are frames.
        let is_compiled = matches!(opcode, Opcode::Native | Opcode::Stitched | Opcode::Retired);
        let has_frame = is_compiled || !opcode.has(OpcodeFlags::MACHINE);
        if !has_frame || self.is_critical() {
            return;
        }
        if !step.passes(self.depth()) {
            step.rests.is_prepared = false;
            step.rests.is_refused = false;
        } else if step.rests.is_prepared || !step.rests.is_refused {
            let is_prepared = step.rests.is_prepared || self.prepare(step);
            step.rests.is_prepared = is_prepared;
            step.rests.is_refused = !is_prepared;
            step.rests.is_resting = is_prepared;
        }
    }

    /// Sees to it that it will be noticed when the first frame that matters continues. Whether that is
    /// possible.
    fn prepare(&mut self, step: &mut Step) -> bool {
        let mut walk = FrameWalk::without_liveness(self);
        let mut newer: Option<Newer> = None;
        for _ in 0..FRAMES_MAX {
            let Some(frame) = walk.next() else {
                return self.prepare_sealed(step, newer);
            };
            let matters = !frame.is_trap && !step.passes(self.depth_of(frame.fp));
            if let Some(newer) = newer.filter(|_| matters) {
                // SAFETY: the frame is live.
                let closure = unsafe { Thread::closure_of(frame.fp) };
                return newer.is_trap || self.prepare_caller(step, closure, newer);
            }
            newer = Some(Newer {
                return_pc: frame.return_pc,
                is_trap: frame.is_trap,
                is_newest: newer.is_none(),
            });
        }
        false
    }

    /// The same where the first frame that matters is not on the stack.
    fn prepare_sealed(&mut self, step: &mut Step, newer: Option<Newer>) -> bool {
        if newer.is_some_and(|newer| newer.return_pc == self.vm.stubs.exit()) {
            // There is none.
            return true;
        }
        let (mut found, mut count) = (None, 0);
        self.each_sealed(self.sealed, &mut |frame| {
            let depth = depth_in(frame.object, frame.first_register);
            let matters = !step.passes(depth);
            if matters {
                found = Some((frame.closure, frame.return_pc));
            }
            count += 1;
            !matters && count < FRAMES_MAX
        });
        match found {
            None => false,
            // It is in the middle of an instruction: the call there has its own way back.
            Some((_, None)) => true,
            Some((closure, Some(pc))) => self.has_break_at(step, closure, pc),
        }
    }

    fn prepare_caller(&mut self, step: &mut Step, closure: Value, newer: Newer) -> bool {
        let bytecode = bytecode_of(newer.return_pc);
        let is_compiled = bytecode != newer.return_pc;
        // Compiled code does not return through the links of frames that it inlined.
        if is_compiled && !newer.is_newest || !self.has_break_at(step, closure, bytecode) {
            return false;
        }
        if is_compiled {
            self.remove_barrier();
            self.leave_compiled_code(Some(self.fp));
        }
        true
    }

    /// Puts a break where a frame resumes, if there can be one.
    fn has_break_at(&mut self, step: &mut Step, closure: Value, pc: *const u32) -> bool {
        let at = pc as usize;
        if step.rests.breaks.contains(&at) {
            return true;
        }
        if step.rests.impossible.contains(&at) {
            return false;
        }
        let index = |code: CodeRef| at.wrapping_sub(code.start() as usize) / 4;
        let known = CodeRef::of_closure(closure).map(|code| (code, index(code)));
        let possible = known.filter(|(code, index)| {
            let possible = possible_places(&code.plain_instructions());
            let index = u32::try_from(*index);
            index.is_ok_and(|index| possible.binary_search(&index).is_ok())
        });
        let Some((code, index)) = possible else {
            step.rests.impossible.push(at);
            return false;
        };
        let is_new = self.vm.debugger.lock().stepped.insert(code.word());
        if is_new {
            self.vm.shared_roots.keep_code(code.value());
        }
        step.rests.breaks.push(patches::put_for_step(code, index));
        true
    }
}
