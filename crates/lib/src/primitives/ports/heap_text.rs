//! Ports of strings and bytevectors as they begin: their text is an object of the Scheme heap that
//! belongs to one thread, so that opening, reading and writing take no lock and nothing is behind the
//! port that somebody would have to close.
//!
//! | field of the port object | a port that has its text in the heap | any other |
//! |---|---|---|
//! | `text` | what was written: a bytevector; what is read: a bytevector or the data of a string | `#f` or zero |
//! | `used` | the bytes that were written, of text in UTF-8; the characters or bytes that were read | |
//! | `owner` | the thread whose port it is, by its loan flag | |
//! | `flags` | what the port is, and whether it was closed | what the port is |
//! | `id` | zero | the port in the machine's table |
//! | `loan` | one that is never made | that of the port |
//!
//! Such a port [`settle`]s, which makes it like any other one, as soon as something else is done with
//! it than to write, to read, to close it and to get what was written, or when that grows long. It
//! happens once.
//!
//! The owner reads and writes these fields between two safepoints, generated code among the rest.
//! Another thread that wants to use the port first becomes its owner, while all threads stand at
//! safepoints. This module has the form and the ports that are written,
//! [`heap_source`](super::heap_source) those that are read.

use std::sync::Arc;

use canny_io::{BinaryInput, BinaryOutput, Loan, TextInput, TextOutput, Wait};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_value::{ObjectRef, Value};
use canny_vm::{InPlace, Thread};

use super::flag;
use super::table::{self, HostPort};
use crate::text::Units;

/// Room at the start.
const BYTES_MIN: usize = 64;
/// Longest text.
const BYTES_MAX: usize = 4096;

/// Flags of the ports.
pub(super) const TEXT_OUTPUT: i64 = flag::TEXTUAL | flag::OUTPUT | flag::MEMORY;
pub(super) const BYTE_OUTPUT: i64 = flag::BINARY | flag::OUTPUT | flag::MEMORY;
pub(super) const TEXT_INPUT: i64 = flag::TEXTUAL | flag::INPUT | flag::MEMORY;
pub(super) const BYTE_INPUT: i64 = flag::BINARY | flag::INPUT | flag::MEMORY;

/// Opens a port that collects text.
pub(crate) fn open(thread: &mut InPlace) -> Value {
    let text = thread.bytevector(BYTES_MIN);
    make(thread, TEXT_OUTPUT, text)
}

/// Opens a port that collects bytes.
pub(crate) fn open_bytes(thread: &mut InPlace) -> Value {
    let text = thread.bytevector(BYTES_MIN);
    make(thread, BYTE_OUTPUT, text)
}

/// A port with its text in the heap.
pub(super) fn make(thread: &mut InPlace, flags: i64, text: Value) -> Value {
    let owner = owner_word(thread);
    let mut fields = [Value::FALSE; field::COUNT];
    fields[field::ID] = Value::ZERO;
    fields[field::FLAGS] = Value::fixnum(flags);
    fields[field::LOAN] = Value::from_aligned_address(Loan::never().address());
    fields[field::TEXT] = text;
    fields[field::USED] = Value::ZERO;
    fields[field::OWNER] = owner;
    thread.port(fields)
}

/// How a port says whose it is.
fn owner_word(thread: &InPlace) -> Value {
    Value::from_aligned_address(Arc::as_ptr(thread.loan_flag()).addr())
}

/// The text of a port that has it in the heap, and how much of it is used.
fn text_of(port: Value) -> Option<(ObjectRef, usize)> {
    let port = port.as_kind(Kind::Port)?;
    let text = port.field(field::TEXT).as_object()?;
    Some((text, port.field(field::USED).as_index()?))
}

/// Whether a port is this thread's, if it has its text in the heap.
fn is_own(thread: &InPlace, port: Value) -> bool {
    port.as_kind(Kind::Port)
        .is_some_and(|port| port.field(field::OWNER) == owner_word(thread))
}

