//! Numerators, denominators, and the simplest rational in an interval (`rationalize`).
//!
//! Results are exact for exact arguments; a flonum counts as its exact value, and the result is
//! converted back. The search walks down a continued fraction and so takes few steps.

use crate::arithmetic::{abs, add, negate, sub};
use crate::convert::{decode, real_to_f64};
use crate::error::NumberError;
use crate::exactness::{exact, inexact};
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

/// [`rationalize`] for flonums of moderate size, without big integers; `None` for others.
pub fn rationalize_quickly(value: f64, tolerance: f64) -> Option<f64> {
    const SHIFT_MAX: i64 = 62;
    const EXACT: i128 = 1 << f64::MANTISSA_DIGITS;
    if !value.is_finite() || !tolerance.is_finite() {
        return None;
    }
    let parts = [value, tolerance.abs()].map(decode);
    // Both are integers over this power of two.
    let bits = parts.iter().map(|(_, _, exponent)| -exponent).max()?.max(0);
    let [x, width] = parts.map(|(negative, mantissa, exponent)| {
        let shift = u32::try_from(exponent + bits).ok()?;
        let magnitude = (i64::from(shift) <= SHIFT_MAX).then(|| i128::from(mantissa) << shift)?;
        Some(if negative { -magnitude } else { magnitude })
    });
    let (low, high) = (x? - width?, x? + width?);
    if bits > SHIFT_MAX {
        return None;
    }
    if low <= 0 && high >= 0 {
        return Some(0.0);
    }
    let (near, far) = if low > 0 { (low, high) } else { (-high, -low) };
    let (numerator, denominator) = simplest_of_short((near, 1 << bits), (far, 1 << bits));
    let fits = numerator <= EXACT && denominator <= EXACT;
    let size = fits.then(|| numerator as f64 / denominator as f64)?;
    Some(if low > 0 { size } else { -size })
}

/// As [`simplest_between`], of ratios whose parts have less than 120 bits.
fn simplest_of_short((a, b): (i128, i128), (c, d): (i128, i128)) -> (i128, i128) {
    let ((mut a, mut b), (mut c, mut d)) = ((a, b), (c, d));
    let ((mut h, mut h_before), (mut k, mut k_before)) = ((1, 0), (0, 1));
    loop {
        let (whole, rest) = (a / b, a % b);
        let (whole_high, rest_high) = (c / d, c % d);
        let is_last = rest == 0 || whole != whole_high;
        let term = whole + i128::from(is_last && rest != 0);
        (h_before, h, k_before, k) = (h, term * h + h_before, k, term * k + k_before);
        if is_last {
            return (h, k);
        }
        (a, b, c, d) = (d, rest_high, b, rest);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flonum() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            -1000.0..1000.0,
            -1.0..1.0,
            (-40i32..40).prop_map(|n| f64::from(n) / 8.0),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn quick_results_are_the_results(value in flonum(), tolerance in flonum()) {
            if let Some(quick) = rationalize_quickly(value, tolerance) {
                let slow = rationalize(&Number::Flonum(value), &Number::Flonum(tolerance)).unwrap();
                prop_assert_eq!(Number::Flonum(quick), slow);
            }
        }
    }

    #[test]
    fn usual_flonums_have_quick_results() {
        assert_eq!(rationalize_quickly(1.5, 0.1), Some(1.5));
        assert_eq!(rationalize_quickly(0.3, 0.1), Some(1.0 / 3.0));
        assert_eq!(rationalize_quickly(-0.3, 0.1), Some(-1.0 / 3.0));
        assert_eq!(rationalize_quickly(0.05, 0.1), Some(0.0));
        assert_eq!(rationalize_quickly(1e300, 1.0), None);
    }
}
