//! Puts counters into finished bytecode: into the standard library, which is compiled when Canny is
//! built.
//!
//! Entries, calls and calls of primitives are counted as the code generator does it. Copies that the
//! optimizer has made and jumps in place of calls cannot be told any more. Code in which a distance
//! would not fit its field any more stays as it is.

use canny_tables::layout::code::VARIADIC;
use canny_tables::opcodes::{
    Extension, Opcode, OpcodeFlags, Operand, encode_abc, encode_far, encode_wide, field_a,
    field_far,
};
use canny_tables::primitives::PrimitiveId;

use super::{Callee, Function, FunctionId, Ledger};
use crate::instruction::Instruction;
use crate::unit::{CodeBlock, CompiledUnit, PositionTableBuilder, find_written};

/// Makes the code of a unit of the standard library count its calls.
pub fn count_calls(unit: &mut CompiledUnit) {
    for index in 0..unit.codes.len() {
        let code = &unit.codes[index];
        let line = code.span.and_then(|span| {
            let source = unit.sources.get(span.source as usize)?;
            let (line, _) = source.line_and_column(span.start)?;
            Some((source.name.clone(), line))
        });
        let (file, line) = match line {
            Some((file, line)) => (file, line),
            None => (unit.name.as_str().to_owned(), 0),
        };
        let function = Ledger::get().function(Function {
            name: code.name.map_or("lambda", |name| name.as_str()).to_owned(),
            file: Some(file),
            line,
            is_standard: true,
        });
        if let Some(counting) = counting_code(code, function) {
            unit.codes[index] = counting;
        }
    }
}

/// New words, and where old ones are in them.
#[derive(Default)]
struct Rewritten {
    words: Vec<u32>,
    /// For each old word index, where jumps to it go.
    targets: Vec<usize>,
    /// For each old word index, where the word is.
    places: Vec<usize>,
}

impl Rewritten {
    fn count(&mut self, first_word: u32, counter: u32) {
        self.words.extend([first_word, counter]);
    }

    fn count_entry(&mut self, function: FunctionId) -> Option<()> {
        let counter = Ledger::get().entry(function)?;
        self.count(encode_abc(Opcode::Count, 1, 0, 0), counter);
        Some(())
    }
}

/// The code with counters; nothing if it cannot have them.
fn counting_code(code: &CodeBlock, function: FunctionId) -> Option<CodeBlock> {
    let old = &code.instructions;
    let mut new = Rewritten::default();
    if code.arity != VARIADIC {
        new.count_entry(function)?;
    }
    let mut pc = 0;
    while pc < old.len() {
        let instruction = Instruction::decode(old, pc).ok()?;
        new.targets.push(new.words.len());
        count_before(&mut new, &instruction, function)?;
        for (at, word) in old[pc..instruction.next_pc()].iter().enumerate() {
            new.places.push(new.words.len());
            if at > 0 {
                new.targets.push(new.words.len());
            }
            new.words.push(*word);
        }
        if instruction.row().window.is_entry() {
            new.count_entry(function)?;
        }
        pc = instruction.next_pc();
    }
    new.places.push(new.words.len());
    new.targets.push(new.words.len());
    let mut pc = 0;
    while pc < old.len() {
        let instruction = Instruction::decode(old, pc).ok()?;
        mend(&mut new, &instruction)?;
        pc = instruction.next_pc();
    }
    Some(finished(code, new))
}

/// Counts the call that an instruction makes.
fn count_before(
    new: &mut Rewritten,
    instruction: &Instruction,
    function: FunctionId,
) -> Option<()> {
    let opcode = instruction.opcode;
    if let Some((number, _)) = instruction.primitive_call() {
        let callee = Callee::Primitive(PrimitiveId(u16::try_from(number).ok()?));
        let counter = Ledger::get().edge(function, callee)?;
        new.count(encode_abc(Opcode::Count, 0, 0, 0), counter);
    } else if opcode.has(OpcodeFlags::CALLS) && !opcode.has(OpcodeFlags::MACHINE) {
        let site = Ledger::get().site(function)?;
        let (callee, arguments) = (instruction.a() as u8, instruction.b() as u8);
        new.count(encode_abc(Opcode::CountCall, callee, arguments, 0), site);
    }
    Some(())
}

/// Corrects the distances of an instruction.
fn mend(new: &mut Rewritten, instruction: &Instruction) -> Option<()> {
    let place = new.places[instruction.pc];
    if let Some((distance, from)) = instruction.pool_reference() {
        let moved = new.places[from - 1] + 1 - from;
        let distance = distance as usize + moved;
        match instruction.pool_extension_pc() {
            Some(at) => new.words[new.places[at]] = u32::try_from(distance).ok()?,
            None => {
                let distance = u16::try_from(distance).ok()?;
                let a = field_a(instruction.first_word());
                new.words[place] = encode_wide(instruction.opcode, a, distance);
            }
        }
    }
    if let Some(target) = instruction.branch_target() {
        let target = *new.targets.get(usize::try_from(target).ok()?)?;
        let behind = new.places[instruction.next_pc() - 1] + 1;
        let offset = target as i64 - behind as i64;
        if instruction.row().operands[0] == Operand::Offset24 {
            let word = encode_far(instruction.opcode, i32::try_from(offset).ok()?);
            if i64::from(field_far(word)) != offset {
                return None;
            }
            new.words[place] = word;
        } else {
            let at = instruction.extension_pc(Extension::Offset)?;
            new.words[new.places[at]] = i32::try_from(offset).ok()? as u32;
        }
    }
    Some(())
}

fn finished(code: &CodeBlock, new: Rewritten) -> CodeBlock {
    let moved = |pc: u32| {
        new.places
            .get(pc as usize)
            .map_or(pc, |place| *place as u32)
    };
    let mut counting = code.clone();
    let mut positions = PositionTableBuilder::default();
    for (pc, span) in code.positions.iter() {
        let written = find_written(code.positions.bytes(), pc);
        positions.add_written(moved(pc), span, written);
    }
    counting.positions = positions.finish();
    for (pc, _) in &mut counting.expanded {
        *pc = moved(*pc);
    }
    for scope in &mut counting.variables {
        (scope.start, scope.end) = (moved(scope.start), moved(scope.end));
    }
    counting.instructions = new.words;
    counting
}
