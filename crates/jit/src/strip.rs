//! Takes the native frame out of a function that only tail-calls.
//!
//! On x86-64 Cranelift opens every function with `push rbp; mov rbp, rsp` and closes each exit with
//! `mov rsp, rbp; pop rbp` before the jump; in between it saves and restores the registers that a
//! callee of C keeps and that the function uses. A function that spills nothing needs none of this,
//! even if it calls: the stubs that segments call align the stack themselves, and
//! [`canny_llint::enter`] keeps C's registers for all code that runs beneath it. The prologue stays as
//! dead bytes before the entry, so that constants behind the code keep their alignment, and each exit's
//! jump moves over its epilogue.
//!
//! Where the exits are is not guessed from the bytes: the lowering gives each exit a source location of
//! its own, and the code generator tells which bytes it made for it.

use crate::assembler::{NativeFrame, TRAP, is_movable_jump};
use crate::relocation::Relocation;

/// The bytes of one instruction that leaves the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Strips the frame; gives the entry, or nothing if the function keeps its frame and the bytes stay as
/// they are.
pub(crate) fn strip_frame(
    code: &mut [u8],
    exits: &[ExitRange],
    relocations: &mut [Relocation],
) -> Option<usize> {
    let frame = NativeFrame::read(code)?;
    if exits.is_empty() {
        return None;
    }
    let mut moves = Vec::with_capacity(exits.len());
    for exit in exits {
        let epilogue = epilogue_of(&frame, &code[exit.start..exit.end])?;
        moves.push((exit.start + epilogue.start, epilogue.len(), exit.end));
    }
    for (to, epilogue, end) in moves {
        let jump = to + epilogue..end;
        let length = jump.len();
        for relocation in relocations.iter_mut() {
            if jump.contains(&relocation.offset) {
                relocation.offset -= epilogue;
            }
        }
        code.copy_within(jump, to);
        code[to + length..end].fill(TRAP);
    }
    code[..frame.prologue].fill(TRAP);
    Some(frame.prologue)
}

/// Where the epilogue stands in an exit, whose last bytes are its jump.
fn epilogue_of(frame: &NativeFrame, exit: &[u8]) -> Option<std::ops::Range<usize>> {
    (1..=exit.len()).rev().find_map(|length| {
        let (before, jump) = exit.split_at(exit.len() - length);
        let found = before.ends_with(&frame.epilogue) && is_movable_jump(jump);
        found.then(|| before.len() - frame.epilogue.len()..before.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::{ACCUMULATOR, Assembler, Memory, Register};

    const STACK: Register = Register::RSP;
    const FRAME: Register = Register::RBP;

    /// A function: its opening, its body, and one exit, with the exit's place.
    fn function(write: [fn(&mut Assembler); 3]) -> (Vec<u8>, [ExitRange; 1]) {
        let mut to = Assembler::default();
        to.push(FRAME);
        to.mov(FRAME, STACK);
        let [open, body, close] = write;
        open(&mut to);
        body(&mut to);
        let start = to.place();
        close(&mut to);
        let end = to.place();
        let (code, _) = to.finish();
        (code, [ExitRange { start, end }])
    }

    fn nothing(_: &mut Assembler) {}

    fn restore_frame(to: &mut Assembler) {
        to.mov(STACK, FRAME);
        to.pop(FRAME);
    }

    fn jump(to: &mut Assembler) {
        to.jump_to(Memory::at(ACCUMULATOR));
    }

    fn body(to: &mut Assembler) {
        to.clear(ACCUMULATOR);
    }

    /// The body with its exit behind it, and traps in the place of the epilogue.
    fn stripped(epilogue: usize) -> Vec<u8> {
        let mut code = Assembler::bytes_of(|to| {
            body(to);
            jump(to);
        });
        code.extend(vec![TRAP; epilogue]);
        code
    }

    #[test]
    fn moves_the_jump_over_the_epilogue() {
        let (mut code, exits) = function([nothing, body, |to| {
            restore_frame(to);
            jump(to);
        }]);
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(4));
        assert_eq!(code[..4], [TRAP; 4]);
        assert_eq!(code[4..], stripped(4));
    }

    #[test]
    fn bytes_of_an_epilogue_elsewhere_stay() {
        // The bytes of an exit, as a constant.
        const LOOKS_LIKE_AN_EXIT: u64 =
            u64::from_le_bytes([0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0, 0, 0]);
        let (mut code, exits) = function([
            nothing,
            |to| to.mov_constant(ACCUMULATOR, LOOKS_LIKE_AN_EXIT),
            |to| {
                restore_frame(to);
                to.ret();
            },
        ]);
        let [exit] = exits;
        let before = code.clone();
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(4));
        assert_eq!(code[4..exit.start], before[4..exit.start]);
        assert_eq!(code[exit.start], before[exit.end - 1]);
    }

    #[test]
    fn saved_registers_go_with_the_frame() {
        let (mut code, exits) = function([
            |to| {
                to.subtract(STACK, 16);
                to.store(Memory::at(STACK), Register::RBX);
                to.store(Memory::near(STACK, 8), Register::R12);
            },
            body,
            |to| {
                to.load(Register::RBX, Memory::at(STACK));
                to.load(Register::R12, Memory::near(STACK, 8));
                to.add(STACK, 16);
                restore_frame(to);
                jump(to);
            },
        ]);
        let entry = 4 + 4 + 4 + 5;
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(entry));
        assert_eq!(code[..entry], vec![TRAP; entry]);
        assert_eq!(code[entry..], stripped(4 + 5 + 4 + 4));
    }

    #[test]
    fn a_function_that_saves_and_spills_keeps_its_frame() {
        let (mut code, exits) = function([
            |to| {
                to.subtract(STACK, 32);
                to.store(Memory::at(STACK), Register::RBX);
            },
            nothing,
            |to| {
                to.load(Register::RBX, Memory::at(STACK));
                to.add(STACK, 32);
                restore_frame(to);
                to.ret();
            },
        ]);
        let before = code.clone();
        assert_eq!(strip_frame(&mut code, &exits, &mut []), None);
        assert_eq!(code, before);
    }

    #[test]
    fn a_spilling_function_keeps_its_frame() {
        for room in [(|to| to.subtract(STACK, 16)) as fn(&mut Assembler), |to| {
            to.subtract(STACK, 1024)
        }] {
            let (mut code, exits) = function([room, nothing, |to| {
                restore_frame(to);
                to.ret();
            }]);
            let before = code.clone();
            assert_eq!(strip_frame(&mut code, &exits, &mut []), None);
            assert_eq!(code, before);
        }
    }
}
