//! Leaf functions of lists, vectors and bytevectors that make new ones, of the parts of lists, and the
//! predicates of ports. They decline what is long, and ranges that do not fit.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::InPlace;

use super::{Row, Word, or_decline, tail};
use crate::primitives::ports::{flag, flags_of};

/// Elements of what is made in place.
const LENGTH_MAX: usize = 1 << 10;

pub(super) const FUNCTIONS: &[Row] = &[
    ("append", 3, append_three),
    (
        "make-list",
        1,
        leaf!(|thread, count, _, _| make_list(thread, count, Value::UNSPECIFIED)),
    ),
    (
        "make-list",
        2,
        leaf!(|thread, count, fill, _| make_list(thread, count, fill)),
    ),
    (
        "iota",
        1,
        leaf!(|thread, count, _, _| iota(thread, count, 0)),
    ),
    (
        "iota",
        2,
        leaf!(|thread, count, start, _| match start.as_fixnum() {
            Some(start) => iota(thread, count, start),
            None => Value::DECLINED,
        }),
    ),
    ("take", 2, take),
    ("drop-right", 2, drop_right),
    ("take-right", 2, take_right),
    ("split-at", 2, split_at),
    (
        "drop",
        2,
        leaf!(|_, list, count, _| or_decline(tail(list, count))),
    ),
    ("last", 1, last),
    ("first", 1, leaf!(|_, list, _, _| or_decline(list.car()))),
    ("second", 1, leaf!(|_, list, _, _| element(list, 1))),
    ("third", 1, leaf!(|_, list, _, _| element(list, 2))),
    ("fourth", 1, leaf!(|_, list, _, _| element(list, 3))),
    ("fifth", 1, leaf!(|_, list, _, _| element(list, 4))),
    (
        "length+",
        1,
        leaf!(|_, list, _, _| or_decline(
            crate::list::length_quickly(list).map(|length| Value::fixnum(length as i64))
        )),
    ),
    (
        "append-reverse",
        2,
        leaf!(|thread, list, tail, _| or_decline(thread.reverse_onto(list, tail))),
    ),
    (
        "vector->list",
        1,
        leaf!(|thread, vector, _, _| to_list(thread, range_of_vector(vector, None, None))),
    ),
    (
        "vector->list",
        2,
        leaf!(|thread, vector, start, _| to_list(
            thread,
            range_of_vector(vector, Some(start), None)
        )),
    ),
    (
        "vector->list",
        3,
        leaf!(|thread, vector, start, end| to_list(
            thread,
            range_of_vector(vector, Some(start), Some(end))
        )),
    ),
    (
        "list->vector",
        1,
        leaf!(|thread, list, _, _| list_to_vector(thread, list, false)),
    ),
    (
        "%reverse-list->vector",
        1,
        leaf!(|thread, list, _, _| list_to_vector(thread, list, true)),
    ),
    (
        "vector-copy",
        1,
        leaf!(|thread, vector, _, _| copied(thread, range_of_vector(vector, None, None))),
    ),
    (
        "vector-copy",
        2,
        leaf!(|thread, vector, start, _| copied(
            thread,
            range_of_vector(vector, Some(start), None)
        )),
    ),
    (
        "vector-copy",
        3,
        leaf!(|thread, vector, start, end| copied(
            thread,
            range_of_vector(vector, Some(start), Some(end))
        )),
    ),
    (
        "subvector",
        3,
        leaf!(|thread, vector, start, end| copied(
            thread,
            range_of_vector(vector, Some(start), Some(end))
        )),
    ),
    (
        "vector-append",
        2,
        leaf!(|thread, x, y, _| vectors_joined(thread, &[x, y])),
    ),
    (
        "vector-append",
        3,
        leaf!(|thread, x, y, z| vectors_joined(thread, &[x, y, z])),
    ),
    (
        "make-bytevector",
        1,
        leaf!(|thread, length, _, _| make_bytevector(thread, length, Value::ZERO)),
    ),
    (
        "make-bytevector",
        2,
        leaf!(|thread, length, fill, _| make_bytevector(thread, length, fill)),
    ),
    ("bytevector", 0, leaf!(|thread, _, _, _| bytes(thread, &[]))),
    (
        "bytevector",
        1,
        leaf!(|thread, x, _, _| bytes(thread, &[x])),
    ),
    (
        "bytevector",
        2,
        leaf!(|thread, x, y, _| bytes(thread, &[x, y])),
    ),
    (
        "bytevector",
        3,
        leaf!(|thread, x, y, z| bytes(thread, &[x, y, z])),
    ),
    (
        "bytevector-copy",
        1,
        leaf!(|thread, bytes, _, _| copied_bytes(
            thread,
            range_of(Kind::Bytevector, bytes, None, None)
        )),
    ),
    (
        "bytevector-copy",
        2,
        leaf!(|thread, bytes, start, _| copied_bytes(
            thread,
            range_of(Kind::Bytevector, bytes, Some(start), None)
        )),
    ),
    (
        "bytevector-copy",
        3,
        leaf!(|thread, bytes, start, end| copied_bytes(
            thread,
            range_of(Kind::Bytevector, bytes, Some(start), Some(end)),
        )),
    ),
    ("bytevector-append", 2, bytevector_append),
    (
        "input-port?",
        1,
        leaf!(|_, x, _, _| Value::boolean(flags_of(x) & flag::INPUT != 0)),
    ),
    (
        "output-port?",
        1,
        leaf!(|_, x, _, _| Value::boolean(flags_of(x) & flag::OUTPUT != 0)),
    ),
    (
        "textual-port?",
        1,
        leaf!(|_, x, _, _| Value::boolean(flags_of(x) & flag::TEXTUAL != 0)),
    ),
    (
        "binary-port?",
        1,
        leaf!(|_, x, _, _| Value::boolean(flags_of(x) & flag::BINARY != 0)),
    ),
];

