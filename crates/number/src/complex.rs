//! Complex numbers: construction, parts, and exact arithmetic on them.
//!
//! A complex number keeps both parts in the same exactness: if one part is inexact, the other is
//! made so ([`make_rectangular`]). An exact zero imaginary part makes a real number, an inexact
//! zero does not. Inexact arithmetic is in [`crate::complex_flonum`].

use crate::arithmetic as real;
use crate::complex_flonum::ComplexFlonum;
use crate::convert::{inexact, real_to_f64};
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::{is_exact, is_negative};
use crate::roots::sqrt;

fn check_real(value: &Number) -> Result<(), NumberError> {
    match value {
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
        _ => Ok(()),
    }
}

/// `(make-rectangular real imaginary)`
pub fn make_rectangular(re: &Number, im: &Number) -> Result<Number, NumberError> {
    check_real(re)?;
    check_real(im)?;
    Ok(rectangular(re.clone(), im.clone()))
}

/// [`make_rectangular`] for parts known to be real.
pub(crate) fn rectangular(re: Number, im: Number) -> Number {
    if im.is_exact_zero() {
        return re;
    }
    if is_exact(&re) == is_exact(&im) {
        Number::Complex(Box::new((re, im)))
    } else {
        Number::Complex(Box::new((inexact(&re), inexact(&im))))
    }
}

/// `(make-polar magnitude angle)`: exact only if the angle or the magnitude is an exact zero.
pub fn make_polar(magnitude: &Number, angle: &Number) -> Result<Number, NumberError> {
    check_real(magnitude)?;
    check_real(angle)?;
    if angle.is_exact_zero() || magnitude.is_exact_zero() {
        return Ok(magnitude.clone());
    }
    let length = real_to_f64(magnitude);
    let (sine, cosine) = real_to_f64(angle).sin_cos();
    Ok(ComplexFlonum {
        re: length * cosine,
        im: length * sine,
    }
    .into_number())
}

/// Real and imaginary part of any number; the imaginary part of a real is an exact zero.
pub(crate) fn parts(value: &Number) -> (Number, Number) {
    match value {
        Number::Complex(parts) => (**parts).clone(),
        real => (real.clone(), Number::ZERO),
    }
}

/// `(real-part value)`
pub fn real_part(value: &Number) -> Number {
    parts(value).0
}

/// `(imag-part value)`
pub fn imag_part(value: &Number) -> Number {
    parts(value).1
}

/// `(magnitude value)`; exact for an exact complex number whose magnitude is rational.
pub fn magnitude(value: &Number) -> Result<Number, NumberError> {
    let Number::Complex(parts) = value else {
        return real::abs(value);
    };
    match (&parts.0, &parts.1) {
        (Number::Flonum(re), Number::Flonum(im)) => Ok(Number::Flonum(re.hypot(*im))),
        (re, im) => sqrt(&real::add(&real::square(re)?, &real::square(im)?)?),
    }
}

/// `(angle value)`; an exact zero for a real number that is not negative, exact or not.
pub fn angle(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Complex(parts) => crate::transcendental::atan2(&parts.1, &parts.0),
        Number::Flonum(flonum) if flonum.is_nan() => Ok(value.clone()),
        real if is_negative(real)? => Ok(Number::Flonum(std::f64::consts::PI)),
        _ => Ok(Number::ZERO),
    }
}

/// Addition where at least one operand is complex. A real operand leaves the imaginary part of
/// the other alone, so that the sign of a zero survives.
pub(crate) fn add(left: &Number, right: &Number) -> Result<Number, NumberError> {
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
pub(crate) fn sub(left: &Number, right: &Number) -> Result<Number, NumberError> {
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
pub(crate) fn mul(left: &Number, right: &Number) -> Result<Number, NumberError> {
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
pub(crate) fn div(left: &Number, right: &Number) -> Result<Number, NumberError> {
    let Number::Complex(divisor) = right else {
        let (a, b) = parts(left);
        return Ok(rectangular(real::div(&a, right)?, real::div(&b, right)?));
    };
    if !is_exact(left) || !is_exact(right) {
        let quotient = ComplexFlonum::from_number(left).div(ComplexFlonum::from_number(right));
        return Ok(quotient.into_number());
    }
    let ((a, b), (c, d)) = (parts(left), (&divisor.0, &divisor.1));
    let norm = real::add(&real::square(c)?, &real::square(d)?)?;
    let re = real::add(&real::mul(&a, c)?, &real::mul(&b, d)?)?;
    let im = real::sub(&real::mul(&b, c)?, &real::mul(&a, d)?)?;
    Ok(rectangular(real::div(&re, &norm)?, real::div(&im, &norm)?))
}
