//! Conversions between Scheme objects and the words of guests.
//!
//! Integers go both ways as exact integers: signed to Scheme, signed or unsigned to a guest. A function
//! is its number in the store, which Scheme code makes a procedure. An object of Scheme that a guest has
//! is kept in a vector of the store's record, by its place; `#f` is the null reference. A vector of a
//! guest is a bytevector with its 16 bytes, those of the lower lanes first. Small integers of guests are
//! integers, and their structs, arrays and exceptions objects that [`references`] makes.

use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_NEGATIVE;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::{Numeric, exact_to_f64, numeric};
use canny_vm::symbols::symbol_name;
use canny_vm::{Raise, Thread};
use canny_wasm::{FunctionType, HeapType, Hierarchy, Referent, ValueType};

use super::{Guests, Walk, field, references, values_of};
use crate::arguments::Call;
use crate::list::Builder;

/// Upper bits of the words that stand for objects of Scheme. Frames are searched for such words.
const EXTERN: u64 = 0x5cee_0000_0000_0000;

/// The free places of the vector of objects.
#[derive(Default)]
pub(super) struct Externs {
    free: Vec<u32>,
    /// Places that have been given out or are free.
    count: usize,
    /// So many are there when it is looked for free ones next.
    search_at: usize,
}

/// So many places there are before any is used again.
const FIRST_SEARCH: usize = 1024;

/// Sign and magnitude of an exact integer, if it has 64 bits.
pub(super) fn integer(value: Value) -> Option<(bool, u64)> {
    if let Some(number) = value.as_fixnum() {
        return Some((number < 0, number.unsigned_abs()));
    }
    let object = value.as_kind(Kind::Bignum)?;
    let magnitude = object.with_limbs(|limbs| match limbs {
        [limb] => Some(*limb),
        _ => None,
    })?;
    Some((object.has_flag(FLAG_NEGATIVE), magnitude))
}

/// The bits of an integer of so many bits, signed or not.
pub(super) fn integer_bits(value: Value, bits: u32) -> Option<u64> {
    let (negative, magnitude) = integer(value)?;
    let mask = u64::MAX >> (64 - bits);
    let limit = if negative { 1 << (bits - 1) } else { mask };
    (magnitude <= limit).then(|| if negative { magnitude.wrapping_neg() } else { magnitude } & mask)
}

/// The float for a real number.
pub(super) fn float(value: Value) -> Option<f64> {
    match numeric(value)? {
        Numeric::Fixnum(number) => Some(number as f64),
        Numeric::Flonum(number) => Some(number),
        Numeric::Other(number) => exact_to_f64(number),
    }
}

/// The word of a number that needs no conversion.
#[inline(always)]
pub(super) fn plain(kind: ValueType, value: Value) -> Option<u64> {
    match kind {
        ValueType::I32 => Some(u64::from(i32::try_from(value.as_fixnum()?).ok()? as u32)),
        ValueType::I64 => Some(value.as_fixnum()? as u64),
        ValueType::F64 => Some(value.as_flonum()?.to_bits()),
        _ => None,
    }
}

/// Adds the words of a value of a type; else says what was expected.
#[inline]
pub(super) fn push(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    words: &mut Vec<u64>,
    kind: ValueType,
    value: Value,
) -> Result<(), String> {
    let word = match kind {
        ValueType::I32 => integer_bits(value, 32),
        ValueType::I64 => integer_bits(value, 64),
        ValueType::F32 => float(value).map(|number| u64::from((number as f32).to_bits())),
        ValueType::F64 => float(value).map(f64::to_bits),
        ValueType::V128 => vector_words(value).map(|[lower, upper]| {
            words.push(lower);
            upper
        }),
        ValueType::Reference { nullable, .. } if value == Value::FALSE => nullable.then_some(0),
        ValueType::Reference { heap, .. } if is_function(heap) => {
            function_word(guests, heap, value)
        }
        ValueType::Reference { heap, .. } => match own_word(guests, record, heap, value) {
            Some(word) => Some(word),
            None if matches!(heap, HeapType::Extern | HeapType::Any) => {
                Some(keep_object(thread, guests, record, words, value)?)
            }
            None => None,
        },
    };
    let expected = || match kind {
        ValueType::V128 => "v128: it must be a bytevector of 16 bytes".to_owned(),
        ValueType::Reference { heap, .. } if is_function(heap) => {
            format!("{}: it must be a function of the store", kind.text())
        }
        ValueType::Reference {
            heap: HeapType::I31,
            ..
        } => format!("{}: it must be an integer of 31 bits", kind.text()),
        ValueType::Reference { heap, .. } if heap.hierarchy() == Hierarchy::Any => {
            format!(
                "{}: it must be such an object of a guest of the store",
                kind.text()
            )
        }
        kind => kind.text(),
    };
    words.push(word.ok_or_else(expected)?);
    Ok(())
}

