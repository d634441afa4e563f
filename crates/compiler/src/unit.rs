//! Compiled units: what the compiler hands to the loader, and what a cache stores.
//!
//! A [`CompiledUnit`] is plain data: no reference to the heap, the expander or this process. The
//! loader makes one code object for each [`CodeBlock`], one closure for each block that some pool
//! mentions as [`PoolEntry::Closure`] (before it fills the pools: they may refer to each other),
//! one object for each element of [`CompiledUnit::constants`], and then calls a closure over
//! [`CompiledUnit::entry`] without arguments to run the body.
//!
//! Invariants of a unit that came from the code generator or passed the verifier:
//! - every index (code, constant, source) is inside its table;
//! - two pool entries with the same constant index stand for the same object in the sense of `eq?`;
//! - each block passes [`crate::verifier`].

use canny_syntax::core::{GlobalDefinition, GlobalName, LibraryKey, LibraryName, UnitKind};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceId, Span};
use canny_tables::layout::code::VARIADIC;
use canny_tables::primitives::PrimitiveId;
use serde::{Deserialize, Serialize};

/// A compiled library, program or toplevel form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompiledUnit {
    /// The key of the library, program or environment; owner of its globals.
    pub name: LibraryKey,
    /// The kind of source it was compiled from.
    pub kind: UnitKind,
    /// Libraries to instantiate first, in order.
    pub requires: Vec<LibraryName>,
    /// The globals that the unit defines.
    pub globals: Vec<GlobalDefinition>,
    /// Literal objects, each made once by the loader however many pools mention it.
    pub constants: Vec<Datum>,
    /// The code of every procedure.
    pub codes: Vec<CodeBlock>,
    /// Index of the code, without parameters, that runs the body. Its result is the value of the
    /// last form, if that is an expression.
    pub entry: u32,
    /// Texts that the positions point into.
    pub sources: Vec<SourceFile>,
    /// Calls that were replaced by copies of the procedure's body; positions refer to them by number,
    /// counted from one. A row refers only to rows before it.
    pub inlinings: Vec<InlinedCall>,
    /// Bodies of small exported procedures that other units may inline, by global name.
    #[serde(with = "crate::bytes::pairs")]
    pub inlinable: Vec<(Name, Vec<u8>)>,
}

/// A source text that positions refer to by index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name as shown to users.
    pub name: String,
    /// Byte offsets at which the lines begin; empty when the text was not at hand.
    pub line_starts: Vec<u32>,
    /// Byte offsets inside characters, which count for no column.
    pub continuations: Vec<u32>,
    /// The source's number in the process that compiled the unit; [`SourceId::NONE`] after the
    /// unit was read from a cache.
    #[serde(skip, default = "no_source")]
    pub id: SourceId,
    /// The macro use whose expansion the text is; not stored.
    #[serde(skip)]
    pub expansion: Option<Box<ExpandedUse>>,
}

/// A macro use whose expansion is kept as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedUse {
    /// The macro's name.
    pub keyword: String,
    /// The use as it is written in the program, or the one that led to it.
    pub used: UnitSpan,
    /// The use in the expansion that it is a part of.
    pub inside: Option<UnitSpan>,
    /// Parts of the use, and where they are in the expansion.
    pub parts: Vec<(UnitSpan, UnitSpan)>,
}

fn no_source() -> SourceId {
    SourceId::NONE
}

/// The code of one procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeBlock {
    /// Name for backtraces and for printing.
    pub name: Option<Name>,
    /// Exact number of arguments, or [`VARIADIC`] for code that starts with an entry instruction.
    pub arity: u32,
    /// The parameters, for arity messages and `procedure-arity`; one per clause of `case-lambda`.
    pub clauses: Vec<Parameters>,
    /// Registers, counted from fp, that the code may touch before it calls.
    pub frame_words: u32,
    /// Number of captured values of a closure over this code.
    pub captured: u32,
    /// The captured values that are boxes, as slots in ascending order.
    pub captured_boxes: Vec<u32>,
    /// Pool slots.
    pub pool: Vec<PoolEntry>,
    /// Instruction words.
    #[serde(with = "crate::bytes::words")]
    pub instructions: Vec<u32>,
    /// Live maps of calls that do not fit their word, each `ceil(a / 64)` words for base `a`.
    pub wide_maps: Vec<u64>,
    /// Positions of the instructions that may raise or call.
    pub positions: PositionTable,
    /// Where an instruction is in the text of an expansion, from its word index on, in ascending order; not
    /// stored, and empty unless expansions were kept.
    #[serde(skip)]
    pub expanded: Vec<(u32, Option<UnitSpan>)>,
    /// Where the procedure was written; the source is an index into [`CompiledUnit::sources`].
    pub span: Option<UnitSpan>,
    /// For a procedure that an imported procedure brought: the code around it that the programmer knows.
    /// Backtraces show its name instead.
    pub enclosing: Option<u32>,
    /// Where variables are found, for people who look into a frame; empty unless that was asked for.
    pub variables: Vec<VariableScope>,
}

