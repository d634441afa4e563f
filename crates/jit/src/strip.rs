//! Takes the native frame out of a function that only tail-calls.
//!
//! On x86-64 Cranelift opens every function with `push rbp; mov rbp, rsp` and closes each exit with
//! `mov rsp, rbp; pop rbp` before the jump. A function that neither spills nor saves registers needs neither,
//! even if it calls: the stubs that segments call align the stack themselves. The prologue stays as dead bytes
//! before the entry, so that constants behind the code keep their alignment, and each exit's jump moves over its
//! epilogue.
//!
//! Where the exits are is not guessed from the bytes: the lowering gives each exit a source location of its own,
//! and the code generator tells which bytes it made for it.

use crate::machine::Relocation;

const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
const EPILOGUE: [u8; 4] = [0x48, 0x89, 0xec, 0x5d];
const TRAP: u8 = 0xcc;

/// The bytes of one instruction that leaves the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Strips the frame; gives the entry, or nothing if the function keeps its frame and the bytes stay as they are.
pub(crate) fn strip_frame(
    code: &mut [u8],
    exits: &[ExitRange],
    relocations: &mut [Relocation],
) -> Option<usize> {
    if !code.starts_with(&PROLOGUE) || adjusts_stack(&code[PROLOGUE.len()..]) || exits.is_empty() {
        return None;
    }
    let mut moves = Vec::with_capacity(exits.len());
    for exit in exits {
        let jump = jump_length(&code[exit.start..exit.end])?;
        moves.push(exit.end - jump..exit.end);
    }
    for jump in moves {
        let length = jump.len();
        let to = jump.start - EPILOGUE.len();
        for relocation in relocations.iter_mut() {
            if jump.contains(&relocation.offset) {
                relocation.offset -= EPILOGUE.len();
            }
        }
        code.copy_within(jump, to);
        code[to + length..to + length + EPILOGUE.len()].fill(TRAP);
    }
    code[..PROLOGUE.len()].fill(TRAP);
    Some(PROLOGUE.len())
}

/// Whether the bytes begin with `sub rsp, imm`.
fn adjusts_stack(code: &[u8]) -> bool {
    code.starts_with(&[0x48, 0x83, 0xec]) || code.starts_with(&[0x48, 0x81, 0xec])
}

/// Length of the jump or return at the end of an exit, if an epilogue stands right before it.
fn jump_length(exit: &[u8]) -> Option<usize> {
    (1..=exit.len()).rev().find(|&length| {
        let (before, jump) = exit.split_at(exit.len() - length);
        before.ends_with(&EPILOGUE) && is_movable_jump(jump)
    })
}

/// Whether the bytes are exactly one return, direct jump, or indirect jump that does not depend on its address.
fn is_movable_jump(code: &[u8]) -> bool {
    let operation = match code {
        [0xc3] => return true,
        [0xe9, displacement @ ..] => return displacement.len() == 4,
        [prefix, rest @ ..] if prefix & 0xf8 == 0x40 => rest,
        _ => code,
    };
    let [0xff, mode, operand @ ..] = operation else {
        return false;
    };
    let (addressing, register) = (mode >> 6, mode & 7);
    let displacement = match addressing {
        0 if register == 5 => return false,
        0 | 3 => 0,
        1 => 1,
        _ => 4,
    };
    let index = usize::from(addressing != 3 && register == 4);
    mode >> 3 & 7 == 4 && operand.len() == index + displacement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_the_jump_over_the_epilogue() {
        let mut code = vec![
            0x55, 0x48, 0x89, 0xe5, 0x90, 0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0,
        ];
        let exits = [ExitRange { start: 5, end: 11 }];
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(4));
        assert_eq!(code[4..], [0x90, 0xff, 0xe0, 0xcc, 0xcc, 0xcc, 0xcc]);
    }

    #[test]
    fn bytes_of_an_epilogue_elsewhere_stay() {
        let mut code = vec![
            0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0, 0, 0, 0x48,
            0x89, 0xec, 0x5d, 0xc3,
        ];
        let exits = [ExitRange { start: 14, end: 19 }];
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(4));
        assert_eq!(
            code[4..14],
            [0x48, 0xb8, 0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0, 0, 0]
        );
        assert_eq!(code[14], 0xc3);
    }

    #[test]
    fn a_spilling_function_keeps_its_frame() {
        let mut code = vec![
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xec, 0x5d, 0xc3,
        ];
        let before = code.clone();
        let exits = [ExitRange { start: 8, end: 13 }];
        assert_eq!(strip_frame(&mut code, &exits, &mut []), None);
        assert_eq!(code, before);
    }
}
