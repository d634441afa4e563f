//! `expt`.
//!
//! Exact bases with exact integer exponents give exact results, and so do rational exponents where
//! the root is rational. Everything else is computed with flonums. A power of an exact zero is an
//! exact zero only for exact exponents; `(expt z 0)` has the exactness of `z`.

use crate::arithmetic::{abs, div, mul, negate, square};
use crate::complex::{real_part, rectangular};
use crate::complex_flonum::negative_power;
use crate::convert::{quotient_to_scaled, real_to_f64, scale};
use crate::error::NumberError;
use crate::number::{EXACT_BITS_MAX, Number};
use crate::predicates::{is_exact, is_exact_integer, is_negative, is_odd, is_positive, is_zero};
use crate::roots::{exact_root, sqrt};
use crate::transcendental::{exp, log};
use dashu_int::IBig;
use dashu_ratio::RBig;

/// `(expt base exponent)`
pub fn expt(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    if is_exact_integer(exponent) {
        return integer_power(base, exponent);
    }
    if is_zero(base) {
        return power_of_zero(base, exponent);
    }
    if base.is_exact_one() {
        return Ok(if is_exact(exponent) {
            Number::ONE
        } else {
            Number::Flonum(1.0)
        });
    }
    if let Number::Ratio(ratio) = exponent
        && is_exact(base)
        && let Some(power) = exact_rational_power(base, ratio)?
    {
        return Ok(power);
    }
    match (base, exponent) {
        (Number::Complex(_), _) | (_, Number::Complex(_)) => general_power(base, exponent),
        (Number::Flonum(base), exponent) => Ok(flonum_power(*base, real_to_f64(exponent))),
        (exact, exponent) => exact_base_power(exact, real_to_f64(exponent)),
    }
}

/// `e^(exponent log base)`
fn general_power(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    exp(&mul(exponent, &log(base)?)?)
}

/// A zero to a power that is not an exact integer: zero if the exponent's real part is positive.
fn power_of_zero(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    match (base, exponent) {
        (Number::Flonum(zero), Number::Flonum(_) | Number::Ratio(_)) => {
            Ok(Number::Flonum(zero.powf(real_to_f64(exponent))))
        }
        (_, Number::Flonum(flonum)) if flonum.is_nan() || *flonum == 0.0 => {
            Ok(Number::Flonum(0.0f64.powf(*flonum)))
        }
        _ => {
            let part = real_part(exponent);
            if !is_positive(&part)? {
                return Err(match exponent {
                    Number::Complex(_) => NumberError::Undefined(exponent.clone()),
                    _ => NumberError::DivisionByZero,
                });
            }
            Ok(if is_exact(base) && is_exact(exponent) {
                Number::ZERO
            } else {
                Number::Flonum(0.0)
            })
        }
    }
}

fn integer_power(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    match base {
        Number::Flonum(flonum) => Ok(Number::Flonum(flonum_integer_power(*flonum, exponent)?)),
        Number::Complex(parts) if !is_exact(base) => {
            const REPEATED_MAX: i64 = 1024;
            match exponent.to_i64() {
                Some(0) => Ok(Number::Flonum(1.0)),
                Some(count) if count.abs() <= REPEATED_MAX => {
                    let power = repeated_square(base, count.unsigned_abs())?;
                    if count < 0 {
                        div(&Number::ONE, &power)
                    } else {
                        Ok(power)
                    }
                }
                _ if is_zero(&parts.0) && is_zero(&parts.1) => power_of_zero(base, exponent),
                _ => general_power(base, exponent),
            }
        }
        _ => exact_power(base, exponent),
    }
}

/// An exact base, real or complex, to an exact integer power.
fn exact_power(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    if exponent.is_exact_zero() {
        return Ok(Number::ONE);
    }
    let negative = is_negative(exponent)?;
    match base {
        Number::Fixnum(0) if negative => return Err(NumberError::DivisionByZero),
        Number::Fixnum(0 | 1) => return Ok(base.clone()),
        Number::Fixnum(-1) => {
            return Ok(Number::Fixnum(if is_odd(exponent)? { -1 } else { 1 }));
        }
        Number::Complex(parts)
            if parts.0.is_exact_zero() && matches!(parts.1, Number::Fixnum(1 | -1)) =>
        {
            return power_of_unit(base, exponent);
        }
        _ => {}
    }
    if negative {
        return div(&Number::ONE, &exact_power(base, &negate(exponent))?);
    }
    let bits = least_growth(base)?;
    let count = match exponent.to_i64() {
        Some(count) => count.unsigned_abs(),
        None => return Err(NumberError::TooLarge { bits: u64::MAX }),
    };
    // The growth is given per two multiplications, so that it is a whole number for 1+i.
    let size = bits.saturating_mul(count) / 2;
    if size > EXACT_BITS_MAX {
        return Err(NumberError::TooLarge { bits: size });
    }
    let power = count as usize;
    match base {
        Number::Fixnum(small) => Ok(Number::from_integer(IBig::from(*small).pow(power))),
        Number::Big(big) => Ok(Number::from_integer(big.pow(power))),
        Number::Ratio(ratio) => Ok(Number::from_ratio(ratio.pow(power as isize))),
        _ => repeated_square(base, count),
    }
}

