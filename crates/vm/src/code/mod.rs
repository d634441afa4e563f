//! Code objects in the heap, and the machine's metadata about them outside of it.
//!
//! Below: the loader, which makes code objects from compiled units; the table of loaded units; the
//! machine's own code and stubs; the disassembler. This module does not know how code runs: frames and
//! threads are elsewhere.
//!
//! `CodeRef` reads a code object; it never moves, so its tagged word is its identity.
//! `UnitMetadata` and `CodeMetadata` hold data that running does not need: names, positions,
//! variables for backtraces and the debugger. They are plain Rust data, made when a unit is loaded
//! and not changed afterwards.

mod disassemble;
pub(crate) mod embedded;
mod loader;
pub(crate) mod stubs;
pub(crate) mod units;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use canny_compiler::liveness::{LivenessTable, RegisterSet};
use canny_compiler::unit::{
    CodeBlock, InlinedCall, Parameters, SourceFile, UnitSpan, VariableScope, find_position,
    position_records,
};
use canny_locks::Mutex;
use canny_spesh::code_map::AddressMap;
use canny_tables::kinds::Kind;
use canny_tables::layout::code;
use canny_tables::opcodes::{Opcode, OpcodeFlags, encode_far, field_far};
use canny_value::Value;

use crate::Vm;
use crate::debug::patches;
use crate::frames::{FrameDescription, Live, Position};
use crate::thread::Thread;

/// Metadata of a unit, beside its code objects.
#[derive(Debug, Default)]
pub struct UnitMetadata {
    /// The unit's name.
    pub name: String,
    /// Part of the standard library: left out of positions shown to users.
    pub is_library: bool,
    /// Texts that positions point into.
    pub sources: Vec<SourceFile>,
    /// Calls that were replaced by copies of procedures.
    pub inlinings: Vec<InlinedCall>,
    /// Index of the code that runs the body.
    pub entry: usize,
    /// By index of the code.
    pub codes: Vec<CodeMetadata>,
}

/// Metadata of one code.
#[derive(Debug, Default)]
pub struct CodeMetadata {
    /// Name of the procedure.
    pub name: Option<String>,
    /// Parameters of each clause.
    pub clauses: Vec<Parameters>,
    /// Encoded positions.
    pub positions: Box<[u8]>,
    /// Places in expansions, from a word on.
    pub expanded: Box<[(u32, Option<UnitSpan>)]>,
    /// Where the procedure is.
    pub span: Option<UnitSpan>,
    /// The code around one that an imported procedure brought.
    pub enclosing: Option<u32>,
    /// Where variables are found in frames.
    pub variables: Box<[VariableScope]>,
    /// The true arity word.
    pub arity: u32,
    /// The primitive behind a machine-made procedure.
    pub primitive: Option<u16>,
}

impl CodeMetadata {
    pub(crate) fn of(block: &CodeBlock) -> CodeMetadata {
        CodeMetadata {
            name: block.name.map(|name| name.as_str().to_owned()),
            clauses: block.clauses.clone(),
            positions: block.positions.bytes().into(),
            expanded: block.expanded.as_slice().into(),
            span: block.span,
            enclosing: block.enclosing,
            variables: block.variables.as_slice().into(),
            arity: block.arity,
            primitive: None,
        }
    }
}

/// A code object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRef(Value);

impl CodeRef {
    /// The code of a closure.
    pub(crate) fn of_closure(closure: Value) -> Option<CodeRef> {
        let closure = closure.as_kind(Kind::Closure)?;
        CodeRef::of_value(closure.field(0))
    }

    /// A code object itself.
    pub(crate) fn of_value(value: Value) -> Option<CodeRef> {
        value
            .as_kind(Kind::Code)
            .map(|object| CodeRef(object.value()))
    }

    fn u32_at(self, offset: i32) -> u32 {
        // SAFETY: a code object has its fixed fields.
        unsafe { *((self.0.bits() as i64 + i64::from(offset)) as *const u32) }
    }

    fn word_at(self, offset: i32) -> u64 {
        // SAFETY: a code object has its fixed fields.
        unsafe { *((self.0.bits() as i64 + i64::from(offset)) as *const u64) }
    }

    /// The tagged word, which names the code: code does not move.
    pub(crate) fn word(self) -> u64 {
        self.0.bits()
    }

    /// The code object.
    pub(crate) fn value(self) -> Value {
        self.0
    }

