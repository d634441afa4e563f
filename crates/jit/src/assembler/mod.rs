//! Instructions that are written without the code generator: code in front of segments, behind
//! calls and at exits.
//!
//! Owns which bytes an instruction has, and which registers have which part in compiled code. There is
//! a module for each architecture, with the same names in it; the rest of the crate writes instructions
//! by these names only.
//!
//! | name | what it is |
//! |---|---|
//! | [`Assembler`] | appends instructions to code, and relocations for what they refer to |
//! | [`Register`], [`DoubleRegister`] | operands; [`VALUE`], [`FP`], [`THREAD`], [`ARGUMENTS`] and [`DOUBLES`] are their parts |
//! | [`Memory`] | an operand in memory |
//! | [`Condition`], [`Ahead`] | when a jump is taken, and one whose target comes later |
//! | [`NativeFrame`] | the native frame that the code generator makes |
//! | [`is_movable_jump`], [`TRAP`] | a jump that may stand elsewhere; a byte that stops the process |
//!
//! Nothing here chooses between encodings by the size of a displacement: code in front of a segment has
//! the same length for all slots, and an operand says what it takes.

#[cfg(test)]
pub(crate) mod tests;
mod x64;

use crate::relocation::{Relocation, Target};

pub(crate) use x64::{
    ACCUMULATOR, ARGUMENTS, Condition, DOUBLES, DoubleRegister, FP, Memory, NativeFrame, Register,
    SCRATCH, THREAD, VALUE, is_movable_jump,
};

/// Byte of an instruction that stops the process.
pub(crate) const TRAP: u8 = 0xcc;

/// A place that code of one procedure jumps to.
pub(crate) type Place = usize;

/// A short jump whose target comes later; [`Assembler::land`] says where.
#[derive(Debug)]
#[must_use]
pub(crate) struct Ahead {
    /// The place behind the jump.
    behind: Place,
}

/// Code that instructions are appended to. Nobody else writes bytes of instructions: they are private.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl Assembler {
    /// Continues with code that there is, and with its relocations.
    pub(crate) fn behind(code: Vec<u8>, relocations: Vec<Relocation>) -> Assembler {
        Assembler { code, relocations }
    }

    /// The code and its relocations.
    pub(crate) fn finish(self) -> (Vec<u8>, Vec<Relocation>) {
        (self.code, self.relocations)
    }

    /// The bytes of a few instructions that refer to nothing.
    pub(crate) fn bytes_of(write: impl FnOnce(&mut Assembler)) -> Vec<u8> {
        let mut assembler = Assembler::default();
        write(&mut assembler);
        debug_assert!(assembler.relocations.is_empty());
        assembler.code
    }

    /// The place of the next instruction.
    pub(crate) fn place(&self) -> Place {
        self.code.len()
    }

    /// Lets a jump lead to here.
    pub(crate) fn land(&mut self, jump: Ahead) {
        let distance = self.place() - jump.behind;
        debug_assert!(distance < 128, "too far for a short jump");
        self.code[jump.behind - 1] = distance as u8;
    }

    /// A 32-bit displacement from behind it to a target, to be filled in when the code has its address.
    fn relative(&mut self, target: Target) {
        self.relocations.push(Relocation {
            offset: self.place(),
            target,
            addend: -4,
        });
        self.code.extend([0; 4]);
    }
}
