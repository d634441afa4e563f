//! Leaf functions that read a part of an object: compositions of `car` and `cdr`, types and lengths of
//! numeric vectors. They decline objects that have no such part.

use canny_value::Value;
use canny_vm::InPlace;

use super::{Row, Word, or_decline};
use crate::primitives::numeric_vectors::{length, numeric_vector};

/// A composition, by its letters as they are in the name.
macro_rules! path {
    ($($letter:ident)*) => {
        leaf!(|_, x, _, _| or_decline(follow(x, &[$(Step::$letter),*])))
    };
}

/// Predicate or length of a type of numeric vectors, by its code.
macro_rules! of_type {
    ($code:literal ?) => {
        leaf!(|_, x, _, _| Value::boolean(length_of(x, $code).is_some()))
    };
    ($code:literal length) => {
        leaf!(|_, x, _, _| or_decline(length_of(x, $code)))
    };
}

pub(super) const FUNCTIONS: &[Row] = &[
    ("caaar", 1, path!(A A A)),
    ("cdaar", 1, path!(D A A)),
    ("caaaar", 1, path!(A A A A)),
    ("caaadr", 1, path!(A A A D)),
    ("caadar", 1, path!(A A D A)),
    ("caaddr", 1, path!(A A D D)),
    ("cadaar", 1, path!(A D A A)),
    ("cadadr", 1, path!(A D A D)),
    ("caddar", 1, path!(A D D A)),
    ("cdaaar", 1, path!(D A A A)),
    ("cdaadr", 1, path!(D A A D)),
    ("cdadar", 1, path!(D A D A)),
    ("cdaddr", 1, path!(D A D D)),
    ("cddaar", 1, path!(D D A A)),
    ("cddadr", 1, path!(D D A D)),
    ("cdddar", 1, path!(D D D A)),
    ("sixth", 1, path!(A D D D D D)),
    ("seventh", 1, path!(A D D D D D D)),
    ("eighth", 1, path!(A D D D D D D D)),
    ("ninth", 1, path!(A D D D D D D D D)),
    ("tenth", 1, path!(A D D D D D D D D D)),
    ("%numeric-vector-type", 1, numeric_vector_type),
    ("%numeric-vector-length", 1, numeric_vector_length),
    ("s8vector?", 1, of_type!(1?)),
    ("s8vector-length", 1, of_type!(1 length)),
    ("u16vector?", 1, of_type!(2?)),
    ("u16vector-length", 1, of_type!(2 length)),
    ("s16vector?", 1, of_type!(3?)),
    ("s16vector-length", 1, of_type!(3 length)),
    ("u32vector?", 1, of_type!(4?)),
    ("u32vector-length", 1, of_type!(4 length)),
    ("s32vector?", 1, of_type!(5?)),
    ("s32vector-length", 1, of_type!(5 length)),
    ("u64vector?", 1, of_type!(6?)),
    ("u64vector-length", 1, of_type!(6 length)),
    ("s64vector?", 1, of_type!(7?)),
    ("s64vector-length", 1, of_type!(7 length)),
    ("f32vector?", 1, of_type!(8?)),
    ("f32vector-length", 1, of_type!(8 length)),
    ("f64vector?", 1, of_type!(9?)),
    ("f64vector-length", 1, of_type!(9 length)),
    ("c64vector?", 1, of_type!(10?)),
    ("c64vector-length", 1, of_type!(10 length)),
    ("c128vector?", 1, of_type!(11?)),
    ("c128vector-length", 1, of_type!(11 length)),
];

#[derive(Clone, Copy)]
enum Step {
    A,
    D,
}

/// The last letter is the first step.
fn follow(object: Value, letters: &[Step]) -> Option<Value> {
    letters
        .iter()
        .rev()
        .try_fold(object, |object, step| match step {
            Step::A => object.car(),
            Step::D => object.cdr(),
        })
}

/// The length of a numeric vector of the type with a code.
fn length_of(object: Value, code: u8) -> Option<Value> {
    let (vector, element) = numeric_vector(object)?;
    (element as u8 == code).then(|| Value::fixnum(length(vector, element) as i64))
}

extern "C" fn numeric_vector_type(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric_vector(x) {
        Some((_, element)) => Value::fixnum(element as i64),
        None => Value::FALSE,
    }
}

extern "C" fn numeric_vector_length(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    or_decline(
        numeric_vector(x).map(|(vector, element)| Value::fixnum(length(vector, element) as i64)),
    )
}