    /// Where calls go: the start, or a descriptor that leads to compiled code.
    pub(crate) fn entry(self) -> *const u32 {
        self.word_at(code::ENTRY) as *const u32
    }

    /// The first instruction of the bytecode.
    pub(crate) fn start(self) -> *const u32 {
        let pool = self.0.bits() as i64 + i64::from(code::POOL);
        (pool as usize + 8 * self.u32_at(code::POOL_LENGTH) as usize) as *const u32
    }

    /// The word of a fixed field that any thread may change: entry and native.
    pub(crate) fn shared_word(self, offset: i32) -> &'static AtomicU64 {
        // SAFETY: a code object has its fixed fields, aligned; it does not move, and callers hold it alive.
        unsafe { AtomicU64::from_ptr((self.0.bits() as i64 + i64::from(offset)) as *mut u64) }
    }

    /// An instruction word that any thread may patch.
    pub(crate) fn shared_instruction(self, index: usize) -> &'static AtomicU32 {
        assert!(index < self.instructions().len());
        // SAFETY: an instruction word of a code object; as for `shared_word`.
        unsafe { AtomicU32::from_ptr(self.start().add(index).cast_mut()) }
    }

    /// The instructions as they were loaded: patches undone.
    pub(crate) fn plain_instructions(self) -> Vec<u32> {
        let mut words = self.instructions().to_vec();
        let mut at = 0;
        while let Some(word) = words.get_mut(at) {
            let Some(opcode) = Opcode::from_byte(*word as u8) else {
                break;
            };
            let opcode = match opcode {
                Opcode::LoopNative => {
                    *word = encode_far(Opcode::Loop, field_far(*word));
                    Opcode::Loop
                }
                Opcode::Break => {
                    // SAFETY: the index is inside of the instructions.
                    let opcode = patches::covered(unsafe { self.start().add(at) });
                    *word = patches::with_opcode(*word, opcode);
                    opcode
                }
                opcode => opcode,
            };
            at += opcode.words();
        }
        words
    }

    /// The instructions for whoever reads opcodes: without breaks, if there are any in the process.
    pub(crate) fn readable_instructions(self) -> Cow<'static, [u32]> {
        if patches::are_there() {
            Cow::Owned(self.plain_instructions())
        } else {
            Cow::Borrowed(self.instructions())
        }
    }

    pub(crate) fn arity(self) -> u32 {
        self.u32_at(code::ARITY)
    }

    pub(crate) fn frame_words(self) -> usize {
        self.u32_at(code::FRAME_BYTES) as usize / 8
    }

    pub(crate) fn instructions(self) -> &'static [u32] {
        let count = self.u32_at(code::INSTRUCTION_WORDS) as usize;
        // SAFETY: the instructions lie in the code object, which does not move; the slice is used at
        // once by callers that hold the code alive.
        unsafe { std::slice::from_raw_parts(self.start(), count) }
    }

    /// The words of the pool.
    pub(crate) fn pool(self) -> impl Iterator<Item = Value> {
        let count = self.u32_at(code::POOL_LENGTH) as i32;
        // SAFETY: the pool of a code object holds tagged words.
        (0..count).map(move |slot| unsafe { Value::from_bits(self.word_at(code::POOL + 8 * slot)) })
    }

    /// Wide live maps follow the instructions at the next 8-aligned address.
    pub(crate) fn wide_maps(self) -> &'static [u64] {
        let count = self.u32_at(code::INSTRUCTION_WORDS) as usize;
        let start = (self.start() as usize + 4 * count).next_multiple_of(8);
        let object = self.0.as_object().expect("a code reference is an object");
        let end = object.payload_address() + object.length();
        // SAFETY: as for `instructions`.
        unsafe { std::slice::from_raw_parts(start as *const u64, (end - start) / 8) }
    }

    pub(crate) fn metadata_index(self) -> Option<(usize, usize)> {
        // SAFETY: the field holds a tagged word.
        let unit = unsafe { Value::from_bits(self.word_at(code::DEBUG)) }.as_index()?;
        // SAFETY: as above.
        let index = unsafe { Value::from_bits(self.word_at(code::PARAMETERS)) }.as_index()?;
        Some((unit >> 1, index))
    }

    /// The word that says of which unit it is, and whether that belongs to the standard library.
    pub(crate) fn debug_word(unit: usize, is_library: bool) -> Value {
        Value::fixnum((unit << 1) as i64 | i64::from(is_library))
    }

    /// Whether it belongs to the standard library.
    pub(crate) fn is_library(self) -> bool {
        // SAFETY: the field holds a tagged word.
        let word = unsafe { Value::from_bits(self.word_at(code::DEBUG)) };
        word.as_index().is_some_and(|word| word & 1 != 0)
    }

    /// Whether the instruction whose first word ends before `pc` is one that checks the arguments.
    pub(crate) fn is_entry(self, pc: *const u32) -> bool {
        let at = (pc as usize).wrapping_sub(self.start() as usize) / 4;
        let word = self.instructions().get(at.wrapping_sub(1));
        let opcode = word.and_then(|word| Opcode::from_byte(*word as u8));
        let looks_so = opcode.is_some_and(|opcode| {
            opcode.has(OpcodeFlags::BEFORE_ENTRY) && opcode.row().window.reads_arguments()
        });
        // Before a return address is a live map, which may look like any instruction.
        looks_so && self.is_instruction(at - 1)
    }

    /// Whether an instruction begins at the word with an index.
    fn is_instruction(self, index: usize) -> bool {
        let words = self.readable_instructions();
        let mut at = 0;
        while at < index {
            let opcode = words
                .get(at)
                .and_then(|word| Opcode::from_byte(*word as u8));
            let Some(opcode) = opcode else {
                return false;
            };
            at += opcode.words();
        }
        at == index
    }

    /// Live registers of a frame of this code stopped in the instruction whose first word ends before
    /// `pc` (or about to execute it, for an interrupted frame that will resume there).
    pub(crate) fn live_at(self, pc: *const u32, arguments: usize, cache: &LivenessCache) -> Live {
        match cache.at(self, pc) {
            LiveAt::Arguments => Live::First(arguments),
            LiveAt::Nothing => Live::First(0),
            LiveAt::Set(registers) => Live::Set(registers),
        }
    }

    /// The same without a cache for places.
    fn find_live_at(self, pc: *const u32, tables: &mut LivenessTables) -> LiveAt {
        let instructions = self.readable_instructions();
        let at = (pc as usize).wrapping_sub(self.start() as usize) / 4;
        let index = at.wrapping_sub(1);
        let Some(&word) = instructions.get(index) else {
            return LiveAt::Nothing;
        };
        if let Some(opcode) = Opcode::from_byte(word as u8)
            && opcode.row().window.reads_arguments()
        {
            return LiveAt::Arguments;
        }
        match tables.table(self) {
            Some(table) => LiveAt::Set(table.live_before(&instructions, index)),
            None => LiveAt::Nothing,
        }
    }
}

