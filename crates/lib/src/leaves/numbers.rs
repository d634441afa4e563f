//! Leaf functions of numbers: fixnums and flonums, and the parts of ratios. They decline what needs the
//! numeric tower, and where an exact argument has an exact result.

use std::cmp::Ordering;

use canny_number as number;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{InPlace, Numeric, numeric, string_text};

use super::{Row, Word, or_decline, truth};
use crate::decimal::{DIGITS_MAX, digits};
use crate::primitives::numbers::predicates::{
    is_exact_nonnegative_integer, is_exact_rational, is_rational, is_real,
};

/// Integers up to this are flonums without rounding.
const EXACT_FLONUM_MAX: i64 = 1 << 53;

pub(super) const FUNCTIONS: &[Row] = &[
    ("real?", 1, leaf!(|_, x, _, _| Value::boolean(is_real(x)))),
    (
        "complex?",
        1,
        leaf!(|_, x, _, _| Value::boolean(numeric(x).is_some())),
    ),
    (
        "rational?",
        1,
        leaf!(|_, x, _, _| Value::boolean(is_rational(x))),
    ),
    (
        "exact-rational?",
        1,
        leaf!(|_, x, _, _| Value::boolean(is_exact_rational(x))),
    ),
    (
        "exact-nonnegative-integer?",
        1,
        leaf!(|_, x, _, _| Value::boolean(is_exact_nonnegative_integer(x))),
    ),
    ("exact?", 1, is_exact),
    ("inexact?", 1, is_inexact),
    ("nan?", 1, leaf!(|_, x, _, _| judge(x, false, f64::is_nan))),
    (
        "finite?",
        1,
        leaf!(|_, x, _, _| judge(x, true, f64::is_finite)),
    ),
    (
        "infinite?",
        1,
        leaf!(|_, x, _, _| judge(x, false, f64::is_infinite)),
    ),
    (
        "even?",
        1,
        leaf!(|_, x, _, _| truth(x.as_fixnum().map(|x| x & 1 == 0))),
    ),
    (
        "odd?",
        1,
        leaf!(|_, x, _, _| truth(x.as_fixnum().map(|x| x & 1 == 1))),
    ),
    (
        "=",
        3,
        leaf!(|thread, x, y, z| in_order(thread, [x, y, z], Ordering::is_eq)),
    ),
    (
        "<",
        3,
        leaf!(|thread, x, y, z| in_order(thread, [x, y, z], Ordering::is_lt)),
    ),
    (
        ">",
        3,
        leaf!(|thread, x, y, z| in_order(thread, [x, y, z], Ordering::is_gt)),
    ),
    (
        "<=",
        3,
        leaf!(|thread, x, y, z| in_order(thread, [x, y, z], Ordering::is_le)),
    ),
    (
        ">=",
        3,
        leaf!(|thread, x, y, z| in_order(thread, [x, y, z], Ordering::is_ge)),
    ),
    (
        "min",
        2,
        leaf!(|thread, x, y, _| extreme(thread, &[x, y], Ordering::Less)),
    ),
    (
        "min",
        3,
        leaf!(|thread, x, y, z| extreme(thread, &[x, y, z], Ordering::Less)),
    ),
    (
        "max",
        2,
        leaf!(|thread, x, y, _| extreme(thread, &[x, y], Ordering::Greater)),
    ),
    (
        "max",
        3,
        leaf!(|thread, x, y, z| extreme(thread, &[x, y, z], Ordering::Greater)),
    ),
    ("abs", 1, absolute),
    ("magnitude", 1, absolute),
    ("cube", 1, cube),
    ("numerator", 1, numerator),
    ("denominator", 1, denominator),
    (
        "gcd",
        2,
        leaf!(|_, x, y, _| both(x, y, |x, y| Some(gcd(x, y)))),
    ),
    ("lcm", 2, leaf!(|_, x, y, _| both(x, y, lcm))),
    (
        "floor/",
        2,
        leaf!(|thread, x, y, _| divided(thread, x, y, floor_quotient)),
    ),
    (
        "truncate/",
        2,
        leaf!(|thread, x, y, _| divided(thread, x, y, i64::checked_div)),
    ),
    ("exact-integer-sqrt", 1, exact_integer_sqrt),
    ("exact-floor", 1, leaf!(|_, x, _, _| rounded(x, f64::floor))),
    (
        "exact-ceiling",
        1,
        leaf!(|_, x, _, _| rounded(x, f64::ceil)),
    ),
    (
        "exact-truncate",
        1,
        leaf!(|_, x, _, _| rounded(x, f64::trunc)),
    ),
    (
        "exact-round",
        1,
        leaf!(|_, x, _, _| rounded(x, f64::round_ties_even)),
    ),
    ("sqrt", 1, sqrt),
    (
        "exp",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::exp)),
    ),
    (
        "sin",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::sin)),
    ),
    (
        "cos",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::cos)),
    ),
    (
        "tan",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::tan)),
    ),
    (
        "atan",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::atan)),
    ),
    (
        "asin",
        1,
        leaf!(|thread, x, _, _| of_cosine(thread, x, f64::asin)),
    ),
    (
        "acos",
        1,
        leaf!(|thread, x, _, _| of_cosine(thread, x, f64::acos)),
    ),
    (
        "log",
        1,
        leaf!(|thread, x, _, _| {
            let positive = double_not_small(x).filter(|x| *x > 0.0);
            flonum_or_decline(thread, positive.map(f64::ln))
        }),
    ),
    (
        "atan",
        2,
        leaf!(|thread, y, x, _| {
            let both = y.as_flonum().zip(x.as_flonum());
            flonum_or_decline(thread, both.map(|(y, x)| y.atan2(x)))
        }),
    ),
    ("expt", 2, expt),
    (
        "bitwise-not",
        1,
        leaf!(|_, x, _, _| or_decline(x.as_fixnum().map(|x| Value::fixnum(!x)))),
    ),
    ("bitwise-if", 3, bitwise_if),
    (
        "bit-count",
        1,
        leaf!(|_, x, _, _| count_of_bits(x, |x| (x ^ (x >> 63)).count_ones())),
    ),
    (
        "integer-length",
        1,
        leaf!(|_, x, _, _| count_of_bits(x, |x| 64 - (x ^ (x >> 63)).leading_zeros())),
    ),
    (
        "first-set-bit",
        1,
        leaf!(|_, x, _, _| match x.as_fixnum() {
            Some(0) => Value::fixnum(-1),
            _ => count_of_bits(x, i64::trailing_zeros),
        }),
    ),
    (
        "bit-set?",
        2,
        leaf!(|_, index, x, _| {
            let known = index.as_index().zip(x.as_fixnum());
            truth(known.map(|(index, x)| x >> index.min(63) & 1 == 1))
        }),
    ),
    ("copy-bit", 3, copy_bit),
    ("bit-field", 3, bit_field),
    ("number->string", 2, number_to_string),
    ("string->number", 1, string_to_number),
];

