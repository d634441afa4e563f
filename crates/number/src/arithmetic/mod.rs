//! Addition, subtraction, multiplication and division.
//!
//! The operands of a binary operation are first brought to a common kind ([`Pair`]); the four
//! operations then differ only in what they do with each pair. Exact operations on complex numbers
//! stay exact.

mod complex;

pub(crate) use complex::norm;

use crate::convert::real_to_f64;
use crate::error::NumberError;
use crate::number::{EXACT_BITS_MAX, Number};
use dashu_int::IBig;
use dashu_ratio::RBig;
use std::borrow::Cow;

/// Two operands brought to the lowest kind of the tower that holds both.
enum Pair<'a> {
    Fixnums(i64, i64),
    Integers(Cow<'a, IBig>, Cow<'a, IBig>),
    Ratios(Cow<'a, RBig>, Cow<'a, RBig>),
    Flonums(f64, f64),
    Complexes,
}

fn pair<'a>(left: &'a Number, right: &'a Number) -> Pair<'a> {
    if let (Number::Fixnum(x), Number::Fixnum(y)) = (left, right) {
        return Pair::Fixnums(*x, *y);
    }
    if matches!(left, Number::Complex(_)) || matches!(right, Number::Complex(_)) {
        return Pair::Complexes;
    }
    if matches!(left, Number::Flonum(_)) || matches!(right, Number::Flonum(_)) {
        return Pair::Flonums(real_to_f64(left), real_to_f64(right));
    }
    if let (Some(x), Some(y)) = (left.to_integer(), right.to_integer()) {
        return Pair::Integers(x, y);
    }
    match (left.to_ratio(), right.to_ratio()) {
        (Some(x), Some(y)) => Pair::Ratios(x, y),
        _ => Pair::Complexes,
    }
}

/// Refuses a result that would have about `bits` bits if that is more than the limit.
pub(crate) fn check_size(bits: u64) -> Result<(), NumberError> {
    if bits > EXACT_BITS_MAX {
        Err(NumberError::TooLarge { bits })
    } else {
        Ok(())
    }
}

/// Sums and products of two exact numbers have at most the sum of their bits (and one more).
fn check_operands(left: &Number, right: &Number) -> Result<(), NumberError> {
    check_size(left.exact_bits() + right.exact_bits())
}

/// The sum of two 64-bit integers.
pub fn add_fixnums(left: i64, right: i64) -> Number {
    match left.checked_add(right) {
        Some(sum) => Number::Fixnum(sum),
        None => Number::from_i128(i128::from(left) + i128::from(right)),
    }
}

/// The difference of two 64-bit integers.
pub fn sub_fixnums(left: i64, right: i64) -> Number {
    match left.checked_sub(right) {
        Some(difference) => Number::Fixnum(difference),
        None => Number::from_i128(i128::from(left) - i128::from(right)),
    }
}

/// The product of two 64-bit integers.
pub fn mul_fixnums(left: i64, right: i64) -> Number {
    match left.checked_mul(right) {
        Some(product) => Number::Fixnum(product),
        None => Number::from_i128(i128::from(left) * i128::from(right)),
    }
}

/// `(+ left right)`
pub fn add(left: &Number, right: &Number) -> Result<Number, NumberError> {
    Ok(match pair(left, right) {
        Pair::Fixnums(x, y) => add_fixnums(x, y),
        Pair::Integers(x, y) => Number::from_integer(&*x + &*y),
        Pair::Ratios(x, y) => {
            check_operands(left, right)?;
            Number::from_ratio(&*x + &*y)
        }
        Pair::Flonums(x, y) => Number::Flonum(x + y),
        Pair::Complexes => complex::add(left, right)?,
    })
}

/// `(- left right)`
pub fn sub(left: &Number, right: &Number) -> Result<Number, NumberError> {
    Ok(match pair(left, right) {
        Pair::Fixnums(x, y) => sub_fixnums(x, y),
        Pair::Integers(x, y) => Number::from_integer(&*x - &*y),
        Pair::Ratios(x, y) => {
            check_operands(left, right)?;
            Number::from_ratio(&*x - &*y)
        }
        Pair::Flonums(x, y) => Number::Flonum(x - y),
        Pair::Complexes => complex::sub(left, right)?,
    })
}

/// `(* left right)`
pub fn mul(left: &Number, right: &Number) -> Result<Number, NumberError> {
    Ok(match pair(left, right) {
        Pair::Fixnums(x, y) => mul_fixnums(x, y),
        Pair::Integers(x, y) => {
            check_operands(left, right)?;
            Number::from_integer(&*x * &*y)
        }
        Pair::Ratios(x, y) => {
            check_operands(left, right)?;
            Number::from_ratio(&*x * &*y)
        }
        Pair::Flonums(x, y) => Number::Flonum(x * y),
        Pair::Complexes => complex::mul(left, right)?,
    })
}

/// `(/ left right)`; an exact zero divisor is an error, also for a flonum dividend, while `0.0`
/// divides as IEEE 754 says.
pub fn div(left: &Number, right: &Number) -> Result<Number, NumberError> {
    if right.is_exact_zero() {
        return Err(NumberError::DivisionByZero);
    }
    Ok(match pair(left, right) {
        Pair::Fixnums(x, y) if y > 0 && x % y == 0 => Number::Fixnum(x / y),
        Pair::Fixnums(x, y) => {
            Number::from_ratio(RBig::from_parts_signed(IBig::from(x), IBig::from(y)))
        }
        Pair::Integers(x, y) => {
            Number::from_ratio(RBig::from_parts_signed(x.into_owned(), y.into_owned()))
        }
        Pair::Ratios(x, y) => {
            check_operands(left, right)?;
            Number::from_ratio(&*x / &*y)
        }
        Pair::Flonums(x, y) => Number::Flonum(x / y),
        Pair::Complexes => complex::div(left, right)?,
    })
}

/// `(- value)`
pub fn negate(value: &Number) -> Number {
    match value {
        Number::Fixnum(small) => sub_fixnums(0, *small),
        Number::Big(big) => Number::from_integer(-big),
        Number::Ratio(ratio) => Number::Ratio(-ratio.clone()),
        Number::Flonum(flonum) => Number::Flonum(-flonum),
        Number::Complex(parts) => Number::Complex(Box::new((negate(&parts.0), negate(&parts.1)))),
    }
}

/// `(abs value)`, for real numbers.
pub fn abs(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(small) if *small < 0 => Ok(sub_fixnums(0, *small)),
        Number::Big(big) if *big < IBig::ZERO => Ok(Number::from_integer(-big)),
        Number::Ratio(ratio) if *ratio.numerator() < IBig::ZERO => {
            Ok(Number::Ratio(-ratio.clone()))
        }
        Number::Flonum(flonum) => Ok(Number::Flonum(flonum.abs())),
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
        _ => Ok(value.clone()),
    }
}

/// `(square value)`
pub fn square(value: &Number) -> Result<Number, NumberError> {
    mul(value, value)
}

/// `(+ value 1)`
pub fn increment(value: &Number) -> Result<Number, NumberError> {
    add(value, &Number::ONE)
}

/// `(- value 1)`
pub fn decrement(value: &Number) -> Result<Number, NumberError> {
    sub(value, &Number::ONE)
}