/// The same of an open port of this thread with these flags.
#[inline(always)]
pub(super) fn own_text_of(thread: &InPlace, port: Value, flags: i64) -> Option<(ObjectRef, usize)> {
    let object = port.as_kind(Kind::Port)?;
    if object.field(field::FLAGS) != Value::fixnum(flags)
        || object.field(field::OWNER) != owner_word(thread)
    {
        return None;
    }
    text_of(port)
}

/// Writes ASCII, and whether it did. The bytes may lie in the heap.
#[inline]
pub(crate) fn put(thread: &mut InPlace, port: Value, bytes: &[u8]) -> bool {
    bytes.len() <= BYTES_MAX && bytes.is_ascii() && append(thread, port, TEXT_OUTPUT, bytes)
}

/// Writes text in UTF-8, and whether it did.
#[inline]
pub(crate) fn put_text(thread: &mut InPlace, port: Value, text: &[u8]) -> bool {
    debug_assert!(std::str::from_utf8(text).is_ok());
    append(thread, port, TEXT_OUTPUT, text)
}

/// Writes bytes, and whether it did. They may lie in the heap.
#[inline]
pub(crate) fn put_bytes(thread: &mut InPlace, port: Value, bytes: &[u8]) -> bool {
    append(thread, port, BYTE_OUTPUT, bytes)
}

#[inline(always)]
fn append(thread: &mut InPlace, port: Value, flags: i64, bytes: &[u8]) -> bool {
    match own_text_of(thread, port, flags) {
        Some((text, used)) => append_to(thread, port, text, used, bytes),
        None => false,
    }
}

/// Writes behind the part of a port's text that is used.
fn append_to(
    thread: &mut InPlace,
    port: Value,
    mut text: ObjectRef,
    used: usize,
    bytes: &[u8],
) -> bool {
    let end = used + bytes.len();
    if end > BYTES_MAX {
        return false;
    }
    if end > text.length() {
        let longer = thread.bytevector((2 * end).next_power_of_two().min(BYTES_MAX));
        let Some(room) = longer.as_object() else {
            return false;
        };
        text.with_bytes(|bytes| room.copy_bytes_in(0, &bytes[..used]));
        thread.store(port, field::TEXT, longer);
        text = room;
    }
    text.copy_bytes_in(used, bytes);
    thread.store(port, field::USED, Value::fixnum(end as i64));
    true
}

/// The text of a port of this thread that may be closed.
fn own_output_of(thread: &InPlace, port: Value, flags: i64) -> Option<(ObjectRef, usize)> {
    own_text_of(thread, port, flags).or_else(|| own_text_of(thread, port, flags | flag::CLOSED))
}

/// The text written so far, as a string.
pub(crate) fn string(thread: &mut InPlace, port: Value) -> Option<Value> {
    let (text, used) = own_output_of(thread, port, TEXT_OUTPUT)?;
    text.with_bytes(|bytes| {
        let bytes = bytes.get(..used)?;
        if bytes.is_ascii() {
            thread.ascii_string(&[bytes])
        } else {
            string_of_text(thread, std::str::from_utf8(bytes).ok()?)
        }
    })
}

/// A string of text that is not all ASCII.
#[inline(never)]
pub(crate) fn string_of_text(thread: &mut InPlace, text: &str) -> Option<Value> {
    let (mut length, mut is_narrow) = (0, true);
    for character in text.chars() {
        length += 1;
        is_narrow &= character <= '\u{ff}';
    }
    if is_narrow {
        return thread.latin1_string(length, |units| {
            for (unit, character) in units.iter_mut().zip(text.chars()) {
                *unit = character as u8;
            }
        });
    }
    thread.wide_string(length, |units| {
        for (unit, character) in units.iter_mut().zip(text.chars()) {
            *unit = u32::from(character);
        }
    })
}

/// The bytes written so far, as a bytevector.
pub(crate) fn bytes(thread: &mut InPlace, port: Value) -> Option<Value> {
    let (text, used) = own_output_of(thread, port, BYTE_OUTPUT)?;
    text.with_bytes(|bytes| thread.bytes(&[bytes.get(..used)?]))
}

