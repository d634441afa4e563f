//! Register code as text, an instruction in a line.
//!
//! Slots are numbers behind a percent sign, `acc` is an accumulator, targets are offsets in bytes from
//! the function's beginning. With debug information, comments have lines of source text.

use std::fmt::Write;

use canny_tables::guest::{
    Access, Atomic, Number, Opcode, Place, Plain, Runtime, Shape, Vector, VectorPlain,
};

use crate::code::{Clause, read16, read32};
use crate::error::Error;
use crate::handlers;
use crate::module::Module;
use crate::places::{Located, Spot};
use crate::translate;

/// The code of one of a module's functions, by its index; nothing for an import.
pub fn listing(module: &Module, index: u32) -> Result<Option<String>, Error> {
    let imported = module.parts().imported_functions as u32;
    let Some(own_index) = index.checked_sub(imported) else {
        return Ok(None);
    };
    // The code that runs may lead to machine code.
    let body = translate::function(module, own_index)?;
    let mut sources = Sources::new(module, own_index);
    let text = text(&body.copy(), &mut sources) + &clauses(&body.clauses);
    Ok(Some(text))
}

/// The same, with the line, from 1, of the last instruction from an offset in the module's bytes; that of
/// the first instruction if there is none.
pub fn listing_with_line(
    module: &Module,
    index: u32,
    offset: u32,
) -> Result<Option<(String, u32)>, Error> {
    let imported = module.parts().imported_functions as u32;
    let (Some(text), Some(own_index)) = (listing(module, index)?, index.checked_sub(imported))
    else {
        return Ok(None);
    };
    let sources = Sources::new(module, own_index);
    let line_of = |line: &str| {
        let byte: u32 = line.trim_start().split(' ').next()?.parse().ok()?;
        sources.offset(byte / 8)
    };
    let lines = text.lines().enumerate();
    let of_offset = lines.filter(|(_, line)| line_of(line) == Some(offset));
    let found = of_offset.last().map_or(0, |(number, _)| number);
    Ok(Some((text, 1 + found as u32)))
}

/// Lines of source text for comments.
struct Sources<'m> {
    module: &'m Module,
    own_index: u32,
    last: Option<String>,
}

impl<'m> Sources<'m> {
    fn new(module: &'m Module, own_index: u32) -> Sources<'m> {
        Sources {
            module,
            own_index,
            last: None,
        }
    }

    /// The offset of the instruction at a place in the module's bytes.
    fn offset(&self, word: u32) -> Option<u32> {
        let located = Located {
            module: self.module.clone(),
            own_index: self.own_index,
            spot: Spot::Word(word),
        };
        located.offset()
    }

    /// The line of the instruction at a place, if another one came before.
    fn change(&mut self, word: u32) -> Option<String> {
        let frames = self.module.source_frames(self.offset(word)?);
        let place = frames.first()?.place.as_ref()?;
        let line = format!("{}:{}", place.file, place.line);
        if self.last.as_ref() == Some(&line) {
            return None;
        }
        self.last = Some(line.clone());
        Some(line)
    }
}

/// The clauses that catch exceptions, each in a line.
fn clauses(clauses: &[Clause]) -> String {
    let mut out = String::new();
    for clause in clauses {
        let tag = clause
            .tag
            .map_or("all".to_owned(), |tag| format!("tag {tag}"));
        let reference = if clause.takes_reference { " ref" } else { "" };
        let [start, end, target] = [clause.start, clause.end, clause.target].map(|word| 8 * word);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "       catch{reference} {tag} from {start} to {end}: %{} -> {target}",
            clause.slot
        );
    }
    out
}

fn text(words: &[u64], sources: &mut Sources) -> String {
    let mut out = String::new();
    let mut place = 0;
    while let Some(opcode) = words.get(place).and_then(|word| handlers::opcode(*word)) {
        let instruction = &words[place..];
        let operands = operands(opcode, instruction, 8 * place);
        if let Some(line) = sources.change(place as u32) {
            let _ = writeln!(out, "       ; {line}");
        }
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:6} {} {operands}", 8 * place, opcode.name());
        place += opcode.bytes() / 8;
        if opcode == Opcode::Plain(Plain::JumpTable) {
            place += (read32(instruction, 12) as usize + 1).div_ceil(2);
        }
    }
    out
}

/// An accumulator.
const KEPT: &str = "acc";

