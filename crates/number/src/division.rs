//! Integer division in its six roundings, `gcd` and `lcm`.
//!
//! Every division is the truncating one, corrected by at most one step ([`correction`]). The
//! operands may be integral flonums; the division is then done on their exact values and both
//! results are made inexact.

use crate::arithmetic;
use crate::convert::flonum_to_exact;
use crate::error::NumberError;
use crate::exactness::inexact;
use crate::number::Number;
use dashu_base::{DivRem, Gcd, Sign};
use dashu_int::IBig;
use std::borrow::Cow;
use std::cmp::Ordering;

/// How the quotient is rounded to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Toward negative infinity: the remainder has the divisor's sign (`floor/`, `modulo`).
    Floor,
    /// Toward positive infinity (`ceiling/`).
    Ceiling,
    /// Toward zero: the remainder has the dividend's sign (`truncate/`, `quotient`).
    Truncate,
    /// To the nearest integer, ties to even (`round/`).
    Round,
    /// So that the remainder is not negative (`euclidean/`).
    Euclidean,
    /// So that the remainder is at least -|d/2| and less than |d/2| (`balanced/`).
    Balanced,
}

/// The step (-1, 0 or 1) by which the truncated quotient must change. The remainder and the
/// divisor are given by their signs; `twice` orders twice the remainder against the divisor, both
/// in magnitude.
fn correction(
    kind: Division,
    remainder: i64,
    divisor: i64,
    twice: Ordering,
    quotient_is_odd: bool,
) -> i64 {
    if remainder == 0 {
        return 0;
    }
    let away_from_zero = remainder * divisor;
    let step = match kind {
        Division::Truncate => false,
        Division::Floor => away_from_zero < 0,
        Division::Ceiling => away_from_zero > 0,
        Division::Euclidean => remainder < 0,
        Division::Round => twice.is_gt() || (twice.is_eq() && quotient_is_odd),
        Division::Balanced => twice.is_gt() || (twice.is_eq() && remainder > 0),
    };
    if step { away_from_zero } else { 0 }
}

fn divide_fixnums(kind: Division, dividend: i64, divisor: i64) -> (Number, Number) {
    let (Some(quotient), Some(remainder)) =
        (dividend.checked_div(divisor), dividend.checked_rem(divisor))
    else {
        // Only the least fixnum over -1 overflows.
        return (arithmetic::sub_fixnums(0, dividend), Number::ZERO);
    };
    let (rest, size) = (remainder.unsigned_abs(), divisor.unsigned_abs());
    let twice = rest.cmp(&(size - rest));
    let step = correction(
        kind,
        remainder.signum(),
        divisor.signum(),
        twice,
        quotient & 1 == 1,
    );
    // A step is taken only when there is a remainder, so that the quotient cannot overflow; the
    // remainder moves toward zero or across it by less than it can hold.
    let corrected = match step {
        0 => remainder,
        1 => remainder - divisor,
        _ => remainder + divisor,
    };
    (Number::Fixnum(quotient + step), Number::Fixnum(corrected))
}

fn signum(value: &IBig) -> i64 {
    match value.sign() {
        _ if value.is_zero() => 0,
        Sign::Positive => 1,
        Sign::Negative => -1,
    }
}

pub(crate) fn divide_integers(kind: Division, dividend: &IBig, divisor: &IBig) -> (IBig, IBig) {
    let (quotient, remainder) = dividend.div_rem(divisor);
    let twice = match kind {
        Division::Round | Division::Balanced => {
            let double = (&remainder << 1usize).into_parts().1;
            double.cmp(&divisor.clone().into_parts().1)
        }
        _ => Ordering::Less,
    };
    let odd = quotient.trailing_zeros() == Some(0);
    match correction(kind, signum(&remainder), signum(divisor), twice, odd) {
        0 => (quotient, remainder),
        1 => (quotient + IBig::ONE, remainder - divisor),
        _ => (quotient - IBig::ONE, remainder + divisor),
    }
}