/// The words of a vector.
fn vector_words(value: Value) -> Option<[u64; 2]> {
    value.as_kind(Kind::Bytevector)?.with_bytes(|bytes| {
        let bits = u128::from_le_bytes(bytes.try_into().ok()?);
        Some([bits as u64, (bits >> 64) as u64])
    })
}

/// The word for the function of the store with a number, if it fits.
fn function_word(guests: &Guests, heap: HeapType, value: Value) -> Option<u64> {
    let number = u32::try_from(value.as_index()?).ok()?;
    let function = guests.store.function(number)?;
    let number = guests.store.function_type_number(function);
    let fits = match heap {
        HeapType::Type(wanted) => canny_wasm::is_below(number, wanted),
        heap => !heap.is_empty(),
    };
    fits.then(|| guests.store.reference(function))
}

/// The word for an object of a guest or a small integer, if a reference may be one.
fn own_word(guests: &Guests, record: ObjectRef, heap: HeapType, value: Value) -> Option<u64> {
    let object = references::word_of_type(guests, record, heap, value);
    object.or_else(|| small_integer(guests, heap, value))
}

/// The word for an integer of 31 bits, if a reference may be one.
fn small_integer(guests: &Guests, heap: HeapType, value: Value) -> Option<u64> {
    if !matches!(heap, HeapType::Any | HeapType::Equal | HeapType::I31) {
        return None;
    }
    guests.store.i31(i32::try_from(value.as_fixnum()?).ok()?)
}

/// Whether references of this kind are to functions.
pub(super) fn is_function(heap: HeapType) -> bool {
    heap.hierarchy() == Hierarchy::Function
}

/// Whether references of this kind are to exceptions.
fn is_exception(heap: HeapType) -> bool {
    heap.hierarchy() == Hierarchy::Exception
}

/// Keeps an object for the guests of a store; gives the word that stands for it.
fn keep_object(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    words: &[u64],
    value: Value,
) -> Result<u64, String> {
    if guests.externs.free.is_empty() {
        find_free(thread, guests, record, words);
    }
    let place = match guests.externs.free.pop() {
        Some(place) => place as usize,
        None => {
            let place = guests.externs.count;
            let made = make_room(thread, record, field::EXTERNS, place);
            made.map_err(|_| "object for which memory is left".to_owned())?;
            guests.externs.count += 1;
            place
        }
    };
    let objects = record.field(field::EXTERNS);
    thread.store(objects, place, value);
    Ok(EXTERN | place as u64)
}

/// Makes room for a place in the vector that a field of a store's record has.
pub(super) fn make_room(
    thread: &mut Thread,
    record: ObjectRef,
    vector: usize,
    place: usize,
) -> Result<(), Raise> {
    let old = record.field(vector).as_kind(Kind::Vector);
    let length = old.map_or(0, ObjectRef::length);
    if place < length {
        return Ok(());
    }
    let new_length = (2 * length).max(place + 1).max(16);
    let new = thread.try_object(Kind::Vector, 0, new_length, Value::FALSE)?;
    for index in 0..length {
        let element = old.map_or(Value::FALSE, |old| old.field(index));
        thread.store(new, index, element);
    }
    thread.store(record.value(), vector, new);
    Ok(())
}

/// Finds places whose objects no guest has any more, once there are twice as many as were in use.
fn find_free(thread: &mut Thread, guests: &mut Guests, record: ObjectRef, words: &[u64]) {
    let count = guests.externs.count;
    if count < guests.externs.search_at.max(FIRST_SEARCH) {
        return;
    }
    let mut is_used = vec![false; count];
    let mut mark = |word: u64| {
        if word & EXTERN_MASK == EXTERN
            && let Some(is_used) = is_used.get_mut((word & !EXTERN_MASK) as usize)
        {
            *is_used = true;
        }
    };
    guests.store.each_word(&mut mark);
    words.iter().copied().for_each(mark);
    let objects = record.field(field::EXTERNS);
    for (place, _) in is_used.iter().enumerate().filter(|(_, is_used)| !**is_used) {
        thread.store(objects, place, Value::FALSE);
        guests.externs.free.push(place as u32);
    }
    guests.externs.search_at = 2 * (count - guests.externs.free.len());
}

const EXTERN_MASK: u64 = 0xffff_0000_0000_0000;