/// The constant of an instruction with one.
fn constant(kind: Number, instruction: &[u64]) -> String {
    match kind {
        Number::F64 => f64::from_bits(instruction[2]).to_string(),
        Number::F32 => f32::from_bits(read32(instruction, 12)).to_string(),
        Number::I64 => (instruction[2] as i64).to_string(),
        // Constants that are vectors have an instruction of their own.
        Number::I32 | Number::V128 => (read32(instruction, 12) as i32).to_string(),
    }
}

fn operands(opcode: Opcode, instruction: &[u64], offset: usize) -> String {
    let slot = |at: usize| format!("%{}", read16(instruction, at));
    let target = |at: usize| offset as i64 + i64::from(read32(instruction, at) as i32);
    let to = |keeps: bool| if keeps { KEPT.to_owned() } else { slot(8) };
    let pair = |kind: Number, shape: Shape| {
        let constant = || constant(kind, instruction);
        let (x, y) = match shape {
            Shape::Slots => (slot(10), slot(12)),
            Shape::Right => (slot(10), constant()),
            Shape::Left => (constant(), slot(10)),
            Shape::KeptFirst => (KEPT.to_owned(), slot(12)),
            Shape::KeptSecond => (slot(10), KEPT.to_owned()),
            Shape::KeptRight => (KEPT.to_owned(), constant()),
            Shape::KeptLeft => (constant(), KEPT.to_owned()),
        };
        format!("{x} {y}")
    };
    let place = |access: Access, at: usize| match access {
        Access::Guarded => format!("{}+{}", slot(at), read32(instruction, 12)),
        Access::Kept => format!("{KEPT}+{}", read32(instruction, 12)),
        // Slots have eight bytes.
        Access::Frame => {
            let byte = read32(instruction, 12);
            format!("%{} byte {}", byte / 8, byte % 8)
        }
        Access::Sum => format!("({}+{})", slot(at), read32(instruction, 12) as i32),
        Access::Absolute => format!("+{}", read32(instruction, 12)),
        Access::Checked => format!(
            "{}+{} memory {}",
            slot(at),
            instruction[2],
            read16(instruction, 12)
        ),
    };
    match opcode {
        Opcode::Unary(_, takes, gives) => {
            let from = if takes { KEPT.to_owned() } else { slot(10) };
            format!("{} {from}", to(gives))
        }
        Opcode::Binary(op, shape, gives) => format!("{} {}", to(gives), pair(op.kind(), shape)),
        Opcode::Compare(op, shape) => format!("{} {}", slot(8), pair(op.kind(), shape)),
        Opcode::Branch(op, shape, _) => {
            let first = match shape {
                Shape::KeptFirst | Shape::KeptRight => KEPT.to_owned(),
                _ => slot(8),
            };
            let other = match (shape.has_constant(), op.kind()) {
                (false, _) => slot(10),
                (_, Number::F64) => f64::from_bits(instruction[2]).to_string(),
                (_, Number::F32) => f32::from_bits(instruction[2] as u32).to_string(),
                (_, Number::I64) => (instruction[2] as i64).to_string(),
                (_, Number::I32 | Number::V128) => (instruction[2] as i32).to_string(),
            };
            format!("{first} {other} -> {}", target(12))
        }
        Opcode::Load(_, access, target) => {
            format!("{} {}", to(target != Place::Slot), place(access, 10))
        }
        Opcode::Store(_, access, from) => {
            let value = if from == Place::Slot {
                slot(10)
            } else {
                KEPT.to_owned()
            };
            format!("{} {value}", place(access, 8))
        }
        Opcode::Vector(op) => vector(op, instruction, &slot, &place),
        Opcode::Atomic(op) => atomic(op, instruction, &slot),
        Opcode::Plain(op) => plain(op, instruction, &slot, &target),
        Opcode::Runtime(Runtime::NullTrap | Runtime::NullI31Trap) => String::new(),
        Opcode::Runtime(_) => format!(
            "{} {} {} {} {} {}",
            slot(8),
            slot(10),
            slot(12),
            slot(14),
            read32(instruction, 16),
            read32(instruction, 20)
        ),
    }
}

