//! Bytecode as text.
//!
//! ```text
//! code 2 sum (items total) frame 5 captures 0      ; file.scm:3:1
//!   L0:
//!     jump-eq-immediate r0 () L1                   ; file.scm:4:3
//!     car r2 r0
//!     …
//! ```
//!
//! Registers are `rN`, branch targets are labels, pool operands show what the slot holds, and a
//! call ends with the registers that live across it. Any words can be shown: what cannot be
//! decoded is printed as a raw word.

use std::collections::BTreeMap;
use std::fmt::Write;

use canny_tables::layout;
use canny_tables::opcodes::{Extension, Operand};
use canny_tables::primitives;

use crate::instruction::{Instruction, instructions};
use crate::liveness::decode_live_map;
use crate::unit::{CodeBlock, CompiledUnit, Parameters, PoolEntry, UnitSpan};

/// The text of a whole unit, entry code last.
pub fn disassemble_unit(unit: &CompiledUnit) -> String {
    let mut text = String::new();
    let entry = unit.entry as usize;
    let others = (0..unit.codes.len()).filter(|index| *index != entry);
    for index in others.chain((entry < unit.codes.len()).then_some(entry)) {
        text.push_str(&disassemble_code(unit, index));
        text.push('\n');
    }
    text
}

/// The text of the code with this index in its unit.
pub fn disassemble_code(unit: &CompiledUnit, index: usize) -> String {
    let mut text = String::new();
    let Some(code) = unit.codes.get(index) else {
        return text;
    };
    let name = code.name.map_or("anonymous", |name| name.as_str());
    let parameters: Vec<String> = code.clauses.iter().map(parameters).collect();
    let _ = write!(text, "code {index} {name} {}", parameters.join(" "));
    let _ = write!(
        text,
        " frame {} captures {}",
        code.frame_words, code.captured
    );
    if let Some(span) = code.span {
        let _ = write!(text, " ; {}", position(unit, span));
    }
    text.push('\n');
    for row in rows(unit, code) {
        if let Some(label) = row.label {
            let _ = writeln!(text, "  L{label}:");
        }
        let line = &row.text;
        match row.span {
            Some(span) => {
                let _ = writeln!(text, "    {line:<36} ; {}", position(unit, span));
            }
            None => {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

/// An instruction as text.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of its first word.
    pub pc: usize,
    /// Number of its words.
    pub words: usize,
    /// The number of its label, if a branch leads to it.
    pub label: Option<usize>,
    /// Its name and operands.
    pub text: String,
    /// The expression that begins with it.
    pub span: Option<UnitSpan>,
}

/// The instructions of a code, in order. The last row may be one that cannot be decoded.
pub fn rows(unit: &CompiledUnit, code: &CodeBlock) -> Vec<Row> {
    let labels = labels(code);
    let mut positions = code.positions.iter().peekable();
    let mut rows = Vec::new();
    let mut end = 0;
    for decoded in instructions(&code.instructions) {
        let Ok(instruction) = decoded else {
            rows.push(Row {
                pc: end,
                words: 1,
                label: None,
                text: "undecodable".to_owned(),
                span: None,
            });
            break;
        };
        let here = positions.next_if(|(pc, _)| *pc as usize <= instruction.pc);
        // A record that is repeated says how the call is written.
        while let Some((pc, _)) = here
            && positions.next_if(|(next, _)| *next == pc).is_some()
        {}
        // Code of the machine has positions without a text.
        let here = here.filter(|(_, span)| span.start < span.end || !unit.sources.is_empty());
        end = instruction.next_pc();
        rows.push(Row {
            pc: instruction.pc,
            words: end - instruction.pc,
            label: labels.get(&instruction.pc).copied(),
            text: show_instruction(unit, code, &instruction, &labels),
            span: here.map(|(_, span)| span),
        });
    }
    rows
}

fn parameters(parameters: &Parameters) -> String {
    let mut words: Vec<String> = parameters
        .required
        .iter()
        .map(|name| name.to_string())
        .collect();
    if !parameters.optional.is_empty() {
        words.push("#:optional".to_owned());
        words.extend(parameters.optional.iter().map(|name| name.to_string()));
    }
    if !parameters.keywords.is_empty() || parameters.allow_other_keys {
        words.push("#:key".to_owned());
        words.extend(parameters.keywords.iter().map(|name| name.to_string()));
    }
    if parameters.allow_other_keys {
        words.push("#:allow-other-keys".to_owned());
    }
    if let Some(rest) = parameters.rest {
        words.push(format!(". {rest}"));
    }
    format!("({})", words.join(" "))
}

/// `file:line:column`, or byte offsets where lines are not known, and the procedures that the code was
/// copied from, innermost first.
fn position(unit: &CompiledUnit, span: UnitSpan) -> String {
    let mut text = place(unit, span);
    for row in unit.inlined_calls(span) {
        let name = row.procedure.map_or("anonymous", |name| name.as_str());
        let _ = write!(text, " in {name}");
    }
    text
}

fn place(unit: &CompiledUnit, span: UnitSpan) -> String {
    let Some(source) = unit.sources.get(span.source as usize) else {
        return format!("source {}:{}..{}", span.source, span.start, span.end);
    };
    match source.line_and_column(span.start) {
        Some((line, column)) => format!("{}:{line}:{column}", source.name),
        None => format!("{}:{}..{}", source.name, span.start, span.end),
    }
}

fn labels(code: &CodeBlock) -> BTreeMap<usize, usize> {
    let mut targets = BTreeMap::new();
    for instruction in instructions(&code.instructions).flatten() {
        if let Some(target) = instruction
            .branch_target()
            .and_then(|at| usize::try_from(at).ok())
        {
            targets.insert(target, 0);
        }
    }
    for (number, label) in targets.values_mut().enumerate() {
        *label = number;
    }
    targets
}

fn show_instruction(
    unit: &CompiledUnit,
    code: &CodeBlock,
    instruction: &Instruction,
    labels: &BTreeMap<usize, usize>,
) -> String {
    let row = instruction.row();
    let mut line = row.name.to_owned();
    let fields = [instruction.a(), instruction.b(), instruction.c()];
    for (operand, field) in row.operands.iter().zip(fields) {
        let _ = match operand {
            Operand::None | Operand::Offset24 => Ok(()),
            Operand::Def | Operand::DefBox | Operand::UseDef => write!(line, " r{field}"),
            Operand::Use | Operand::UseBox | Operand::UseCell | Operand::UseClosure => {
                write!(line, " r{field}")
            }
            Operand::Count | Operand::Positive | Operand::Flag | Operand::Unsigned8 => {
                write!(line, " {field}")
            }
            Operand::Signed8 => write!(line, " {}", field as u8 as i8),
            Operand::Signed16 => write!(line, " {}", instruction.wide() as i16),
            Operand::Word16 => {
                let word = i64::from(instruction.wide() as i16) as u64;
                write!(line, " {}", show_word(word))
            }
            Operand::Unsigned16 | Operand::Captured16 => write!(line, " {}", instruction.wide()),
            Operand::Constant16 | Operand::Cell16 | Operand::Name16 => {
                write!(line, " {}", pool_operand(unit, code, instruction))
            }
        };
    }
    for extension in row.extensions {
        let word = instruction.extension(*extension).unwrap_or(0);
        let _ = match extension {
            Extension::Offset => Ok(()),
            Extension::Constant | Extension::Code | Extension::Keywords | Extension::Name => {
                write!(line, " {}", pool_operand(unit, code, instruction))
            }
            Extension::Primitive => write!(line, " {}", primitive_name(word)),
            Extension::Number => write!(line, " {word}"),
            Extension::LiveMap => {
                let live = decode_live_map(word, instruction.a(), &code.wide_maps);
                let names: Vec<String> = live
                    .iter()
                    .flat_map(|live| live.iter().map(|register| format!("r{register}")))
                    .collect();
                write!(line, " live ({})", names.join(" "))
            }
        };
    }
    if let Some(target) = instruction.branch_target() {
        let label = usize::try_from(target)
            .ok()
            .and_then(|target| labels.get(&target));
        let _ = match label {
            Some(label) => write!(line, " L{label}"),
            None => write!(line, " {target}"),
        };
    }
    line
}

fn primitive_name(number: u32) -> &'static str {
    match primitives::all().get(number as usize) {
        Some(row) => row.name,
        None => "unknown-primitive",
    }
}

/// A tagged immediate word as a literal.
pub(crate) fn show_word(word: u64) -> String {
    let name = match word {
        layout::FALSE => "#f",
        layout::TRUE => "#t",
        layout::NIL => "()",
        layout::EOF => "#!eof",
        layout::UNSPECIFIED => "#!unspecific",
        layout::UNBOUND => "unbound",
        layout::ABSENT => "absent",
        layout::DEFAULT => "#!default",
        _ if word & 3 == 0 => return ((word as i64) >> layout::FIXNUM_SHIFT).to_string(),
        _ if word & 0xff == layout::CHARACTER_LOW_BYTE => {
            let point = char::from_u32((word >> 8) as u32).unwrap_or('\u{fffd}');
            return canny_syntax::datum::Datum::Character(point).to_string();
        }
        _ => return format!("{word:#x}"),
    };
    name.to_owned()
}

fn pool_operand(unit: &CompiledUnit, code: &CodeBlock, instruction: &Instruction) -> String {
    let entry = instruction
        .pool_index(code.pool.len())
        .and_then(|index| code.pool.get(index));
    entry.map_or_else(
        || "bad-slot".to_owned(),
        |entry| show_pool_entry(unit, entry),
    )
}

/// A pool slot as an operand.
pub(crate) fn show_pool_entry(unit: &CompiledUnit, entry: &PoolEntry) -> String {
    match entry {
        PoolEntry::Constant(index) => match unit.constants.get(*index as usize) {
            Some(datum) => format!("'{datum}"),
            None => "bad-constant".to_owned(),
        },
        PoolEntry::Global(global) => format!("{}:{}", global.library, global.name),
        PoolEntry::Code(index) => format!("code-{index}"),
        PoolEntry::Closure(index) => format!("closure-{index}"),
        PoolEntry::Primitive(number) => {
            format!("primitive-{}", primitive_name(u32::from(*number)))
        }
        PoolEntry::Keywords(description) => {
            let names: Vec<&str> = description.names.iter().map(|name| name.as_str()).collect();
            format!("keywords ({})", names.join(" "))
        }
    }
}