/// Where a variable is found in a part of a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableScope {
    /// The variable as the programmer calls it.
    pub name: Name,
    /// Where its value is, as long as it is live.
    pub place: VariablePlace,
    /// The value is in a box there.
    pub is_boxed: bool,
    /// Word index of the first instruction of the scope.
    pub start: u32,
    /// Word index behind the last one.
    pub end: u32,
    /// Number of the copy that the variable belongs to, as in [`UnitSpan::inlining`].
    pub inlining: u32,
}

/// The place of a variable in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VariablePlace {
    /// A register.
    Register(u8),
    /// A captured value of the frame's closure.
    Captured(u16),
    /// Nowhere: its register has another value already.
    Nowhere,
}

/// The parameters of one clause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Positional parameters that must be given.
    pub required: Vec<Name>,
    /// Positional parameters that may be left out.
    pub optional: Vec<Name>,
    /// Keyword parameters, without `#:`.
    pub keywords: Vec<Name>,
    /// Parameter that takes the remaining arguments.
    pub rest: Option<Name>,
    /// Whether unknown keywords are accepted.
    pub allow_other_keys: bool,
}

impl Parameters {
    /// How a procedure of that name is called, written as a definition has it: `(draw x #:key width . more)`.
    pub fn call_text(&self, name: &str) -> String {
        let mut text = format!("({name}");
        let words = |text: &mut String, words: &[Name]| {
            for word in words {
                text.push(' ');
                text.push_str(word.as_str());
            }
        };
        words(&mut text, &self.required);
        for (marker, names) in [("#:optional", &self.optional), ("#:key", &self.keywords)] {
            if !names.is_empty() {
                text.push(' ');
                text.push_str(marker);
                words(&mut text, names);
            }
        }
        if let Some(rest) = &self.rest {
            text.push_str(" . ");
            text.push_str(rest.as_str());
        }
        text.push(')');
        text
    }

    /// The least number of arguments.
    pub fn arguments_min(&self) -> usize {
        self.required.len()
    }

    /// The greatest number of arguments; `None` for any number (rest or keyword parameters).
    pub fn arguments_max(&self) -> Option<usize> {
        if self.rest.is_some() || !self.keywords.is_empty() || self.allow_other_keys {
            return None;
        }
        Some(self.required.len() + self.optional.len())
    }
}

/// One pool slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PoolEntry {
    /// An element of [`CompiledUnit::constants`].
    Constant(u32),
    /// The cell of a global variable, made unbound by the loader if it does not exist yet.
    Global(GlobalName),
    /// A code object, for `make-closure`.
    Code(u32),
    /// The one closure without captured values over a code.
    Closure(u32),
    /// The procedure object of a primitive.
    Primitive(u16),
    /// Description for `keyword-entry`.
    Keywords(KeywordParameters),
}

/// The parameters for which `keyword-entry` parses the arguments.
///
/// Registers after it: required, optional positional, one per keyword in this order, and the rest
/// list. The rest list holds everything after the positional arguments, the keyword arguments
/// included. Missing optional and keyword arguments are the absent marker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeywordParameters {
    /// Number of optional positional parameters.
    pub optional_count: u32,
    /// Keyword names, without `#:`.
    pub names: Vec<Name>,
    /// Whether unknown keywords are accepted.
    pub allow_other_keys: bool,
}

/// A call that was replaced by a copy of a procedure's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlinedCall {
    /// The procedure's name; none for what is anonymous or belongs to the standard library.
    pub procedure: Option<Name>,
    /// The call.
    pub call: UnitSpan,
    /// The procedure belongs to another library, and the copy's instructions have the call's position.
    pub is_imported: bool,
}

impl InlinedCall {
    /// Whether it is a procedure of the standard library, which users do not want to see.
    pub fn is_hidden(&self) -> bool {
        self.is_imported && self.procedure.is_none()
    }
}

/// A span whose source is an index into [`CompiledUnit::sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnitSpan {
    /// Index of the source.
    pub source: u32,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset behind the last byte.
    pub end: u32,
    /// Number of the copy in [`CompiledUnit::inlinings`], counted from one; zero for code where it was
    /// written.
    pub inlining: u32,
}

impl UnitSpan {
    /// Where the tables start.
    const START: UnitSpan = UnitSpan {
        source: 0,
        start: 0,
        end: 0,
        inlining: 0,
    };
}

