//! `floor`, `ceiling`, `truncate` and `round`.

use crate::division::{Division, divide_integers};
use crate::error::NumberError;
use crate::number::Number;
use dashu_int::IBig;

fn to_integral(
    value: &Number,
    kind: Division,
    of_flonum: fn(f64) -> f64,
) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(_) | Number::Big(_) => Ok(value.clone()),
        Number::Ratio(ratio) => {
            let denominator = IBig::from(ratio.denominator().clone());
            let (quotient, _) = divide_integers(kind, ratio.numerator(), &denominator);
            Ok(Number::from_integer(quotient))
        }
        Number::Flonum(flonum) => Ok(Number::Flonum(of_flonum(*flonum))),
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
    }
}

/// `(floor value)`
pub fn floor(value: &Number) -> Result<Number, NumberError> {
    to_integral(value, Division::Floor, f64::floor)
}

/// `(ceiling value)`
pub fn ceiling(value: &Number) -> Result<Number, NumberError> {
    to_integral(value, Division::Ceiling, f64::ceil)
}

/// `(truncate value)`
pub fn truncate(value: &Number) -> Result<Number, NumberError> {
    to_integral(value, Division::Truncate, f64::trunc)
}

/// `(round value)`, ties to even.
pub fn round(value: &Number) -> Result<Number, NumberError> {
    to_integral(value, Division::Round, f64::round_ties_even)
}
