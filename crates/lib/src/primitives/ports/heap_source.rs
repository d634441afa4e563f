//! Ports that read a string or bytevector, as they begin: see [`heap_text`](super::heap_text) for
//! their form.
//!
//! Everything here is done in place and without a collection, or not at all: the answer is then none,
//! and nothing was read. The end of input is an answer, and stays.

use std::ops::Range;

use canny_io::{IoError, TextInput};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::{string_data, string_length};
use canny_vm::{InPlace, Raise, Thread};
use memchr::memchr2;

use super::heap_text::{BYTE_INPUT, TEXT_INPUT, give_object, make, own_text_of};
use super::table::{HostPort, TextSource};
use crate::arguments::Call;
use crate::text::{Units, character};

/// Opens a port that reads a copy of a string.
pub(crate) fn open_string(thread: &mut InPlace, string: Value) -> Option<Value> {
    let string = string.as_kind(Kind::String)?;
    let text = thread.copy_of_units(string_data(string), string_length(string))?;
    Some(make(thread, TEXT_INPUT, text))
}

/// Opens a port that reads a copy of a bytevector.
pub(crate) fn open_bytes(thread: &mut InPlace, bytes: Value) -> Option<Value> {
    let bytes = bytes.as_kind(Kind::Bytevector)?;
    let text = thread.copy_of_units(bytes, bytes.length())?;
    Some(make(thread, BYTE_INPUT, text))
}

/// Longest text of such a port in bytes: longer ones take long to become another port.
const BYTES_MAX: usize = 1 << 20;

/// Opens a port that reads a copy of a string of any usual length; none for a longer one.
pub(crate) fn open_long_string(thread: &mut Thread, call: Call) -> Result<Option<Value>, Raise> {
    let string = call.string(thread, 0)?;
    let kind = string_data(string).kind();
    let length = string_length(string);
    let unit_bytes = if kind == Kind::String32 { 4 } else { 1 };
    if length > BYTES_MAX / unit_bytes {
        return Ok(None);
    }
    let copy = thread.try_leaf_to_fill(kind, 0, length)?;
    let data = string_data(call.string(thread, 0)?);
    // Another thread may have made the string wide.
    let Some(target) = copy.as_object().filter(|_| data.kind() == kind) else {
        return Ok(None);
    };
    if kind == Kind::String32 {
        data.with_utf32(|units| target.copy_utf32_in(0, &units[..length]));
    } else {
        data.with_bytes(|bytes| target.copy_bytes_in(0, &bytes[..length]));
    }
    Ok(Some(make(InPlace::of(thread), TEXT_INPUT, copy)))
}

/// The same of a bytevector.
pub(crate) fn open_long_bytes(thread: &mut Thread, call: Call) -> Result<Option<Value>, Raise> {
    let length = call.bytevector(thread, 0)?.length();
    if length > BYTES_MAX {
        return Ok(None);
    }
    let copy = thread.try_leaf_to_fill(Kind::Bytevector, 0, length)?;
    let bytes = call.bytevector(thread, 0)?;
    if let Some(target) = copy.as_object() {
        bytes.with_bytes(|bytes| target.copy_bytes_in(0, bytes));
    }
    Ok(Some(make(InPlace::of(thread), BYTE_INPUT, copy)))
}

pub(super) fn advance(thread: &mut InPlace, port: Value, used: usize) {
    thread.store(port, field::USED, Value::fixnum(used as i64));
}

/// Shows the units of a text.
#[inline(always)]
fn with_units<R>(text: ObjectRef, work: impl FnOnce(Units<'_>) -> R) -> R {
    if text.kind() == Kind::String32 {
        text.with_utf32(|units| work(Units::Wide(units)))
    } else {
        text.with_bytes(|bytes| work(Units::Narrow(bytes)))
    }
}

/// The next character, which is stepped over or not.
#[inline]
pub(crate) fn character_of(thread: &mut InPlace, port: Value, advances: bool) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, TEXT_INPUT)?;
    let next = with_units(text, |units| {
        (used < units.length()).then(|| units.at(used))
    });
    let Some(unit) = next else {
        return Some(Value::EOF);
    };
    if advances {
        advance(thread, port, used + 1);
    }
    Some(Value::character(character(unit)))
}

/// The next byte, which is stepped over or not.
#[inline]
pub(crate) fn byte_of(thread: &mut InPlace, port: Value, advances: bool) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, BYTE_INPUT)?;
    let Some(byte) = text.with_bytes(|bytes| bytes.get(used).copied()) else {
        return Some(Value::EOF);
    };
    if advances {
        advance(thread, port, used + 1);
    }
    Some(Value::fixnum(i64::from(byte)))
}

/// Whether there is such a port here, which never waits.
#[inline]
pub(crate) fn is_ready(thread: &InPlace, port: Value, is_of_bytes: bool) -> bool {
    let flags = if is_of_bytes { BYTE_INPUT } else { TEXT_INPUT };
    own_text_of(thread, port, flags).is_some()
}

