//! Leaf functions of numbers: fixnums and flonums, and the parts of ratios. They decline what needs the
//! numeric tower, and where an exact argument has an exact result.

use std::cmp::Ordering;

use canny_number::{self as number, Division};
use canny_tables::kinds::Kind;
use canny_tables::protocols::{Enumerated, FlonumFunction, FlonumOperation};
use canny_value::Value;
use canny_vm::numbers::exact_to_f64;
use canny_vm::{InPlace, Numeric, numeric, string_text};

use super::{Row, Word, or_decline, truth};
use crate::decimal::{DIGITS_MAX, digits};
use crate::primitives::numbers::flonum_functions::{value_of_function, value_of_operation};
use crate::primitives::numbers::predicates::{
    is_exact_nonnegative_integer, is_exact_rational, is_rational, is_real,
};
use crate::text::{Units, with_units};

/// Integers up to this are flonums without rounding.
const EXACT_FLONUM_MAX: i64 = 1 << 53;

/// A function of the machine that gives none where it declines.
macro_rules! of_one {
    ($name:ident) => {
        leaf!(|thread, x, _, _| or_decline(thread.$name(x)))
    };
}

/// The same of two numbers.
macro_rules! of_two {
    ($name:ident) => {
        leaf!(|thread, x, y, _| or_decline(thread.$name(x, y)))
    };
}

