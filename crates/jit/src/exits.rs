//! The last steps of the ways out to the interpreter, written without the code generator.
//!
//! Leaving for a state means storing what is not in its slots and jumping to the interpreter with an address and the innermost
//! frame's fp. What is stored from registers is the segment's; the rest is the same wherever the procedure leaves for
//! the state, and is known when it is compiled: constants, links of inlined frames, address and frame. It is a *tail*, a few
//! instructions that the segments of the procedure share. Exits were two fifths of what the code generator got to see
//! when they were whole in each segment.
//!
//! A tail takes fp and the thread block in the registers of segments and may use those of pc and rax.

use crate::machine::{Relocation, Stub, Target};

/// Where a tail leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// To the exit descriptor of this index.
    Exit(u32),
    /// To this address of the bytecode: the interpreter has to take over there anyway.
    Bytecode(u64),
}

/// What a slot gets.
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
    /// Slots, from the outermost fp, and what they get.
    pub(crate) stores: Vec<(i32, Constant)>,
}

const MOV_RAX_IMMEDIATE: [u8; 2] = [0x48, 0xb8];
const MOV_RDI_IMMEDIATE: [u8; 2] = [0x48, 0xbf];
const LEA_RAX_RELATIVE: [u8; 3] = [0x48, 0x8d, 0x05];
const LEA_RDI_RELATIVE: [u8; 3] = [0x48, 0x8d, 0x3d];
const LEA_RSI_RSI: [u8; 3] = [0x48, 0x8d, 0xb6];
/// `mov [rsi + displacement], rax`.
const STORE_RAX: [u8; 3] = [0x48, 0x89, 0x86];
/// `mov qword [rsi + displacement], immediate`.
const STORE_IMMEDIATE: [u8; 3] = [0x48, 0xc7, 0x86];
const JUMP: u8 = 0xe9;

impl ExitTail {
    /// Appends the instructions.
    pub(crate) fn write(&self, code: &mut Vec<u8>, relocations: &mut Vec<Relocation>) {
        let mut relative = |code: &mut Vec<u8>, target| {
            relocations.push(Relocation {
                offset: code.len(),
                target,
                addend: -4,
            });
            code.extend([0; 4]);
        };
        for (slot, constant) in &self.stores {
            let displacement = (8 * slot).to_le_bytes();
            match *constant {
                Constant::Word(word) => match i32::try_from(word as i64) {
                    Ok(word) => {
                        code.extend(STORE_IMMEDIATE);
                        code.extend(displacement);
                        code.extend(word.to_le_bytes());
                        continue;
                    }
                    Err(_) => {
                        code.extend(MOV_RAX_IMMEDIATE);
                        code.extend(word.to_le_bytes());
                    }
                },
                Constant::Inlined(index) => {
                    code.extend(LEA_RAX_RELATIVE);
                    relative(code, Target::Inlined(index));
                }
            }
            code.extend(STORE_RAX);
            code.extend(displacement);
        }
        match self.way {
            Way::Exit(index) => {
                code.extend(LEA_RDI_RELATIVE);
                relative(code, Target::Exit(index));
            }
            Way::Bytecode(address) => {
                code.extend(MOV_RDI_IMMEDIATE);
                code.extend(address.to_le_bytes());
            }
        }
        if self.base != 0 {
            code.extend(LEA_RSI_RSI);
            code.extend((8 * self.base).to_le_bytes());
        }
        code.push(JUMP);
        relative(code, Target::Stub(Stub::Dispatch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (mut code, mut relocations) = (Vec::new(), Vec::new());
        tail.write(&mut code, &mut relocations);
        let expected: Vec<u8> = [
            &[0x48, 0xc7, 0x86, 8, 0, 0, 0, 0x16, 0, 0, 0][..],
            &[0x48, 0xb8, 0x35, 0x12, 0, 0, 0, 0x7f, 0, 0],
            &[0x48, 0x89, 0x86, 32, 0, 0, 0],
            &[0x48, 0x8d, 0x05, 0, 0, 0, 0],
            &[0x48, 0x89, 0x86, 0xf8, 0xff, 0xff, 0xff],
            &[0x48, 0x8d, 0x3d, 0, 0, 0, 0],
            &[0x48, 0x8d, 0xb6, 16, 0, 0, 0],
            &[0xe9, 0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(code, expected);
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
