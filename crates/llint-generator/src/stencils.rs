//! Stencils: machine code of handlers with holes for the operands, from which code is put together at
//! run time without a code generator.
//!
//! A stencil is a fast handler compiled once more. Where the handler would decode a field, there is a
//! constant that names the field ([`mark`]), and where it would dispatch the next instruction,
//! a jump to a function that does not exist. This module finds both in the machine code. The usual way
//! through a stencil ends at its end, and what is rare stands in a part of its own.

use canny_tables::stencils::{Hole, Patch};
use cranelift_codegen::ir::{self, InstructionData, Opcode as IrOpcode, Value};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};

/// The constant that stands for an operand while the stencil is compiled. The code generator may add
/// small numbers to it.
pub fn mark(hole: Hole) -> i64 {
    let base = if hole.is_wide() {
        WIDE_MARK
    } else {
        NARROW_MARK
    };
    base | (hole as i64) << 12 | MIDDLE
}

/// The operand that a constant stands for, and what was added to it.
fn find(constant: u64, is_wide: bool) -> Option<(Hole, i32)> {
    let base = if is_wide { WIDE_MARK } else { NARROW_MARK };
    let rest = (constant as i64).wrapping_sub(base);
    if !(0..0x1_0000).contains(&rest) {
        return None;
    }
    let hole = *Hole::ALL.get((rest >> 12) as usize)?;
    (hole.is_wide() == is_wide).then_some((hole, ((rest & 0xfff) - MIDDLE) as i32))
}

const NARROW_MARK: i64 = 0x41a5_0000;
const WIDE_MARK: i64 = 0x41a5_5a41_6c9e_0000;
const MIDDLE: i64 = 0x800;

/// A part of a stencil: its code, and what belongs where in it.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Machine code.
    pub code: Vec<u8>,
    /// Offsets and what belongs there.
    pub patches: Vec<(u32, Patch)>,
}

/// A stencil.
#[derive(Clone, Debug, Default)]
pub struct Stencil {
    /// Ends where the next instruction begins.
    pub usual: Part,
    /// Stands elsewhere.
    pub rare: Part,
    /// The instruction's word has to be in its register.
    pub needs_word: bool,
    /// The address behind that word has to be in its register.
    pub needs_pc: bool,
}

/// Whether an instruction reads one of the handler's first values, other than to pass it on.
pub fn reads(function: &ir::Function, value: Value) -> bool {
    let instructions = function
        .layout
        .blocks()
        .flat_map(|block| function.layout.block_insts(block));
    instructions
        .filter(|inst| function.dfg.insts[*inst].opcode() != IrOpcode::ReturnCall)
        .any(|inst| {
            let arguments = function.dfg.inst_args(inst);
            match &function.dfg.insts[inst] {
                // The registers that a real dispatch passes on are its own, or do not matter.
                InstructionData::CallIndirect { .. } => arguments.first() == Some(&value),
                _ => arguments.contains(&value),
            }
        })
}

/// The ways out of a stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Next,
    Taken,
    Slow,
}

