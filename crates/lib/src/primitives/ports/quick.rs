//! Operations that a port does at once: in a text of the heap, or through its loan. Each function
//! does all of the operation, or nothing, and then says so. Errors, waits and long operations are
//! left to the primitive.
//!
//! They neither collect nor raise, so that leaf functions and primitives share them. A port of another
//! kind or direction, a closed one, and one that is lent to nobody does nothing at once.

use std::ops::Range;

use canny_tables::layout::loan;
use canny_value::{ObjectRef, Value};
use canny_vm::InPlace;

use super::{heap_source, heap_text, table};
use crate::text::{Units, character};

/// Characters of a text, and bytes, that are read or written here.
const CHARACTERS_MAX: usize = 512;
const BYTES_MAX: usize = 2048;

/// Characters of most texts.
const CHARACTERS_FEW: usize = 32;

/// The next character, which is stepped over or not.
#[inline]
pub(crate) fn read_char(thread: &mut InPlace, port: Value, advances: bool) -> Option<Value> {
    if let Some(answer) = heap_source::character_of(thread, port, advances) {
        return Some(answer);
    }
    thread.take_lent(port, loan::TEXT_INPUT, loan::TEXT_LIMIT, |_, text| {
        let (character, length) = first_character(text)?;
        Some((
            Value::character(character),
            if advances { length } else { 0 },
        ))
    })
}

/// The first character of text in UTF-8, and its bytes.
#[inline]
fn first_character(text: &[u8]) -> Option<(char, usize)> {
    let length = match *text.first()? {
        ..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    Some((text.chars().next()?, length))
}

/// The next byte, which is stepped over or not.
#[inline]
pub(crate) fn read_u8(thread: &mut InPlace, port: Value, advances: bool) -> Option<Value> {
    if let Some(answer) = heap_source::byte_of(thread, port, advances) {
        return Some(answer);
    }
    thread.take_lent(port, loan::BYTE_INPUT, loan::LIMIT, |_, bytes| {
        let byte = *bytes.first()?;
        Some((Value::fixnum(i64::from(byte)), usize::from(advances)))
    })
}

/// Whether a character, or a byte, is there.
#[inline]
pub(crate) fn is_ready(thread: &mut InPlace, port: Value, is_of_bytes: bool) -> bool {
    let (lends, limit) = if is_of_bytes {
        (loan::BYTE_INPUT, loan::LIMIT)
    } else {
        (loan::TEXT_INPUT, loan::TEXT_LIMIT)
    };
    heap_source::is_ready(thread, port, is_of_bytes)
        || thread
            .take_lent(port, lends, limit, |_, bytes| {
                (!bytes.is_empty()).then_some(((), 0))
            })
            .is_some()
}

/// The next characters, so many.
pub(crate) fn read_string(thread: &mut InPlace, port: Value, count: usize) -> Option<Value> {
    if let Some(answer) = heap_source::string(thread, port, count) {
        return Some(answer);
    }
    if count == 0 || count > CHARACTERS_MAX {
        return None;
    }
    let narrow = thread.take_lent(port, loan::TEXT_INPUT, loan::LIMIT, |thread, text| {
        Some((thread.ascii_string_of(text.get(..count)?)?, count))
    });
    if narrow.is_some() {
        return narrow;
    }
    thread.take_lent(port, loan::TEXT_INPUT, loan::TEXT_LIMIT, |thread, text| {
        // Where the character begins that comes behind the last one: a byte that continues none.
        let mut starts = text
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte & 0xc0 != 0x80)
            .map(|(index, _)| index);
        let end = match starts.nth(count) {
            Some(end) => end,
            None if text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() == count => text.len(),
            None => return None,
        };
        let text = std::str::from_utf8(&text[..end]).ok()?;
        let string = if text.is_ascii() {
            thread.ascii_string_of(text.as_bytes())
        } else {
            heap_text::string_of_text(thread, text)
        };
        Some((string?, end))
    })
}

