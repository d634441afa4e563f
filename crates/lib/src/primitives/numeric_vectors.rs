//! Primitives of homogeneous numeric vectors (SRFI 4 and 160); a bytevector is the one of the first
//! type.
//!
//! Elements are stored bare, in the machine's byte order. A value that the element type cannot hold
//! raises and is never rounded into another integer. The `quick_…` functions serve leaf functions:
//! they do not allocate and decline everything unusual.

use canny_number::elements::{
    ELEMENT_BYTES_MAX, Element, ElementBytes, ElementType, decode_element, encode_element,
    encode_flonum, encode_integer,
};
use canny_tables::kinds::Kind;
use canny_tables::layout::ELEMENT_TYPE_SHIFT;
use canny_tables::protocols::{ElementCode, Enumerated};
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::number_of;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

use of_type::*;

/// A type for each element type, for functions that are made for one.
pub(crate) trait OfType {
    const TYPE: ElementType;
}

/// The types that name an element type.
pub(crate) mod of_type {
    use super::{ElementType, OfType};

    macro_rules! of_types {
        ($($name:ident)*) => {$(
            pub(crate) struct $name;

            impl OfType for $name {
                const TYPE: ElementType = ElementType::$name;
            }
        )*};
    }

    of_types! { S8 U16 S16 U32 S32 U64 S64 F32 F64 C64 C128 }
}

/// The codes of the numeric tower are those of the protocol with Scheme, with the same names.
const _: () = {
    let rows = ElementCode::ROW.values;
    assert!(rows.len() == ElementType::ALL.len());
    let mut code = 0;
    while code < rows.len() {
        let (name, number) = rows[code];
        let (name, other) = (name.as_bytes(), ElementType::ALL[code].name().as_bytes());
        assert!(number == code as i64 && name.len() == other.len());
        let mut at = 0;
        while at < name.len() {
            assert!(name[at] == other[at]);
            at += 1;
        }
        code += 1;
    }
};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%numeric-vector-type" => |_, call| Ok(match numeric_vector(call.at(0)) {
        Some((_, element)) => Value::fixnum(element as i64),
        None => Value::FALSE,
    });
    "%numeric-element?" => |thread, call| {
        let element = type_at(thread, call, 0)?;
        Ok(Value::boolean(encode(element, call.at(1)).is_some()))
    };
    "%numeric-element-description" => |thread, call| {
        let element = type_at(thread, call, 0)?;
        Ok(thread.literal_string(element.description()))
    };
    "%make-numeric-vector" => make;
    "%numeric-vector-length" => |thread, call| {
        let (vector, element) = vector_at(thread, call, 0)?;
        Ok(Value::fixnum(length(vector, element) as i64))
    };
    "%numeric-vector-ref" => |thread, call| {
        let (vector, element) = vector_at(thread, call, 0)?;
        reference(thread, call, vector, element)
    };
    "%numeric-vector-set!" => |thread, call| {
        let (vector, element) = vector_at(thread, call, 0)?;
        set(thread, call, vector, element)
    };
    "%bytevector-element-ref" => bytevector_element_ref;
    "%bytevector-element-set!" => bytevector_element_set;
    "%numeric-vector-copy!" => copy_into;
    "%numeric-vector-fill!" => fill;
    "s8vector?" => is_of_type::<S8>;
    "s8vector-length" => length_of_type::<S8>;
    "s8vector-ref" => ref_of_type::<S8>;
    "s8vector-set!" => set_of_type::<S8>;
    "u16vector?" => is_of_type::<U16>;
    "u16vector-length" => length_of_type::<U16>;
    "u16vector-ref" => ref_of_type::<U16>;
    "u16vector-set!" => set_of_type::<U16>;
    "s16vector?" => is_of_type::<S16>;
    "s16vector-length" => length_of_type::<S16>;
    "s16vector-ref" => ref_of_type::<S16>;
    "s16vector-set!" => set_of_type::<S16>;
    "u32vector?" => is_of_type::<U32>;
    "u32vector-length" => length_of_type::<U32>;
    "u32vector-ref" => ref_of_type::<U32>;
    "u32vector-set!" => set_of_type::<U32>;
    "s32vector?" => is_of_type::<S32>;
    "s32vector-length" => length_of_type::<S32>;
    "s32vector-ref" => ref_of_type::<S32>;
    "s32vector-set!" => set_of_type::<S32>;
    "u64vector?" => is_of_type::<U64>;
    "u64vector-length" => length_of_type::<U64>;
    "u64vector-ref" => ref_of_type::<U64>;
    "u64vector-set!" => set_of_type::<U64>;
    "s64vector?" => is_of_type::<S64>;
    "s64vector-length" => length_of_type::<S64>;
    "s64vector-ref" => ref_of_type::<S64>;
    "s64vector-set!" => set_of_type::<S64>;
    "f32vector?" => is_of_type::<F32>;
    "f32vector-length" => length_of_type::<F32>;
    "f32vector-ref" => ref_of_type::<F32>;
    "f32vector-set!" => set_of_type::<F32>;
    "f64vector?" => is_of_type::<F64>;
    "f64vector-length" => length_of_type::<F64>;
    "f64vector-ref" => ref_of_type::<F64>;
    "f64vector-set!" => set_of_type::<F64>;
    "c64vector?" => is_of_type::<C64>;
    "c64vector-length" => length_of_type::<C64>;
    "c64vector-ref" => ref_of_type::<C64>;
    "c64vector-set!" => set_of_type::<C64>;
    "c128vector?" => is_of_type::<C128>;
    "c128vector-length" => length_of_type::<C128>;
    "c128vector-ref" => ref_of_type::<C128>;
    "c128vector-set!" => set_of_type::<C128>;
};

