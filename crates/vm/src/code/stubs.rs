//! Return addresses that the machine puts into frames itself.
//!
//! Each stub is laid out as what stands before and at a return address: a call instruction (its field a
//! says where the caller's frame begins), a live map, and the instruction to continue with.

use canny_tables::opcodes::{Opcode, encode_abc};

const WORDS: usize = 4;

/// The stubs of a machine.
pub(crate) struct Stubs {
    words: Box<[[u32; WORDS]; 4]>,
}

impl Stubs {
    pub(crate) fn new() -> Stubs {
        let stub = |base, opcode| {
            [
                encode_abc(Opcode::Call, base, 0, 0),
                0,
                encode_abc(opcode, 0, 0, 0),
                0,
            ]
        };
        Stubs {
            words: Box::new([
                stub(0, Opcode::ReturnExit),
                stub(0, Opcode::ReturnUnderflow),
                stub(0, Opcode::ReturnBarrier),
                stub(TRAP_CALL_BASE as u8, Opcode::ReturnTrap),
            ]),
        }
    }

    fn address(&self, index: usize) -> *const u32 {
        &raw const self.words[index][2]
    }

    /// Leaves the interpreter.
    pub(crate) fn exit(&self) -> *const u32 {
        self.address(0)
    }

    /// Brings back frames of the continuation below.
    pub(crate) fn underflow(&self) -> *const u32 {
        self.address(1)
    }

    /// Stands for the return address in the watermark.
    pub(crate) fn barrier(&self) -> *const u32 {
        self.address(2)
    }

    /// Continues with an interrupted instruction.
    pub(crate) fn trap(&self) -> *const u32 {
        self.address(3)
    }
}

/// Register of a trap frame at which it makes its call; register 0 holds the distance to the frame that
/// it interrupted.
pub(crate) const TRAP_CALL_BASE: usize = 1;
/// Registers of a trap frame.
pub(crate) const TRAP_FRAME_WORDS: usize = 3;
