//! Memories, tables and global variables of guests.
//!
//! Addresses are checked against the memory's size at that moment. Nothing here gives a view into a
//! memory that could outlast its growth.

use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread, string_text};
use canny_wasm::{
    Error, GlobalType, Memory, MemoryType, Reason, SharedMemory, TableType, Trap, ValueType,
};

use super::values::{one, push, type_at, type_symbol};
use super::{Guests, free_stores, limit, number, refused, store, store_at, trap, unknown};
use crate::arguments::Call;
use crate::primitives::strings::decode_utf8;

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
        is_shared: call.at(4).is_true(),
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

/// Does something with the memory and the address that are the next arguments; it gives nothing if the
/// bytes from there on lie outside.
pub(super) fn with_memory<R>(
    thread: &mut Thread,
    call: Call,
    work: impl FnOnce(&mut Memory, u64) -> Option<R>,
) -> Result<R, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let address = call.index(thread, 2)? as u64;
    let result = {
        let mut guests = guests.lock(thread);
        let memory = guests.store.memory_at_mut(number);
        memory.and_then(|memory| work(memory, address))
    };
    result.ok_or_else(|| outside(thread, call, Reason::OutOfBoundsMemory))
}

pub(super) fn memory_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let size = call.index(thread, 3)?;
    let bytes = with_memory(thread, call, |memory, address| {
        memory.copy(address, size as u64)
    })?;
    thread.bytevector(&bytes)
}

pub(super) fn copy_to_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let source = call.bytevector(thread, 3)?;
    let start = call.index_up_to(thread, 4, source.length())?;
    let end = call.index_up_to(thread, 5, source.length())?;
    if start > end {
        return Err(call.range_error(thread, 4, "at most the end"));
    }
    with_memory(thread, call, |memory, address| {
        source.with_bytes(|source| memory.write(address, &source[start..end]).then_some(()))
    })?;
    Ok(Value::UNSPECIFIED)
}

/// Copies bytes of a memory into a part of a bytevector.
pub(super) fn copy_from_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = call.mutable_bytevector(thread, 3)?;
    let start = call.index_up_to(thread, 4, target.length())?;
    let end = call.index_up_to(thread, 5, target.length())?;
    if start > end {
        return Err(call.range_error(thread, 4, "at most the end"));
    }
    with_memory(thread, call, |memory, address| {
        let bytes = memory.copy(address, (end - start) as u64)?;
        target.copy_bytes_in(start, &bytes);
        Some(())
    })?;
    Ok(Value::UNSPECIFIED)
}

/// The text in UTF-8 of so many bytes of a memory.
pub(super) fn memory_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let address = call.index(thread, 2)?;
    let size = call.index(thread, 3)?;
    // The decoder reads a copy, which no guest changes meanwhile.
    let bytes = with_memory(thread, call, |memory, address| {
        memory.copy(address, size as u64)
    })?;
    decode_utf8(thread, call, &bytes, address)
}

/// Writes a text in UTF-8; gives the number of bytes.
pub(super) fn set_memory_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 3)?;
    let text = string_text(string.value()).unwrap_or_default();
    with_memory(thread, call, |memory, address| {
        memory.write(address, text.as_bytes()).then_some(())
    })?;
    Ok(Value::fixnum(text.len() as i64))
}

pub(super) fn find_in_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let byte = call.byte(thread, 3)?;
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let address = call.index(thread, 2)?;
    let found = {
        let guests = guests.lock(thread);
        let memory = guests.store.memory_at(number);
        memory.and_then(|memory| find(memory, address as u64, byte))
    };
    Ok(found.map_or(Value::FALSE, |found| Value::fixnum(found as i64)))
}

/// The first address from one on at which a byte is.
fn find(memory: &Memory, address: u64, byte: u8) -> Option<u64> {
    /// Bytes that are looked at together.
    const STEP: u64 = 4096;
    let mut start = address;
    loop {
        let rest = memory.size().checked_sub(start).filter(|rest| *rest > 0)?;
        let bytes = memory.copy(start, rest.min(STEP))?;
        if let Some(index) = bytes.iter().position(|at| *at == byte) {
            return Some(start + index as u64);
        }
        start += bytes.len() as u64;
    }
}

/// The number of a shared memory in another store.
pub(super) fn share_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let shared = shared_memory(thread, call)?;
    let (other, _) = store_at(thread, call, 2)?;
    let number = other.lock(thread).store.share_memory(&shared);
    made(thread, call, number)
}

/// The shared memory that the first two arguments name.
fn shared_memory(thread: &mut Thread, call: Call) -> Result<SharedMemory, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let memory = {
        let guests = guests.lock(thread);
        let memory = guests.store.memory_at(number);
        memory.map(Memory::shared)
    };
    match memory {
        Some(Some(shared)) => Ok(shared),
        Some(None) => Err(outside(thread, call, Reason::UnsharedMemory)),
        None => Err(unknown(thread, call, "memory")),
    }
}

/// Wakes calls of guests that wait for an address.
pub(super) fn notify_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let shared = shared_memory(thread, call)?;
    let address = call.index(thread, 2)? as u64;
    let count =
        limit(thread, call, 3)?.map_or(u32::MAX, |count| count.try_into().unwrap_or(u32::MAX));
    match shared.notify(address, count) {
        Some(woken) => Ok(Value::fixnum(i64::from(woken))),
        None if address.is_multiple_of(4) => Err(outside(thread, call, Reason::OutOfBoundsMemory)),
        None => Err(outside(thread, call, Reason::UnalignedAtomic)),
    }
}

pub(super) fn is_shared_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let kind = guests
        .lock(thread)
        .store
        .memory_at(number)
        .map(|memory| memory.kind());
    match kind {
        Some(kind) => Ok(Value::boolean(kind.is_shared)),
        None => Err(unknown(thread, call, "memory")),
    }
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