/// The next characters, at most so many; the end of input where there are none and some are wanted.
pub(crate) fn string(thread: &mut InPlace, port: Value, count: usize) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, TEXT_INPUT)?;
    with_units(text, |units| {
        let length = units.length().saturating_sub(used).min(count);
        if length == 0 && count > 0 {
            return Some(Value::EOF);
        }
        let string = string_of(thread, units.slice(used..used + length))?;
        advance(thread, port, used + length);
        Some(string)
    })
}

/// The next line, without what ends it.
pub(crate) fn line(thread: &mut InPlace, port: Value) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, TEXT_INPUT)?;
    with_units(text, |units| {
        if used >= units.length() {
            return Some(Value::EOF);
        }
        let rest = units.slice(used..units.length());
        let found = match rest {
            Units::Narrow(bytes) => memchr2(b'\n', b'\r', bytes),
            Units::Wide(wide) => wide.iter().position(|unit| matches!(unit, 10 | 13)),
        };
        let length = found.unwrap_or(rest.length());
        let is_pair = found.is_some()
            && rest.at(length) == 13
            && length + 1 < rest.length()
            && rest.at(length + 1) == 10;
        let string = string_of(thread, rest.slice(0..length))?;
        let separator = usize::from(found.is_some()) + usize::from(is_pair);
        advance(thread, port, used + length + separator);
        Some(string)
    })
}

/// The next bytes, at most so many; the end of input where there are none and some are wanted.
pub(crate) fn bytes(thread: &mut InPlace, port: Value, count: usize) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, BYTE_INPUT)?;
    text.with_bytes(|bytes| {
        let length = bytes.len().saturating_sub(used).min(count);
        if length == 0 && count > 0 {
            return Some(Value::EOF);
        }
        let result = thread.bytes(&[&bytes[used..used + length]])?;
        advance(thread, port, used + length);
        Some(result)
    })
}

/// Fills a range of a bytevector with the next bytes, and tells how many there were.
pub(crate) fn fill(
    thread: &mut InPlace,
    port: Value,
    target: ObjectRef,
    range: Range<usize>,
) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, BYTE_INPUT)?;
    text.with_bytes(|bytes| {
        let length = bytes.len().saturating_sub(used).min(range.len());
        if length == 0 && !range.is_empty() {
            return Some(Value::EOF);
        }
        target.copy_bytes_in(range.start, &bytes[used..used + length]);
        advance(thread, port, used + length);
        Some(Value::fixnum(length as i64))
    })
}

/// Runs work that reads from the start of a text as if it were behind a port, and continues behind what
/// it read. None, and nothing done, where something was read before: then the work would have to begin
/// at the start again each time.
pub(super) fn hold<R, W>(thread: &mut Thread, port: Value, work: W) -> Result<Result<R, IoError>, W>
where
    W: FnOnce(&mut Thread, &mut TextSource) -> Result<R, IoError>,
{
    let unread = |thread: &mut Thread| {
        own_text_of(InPlace::of(thread), port, TEXT_INPUT)
            .filter(|(_, used)| *used == 0)
            .map(|(text, _)| text)
    };
    let Some(text) = unread(thread) else {
        return Err(work);
    };
    let mut source = TextSource {
        text: TextInput::from_text(with_units(text, |units| units.to_text())),
        folds_case: false,
    };
    let outcome = work(thread, &mut source);
    // Unless another thread took the port meanwhile.
    if let Some(text) = unread(thread) {
        if source.folds_case {
            give_object(thread, port, HostPort::text_source(source));
        } else {
            let bytes = source.text.location().byte_offset as usize;
            let used = with_units(text, |units| characters_of(units, bytes));
            advance(InPlace::of(thread), port, used);
        }
    }
    Ok(outcome)
}

/// How many characters have so many bytes in UTF-8, from the start on.
fn characters_of(units: Units<'_>, bytes: usize) -> usize {
    if units.is_ascii() {
        return bytes;
    }
    let mut end = 0;
    units
        .characters()
        .take_while(|character| {
            end += character.len_utf8();
            end <= bytes
        })
        .count()
}

/// A string as narrow as its characters are.
fn string_of(thread: &mut InPlace, units: Units<'_>) -> Option<Value> {
    let length = units.length();
    match units {
        Units::Narrow(bytes) if bytes.is_ascii() => thread.ascii_string_of(bytes),
        Units::Narrow(bytes) => {
            thread.latin1_string(length, |target| target.copy_from_slice(bytes))
        }
        Units::Wide(wide) => match wide.iter().fold(0, |bits, unit| bits | unit) {
            0..=0x7f => thread.ascii_string_with(length, |target| narrow(target, wide)),
            0x80..=0xff => thread.latin1_string(length, |target| narrow(target, wide)),
            _ => thread.wide_string_of(wide),
        },
    }
}

fn narrow(target: &mut [u8], units: &[u32]) {
    for (byte, unit) in target.iter_mut().zip(units) {
        *byte = *unit as u8;
    }
}
