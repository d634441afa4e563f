//! Memories, tables and global variables of guests.
//!
//! Addresses are checked against the memory's size at that moment. Nothing here gives a view into a
//! memory that could outlast its growth.

use canny_tables::protocols::GuestNumber;
use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread};
use canny_wasm::{Error, GlobalType, MemoryType, Reason, TableType, Trap, ValueType};

use super::values::{float, integer_bits, one, push, type_at, type_symbol};
use super::{Guests, free_stores, limit, number, refused, store, trap, unknown};
use crate::arguments::Call;

fn outside(thread: &mut Thread, call: Call, what: Reason) -> Raise {
    trap(thread, call, &Trap::Reason(what))
}

/// The word for an argument that is to be of a type.
fn word(
    thread: &mut Thread,
    call: Call,
    guests: &mut Guests,
    record: ObjectRef,
    kind: ValueType,
    position: usize,
) -> Result<u64, Raise> {
    Ok(bits(thread, call, guests, record, kind, position)? as u64)
}

/// The bits of an argument of a type, which may be a vector.
pub(super) fn bits(
    thread: &mut Thread,
    call: Call,
    guests: &mut Guests,
    record: ObjectRef,
    kind: ValueType,
    position: usize,
) -> Result<u128, Raise> {
    let mut words = Vec::new();
    match push(thread, guests, record, &mut words, kind, call.at(position)) {
        Ok(()) => {
            let upper = words.get(1).copied().unwrap_or(0);
            Ok(u128::from(words[0]) | u128::from(upper) << 64)
        }
        Err(expected) => {
            let expected = format!("value of type {expected}");
            Err(call.type_error(thread, position, &expected))
        }
    }
}

fn made(thread: &mut Thread, call: Call, made: Result<u32, Error>) -> Result<Value, Raise> {
    match made {
        Ok(number) => Ok(Value::fixnum(i64::from(number))),
        Err(error) => Err(refused(thread, call, &error)),
    }
}

fn count(thread: &mut Thread, count: Option<u64>) -> Value {
    count.map_or(Value::FALSE, |count| thread.integer(count as i64))
}

pub(super) fn make_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let kind = MemoryType {
        initial: call.index(thread, 1)? as u64,
        maximum: limit(thread, call, 2)?,
        is_wide: call.at(3).is_true(),
    };
    let mut memory = guests.lock(thread).store.memory(kind);
    if memory.is_err() {
        free_stores(thread);
        memory = guests.lock(thread).store.memory(kind);
    }
    made(thread, call, memory)
}

pub(super) fn memory_pages(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let pages = guests
        .lock(thread)
        .store
        .memory_at(number)
        .map(|memory| memory.pages());
    match pages {
        Some(pages) => Ok(thread.integer(pages as i64)),
        None => Err(unknown(thread, call, "memory")),
    }
}

pub(super) fn grow_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let pages = call.index(thread, 2)? as u64;
    let before = guests.lock(thread).store.grow_memory(number, pages);
    Ok(count(thread, before))
}

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

/// Does something with so many bytes of a memory from an address on.
fn with_bytes<R>(
    thread: &mut Thread,
    call: Call,
    size: usize,
    work: impl FnOnce(&mut [u8]) -> R,
) -> Result<R, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let address = call.index(thread, 2)?;
    let result = {
        let mut guests = guests.lock(thread);
        let bytes = guests.store.memory_bytes_mut(number);
        let range = address..address.saturating_add(size);
        bytes.and_then(|bytes| bytes.get_mut(range)).map(work)
    };
    result.ok_or_else(|| outside(thread, call, Reason::OutOfBoundsMemory))
}

pub(super) fn memory_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let kind: GuestNumber = call.case(thread, 3)?;
    let (size, is_signed) = shape(kind);
    let bits = with_bytes(thread, call, size, |bytes| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    })?;
    let unused = 64 - 8 * size as u32;
    Ok(match kind {
        GuestNumber::F32 => thread.flonum(f64::from(f32::from_bits(bits as u32))),
        GuestNumber::F64 => thread.flonum(f64::from_bits(bits)),
        _ if is_signed => thread.integer((bits << unused) as i64 >> unused),
        _ => match i64::try_from(bits) {
            Ok(number) => thread.integer(number),
            Err(_) => {
                let number = canny_number::Number::from_limbs(false, &[bits]);
                return thread.number(&number);
            }
        },
    })
}

pub(super) fn set_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let kind: GuestNumber = call.case(thread, 3)?;
    let (size, _) = shape(kind);
    let value = call.at(4);
    let bits = match kind {
        GuestNumber::F32 => float(value).map(|number| u64::from((number as f32).to_bits())),
        GuestNumber::F64 => float(value).map(f64::to_bits),
        _ => integer_bits(value, 8 * size as u32),
    };
    let Some(bits) = bits else {
        let expected = format!("number of {} bits", 8 * size);
        return Err(call.type_error(thread, 4, &expected));
    };
    with_bytes(thread, call, size, |bytes| {
        bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
    })?;
    Ok(Value::UNSPECIFIED)
}

pub(super) fn memory_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let size = call.index(thread, 3)?;
    let bytes = with_bytes(thread, call, size, |bytes| bytes.to_vec())?;
    thread.bytevector(&bytes)
}