/// A rounding, and what the host rounds doubles by.
macro_rules! rounded {
    ($name:ident $division:ident $flonums:path) => {
        leaf!(|thread, x, _, _| or_decline(thread.$name(x, Division::$division, $flonums)))
    };
}

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
    (
        "exact?",
        1,
        leaf!(|thread, x, _, _| truth(thread.is_exact(x))),
    ),
    (
        "inexact?",
        1,
        leaf!(|thread, x, _, _| truth(thread.is_exact(x).map(|is_exact| !is_exact))),
    ),
    (
        "nan?",
        1,
        leaf!(|thread, x, _, _| truth(thread.any_part(x, f64::is_nan))),
    ),
    (
        "finite?",
        1,
        leaf!(|thread, x, _, _| {
            let is_infinite = thread.any_part(x, |part| !part.is_finite());
            truth(is_infinite.map(|is_infinite| !is_infinite))
        }),
    ),
    (
        "infinite?",
        1,
        leaf!(|thread, x, _, _| truth(thread.any_part(x, f64::is_infinite))),
    ),
    (
        "even?",
        1,
        leaf!(|thread, x, _, _| truth(thread.is_odd(x).map(|is_odd| !is_odd))),
    ),
    ("odd?", 1, leaf!(|thread, x, _, _| truth(thread.is_odd(x)))),
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
        leaf!(|thread, x, y, _| extreme_of_two(thread, x, y, Ordering::Less)),
    ),
    (
        "min",
        3,
        leaf!(|thread, x, y, z| extreme(thread, &[x, y, z], Ordering::Less)),
    ),
    (
        "max",
        2,
        leaf!(|thread, x, y, _| extreme_of_two(thread, x, y, Ordering::Greater)),
    ),
    (
        "max",
        3,
        leaf!(|thread, x, y, z| extreme(thread, &[x, y, z], Ordering::Greater)),
    ),
    ("abs", 1, of_one!(absolute)),
    ("magnitude", 1, of_one!(magnitude)),
    ("cube", 1, cube),
    ("numerator", 1, of_one!(numerator)),
    ("denominator", 1, of_one!(denominator)),
    ("gcd", 2, of_two!(gcd)),
    ("lcm", 2, of_two!(lcm)),
    (
        "gcd",
        3,
        leaf!(|thread, x, y, z| {
            let first = thread.gcd(x, y);
            or_decline(first.and_then(|first| thread.gcd(first, z)))
        }),
    ),
    (
        "lcm",
        3,
        leaf!(|thread, x, y, z| {
            let first = thread.lcm(x, y);
            or_decline(first.and_then(|first| thread.lcm(first, z)))
        }),
    ),
    (
        "floor/",
        2,
        leaf!(|thread, x, y, _| or_decline(thread.divided(Division::Floor, x, y))),
    ),
    (
        "truncate/",
        2,
        leaf!(|thread, x, y, _| or_decline(thread.divided(Division::Truncate, x, y))),
    ),
    ("exact-integer-sqrt", 1, of_one!(exact_integer_sqrt)),
    ("exact-floor", 1, rounded!(exact_rounded Floor f64::floor)),
    (
        "exact-ceiling",
        1,
        rounded!(exact_rounded Ceiling f64::ceil),
    ),
    (
        "exact-truncate",
        1,
        rounded!(exact_rounded Truncate f64::trunc),
    ),
    (
        "exact-round",
        1,
        rounded!(exact_rounded Round f64::round_ties_even),
    ),
    ("sqrt", 1, sqrt),
    (
        "exp",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::exp, number::exp)),
    ),
    (
        "sin",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::sin, number::sin)),
    ),
    (
        "cos",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::cos, number::cos)),
    ),
    (
        "tan",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::tan, number::tan)),
    ),
    (
        "atan",
        1,
        leaf!(|thread, x, _, _| of_flonum(thread, x, f64::atan, number::atan)),
    ),
    (
        "asin",
        1,
        leaf!(|thread, x, _, _| of_cosine(thread, x, f64::asin, number::asin)),
    ),
    (
        "acos",
        1,
        leaf!(|thread, x, _, _| of_cosine(thread, x, f64::acos, number::acos)),
    ),
    (
        "log",
        1,
        leaf!(|thread, x, _, _| match double_not_small(x)
            .filter(|flonum| is_plain_positive(x, *flonum))
        {
            Some(positive) => thread.flonum(positive.ln()),
            None => match logarithm_near_one(x) {
                Some(logarithm) => thread.flonum(logarithm),
                None => or_decline(thread.of_tower(x, number::log)),
            },
        }),
    ),
    (
        "log",
        2,
        leaf!(|thread, x, base, _| match quotient_of_logarithms(x, base) {
            Some(quotient) => thread.flonum(quotient),
            None => or_decline(thread.of_tower2(x, base, number::log_base)),
        }),
    ),
    (
        "rationalize",
        2,
        leaf!(|thread, x, tolerance, _| {
            let flonums = x.as_flonum().zip(tolerance.as_flonum());
            match flonums.and_then(|(x, width)| number::rationalize_quickly(x, width)) {
                Some(result) => thread.flonum(result),
                None => or_decline(thread.of_tower2(x, tolerance, number::rationalize)),
            }
        }),
    ),
    ("%flonum-function", 2, flonum_function),
    ("%flonum-operation", 3, flonum_operation),
    (
        "%flonum-multiply-add",
        3,
        leaf!(|thread, x, y, z| {
            match (x.as_flonum(), y.as_flonum(), z.as_flonum()) {
                (Some(x), Some(y), Some(z)) => thread.flonum(x.mul_add(y, z)),
                _ => Value::DECLINED,
            }
        }),
    ),
    (
        "atan",
        2,
        leaf!(|thread, y, x, _| match y.as_flonum().zip(x.as_flonum()) {
            Some((y, x)) => thread.flonum(y.atan2(x)),
            None => or_decline(thread.of_tower2(y, x, number::atan2)),
        }),
    ),
    ("expt", 2, of_two!(expt)),
    ("bitwise-not", 1, of_one!(bitwise_not)),
    (
        "bitwise-if",
        3,
        leaf!(|thread, mask, x, y| or_decline(thread.bitwise_if(mask, x, y))),
    ),
    ("bit-count", 1, of_one!(bit_count)),
    ("integer-length", 1, of_one!(integer_length)),
    ("first-set-bit", 1, of_one!(first_set_bit)),
    (
        "bit-set?",
        2,
        leaf!(|thread, index, x, _| truth(thread.is_bit_set(index, x))),
    ),
    (
        "copy-bit",
        3,
        leaf!(|thread, index, x, bit| or_decline(thread.copy_bit(index, x, bit.is_true()))),
    ),
    (
        "bit-field",
        3,
        leaf!(|thread, x, start, end| or_decline(thread.bit_field(x, start, end))),
    ),
    ("number->string", 2, number_to_string),
    ("string->number", 1, string_to_number),
    ("string->number", 2, string_to_number_in_radix),
    ("-", 1, of_one!(negate)),
    ("/", 1, of_one!(reciprocal)),
    ("exact", 1, of_one!(exact)),
    ("inexact", 1, of_one!(inexact)),
    ("floor", 1, rounded!(rounded Floor f64::floor)),
    ("ceiling", 1, rounded!(rounded Ceiling f64::ceil)),
    ("truncate", 1, rounded!(rounded Truncate f64::trunc)),
    ("round", 1, rounded!(rounded Round f64::round_ties_even)),
    ("make-rectangular", 2, of_two!(make_rectangular)),
    ("make-polar", 2, of_two!(make_polar)),
    ("real-part", 1, of_one!(real_part)),
    ("imag-part", 1, of_one!(imaginary_part)),
    ("angle", 1, of_one!(angle)),
];