/// Takes machine code without a frame apart. `exits` are the offsets of displacements that lead to
/// exits.
pub fn take_apart(code: &[u8], exits: &[(u32, Exit)]) -> Result<(Part, Part), String> {
    let instructions = decode(code, exits)?;
    let jump_at = |target: u32| {
        let found = instructions.iter().find(|one| one.offset == target)?;
        (found.is_plain_jump).then_some(found.exit?)
    };
    let is_usual_end = |one: &Decoded| one.is_plain_jump && one.exit == Some(Exit::Next);
    let end = instructions.iter().find(|one| is_usual_end(one));
    // Without such an end, everything is usual.
    let split = end.map_or(code.len() as u32, |one| one.offset);
    let mut parts = [Part::default(), Part::default()];
    let mut moved: Vec<(u32, usize, u32)> = Vec::new();
    let mut waiting = Vec::new();
    let targets: Vec<u32> = instructions
        .iter()
        .filter_map(|one| one.target.filter(|target| jump_at(*target).is_none()))
        .collect();
    for (index, one) in instructions.iter().enumerate() {
        let is_end = end.is_some_and(|end| end.offset == one.offset);
        let falls_in = index == 0 || !instructions[index - 1].ends;
        // Jumps to exits that only other jumps lead to are not needed: those go to the exit.
        let is_relay = one.is_plain_jump && one.exit.is_some() && !falls_in;
        if is_end || (is_relay && !targets.contains(&one.offset)) {
            continue;
        }
        let side = usize::from(one.offset > split);
        let part = &mut parts[side];
        let start = part.code.len() as u32;
        moved.push((one.offset, side, start));
        part.code
            .extend(&code[one.offset as usize..(one.offset + one.length) as usize]);
        for (offset, patch) in &one.operands {
            part.patches.push((start + offset, *patch));
        }
        if let Some(field) = one.displacement {
            let to = match (one.exit, one.target) {
                (Some(exit), _) => Ok(exit),
                (None, Some(target)) => jump_at(target).ok_or(target),
                (None, None) => return Err("a displacement leads nowhere".into()),
            };
            match to {
                Ok(Exit::Next) => part.patches.push((start + field, Patch::Next)),
                Ok(Exit::Taken) => part.patches.push((start + field, Patch::Taken)),
                Ok(Exit::Slow) => part.patches.push((start + field, Patch::Slow)),
                Err(target) => waiting.push((side, start + field, target)),
            }
        }
    }
    for (side, field, target) in waiting {
        let found = moved.iter().find(|(offset, ..)| *offset == target);
        let patch = match found {
            Some((_, 0, start)) => Patch::Usual(*start),
            Some((_, _, start)) => Patch::Rare(*start),
            None => return Err(format!("a jump to {target:#x} leads into nothing")),
        };
        parts[side].patches.push((field, patch));
    }
    let [usual, rare] = parts;
    Ok((usual, rare))
}

struct Decoded {
    offset: u32,
    length: u32,
    /// It never continues behind itself.
    ends: bool,
    is_plain_jump: bool,
    exit: Option<Exit>,
    /// Offset of the displacement of a jump in the instruction.
    displacement: Option<u32>,
    target: Option<u32>,
    operands: Vec<(u32, Patch)>,
}

