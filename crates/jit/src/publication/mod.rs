//! How threads come to compiled code and away from it: the words that one thread writes while others
//! read them.
//!
//! | word | written | read |
//! |---|---|---|
//! | a code object's entry and native words | [`lead_calls`], under the registry's lock | calls, once each, by whichever of the two they use |
//! | the next candidate in an entry's descriptor | [`lead_on`], under the registry's lock | calls that the entry is not for |
//! | a link of a caller | [`lead_on`], under the registry's lock | its calls of the code that it is for |
//! | opcode word of a descriptor | when it is made; [`retire`] | the interpreter's dispatch, compiled returns, walks of frames |
//! | opcode word of a loop | [`patch`], under the registry's lock | the interpreter's dispatch |
//!
//! 1. Machine code and descriptors are complete before a word leads to them: the store releases, and
//!    generated code, which reads what it was led to by the address that it read, sees all of it.
//! 2. A reader reads one word once and goes where it leads, without a safepoint in between. Either word
//!    alone is right at any time, so readers of one may see the new code while readers of the other see
//!    the old. A call may be passed on from candidate to candidate, reading a word in each, and gets to
//!    the bytecode at last: a candidate leads to those behind it only, and one that was taken out of
//!    the chain still leads to where it led.
//! 3. Nothing leads to retired code: calls and loops are led back first. A thread that read a word
//!    before is in the code at the latest when it comes to its next safepoint; from there on frames
//!    tell who is still there. So memory is freed at a safepoint of all threads only.
//!
//! The functions are generic over the word so that the tests of this module drive them through all
//! interleavings.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use canny_tables::opcodes::{Opcode, encode_abc};

/// A word that several threads read and write.
pub trait SharedWord<T> {
    /// Sets it; a reader of the value sees all that was written before.
    fn publish(&self, value: T);
}

impl SharedWord<u64> for AtomicU64 {
    fn publish(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
}

impl SharedWord<u32> for AtomicU32 {
    fn publish(&self, value: u32) {
        self.store(value, Ordering::Release);
    }
}

/// Where calls of a code go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Address of the bytecode or of a descriptor, for the interpreter.
    pub entry: u64,
    /// Machine address, for compiled code.
    pub native: u64,
}

/// Leads calls of a code to what is complete there, or back to the bytecode.
pub fn lead_calls(entry: &impl SharedWord<u64>, native: &impl SharedWord<u64>, way: Way) {
    native.publish(way.native);
    entry.publish(way.entry);
}

/// Leads calls on from one candidate to the next.
pub fn lead_on(next: &impl SharedWord<u64>, native: u64) {
    next.publish(native);
}

/// Lets everything that stands at a descriptor resume in the bytecode.
pub fn retire(opcode: &impl SharedWord<u32>) {
    opcode.publish(encode_abc(Opcode::Retired, 0, 0, 0));
}

/// Gives an instruction another opcode.
pub fn patch(instruction: &impl SharedWord<u32>, word: u32) {
    instruction.publish(word);
}
