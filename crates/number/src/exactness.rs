//! `exact` and `inexact`, for all numbers.

use crate::complex::make_rectangular;
use crate::convert::{flonum_to_exact, real_to_f64};
use crate::error::NumberError;
use crate::number::Number;

/// `(inexact value)`
pub fn inexact(value: &Number) -> Number {
    match value {
        Number::Complex(parts) => Number::Complex(Box::new((
            Number::Flonum(real_to_f64(&parts.0)),
            Number::Flonum(real_to_f64(&parts.1)),
        ))),
        real => Number::Flonum(real_to_f64(real)),
    }
}

/// `(exact value)`
pub fn exact(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Flonum(flonum) if flonum.is_finite() => Ok(flonum_to_exact(*flonum)),
        Number::Flonum(_) => Err(NumberError::NoExactValue(value.clone())),
        Number::Complex(parts) => make_rectangular(&exact(&parts.0)?, &exact(&parts.1)?),
        _ => Ok(value.clone()),
    }
}