fn flonum_or_decline(thread: &mut InPlace, flonum: Option<f64>) -> Value {
    or_decline(flonum.map(|flonum| thread.flonum(flonum)))
}

fn fixnum_or_decline(number: Option<i64>) -> Value {
    or_decline(number.and_then(Value::try_fixnum))
}

/// What a predicate of numbers says of fixnums, and of a flonum.
fn judge(x: Value, of_fixnums: bool, of_flonum: fn(f64) -> bool) -> Value {
    truth(match numeric(x) {
        Some(Numeric::Fixnum(_)) => Some(of_fixnums),
        Some(Numeric::Flonum(x)) => Some(of_flonum(x)),
        _ => None,
    })
}

extern "C" fn is_exact(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Other(x)) if !x.is_kind(Kind::Compnum) => Value::TRUE,
        _ => judge(x, true, |_| false),
    }
}

extern "C" fn is_inexact(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Other(x)) if !x.is_kind(Kind::Compnum) => Value::FALSE,
        _ => judge(x, false, |_| true),
    }
}

fn in_order(thread: &mut InPlace, [x, y, z]: [Value; 3], holds: fn(Ordering) -> bool) -> Value {
    let (Some(first), Some(second)) = (thread.compare(x, y, holds), thread.compare(y, z, holds))
    else {
        return Value::DECLINED;
    };
    Value::boolean(first && second)
}

/// The least or the greatest, a flonum if any number is one. Of equal ones it is the last.
fn extreme(thread: &mut InPlace, numbers: &[Value], wanted: Ordering) -> Value {
    let is_flonum = |number: Value| matches!(numeric(number), Some(Numeric::Flonum(_)));
    let mut best = numbers[0];
    for &other in &numbers[1..] {
        let Some(Some(order)) = thread.order(best, other) else {
            return Value::DECLINED;
        };
        if order != wanted {
            best = other;
        }
    }
    if is_flonum(best) || !numbers.iter().copied().any(is_flonum) {
        return best;
    }
    match best.as_fixnum() {
        Some(best) => thread.flonum(best as f64),
        None => Value::DECLINED,
    }
}

