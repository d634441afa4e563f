//! Bytecode for people who look at it in a debugger, instruction by instruction, with addresses.

use canny_compiler::disassemble::rows;
use canny_vm::{Position, Thread};

use crate::primitives::evaluation::literal;

/// An instruction.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where it is in memory.
    pub address: u64,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Its name and operands.
    pub text: String,
    /// The number of its label, if a branch leads to it.
    pub label: Option<usize>,
    /// The expression that begins with it.
    pub position: Option<Position>,
}

/// The instructions of the code that an address is in, with its name; none if it is in no bytecode.
pub fn bytecode_at(thread: &Thread, address: u64) -> Option<(String, Vec<Line>)> {
    let (start, unit) = thread.vm().unit_at_address(address, literal)?;
    let code = unit.codes.first()?;
    let name = code.name.map_or("anonymous", |name| name.as_str());
    let rows = rows(&unit, code).into_iter();
    let lines = rows.map(|row| Line {
        address: start + 4 * row.pc as u64,
        bytes: 4 * row.words as u64,
        text: row.text,
        label: row.label,
        position: row.span.and_then(|span| Position::of(&unit.sources, span)),
    });
    Some((name.to_owned(), lines.collect()))
}
