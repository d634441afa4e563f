//! Values of interface types: random ones, comparing them, and the memory that they take.
//!
//! Behind the end of the choices, values are zero or empty.

use canny_component::Value;
use canny_component::types::{Shape, Type};

use crate::guests::Choices;

/// Parts of strings: characters of one to four bytes, those of Latin-1, and those that texts escape.
const CHARACTERS: [char; 20] = [
    'a',
    ' ',
    '"',
    '\'',
    '\\',
    '\n',
    '\0',
    '\t',
    '{',
    ',',
    '\u{7f}',
    '\u{85}',
    'ü',
    'ÿ',
    'Ā',
    'λ',
    '\u{2028}',
    '\u{ffff}',
    '🦀',
    '\u{10ffff}',
];

/// The value of a type that the choices stand for.
pub fn value(choices: &mut Choices<'_>, kind: &Type) -> Value {
    match &kind.shape {
        Shape::Bool => Value::Bool(choices.below(2) == 1),
        Shape::S8 => Value::S8(choices.byte() as i8),
        Shape::U8 => Value::U8(choices.byte()),
        Shape::S16 => Value::S16(integer(choices) as i16),
        Shape::U16 => Value::U16(integer(choices) as u16),
        Shape::S32 => Value::S32(integer(choices) as i32),
        Shape::U32 => Value::U32(integer(choices) as u32),
        Shape::S64 => Value::S64(integer(choices) as i64),
        Shape::U64 => Value::U64(integer(choices)),
        Shape::F32 => Value::F32(match choices.below(3) {
            0 => choices.byte() as f32 / 8.0,
            1 => choices.choose(&[-0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX]),
            _ => f32::from_bits(choices.word() as u32),
        }),
        Shape::F64 => Value::F64(match choices.below(3) {
            0 => choices.byte() as f64 / 8.0,
            1 => choices.choose(&[-0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX]),
            _ => f64::from_bits(choices.word()),
        }),
        Shape::Char => Value::Char(character(choices)),
        Shape::String => {
            // Strings of Latin-1 alone are written otherwise in one of the encodings.
            let limit = choices.choose(&[1, 14, CHARACTERS.len()]);
            let count = length(choices);
            let text = (0..count).map(|_| CHARACTERS[choices.below(limit)]);
            Value::String(text.collect())
        }
        Shape::List(element) => {
            let count = length(choices);
            list(choices, element, count)
        }
        Shape::FixedList(element, count) => list(choices, element, *count as usize),
        Shape::Record(_) | Shape::Tuple(_) => {
            let fields = kind.fields().into_iter();
            Value::Record(fields.map(|field| value(choices, field)).collect())
        }
        Shape::Variant(_) => {
            let (number, held) = case(choices, kind);
            Value::Variant(number as u32, held)
        }
        Shape::Enum(names) => Value::Enum((choices.word() % names.len() as u64) as u32),
        Shape::Option(_) => Value::Option(case(choices, kind).1),
        Shape::Result(..) => match case(choices, kind) {
            (0, held) => Value::Result(Ok(held)),
            (_, held) => Value::Result(Err(held)),
        },
        Shape::Flags(names) => {
            let bits = choices.word();
            Value::Flags((0..names.len()).map(|bit| bits >> bit & 1 == 1).collect())
        }
        Shape::Own(_) => Value::Own(choices.below(4) as u32),
        Shape::Borrow(_) => Value::Borrow(choices.below(4) as u32),
    }
}

fn list(choices: &mut Choices<'_>, element: &Type, count: usize) -> Value {
    match element.shape {
        Shape::U8 => Value::Bytes((0..count).map(|_| choices.byte()).collect()),
        _ => Value::List((0..count).map(|_| value(choices, element)).collect()),
    }
}

fn case(choices: &mut Choices<'_>, kind: &Type) -> (usize, Option<Box<Value>>) {
    let number = choices.below(kind.case_count().min(256));
    let held = kind.case(number).map(|kind| Box::new(value(choices, kind)));
    (number, held)
}

/// Behind the end of the choices, lists are empty.
fn length(choices: &mut Choices<'_>) -> usize {
    if choices.once_in(40) {
        200
    } else {
        choices.below(5)
    }
}

fn character(choices: &mut Choices<'_>) -> char {
    match choices.below(4) {
        0 => char::from(choices.byte()),
        1 => char::from_u32(choices.word() as u32 % 0x11_0000).unwrap_or('x'),
        _ => choices.choose(&CHARACTERS),
    }
}

fn integer(choices: &mut Choices<'_>) -> u64 {
    match choices.below(3) {
        0 => u64::from(choices.byte()),
        1 => choices.choose(&[u64::MAX, 1 << 63, 1 << 31, 1 << 15, 0x7fff, 0xffff_ffff]),
        _ => choices.word(),
    }
}

/// Whether both are the same. A number that is no number equals any other.
pub fn same(a: &Value, b: &Value) -> bool {
    let all =
        |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    let held = |a: &Option<Box<Value>>, b: &Option<Box<Value>>| match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::List(a), Value::List(b)) | (Value::Record(a), Value::Record(b)) => all(a, b),
        (Value::Variant(n, a), Value::Variant(m, b)) => n == m && held(a, b),
        (Value::Option(a), Value::Option(b)) => held(a, b),
        (Value::Result(Ok(a)), Value::Result(Ok(b)))
        | (Value::Result(Err(a)), Value::Result(Err(b))) => held(a, b),
        (a, b) => a == b,
    }
}

/// Bytes that a value takes.
pub fn weight(value: &Value) -> u64 {
    let all = |values: &[Value]| values.iter().map(weight).sum();
    let held = |held: &Option<Box<Value>>| held.as_deref().map_or(0, weight);
    let parts: u64 = match value {
        Value::String(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::Flags(flags) => flags.len() as u64,
        Value::List(values) | Value::Record(values) => all(values),
        Value::Variant(_, it) | Value::Option(it) => held(it),
        Value::Result(Ok(it) | Err(it)) => held(it),
        _ => 0,
    };
    parts + size_of::<Value>() as u64
}