extern "C" fn absolute(thread: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Fixnum(x)) => fixnum_or_decline(x.checked_abs()),
        Some(Numeric::Flonum(x)) => thread.flonum(x.abs()),
        _ => Value::DECLINED,
    }
}

extern "C" fn cube(thread: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Fixnum(x)) => fixnum_or_decline(x.checked_pow(3)),
        Some(Numeric::Flonum(x)) => thread.flonum(x * (x * x)),
        _ => Value::DECLINED,
    }
}

/// A part of a ratio, which is reduced; an integer is its own numerator.
extern "C" fn numerator(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match x.as_kind(Kind::Ratnum) {
        Some(ratio) => ratio.field(0),
        None if x.is_fixnum() || x.is_kind(Kind::Bignum) => x,
        None => Value::DECLINED,
    }
}

extern "C" fn denominator(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match x.as_kind(Kind::Ratnum) {
        Some(ratio) => ratio.field(1),
        None if x.is_fixnum() || x.is_kind(Kind::Bignum) => Value::fixnum(1),
        None => Value::DECLINED,
    }
}

fn both(x: Value, y: Value, operation: fn(i64, i64) -> Option<i64>) -> Value {
    let fixnums = x.as_fixnum().zip(y.as_fixnum());
    fixnum_or_decline(fixnums.and_then(|(x, y)| operation(x, y)))
}

/// The greatest common divisor, by halves and differences.
fn gcd(x: i64, y: i64) -> i64 {
    let (mut x, mut y) = (x.unsigned_abs(), y.unsigned_abs());
    if x == 0 || y == 0 {
        return (x | y) as i64;
    }
    let shared = (x | y).trailing_zeros();
    x >>= x.trailing_zeros();
    while y != 0 {
        y >>= y.trailing_zeros();
        (x, y) = (x.min(y), x.abs_diff(y));
    }
    (x << shared) as i64
}

fn lcm(x: i64, y: i64) -> Option<i64> {
    if x == 0 || y == 0 {
        return Some(0);
    }
    (x / gcd(x, y)).checked_mul(y)?.checked_abs()
}

fn floor_quotient(x: i64, y: i64) -> Option<i64> {
    let quotient = x.checked_div(y)?;
    let is_above = x % y != 0 && (x < 0) != (y < 0);
    Some(quotient - i64::from(is_above))
}

/// The quotient and the rest.
fn divided(thread: &mut InPlace, x: Value, y: Value, divide: fn(i64, i64) -> Option<i64>) -> Value {
    let parts = x.as_fixnum().zip(y.as_fixnum()).and_then(|(x, y)| {
        let quotient = divide(x, y)?;
        let rest = x - quotient * y;
        Some([Value::try_fixnum(quotient)?, Value::try_fixnum(rest)?])
    });
    or_decline(parts.map(|parts| thread.values(&parts)))
}

extern "C" fn exact_integer_sqrt(thread: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    let Some(x) = x.as_fixnum().filter(|x| *x >= 0) else {
        return Value::DECLINED;
    };
    let root = x.isqrt();
    thread.values(&[Value::fixnum(root), Value::fixnum(x - root * root)])
}

/// A number rounded to a fixnum.
fn rounded(x: Value, round: fn(f64) -> f64) -> Value {
    match numeric(x) {
        Some(Numeric::Fixnum(_)) => x,
        Some(Numeric::Flonum(x)) if round(x).abs() <= EXACT_FLONUM_MAX as f64 => {
            fixnum_or_decline(Some(round(x) as i64))
        }
        _ => Value::DECLINED,
    }
}

extern "C" fn sqrt(thread: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Flonum(x)) if x >= 0.0 => thread.flonum(x.sqrt()),
        Some(Numeric::Fixnum(x)) if (0..EXACT_FLONUM_MAX).contains(&x) => {
            let root = x.isqrt();
            if root * root == x {
                Value::fixnum(root)
            } else {
                thread.flonum((x as f64).sqrt())
            }
        }
        _ => Value::DECLINED,
    }
}

/// A number as a flonum, if it is one or a fixnum for which no function here has an exact value.
fn double_not_small(x: Value) -> Option<f64> {
    match numeric(x)? {
        Numeric::Fixnum(0 | 1) | Numeric::Other(_) => None,
        Numeric::Fixnum(x) => Some(x as f64),
        Numeric::Flonum(x) => Some(x),
    }
}

fn of_flonum(thread: &mut InPlace, x: Value, function: fn(f64) -> f64) -> Value {
    flonum_or_decline(thread, double_not_small(x).map(function))
}

