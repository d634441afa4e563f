//! The last steps of side exits to the interpreter, written without the code generator.
//!
//! Leaving for a state means storing what is not in its slots and jumping to the interpreter with an
//! address and the innermost frame's fp. Stores from registers belong to the segment; the rest is
//! the same wherever the procedure leaves for the state, and is known when it is compiled:
//! constants, links of inlined frames, address and frame. It is a *tail*, a few instructions that
//! the segments of the procedure share. Exits were two fifths of what the code generator got to see
//! when they were whole in each segment.
//!
//! A tail takes fp and the thread block in the registers of segments and may use those of pc and rax.

use crate::assembler::{ACCUMULATOR, Assembler, FP, Memory, VALUE};
use crate::relocation::{Stub, Target};

/// Where a tail leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// To the exit descriptor of this index.
    Exit(u32),
    /// To this address of the bytecode: the interpreter has to take over there anyway.
    Bytecode(u64),
}

/// Constant content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    /// A word.
    Word(u64),
    /// The address of the descriptor of an inlined call.
    Inlined(u32),
}

/// The last steps of leaving for a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExitTail {
    pub(crate) way: Way,
    /// Words from the outermost fp to the innermost frame's.
    pub(crate) base: i32,
    /// Slots, from the outermost fp, and their contents.
    pub(crate) stores: Vec<(i32, Constant)>,
}

impl ExitTail {
    /// Appends the instructions.
    pub(crate) fn write(&self, to: &mut Assembler) {
        for (slot, constant) in &self.stores {
            let slot = Memory::far(FP, 8 * slot);
            match *constant {
                Constant::Word(word) => match i32::try_from(word as i64) {
                    Ok(word) => {
                        to.store_constant(slot, word);
                        continue;
                    }
                    Err(_) => to.mov_constant(ACCUMULATOR, word),
                },
                Constant::Inlined(index) => {
                    to.load_address_of(ACCUMULATOR, Target::Inlined(index));
                }
            }
            to.store(slot, ACCUMULATOR);
        }
        match self.way {
            Way::Exit(index) => to.load_address_of(VALUE, Target::Exit(index)),
            Way::Bytecode(address) => to.mov_constant(VALUE, address),
        }
        if self.base != 0 {
            to.load_address(FP, Memory::far(FP, 8 * self.base));
        }
        to.jump(Target::Stub(Stub::Dispatch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::tests::listing;

    #[test]
    fn a_tail_stores_and_jumps() {
        let tail = ExitTail {
            way: Way::Exit(3),
            base: 2,
            stores: vec![
                (1, Constant::Word(0x16)),
                (4, Constant::Word(0x7f00_0000_1235)),
                (-1, Constant::Inlined(7)),
            ],
        };
        let mut assembler = Assembler::default();
        tail.write(&mut assembler);
        let (code, relocations) = assembler.finish();
        let expected = [
            "mov qword ptr [rsi+0x8], 0x16",
            "mov rax, 0x7f0000001235",
            "mov [rsi+0x20], rax",
            "lea rax, [rip]",
            "mov [rsi-0x8], rax",
            "lea rdi, [rip]",
            "lea rsi, [rsi+0x10]",
            "jmp 0x103d",
        ];
        assert_eq!(listing(&code), expected);
        let targets: Vec<(usize, Target)> = relocations
            .iter()
            .map(|relocation| (relocation.offset, relocation.target))
            .collect();
        assert_eq!(
            targets,
            [
                (31, Target::Inlined(7)),
                (45, Target::Exit(3)),
                (57, Target::Stub(Stub::Dispatch)),
            ]
        );
    }
}