fn in_order(thread: &mut InPlace, [x, y, z]: [Value; 3], holds: fn(Ordering) -> bool) -> Value {
    let (Some(first), Some(second)) = (thread.compare(x, y, holds), thread.compare(y, z, holds))
    else {
        return Value::DECLINED;
    };
    Value::boolean(first && second)
}

/// The lesser or the greater one, a flonum if one of them is.
#[inline(always)]
fn extreme_of_two(thread: &mut InPlace, x: Value, y: Value, wanted: Ordering) -> Value {
    use Numeric::{Fixnum, Flonum};
    let Some(Some(order)) = thread.order(x, y) else {
        return Value::DECLINED;
    };
    let (chosen, other) = if order == wanted { (x, y) } else { (y, x) };
    match (numeric(chosen), numeric(other)) {
        (Some(Fixnum(n)), Some(Flonum(_))) => thread.flonum(n as f64),
        (Some(Numeric::Other(_)), Some(Flonum(_))) => or_decline(thread.inexact(chosen)),
        _ => chosen,
    }
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
    or_decline(thread.inexact(best))
}

extern "C" fn cube(thread: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    match numeric(x) {
        Some(Numeric::Flonum(x)) => thread.flonum(x * (x * x)),
        _ => {
            let square = thread.multiply(x, x);
            or_decline(square.and_then(|square| thread.multiply(x, square)))
        }
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
        _ => match root_of_ratio(thread, x) {
            Some(root) => root,
            None => or_decline(thread.of_tower(x, number::sqrt)),
        },
    }
}

/// The root of a ratio of squares that are positive fixnums.
fn root_of_ratio(thread: &mut InPlace, x: Value) -> Option<Value> {
    let root = |part: Option<Value>| {
        let square = part?.as_fixnum().filter(|square| *square > 0)?;
        let root = square.isqrt();
        (root * root == square).then(|| Value::fixnum(root))
    };
    let ratio = x.as_kind(Kind::Ratnum)?.value();
    let (numerator, denominator) = (thread.numerator(ratio), thread.denominator(ratio));
    thread.divide(root(numerator)?, root(denominator)?)
}

/// A real number as a flonum, if no function here has an exact value for it.
fn double_not_small(x: Value) -> Option<f64> {
    match numeric(x)? {
        Numeric::Fixnum(0 | 1) => None,
        Numeric::Other(x) => exact_to_f64(x),
        Numeric::Fixnum(x) => Some(x as f64),
        Numeric::Flonum(x) => Some(x),
    }
}

/// Whether the logarithm of a number is that of its flonum: an exact number that is near one, or out of
/// range, has digits that the flonum has lost.
fn is_plain_positive(x: Value, flonum: f64) -> bool {
    let range = f64::MIN_POSITIVE..=f64::MAX;
    flonum > 0.0
        && (x.as_flonum().is_some() || range.contains(&flonum) && !(0.5..2.0).contains(&flonum))
}

/// The logarithm of a ratio of short fixnums between a half and two, by its distance from one.
fn logarithm_near_one(x: Value) -> Option<f64> {
    let ratio = x.as_kind(Kind::Ratnum)?;
    let (above, below) = (ratio.field(0).as_fixnum()?, ratio.field(1).as_fixnum()?);
    let is_short = above > 0 && above < EXACT_FLONUM_MAX && below < EXACT_FLONUM_MAX;
    let is_near = is_short && 2 * above > below && above < 2 * below;
    is_near.then(|| ((above - below) as f64 / below as f64).ln_1p())
}

/// The logarithm of a positive flonum to a base that is another one.
fn quotient_of_logarithms(x: Value, base: Value) -> Option<f64> {
    let (x, base) = (x.as_flonum()?, base.as_flonum()?);
    if !(x > 0.0 && base > 0.0) {
        return None;
    }
    // As the tower does.
    Some(if base == 2.0 {
        x.log2()
    } else if base == 10.0 {
        x.log10()
    } else {
        x.ln() / base.ln()
    })
}

extern "C" fn flonum_function(thread: &mut InPlace, function: Word, x: Word, _: Word) -> Word {
    let function = function.as_fixnum().and_then(FlonumFunction::from_number);
    match function.zip(x.as_flonum()) {
        Some((function, x)) => thread.flonum(value_of_function(function, x)),
        None => Value::DECLINED,
    }
}