/// Positions by word index of the instruction, as bytes that can be kept in the heap as they are.
///
/// Each record is a series of LEB128 numbers: `pc_delta << 2 | inlining_changed << 1 | source_changed`,
/// the source's index if it changed, the number of the copy if it changed (both start at 0), the zigzag
/// difference of the start, and the length in bytes. A record is repeated for each unit of [`Written`]:
/// what the instruction was made of differs from what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionTable {
    #[serde(with = "crate::bytes")]
    bytes: Vec<u8>,
}

/// How the call that an instruction was made of is written, where that is not what the instruction says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The operands are in the other order.
    pub is_exchanged: bool,
    /// It is a sum where the instruction subtracts, a difference where it adds, or the opposite of what
    /// it asks about characters.
    pub is_opposite: bool,
}

impl Written {
    fn number(self) -> usize {
        usize::from(self.is_exchanged) | usize::from(self.is_opposite) << 1
    }
}

/// Collects positions in ascending order of pc.
#[derive(Debug, Default)]
pub struct PositionTableBuilder {
    bytes: Vec<u8>,
    pc: u32,
    last: Option<UnitSpan>,
}

impl PositionTableBuilder {
    /// Adds the position of the instruction at `pc`; ignored when `pc` is not above the last one.
    pub fn add(&mut self, pc: u32, span: UnitSpan) {
        self.add_written(pc, span, Written::default());
    }

    /// As [`PositionTableBuilder::add`], for an instruction that does not say how its call is written.
    pub fn add_written(&mut self, pc: u32, span: UnitSpan, written: Written) {
        let previous = self.last.unwrap_or(UnitSpan::START);
        let repeats = written.number();
        if self.last.is_some() && (pc <= self.pc || (span == previous && repeats == 0)) {
            return;
        }
        self.record(pc, span, previous);
        for _ in 0..repeats {
            self.record(pc, span, span);
        }
        self.last = Some(span);
    }

    fn record(&mut self, pc: u32, span: UnitSpan, previous: UnitSpan) {
        let changed = span.source != previous.source;
        let copied = span.inlining != previous.inlining;
        write_number(
            &mut self.bytes,
            u64::from(pc - self.pc) << 2 | u64::from(copied) << 1 | u64::from(changed),
        );
        if changed {
            write_number(&mut self.bytes, u64::from(span.source));
        }
        if copied {
            write_number(&mut self.bytes, u64::from(span.inlining));
        }
        let difference = i64::from(span.start) - i64::from(previous.start);
        write_number(&mut self.bytes, (difference << 1 ^ difference >> 63) as u64);
        write_number(
            &mut self.bytes,
            u64::from(span.end.saturating_sub(span.start)),
        );
        self.pc = pc;
    }

    /// The finished table.
    pub fn finish(self) -> PositionTable {
        PositionTable { bytes: self.bytes }
    }
}

impl PositionTable {
    /// The encoded records.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All records in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, UnitSpan)> + '_ {
        position_records(&self.bytes)
    }

    /// The position in force at word index `pc`.
    pub fn find(&self, pc: u32) -> Option<UnitSpan> {
        find_position(&self.bytes, pc)
    }
}

/// How the call is written that the instruction at word index `pc` was made of.
pub fn find_written(bytes: &[u8], pc: u32) -> Written {
    let records = position_records(bytes).filter(|(at, _)| *at == pc);
    let repeats = records.count().saturating_sub(1);
    Written {
        is_exchanged: repeats & 1 == 1,
        is_opposite: repeats & 2 == 2,
    }
}

/// Reads encoded position records; stops at the first that is damaged.
pub fn position_records(bytes: &[u8]) -> impl Iterator<Item = (u32, UnitSpan)> + '_ {
    let mut rest = bytes;
    let mut pc = 0u32;
    let mut span = UnitSpan::START;
    std::iter::from_fn(move || {
        let head = read_number(&mut rest)?;
        pc = pc.checked_add(u32::try_from(head >> 2).ok()?)?;
        if head & 1 == 1 {
            span.source = u32::try_from(read_number(&mut rest)?).ok()?;
        }
        if head & 2 == 2 {
            span.inlining = u32::try_from(read_number(&mut rest)?).ok()?;
        }
        let zigzag = read_number(&mut rest)?;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        span.start = u32::try_from(i64::from(span.start).checked_add(difference)?).ok()?;
        span.end = span
            .start
            .checked_add(u32::try_from(read_number(&mut rest)?).ok()?)?;
        Some((pc, span))
    })
}

