//! Numbers in memories of guests.
//!
//! Compiled code calls the leaf functions. They do the work if the store is the one that the thread has
//! used last, and no guest runs in it at this moment.

use canny_tables::protocols::{Enumerated, GuestNumber};
use canny_value::Value;
use canny_vm::{InPlace, Raise, Thread};
use canny_wasm::Memory;

use super::last_store;
use super::objects::with_memory;
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

/// The bits of so many bytes at an address, if they lie inside.
fn read(memory: &Memory, address: u64, size: usize) -> Option<u64> {
    let mut word = [0; 8];
    let is_there = memory.read(address, &mut word[..size]);
    is_there.then_some(u64::from_le_bytes(word))
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
    let (size, _) = shape(kind);
    let bits = with_memory(thread, call, |memory, address| read(memory, address, size))?;
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
    with_memory(thread, call, |memory, address| {
        let bytes = &bits.to_le_bytes()[..size];
        memory.write(address, bytes).then_some(())
    })?;
    Ok(Value::UNSPECIFIED)
}

/// Does something with a memory and an address there.
fn quickly<R>(
    [record, memory, address]: [Value; 3],
    work: impl FnOnce(&mut Memory, u64) -> Option<R>,
) -> Option<R> {
    let store = last_store(record)?;
    let memory = u32::try_from(memory.as_index()?).ok()?;
    let address = address.as_index()? as u64;
    let mut guests = store.0.try_lock()?;
    work(guests.store.memory_at_mut(memory)?, address)
}

/// The leaf function of `%wasm-memory-ref`: record of the store, memory and address, kind of number.
pub(crate) fn quick_ref(thread: &mut InPlace, place: [Value; 3], kind: Value) -> Option<Value> {
    let kind = GuestNumber::from_number(kind.as_fixnum()?)?;
    let (size, _) = shape(kind);
    let bits = quickly(place, |memory, address| read(memory, address, size))?;
    number(thread, kind, bits)
}

/// The leaf function of `%wasm-memory-set!`.
pub(crate) fn quick_set(place: [Value; 3], kind: Value, value: Value) -> Option<Value> {
    let kind = GuestNumber::from_number(kind.as_fixnum()?)?;
    let bits = bits_of(kind, value)?;
    let (size, _) = shape(kind);
    quickly(place, |memory, address| {
        let bytes = &bits.to_le_bytes()[..size];
        memory.write(address, bytes).then_some(())
    })?;
    Some(Value::UNSPECIFIED)
}