fn vector(
    op: Vector,
    instruction: &[u64],
    slot: &dyn Fn(usize) -> String,
    place: &dyn Fn(Access, usize) -> String,
) -> String {
    let kept_or = |keeps: bool, at: usize| if keeps { KEPT.to_owned() } else { slot(at) };
    let pair = |shape: Shape| match shape {
        Shape::KeptFirst => format!("{KEPT} {}", slot(12)),
        Shape::KeptSecond => format!("{} {KEPT}", slot(10)),
        _ => format!("{} {}", slot(10), slot(12)),
    };
    let bits = || format!("{:#018x} {:#018x}", instruction[2], instruction[3]);
    match op {
        Vector::Unary(_, takes, gives)
        | Vector::Test(_, takes, gives)
        | Vector::Splat(_, takes, gives) => {
            format!("{} {}", kept_or(gives, 8), kept_or(takes, 10))
        }
        Vector::Binary(_, shape, gives) | Vector::Replace(_, _, shape, gives) => {
            format!("{} {}", kept_or(gives, 8), pair(shape))
        }
        Vector::Ternary(_, takes, gives) => {
            let last = kept_or(takes, 14);
            format!("{} {} {} {last}", kept_or(gives, 8), slot(10), slot(12))
        }
        Vector::Shift(_, shape, gives) => {
            let takes = matches!(shape, Shape::KeptFirst | Shape::KeptRight);
            let count = if shape.has_constant() {
                read32(instruction, 12).to_string()
            } else {
                slot(12)
            };
            format!("{} {} {count}", kept_or(gives, 8), kept_or(takes, 10))
        }
        Vector::Shuffle(shape, gives) => {
            format!("{} {} {}", kept_or(gives, 8), pair(shape), bits())
        }
        Vector::Load(_, access, gives) => {
            format!("{} {}", kept_or(gives, 8), place(access, 10))
        }
        Vector::Store(access, takes) => {
            format!("{} {}", place(access, 8), kept_or(takes, 10))
        }
        Vector::Plain(op) => match op {
            VectorPlain::Select => {
                format!("{} {} {} if {}", slot(8), slot(10), slot(12), slot(14))
            }
            VectorPlain::Copy => format!("{} {}", slot(8), slot(10)),
            VectorPlain::Constant => format!("{} {}", slot(8), bits()),
            VectorPlain::GlobalGet | VectorPlain::GlobalSet => {
                format!("{} {}", slot(8), read32(instruction, 12))
            }
        },
    }
}

fn atomic(op: Atomic, instruction: &[u64], slot: &dyn Fn(usize) -> String) -> String {
    let mut parts = Vec::new();
    if op.operation.has_result() {
        parts.push(slot(8));
    }
    let place = match op.access {
        Access::Checked => format!(
            "{}+{} memory {}",
            slot(10),
            instruction[2],
            read16(instruction, 24)
        ),
        _ => format!("{}+{}", slot(10), read32(instruction, 16)),
    };
    parts.push(place);
    parts.extend((0..op.operation.operands()).map(|index| slot(12 + 2 * index)));
    parts.join(" ")
}

fn plain(
    op: Plain,
    instruction: &[u64],
    slot: &dyn Fn(usize) -> String,
    target: &dyn Fn(usize) -> i64,
) -> String {
    match op {
        Plain::Enter => format!(
            "{} bytes, {} zeros from {}",
            read32(instruction, 8),
            read16(instruction, 14),
            slot(12)
        ),
        Plain::Return => slot(8),
        Plain::Jump => format!("-> {}", target(12)),
        Plain::JumpTable => {
            let count = read32(instruction, 12) as usize + 1;
            let targets: Vec<String> = (0..count)
                .map(|number| target(16 + 4 * number).to_string())
                .collect();
            format!("{} -> {}", slot(8), targets.join(" "))
        }
        Plain::Select => format!("{} {} {} if {}", slot(8), slot(10), slot(12), slot(14)),
        Plain::Copy => format!("{} {}", slot(8), slot(10)),
        Plain::Constant32 => format!("{} {}", slot(8), read32(instruction, 12) as i32),
        Plain::Constant64 => format!("{} {:#x}", slot(8), instruction[2]),
        Plain::GlobalGet | Plain::GlobalSet | Plain::MemorySize => {
            format!("{} {}", slot(8), read32(instruction, 12))
        }
        Plain::Call | Plain::CallImport => {
            format!("{} function {}", slot(8), read32(instruction, 12))
        }
        Plain::CallIndirect => {
            format!("{} table {} {}", slot(8), read16(instruction, 14), slot(12))
        }
        Plain::CallReference => format!("{} {}", slot(8), slot(12)),
        Plain::TailCall | Plain::TailCallImport => {
            format!("{} function {}", slot(12), read32(instruction, 16))
        }
        Plain::TailCallIndirect => format!(
            "{} table {} {}",
            slot(12),
            read16(instruction, 18),
            slot(16)
        ),
        Plain::TailCallReference => format!("{} {}", slot(12), slot(16)),
        Plain::Finish
        | Plain::ReturnNative
        | Plain::ReturnAcross
        | Plain::Unreachable
        | Plain::Fence => String::new(),
    }
}
