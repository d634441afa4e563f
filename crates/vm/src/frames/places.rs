//! Where a condition was made, as its frames say it.
//!
//! A program that handles a condition seldom asks for its position, and to look that up takes longer
//! than everything else about a condition. So a condition is made with the *places* of the newest
//! frames alone, as a vector:
//!
//! ```text
//! number of the program's frames to pass over | closure | word index of its instruction | closure | …
//! ```
//!
//! They are looked up whenever somebody asks. The closures keep their code, which does not move.

use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::code::CodeRef;
use crate::control::condition::field;
use crate::frames::{FrameWalk, Position, hide_stand_ins};
use crate::thread::Thread;

/// Frames that are noted at most.
const FRAMES_MAX: usize = 64;
/// Frames of the program after which no more are noted: some have no position.
const PROGRAM_FRAMES_MAX: usize = 3;

/// Notes a frame; whether more are wanted.
fn note(scratch: &mut Vec<Value>, closure: Value, pc: *const u32, left: &mut usize) -> bool {
    if let Some(code) = CodeRef::of_closure(closure) {
        let word = (pc as usize).wrapping_sub(code.start() as usize) / 4;
        scratch.extend([closure, Value::fixnum(word as i64)]);
        *left -= usize::from(!code.is_library());
    }
    *left > 0
}

impl Thread {
    /// The places of the newest frames.
    pub(crate) fn places(&mut self) -> Value {
        let first = self.protect(Value::ZERO);
        let mut scratch = std::mem::take(&mut self.scratch);
        let end = scratch.len() + 2 * FRAMES_MAX;
        let mut left = PROGRAM_FRAMES_MAX;
        let mut walk = FrameWalk::without_liveness(self);
        let mut is_whole = true;
        while let Some(step) = walk.next() {
            // SAFETY: the frame is live.
            let closure = unsafe { Thread::closure_of(step.fp) };
            if !step.is_trap
                && (scratch.len() >= end || !note(&mut scratch, closure, step.pc, &mut left))
            {
                is_whole = false;
                break;
            }
        }
        if is_whole {
            self.each_sealed_frame(self.sealed, &mut |closure, pc, _| {
                scratch.len() < end && note(&mut scratch, closure, pc, &mut left)
            });
        }
        self.scratch = scratch;
        let count = self.scratch.len() - first.index();
        let places = self.object(Kind::Vector, 0, count, Value::FALSE);
        for index in 0..count {
            let value = self.scratch[first.index() + index];
            self.store(places, index, value);
        }
        self.release(first);
        places
    }

    /// Gives a condition that was just made the position of the call of the innermost procedure of the
    /// program.
    pub fn move_to_caller(&mut self, condition: Value) {
        let condition = condition.as_kind(Kind::Condition);
        if let Some(places) = condition.map(|condition| condition.field(field::POSITION)) {
            self.store(places, 0, Value::fixnum(1));
        }
    }

    /// Where a condition was made.
    pub fn condition_position(&self, condition: Value) -> Option<Position> {
        let places = condition.as_kind(Kind::Condition)?.field(field::POSITION);
        let places = places.as_kind(Kind::Vector)?;
        let (mut frames, mut newer) = (Vec::new(), None);
        for at in (1..places.length()).step_by(2) {
            let closure = places.field(at);
            let code = CodeRef::of_closure(closure)?;
            let word = places.field(at + 1).as_index()?;
            // SAFETY: the word was noted in this code.
            let pc = unsafe { code.start().add(word) };
            self.describe_frame(closure, pc, false, &mut newer, &mut frames);
        }
        hide_stand_ins(&mut frames);
        let mut of_program = frames.into_iter().filter(|frame| !frame.is_library);
        let passed = places.field(0).as_index()?;
        let below: Vec<_> = of_program.by_ref().take(passed).collect();
        let position = of_program.find_map(|frame| frame.position);
        position.or_else(|| below.into_iter().find_map(|frame| frame.position))
    }
}
