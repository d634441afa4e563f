//! Numerators, denominators, and the simplest rational in an interval (`rationalize`).
//!
//! Results are exact for exact arguments; a flonum counts as its exact value, and the result is
//! converted back. The search walks down a continued fraction and so takes few steps.

use crate::arithmetic::{abs, add, negate, sub};
use crate::convert::{exact, inexact, real_to_f64};
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::{is_exact, is_negative, is_positive, is_real};
use dashu_base::DivRem;
use dashu_int::IBig;
use dashu_ratio::RBig;

/// `(numerator value)`; of a flonum, the inexact numerator of its exact value.
pub fn numerator(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(_) | Number::Big(_) => Ok(value.clone()),
        Number::Ratio(ratio) => Ok(Number::from_integer(ratio.numerator().clone())),
        Number::Flonum(flonum) if flonum.is_finite() => {
            if *flonum == 0.0 {
                return Ok(value.clone());
            }
            Ok(inexact(&numerator(&exact(value)?)?))
        }
        _ => Err(NumberError::NotRational(value.clone())),
    }
}

/// `(denominator value)`; of a flonum, the inexact denominator of its exact value.
pub fn denominator(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(_) | Number::Big(_) => Ok(Number::ONE),
        Number::Ratio(ratio) => Ok(Number::from_integer(IBig::from(
            ratio.denominator().clone(),
        ))),
        Number::Flonum(flonum) if flonum.is_finite() => Ok(inexact(&denominator(&exact(value)?)?)),
        _ => Err(NumberError::NotRational(value.clone())),
    }
}

/// `(rationalize value tolerance)`: the simplest rational within the tolerance, as R7RS defines
/// "simplest". An infinite tolerance gives `0.0`, an infinite value itself, both a NaN.
pub fn rationalize(value: &Number, tolerance: &Number) -> Result<Number, NumberError> {
    for operand in [value, tolerance] {
        if !is_real(operand) {
            return Err(NumberError::NotReal(operand.clone()));
        }
    }
    if is_exact(value) && is_exact(tolerance) {
        return simplest_within(value, tolerance);
    }
    let (x, width) = (real_to_f64(value), real_to_f64(tolerance));
    let special = match (value, tolerance) {
        (Number::Flonum(_), _) if x.is_nan() => Some(f64::NAN),
        (_, Number::Flonum(_)) if width.is_nan() => Some(f64::NAN),
        (Number::Flonum(_), Number::Flonum(_)) if x.is_infinite() && width.is_infinite() => {
            Some(f64::NAN)
        }
        (Number::Flonum(_), _) if x.is_infinite() => Some(x),
        (_, Number::Flonum(_)) if width.is_infinite() => Some(0.0),
        _ => None,
    };
    match special {
        Some(result) => Ok(Number::Flonum(result)),
        None => Ok(inexact(&simplest_within(
            &exact(value)?,
            &exact(tolerance)?,
        )?)),
    }
}

fn simplest_within(value: &Number, tolerance: &Number) -> Result<Number, NumberError> {
    let width = abs(tolerance)?;
    let (low, high) = (sub(value, &width)?, add(value, &width)?);
    if is_positive(&low)? {
        Ok(simplest_between(&low, &high))
    } else if is_negative(&high)? {
        Ok(negate(&simplest_between(&negate(&high), &negate(&low))))
    } else {
        Ok(Number::ZERO)
    }
}

/// The simplest rational from `low` to `high`, both positive: walk down their common continued
/// fraction, then take the least integer that separates them.
fn simplest_between(low: &Number, high: &Number) -> Number {
    let (Some(low), Some(high)) = (low.to_ratio(), high.to_ratio()) else {
        return low.clone();
    };
    let ratio_parts = |ratio: &RBig| {
        (
            ratio.numerator().clone(),
            IBig::from(ratio.denominator().clone()),
        )
    };
    let ((mut a, mut b), (mut c, mut d)) = (ratio_parts(&low), ratio_parts(&high));
    // The interval is a/b to c/d; the convergents of the common prefix are h/k.
    let (mut h, mut h_before) = (IBig::ONE, IBig::ZERO);
    let (mut k, mut k_before) = (IBig::ZERO, IBig::ONE);
    loop {
        let (whole, rest) = (&a).div_rem(&b);
        let (whole_high, rest_high) = (&c).div_rem(&d);
        let last = rest.is_zero() || whole != whole_high;
        let term = if last && !rest.is_zero() {
            whole + IBig::ONE
        } else {
            whole
        };
        let h_next = &term * &h + &h_before;
        let k_next = &term * &k + &k_before;
        if last {
            return Number::from_ratio(RBig::from_parts_signed(h_next, k_next));
        }
        (h_before, h, k_before, k) = (h, h_next, k, k_next);
        // Reciprocals of the fractional parts; they swap the ends of the interval.
        (a, b, c, d) = (d, rest_high, b, rest);
    }
}
