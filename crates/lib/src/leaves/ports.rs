//! Leaf functions that write characters and short ASCII texts to string ports and to lent ports.
//!
//! A leaf function neither collects nor raises. It declines whatever is not the simple case, before
//! it has written anything, and the primitive does the work instead.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::InPlace;

use super::{Word, digits, or_decline, stored, with_ascii};
use crate::primitives::ports::{heap_text, table};
use crate::primitives::symbols::field::NAME;

pub(super) extern "C" fn open_output_string(
    thread: &mut InPlace,
    _: Word,
    _: Word,
    _: Word,
) -> Word {
    heap_text::open(thread)
}

pub(super) extern "C" fn get_output_string(
    thread: &mut InPlace,
    port: Word,
    _: Word,
    _: Word,
) -> Word {
    or_decline(heap_text::string(thread, port))
}

/// Writes ASCII, and whether it did.
#[inline]
fn put(thread: &mut InPlace, port: Value, text: &[u8]) -> bool {
    debug_assert!(text.is_ascii());
    heap_text::put(thread, port, text) || table::put_ascii(thread.loan_flag(), port, text)
}

pub(super) extern "C" fn write_char(
    thread: &mut InPlace,
    character: Word,
    port: Word,
    _: Word,
) -> Word {
    let byte = character.as_character().filter(char::is_ascii);
    stored(byte.is_some_and(|byte| put(thread, port, &[byte as u8])))
}

pub(super) extern "C" fn newline(thread: &mut InPlace, port: Word, _: Word, _: Word) -> Word {
    stored(put(thread, port, b"\n"))
}

pub(super) extern "C" fn write_string(
    thread: &mut InPlace,
    string: Word,
    port: Word,
    _: Word,
) -> Word {
    let done = with_ascii(string, |bytes| Some(put(thread, port, bytes)));
    stored(done == Some(true))
}

pub(super) extern "C" fn display(thread: &mut InPlace, object: Word, port: Word, _: Word) -> Word {
    if object.is_kind(Kind::String) {
        return write_string(thread, object, port, Value::ZERO);
    }
    if object.as_character().is_some() {
        return write_char(thread, object, port, Value::ZERO);
    }
    write_atom(thread, object, port, |_| true)
}

pub(super) extern "C" fn write(thread: &mut InPlace, object: Word, port: Word, _: Word) -> Word {
    write_atom(thread, object, port, is_plain)
}

/// Writes a fixnum, or a symbol whose name is written as it is.
fn write_atom(
    thread: &mut InPlace,
    object: Value,
    port: Value,
    is_plain: fn(&[u8]) -> bool,
) -> Value {
    if let Some(number) = object.as_fixnum() {
        let mut room = [0; super::DIGITS_MAX];
        return stored(put(thread, port, digits(number, &mut room)));
    }
    let Some(symbol) = object.as_kind(Kind::Symbol) else {
        return Value::DECLINED;
    };
    let done = with_ascii(symbol.field(NAME), |name| {
        Some(is_plain(name) && put(thread, port, name))
    });
    stored(done == Some(true))
}

/// Whether a name needs no bars for sure: a letter, then letters, digits and hyphens, in lower case.
fn is_plain(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_lowercase)
        && name
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}
