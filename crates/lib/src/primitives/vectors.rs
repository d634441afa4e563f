//! Primitives of vectors: R7RS 6.8 and a few more that libraries of SRFIs use.
//!
//! Ranges are checked before anything changes, and literals are immutable. Bulk copies and fills
//! are the machine's, with write barriers.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::list::Walk;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "vector?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Vector)));
    "make-vector" => make_vector;
    "vector" => vector;
    "vector-length" => |thread, call| Ok(Value::fixnum(call.vector(thread, 0)?.length() as i64));
    "vector-ref" => vector_ref;
    "vector-set!" => vector_set;
    "vector->list" => vector_to_list;
    "list->vector" => list_to_vector;
    "%reverse-list->vector" => reverse_list_to_vector;
    "vector-fill!" => fill;
    "vector-copy" => copy;
    "vector-copy!" => copy_into;
    "vector-append" => append;
    "subvector" => copy;
    "vector-grow" => grow;
    "vector-swap!" => swap;
    "vector-reverse!" => reverse;
};

fn make_vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.index(thread, 0)?;
    thread.make_vector(length, call.optional(1).unwrap_or(Value::UNSPECIFIED))
}

fn vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = thread.make_vector(call.count(), Value::UNSPECIFIED)?;
    for position in 0..call.count() {
        thread.store(vector, position, call.at(position));
    }
    Ok(vector)
}

fn vector_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.vector(thread, 0)?;
    let index = call.index_below(thread, 1, vector.length())?;
    Ok(vector.field(index))
}

fn vector_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.mutable_vector(thread, 0)?;
    let index = call.index_below(thread, 1, vector.length())?;
    thread.store(vector.value(), index, call.at(2));
    Ok(Value::UNSPECIFIED)
}

fn vector_to_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, range) = call.vector_range(thread, 0, 1)?;
    let mut list = Value::NIL;
    for index in range.rev() {
        list = thread.try_cons(vector.field(index), list)?;
    }
    Ok(list)
}

fn list_to_vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.list_length(thread, 0)?;
    let vector = thread.make_vector(length, Value::UNSPECIFIED)?;
    for (index, element) in Walk::new(call.at(0)).enumerate() {
        thread.store(vector, index, element);
    }
    Ok(vector)
}

fn reverse_list_to_vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.list_length(thread, 0)?;
    let vector = thread.make_vector(length, Value::UNSPECIFIED)?;
    for (index, element) in Walk::new(call.at(0)).enumerate() {
        thread.store(vector, length - 1 - index, element);
    }
    Ok(vector)
}

fn fill(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.mutable_vector(thread, 0)?;
    let range = call.range(thread, 2, vector.length())?;
    thread.fill_fields(vector, range, call.at(1));
    Ok(Value::UNSPECIFIED)
}

fn copy(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, range) = call.vector_range(thread, 0, 1)?;
    let length = range.len();
    let result = thread.make_vector(length, Value::UNSPECIFIED)?;
    copy_fields(thread, vector, range, result, 0);
    Ok(result)
}

fn copy_fields(
    thread: &mut Thread,
    source: ObjectRef,
    range: std::ops::Range<usize>,
    target: Value,
    at: usize,
) {
    if let Some(target) = target.as_object() {
        thread.copy_fields(source, range, target, at);
    }
}

fn copy_into(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = call.mutable_vector(thread, 0)?;
    let at = call.index_up_to(thread, 1, target.length())?;
    let (source, range) = call.vector_range(thread, 2, 3)?;
    let room = target.length() - at;
    if range.len() > room {
        let expected = format!(
            "{} elements do not fit, there is room for {room}",
            range.len()
        );
        return Err(call.range_error(thread, 1, &expected));
    }
    thread.copy_fields(source, range, target, at);
    Ok(Value::UNSPECIFIED)
}

fn append(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut length = 0;
    for position in 0..call.count() {
        length += call.vector(thread, position)?.length();
    }
    let result = thread.make_vector(length, Value::UNSPECIFIED)?;
    let mut at = 0;
    for position in 0..call.count() {
        let vector = call.vector(thread, position)?;
        copy_fields(thread, vector, 0..vector.length(), result, at);
        at += vector.length();
    }
    Ok(result)
}

fn grow(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.vector(thread, 0)?;
    let length = call.index(thread, 1)?;
    if length < vector.length() {
        let expected = format!("the vector has {} elements already", vector.length());
        return Err(call.range_error(thread, 1, &expected));
    }
    let result = thread.make_vector(length, Value::UNSPECIFIED)?;
    copy_fields(thread, vector, 0..vector.length(), result, 0);
    Ok(result)
}

/// Exchanges two elements; the indices are in range.
fn exchange(thread: &mut Thread, vector: ObjectRef, left: usize, right: usize) {
    let (left_element, right_element) = (vector.field(left), vector.field(right));
    thread.store(vector.value(), left, right_element);
    thread.store(vector.value(), right, left_element);
}

fn swap(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.mutable_vector(thread, 0)?;
    let left = call.index_below(thread, 1, vector.length())?;
    let right = call.index_below(thread, 2, vector.length())?;
    exchange(thread, vector, left, right);
    Ok(Value::UNSPECIFIED)
}

fn reverse(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vector = call.mutable_vector(thread, 0)?;
    let range = call.range(thread, 1, vector.length())?;
    for distance in 0..range.len() / 2 {
        exchange(
            thread,
            vector,
            range.start + distance,
            range.end - 1 - distance,
        );
    }
    Ok(Value::UNSPECIFIED)
}
