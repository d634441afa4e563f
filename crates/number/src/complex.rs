//! Complex numbers in rectangular coordinates: construction and parts.
//!
//! A complex number keeps both parts in the same exactness: if one part is inexact, the other is
//! made so ([`make_rectangular`]). An exact zero imaginary part makes a real number, an inexact
//! zero does not.

use crate::convert::real_to_f64;
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::is_exact;

pub(crate) fn check_real(value: &Number) -> Result<(), NumberError> {
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
        let inexact = |part: &Number| Number::Flonum(real_to_f64(part));
        Number::Complex(Box::new((inexact(&re), inexact(&im))))
    }
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
