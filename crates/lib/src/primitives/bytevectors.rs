//! Primitives of bytevectors: R7RS 6.9 and conversions between bytes and UTF-8 strings.
//!
//! Ranges are checked before anything changes. Literals are immutable: changing one raises. Bulk
//! copies are the machine's.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::list::Walk;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "bytevector?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Bytevector)));
    "make-bytevector" => make_bytevector;
    "bytevector" => bytevector;
    "bytevector-length" => |thread, call| Ok(Value::fixnum(call.bytevector(thread, 0)?.length() as i64));
    "bytevector-u8-ref" => byte_ref;
    "bytevector-u8-set!" => byte_set;
    "bytevector-copy" => copy;
    "bytevector-copy!" => copy_into;
    "bytevector-append" => append;
    "bytevector-fill!" => fill;
    "bytevector->list" => to_list;
    "list->bytevector" => list_to_bytevector;
};

/// A fresh bytevector of zeros.
fn zeroed(thread: &mut Thread, length: usize) -> Result<Value, Raise> {
    thread.try_leaf(Kind::Bytevector, 0, length)
}

fn make_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.index(thread, 0)?;
    let fill = match call.optional(1) {
        Some(_) => call.byte(thread, 1)?,
        None => 0,
    };
    let bytes = zeroed(thread, length)?;
    if fill != 0
        && let Some(bytes) = bytes.as_object()
    {
        thread.fill_bytes(bytes, 0..length, fill);
    }
    Ok(bytes)
}

fn bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut bytes = Vec::with_capacity(call.count());
    for position in 0..call.count() {
        bytes.push(call.byte(thread, position)?);
    }
    thread.bytevector(&bytes)
}

fn byte_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let index = call.index_below(thread, 1, bytes.length())?;
    Ok(Value::fixnum(
        bytes.with_bytes(|bytes| i64::from(bytes[index])),
    ))
}

fn byte_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.mutable_bytevector(thread, 0)?;
    let index = call.index_below(thread, 1, bytes.length())?;
    bytes.set_byte(index, call.byte(thread, 2)?);
    Ok(Value::UNSPECIFIED)
}

/// Copies a range of a bytevector into another object, which is not the same.
fn copy_range(source: ObjectRef, range: std::ops::Range<usize>, target: Value, at: usize) {
    if let Some(target) = target.as_object() {
        source.with_bytes(|bytes| target.copy_bytes_in(at, &bytes[range]));
    }
}

fn copy(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (source, range) = call.bytevector_range(thread, 0, 1)?;
    let result = zeroed(thread, range.len())?;
    copy_range(source, range, result, 0);
    Ok(result)
}

fn copy_into(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = call.mutable_bytevector(thread, 0)?;
    let at = call.index_up_to(thread, 1, target.length())?;
    let (source, range) = call.bytevector_range(thread, 2, 3)?;
    let room = target.length() - at;
    if range.len() > room {
        let expected = format!("{} bytes do not fit, there is room for {room}", range.len());
        return Err(call.range_error(thread, 1, &expected));
    }
    thread.copy_bytes(source, range, target, at);
    Ok(Value::UNSPECIFIED)
}

fn append(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut length = 0;
    for position in 0..call.count() {
        length += call.bytevector(thread, position)?.length();
    }
    let result = zeroed(thread, length)?;
    let mut at = 0;
    for position in 0..call.count() {
        let part = call.bytevector(thread, position)?;
        copy_range(part, 0..part.length(), result, at);
        at += part.length();
    }
    Ok(result)
}

fn fill(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.mutable_bytevector(thread, 0)?;
    let fill = call.byte(thread, 1)?;
    let range = call.range(thread, 2, bytes.length())?;
    thread.fill_bytes(bytes, range, fill);
    Ok(Value::UNSPECIFIED)
}

fn to_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (source, range) = call.bytevector_range(thread, 0, 1)?;
    let mut list = Value::NIL;
    for index in range.rev() {
        let byte = source.with_bytes(|bytes| i64::from(bytes[index]));
        list = thread.try_cons(Value::fixnum(byte), list)?;
    }
    Ok(list)
}

fn list_to_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.list_length(thread, 0)?;
    let mut bytes = Vec::with_capacity(length);
    for element in Walk::new(call.at(0)) {
        match element
            .as_index()
            .and_then(|number| u8::try_from(number).ok())
        {
            Some(byte) => bytes.push(byte),
            None => return Err(call.type_error_of(thread, 0, "list of bytes", element)),
        }
    }
    thread.bytevector(&bytes)
}
