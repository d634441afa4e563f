//! Types of objects, as people tell them apart: kinds, record types by name, procedures by name and place.
//!
//! All of it is read out of objects and metadata, without a lock.

use std::collections::HashMap;
use std::sync::Arc;

use canny_compiler::unit::VariablePlace;
use canny_heap::LiveObject;
use canny_snapshot::file::TypeRow;
use canny_tables::kinds::Kind;
use canny_tables::protocols::task;
use canny_value::Value;

use super::waits::WaitNames;
use crate::code::{CodeRef, UnitMetadata};
use crate::data::strings::{LENGTH, string_data};
use crate::data::values::record_type;
use crate::thread::Thread;

/// Most characters of a name.
const NAME_CHARACTERS: usize = 128;

/// Facts about the machine that hold for good. The code objects do not move, and threads keep them.
pub(super) struct Known {
    /// Code of every continuation, and of every escape procedure.
    pub(super) continuation_code: Value,
    pub(super) escape_code: Value,
    /// Return address of frames that the machine made.
    pub(super) trap: usize,
}

impl Known {
    pub(super) fn of(thread: &Thread) -> Known {
        Known {
            continuation_code: thread.continuation_code,
            escape_code: thread.escape_code,
            trap: thread.vm.stubs.trap() as usize,
        }
    }
}

/// Facts about the machine while it stands still.
pub(super) struct Context<'a> {
    pub(super) known: &'a Known,
    /// Metadata of units by number.
    pub(super) units: Vec<Option<Arc<UnitMetadata>>>,
    pub(super) waits: WaitNames,
    pub(super) has_previews: bool,
    /// The lowest address of an object.
    pub(super) base: usize,
}

/// Objects that have a type in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TypeKey {
    Pair,
    Kind(Kind),
    /// The record type.
    Record(u64),
    /// The code of procedures, or code itself.
    Procedure(u64),
    Code(u64),
}

/// A type of the file, and what instances are looked at for.
#[derive(Clone, Copy)]
pub(super) struct KnownType {
    pub(super) number: u32,
    pub(super) is_task: bool,
}

/// The types that were met.
pub(super) struct Types<'a> {
    context: &'a Context<'a>,
    known: HashMap<TypeKey, KnownType>,
}

impl<'a> Types<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Types<'a> {
        Types {
            context,
            known: HashMap::new(),
        }
    }

    /// The type of an object. `number` gives a new row its number.
    pub(super) fn of(
        &mut self,
        object: &LiveObject,
        number: impl FnOnce(&TypeRow) -> u32,
    ) -> KnownType {
        let value = object.value();
        let key = match (object.kind(), value.as_object()) {
            (None, _) | (_, None) => TypeKey::Pair,
            (Some(Kind::Record), Some(record)) if record.length() > 0 => {
                TypeKey::Record(record.field(0).bits())
            }
            (Some(Kind::Closure), Some(closure)) if closure.length() > 0 => {
                TypeKey::Procedure(closure.field(0).bits())
            }
            (Some(Kind::Code), _) => TypeKey::Code(value.bits()),
            (Some(kind), _) => TypeKey::Kind(kind),
        };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let row = match key {
            TypeKey::Pair => TypeRow {
                family: "pair".to_owned(),
                fields: vec!["car".to_owned(), "cdr".to_owned()],
                ..TypeRow::default()
            },
            TypeKey::Kind(kind) => row_of_kind(kind),
            TypeKey::Record(_) => row_of_record(value),
            TypeKey::Procedure(_) => self.row_of_procedure(value),
            TypeKey::Code(_) => self.row_of_code(value),
        };
        let known = KnownType {
            is_task: key_is_task(key, &row),
            number: number(&row),
        };
        self.known.insert(key, known);
        known
    }

    pub(super) fn metadata(&self, code: CodeRef) -> Option<(&UnitMetadata, usize)> {
        let (unit, index) = code.metadata_index()?;
        let unit = self.context.units.get(unit)?.as_ref()?;
        (index < unit.codes.len()).then_some((unit, index))
    }

    fn row_of_code(&self, value: Value) -> TypeRow {
        let mut row = TypeRow {
            family: "code".to_owned(),
            fields: ["name", "debug", "parameters"].map(str::to_owned).to_vec(),
            ..TypeRow::default()
        };
        if let Some(code) = CodeRef::of_value(value)
            && let Some((unit, index)) = self.metadata(code)
        {
            name_row(&mut row, unit, index);
        }
        row
    }

    fn row_of_procedure(&self, value: Value) -> TypeRow {
        let mut row = TypeRow {
            family: "procedure".to_owned(),
            fields: vec!["code".to_owned()],
            ..TypeRow::default()
        };
        let Some(code) = CodeRef::of_closure(value) else {
            return row;
        };
        if code.value() == self.context.known.continuation_code {
            row.family = "continuation".to_owned();
            let fields = ["winders", "handlers", "parameters", "parent"];
            row.fields.extend(fields.map(str::to_owned));
        } else if code.value() == self.context.known.escape_code {
            row.family = "escape procedure".to_owned();
            let fields = ["winders", "handlers", "parameters"];
            row.fields.extend(fields.map(str::to_owned));
        } else if let Some((unit, index)) = self.metadata(code) {
            name_row(&mut row, unit, index);
            name_captured(&mut row, unit, index);
        }
        row
    }
}

