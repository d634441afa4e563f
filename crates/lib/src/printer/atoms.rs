//! Prints objects without parts, and the names of symbols, record types and fields.
//!
//! In `write` form the text reads back as an equal object; objects without a syntax print as `#<…>`
//! with what tells them apart. Nothing allocates on the heap. For people long texts and huge
//! numbers are cut short.

use std::fmt::Write;

use canny_number::elements::write_elements;
use canny_number::{flonum_to_string, write_number};
use canny_syntax::print::{write_character, write_quoted, write_symbol};
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::condition::field as condition_field;
use canny_vm::numbers::{LONG_LIMBS, limbs_of, number_of};
use canny_vm::strings::string_length;
use canny_vm::symbols::symbol_name;
use canny_vm::values::record_type;
use canny_vm::{Numeric, Vm, numeric};

use crate::primitives::numeric_vectors::element_type;
use crate::text::with_units;

/// How an object without parts is printed.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Strings and characters as they are.
    pub(super) for_people: bool,
    /// Characters or elements after which the rest is left out, since it will be cut off.
    pub(super) elements_max: usize,
    /// Large exact numbers are described: their digits would take minutes and be of no use.
    pub(super) describes: bool,
}

/// Prints an object without parts. Writing to a string does not fail.
pub(super) fn print(text: &mut String, vm: &Vm, value: Value, manner: Manner) {
    let for_people = manner.for_people;
    if let Some(fixnum) = value.as_fixnum() {
        let _ = write!(text, "{fixnum}");
    } else if let Some(character) = value.as_character() {
        if for_people {
            text.push(character);
        } else {
            let _ = write_character(character, text);
        }
    } else if let Some(object) = value.as_object() {
        print_object(text, vm, object, manner);
    } else if let Some(flonum) = value.as_inline_flonum() {
        text.push_str(&flonum_to_string(flonum));
    } else {
        text.push_str(constant(value));
    }
}

fn constant(value: Value) -> &'static str {
    match value {
        Value::TRUE => "#t",
        Value::FALSE => "#f",
        Value::NIL => "()",
        Value::EOF => "#!eof",
        Value::UNSPECIFIED => "#!unspecific",
        Value::DEFAULT => "#!default",
        Value::BROKEN => "#!bwp",
        Value::UNBOUND => "#!unbound",
        Value::ABSENT => "#!absent",
        _ => "#<unknown>",
    }
}

fn print_object(text: &mut String, vm: &Vm, object: ObjectRef, manner: Manner) {
    let for_people = manner.for_people;
    match object.kind() {
        Kind::String => print_start(text, object, for_people, manner.elements_max),
        Kind::Symbol => print_symbol(text, object.value(), for_people),
        Kind::Keyword => {
            text.push_str("#:");
            print_symbol(text, object.field(0), for_people);
        }
        Kind::Bignum | Kind::Ratnum | Kind::Compnum
            if manner.describes && limbs_of(object.value()) >= LONG_LIMBS =>
        {
            let bits = 64 * limbs_of(object.value());
            let _ = write!(text, "#<exact number of about {bits} bits>");
        }
        Kind::Flonum | Kind::Bignum | Kind::Ratnum | Kind::Compnum => {
            print_number(text, object.value());
        }
        Kind::Bytevector => object.with_bytes(|bytes| {
            text.push_str("#u8(");
            for (index, byte) in bytes.iter().take(manner.elements_max).enumerate() {
                let _ = write!(text, "{}{byte}", if index > 0 { " " } else { "" });
            }
            text.push(')');
        }),
        Kind::NumericVector => object.with_bytes(|bytes| {
            let most = manner.elements_max.saturating_mul(ELEMENT_BYTES_MAX);
            let start = &bytes[..bytes.len().min(most)];
            text.push_str(&write_elements(element_type(object), start));
        }),
        Kind::Record => {
            text.push_str("#<");
            print_record_name(text, object.field(0));
            print_given_name(text, object);
            text.push('>');
        }
        kind => {
            text.push_str("#<");
            text.push_str(kind.row().name);
            print_details(text, vm, object);
            text.push('>');
        }
    }
}