/// The element type of a numeric vector.
#[inline]
pub(crate) fn element_type(vector: ObjectRef) -> ElementType {
    ElementType::from_code(vector.header().flags() >> ELEMENT_TYPE_SHIFT).unwrap_or(ElementType::U8)
}

/// The object as a numeric vector.
#[inline]
pub(crate) fn numeric_vector(value: Value) -> Option<(ObjectRef, ElementType)> {
    let object = value.as_object()?;
    match object.kind() {
        Kind::NumericVector => Some((object, element_type(object))),
        Kind::Bytevector => Some((object, ElementType::U8)),
        _ => None,
    }
}

fn type_at(thread: &mut Thread, call: Call, position: usize) -> Result<ElementType, Raise> {
    let code: ElementCode = call.case(thread, position)?;
    Ok(ElementType::ALL[code as usize])
}

fn vector_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<(ObjectRef, ElementType), Raise> {
    match numeric_vector(call.at(position)) {
        Some(found) => Ok(found),
        None => Err(call.type_error(thread, position, "numeric vector")),
    }
}

/// Argument `position`, which is a vector of one type.
fn typed_at<T: OfType>(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<(ObjectRef, ElementType), Raise> {
    match numeric_vector(call.at(position)) {
        Some((vector, element)) if element == T::TYPE => Ok((vector, element)),
        _ => Err(call.type_error(thread, position, &format!("{}vector", T::TYPE.name()))),
    }
}

#[inline(always)]
pub(crate) fn length(vector: ObjectRef, element: ElementType) -> usize {
    vector.length() / element.bytes()
}

/// The bytes of an object as an element, if vectors of the type hold it.
#[inline(always)]
fn encode(element: ElementType, value: Value) -> Option<ElementBytes> {
    if let Some(fixnum) = value.as_fixnum() {
        return match element {
            ElementType::F32 | ElementType::F64 | ElementType::C64 | ElementType::C128 => {
                encode_flonum(element, fixnum as f64)
            }
            _ => encode_integer(element, fixnum),
        };
    }
    if let Some(flonum) = value.as_flonum() {
        return encode_flonum(element, flonum);
    }
    number_of(value).and_then(|number| encode_element(element, &number))
}

#[inline(always)]
fn decode(vector: ObjectRef, element: ElementType, index: usize) -> Element {
    vector.with_bytes(|bytes| decode_element(element, &bytes[index * element.bytes()..]))
}

fn make(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let element = type_at(thread, call, 0)?;
    let length = call.index(thread, 1)?;
    let bytes = length.saturating_mul(element.bytes());
    match element {
        ElementType::U8 => thread.try_leaf(Kind::Bytevector, 0, bytes),
        element => thread.numeric_vector(element, 0, bytes),
    }
}

fn reference(
    thread: &mut Thread,
    call: Call,
    vector: ObjectRef,
    element: ElementType,
) -> Result<Value, Raise> {
    let index = call.index_below(thread, 1, length(vector, element))?;
    Ok(match decode(vector, element, index) {
        Element::Integer(value) => thread.integer(value),
        Element::Flonum(value) => thread.flonum(value),
        element => thread.number(&element.to_number())?,
    })
}

fn element_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
    element: ElementType,
) -> Result<ElementBytes, Raise> {
    match encode(element, call.at(position)) {
        Some(bytes) => Ok(bytes),
        None => Err(call.type_error(thread, position, element.description())),
    }
}

