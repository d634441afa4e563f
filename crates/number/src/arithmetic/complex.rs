//! Arithmetic on complex numbers, which is real arithmetic on their parts.
//!
//! Inexact division is in [`crate::complex_flonum`].

use super as real;
use crate::complex::{parts, rectangular};
use crate::complex_flonum::ComplexFlonum;
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::is_exact;

/// Addition where at least one operand is complex. A real operand leaves the imaginary part of
/// the other alone, so that the sign of a zero survives.
pub(super) fn add(left: &Number, right: &Number) -> Result<Number, NumberError> {
    match (left, right) {
        (Number::Complex(x), Number::Complex(y)) => {
            Ok(rectangular(real::add(&x.0, &y.0)?, real::add(&x.1, &y.1)?))
        }
        (Number::Complex(x), term) | (term, Number::Complex(x)) => {
            Ok(rectangular(real::add(&x.0, term)?, x.1.clone()))
        }
        _ => real::add(left, right),
    }
}

/// Subtraction where at least one operand is complex.
pub(super) fn sub(left: &Number, right: &Number) -> Result<Number, NumberError> {
    match (left, right) {
        (Number::Complex(x), Number::Complex(y)) => {
            Ok(rectangular(real::sub(&x.0, &y.0)?, real::sub(&x.1, &y.1)?))
        }
        (Number::Complex(x), term) => Ok(rectangular(real::sub(&x.0, term)?, x.1.clone())),
        (term, Number::Complex(y)) => Ok(rectangular(real::sub(term, &y.0)?, real::negate(&y.1))),
        _ => real::sub(left, right),
    }
}

/// Multiplication where at least one operand is complex. A real factor scales both parts, so that
/// an infinite part does not turn the other into a NaN.
pub(super) fn mul(left: &Number, right: &Number) -> Result<Number, NumberError> {
    match (left, right) {
        (Number::Complex(x), Number::Complex(y)) => {
            let ((a, b), (c, d)) = (&**x, &**y);
            let re = real::sub(&real::mul(a, c)?, &real::mul(b, d)?)?;
            let im = real::add(&real::mul(a, d)?, &real::mul(b, c)?)?;
            Ok(rectangular(re, im))
        }
        (Number::Complex(x), factor) | (factor, Number::Complex(x)) => Ok(rectangular(
            real::mul(&x.0, factor)?,
            real::mul(&x.1, factor)?,
        )),
        _ => real::mul(left, right),
    }
}

/// Division where at least one operand is complex.
pub(super) fn div(left: &Number, right: &Number) -> Result<Number, NumberError> {
    let Number::Complex(divisor) = right else {
        let (a, b) = parts(left);
        return Ok(rectangular(real::div(&a, right)?, real::div(&b, right)?));
    };
    if !is_exact(left) || !is_exact(right) {
        let quotient = ComplexFlonum::from_number(left).div(ComplexFlonum::from_number(right));
        return Ok(quotient.into_number());
    }
    let ((a, b), (c, d)) = (parts(left), (&divisor.0, &divisor.1));
    let norm = norm(c, d)?;
    let re = real::add(&real::mul(&a, c)?, &real::mul(&b, d)?)?;
    let im = real::sub(&real::mul(&b, c)?, &real::mul(&a, d)?)?;
    Ok(rectangular(real::div(&re, &norm)?, real::div(&im, &norm)?))
}

/// The square of the magnitude of a complex number with these parts.
pub(crate) fn norm(re: &Number, im: &Number) -> Result<Number, NumberError> {
    real::add(&real::square(re)?, &real::square(im)?)
}