/// The next bytes, so many.
pub(crate) fn read_bytes(thread: &mut InPlace, port: Value, count: usize) -> Option<Value> {
    if let Some(answer) = heap_source::bytes(thread, port, count) {
        return Some(answer);
    }
    if count == 0 || count > BYTES_MAX {
        return None;
    }
    thread.take_lent(port, loan::BYTE_INPUT, loan::LIMIT, |thread, bytes| {
        Some((thread.bytes(&[bytes.get(..count)?])?, count))
    })
}

/// Fills a range of a bytevector with the next bytes.
pub(crate) fn fill(
    thread: &mut InPlace,
    port: Value,
    target: ObjectRef,
    range: Range<usize>,
) -> Option<Value> {
    if let Some(answer) = heap_source::fill(thread, port, target, range.clone()) {
        return Some(answer);
    }
    let count = range.len();
    if count == 0 || count > BYTES_MAX {
        return None;
    }
    thread.take_lent(port, loan::BYTE_INPUT, loan::LIMIT, |_, bytes| {
        target.copy_bytes_in(range.start, bytes.get(..count)?);
        Some((Value::fixnum(count as i64), count))
    })
}

/// Writes ASCII, and whether it did. The bytes may lie in the heap.
#[inline]
pub(crate) fn put_ascii(thread: &mut InPlace, port: Value, text: &[u8]) -> bool {
    heap_text::put(thread, port, text)
        || text.len() <= CHARACTERS_MAX
            && text.is_ascii()
            && (thread.put_lent(port, loan::TEXT_OUTPUT, loan::LIMIT, text)
                || table::put_ascii(thread.loan_flag(), port, text))
}

/// Writes a character, and whether it did.
#[inline]
pub(crate) fn put_character(thread: &mut InPlace, port: Value, character: char) -> bool {
    let mut room = [0; 4];
    let text = character.encode_utf8(&mut room).as_bytes();
    match text {
        [_] => put_ascii(thread, port, text),
        _ => put_text(thread, port, text),
    }
}

/// Writes the characters of a short string, and whether it did.
pub(crate) fn put_units(thread: &mut InPlace, port: Value, units: Units<'_>) -> bool {
    if let Units::Narrow(bytes) = units
        && put_ascii(thread, port, bytes)
    {
        return true;
    }
    if units.length() > CHARACTERS_MAX {
        return false;
    }
    match units.length() {
        ..=CHARACTERS_FEW => put_encoded(thread, port, units, &mut [0; 4 * CHARACTERS_FEW]),
        _ => put_encoded(thread, port, units, &mut [0; 4 * CHARACTERS_MAX]),
    }
}

/// Encodes text in a room that is large enough, which has to be cleared, and writes it.
fn put_encoded(thread: &mut InPlace, port: Value, units: Units<'_>, room: &mut [u8]) -> bool {
    let mut used = 0;
    for unit in units.iter() {
        used += character(unit).encode_utf8(&mut room[used..]).len();
    }
    put_text(thread, port, &room[..used])
}

fn put_text(thread: &mut InPlace, port: Value, text: &[u8]) -> bool {
    heap_text::put_text(thread, port, text)
        || thread.put_lent(port, loan::TEXT_OUTPUT, loan::TEXT_LIMIT, text)
        || table::put_text(thread.loan_flag(), port, text)
}

/// Writes a few bytes, and whether it did. They may lie in the heap.
#[inline]
pub(crate) fn put_bytes(thread: &mut InPlace, port: Value, bytes: &[u8]) -> bool {
    bytes.len() <= BYTES_MAX
        && (heap_text::put_bytes(thread, port, bytes)
            || thread.put_lent(port, loan::BYTE_OUTPUT, loan::LIMIT, bytes)
            || table::put_bytes(thread.loan_flag(), port, bytes))
}

/// Hands on what was written, and whether it did: where there is nothing to be handed on.
pub(crate) fn flush(thread: &mut InPlace, port: Value) -> bool {
    heap_text::is_own_output(thread, port) || table::is_flushed(thread.loan_flag(), port)
}
