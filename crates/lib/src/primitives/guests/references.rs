//! Structs, arrays and exceptions of guests as objects of Scheme.
//!
//! Such an object is a record with its store, a host object, a number and a name for its kind. The guest's
//! object is a root of its store until the collector has found the host object dead. There is one record
//! for each as long as Scheme has it: a vector of the store's record has weak pairs with the records.

use std::collections::HashMap;
use std::sync::Arc;

use canny_locks::Mutex;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread};
use canny_wasm::{FieldType, HeapType, Referent, Storage, ValueType};

use super::objects::bits;
use super::values::{integer_bits, make_room, one, type_symbol};
use super::{Guests, field, store};
use crate::arguments::Call;
use crate::host::{keep, kept_in_table};

/// Fields of the record of an object.
mod part {
    pub(super) const STORE: usize = 1;
    pub(super) const HANDLE: usize = 2;
    pub(super) const NUMBER: usize = 3;
    pub(super) const NAME: usize = 4;
    pub(super) const COUNT: usize = 5;
}

/// Numbers of references that Scheme does not have any more.
type Released = Arc<Mutex<Vec<u32>>>;

/// A reference that Scheme has.
pub(crate) struct GuestReference {
    number: u32,
    released: Released,
}

kept_in_table!(GuestReference);

impl Drop for GuestReference {
    // The store's lock may be held for a slice of a guest.
    fn drop(&mut self) {
        self.released.lock().push(self.number);
    }
}

/// The references of a store that Scheme has.
#[derive(Default)]
pub(super) struct References {
    /// The newest number of each word.
    numbers: HashMap<u64, u32>,
    released: Released,
}

/// Releases what Scheme does not have any more.
pub(super) fn release_dead(guests: &mut Guests) {
    if guests.references.numbers.is_empty() {
        return;
    }
    let dead = std::mem::take(&mut *guests.references.released.lock());
    for number in dead {
        if let Some(word) = guests.store.held(number)
            && guests.references.numbers.get(&word) == Some(&number)
        {
            guests.references.numbers.remove(&word);
        }
        guests.store.release(number);
    }
}

/// The object for a word that refers to a guest's own.
pub(super) fn object(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    word: u64,
    kind: Referent,
) -> Result<Value, Raise> {
    release_dead(guests);
    if let Some(known) = known(guests, record, word) {
        return Ok(known);
    }
    let name = match kind {
        Referent::Struct => "struct",
        Referent::Array => "array",
        _ => "exception",
    };
    let name = thread.symbol(name);
    let number = guests.store.hold(word);
    let released = Arc::clone(&guests.references.released);
    // From here on the number is released with the host object.
    let reference = GuestReference { number, released };
    let handle = keep(thread, reference, "object of a guest")?;
    guests.references.numbers.insert(word, number);
    let object = thread.try_object(Kind::Record, 0, part::COUNT, Value::FALSE)?;
    thread.store(object, 0, record.field(field::OBJECT_TYPE));
    thread.store(object, part::STORE, record.value());
    thread.store(object, part::HANDLE, handle);
    thread.store(object, part::NUMBER, Value::fixnum(i64::from(number)));
    thread.store(object, part::NAME, name);
    let pair = thread.try_object(Kind::WeakPair, 0, 2, Value::FALSE)?;
    thread.store(pair, 0, object);
    make_room(thread, record, field::REFERENCES, number as usize)?;
    let pairs = record.field(field::REFERENCES);
    thread.store(pairs, number as usize, pair);
    Ok(object)
}

/// The object that Scheme has for a word already.
fn known(guests: &Guests, record: ObjectRef, word: u64) -> Option<Value> {
    let number = *guests.references.numbers.get(&word)? as usize;
    let pairs = record.field(field::REFERENCES).as_kind(Kind::Vector)?;
    let pair = (number < pairs.length()).then(|| pairs.field(number))?;
    let object = pair.as_kind(Kind::WeakPair)?.field(0);
    object.is_kind(Kind::Record).then_some(object)
}

/// The word for an object of a guest of this store, if it is one.
pub(super) fn word(guests: &Guests, record: ObjectRef, value: Value) -> Option<u64> {
    let object = value.as_kind(Kind::Record)?;
    let is_own = object.length() == part::COUNT
        && object.field(0) == record.field(field::OBJECT_TYPE)
        && object.field(part::STORE) == record.value();
    let number = is_own.then(|| object.field(part::NUMBER).as_index());
    guests.store.held(u32::try_from(number.flatten()?).ok()?)
}

/// The same if it fits a type.
pub(super) fn word_of_type(
    guests: &Guests,
    record: ObjectRef,
    heap: HeapType,
    value: Value,
) -> Option<u64> {
    let word = word(guests, record, value)?;
    guests.store.is_of_type(word, heap).then_some(word)
}

/// The object that is the second argument.
fn subject(
    thread: &mut Thread,
    call: Call,
    guests: &Guests,
    record: ObjectRef,
) -> Result<u64, Raise> {
    let word = word(guests, record, call.at(1));
    word.ok_or_else(|| call.type_error(thread, 1, "object of a guest"))
}

pub(super) fn field_count(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let guests = guests.lock(thread);
    let word = subject(thread, call, &guests, record)?;
    let count = guests.store.field_count(word).unwrap_or(0);
    Ok(Value::fixnum(count as i64))
}

/// The field or element that the third argument is the index of.
fn field_kind(
    thread: &mut Thread,
    call: Call,
    guests: &Guests,
    word: u64,
) -> Result<(FieldType, usize), Raise> {
    let index = call.index(thread, 2)?;
    let kind = guests.store.field_type(word, index);
    let kind = kind.ok_or_else(|| call.range_error(thread, 2, "the index of a field or element"));
    Ok((kind?, index))
}

pub(super) fn field_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let guests = guests.lock(thread);
    let word = subject(thread, call, &guests, record)?;
    let (kind, _) = field_kind(thread, call, &guests, word)?;
    Ok(match kind.storage {
        Storage::I8 => thread.symbol("i8"),
        Storage::I16 => thread.symbol("i16"),
        Storage::Value(kind) => type_symbol(thread, kind),
    })
}

pub(super) fn field_value(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let mut guests = guests.lock(thread);
    let word = subject(thread, call, &guests, record)?;
    let (kind, index) = field_kind(thread, call, &guests, word)?;
    let bits = guests.store.field(word, index).unwrap_or(0);
    let kind = match kind.storage {
        Storage::Value(kind) => kind,
        Storage::I8 | Storage::I16 => ValueType::I32,
    };
    let words = [bits as u64, (bits >> 64) as u64];
    one(thread, &mut guests, record, kind, &words)
}

pub(super) fn set_field_value(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let guests = &mut *guests.lock(thread);
    let word = subject(thread, call, guests, record)?;
    let (kind, index) = field_kind(thread, call, guests, word)?;
    if !kind.mutable {
        return Err(call.range_error(thread, 2, "the index of a field that can be assigned"));
    }
    let bits = match kind.storage {
        Storage::Value(kind) => bits(thread, call, guests, record, kind, 3)?,
        packed => {
            let count = 8 * packed.bytes();
            let Some(bits) = integer_bits(call.at(3), count as u32) else {
                let expected = format!("number of {count} bits");
                return Err(call.type_error(thread, 3, &expected));
            };
            u128::from(bits)
        }
    };
    guests.store.set_field(word, index, bits);
    Ok(Value::UNSPECIFIED)
}