/// Liveness of code that collections, captures and debuggers found at the top of a stack. Forgotten at full
/// collections, which may free code.
#[derive(Debug, Default)]
pub(crate) struct LivenessCache(Mutex<LivenessTables>);

#[derive(Debug, Default)]
struct LivenessTables {
    /// By entry address.
    by_code: HashMap<usize, Option<Arc<LivenessTable>>>,
    /// By address behind the first word of an instruction: the condition of a breakpoint captures at the
    /// same one again and again.
    by_place: AddressMap<LiveAt>,
}

/// The live registers inside an instruction.
#[derive(Clone, Debug)]
enum LiveAt {
    /// The arguments of a call in the middle of it.
    Arguments,
    Nothing,
    Set(RegisterSet),
}

/// Places that are remembered at most.
const PLACES_MAX: usize = 1000;

impl LivenessCache {
    fn at(&self, code: CodeRef, pc: *const u32) -> LiveAt {
        let mut tables = self.0.lock();
        let place = pc as u64;
        if let Some(known) = tables.by_place.get(&place) {
            return known.clone();
        }
        let found = code.find_live_at(pc, &mut tables);
        if tables.by_place.len() >= PLACES_MAX {
            tables.by_place.clear();
        }
        tables.by_place.insert(place, found.clone());
        found
    }

    pub(crate) fn clear(&self) {
        *self.0.lock() = LivenessTables::default();
    }
}

impl LivenessTables {
    fn table(&mut self, code: CodeRef) -> Option<Arc<LivenessTable>> {
        let of_code = self.by_code.entry(code.start() as usize);
        of_code
            .or_insert_with(|| {
                LivenessTable::new(&code.readable_instructions(), code.frame_words())
                    .ok()
                    .map(Arc::new)
            })
            .clone()
    }
}