/// Whether a port is open, this thread's, and collects what is written in the heap.
pub(crate) fn is_own_output(thread: &InPlace, port: Value) -> bool {
    [TEXT_OUTPUT, BYTE_OUTPUT]
        .into_iter()
        .any(|flags| own_text_of(thread, port, flags).is_some())
}

/// The flags of a port of this thread that has its text in the heap.
#[inline]
fn own_flags(thread: &InPlace, port: Value) -> Option<i64> {
    let object = port.as_kind(Kind::Port)?;
    object.field(field::TEXT).as_object()?;
    if !is_own(thread, port) {
        return None;
    }
    object.field(field::FLAGS).as_fixnum()
}

/// Closes a port, one that has a direction if it says which, and whether it did.
#[inline]
pub(crate) fn close(thread: &mut InPlace, port: Value, direction: i64) -> bool {
    match own_flags(thread, port) {
        Some(flags) if flags & direction == direction => {
            thread.store(port, field::FLAGS, Value::fixnum(flags | flag::CLOSED));
            true
        }
        _ => false,
    }
}

/// Whether a port is open and has a direction. None says that it is no port of this thread that has its
/// text in the heap.
#[inline]
pub(crate) fn is_open(thread: &InPlace, port: Value, direction: i64) -> Option<bool> {
    let flags = own_flags(thread, port)?;
    Some(flags & (direction | flag::CLOSED) == direction)
}

/// Makes a port with its text in the heap like any other one.
#[cold]
#[inline(never)]
pub(crate) fn settle(thread: &mut Thread, port: Value) {
    // There is no safepoint from here on once the port is this thread's: another thread would become
    // its owner there and write to it, or settle it as well, and what it wrote would be lost.
    table::make_room(thread);
    while text_of(port).is_some() && !is_own(InPlace::of(thread), port) {
        let owner = owner_word(InPlace::of(thread));
        thread.store_while_alone(port, field::OWNER, owner);
    }
    let Some((text, used)) = text_of(port) else {
        return;
    };
    let flags = super::flags_of(port);
    let host_port = host_port(text, used, flags & !flag::CLOSED);
    if flags & flag::CLOSED != 0 {
        let closed = host_port.close(Wait::NonBlocking);
        debug_assert!(closed.is_ok(), "nothing is behind it");
        thread.store(port, field::FLAGS, Value::fixnum(flags & !flag::CLOSED));
    }
    give_object(thread, port, host_port);
}

/// Puts a port behind the object in the place of its text, without a safepoint.
pub(super) fn give_object(thread: &mut Thread, port: Value, host_port: HostPort) {
    table::give_object(thread, port, host_port);
    thread.store(port, field::TEXT, Value::FALSE);
}

fn host_port(text: ObjectRef, used: usize, flags: i64) -> HostPort {
    const WAIT: Wait<'_> = Wait::NonBlocking;
    match flags {
        TEXT_OUTPUT => {
            let mut output = TextOutput::memory();
            let written = text.with_bytes(|bytes| {
                output.write_str(&String::from_utf8_lossy(&bytes[..used]), WAIT)
            });
            debug_assert!(written.is_ok(), "memory takes everything");
            HostPort::text_output(output)
        }
        BYTE_OUTPUT => {
            let mut output = BinaryOutput::memory();
            let written = text.with_bytes(|bytes| output.write_bytes(&bytes[..used], WAIT));
            debug_assert!(written.is_ok(), "memory takes everything");
            HostPort::binary_output(output)
        }
        BYTE_INPUT => {
            let mut input = BinaryInput::from_bytes(text.with_bytes(<[u8]>::to_vec));
            input.skip(used);
            HostPort::binary_input(input)
        }
        _ => {
            let whole = if text.kind() == Kind::String32 {
                text.with_utf32(|units| Units::Wide(units).to_text())
            } else {
                text.with_bytes(|bytes| Units::Narrow(bytes).to_text())
            };
            let mut input = TextInput::from_text(whole);
            let skipped = input.read_chars(used, WAIT).map(drop);
            debug_assert!(skipped.is_ok(), "the text is there");
            HostPort::text_input(input)
        }
    }
}
