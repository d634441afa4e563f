//! Exponential, logarithm and the trigonometric functions.
//!
//! An exact argument whose result is an exact 0 or 1 gives that; all other results are inexact.
//! Real arguments outside a function's real domain give the complex value that R7RS 6.2.6 defines
//! by its formulas. Real functions are the host's; complex ones are in [`crate::complex_flonum`].

use crate::arithmetic as real;
use crate::compare::compare_reals;
use crate::complex_flonum::{ComplexFlonum, log_scaled};
use crate::convert::{quotient_to_f64, quotient_to_scaled, ratio_to_f64, real_to_f64};
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::{is_exact, is_negative, is_positive};
use dashu_ratio::RBig;
use std::cmp::Ordering;
use std::f64::consts::PI;

fn complex(re: f64, im: f64) -> Number {
    ComplexFlonum::new(re, im).into_number()
}

/// Applies the function for reals or the one for complex numbers.
fn apply(
    value: &Number,
    of_real: fn(f64) -> f64,
    of_complex: fn(ComplexFlonum) -> ComplexFlonum,
) -> Number {
    match value {
        Number::Complex(_) => of_complex(ComplexFlonum::from_number(value)).into_number(),
        real => Number::Flonum(of_real(real_to_f64(real))),
    }
}

/// `(exp value)`
pub fn exp(value: &Number) -> Result<Number, NumberError> {
    if value.is_exact_zero() {
        return Ok(Number::ONE);
    }
    Ok(apply(value, f64::exp, ComplexFlonum::exp))
}

/// `(log value)`; the logarithm of an exact zero is undefined, that of `0.0` is `-inf.0`.
pub fn log(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(0) => Err(NumberError::Undefined(value.clone())),
        Number::Fixnum(1) => Ok(Number::ZERO),
        Number::Flonum(flonum) if *flonum < 0.0 => Ok(complex((-flonum).ln(), PI)),
        Number::Flonum(flonum) if *flonum == 0.0 => Ok(Number::Flonum(f64::NEG_INFINITY)),
        Number::Flonum(flonum) => Ok(Number::Flonum(flonum.ln())),
        Number::Complex(parts) if is_exact(value) => {
            let norm = real::norm(&parts.0, &parts.1)?;
            let angle = real_to_f64(&atan2(&parts.1, &parts.0)?);
            Ok(complex(0.5 * log_of_exact(&norm), angle))
        }
        Number::Complex(_) => Ok(ComplexFlonum::from_number(value).log().into_number()),
        exact if is_negative(exact)? => Ok(complex(log_of_exact(&real::negate(exact)), PI)),
        exact => Ok(Number::Flonum(log_of_exact(exact))),
    }
}

/// The logarithm of an exact positive number of any size.
fn log_of_exact(value: &Number) -> f64 {
    let Some(ratio) = value.to_ratio() else {
        return f64::NAN;
    };
    let numerator = ratio.numerator().clone().into_parts().1;
    let denominator = ratio.denominator();
    let flonum = quotient_to_f64(&numerator, denominator);
    if flonum > 0.5 && flonum < 2.0 {
        ratio_to_f64(&(&*ratio - RBig::ONE)).ln_1p()
    } else if flonum.is_finite() && flonum >= f64::MIN_POSITIVE {
        flonum.ln()
    } else {
        let (mantissa, exponent) = quotient_to_scaled(&numerator, denominator);
        log_scaled(mantissa, exponent)
    }
}

/// `(sin value)`
pub fn sin(value: &Number) -> Result<Number, NumberError> {
    if value.is_exact_zero() {
        return Ok(Number::ZERO);
    }
    Ok(apply(value, f64::sin, ComplexFlonum::sin))
}

/// `(cos value)`
pub fn cos(value: &Number) -> Result<Number, NumberError> {
    if value.is_exact_zero() {
        return Ok(Number::ONE);
    }
    Ok(apply(value, f64::cos, ComplexFlonum::cos))
}

/// `(tan value)`
pub fn tan(value: &Number) -> Result<Number, NumberError> {
    if value.is_exact_zero() {
        return Ok(Number::ZERO);
    }
    Ok(apply(value, f64::tan, ComplexFlonum::tan))
}

/// A real argument beyond ±1 lies on the branch cut of `asin` and `acos`. By the defining formula
/// of R7RS the cut belongs to the lower half plane on the right and to the upper one on the left.
fn on_the_cut(value: f64) -> ComplexFlonum {
    ComplexFlonum::new(value, if value > 0.0 { -0.0 } else { 0.0 })
}

/// `(asin value)`
pub fn asin(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(0) => Ok(Number::ZERO),
        Number::Complex(_) => Ok(ComplexFlonum::from_number(value).asin().into_number()),
        real => {
            let x = real_to_f64(real);
            Ok(if x.abs() > 1.0 {
                on_the_cut(x).asin().into_number()
            } else {
                Number::Flonum(x.asin())
            })
        }
    }
}

/// `(acos value)`
pub fn acos(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(1) => Ok(Number::ZERO),
        Number::Complex(_) => Ok(ComplexFlonum::from_number(value).acos().into_number()),
        real => {
            let x = real_to_f64(real);
            Ok(if x.abs() > 1.0 {
                on_the_cut(x).acos().into_number()
            } else {
                Number::Flonum(x.acos())
            })
        }
    }
}

/// `(atan value)`; undefined at exactly `+i` and `-i`.
pub fn atan(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(0) => Ok(Number::ZERO),
        Number::Complex(parts) if parts.0.is_exact_zero() => {
            if matches!(parts.1, Number::Fixnum(1 | -1)) {
                return Err(NumberError::Undefined(value.clone()));
            }
            // On the cut, the formula takes the logarithm of a negative number to have the
            // imaginary part +π; this is the right side above and the left side below.
            let im = real_to_f64(&parts.1);
            let re = if im < 0.0 { -0.0 } else { 0.0 };
            Ok(ComplexFlonum::new(re, im).atan().into_number())
        }
        _ => Ok(apply(value, f64::atan, ComplexFlonum::atan)),
    }
}

/// `(atan y x)`, for real numbers: the angle of `x + yi`. An exact zero `y` with a positive `x`
/// gives an exact zero; two exact zeros are undefined.
pub fn atan2(y: &Number, x: &Number) -> Result<Number, NumberError> {
    for operand in [y, x] {
        if matches!(operand, Number::Complex(_)) {
            return Err(NumberError::NotReal(operand.clone()));
        }
    }
    if y.is_exact_zero() {
        if x.is_exact_zero() {
            return Err(NumberError::Undefined(x.clone()));
        }
        if is_positive(x)? {
            return Ok(Number::ZERO);
        }
    }
    let (mut above, mut along) = (real_to_f64(y), real_to_f64(x));
    let lost = |value: f64| !value.is_finite() || value.abs() < f64::MIN_POSITIVE;
    if is_exact(y) && is_exact(x) && (lost(above) || lost(along)) {
        // Out of range on the way to flonums: only the proportion matters.
        let larger = match compare_reals(&real::abs(y)?, &real::abs(x)?) {
            Some(Ordering::Less) => real::abs(x)?,
            _ => real::abs(y)?,
        };
        above = real_to_f64(&real::div(y, &larger)?);
        along = real_to_f64(&real::div(x, &larger)?);
    }
    Ok(Number::Flonum(above.atan2(along)))
}