extern "C" fn append_three(thread: &mut InPlace, x: Word, y: Word, z: Word) -> Word {
    let rest = thread.copy_onto(y, z);
    or_decline(rest.and_then(|rest| thread.copy_onto(x, rest)))
}

/// An argument that programs can see: others mean that none was given.
fn is_given(x: Value) -> bool {
    x != Value::DEFAULT && x != Value::ABSENT
}

fn count_of(count: Value) -> Option<usize> {
    count.as_index().filter(|count| *count <= LENGTH_MAX)
}

fn make_list(thread: &mut InPlace, count: Value, fill: Value) -> Value {
    let count = count_of(count).filter(|_| is_given(fill));
    or_decline(count.map(|count| thread.list((0..count).map(|_| fill))))
}

fn iota(thread: &mut InPlace, count: Value, start: i64) -> Value {
    let count = count_of(count).filter(|_| start.abs() < 1 << 60);
    or_decline(
        count.map(|count| thread.list((0..count).map(|at| Value::fixnum(start + at as i64)))),
    )
}

fn element(list: Value, index: usize) -> Value {
    let rest = (0..index).try_fold(list, |rest, _| rest.cdr());
    or_decline(rest.and_then(Value::car))
}

extern "C" fn last(_: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    let length = crate::list::length_quickly(list);
    match length.and_then(|length| length.checked_sub(1)) {
        Some(index) => element(list, index),
        None => Value::DECLINED,
    }
}

extern "C" fn take(thread: &mut InPlace, list: Word, count: Word, _: Word) -> Word {
    let first = count
        .as_index()
        .and_then(|count| first_elements(thread, list, count));
    or_decline(first.map(|(first, _)| first))
}

/// A fresh list of the first elements, and the rest. None where there are not so many, and for many.
fn first_elements(thread: &mut InPlace, list: Value, count: usize) -> Option<(Value, Value)> {
    const SHORT_MAX: usize = 32;
    let mut elements = [Value::ZERO; SHORT_MAX];
    let mut rest = list;
    for element in elements.get_mut(..count)? {
        let pair = rest.as_pair()?;
        *element = pair.car();
        rest = pair.cdr();
    }
    Some((thread.list(elements[..count].iter().copied()), rest))
}

extern "C" fn split_at(thread: &mut InPlace, list: Word, count: Word, _: Word) -> Word {
    let parts = count
        .as_index()
        .and_then(|count| first_elements(thread, list, count));
    or_decline(parts.map(|(first, rest)| thread.values(&[first, rest])))
}

/// How many elements of a proper list come before the last ones.
fn count_before_last(list: Value, count: Value) -> Option<usize> {
    crate::list::length_quickly(list)?.checked_sub(count.as_index()?)
}