/// The object for a word of a type, or for two of a vector.
#[inline]
pub(super) fn one(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    kind: ValueType,
    words: &[u64],
) -> Result<Value, Raise> {
    let word = words.first().copied().unwrap_or(0);
    Ok(match kind {
        ValueType::I32 => Value::fixnum(i64::from(word as i32)),
        ValueType::I64 => thread.integer(word as i64),
        ValueType::F32 => thread.flonum(f64::from(f32::from_bits(word as u32))),
        ValueType::F64 => thread.flonum(f64::from_bits(word)),
        ValueType::V128 => {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            thread.bytevector(&bytes)?
        }
        ValueType::Reference { .. } if word == 0 => Value::FALSE,
        ValueType::Reference { heap, .. } if is_function(heap) => {
            let function = guests.store.referred(word);
            function.map_or(Value::FALSE, |it| Value::fixnum(i64::from(it.number())))
        }
        ValueType::Reference { .. } => {
            match guests.store.referent(word) {
                Referent::I31(number) => return Ok(Value::fixnum(i64::from(number))),
                Referent::Extern => {}
                own => return references::object(thread, guests, record, word, own),
            }
            let objects = record.field(field::EXTERNS).as_kind(Kind::Vector);
            let place = (word & !EXTERN_MASK) as usize;
            let objects =
                objects.filter(|objects| word & EXTERN_MASK == EXTERN && place < objects.length());
            objects.map_or(Value::FALSE, |objects| objects.field(place))
        }
    })
}

/// The result of a function, or a values object.
pub(super) fn results(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    kind: &FunctionType,
    words: &[u64],
) -> Result<Value, Raise> {
    match kind.results.as_slice() {
        [] => Ok(Value::UNSPECIFIED),
        [result] => one(thread, guests, record, *result, words),
        results => {
            let list = list(thread, guests, record, results, words)?;
            values_of(thread, results.len(), Walk::new(list))
        }
    }
}

/// A list of objects for words.
pub(super) fn list(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    kinds: &[ValueType],
    words: &[u64],
) -> Result<Value, Raise> {
    let mut list = Builder::new();
    let mut words = words;
    for kind in kinds {
        let (value, rest) = words.split_at(kind.slots());
        words = rest;
        let element = one(thread, guests, record, *kind, value)?;
        list.push(thread, element)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

/// The symbol for a type; all references to functions have the same one.
pub(super) fn type_symbol(thread: &mut Thread, kind: ValueType) -> Value {
    match kind {
        ValueType::Reference { heap, .. } if is_function(heap) => thread.symbol("funcref"),
        ValueType::Reference { heap, .. } if is_exception(heap) => thread.symbol("exnref"),
        ValueType::Reference { heap, .. } => thread.symbol(match heap {
            HeapType::Any => "anyref",
            HeapType::Equal => "eqref",
            HeapType::I31 => "i31ref",
            HeapType::None => "nullref",
            HeapType::Extern | HeapType::NoExtern => "externref",
            heap if heap.is_array() => "arrayref",
            _ => "structref",
        }),
        kind => thread.symbol(&kind.text()),
    }
}

/// The type with a name.
fn type_named(name: &str) -> Option<ValueType> {
    let plain = [
        ValueType::I32,
        ValueType::I64,
        ValueType::F32,
        ValueType::F64,
        ValueType::V128,
    ];
    let heap = match name {
        "funcref" => HeapType::Function,
        "externref" => HeapType::Extern,
        "anyref" => HeapType::Any,
        "eqref" => HeapType::Equal,
        "i31ref" => HeapType::I31,
        "structref" => HeapType::Struct,
        "arrayref" => HeapType::Array,
        "exnref" => HeapType::Exception,
        name => return plain.into_iter().find(|kind| kind.text() == name),
    };
    let nullable = true;
    Some(ValueType::Reference { nullable, heap })
}

/// The type that is an argument.
pub(super) fn type_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<ValueType, Raise> {
    let name = symbol_name(call.at(position));
    let kind = name.and_then(|name| type_named(&name));
    kind.ok_or_else(|| call.type_error(thread, position, TYPES))
}

const TYPES: &str = "type such as i32, f64, funcref or externref";

/// The types in a list.
pub(super) fn types_of(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Vec<ValueType>, Raise> {
    call.list_length(thread, position)?;
    let kinds: Option<Vec<ValueType>> = Walk::new(call.at(position))
        .map(|element| symbol_name(element).and_then(|name| type_named(&name)))
        .collect();
    kinds.ok_or_else(|| call.type_error(thread, position, "list of types such as i32 and f64"))
}

pub(super) fn type_list(thread: &mut Thread, kinds: &[ValueType]) -> Result<Value, Raise> {
    let mut list = Builder::new();
    for kind in kinds {
        let symbol = type_symbol(thread, *kind);
        list.push(thread, symbol)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

/// The pair of the lists of types of parameters and results.
pub(super) fn function_type_of(thread: &mut Thread, kind: &FunctionType) -> Result<Value, Raise> {
    let parameters = type_list(thread, &kind.parameters)?;
    let results = type_list(thread, &kind.results)?;
    thread.try_cons(parameters, results)
}
