//! The parts of an object, for people who look into it: elements by number, fields by name.
//!
//! Nothing here depends on how large an object is, but the length of a list, which is counted up to a
//! bound; a longer or cyclic list is a pair.

use canny_tables::kinds::Kind;
use canny_tables::layout::record_type;
use canny_value::{ObjectRef, Value};
use canny_vm::Thread;
use canny_vm::debug::PartName;
use canny_vm::symbols::symbol_name;

use crate::hash_table::Table;
use crate::printer::{self, Style};

/// Longest list that is shown as one.
const LIST_MAX: usize = 1_000_000;

/// Bytes of a key's text.
const KEY_BYTES: usize = 100;

/// How an object is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A word for what it is.
    pub type_name: String,
    /// The number of fields.
    pub named: usize,
    /// The number of elements.
    pub indexed: usize,
}

/// A part: another object, or a text for what is none, such as an element of a bytevector.
#[derive(Clone, Debug)]
pub enum Part {
    /// An object.
    Value(Value),
    /// A text.
    Text(String),
}

/// The text of an object, cut off after about so many bytes. It ends on cycles, too.
pub fn brief(thread: &Thread, value: Value, bytes_max: usize) -> String {
    printer::brief_text_of(thread, value, Style::WriteSimple, bytes_max)
}

/// How an object is shown.
pub fn shape(thread: &Thread, value: Value) -> Shape {
    let shape = |type_name: &str, named, indexed| Shape {
        type_name: type_name.to_owned(),
        named,
        indexed,
    };
    if value.is_pair() {
        return match list_length(value) {
            Some(length) => shape("list", 0, length),
            None => shape("pair", 2, 0),
        };
    }
    let Some(object) = value.as_object() else {
        return shape(type_of_immediate(value), 0, 0);
    };
    match object.kind() {
        Kind::Vector | Kind::Values => shape(object.kind().row().name, 0, object.length()),
        Kind::Bytevector => shape("bytevector", 0, object.with_bytes(<[u8]>::len)),
        Kind::HashTable => match Table::of(value) {
            Some(table) => shape("hash-table", 0, table.count()),
            None => shape("hash-table", 0, 0),
        },
        Kind::Record => Shape {
            type_name: record_name(object),
            named: object.length() - 1,
            indexed: 0,
        },
        Kind::Condition | Kind::Box | Kind::WeakPair | Kind::Ephemeron => {
            let row = object.kind().row();
            shape(row.name, row.fields.len(), 0)
        }
        Kind::Closure => shape("procedure", captured(thread, value).len(), 0),
        kind => shape(kind.row().name, 0, 0),
    }
}

fn type_of_immediate(value: Value) -> &'static str {
    if value.as_fixnum().is_some() {
        "integer"
    } else if value.is_nil() {
        "empty list"
    } else if value == Value::TRUE || value == Value::FALSE {
        "boolean"
    } else if value.as_character().is_some() {
        "character"
    } else if value.as_flonum().is_some() {
        "real"
    } else {
        ""
    }
}

fn record_name(record: ObjectRef) -> String {
    let mut text = String::new();
    printer::print_record_name(&mut text, record.field(0));
    text
}

/// The length of a list, unless it is too long, cyclic or improper.
fn list_length(value: Value) -> Option<usize> {
    let (mut rest, mut length) = (value, 0);
    while let Some(pair) = rest.as_pair() {
        length += 1;
        rest = pair.cdr();
        if length > LIST_MAX {
            return None;
        }
    }
    rest.is_nil().then_some(length)
}

/// Names and values of what a procedure has captured, as far as its code knows them.
fn captured(thread: &Thread, value: Value) -> Vec<(String, Value)> {
    thread.captured_variables(value)
}