/// The position in force at word index `pc`: that of the last record at or before it. For a return
/// address give the word before it.
pub fn find_position(bytes: &[u8], pc: u32) -> Option<UnitSpan> {
    position_records(bytes)
        .take_while(|(at, _)| *at <= pc)
        .last()
        .map(|(_, span)| span)
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

impl CodeBlock {
    /// Whether the code starts with an entry instruction of its own.
    pub fn is_variadic(&self) -> bool {
        self.arity == VARIADIC
    }
}

impl PoolEntry {
    /// The slot for a primitive's procedure object.
    pub fn primitive(id: PrimitiveId) -> PoolEntry {
        PoolEntry::Primitive(id.0)
    }
}

/// The calls that led to a copy, innermost first.
pub fn inlined_calls(
    inlinings: &[InlinedCall],
    span: UnitSpan,
) -> impl Iterator<Item = &InlinedCall> {
    let mut number = span.inlining as usize;
    std::iter::from_fn(move || {
        let row = inlinings.get(number.checked_sub(1)?)?;
        // Rows refer backwards; what does not ends the chain.
        number = (row.call.inlining as usize).min(number - 1);
        Some(row)
    })
}

impl CompiledUnit {
    /// The calls that led to the copy that the position lies in, innermost first.
    pub fn inlined_calls(&self, span: UnitSpan) -> impl Iterator<Item = &InlinedCall> {
        inlined_calls(&self.inlinings, span)
    }

    /// The span in terms of this process's sources; [`Span::NONE`] when the source is not known
    /// here (the unit came from a cache and nobody set [`SourceFile::id`]).
    pub fn resolve(&self, span: UnitSpan) -> Span {
        match self.sources.get(span.source as usize) {
            Some(source) if source.id != SourceId::NONE => {
                Span::new(source.id, span.start, span.end)
            }
            _ => Span::NONE,
        }
    }
}

impl SourceFile {
    /// Line and column in characters, both from one, of a byte offset; `None` without line starts.
    pub fn line_and_column(&self, offset: u32) -> Option<(u32, u32)> {
        let line = self
            .line_starts
            .partition_point(|start| *start <= offset)
            .checked_sub(1)?;
        let start = self.line_starts[line];
        let before = |end: u32| self.continuations.partition_point(|at| *at < end) as u32;
        let hidden = before(offset) - before(start);
        Some((line as u32 + 1, offset - start - hidden + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_round_trip() {
        let mut builder = PositionTableBuilder::default();
        let spans = [
            (0, 0, 10, 20, 0),
            (3, 0, 5, 6, 7),
            (900, 2, 70_000, 70_100, 7),
            (901, 0, 0, 0, 0),
        ]
        .map(|(pc, source, start, end, inlining)| {
            let span = UnitSpan {
                source,
                start,
                end,
                inlining,
            };
            (pc, span)
        });
        for (pc, span) in spans {
            builder.add(pc, span);
        }
        let table = builder.finish();
        assert_eq!(table.iter().collect::<Vec<_>>(), spans);
        assert_eq!(table.find(2), Some(spans[0].1));
        assert_eq!(table.find(3), Some(spans[1].1));
        assert_eq!(table.find(10_000), Some(spans[3].1));
    }

    #[test]
    fn columns_count_characters() {
        let file = SourceFile {
            name: "a.scm".to_owned(),
            line_starts: vec![0, 6],
            continuations: vec![2, 7, 9],
            id: SourceId::NONE,
            expansion: None,
        };
        let columns = [1, 3, 6, 8, 10].map(|offset| file.line_and_column(offset).unwrap());
        assert_eq!(columns, [(1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]);
    }

    #[test]
    fn positions_say_how_a_call_is_written() {
        let span = |start| UnitSpan {
            source: 0,
            start,
            end: start + 7,
            inlining: 0,
        };
        let written = |is_exchanged, is_opposite| Written {
            is_exchanged,
            is_opposite,
        };
        let mut builder = PositionTableBuilder::default();
        builder.add(0, span(5));
        builder.add_written(2, span(5), written(true, false));
        builder.add_written(3, span(9), written(true, true));
        builder.add(4, span(9));
        builder.add_written(6, span(1), written(false, true));
        let table = builder.finish();
        let found = |pc| find_written(table.bytes(), pc);
        assert_eq!(found(0), written(false, false));
        assert_eq!(found(2), written(true, false));
        assert_eq!(found(3), written(true, true));
        assert_eq!(found(4), written(false, false));
        assert_eq!(found(6), written(false, true));
        assert_eq!(table.find(4), Some(span(9)));
        assert_eq!(table.find(5), Some(span(9)));
        assert_eq!(table.find(7), Some(span(1)));
    }

    #[test]
    fn damaged_positions_end_the_table() {
        assert_eq!(position_records(&[0xff; 30]).count(), 0);
        assert_eq!(position_records(&[2, 0x80]).count(), 0);
    }
}
