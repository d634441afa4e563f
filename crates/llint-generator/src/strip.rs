//! Takes the frame out of a handler that only tail-calls.
//!
//! On x86-64 Cranelift opens every function with `push rbp; mov rbp, rsp` and closes each exit with
//! `mov rsp, rbp; pop rbp` before the jump. A handler that neither calls nor spills does not need
//! either. The prologue is dropped, and at each exit the jump moves over the epilogue.
//! A function that uses the stack in any other way is refused, so a fast handler that grew a frame
//! fails the build.

use cranelift_module::ModuleReloc;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};

const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
const EPILOGUE: [u8; 4] = [0x48, 0x89, 0xec, 0x5d];

/// The places of everything behind the prologue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offsets {
    /// They move to the beginning.
    Moved,
    /// They stay, so that constants in the code stay aligned, if there are any.
    Kept,
}

/// An instruction of four bytes that does nothing.
const NOTHING: [u8; 4] = [0x0f, 0x1f, 0x40, 0x00];

/// Strips `code` in place; gives what is wrong with it otherwise.
pub fn strip_frame(
    code: &mut Vec<u8>,
    relocations: &mut [ModuleReloc],
    offsets: Offsets,
) -> Result<(), String> {
    if !code.starts_with(&PROLOGUE) {
        return Err("no prologue to strip".into());
    }
    if code.len() > 8 && is_stack_adjustment(&code[4..]) {
        return Err("the handler needs a stack frame (it spills registers)".into());
    }
    let mut at = 4;
    let mut exits = 0;
    while at + 4 < code.len() {
        if code[at..at + 4] != EPILOGUE {
            at += 1;
            continue;
        }
        let jump = exit_length(&code[at + 4..]).ok_or_else(|| {
            format!(
                "an epilogue is followed by {:02x?}",
                &code[at + 4..code.len().min(at + 8)]
            )
        })?;
        for relocation in relocations.iter_mut() {
            let offset = relocation.offset as usize;
            if offset >= at + 4 && offset < at + 4 + jump {
                relocation.offset -= 4;
            }
        }
        code.copy_within(at + 4..at + 4 + jump, at);
        code[at + jump..at + jump + 4].fill(0xcc);
        exits += 1;
        at += jump + 4;
    }
    if exits == 0 {
        return Err("no exit found".into());
    }
    if offsets == Offsets::Kept && reads_constants(code) {
        code[..4].copy_from_slice(&NOTHING);
        return Ok(());
    }
    code.drain(..4);
    for relocation in relocations.iter_mut() {
        relocation.offset -= 4;
    }
    Ok(())
}

/// Whether some instruction reads memory that lies with the code, or takes the address of an aligned place
/// behind itself, as those do that read a table of constants.
fn reads_constants(code: &[u8]) -> bool {
    Decoder::new(64, code, DecoderOptions::NONE)
        .iter()
        .filter(|instruction| instruction.is_ip_rel_memory_operand())
        .any(|instruction| {
            let place = instruction.ip_rel_memory_address();
            let behind = instruction.next_ip() + 1..code.len() as u64;
            let is_table = behind.contains(&place) && place.is_multiple_of(16);
            instruction.mnemonic() != Mnemonic::Lea || is_table
        })
}

/// Whether the bytes are `sub rsp, imm`.
fn is_stack_adjustment(code: &[u8]) -> bool {
    code.starts_with(&[0x48, 0x83, 0xec]) || code.starts_with(&[0x48, 0x81, 0xec])
}

/// Length of the jump or return that follows an epilogue.
fn exit_length(code: &[u8]) -> Option<usize> {
    match code {
        [0xff, modrm, ..] if modrm & 0xf8 == 0xe0 => Some(2),
        [0x41, 0xff, modrm, ..] if modrm & 0xf8 == 0xe0 => Some(3),
        [0xe9, ..] => Some(5),
        [0xc3, ..] => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Offsets, strip_frame};

    #[test]
    fn moves_the_jump_over_the_epilogue() {
        let mut code = vec![
            0x55, 0x48, 0x89, 0xe5, 0x90, 0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0,
        ];
        strip_frame(&mut code, &mut [], Offsets::Moved).unwrap();
        assert_eq!(code, [0x90, 0xff, 0xe0, 0xcc, 0xcc, 0xcc, 0xcc]);
    }

    #[test]
    fn refuses_a_spilling_handler() {
        let mut code = vec![0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0xc3];
        assert!(strip_frame(&mut code, &mut [], Offsets::Moved).is_err());
        assert!(strip_frame(&mut vec![0x90, 0xc3], &mut [], Offsets::Moved).is_err());
    }
}
