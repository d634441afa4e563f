//! Leaf functions that read and write characters, bytes and short texts of ports of strings and
//! bytevectors, and of lent ports, that open the former and close them.
//!
//! A leaf function neither collects nor raises. It declines whatever is not the simple case, before
//! it has written anything, and the primitive does the work instead.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::InPlace;
use canny_vm::strings::string_length;

use super::strings::range;
use super::{DIGITS_MAX, Row, Word, digits, or_decline, stored, truth, with_ascii};
use crate::primitives::ports::{flag, heap_source, heap_text, quick, quick_data, quick_text};
use crate::primitives::symbols::field::NAME;
use crate::printer::is_plain;
use crate::text::with_units;

pub(super) const FUNCTIONS: &[Row] = &[
    (
        "%current-port",
        1,
        leaf!(|thread, key, _, _| or_decline(thread.current_port(key))),
    ),
    (
        "read-char",
        1,
        leaf!(|thread, port, _, _| or_decline(quick::read_char(thread, port, true))),
    ),
    (
        "peek-char",
        1,
        leaf!(|thread, port, _, _| or_decline(quick::read_char(thread, port, false))),
    ),
    (
        "char-ready?",
        1,
        leaf!(|thread, port, _, _| ready(quick::is_ready(thread, port, false))),
    ),
    ("read-string", 2, read_string),
    (
        "read-u8",
        1,
        leaf!(|thread, port, _, _| or_decline(quick::read_u8(thread, port, true))),
    ),
    (
        "peek-u8",
        1,
        leaf!(|thread, port, _, _| or_decline(quick::read_u8(thread, port, false))),
    ),
    (
        "u8-ready?",
        1,
        leaf!(|thread, port, _, _| ready(quick::is_ready(thread, port, true))),
    ),
    ("write-u8", 2, write_u8),
    ("read-bytevector", 2, read_bytevector),
    ("read-bytevector!", 2, fill_bytevector),
    ("write-bytevector", 2, write_bytevector),
    ("write-bytevector", 3, write_rest_of_bytevector),
    (
        "open-input-string",
        1,
        leaf!(|thread, string, _, _| or_decline(heap_source::open_string(thread, string))),
    ),
    (
        "open-input-bytevector",
        1,
        leaf!(|thread, bytes, _, _| or_decline(heap_source::open_bytes(thread, bytes))),
    ),
    (
        "open-output-bytevector",
        0,
        leaf!(|thread, _, _, _| heap_text::open_bytes(thread)),
    ),
    (
        "get-output-bytevector",
        1,
        leaf!(|thread, port, _, _| or_decline(heap_text::bytes(thread, port))),
    ),
    (
        "close-port",
        1,
        leaf!(|thread, port, _, _| stored(heap_text::close(thread, port, 0))),
    ),
    (
        "close-input-port",
        1,
        leaf!(|thread, port, _, _| stored(heap_text::close(thread, port, flag::INPUT))),
    ),
    (
        "close-output-port",
        1,
        leaf!(|thread, port, _, _| stored(heap_text::close(thread, port, flag::OUTPUT))),
    ),
    (
        "input-port-open?",
        1,
        leaf!(|thread, port, _, _| truth(heap_text::is_open(thread, port, flag::INPUT))),
    ),
    (
        "output-port-open?",
        1,
        leaf!(|thread, port, _, _| truth(heap_text::is_open(thread, port, flag::OUTPUT))),
    ),
    (
        "read",
        1,
        leaf!(|thread, port, _, _| or_decline(quick_data::read(thread, port))),
    ),
    (
        "write-string",
        3,
        leaf!(|thread, string, port, start| write_part(thread, string, port, start, None)),
    ),
    (
        "write-string",
        4,
        leaf!(|thread, string, port, start| {
            let [end] = thread.further();
            write_part(thread, string, port, start, Some(end))
        }),
    ),
    (
        "write-bytevector",
        4,
        leaf!(|thread, bytes, port, start| {
            let [end] = thread.further();
            write_bytes(thread, bytes, port, start, Some(end))
        }),
    ),
    (
        "read-bytevector!",
        3,
        leaf!(|thread, target, port, start| fill_part(thread, target, port, start, None)),
    ),
    (
        "read-bytevector!",
        4,
        leaf!(|thread, target, port, start| {
            let [end] = thread.further();
            fill_part(thread, target, port, start, Some(end))
        }),
    ),
    (
        "flush-output-port",
        1,
        leaf!(|thread, port, _, _| stored(quick::flush(thread, port))),
    ),
];