/// Prints the details that tell objects of a kind apart, for people.
fn print_details(text: &mut String, vm: &Vm, object: ObjectRef) {
    match object.kind() {
        Kind::Closure => {
            if let Some(name) = vm.procedure_name(object.value()) {
                text.push(' ');
                text.push_str(&name);
            }
        }
        Kind::Port => {
            text.push(' ');
            match object.field(2).as_kind(Kind::String) {
                Some(name) => print_string(text, name, false),
                None => text.push_str("\"string\""),
            }
        }
        Kind::HashTable => {
            if let Some(count) = object.field(2).as_fixnum() {
                let _ = write!(text, " {count}");
            }
        }
        Kind::Environment => print_named(text, object.field(1)),
        Kind::Identifier => print_named(text, object.field(0)),
        Kind::External => print_named(text, object.field(1)),
        Kind::Cell => print_named(text, object.field(1)),
        Kind::RecordType => print_named(text, object.field(record_type::NAME)),
        Kind::Condition => {
            print_named(text, object.field(condition_field::KIND));
            text.push(':');
            if object.field(condition_field::WHO).is_kind(Kind::Symbol) {
                print_named(text, object.field(condition_field::WHO));
                text.push(':');
            }
            print_named(text, object.field(condition_field::MESSAGE));
        }
        _ => {}
    }
}

fn print_named(text: &mut String, name: Value) {
    if name.is_kind(Kind::String) || name.is_kind(Kind::Symbol) {
        text.push(' ');
        print_name(text, name);
    }
}

/// The text of a string or the name of a symbol, as it is.
fn print_name(text: &mut String, name: Value) {
    let symbol = name.as_kind(Kind::Symbol);
    let name = symbol.map_or(name, |symbol| symbol.field(0));
    if let Some(name) = name.as_kind(Kind::String) {
        print_string(text, name, true);
    }
}

fn print_number(text: &mut String, value: Value) {
    match numeric(value) {
        Some(Numeric::Flonum(flonum)) => text.push_str(&flonum_to_string(flonum)),
        _ => {
            if let Some(number) = number_of(value) {
                text.push_str(&write_number(&number, 10));
            }
        }
    }
}

/// Runs `work` on the text of a string.
fn with_text<R>(string: ObjectRef, work: impl FnOnce(&str) -> R) -> R {
    with_units(string, |units| match units.to_ascii() {
        Some(text) => work(&text),
        None => work(&units.to_text()),
    })
}

/// Bytes of an element of a numeric vector; shorter ones are parts of it.
const ELEMENT_BYTES_MAX: usize = 16;

/// So many characters of a string, if it has more.
fn print_start(text: &mut String, string: ObjectRef, for_people: bool, characters_max: usize) {
    if string_length(string) <= characters_max {
        return print_string(text, string, for_people);
    }
    let start = with_units(string, |units| units.slice(0..characters_max).to_text());
    if for_people {
        text.push_str(&start);
    } else {
        let _ = write_quoted(&start, '"', text);
    }
}

fn print_string(text: &mut String, string: ObjectRef, for_people: bool) {
    with_text(string, |content| {
        if for_people {
            text.push_str(content);
        } else {
            let _ = write_quoted(content, '"', text);
        }
    });
}

fn print_symbol(text: &mut String, symbol: Value, for_people: bool) {
    let name = symbol
        .as_kind(Kind::Symbol)
        .and_then(|symbol| symbol.field(0).as_kind(Kind::String));
    let Some(name) = name else { return };
    with_text(name, |name| {
        if for_people || is_plain(name) {
            text.push_str(name);
        } else {
            let _ = write_symbol(name, text);
        }
    });
}