/// The exact integer an operand stands for.
fn operand(value: &Number) -> Result<Cow<'_, Number>, NumberError> {
    match value {
        Number::Fixnum(_) | Number::Big(_) => Ok(Cow::Borrowed(value)),
        Number::Flonum(flonum) if flonum.is_finite() && flonum.trunc() == *flonum => {
            Ok(Cow::Owned(flonum_to_exact(*flonum)))
        }
        _ => Err(NumberError::NotInteger(value.clone())),
    }
}

/// Quotient and remainder; both inexact if either operand is.
pub fn divide(
    kind: Division,
    dividend: &Number,
    divisor: &Number,
) -> Result<(Number, Number), NumberError> {
    let (x, y) = (operand(dividend)?, operand(divisor)?);
    if y.is_exact_zero() {
        return Err(NumberError::DivisionByZero);
    }
    let (quotient, remainder) = match (&*x, &*y) {
        (Number::Fixnum(x), Number::Fixnum(y)) => divide_fixnums(kind, *x, *y),
        (x, y) => match (x.to_integer(), y.to_integer()) {
            (Some(x), Some(y)) => {
                let (quotient, remainder) = divide_integers(kind, &x, &y);
                (
                    Number::from_integer(quotient),
                    Number::from_integer(remainder),
                )
            }
            _ => return Err(NumberError::NotInteger(dividend.clone())),
        },
    };
    if either_is_flonum(dividend, divisor) {
        Ok((inexact(&quotient), inexact(&remainder)))
    } else {
        Ok((quotient, remainder))
    }
}

fn either_is_flonum(left: &Number, right: &Number) -> bool {
    matches!(left, Number::Flonum(_)) || matches!(right, Number::Flonum(_))
}

/// The first result of [`divide`].
pub fn divide_quotient(
    kind: Division,
    dividend: &Number,
    divisor: &Number,
) -> Result<Number, NumberError> {
    divide(kind, dividend, divisor).map(|(quotient, _)| quotient)
}

/// The second result of [`divide`].
pub fn divide_remainder(
    kind: Division,
    dividend: &Number,
    divisor: &Number,
) -> Result<Number, NumberError> {
    divide(kind, dividend, divisor).map(|(_, remainder)| remainder)
}

/// `(quotient dividend divisor)`, that is `truncate-quotient`.
pub fn quotient(dividend: &Number, divisor: &Number) -> Result<Number, NumberError> {
    divide_quotient(Division::Truncate, dividend, divisor)
}

/// `(remainder dividend divisor)`, that is `truncate-remainder`.
pub fn remainder(dividend: &Number, divisor: &Number) -> Result<Number, NumberError> {
    divide_remainder(Division::Truncate, dividend, divisor)
}

/// `(modulo dividend divisor)`, that is `floor-remainder`.
pub fn modulo(dividend: &Number, divisor: &Number) -> Result<Number, NumberError> {
    divide_remainder(Division::Floor, dividend, divisor)
}

/// `(gcd left right)`, never negative.
pub fn gcd(left: &Number, right: &Number) -> Result<Number, NumberError> {
    let (x, y) = (operand(left)?, operand(right)?);
    let divisor = exact_gcd(&x, &y);
    Ok(if either_is_flonum(left, right) {
        inexact(&divisor)
    } else {
        divisor
    })
}

fn exact_gcd(left: &Number, right: &Number) -> Number {
    match (left.to_integer(), right.to_integer()) {
        (Some(x), _) if x.is_zero() => absolute(right),
        (_, Some(y)) if y.is_zero() => absolute(left),
        (Some(x), Some(y)) => Number::from_integer(IBig::from((&*x).gcd(&*y))),
        _ => Number::ONE,
    }
}

fn absolute(value: &Number) -> Number {
    arithmetic::abs(value).unwrap_or(Number::ZERO)
}

/// `(lcm left right)`, never negative.
pub fn lcm(left: &Number, right: &Number) -> Result<Number, NumberError> {
    let (x, y) = (operand(left)?, operand(right)?);
    let multiple = if x.is_exact_zero() || y.is_exact_zero() {
        Number::ZERO
    } else {
        let share = quotient(&x, &exact_gcd(&x, &y))?;
        arithmetic::abs(&arithmetic::mul(&share, &y)?)?
    };
    Ok(if either_is_flonum(left, right) {
        inexact(&multiple)
    } else {
        multiple
    })
}
