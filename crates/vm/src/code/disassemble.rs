//! Makes a compiled unit of one procedure that is loaded, so that the compiler's disassembler can
//! print it.
//!
//! The heap is only read: constants of the pool become data through the caller's function. Nothing
//! may allocate in the meantime.

use canny_compiler::unit::{
    CodeBlock, CompiledUnit, PoolEntry, PositionTableBuilder, position_records,
};
use canny_spesh::snapshot::CodeWord;
use canny_syntax::core::{GlobalName, LibraryKey, UnitKind};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::Vm;
use crate::code::CodeRef;
use crate::data::symbols::symbol_name;

impl Vm {
    /// A unit whose only code is that of a procedure. `literal` gives the datum to show for an object of
    /// the pool; nothing may be allocated meanwhile.
    pub fn unit_of_procedure(
        &self,
        procedure: Value,
        literal: impl Fn(Value) -> Datum,
    ) -> Option<CompiledUnit> {
        let code = CodeRef::of_closure(procedure)?;
        let name = self.procedure_name(procedure);
        let captured = procedure
            .as_object()
            .map_or(0, |closure| closure.length() - 1);
        self.unit_of_code(code, (name, captured), &literal)
    }

    /// The address of the code whose instructions an address is among, and a unit with only that code.
    pub fn unit_at_address(
        &self,
        address: u64,
        literal: impl Fn(Value) -> Datum,
    ) -> Option<(u64, CompiledUnit)> {
        let mut found = None;
        self.units.each_code(|_, _, code| {
            let Some(code) = CodeRef::of_value(code) else {
                return;
            };
            let start = code.start() as u64;
            let end = start + 4 * code.instructions().len() as u64;
            if (start..end).contains(&address) {
                found = Some((code, start));
            }
        });
        let (code, start) = found?;
        let (unit, index) = self.metadata(code)?;
        let name = unit.codes[index].name.clone();
        Some((start, self.unit_of_code(code, (name, 0), &literal)?))
    }

    /// Where the instructions of a procedure are.
    pub fn bytecode_of(&self, procedure: Value) -> Option<std::ops::Range<u64>> {
        let code = CodeRef::of_closure(procedure)?;
        let start = code.start() as u64;
        Some(start..start + 4 * code.instructions().len() as u64)
    }

    /// Where the machine code of a procedure is, and how long, by address.
    pub fn machine_code_of(&self, procedure: Value) -> Vec<(u64, usize)> {
        let Some(code) = CodeRef::of_closure(procedure) else {
            return Vec::new();
        };
        self.specializer.segments_of(CodeWord(code.word()))
    }

    fn unit_of_code(
        &self,
        code: CodeRef,
        (name, captured): (Option<String>, usize),
        literal: &impl Fn(Value) -> Datum,
    ) -> Option<CompiledUnit> {
        let (metadata, index) = self.metadata(code)?;
        let own = &metadata.codes[index];
        let mut constants = Vec::new();
        let pool = code
            .pool()
            .map(|value| self.pool_entry(value, literal, &mut constants))
            .collect();
        let mut positions = PositionTableBuilder::default();
        position_records(&own.positions).for_each(|(pc, span)| positions.add(pc, span));
        let block = CodeBlock {
            name: name.map(|name| Name::new(&name)),
            arity: own.arity,
            clauses: own.clauses.clone(),
            frame_words: code.frame_words() as u32,
            captured: captured as u32,
            captured_boxes: Vec::new(),
            pool,
            instructions: code.plain_instructions(),
            wide_maps: code.wide_maps().to_vec(),
            positions: positions.finish(),
            expanded: Vec::new(),
            span: own.span,
            enclosing: None,
            variables: Vec::new(),
        };
        Some(CompiledUnit {
            name: LibraryKey::new(&metadata.name),
            kind: UnitKind::Toplevel,
            requires: Vec::new(),
            globals: Vec::new(),
            constants,
            codes: vec![block],
            entry: 0,
            sources: metadata.sources.clone(),
            inlinings: metadata.inlinings.clone(),
            inlinable: Vec::new(),
        })
    }

    fn pool_entry(
        &self,
        value: Value,
        literal: &impl Fn(Value) -> Datum,
        constants: &mut Vec<Datum>,
    ) -> PoolEntry {
        if let Some(cell) = value.as_kind(Kind::Cell) {
            let word = |index| symbol_name(cell.field(index)).unwrap_or_default();
            let (name, library) = (Name::new(&word(1)), LibraryKey::new(&word(2)));
            return PoolEntry::Global(GlobalName { library, name });
        }
        let code = CodeRef::of_value(value).or_else(|| CodeRef::of_closure(value));
        if let Some((metadata, index)) = code.and_then(|code| self.metadata(code)) {
            return match metadata.codes[index].primitive {
                Some(number) => PoolEntry::Primitive(number),
                None if value.is_kind(Kind::Code) => PoolEntry::Code(index as u32),
                None => PoolEntry::Closure(index as u32),
            };
        }
        constants.push(literal(value));
        PoolEntry::Constant(constants.len() as u32 - 1)
    }
}