/// A lower bound for the bits by which two multiplications with `base` lengthen a power.
fn least_growth(base: &Number) -> Result<u64, NumberError> {
    let of_real = |value: &Number| value.exact_bits().saturating_sub(1) * 2;
    match base {
        Number::Complex(parts) => {
            let length = mul(base, &rectangular(parts.0.clone(), negate(&parts.1)))?;
            let growth = length.exact_bits().saturating_sub(1);
            let denominators = [&parts.0, &parts.1].map(|part| match part {
                Number::Ratio(_) => of_real(part),
                _ => 0,
            });
            Ok(growth.max(denominators[0]).max(denominators[1]))
        }
        real => Ok(of_real(real)),
    }
}

/// A power of `+i` or `-i`.
fn power_of_unit(base: &Number, exponent: &Number) -> Result<Number, NumberError> {
    let turns = crate::division::modulo(exponent, &Number::Fixnum(4))?;
    repeated_square(base, turns.to_i64().unwrap_or(0).unsigned_abs())
}

fn repeated_square(base: &Number, count: u64) -> Result<Number, NumberError> {
    let mut power = None;
    let mut factor = base.clone();
    let mut rest = count;
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(match power {
                None => factor.clone(),
                Some(power) => mul(&power, &factor)?,
            });
        }
        rest >>= 1;
        if rest > 0 {
            factor = square(&factor)?;
        }
    }
    Ok(power.unwrap_or(Number::ONE))
}

fn flonum_integer_power(base: f64, exponent: &Number) -> Result<f64, NumberError> {
    let size = base.abs().powf(real_to_f64(exponent));
    Ok(if base.is_sign_negative() && is_odd(exponent)? {
        -size
    } else {
        size
    })
}

fn flonum_power(base: f64, exponent: f64) -> Number {
    if base < 0.0 && exponent.is_finite() && exponent.trunc() != exponent {
        negative_power(base, exponent).into_number()
    } else {
        Number::Flonum(base.powf(exponent))
    }
}

/// The exact result of a rational power of an exact base, if there is one.
fn exact_rational_power(base: &Number, exponent: &RBig) -> Result<Option<Number>, NumberError> {
    let Ok(degree) = u64::try_from(exponent.denominator()) else {
        return Ok(None);
    };
    let root = if degree == 2 {
        Some(sqrt(base)?).filter(is_exact)
    } else if matches!(base, Number::Complex(_)) || is_negative(base)? {
        None
    } else {
        exact_root(base, degree)
    };
    match root {
        Some(root) => {
            exact_power(&root, &Number::from_integer(exponent.numerator().clone())).map(Some)
        }
        None => Ok(None),
    }
}

/// An exact real base, not zero or one, to an inexact power; the base may be out of a flonum's
/// range although the power is not.
fn exact_base_power(base: &Number, exponent: f64) -> Result<Number, NumberError> {
    let flonum = real_to_f64(base);
    if flonum.is_finite() && flonum.abs() >= f64::MIN_POSITIVE || !exponent.is_finite() {
        return Ok(flonum_power(flonum, exponent));
    }
    let Some(ratio) = abs(base)?.to_ratio().map(|ratio| ratio.into_owned()) else {
        return Ok(flonum_power(flonum, exponent));
    };
    let (numerator, denominator) = ratio.into_parts();
    let (mantissa, shift) = quotient_to_scaled(&numerator.into_parts().1, &denominator);
    let turns = exponent * shift as f64;
    let whole = turns.floor();
    let size = scale(
        mantissa.powf(exponent) * (turns - whole).exp2(),
        whole.clamp(-4e3, 4e3) as i64,
    );
    if !is_negative(base)? {
        return Ok(Number::Flonum(size));
    }
    let unit = flonum_power(-1.0, exponent);
    mul(&unit, &Number::Flonum(size))
}
