//! Writes a survey to a file of heap snapshots: types, texts and facts of objects.
//!
//! It runs in a child of the process, where no lock may be taken that another thread may have had when
//! the child was made. So all that it needs to know of the machine stands in a [`Context`], and the rest it
//! reads out of the objects.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::sync::{Arc, OnceLock};

use canny_compiler::unit::VariablePlace;
use canny_heap::{LiveObject, RootLabel, SurveySink};
use canny_snapshot::file::{Fact, TypeRow, UNIT_BYTES, Writer};
use canny_tables::kinds::Kind;
use canny_tables::layout::frame::LINK_WORDS;
use canny_tables::layout::{continuation, hash_table, port};
use canny_tables::protocols::task;
use canny_value::{ObjectRef, Value};

use super::waits::WaitNames;
use crate::code::{CodeRef, UnitMetadata};
use crate::control::continuation::call_base;
use crate::data::strings::{LENGTH, string_data};
use crate::data::values::record_type;
use crate::thread::Thread;

/// Most characters of a preview.
const PREVIEW_CHARACTERS: usize = 64;

/// What is known of the machine for good. The code objects do not move, and threads keep them.
pub(super) struct Known {
    /// Code of every continuation, and of every escape procedure.
    continuation_code: Value,
    escape_code: Value,
    /// Return address of frames that the machine made.
    trap: usize,
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

/// What is known of the machine while it stands still.
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
struct KnownType {
    number: u32,
    is_task: bool,
}

/// Tells a file of what a survey finds.
pub(super) struct FileSink<'a, W: Write> {
    writer: &'a mut Writer<W>,
    context: &'a Context<'a>,
    known: &'a Known,
    types: HashMap<TypeKey, KnownType>,
    preview: String,
}

impl<'a, W: Write> FileSink<'a, W> {
    pub(super) fn new(writer: &'a mut Writer<W>, context: &'a Context<'a>) -> FileSink<'a, W> {
        FileSink {
            writer,
            context,
            known: context.known,
            types: HashMap::new(),
            preview: String::new(),
        }
    }

    fn type_of(&mut self, object: &LiveObject) -> KnownType {
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
        if let Some(known) = self.types.get(&key) {
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
            number: self.writer.type_number(&row),
        };
        self.types.insert(key, known);
        known
    }

    fn metadata(&self, code: CodeRef) -> Option<(&UnitMetadata, usize)> {
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
        if code.value() == self.known.continuation_code {
            row.family = "continuation".to_owned();
            let fields = ["winders", "handlers", "parameters", "parent"];
            row.fields.extend(fields.map(str::to_owned));
        } else if code.value() == self.known.escape_code {
            row.family = "escape procedure".to_owned();
            let fields = ["winders", "handlers", "parameters"];
            row.fields.extend(fields.map(str::to_owned));
        } else if let Some((unit, index)) = self.metadata(code) {
            name_row(&mut row, unit, index);
            name_captured(&mut row, unit, index);
        }
        row
    }

    /// Texts and facts of an object.
    fn describe(&mut self, object: &LiveObject, known: KnownType, number: u32) {
        let Some(kind) = object.kind() else { return };
        let value = object.value();
        let Some(it) = value.as_object() else { return };
        match kind {
            Kind::String => self.describe_string(it, number),
            Kind::Symbol => self.write_text(it.field(0), number),
            Kind::Keyword => self.write_text(it.field(0), number),
            Kind::Port => self.write_text(it.field(port::NAME), number),
            Kind::Environment | Kind::External => self.write_text(it.field(1), number),
            Kind::Cell => self.write_text(it.field(1), number),
            Kind::Vector => self.describe_vector(it, number),
            Kind::HashTable => self.describe_table(it, number),
            Kind::Closure => self.describe_procedure(it, number),
            Kind::Record if known.is_task => self.describe_task(it, number),
            _ => {}
        }
    }

    fn describe_string(&mut self, string: ObjectRef, number: u32) {
        let Some(data) = string.field(1).as_object() else {
            return;
        };
        let length = string.field(LENGTH).as_index().unwrap_or(0);
        let room = data.length();
        let length = length.min(room);
        let mut hasher = string_hasher().build_hasher();
        self.preview.clear();
        let shown = if self.context.has_previews {
            length.min(PREVIEW_CHARACTERS)
        } else {
            0
        };
        if data.kind() == Kind::String8 {
            data.with_bytes(|bytes| {
                hash_narrow(&bytes[..length], &mut hasher);
                self.preview
                    .extend(bytes[..shown].iter().map(|byte| char::from(*byte)));
            });
        } else {
            data.with_utf32(|units| {
                hash_wide(&units[..length], &mut hasher);
                let characters = units[..shown].iter();
                let characters = characters.map(|unit| char::from_u32(*unit).unwrap_or('\u{fffd}'));
                self.preview.extend(characters);
            });
        }
        let hash = Some(hasher.finish());
        self.writer.text(number, length as u64, &self.preview, hash);
        if room > length {
            self.writer.fact(number, Fact::InUse, length as u64);
            self.writer.fact(number, Fact::Room, room as u64);
        }
    }

    /// Writes the name of something, a symbol or string, as its text.
    fn write_text(&mut self, name: Value, number: u32) {
        if let Some(text) = text_of(name) {
            let characters = text.chars().count() as u64;
            self.writer.text(number, characters, &text, None);
        }
    }

    fn describe_vector(&mut self, vector: ObjectRef, number: u32) {
        let length = vector.length();
        if length < 4 {
            return;
        }
        let last = vector.field(length - 1);
        if last.is_reference() {
            return;
        }
        let equal = (0..length)
            .rev()
            .take_while(|index| vector.field(*index) == last)
            .count();
        if equal >= 4 && equal * 4 >= length {
            self.writer.fact(number, Fact::EqualTail, equal as u64);
        }
    }

    fn describe_table(&mut self, table: ObjectRef, number: u32) {
        let count = table.field(hash_table::COUNT).as_index();
        let entries = table.field(hash_table::ENTRIES).as_object();
        if let (Some(count), Some(entries)) = (count, entries) {
            self.writer.fact(number, Fact::InUse, count as u64);
            let room = entries.length() as u64 / 2;
            self.writer.fact(number, Fact::Room, room);
        }
    }

    /// A continuation is known by where it resumes.
    fn describe_procedure(&mut self, closure: ObjectRef, number: u32) {
        if closure.field(0) != self.known.continuation_code
            || closure.length() <= continuation::RESUME_PC
        {
            return;
        }
        let Some(place) = self.place_of_continuation(closure) else {
            return;
        };
        let characters = place.chars().count() as u64;
        self.writer.text(number, characters, &place, None);
    }

    fn place_of_continuation(&self, closure: ObjectRef) -> Option<String> {
        let pc = closure.field(continuation::RESUME_PC).bits() as *const u32;
        if pc.is_null() || pc as usize == self.known.trap {
            return None;
        }
        // SAFETY: a return address. The newest frame is at the end of the slice.
        let registers = unsafe { call_base(pc) };
        let holder = closure.length().checked_sub(registers + LINK_WORDS)?;
        if holder < continuation::SLICE {
            return None;
        }
        let holder = closure.field(holder);
        let code = CodeRef::of_closure(holder)?;
        let (unit, index) = self.metadata(code)?;
        let name = unit.codes[index].name.as_deref().unwrap_or("a procedure");
        let word = (crate::frames::bytecode_of(pc) as usize)
            .wrapping_sub(code.start() as usize)
            .wrapping_div(4)
            .wrapping_sub(1);
        Some(match unit.line_at(index, word) {
            Some((file, line)) => format!("resumes in {name}, {file}:{line}"),
            None => format!("resumes in {name}"),
        })
    }

    fn describe_task(&mut self, record: ObjectRef, number: u32) {
        let name = text_of(record.field(task::NAME));
        let mut text = match (name, record.field(task::NUMBER).as_index()) {
            (Some(name), _) => name,
            (None, Some(number)) => format!("task {number}"),
            (None, None) => return,
        };
        if let Some(reason) = self.context.waits.reason(record.field(task::WAITS_FOR)) {
            text.push_str(" waits for ");
            text.push_str(&reason);
        }
        let characters = text.chars().count() as u64;
        self.writer.text(number, characters, &text, None);
    }
}

impl<W: Write> SurveySink for FileSink<'_, W> {
    fn root(&mut self, label: &RootLabel, edges: u32) {
        let row = TypeRow {
            family: label.family.to_owned(),
            name: label.name.clone(),
            file: label.file.clone(),
            line: label.file.as_ref().map(|_| label.line),
            is_library: label.is_library,
            fields: label.fields.clone(),
            is_virtual: true,
        };
        let number = self.writer.type_number(&row);
        self.writer.node(number, 0, u64::from(edges));
    }

