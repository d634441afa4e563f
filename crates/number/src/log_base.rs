//! Logarithms to a base.
//!
//! A quotient of logarithms is rounded twice. So a result near an integer is tried as the exponent of
//! an exact power.

use crate::arithmetic::div;
use crate::error::NumberError;
use crate::expt::expt;
use crate::number::Number;
use crate::predicates::{is_exact, is_exact_rational, is_positive, is_zero};
use crate::transcendental::log;

/// `(log value base)`. Exact powers of an exact base give the integral flonum without error.
pub fn log_base(value: &Number, base: &Number) -> Result<Number, NumberError> {
    if let (Number::Flonum(x), Some(b @ (2 | 10))) = (value, integral_base(base))
        && *x >= 0.0
    {
        return Ok(Number::Flonum(if b == 2 { x.log2() } else { x.log10() }));
    }
    let denominator = log(base)?;
    if is_zero(&denominator) && is_exact(&denominator) {
        return Err(NumberError::DivisionByZero);
    }
    let quotient = div(&log(value)?, &denominator)?;
    if let Number::Flonum(estimate) = quotient
        && is_exact_power(value, base, estimate.round())?
    {
        return Ok(Number::Flonum(estimate.round()));
    }
    Ok(quotient)
}

/// Whether two exact positive numbers are related by this integral exponent; powers that would be
/// much longer than `value` are not computed.
fn is_exact_power(value: &Number, base: &Number, exponent: f64) -> Result<bool, NumberError> {
    let both_exact = is_exact_rational(value) && is_exact_rational(base);
    if !both_exact || !is_positive(value)? || !is_positive(base)? {
        return Ok(false);
    }
    let length = base.exact_bits() as f64 * exponent.abs();
    if !length.is_finite() || length > 4.0 * value.exact_bits() as f64 + 1024.0 {
        return Ok(false);
    }
    Ok(expt(base, &Number::Fixnum(exponent as i64))? == *value)
}

fn integral_base(base: &Number) -> Option<i64> {
    match base {
        Number::Fixnum(small) => Some(*small),
        Number::Flonum(flonum) if *flonum == 2.0 => Some(2),
        Number::Flonum(flonum) if *flonum == 10.0 => Some(10),
        _ => None,
    }
}