/// The fields of an object, with their names.
pub fn fields(thread: &Thread, value: Value) -> Vec<(String, Part)> {
    if let Some(pair) = value.as_pair() {
        return match list_length(value) {
            Some(_) => Vec::new(),
            None => vec![
                ("car".to_owned(), Part::Value(pair.car())),
                ("cdr".to_owned(), Part::Value(pair.cdr())),
            ],
        };
    }
    let Some(object) = value.as_object() else {
        return Vec::new();
    };
    match object.kind() {
        Kind::Record => record_fields(object),
        Kind::Closure => {
            let captured = captured(thread, value).into_iter();
            captured
                .map(|(name, value)| (name, Part::Value(value)))
                .collect()
        }
        Kind::Condition | Kind::Box | Kind::WeakPair | Kind::Ephemeron => {
            let names = object.kind().row().fields.iter().enumerate();
            names
                .filter(|(index, _)| *index < object.length())
                .map(|(index, name)| ((*name).to_owned(), Part::Value(object.field(index))))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn record_fields(record: ObjectRef) -> Vec<(String, Part)> {
    let names = record.field(0).as_kind(Kind::RecordType);
    let names = names.and_then(|names| names.field(record_type::FIELDS).as_kind(Kind::Vector));
    let name = |index: usize| {
        let name = names.filter(|names| index < names.length());
        let name = name.and_then(|names| symbol_name(names.field(index)));
        name.unwrap_or_else(|| format!("field {index}"))
    };
    let indices = 0..record.length() - 1;
    indices
        .map(|index| (name(index), Part::Value(record.field(1 + index))))
        .collect()
}

/// Elements of an object from one on, so many of them, with their names.
pub fn elements(thread: &Thread, value: Value, first: usize, count: usize) -> Vec<(String, Part)> {
    let numbered = |index: usize, part| (index.to_string(), part);
    if value.is_pair() {
        let pairs = std::iter::successors(value.as_pair(), |pair| pair.cdr().as_pair());
        let wanted = pairs.enumerate().skip(first).take(count);
        return wanted
            .map(|(index, pair)| numbered(index, Part::Value(pair.car())))
            .collect();
    }
    if let Some(table) = Table::of(value) {
        let wanted = table.associations().skip(first).take(count);
        return wanted
            .map(|(key, value)| (brief(thread, key, KEY_BYTES), Part::Value(value)))
            .collect();
    }
    let Some(object) = value.as_object() else {
        return Vec::new();
    };
    match object.kind() {
        Kind::Vector | Kind::Values => {
            let end = first.saturating_add(count).min(object.length());
            (first..end)
                .map(|index| numbered(index, Part::Value(object.field(index))))
                .collect()
        }
        Kind::Bytevector => object.with_bytes(|bytes| {
            let wanted = bytes.iter().enumerate().skip(first).take(count);
            wanted
                .map(|(index, byte)| numbered(index, Part::Text(byte.to_string())))
                .collect()
        }),
        _ => Vec::new(),
    }
}

/// The object that has a part of this name, and the part there: an element of a list belongs to a pair of
/// it. Only parts that can be stored in have such names.
pub fn part_name(thread: &Thread, value: Value, name: &str) -> Option<(Value, PartName)> {
    let index = || name.parse::<usize>().ok();
    if value.is_pair() {
        return match (name, list_length(value)) {
            ("car", _) => Some((value, PartName::Car)),
            ("cdr", _) => Some((value, PartName::Cdr)),
            (_, Some(length)) => {
                let index = index().filter(|index| *index < length)?;
                let mut rest = value;
                for _ in 0..index {
                    rest = rest.cdr()?;
                }
                Some((rest, PartName::Car))
            }
            (_, None) => None,
        };
    }
    let object = value.as_object()?;
    let part = match object.kind() {
        Kind::Vector => PartName::Field(index()?),
        Kind::Bytevector => PartName::Byte(index()?),
        Kind::Record => {
            let fields = record_fields(object).into_iter();
            let names = fields.map(|(name, _)| name);
            PartName::Field(
                1 + names
                    .collect::<Vec<_>>()
                    .iter()
                    .position(|one| one == name)?,
            )
        }
        Kind::Box => {
            let mut names = object.kind().row().fields.iter();
            PartName::Field(names.position(|one| *one == name)?)
        }
        _ => return None,
    };
    thread.debug_part(value, part).map(|_| (value, part))
}

/// The value of a part with a name.
pub fn part(thread: &Thread, value: Value, name: &str) -> Option<Value> {
    let (object, part) = part_name(thread, value, name)?;
    thread.debug_part(object, part)
}