fn decode(code: &[u8], exits: &[(u32, Exit)]) -> Result<Vec<Decoded>, String> {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut all = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let (offset, length) = (instruction.ip() as u32, instruction.len() as u32);
        if instruction.is_invalid() {
            return Err(format!("no instruction at {offset:#x}"));
        }
        // Padding between exits.
        if instruction.flow_control() == FlowControl::Interrupt {
            continue;
        }
        let places = decoder.get_constant_offsets(&instruction);
        let inside = |field: u32| field >= offset && field < offset + length;
        let exit = exits.iter().find(|(field, _)| inside(*field));
        let is_jump = instruction.is_jmp_near() || instruction.is_jcc_near();
        if instruction.is_jmp_short() || instruction.is_jcc_short() {
            return Err(format!("a short jump at {offset:#x}"));
        }
        if instruction.is_ip_rel_memory_operand() || instruction.is_call_near() {
            return Err(format!("code that depends on its place at {offset:#x}"));
        }
        let mut operands = Vec::new();
        for (field, size) in [
            (places.displacement_offset(), places.displacement_size()),
            (places.immediate_offset(), places.immediate_size()),
        ] {
            if is_jump || size < 4 {
                continue;
            }
            let at = offset as usize + field;
            let constant = match size {
                4 => u32::from_le_bytes(code[at..at + 4].try_into().unwrap_or_default()).into(),
                _ => u64::from_le_bytes(code[at..at + 8].try_into().unwrap_or_default()),
            };
            if let Some((hole, addend)) = find(constant, size == 8) {
                if hole.is_signed() && instruction.code() == Code::Mov_r32_imm32 {
                    return Err(format!("a signed operand is not extended at {offset:#x}"));
                }
                operands.push((field as u32, Patch::Operand(hole, addend)));
            }
        }
        all.push(Decoded {
            offset,
            length,
            ends: matches!(
                instruction.flow_control(),
                FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
                    | FlowControl::Return
            ),
            is_plain_jump: instruction.is_jmp_near(),
            exit: exit.map(|(_, exit)| *exit),
            displacement: is_jump.then(|| length - 4),
            target: (is_jump && exit.is_none()).then(|| instruction.near_branch_target() as u32),
            operands,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use canny_tables::opcodes::Opcode;
    use canny_tables::stencils::{Hole, Patch};

    use super::{Exit, Stencil, find, mark, take_apart};
    use crate::emit::stencils;

    fn stencil(opcode: Opcode) -> Stencil {
        let all = stencils("x86_64-unknown-linux-gnu").unwrap();
        all[opcode as usize].clone().unwrap().0
    }

    fn holes(stencil: &Stencil) -> Vec<Hole> {
        let patches = stencil.usual.patches.iter().chain(&stencil.rare.patches);
        let mut holes: Vec<Hole> = patches
            .filter_map(|(_, patch)| match patch {
                Patch::Operand(hole, _) => Some(*hole),
                _ => None,
            })
            .collect();
        holes.sort_by_key(|hole| *hole as u8);
        holes.dedup();
        holes
    }

    #[test]
    fn marks_are_told_apart_from_each_other_and_from_sums() {
        for hole in Hole::ALL {
            let mark = mark(hole);
            for added in [-8, 0, 8, 100] {
                let constant = (mark + added) as u64;
                assert_eq!(find(constant, hole.is_wide()), Some((hole, added as i32)));
                assert_eq!(find(constant, !hole.is_wide()), None);
            }
        }
        assert_eq!(find(0, false), None);
        assert_eq!(find(u64::MAX, true), None);
    }

    #[test]
    fn stencils_have_places_for_the_operands_of_their_rows() {
        assert_eq!(holes(&stencil(Opcode::Move)), [Hole::A, Hole::B]);
        assert_eq!(holes(&stencil(Opcode::Add)), [Hole::A, Hole::B, Hole::C]);
        assert_eq!(
            holes(&stencil(Opcode::AddImmediate)),
            [Hole::A, Hole::B, Hole::CFixnum]
        );
        assert_eq!(
            holes(&stencil(Opcode::GlobalRef)),
            [Hole::A, Hole::PoolWide]
        );
        assert_eq!(
            holes(&stencil(Opcode::Call)),
            [Hole::A, Hole::CountB, Hole::Return, Hole::PlainLoop]
        );
        assert_eq!(
            holes(&stencil(Opcode::Loop)),
            [Hole::Behind, Hole::PlainLoop]
        );
    }

    #[test]
    fn the_usual_part_runs_into_the_next_instruction() {
        let add = stencil(Opcode::Add);
        let leads_on = |patches: &[(u32, Patch)]| patches.iter().any(|(_, it)| *it == Patch::Next);
        assert!(!leads_on(&add.usual.patches));
        assert!(leads_on(&add.rare.patches));
        assert!(stencil(Opcode::Nop).usual.code.is_empty());
    }

    #[test]
    fn jumps_to_exits_go_there_at_once() {
        // jz +5; jmp next; jmp slow
        let code = [0x0f, 0x84, 5, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0];
        let (usual, rare) = take_apart(&code, &[(7, Exit::Next), (12, Exit::Slow)]).unwrap();
        assert_eq!(usual.code, code[..6]);
        assert_eq!(usual.patches, [(2, Patch::Slow)]);
        assert!(rare.code.is_empty());
    }

    #[test]
    fn code_that_depends_on_its_place_is_refused() {
        // mov rax, [rip+0]; jmp next
        let code = [0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0];
        assert!(take_apart(&code, &[(8, Exit::Next)]).is_err());
        // mov eax, WideWord, which may be negative; jmp next
        let mut code = vec![0xb8];
        code.extend((mark(Hole::WideWord) as u32).to_le_bytes());
        code.extend([0xe9, 0, 0, 0, 0]);
        assert!(take_apart(&code, &[(6, Exit::Next)]).is_err());
    }
}
