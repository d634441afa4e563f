//! Numbers in memories of guests.
//!
//! Compiled code calls the leaf functions. They do the work if the store is the one that the thread has
//! used last, and no guest runs in it at this moment.

use canny_tables::protocols::{Enumerated, GuestNumber};
use canny_value::Value;
use canny_vm::{InPlace, Raise, Thread};

use super::last_store;
use super::objects::{bytes_at, with_bytes};
use super::values::{float, integer_bits};
use crate::arguments::Call;

/// Bytes and sign of a number.
fn shape(kind: GuestNumber) -> (usize, bool) {
    match kind {
        GuestNumber::U8 => (1, false),
        GuestNumber::S8 => (1, true),
        GuestNumber::U16 => (2, false),
        GuestNumber::S16 => (2, true),
        GuestNumber::U32 | GuestNumber::F32 => (4, false),
        GuestNumber::S32 => (4, true),
        GuestNumber::U64 | GuestNumber::F64 => (8, false),
        GuestNumber::S64 => (8, true),
    }
}

/// The bits of a number that bytes are.
fn read(bytes: &[u8]) -> u64 {
    let byte = |(place, byte): (usize, &u8)| u64::from(*byte) << (8 * place);
    match bytes.try_into() {
        Ok(word) => u64::from_le_bytes(word),
        Err(_) => bytes.iter().enumerate().map(byte).sum(),
    }
}

/// The number with these bits, unless it is greater than 63 bits can say.
fn number(thread: &mut InPlace, kind: GuestNumber, bits: u64) -> Option<Value> {
    let (size, is_signed) = shape(kind);
    let unused = 64 - 8 * size as u32;
    Some(match kind {
        GuestNumber::F32 => thread.flonum(f64::from(f32::from_bits(bits as u32))),
        GuestNumber::F64 => thread.flonum(f64::from_bits(bits)),
        _ if is_signed => thread.integer((bits << unused) as i64 >> unused),
        _ => thread.integer(i64::try_from(bits).ok()?),
    })
}

/// The bits for a number, if it fits.
fn bits_of(kind: GuestNumber, value: Value) -> Option<u64> {
    let (size, _) = shape(kind);
    match kind {
        GuestNumber::F32 => float(value).map(|number| u64::from((number as f32).to_bits())),
        GuestNumber::F64 => float(value).map(f64::to_bits),
        _ => integer_bits(value, 8 * size as u32),
    }
}

pub(super) fn memory_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let kind: GuestNumber = call.case(thread, 3)?;
    let bits = with_bytes(thread, call, shape(kind).0, |bytes| read(bytes))?;
    match number(InPlace::of(thread), kind, bits) {
        Some(value) => Ok(value),
        None => thread.number(&canny_number::Number::from_limbs(false, &[bits])),
    }
}

pub(super) fn set_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let kind: GuestNumber = call.case(thread, 3)?;
    let (size, _) = shape(kind);
    let Some(bits) = bits_of(kind, call.at(4)) else {
        let expected = format!("number of {} bits", 8 * size);
        return Err(call.type_error(thread, 4, &expected));
    };
    with_bytes(thread, call, size, |bytes| {
        bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
    })?;
    Ok(Value::UNSPECIFIED)
}

/// Does something with the bytes of a number in a memory.
fn quickly<R>(
    [record, memory, address]: [Value; 3],
    kind: GuestNumber,
    work: impl FnOnce(&mut [u8]) -> R,
) -> Option<R> {
    let store = last_store(record)?;
    let memory = u32::try_from(memory.as_index()?).ok()?;
    let address = address.as_index()?;
    let mut guests = store.0.try_lock()?;
    bytes_at(&mut guests, memory, address, shape(kind).0).map(work)
}

/// The leaf function of `%wasm-memory-ref`: record of the store, memory and address, kind of number.
pub(crate) fn quick_ref(thread: &mut InPlace, place: [Value; 3], kind: Value) -> Option<Value> {
    let kind = GuestNumber::from_number(kind.as_fixnum()?)?;
    let bits = quickly(place, kind, |bytes| read(bytes))?;
    number(thread, kind, bits)
}

/// The leaf function of `%wasm-memory-set!`.
pub(crate) fn quick_set(place: [Value; 3], kind: Value, value: Value) -> Option<Value> {
    let kind = GuestNumber::from_number(kind.as_fixnum()?)?;
    let bits = bits_of(kind, value)?;
    quickly(place, kind, |bytes| {
        bytes.copy_from_slice(&bits.to_le_bytes()[..bytes.len()]);
    })?;
    Some(Value::UNSPECIFIED)
}