fn check_mutable(thread: &mut Thread, call: Call, vector: ObjectRef) -> Result<(), Raise> {
    if vector.is_immutable() {
        return Err(call.type_error(thread, 0, "mutable numeric vector, not a literal"));
    }
    Ok(())
}

fn set(
    thread: &mut Thread,
    call: Call,
    vector: ObjectRef,
    element: ElementType,
) -> Result<Value, Raise> {
    check_mutable(thread, call, vector)?;
    let index = call.index_below(thread, 1, length(vector, element))?;
    let bytes = element_at(thread, call, 2, element)?;
    let size = element.bytes();
    vector.copy_bytes_in(index * size, &bytes[..size]);
    Ok(Value::UNSPECIFIED)
}

fn copy_into(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (target, target_type) = vector_at(thread, call, 0)?;
    check_mutable(thread, call, target)?;
    let (source, element) = vector_at(thread, call, 2)?;
    if element != target_type {
        return Err(call.type_error(thread, 2, "vector of the same element type"));
    }
    let at = call.index_up_to(thread, 1, length(target, element))?;
    let range = call.range(thread, 3, length(source, element))?;
    let room = length(target, element) - at;
    if range.len() > room {
        let expected = format!(
            "{} elements do not fit, there is room for {room}",
            range.len()
        );
        return Err(call.range_error(thread, 1, &expected));
    }
    let size = element.bytes();
    thread.copy_bytes(
        source,
        range.start * size..range.end * size,
        target,
        at * size,
    );
    Ok(Value::UNSPECIFIED)
}

fn fill(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, element) = vector_at(thread, call, 0)?;
    check_mutable(thread, call, vector)?;
    let bytes = element_at(thread, call, 1, element)?;
    let range = call.range(thread, 2, length(vector, element))?;
    let size = element.bytes();
    for index in range {
        vector.copy_bytes_in(index * size, &bytes[..size]);
    }
    Ok(Value::UNSPECIFIED)
}

/// The bytes of an element in the machine's order, or in that order the bytes to store.
fn reorder(bytes: &mut [u8], big_endian: bool) {
    if big_endian != cfg!(target_endian = "big") {
        bytes.reverse();
    }
}

/// The index of the first byte, if so many fit behind it.
fn element_place(
    thread: &mut Thread,
    call: Call,
    bytes: ObjectRef,
    size: usize,
) -> Result<usize, Raise> {
    let index = call.index(thread, 1)?;
    match index.checked_add(size) {
        Some(end) if end <= bytes.length() => Ok(index),
        _ => Err(call.range_error(thread, 1, "an index with room for the number")),
    }
}

