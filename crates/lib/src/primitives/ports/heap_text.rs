//! String output ports as they begin: their text is a bytevector of the Scheme heap that belongs to one thread, so that
//! opening and writing take no lock and nothing is behind the port that somebody would have to close.
//!
//! | field of the port object | a port that has its text in the heap | any other |
//! |---|---|---|
//! | `text` | a bytevector | no bytevector |
//! | `used` | its bytes that are text, all of them ASCII | |
//! | `owner` | the thread whose port it is, by its loan flag | |
//! | `id` | zero | the port in the machine's table |
//! | `loan` | one that is never made | that of the port |
//!
//! Such a port [`settle`]s, which makes it like any other one, as soon as something else is done with it than to write
//! ASCII and to ask for the text, or when the text grows long. It happens once.
//!
//! The owner reads and writes these fields between two safepoints. Another thread that wants to use the port first becomes
//! its owner, while all threads stand at safepoints.

use std::sync::Arc;

use canny_io::{Loan, TextOutput, Wait};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_value::{ObjectRef, Value};
use canny_vm::{InPlace, Thread};

use super::flag;
use super::table::{self, HostPort};

/// Room at the start.
const BYTES_MIN: usize = 64;
/// Longest text.
const BYTES_MAX: usize = 4096;

const FLAGS: i64 = flag::TEXTUAL | flag::OUTPUT | flag::MEMORY;

/// Opens a port.
pub(crate) fn open(thread: &mut InPlace) -> Value {
    let text = thread.bytevector(BYTES_MIN);
    let port = thread.port();
    thread.store(port, field::ID, Value::ZERO);
    thread.store(port, field::FLAGS, Value::fixnum(FLAGS));
    thread.store(port, field::NAME, Value::FALSE);
    let loan = Value::from_aligned_address(Loan::never().address());
    thread.store(port, field::LOAN, loan);
    thread.store(port, field::SERVICE, Value::FALSE);
    thread.store(port, field::TEXT, text);
    thread.store(port, field::USED, Value::ZERO);
    let owner = owner_word(thread);
    thread.store(port, field::OWNER, owner);
    port
}

/// How a port says whose it is.
fn owner_word(thread: &InPlace) -> Value {
    Value::from_aligned_address(Arc::as_ptr(thread.loan_flag()).addr())
}

/// The text's bytevector, and how much of it is used.
#[inline(always)]
fn text_of(port: Value) -> Option<(ObjectRef, usize)> {
    let port = port.as_kind(Kind::Port)?;
    let text = port.field(field::TEXT).as_kind(Kind::Bytevector)?;
    Some((text, port.field(field::USED).as_index()?))
}

/// The text of a port of this thread.
#[inline(always)]
fn own_text_of(thread: &InPlace, port: Value) -> Option<(ObjectRef, usize)> {
    let object = port.as_kind(Kind::Port)?;
    (object.field(field::OWNER) == owner_word(thread))
        .then(|| text_of(port))
        .flatten()
}

/// Writes, and whether it did. The bytes may lie in the heap.
#[inline]
pub(crate) fn put(thread: &mut InPlace, port: Value, bytes: &[u8]) -> bool {
    let Some((mut text, used)) = own_text_of(thread, port) else {
        return false;
    };
    let end = used + bytes.len();
    if end > BYTES_MAX || !bytes.is_ascii() {
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

/// What was written so far, as a string.
pub(crate) fn string(thread: &mut InPlace, port: Value) -> Option<Value> {
    let (text, used) = own_text_of(thread, port)?;
    text.with_bytes(|bytes| thread.ascii_string(&[bytes.get(..used)?]))
}

/// Makes a port with its text in the heap like any other one.
#[cold]
#[inline(never)]
pub(crate) fn settle(thread: &mut Thread, port: Value) {
    while text_of(port).is_some() && own_text_of(InPlace::of(thread), port).is_none() {
        let owner = owner_word(InPlace::of(thread));
        thread.store_while_alone(port, field::OWNER, owner);
    }
    let Some((text, used)) = text_of(port) else {
        return;
    };
    let mut output = TextOutput::memory();
    let written = text.with_bytes(|bytes| output.write_latin1(&bytes[..used], Wait::NonBlocking));
    debug_assert!(written.is_ok(), "memory takes everything");
    table::give_object(thread, port, HostPort::text_output(output));
    thread.store(port, field::TEXT, Value::FALSE);
}