extern "C" fn drop_right(thread: &mut InPlace, list: Word, count: Word, _: Word) -> Word {
    let before = count_before_last(list, count);
    let first = before.and_then(|before| first_elements(thread, list, before));
    or_decline(first.map(|(first, _)| first))
}

extern "C" fn take_right(_: &mut InPlace, list: Word, count: Word, _: Word) -> Word {
    let before = count_before_last(list, count);
    or_decline(before.and_then(|before| (0..before).try_fold(list, |rest, _| rest.cdr())))
}

/// Part of an object, by index of the first element and number of elements.
type Part = (ObjectRef, usize, usize);

fn range_of(kind: Kind, object: Value, start: Option<Value>, end: Option<Value>) -> Option<Part> {
    let object = object.as_kind(kind)?;
    let start = start.map_or(Some(0), Value::as_index)?;
    let end = end.map_or(Some(object.length()), Value::as_index)?;
    let fits = start <= end && end <= object.length() && end - start <= LENGTH_MAX;
    fits.then(|| (object, start, end - start))
}

fn range_of_vector(vector: Value, start: Option<Value>, end: Option<Value>) -> Option<Part> {
    range_of(Kind::Vector, vector, start, end)
}

fn elements(
    (vector, start, count): Part,
) -> impl DoubleEndedIterator<Item = Value> + ExactSizeIterator {
    (0..count).map(move |index| vector.field(start + index))
}

fn to_list(thread: &mut InPlace, part: Option<Part>) -> Value {
    or_decline(part.map(|part| thread.list(elements(part))))
}

fn copied(thread: &mut InPlace, part: Option<Part>) -> Value {
    or_decline(
        part.and_then(|(vector, start, count)| {
            thread.vector_of_range(vector, start..start + count)
        }),
    )
}

fn list_to_vector(thread: &mut InPlace, list: Value, is_reversed: bool) -> Value {
    let length = crate::list::length_quickly(list).filter(|length| *length <= LENGTH_MAX);
    or_decline(length.and_then(|length| thread.vector_of_list(list, length, is_reversed)))
}

fn vectors_joined(thread: &mut InPlace, vectors: &[Value]) -> Value {
    let mut parts = [None; 3];
    for (part, vector) in parts.iter_mut().zip(vectors) {
        *part = range_of_vector(*vector, None, None);
        if part.is_none() {
            return Value::DECLINED;
        }
    }
    let length: usize = parts.iter().flatten().map(|(_, _, count)| count).sum();
    let mut rest = parts.into_iter().flatten().flat_map(elements);
    // The iterator of parts does not know its length.
    let all = (0..length).map(|_| rest.next().unwrap_or(Value::UNSPECIFIED));
    or_decline(thread.vector_of(all))
}

/// Bytes of a bytevector that is copied by way of a buffer.
const BYTES_MAX: usize = 256;

fn make_bytevector(thread: &mut InPlace, length: Value, fill: Value) -> Value {
    let fill = fill.as_index().and_then(|fill| u8::try_from(fill).ok());
    let Some((length, fill)) = length.as_index().zip(fill) else {
        return Value::DECLINED;
    };
    match fill {
        0 if length <= 4 * LENGTH_MAX => thread.bytevector(length),
        _ if length <= BYTES_MAX => or_decline(thread.bytes(&[&[fill; BYTES_MAX][..length]])),
        _ => Value::DECLINED,
    }
}

fn bytes(thread: &mut InPlace, elements: &[Value]) -> Value {
    let mut room = [0; 3];
    for (byte, element) in room.iter_mut().zip(elements) {
        let Some(known) = element
            .as_index()
            .and_then(|known| u8::try_from(known).ok())
        else {
            return Value::DECLINED;
        };
        *byte = known;
    }
    or_decline(thread.bytes(&[&room[..elements.len()]]))
}

fn copied_bytes(thread: &mut InPlace, part: Option<Part>) -> Value {
    or_decline(part.and_then(|(object, start, count)| {
        object.with_bytes(|bytes| thread.bytes(&[&bytes[start..start + count]]))
    }))
}

extern "C" fn bytevector_append(thread: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    let both = x.as_kind(Kind::Bytevector).zip(y.as_kind(Kind::Bytevector));
    or_decline(both.and_then(|(x, y)| x.with_bytes(|x| y.with_bytes(|y| thread.bytes(&[x, y])))))
}
