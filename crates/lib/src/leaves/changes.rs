//! Leaf functions that copy into, or fill, a range of a string, a bytevector or a vector. They decline
//! literals, ranges that do not fit, and long ones, before anything has changed.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::InPlace;
use canny_vm::strings::string_length;

use super::strings::{bits_of, range};
use super::{Row, Word, stored, tail};
use crate::text::{Units, with_units};

/// Characters or bytes that are changed at once.
const LENGTH_MAX: usize = 1 << 16;

/// Rows of a procedure that copies a source to a place of a target: with the whole source, with its part
/// from a start, and with one up to an end.
macro_rules! copies {
    ($name:literal, $copy:ident) => {
        [
            (
                $name,
                3,
                leaf!(|thread, target, at, source| $copy(thread, target, at, source, None, None)),
            ),
            (
                $name,
                4,
                leaf!(|thread, target, at, source| {
                    let [start] = thread.further();
                    $copy(thread, target, at, source, Some(start), None)
                }),
            ),
            (
                $name,
                5,
                leaf!(|thread, target, at, source| {
                    let [start, end] = thread.further();
                    $copy(thread, target, at, source, Some(start), Some(end))
                }),
            ),
        ]
    };
}

/// Rows of a procedure that fills an object: all of it, from a start, and up to an end.
macro_rules! fills {
    ($name:literal, $fill:ident) => {
        [
            (
                $name,
                2,
                leaf!(|thread, target, fill, _| $fill(thread, target, fill, None, None)),
            ),
            (
                $name,
                3,
                leaf!(|thread, target, fill, start| $fill(thread, target, fill, Some(start), None)),
            ),
            (
                $name,
                4,
                leaf!(|thread, target, fill, start| {
                    let [end] = thread.further();
                    $fill(thread, target, fill, Some(start), Some(end))
                }),
            ),
        ]
    };
}

pub(super) const STRING_COPIES: [Row; 3] = copies!("string-copy!", copy_string);
pub(super) const STRING_FILLS: [Row; 3] = fills!("string-fill!", fill_string);
pub(super) const BYTEVECTOR_COPIES: [Row; 3] = copies!("bytevector-copy!", copy_bytes);
pub(super) const BYTEVECTOR_FILLS: [Row; 3] = fills!("bytevector-fill!", fill_bytes);
pub(super) const VECTOR_COPIES: [Row; 3] = copies!("vector-copy!", copy_vector);
pub(super) const VECTOR_FILLS: [Row; 3] = fills!("vector-fill!", fill_vector);

pub(super) const FUNCTIONS: &[Row] =
    &[("list-set!", 3, list_set), ("vector-swap!", 3, vector_swap)];

extern "C" fn list_set(thread: &mut InPlace, list: Word, index: Word, value: Word) -> Word {
    let place = tail(list, index).filter(|rest| rest.is_pair());
    stored(place.map(|pair| thread.set_car(pair, value)).is_some())
}

extern "C" fn vector_swap(thread: &mut InPlace, vector: Word, left: Word, right: Word) -> Word {
    let indices = left.as_index().zip(right.as_index());
    let done = mutable(vector, Kind::Vector)
        .zip(indices)
        .filter(|(vector, (left, right))| (*left).max(*right) < vector.length())
        .map(|(vector, (left, right))| thread.exchange_elements(vector, left, right));
    stored(done.is_some())
}

/// An object that may be changed.
fn mutable(object: Value, kind: Kind) -> Option<ObjectRef> {
    object.as_kind(kind).filter(|object| !object.is_immutable())
}

/// Where to copy which range, if it fits there.
#[inline(always)]
fn copied(
    room: usize,
    at: Value,
    length: usize,
    start: Option<Value>,
    end: Option<Value>,
) -> Option<(usize, Range<usize>)> {
    let range = range(length, start, end)?;
    let at = at.as_index().filter(|at| *at <= room)?;
    (range.len() <= room - at && range.len() <= LENGTH_MAX).then_some((at, range))
}

fn copy_string(
    thread: &mut InPlace,
    target: Value,
    at: Value,
    source: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let both = mutable(target, Kind::String).zip(source.as_kind(Kind::String));
    let done = both.and_then(|(target, source)| {
        let (room, length) = (string_length(target), string_length(source));
        let (at, range) = copied(room, at, length, start, end)?;
        let bits = with_units(source, |units| match units {
            Units::Narrow(_) => 0,
            wide => bits_of(wide.slice(range.clone())),
        });
        if !thread.widen_string_for(target, bits) {
            return None;
        }
        thread.copy_characters(source, range, target, at);
        Some(())
    });
    stored(done.is_some())
}

fn fill_string(
    thread: &mut InPlace,
    string: Value,
    fill: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let both = mutable(string, Kind::String).zip(fill.as_character());
    let done = both.and_then(|(string, fill)| {
        let range = range(string_length(string), start, end)?;
        let is_short = range.len() <= LENGTH_MAX;
        let is_ready = range.is_empty() || thread.widen_string_for(string, u32::from(fill));
        if !is_short || !is_ready {
            return None;
        }
        thread.fill_characters(string, range, fill);
        Some(())
    });
    stored(done.is_some())
}

fn copy_bytes(
    thread: &mut InPlace,
    target: Value,
    at: Value,
    source: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let both = mutable(target, Kind::Bytevector).zip(source.as_kind(Kind::Bytevector));
    let done = both.and_then(|(target, source)| {
        let (at, range) = copied(target.length(), at, source.length(), start, end)?;
        thread.copy_bytes(source, range, target, at);
        Some(())
    });
    stored(done.is_some())
}

fn fill_bytes(
    thread: &mut InPlace,
    bytes: Value,
    fill: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let fill = fill.as_index().and_then(|fill| u8::try_from(fill).ok());
    let done = mutable(bytes, Kind::Bytevector)
        .zip(fill)
        .and_then(|(bytes, fill)| {
            let range = range(bytes.length(), start, end)?;
            if range.len() > LENGTH_MAX {
                return None;
            }
            thread.fill_bytes(bytes, range, fill);
            Some(())
        });
    stored(done.is_some())
}

fn copy_vector(
    thread: &mut InPlace,
    target: Value,
    at: Value,
    source: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let both = mutable(target, Kind::Vector).zip(source.as_kind(Kind::Vector));
    let done = both.and_then(|(target, source)| {
        let (at, range) = copied(target.length(), at, source.length(), start, end)?;
        Some(thread.copy_elements(source, range, target, at))
    });
    stored(done == Some(true))
}

fn fill_vector(
    thread: &mut InPlace,
    vector: Value,
    fill: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    if fill == Value::DEFAULT || fill == Value::ABSENT {
        return Value::DECLINED;
    }
    let done = mutable(vector, Kind::Vector).and_then(|vector| {
        let range = range(vector.length(), start, end)?;
        Some(thread.fill_elements(vector, range, fill))
    });
    stored(done == Some(true))
}
