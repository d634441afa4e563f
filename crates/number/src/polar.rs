//! Complex numbers in polar coordinates.
//!
//! A number is kept by its real and imaginary part. So its magnitude takes a root, and its angle an
//! arc tangent, both exact where they can be.

use crate::arithmetic::{abs, norm};
use crate::complex::check_real;
use crate::complex_flonum::ComplexFlonum;
use crate::convert::real_to_f64;
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::is_negative;
use crate::roots::sqrt;
use crate::transcendental::atan2;

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

/// `(magnitude value)`; exact for an exact complex number whose magnitude is rational.
pub fn magnitude(value: &Number) -> Result<Number, NumberError> {
    let Number::Complex(parts) = value else {
        return abs(value);
    };
    match (&parts.0, &parts.1) {
        (Number::Flonum(re), Number::Flonum(im)) => Ok(Number::Flonum(re.hypot(*im))),
        (re, im) => sqrt(&norm(re, im)?),
    }
}

/// `(angle value)`; an exact zero for a real number that is not negative, exact or not.
pub fn angle(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Complex(parts) => atan2(&parts.1, &parts.0),
        Number::Flonum(flonum) if flonum.is_nan() => Ok(value.clone()),
        real if is_negative(real)? => Ok(Number::Flonum(std::f64::consts::PI)),
        _ => Ok(Number::ZERO),
    }
}