impl Vm {
    /// The metadata of a code object and its index there.
    pub(crate) fn metadata(&self, code: CodeRef) -> Option<(Arc<UnitMetadata>, usize)> {
        let (unit, index) = code.metadata_index()?;
        let unit = self.units.get(unit)?;
        (index < unit.codes.len()).then_some((unit, index))
    }
}

impl Thread {
    /// Adds a frame of a code at a return address or inside an instruction, after those of the procedures
    /// inlined there.
    pub(crate) fn describe_code(
        &self,
        code: CodeRef,
        pc: *const u32,
        name: Option<String>,
        frames: &mut Vec<FrameDescription>,
    ) {
        let Some((unit, index)) = self.vm.metadata(code) else {
            return;
        };
        let metadata = &unit.codes[index];
        let word = ((pc as usize).wrapping_sub(code.start() as usize) / 4).wrapping_sub(1) as u32;
        let mut span = find_position(&metadata.positions, word);
        let row = |number: u32| unit.inlinings.get((number as usize).checked_sub(1)?);
        // Inlining that brought the whole procedure to where it is says nothing of its callers.
        let mut own = metadata.span.map_or(0, |span| span.inlining);
        let enclosing = metadata.enclosing.map(|index| index as usize);
        let enclosing = enclosing.filter(|index| *index < unit.codes.len());
        while let Some(row) = row(own).filter(|row| enclosing.is_some() && row.is_imported) {
            own = row.call.inlining;
        }
        // Code that the library brought, standing at a place of its own: the programmer wrote none of it.
        let mut number = span.map_or(0, |span| span.inlining);
        let stands_in = enclosing.is_some() && row(number).is_some_and(|row| row.is_imported);
        while number != own
            && let Some(row) = row(number)
        {
            // Imported code has the position of the call, which is no place in that procedure.
            let inside = span.filter(|_| !row.is_imported);
            frames.push(FrameDescription {
                name: row.procedure.map(|name| name.as_str().to_owned()),
                position: inside.and_then(|span| unit.position(span)),
                is_library: unit.is_library || row.is_hidden(),
                is_program: false,
                listing: None,
                is_stand_in: stands_in,
                copy: Some(number),
                tail_callers: Vec::new(),
                values: Vec::new(),
            });
            span = Some(row.call);
            number = row.call.inlining;
        }
        let (name, is_program) = match (enclosing, row(own)) {
            (None, _) => (name, index == unit.entry),
            (Some(_), Some(row)) => (row.procedure.map(|name| name.as_str().to_owned()), false),
            (Some(code), None) => (unit.codes[code].name.clone(), code == unit.entry),
        };
        frames.push(FrameDescription {
            name,
            position: span.and_then(|span| unit.position(span)),
            is_library: unit.is_library,
            is_program,
            listing: None,
            is_stand_in: stands_in,
            copy: None,
            tail_callers: Vec::new(),
            values: Vec::new(),
        });
    }

    /// Where a procedure is defined; nothing for those of the standard library.
    pub fn definition(&self, procedure: Value) -> Option<Position> {
        let (unit, index) = self.vm.metadata(CodeRef::of_closure(procedure)?)?;
        let span = unit.codes[index].span.filter(|_| !unit.is_library)?;
        unit.position(span)
    }
}

impl UnitMetadata {
    /// File and line where a procedure is defined: that of a code, or the one with this name.
    pub(crate) fn definition_line(
        &self,
        index: Option<usize>,
        name: Option<&str>,
    ) -> Option<(String, u32)> {
        let code = match index {
            Some(index) => self.codes.get(index)?,
            None => self
                .codes
                .iter()
                .find(|code| code.name.as_deref() == name)?,
        };
        self.line(code.span)
    }

    /// File and line of a span.
    pub(crate) fn line(&self, span: Option<UnitSpan>) -> Option<(String, u32)> {
        let position = self.position(span?)?;
        Some((position.file, position.line))
    }

    /// File and line of the instruction at a word index of a code.
    pub(crate) fn line_at(&self, index: usize, pc: usize) -> Option<(String, u32)> {
        self.line(find_position(&self.codes.get(index)?.positions, pc as u32))
    }

    /// File and line of what first stands behind a word index of a code.
    pub(crate) fn line_from(&self, index: usize, pc: usize) -> Option<(String, u32)> {
        let mut records = position_records(&self.codes.get(index)?.positions);
        let next = records.find(|(at, _)| *at as usize >= pc);
        self.line(next.map(|(_, span)| span))
    }

    pub(crate) fn position(&self, span: UnitSpan) -> Option<Position> {
        Position::of(&self.sources, span)
    }
}