fn bytevector_element_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let element = type_at(thread, call, 2)?;
    let size = element.bytes();
    let index = element_place(thread, call, bytes, size)?;
    let mut encoded: ElementBytes = [0; ELEMENT_BYTES_MAX];
    bytes.with_bytes(|bytes| encoded[..size].copy_from_slice(&bytes[index..index + size]));
    reorder(&mut encoded[..size], call.at(3).is_true());
    thread.number(&decode_element(element, &encoded).to_number())
}

fn bytevector_element_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.mutable_bytevector(thread, 0)?;
    let element = type_at(thread, call, 3)?;
    let size = element.bytes();
    let index = element_place(thread, call, bytes, size)?;
    let mut encoded = element_at(thread, call, 2, element)?;
    reorder(&mut encoded[..size], call.at(4).is_true());
    bytes.copy_bytes_in(index, &encoded[..size]);
    Ok(Value::UNSPECIFIED)
}

fn is_of_type<T: OfType>(_: &mut Thread, call: Call) -> Result<Value, Raise> {
    Ok(Value::boolean(
        numeric_vector(call.at(0)).is_some_and(|(_, element)| element == T::TYPE),
    ))
}

fn length_of_type<T: OfType>(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, element) = typed_at::<T>(thread, call, 0)?;
    Ok(Value::fixnum(length(vector, element) as i64))
}

fn ref_of_type<T: OfType>(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, element) = typed_at::<T>(thread, call, 0)?;
    reference(thread, call, vector, element)
}

fn set_of_type<T: OfType>(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, element) = typed_at::<T>(thread, call, 0)?;
    set(thread, call, vector, element)
}

/// An element as a value, if that takes no allocation.
#[inline(always)]
fn quick_value(element: Element) -> Option<Value> {
    match element {
        Element::Integer(value) => Value::try_fixnum(value),
        Element::Flonum(value) => Value::try_inline_flonum(value),
        _ => None,
    }
}

/// The element at an index of a vector of any type, if that takes no allocation; for leaf functions.
#[inline]
pub(crate) fn quick_ref(vector: Value, index: Value) -> Option<Value> {
    let (vector, element) = numeric_vector(vector)?;
    let index = index.as_index()?;
    if index >= length(vector, element) {
        return None;
    }
    quick_value(decode(vector, element, index))
}

/// Stores an element of a vector of any type and tells whether it did; for leaf functions.
#[inline]
pub(crate) fn quick_set(vector: Value, index: Value, value: Value) -> bool {
    let (Some((vector, element)), Some(index)) = (numeric_vector(vector), index.as_index()) else {
        return false;
    };
    index < length(vector, element) && store(vector, element, index, value)
}

#[inline(always)]
fn store(vector: ObjectRef, element: ElementType, index: usize, value: Value) -> bool {
    if vector.is_immutable() {
        return false;
    }
    let Some(bytes) = encode(element, value) else {
        return false;
    };
    let size = element.bytes();
    vector.copy_bytes_in(index * size, &bytes[..size]);
    true
}

/// The object as a vector of one type, with that type, which the compiler knows too.
#[inline(always)]
fn vector_of<T: OfType>(value: Value) -> Option<(ObjectRef, ElementType)> {
    let vector = value.as_kind(Kind::NumericVector)?;
    if vector.header().flags() >> ELEMENT_TYPE_SHIFT != T::TYPE as u8 {
        return None;
    }
    Some((vector, T::TYPE))
}

/// [`quick_ref`] for vectors of one type.
#[inline]
pub(crate) fn quick_ref_of<T: OfType>(vector: Value, index: Value) -> Option<Value> {
    let (vector, element) = vector_of::<T>(vector)?;
    let index = index.as_index()?;
    if index >= length(vector, element) {
        return None;
    }
    quick_value(decode(vector, element, index))
}

/// [`quick_set`] for vectors of one type.
#[inline]
pub(crate) fn quick_set_of<T: OfType>(vector: Value, index: Value, value: Value) -> bool {
    let (Some((vector, element)), Some(index)) = (vector_of::<T>(vector), index.as_index()) else {
        return false;
    };
    index < length(vector, element) && store(vector, element, index, value)
}