/// A function that is real from -1 to 1.
fn of_cosine(thread: &mut InPlace, x: Value, function: fn(f64) -> f64) -> Value {
    let x = x.as_flonum().filter(|x| x.abs() <= 1.0);
    flonum_or_decline(thread, x.map(function))
}

extern "C" fn expt(thread: &mut InPlace, base: Word, exponent: Word, _: Word) -> Word {
    match (numeric(base), numeric(exponent)) {
        (Some(Numeric::Fixnum(base)), Some(Numeric::Fixnum(exponent))) => {
            let exponent = u32::try_from(exponent).ok();
            fixnum_or_decline(exponent.and_then(|exponent| base.checked_pow(exponent)))
        }
        (Some(Numeric::Flonum(base)), Some(Numeric::Flonum(exponent))) if base > 0.0 => {
            thread.flonum(base.powf(exponent))
        }
        _ => Value::DECLINED,
    }
}

fn count_of_bits(x: Value, count: fn(i64) -> u32) -> Value {
    or_decline(x.as_fixnum().map(|x| Value::fixnum(i64::from(count(x)))))
}

extern "C" fn bitwise_if(_: &mut InPlace, mask: Word, x: Word, y: Word) -> Word {
    let (Some(mask), Some(x), Some(y)) = (mask.as_fixnum(), x.as_fixnum(), y.as_fixnum()) else {
        return Value::DECLINED;
    };
    Value::fixnum(mask & x | !mask & y)
}

/// Bits below this one can be changed without leaving the fixnums.
const BIT_MAX: usize = 60;

extern "C" fn copy_bit(_: &mut InPlace, index: Word, x: Word, bit: Word) -> Word {
    let index = index.as_index().filter(|index| *index < BIT_MAX);
    let (Some(index), Some(x)) = (index, x.as_fixnum()) else {
        return Value::DECLINED;
    };
    let mask = 1 << index;
    Value::fixnum(if bit.is_true() { x | mask } else { x & !mask })
}

extern "C" fn bit_field(_: &mut InPlace, x: Word, start: Word, end: Word) -> Word {
    let range = start.as_index().zip(end.as_index());
    let (Some(x), Some((start, end))) = (x.as_fixnum(), range) else {
        return Value::DECLINED;
    };
    if start > end || end - start > BIT_MAX {
        return Value::DECLINED;
    }
    Value::fixnum(x >> start.min(63) & ((1 << (end - start)) - 1))
}

extern "C" fn number_to_string(thread: &mut InPlace, x: Word, radix: Word, _: Word) -> Word {
    let Some(x) = x.as_fixnum() else {
        return Value::DECLINED;
    };
    match radix.as_fixnum() {
        Some(10) => {
            let mut room = [0; DIGITS_MAX];
            or_decline(thread.ascii_string_of(digits(x, &mut room)))
        }
        Some(radix @ (2 | 8 | 16)) => {
            let shift = radix.trailing_zeros();
            // A sign and a digit for each bit.
            let mut room = [0; 65];
            let (mut at, mut rest) = (room.len(), x.unsigned_abs());
            loop {
                at -= 1;
                room[at] = b"0123456789abcdef"[(rest & (radix as u64 - 1)) as usize];
                rest >>= shift;
                if rest == 0 {
                    break;
                }
            }
            if x < 0 {
                at -= 1;
                room[at] = b'-';
            }
            or_decline(thread.ascii_string_of(&room[at..]))
        }
        _ => Value::DECLINED,
    }
}

/// Bytes of a text that is parsed in place.
const TEXT_MAX: usize = 40;

extern "C" fn string_to_number(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let length = string
        .as_kind(Kind::String)
        .map(canny_vm::strings::string_length);
    if length.is_none_or(|length| length > TEXT_MAX) {
        return Value::DECLINED;
    }
    if let Some(fixnum) = super::with_ascii(string, decimal) {
        return fixnum;
    }
    let text = string_text(string).unwrap_or_default();
    match number::parse_number(&text, 10) {
        Ok(Some(number::Number::Fixnum(number))) => fixnum_or_decline(Some(number)),
        Ok(Some(number::Number::Flonum(number))) => thread.flonum(number),
        Ok(Some(_)) => Value::DECLINED,
        Ok(None) | Err(_) => Value::FALSE,
    }
}

/// A fixnum of a few decimal digits.
fn decimal(text: &[u8]) -> Option<Value> {
    const DIGITS: usize = 18;
    let (is_negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        text => (false, text),
    };
    if text.is_empty() || text.len() > DIGITS || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text
        .iter()
        .fold(0, |value, digit| 10 * value + i64::from(digit - b'0'));
    Value::try_fixnum(if is_negative { -value } else { value })
}