extern "C" fn flonum_operation(thread: &mut InPlace, operation: Word, x: Word, y: Word) -> Word {
    let operation = operation.as_fixnum().and_then(FlonumOperation::from_number);
    match (operation, x.as_flonum(), y.as_flonum()) {
        (Some(operation), Some(x), Some(y)) => thread.flonum(value_of_operation(operation, x, y)),
        _ => Value::DECLINED,
    }
}

/// A function of the tower.
type Function = fn(&number::Number) -> Result<number::Number, number::NumberError>;

fn of_flonum(thread: &mut InPlace, x: Value, function: fn(f64) -> f64, tower: Function) -> Value {
    match double_not_small(x) {
        Some(x) => thread.flonum(function(x)),
        None => or_decline(thread.of_tower(x, tower)),
    }
}

/// A function that is real from -1 to 1.
fn of_cosine(thread: &mut InPlace, x: Value, function: fn(f64) -> f64, tower: Function) -> Value {
    match x.as_flonum().filter(|x| x.abs() <= 1.0) {
        Some(x) => thread.flonum(function(x)),
        None => or_decline(thread.of_tower(x, tower)),
    }
}

extern "C" fn number_to_string(thread: &mut InPlace, number: Word, radix: Word, _: Word) -> Word {
    let Some(x) = number.as_fixnum() else {
        return match radix.as_index() {
            Some(radix @ 2..=36) => super::number_text(thread, number, radix as u32),
            _ => Value::DECLINED,
        };
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
        Some(radix @ 2..=36) => super::number_text(thread, number, radix as u32),
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
    let quick = super::with_ascii(string, |text| match text {
        // No number begins otherwise.
        [first, ..] if !first.is_ascii_digit() && !b"+-.#".contains(first) => Some(Value::FALSE),
        _ => decimal(text).or_else(|| {
            let slash = text.iter().position(|byte| *byte == b'/')?;
            let denominator = Some(&text[slash + 1..]).filter(|text| text.first() != Some(&b'-'));
            let denominator = denominator.filter(|text| text.first() != Some(&b'+'))?;
            thread.divide(decimal(&text[..slash])?, decimal(denominator)?)
        }),
    });
    match quick {
        Some(number) => number,
        None if is_no_number(string) => Value::FALSE,
        None => parsed(thread, string, 10),
    }
}

/// Whether a text has a character that no number has.
fn is_no_number(string: Value) -> bool {
    string.as_kind(Kind::String).is_some_and(|string| {
        with_units(string, |units| match units {
            Units::Narrow(bytes) => !bytes.is_ascii(),
            Units::Wide(units) => units.iter().any(|unit| *unit > 0x7f),
        })
    })
}

fn parsed(thread: &mut InPlace, string: Value, radix: u32) -> Value {
    let text = string_text(string).unwrap_or_default();
    match number::parse_number(&text, radix) {
        Ok(Some(number)) => or_decline(thread.number(&number)),
        Ok(None) | Err(_) => Value::FALSE,
    }
}

extern "C" fn string_to_number_in_radix(
    thread: &mut InPlace,
    string: Word,
    radix: Word,
    _: Word,
) -> Word {
    let length = string
        .as_kind(Kind::String)
        .map(canny_vm::strings::string_length);
    if length.is_none_or(|length| length > TEXT_MAX) {
        return Value::DECLINED;
    }
    match radix.as_index() {
        Some(10) => string_to_number(thread, string, radix, radix),
        Some(radix @ 2..=36) => {
            match super::with_ascii(string, |text| digits_in(text, radix as u8)) {
                Some(fixnum) => fixnum,
                None if is_no_number(string) => Value::FALSE,
                None => parsed(thread, string, radix as u32),
            }
        }
        _ => Value::DECLINED,
    }
}

/// A fixnum of a few digits in a radix.
fn digits_in(text: &[u8], radix: u8) -> Option<Value> {
    let (is_negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        text => (false, text),
    };
    if text.is_empty() {
        return None;
    }
    let value = text.iter().try_fold(0i64, |value, digit| {
        let digit = char::from(*digit).to_digit(u32::from(radix))?;
        value
            .checked_mul(i64::from(radix))?
            .checked_add(i64::from(digit))
    })?;
    Value::try_fixnum(if is_negative { -value } else { value })
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
