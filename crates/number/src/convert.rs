//! Between exact real numbers and flonums.
//!
//! Every exact number has one nearest flonum (ties to even), also in the subnormal range and for
//! numerators and denominators of any size; all conversions go through [`round_scaled`], which
//! rounds once. Every finite flonum has one exact value.

use crate::error::NumberError;
use crate::number::Number;
use dashu_base::{BitTest, DivRem, Sign};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Exponent of the least significant bit of a subnormal flonum.
const EXPONENT_LEAST: i64 = -1074;
/// Significant bits of a flonum.
const PRECISION_BITS: i64 = 53;

/// The flonum nearest to `mantissa * 2^exponent`, where `sticky` says that the true value is a
/// little (less than one unit of the mantissa) larger. If it is set, then the mantissa must have
/// at least 55 significant bits.
pub(crate) fn round_scaled(mantissa: u128, sticky: bool, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = i64::from(128 - mantissa.leading_zeros());
    debug_assert!(!sticky || bits >= 55);
    let least = (bits + exponent - PRECISION_BITS).max(EXPONENT_LEAST);
    let dropped = least - exponent;
    if bits + exponent > 1024 {
        return f64::INFINITY;
    }
    let rounded: u64 = if dropped <= 0 {
        // At most 53 significant bits: the shift cannot lose any.
        (mantissa << -dropped) as u64
    } else if dropped > bits {
        // Less than half of the least subnormal.
        0
    } else {
        let kept = if dropped == 128 {
            0
        } else {
            (mantissa >> dropped) as u64
        };
        let half = 1u128 << (dropped - 1);
        let rest = if dropped == 128 {
            mantissa
        } else {
            mantissa & ((half << 1) - 1)
        };
        let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
        kept + u64::from(up)
    };
    // Both factors are exact, and so is their product unless it overflows.
    if least <= 900 {
        rounded as f64 * power_of_two(least)
    } else {
        rounded as f64 * power_of_two(900) * power_of_two(least - 900)
    }
}

/// 2^exponent, for exponents from -1074 to 1023.
pub(crate) fn power_of_two(exponent: i64) -> f64 {
    debug_assert!((EXPONENT_LEAST..=1023).contains(&exponent));
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent - EXPONENT_LEAST))
    }
}

/// `value * 2^exponent`, for a value near one and any exponent.
pub(crate) fn scale(value: f64, exponent: i64) -> f64 {
    let exponent = exponent.clamp(-2200, 2200);
    let third = exponent / 3;
    let rest = exponent - 2 * third;
    value * power_of_two(third) * power_of_two(third) * power_of_two(rest)
}

/// The leading bits of a magnitude (at least 64 if it has more), the exponent of the last of
/// them, and whether any bit set was left out.
fn leading_bits(magnitude: &UBig) -> (u128, i64, bool) {
    let bits = magnitude.bit_len();
    let dropped = bits.saturating_sub(64);
    let top = magnitude >> dropped;
    let sticky = dropped > 0
        && magnitude
            .trailing_zeros()
            .is_some_and(|zeros| zeros < dropped);
    (u128::try_from(&top).unwrap_or(0), dropped as i64, sticky)
}

/// The floor of `numerator / denominator * 2^-exponent` with 65 or 66 significant bits, that
/// exponent, and whether there is a remainder.
fn leading_quotient_bits(numerator: &UBig, denominator: &UBig) -> (u128, i64, bool) {
    let shift = denominator.bit_len() as i64 - numerator.bit_len() as i64 + 66;
    let (quotient, remainder) = if shift >= 0 {
        (numerator << shift as usize).div_rem(denominator)
    } else {
        numerator.div_rem(&(denominator << (-shift) as usize))
    };
    (
        u128::try_from(&quotient).unwrap_or(0),
        -shift,
        !remainder.is_zero(),
    )
}

pub(crate) fn magnitude_to_f64(magnitude: &UBig) -> f64 {
    let (top, exponent, sticky) = leading_bits(magnitude);
    round_scaled(top, sticky, exponent)
}

pub(crate) fn integer_to_f64(value: &IBig) -> f64 {
    let (sign, words) = value.as_sign_words();
    let magnitude = match words {
        [] => 0.0,
        [word] => *word as f64,
        _ => magnitude_to_f64(&value.clone().into_parts().1),
    };
    if sign == Sign::Negative {
        -magnitude
    } else {
        magnitude
    }
}

/// The nearest flonum to a ratio of magnitudes; the denominator is not zero.
pub(crate) fn quotient_to_f64(numerator: &UBig, denominator: &UBig) -> f64 {
    if numerator.is_zero() {
        return 0.0;
    }
    let (top, exponent, sticky) = leading_quotient_bits(numerator, denominator);
    round_scaled(top, sticky, exponent)
}

/// A positive ratio as a flonum in [1, 2] times a power of two, for ratios of any size.
pub(crate) fn quotient_to_scaled(numerator: &UBig, denominator: &UBig) -> (f64, i64) {
    let (top, exponent, sticky) = leading_quotient_bits(numerator, denominator);
    let bits = i64::from(128 - top.leading_zeros());
    (round_scaled(top, sticky, 1 - bits), exponent + bits - 1)
}

pub(crate) fn ratio_to_f64(value: &RBig) -> f64 {
    let (sign, magnitude) = value.numerator().clone().into_parts();
    let result = quotient_to_f64(&magnitude, value.denominator());
    if sign == Sign::Negative {
        -result
    } else {
        result
    }
}

/// The nearest flonum of a real number; a NaN for a complex one, which callers have ruled out.
pub(crate) fn real_to_f64(value: &Number) -> f64 {
    match value {
        Number::Fixnum(small) => *small as f64,
        Number::Big(big) => integer_to_f64(big),
        Number::Ratio(ratio) => ratio_to_f64(ratio),
        Number::Flonum(flonum) => *flonum,
        Number::Complex(_) => f64::NAN,
    }
}

/// The nearest flonum of a real number.
pub fn to_f64(value: &Number) -> Result<f64, NumberError> {
    match value {
        Number::Complex(_) => Err(NumberError::NotReal(value.clone())),
        real => Ok(real_to_f64(real)),
    }
}

/// Sign, mantissa and exponent of a finite flonum: its magnitude is `mantissa * 2^exponent`.
pub(crate) fn decode(value: f64) -> (bool, u64, i64) {
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let negative = bits >> 63 == 1;
    if field == 0 {
        (negative, fraction, EXPONENT_LEAST)
    } else {
        (negative, fraction | 1 << 52, field - 1075)
    }
}

/// The exact value of a finite flonum.
pub(crate) fn flonum_to_exact(value: f64) -> Number {
    debug_assert!(value.is_finite());
    const LIMIT: f64 = (1u64 << 63) as f64;
    if value.trunc() == value && value.abs() < LIMIT {
        return Number::Fixnum(value as i64);
    }
    let (negative, mantissa, exponent) = decode(value);
    let sign = if negative {
        Sign::Negative
    } else {
        Sign::Positive
    };
    if exponent >= 0 {
        let magnitude = UBig::from(mantissa) << exponent as usize;
        Number::from_integer(IBig::from_parts(sign, magnitude))
    } else {
        let numerator = IBig::from_parts(sign, UBig::from(mantissa));
        let denominator = UBig::ONE << (-exponent) as usize;
        Number::from_ratio(RBig::from_parts(numerator, denominator))
    }
}