/// Whether a name surely needs no bars: a quick look that spares most symbols the full one.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_initial = |byte: &u8| byte.is_ascii_alphabetic() || b"!$%&*/:<=>?^_~".contains(byte);
    let is_subsequent =
        |byte: &u8| is_initial(byte) || byte.is_ascii_digit() || b"+-.@".contains(byte);
    let bytes = name.as_bytes();
    bytes.first().is_some_and(is_initial) && bytes.iter().all(is_subsequent)
}

/// The abbreviation that a symbol has at the head of a list of two elements.
pub(crate) fn quotation_prefix(symbol: Value) -> Option<&'static str> {
    let name = symbol
        .as_kind(Kind::Symbol)?
        .field(0)
        .as_kind(Kind::String)?;
    // The shortest is `quote`, the longest `unquote-splicing`.
    if !(5..=16).contains(&string_length(name)) {
        return None;
    }
    with_text(name, |name| match name {
        "quote" => Some("'"),
        "quasiquote" => Some("`"),
        "unquote" => Some(","),
        "unquote-splicing" => Some(",@"),
        _ => None,
    })
}

/// Whether an object is a symbol whose name begins with `@`.
pub(super) fn begins_with_at(value: Value) -> bool {
    symbol_name(value).is_some_and(|name| name.starts_with('@'))
}

/// The name of a record type, without the angle brackets that many have by custom.
pub(crate) fn print_record_name(text: &mut String, record_type: Value) {
    let name = record_type
        .as_kind(Kind::RecordType)
        .and_then(|record_type| symbol_name(record_type.field(record_type::NAME)))
        .unwrap_or_else(|| "record".to_owned());
    let bare = name
        .strip_prefix('<')
        .and_then(|name| name.strip_suffix('>'));
    text.push_str(bare.filter(|bare| !bare.is_empty()).unwrap_or(&name));
}

/// The name of a field, and a colon.
pub(super) fn print_field_name(text: &mut String, record_type: Value, index: usize) {
    let fields = record_type
        .as_kind(Kind::RecordType)
        .and_then(|record_type| record_type.field(record_type::FIELDS).as_kind(Kind::Vector));
    if let Some(fields) = fields.filter(|fields| index < fields.length()) {
        print_name(text, fields.field(index));
        text.push_str(": ");
    }
}

/// Whether the content of a record is nobody's business: that of a type whose first field has a name
/// that begins with `%`, as a promise's has.
pub(super) fn is_opaque_record(record_type: Value) -> bool {
    let Some(record_type) = record_type.as_kind(Kind::RecordType) else {
        return false;
    };
    field_names(record_type)
        .next()
        .is_some_and(|name| has_name(name, |name| name.starts_with('%')))
}

/// The field `name` of a record, unless that is `#f`, after a space.
fn print_given_name(text: &mut String, record: ObjectRef) {
    let Some(record_type) = record.field(0).as_kind(Kind::RecordType) else {
        return;
    };
    let index = field_names(record_type).position(|name| has_name(name, |name| name == "name"));
    let Some(name) = index.map(|index| record.field(index + 1)) else {
        return;
    };
    if let Some(name) = name.as_kind(Kind::String) {
        text.push(' ');
        print_string(text, name, false);
    } else if let Some(name) = symbol_name(name) {
        text.push(' ');
        text.push_str(&name);
    }
}

/// The names of all fields of a record type.
fn field_names(record_type: ObjectRef) -> impl Iterator<Item = Value> {
    let fields = record_type.field(record_type::FIELDS).as_kind(Kind::Vector);
    fields
        .into_iter()
        .flat_map(|fields| (0..fields.length()).map(move |index| fields.field(index)))
}

/// Whether an object is a symbol with a name that satisfies a test.
fn has_name(symbol: Value, test: impl FnOnce(&str) -> bool) -> bool {
    symbol
        .as_kind(Kind::Symbol)
        .and_then(|symbol| symbol.field(0).as_kind(Kind::String))
        .is_some_and(|name| with_text(name, test))
}
