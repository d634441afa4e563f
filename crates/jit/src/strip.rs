//! Takes the native frame out of a function that only tail-calls.
//!
//! On x86-64 Cranelift opens every function with `push rbp; mov rbp, rsp` and closes each exit with
//! `mov rsp, rbp; pop rbp` before the jump; in between it saves and restores the registers that a callee of C keeps
//! and that the function uses. A function that spills nothing needs none of this, even if it calls: the stubs that
//! segments call align the stack themselves, and [`canny_llint::enter`] keeps C's registers for all code that runs
//! beneath it. The prologue stays as dead bytes before the entry, so that constants behind the code keep their
//! alignment, and each exit's jump moves over its epilogue.
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
    let frame = Frame::read(code)?;
    if exits.is_empty() {
        return None;
    }
    let mut moves = Vec::with_capacity(exits.len());
    for exit in exits {
        let epilogue = frame.epilogue(&code[exit.start..exit.end])?;
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

/// The frame that a function without spilled values has.
struct Frame {
    /// Bytes of the prologue.
    prologue: usize,
    /// What each exit does before its jump.
    epilogue: Vec<u8>,
}

impl Frame {
    fn read(code: &[u8]) -> Option<Frame> {
        let mut rest = code.strip_prefix(&PROLOGUE)?;
        let mut epilogue = Vec::new();
        if let [0x48, 0x83, 0xec, bytes, saves @ ..] = rest {
            rest = saves;
            let mut saved = 0;
            while let Some(save) = save_of_register(rest, saved) {
                // A load differs from the store in its opcode.
                epilogue.extend_from_slice(save);
                let opcode = epilogue.len() - save.len() + 1;
                epilogue[opcode] = 0x8b;
                rest = &rest[save.len()..];
                saved += 8;
            }
            if saved.next_multiple_of(16) != *bytes {
                return None;
            }
            epilogue.extend_from_slice(&[0x48, 0x83, 0xc4, *bytes]);
        } else if rest.starts_with(&[0x48, 0x81, 0xec]) {
            return None;
        }
        epilogue.extend_from_slice(&EPILOGUE);
        Some(Frame {
            prologue: code.len() - rest.len(),
            epilogue,
        })
    }

    /// Where the epilogue stands in an exit, whose last bytes are its jump.
    fn epilogue(&self, exit: &[u8]) -> Option<std::ops::Range<usize>> {
        (1..=exit.len()).rev().find_map(|length| {
            let (before, jump) = exit.split_at(exit.len() - length);
            let found = before.ends_with(&self.epilogue) && is_movable_jump(jump);
            found.then(|| before.len() - self.epilogue.len()..before.len())
        })
    }
}

/// The instruction at the start of the bytes, if it is `mov [rsp + offset], register` with a register that a callee of C
/// keeps.
fn save_of_register(code: &[u8], offset: u8) -> Option<&[u8]> {
    let length = if offset == 0 { 4 } else { 5 };
    let save = code.get(..length)?;
    let (&[rex, opcode, mode, scale], displacement) = save.split_first_chunk::<4>()?;
    let register = mode >> 3 & 7 | (rex & 4) << 1;
    let is_save = rex & 0xfb == 0x48
        && opcode == 0x89
        && mode & 7 == 4
        && mode >> 6 == u8::from(offset != 0)
        && scale == 0x24
        && matches!(register, 3 | 12..=15);
    (is_save && displacement.iter().all(|byte| *byte == offset)).then_some(save)
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
    fn saved_registers_go_with_the_frame() {
        let save = [0x48, 0x89, 0x1c, 0x24, 0x4c, 0x89, 0x64, 0x24, 8];
        let restore = [0x48, 0x8b, 0x1c, 0x24, 0x4c, 0x8b, 0x64, 0x24, 8];
        let mut code = PROLOGUE.to_vec();
        code.extend([0x48, 0x83, 0xec, 0x10]);
        code.extend(save);
        let entry = code.len();
        code.push(0x90);
        let start = code.len();
        code.extend(restore);
        code.extend([0x48, 0x83, 0xc4, 0x10]);
        code.extend(EPILOGUE);
        code.extend([0xff, 0xe0]);
        let exits = [ExitRange {
            start,
            end: code.len(),
        }];
        assert_eq!(strip_frame(&mut code, &exits, &mut []), Some(entry));
        assert_eq!(code[entry..entry + 4], [0x90, 0xff, 0xe0, TRAP]);
    }

    #[test]
    fn a_function_that_saves_and_spills_keeps_its_frame() {
        let mut code = PROLOGUE.to_vec();
        code.extend([0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x1c, 0x24]);
        let start = code.len();
        code.extend([0x48, 0x8b, 0x1c, 0x24, 0x48, 0x83, 0xc4, 0x20]);
        code.extend(EPILOGUE);
        code.push(0xc3);
        let before = code.clone();
        let exits = [ExitRange {
            start,
            end: code.len(),
        }];
        assert_eq!(strip_frame(&mut code, &exits, &mut []), None);
        assert_eq!(code, before);
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