/// That something is ready can be said at once, not that nothing is.
fn ready(is_ready: bool) -> Value {
    truth(is_ready.then_some(true))
}

extern "C" fn read_string(thread: &mut InPlace, count: Word, port: Word, _: Word) -> Word {
    or_decline(
        count
            .as_index()
            .and_then(|count| quick::read_string(thread, port, count)),
    )
}

extern "C" fn read_bytevector(thread: &mut InPlace, count: Word, port: Word, _: Word) -> Word {
    or_decline(
        count
            .as_index()
            .and_then(|count| quick::read_bytes(thread, port, count)),
    )
}

extern "C" fn fill_bytevector(thread: &mut InPlace, target: Word, port: Word, _: Word) -> Word {
    fill_part(thread, target, port, Value::ZERO, None)
}

fn fill_part(
    thread: &mut InPlace,
    target: Value,
    port: Value,
    start: Value,
    end: Option<Value>,
) -> Value {
    let target = target.as_kind(Kind::Bytevector);
    let target = target.filter(|target| !target.is_immutable());
    or_decline(target.and_then(|target| {
        let range = range(target.length(), Some(start), end)?;
        quick::fill(thread, port, target, range)
    }))
}

extern "C" fn write_u8(thread: &mut InPlace, byte: Word, port: Word, _: Word) -> Word {
    let byte = byte.as_fixnum().and_then(|byte| u8::try_from(byte).ok());
    stored(byte.is_some_and(|byte| quick::put_bytes(thread, port, &[byte])))
}

extern "C" fn write_bytevector(thread: &mut InPlace, bytes: Word, port: Word, _: Word) -> Word {
    write_rest_of_bytevector(thread, bytes, port, Value::ZERO)
}

extern "C" fn write_rest_of_bytevector(
    thread: &mut InPlace,
    bytes: Word,
    port: Word,
    start: Word,
) -> Word {
    write_bytes(thread, bytes, port, start, None)
}

fn write_bytes(
    thread: &mut InPlace,
    bytes: Value,
    port: Value,
    start: Value,
    end: Option<Value>,
) -> Value {
    let done = bytes.as_kind(Kind::Bytevector).and_then(|bytes| {
        let range = range(bytes.length(), Some(start), end)?;
        Some(bytes.with_bytes(|bytes| quick::put_bytes(thread, port, &bytes[range])))
    });
    stored(done == Some(true))
}

fn write_part(
    thread: &mut InPlace,
    string: Value,
    port: Value,
    start: Value,
    end: Option<Value>,
) -> Value {
    let done = string.as_kind(Kind::String).and_then(|string| {
        let range = range(string_length(string), Some(start), end)?;
        Some(with_units(string, |units| {
            quick::put_units(thread, port, units.slice(range))
        }))
    });
    stored(done == Some(true))
}

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
    quick::put_ascii(thread, port, text)
}

pub(super) extern "C" fn write_char(
    thread: &mut InPlace,
    character: Word,
    port: Word,
    _: Word,
) -> Word {
    let character = character.as_character();
    stored(character.is_some_and(|character| quick::put_character(thread, port, character)))
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
    let string = string.as_kind(Kind::String);
    stored(
        string.is_some_and(|string| {
            with_units(string, |units| quick::put_units(thread, port, units))
        }),
    )
}

pub(super) extern "C" fn display(thread: &mut InPlace, object: Word, port: Word, _: Word) -> Word {
    if object.is_kind(Kind::String) {
        return write_string(thread, object, port, Value::ZERO);
    }
    if object.as_character().is_some() {
        return write_char(thread, object, port, Value::ZERO);
    }
    put_datum(thread, object, port, false)
}

pub(super) extern "C" fn write(thread: &mut InPlace, object: Word, port: Word, _: Word) -> Word {
    put_datum(thread, object, port, true)
}

/// Writes an object. Numbers in words, and symbols, are usual and need no room for a longer text.
fn put_datum(thread: &mut InPlace, object: Value, port: Value, writes: bool) -> Value {
    if let Some(number) = object.as_fixnum() {
        let mut room = [0; DIGITS_MAX];
        return stored(put(thread, port, digits(number, &mut room)));
    }
    let Some(symbol) = object.as_kind(Kind::Symbol) else {
        return stored(quick_text::put(thread, port, object, writes));
    };
    let done = with_ascii(symbol.field(NAME), |name| {
        let is_right = !writes || is_plain(std::str::from_utf8(name).ok()?);
        Some(is_right && put(thread, port, name))
    });
    stored(done == Some(true))
}
