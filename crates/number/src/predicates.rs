//! Classification.
//!
//! A complex number with an inexact zero imaginary part is not real, as R7RS 6.2.6 shows.

use crate::convert::decode;
use crate::error::NumberError;
use crate::number::Number;
use dashu_int::IBig;

/// `(complex? value)`: true of every number.
pub fn is_complex(_value: &Number) -> bool {
    true
}

/// `(real? value)`
pub fn is_real(value: &Number) -> bool {
    !matches!(value, Number::Complex(_))
}

/// `(rational? value)`
pub fn is_rational(value: &Number) -> bool {
    match value {
        Number::Flonum(flonum) => flonum.is_finite(),
        other => is_real(other),
    }
}

/// `(integer? value)`
pub fn is_integer(value: &Number) -> bool {
    match value {
        Number::Fixnum(_) | Number::Big(_) => true,
        Number::Flonum(flonum) => flonum.is_finite() && flonum.trunc() == *flonum,
        Number::Ratio(_) | Number::Complex(_) => false,
    }
}

/// `(exact? value)`
pub fn is_exact(value: &Number) -> bool {
    match value {
        Number::Fixnum(_) | Number::Big(_) | Number::Ratio(_) => true,
        Number::Flonum(_) => false,
        Number::Complex(parts) => is_exact(&parts.1),
    }
}

/// `(inexact? value)`
pub fn is_inexact(value: &Number) -> bool {
    !is_exact(value)
}

/// `(exact-integer? value)`
pub fn is_exact_integer(value: &Number) -> bool {
    matches!(value, Number::Fixnum(_) | Number::Big(_))
}

/// `(exact-rational? value)`: exact and real.
pub fn is_exact_rational(value: &Number) -> bool {
    matches!(value, Number::Fixnum(_) | Number::Big(_) | Number::Ratio(_))
}

/// Whether the number is an exact integer that is not negative.
pub fn is_exact_nonnegative_integer(value: &Number) -> bool {
    match value {
        Number::Fixnum(small) => *small >= 0,
        Number::Big(big) => *big > IBig::ZERO,
        _ => false,
    }
}

/// `(finite? value)`
pub fn is_finite(value: &Number) -> bool {
    match value {
        Number::Flonum(flonum) => flonum.is_finite(),
        Number::Complex(parts) => is_finite(&parts.0) && is_finite(&parts.1),
        _ => true,
    }
}

/// `(infinite? value)`
pub fn is_infinite(value: &Number) -> bool {
    match value {
        Number::Flonum(flonum) => flonum.is_infinite(),
        Number::Complex(parts) => is_infinite(&parts.0) || is_infinite(&parts.1),
        _ => false,
    }
}

/// `(nan? value)`
pub fn is_nan(value: &Number) -> bool {
    match value {
        Number::Flonum(flonum) => flonum.is_nan(),
        Number::Complex(parts) => is_nan(&parts.0) || is_nan(&parts.1),
        _ => false,
    }
}

/// `(zero? value)`
pub fn is_zero(value: &Number) -> bool {
    match value {
        Number::Fixnum(small) => *small == 0,
        Number::Flonum(flonum) => *flonum == 0.0,
        Number::Big(_) | Number::Ratio(_) => false,
        Number::Complex(parts) => is_zero(&parts.0) && is_zero(&parts.1),
    }
}

/// `(positive? value)`
pub fn is_positive(value: &Number) -> Result<bool, NumberError> {
    match value {
        Number::Fixnum(small) => Ok(*small > 0),
        Number::Big(big) => Ok(*big > IBig::ZERO),
        Number::Ratio(ratio) => Ok(*ratio.numerator() > IBig::ZERO),
        Number::Flonum(flonum) => Ok(*flonum > 0.0),
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
    }
}

/// `(negative? value)`
pub fn is_negative(value: &Number) -> Result<bool, NumberError> {
    match value {
        Number::Fixnum(small) => Ok(*small < 0),
        Number::Big(big) => Ok(*big < IBig::ZERO),
        Number::Ratio(ratio) => Ok(*ratio.numerator() < IBig::ZERO),
        Number::Flonum(flonum) => Ok(*flonum < 0.0),
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
    }
}

/// `(odd? value)`, for integers of either exactness.
pub fn is_odd(value: &Number) -> Result<bool, NumberError> {
    match value {
        Number::Fixnum(small) => Ok(small & 1 == 1),
        Number::Big(big) => Ok(big.trailing_zeros() == Some(0)),
        Number::Flonum(flonum) if is_integer(value) => {
            let (_, mantissa, exponent) = decode(*flonum);
            Ok((-52..=0).contains(&exponent) && mantissa >> -exponent & 1 == 1)
        }
        _ => Err(NumberError::NotInteger(value.clone())),
    }
}

/// `(even? value)`, for integers of either exactness.
pub fn is_even(value: &Number) -> Result<bool, NumberError> {
    is_odd(value).map(|odd| !odd)
}