pub(super) fn copy_to_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let source = call.bytevector(thread, 3)?;
    let start = call.index_up_to(thread, 4, source.length())?;
    let end = call.index_up_to(thread, 5, source.length())?;
    if start > end {
        return Err(call.range_error(thread, 4, "at most the end"));
    }
    with_bytes(thread, call, end - start, |bytes| {
        source.with_bytes(|source| bytes.copy_from_slice(&source[start..end]));
    })?;
    Ok(Value::UNSPECIFIED)
}

pub(super) fn find_in_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let byte = call.byte(thread, 3)?;
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let address = call.index(thread, 2)?;
    let found = {
        let guests = guests.lock(thread);
        let memory = guests.store.memory_at(number);
        let rest = memory.and_then(|memory| memory.bytes().get(address..));
        rest.and_then(|rest| rest.iter().position(|at| *at == byte))
    };
    Ok(found.map_or(Value::FALSE, |index| {
        Value::fixnum((address + index) as i64)
    }))
}

pub(super) fn make_table(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let element = type_at(thread, call, 1)?;
    if !matches!(element, ValueType::Reference { .. }) {
        return Err(call.range_error(thread, 1, "funcref or externref"));
    }
    let kind = TableType {
        element,
        initial: call.index(thread, 2)? as u64,
        maximum: limit(thread, call, 3)?,
        is_wide: false,
    };
    let table = guests.lock(thread).store.table(kind);
    made(thread, call, table)
}

/// The type of the table that is the second argument.
fn table_kind(
    thread: &mut Thread,
    call: Call,
    guests: &super::GuestStore,
) -> Result<TableType, Raise> {
    let number = number(thread, call, 1)?;
    let kind = guests
        .lock(thread)
        .store
        .table_at(number)
        .map(|table| table.kind());
    kind.ok_or_else(|| unknown(thread, call, "table"))
}

pub(super) fn table_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let kind = table_kind(thread, call, &guests)?;
    Ok(type_symbol(thread, kind.element))
}

pub(super) fn table_size(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let kind = table_kind(thread, call, &guests)?;
    Ok(thread.integer(kind.initial as i64))
}

pub(super) fn table_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let kind = table_kind(thread, call, &guests)?;
    let number = number(thread, call, 1)?;
    let index = call.index(thread, 2)?;
    let mut guests = guests.lock(thread);
    let table = guests.store.table_at(number);
    let word = table.and_then(|table| table.elements().get(index).copied());
    match word {
        Some(word) => one(thread, &mut guests, record, kind.element, &[word]),
        None => {
            drop(guests);
            Err(outside(thread, call, Reason::OutOfBoundsTable))
        }
    }
}

pub(super) fn set_table(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let kind = table_kind(thread, call, &guests)?;
    let number = number(thread, call, 1)?;
    let index = call.index(thread, 2)?;
    let is_set = {
        let guests = &mut *guests.lock(thread);
        let word = word(thread, call, guests, record, kind.element, 3)?;
        guests.store.set_element(number, index, word)
    };
    if is_set {
        return Ok(Value::UNSPECIFIED);
    }
    Err(outside(thread, call, Reason::OutOfBoundsTable))
}

pub(super) fn grow_table(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let kind = table_kind(thread, call, &guests)?;
    let number = number(thread, call, 1)?;
    let more = call.index(thread, 2)? as u64;
    let before = {
        let guests = &mut *guests.lock(thread);
        let word = word(thread, call, guests, record, kind.element, 3)?;
        guests.store.grow_table(number, more, word)
    };
    Ok(count(thread, before))
}

pub(super) fn make_global(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let kind = GlobalType {
        value: type_at(thread, call, 1)?,
        mutable: call.at(2).is_true(),
    };
    let guests = &mut *guests.lock(thread);
    let bits = bits(thread, call, guests, record, kind.value, 3)?;
    let global = guests.store.global(kind, bits);
    Ok(Value::fixnum(i64::from(global.number())))
}

/// The global variable that is the second argument, and its type.
fn global(
    thread: &mut Thread,
    call: Call,
    guests: &super::GuestStore,
) -> Result<(canny_wasm::Global, GlobalType), Raise> {
    let number = number(thread, call, 1)?;
    let found = {
        let guests = guests.lock(thread);
        let global = guests.store.global_with_number(number);
        global.map(|global| (global, guests.store.global_type(global)))
    };
    found.ok_or_else(|| unknown(thread, call, "global variable"))
}

pub(super) fn global_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let (_, kind) = global(thread, call, &guests)?;
    let symbol = type_symbol(thread, kind.value);
    thread.try_cons(symbol, Value::boolean(kind.mutable))
}

pub(super) fn global_value(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let (global, kind) = global(thread, call, &guests)?;
    let mut guests = guests.lock(thread);
    let bits = guests.store.global_value(global);
    let words = [bits as u64, (bits >> 64) as u64];
    one(thread, &mut guests, record, kind.value, &words)
}

pub(super) fn set_global_value(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let (global, kind) = global(thread, call, &guests)?;
    if !kind.mutable {
        return Err(call.range_error(thread, 1, "a global variable that can be assigned"));
    }
    let guests = &mut *guests.lock(thread);
    let bits = bits(thread, call, guests, record, kind.value, 2)?;
    guests.store.set_global_value(global, bits);
    Ok(Value::UNSPECIFIED)
}
