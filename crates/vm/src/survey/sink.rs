//! Writes a survey to a file of heap snapshots: nodes, texts and facts of objects.
//!
//! It runs in a child of the process, where no lock may be taken that another thread may have had when
//! the child was made. So all that it needs to know of the machine stands in a [`Context`], and the rest it
//! reads out of the objects.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::sync::OnceLock;

use canny_heap::{LiveObject, RootLabel, SurveySink};
use canny_snapshot::file::{Fact, TypeRow, UNIT_BYTES, Writer};
use canny_tables::kinds::Kind;
use canny_tables::layout::frame::LINK_WORDS;
use canny_tables::layout::{continuation, hash_table, port};
use canny_tables::protocols::task;
use canny_value::{ObjectRef, Value};

use super::extras::Extras;
use super::types::{Context, KnownType, Types, text_of};
use crate::code::CodeRef;
use crate::control::continuation::call_base;
use crate::data::strings::LENGTH;

/// Most characters of a preview.
const PREVIEW_CHARACTERS: usize = 64;

/// Tells a file of what a survey finds.
pub(super) struct FileSink<'a, W: Write> {
    writer: &'a mut Writer<W>,
    context: &'a Context<'a>,
    extras: &'a mut Extras,
    types: Types<'a>,
    preview: String,
}

impl<'a, W: Write> FileSink<'a, W> {
    pub(super) fn new(
        writer: &'a mut Writer<W>,
        context: &'a Context<'a>,
        extras: &'a mut Extras,
    ) -> FileSink<'a, W> {
        FileSink {
            writer,
            context,
            extras,
            types: Types::new(context),
            preview: String::new(),
        }
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
        if closure.field(0) != self.context.known.continuation_code
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
        if pc.is_null() || pc as usize == self.context.known.trap {
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
        let (unit, index) = self.types.metadata(code)?;
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
        let writer = &mut *self.writer;
        let known = self.types.of(object, |row| writer.type_number(row));
        let units = object.bytes() as u64 / UNIT_BYTES;
        let written = self.writer.node(known.number, units, u64::from(edges));
        debug_assert_eq!(written, number);
        let place = (object.address() - self.context.base) as u64 / UNIT_BYTES;
        self.writer.address(place);
        self.describe(object, known, number);
        if let Some(extra) = self.extras.count(object) {
            for (fact, value) in extra.facts() {
                self.writer.fact(number, fact, value);
            }
        }
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