    fn object(&mut self, object: &LiveObject, number: u32, edges: u32) {
        let known = self.type_of(object);
        let units = object.bytes() as u64 / UNIT_BYTES;
        let written = self.writer.node(known.number, units, u64::from(edges));
        debug_assert_eq!(written, number);
        let place = (object.address() - self.context.base) as u64 / UNIT_BYTES;
        self.writer.address(place);
        self.describe(object, known, number);
    }

    #[inline]
    fn child(&mut self) {
        self.writer.edge_new();
    }

    #[inline]
    fn back(&mut self, number: u32) {
        self.writer.edge_to(number);
    }

    fn skip(&mut self, words: u32) {
        self.writer.skip(u64::from(words));
    }

    fn weak(&mut self, source: u32, word: u32, target: u32) {
        self.writer.weak(source, u64::from(word), target);
    }

    fn is_over(&self) -> bool {
        self.writer.error().is_some()
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
    let length = length.min(data.length()).min(PREVIEW_CHARACTERS * 2);
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

/// The key of the hashes of strings, one for each process: nobody can look up a short secret by its hash.
fn string_hasher() -> &'static RandomState {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new)
}

/// Makes the key of hashes ready: it must not change from one child to the next.
pub(super) fn prepare() {
    string_hasher();
}

/// Hashes characters below 256 as [`hash_wide`] does the same ones.
fn hash_narrow(bytes: &[u8], hasher: &mut impl Hasher) {
    if bytes.is_ascii() {
        return hasher.write(bytes);
    }
    let mut buffer = [0; 4];
    for byte in bytes {
        hasher.write(char::from(*byte).encode_utf8(&mut buffer).as_bytes());
    }
}

fn hash_wide(units: &[u32], hasher: &mut impl Hasher) {
    let mut buffer = [0; 4];
    for unit in units {
        let character = char::from_u32(*unit).unwrap_or('\u{fffd}');
        hasher.write(character.encode_utf8(&mut buffer).as_bytes());
    }
}