fn row_of_kind(kind: Kind) -> TypeRow {
    let row = kind.row();
    TypeRow {
        family: row.name.to_owned(),
        fields: row.fields.iter().map(|name| (*name).to_owned()).collect(),
        ..TypeRow::default()
    }
}

/// The type of a record by the name and fields of its record type.
fn row_of_record(value: Value) -> TypeRow {
    let mut row = TypeRow {
        family: "record".to_owned(),
        fields: vec!["type".to_owned()],
        ..TypeRow::default()
    };
    let its_type = value
        .as_object()
        .and_then(|record| record.field(0).as_kind(Kind::RecordType));
    if let Some(its_type) = its_type {
        row.name = text_of(its_type.field(record_type::NAME));
        if let Some(fields) = its_type.field(record_type::FIELDS).as_kind(Kind::Vector) {
            let names = (0..fields.length()).map(|index| text_of(fields.field(index)));
            row.fields.extend(names.map(Option::unwrap_or_default));
        }
    }
    row
}

/// Whether records of a type are tasks.
fn key_is_task(key: TypeKey, row: &TypeRow) -> bool {
    matches!(key, TypeKey::Record(_))
        && row.name.as_deref() == Some("task")
        && row.fields.len() >= task::WORDS
}

fn name_row(row: &mut TypeRow, unit: &UnitMetadata, index: usize) {
    let code = &unit.codes[index];
    row.name = match &code.name {
        Some(name) => Some(name.clone()),
        None => (index == unit.entry).then(|| format!("the body of {}", unit.name)),
    };
    row.is_library = unit.is_library;
    if let Some((file, line)) = unit.line(code.span) {
        row.file = Some(file);
        row.line = Some(line);
    }
}

/// Names the captured variables of a procedure, as far as its code knows them.
fn name_captured(row: &mut TypeRow, unit: &UnitMetadata, index: usize) {
    for scope in &unit.codes[index].variables {
        if let VariablePlace::Captured(slot) = scope.place {
            let field = 1 + usize::from(slot);
            if row.fields.len() <= field {
                row.fields.resize(field + 1, String::new());
            }
            row.fields[field] = scope.name.as_str().to_owned();
        }
    }
}

/// The text of a symbol or string, at most a preview of it.
pub(super) fn text_of(value: Value) -> Option<String> {
    let string = match value.as_kind(Kind::Symbol) {
        Some(symbol) => symbol.field(0).as_kind(Kind::String)?,
        None => value.as_kind(Kind::String)?,
    };
    let data = string_data(string);
    let length = string.field(LENGTH).as_index().unwrap_or(0);
    let length = length.min(data.length()).min(NAME_CHARACTERS);
    Some(if data.kind() == Kind::String8 {
        data.with_bytes(|bytes| {
            bytes[..length]
                .iter()
                .map(|byte| char::from(*byte))
                .collect()
        })
    } else {
        data.with_utf32(|units| {
            let characters = units[..length].iter();
            characters
                .map(|unit| char::from_u32(*unit).unwrap_or('\u{fffd}'))
                .collect()
        })
    })
}
