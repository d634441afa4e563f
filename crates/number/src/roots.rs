//! Square roots and exact roots.
//!
//! The square root of an exact number is exact if it can be; otherwise it is the flonum nearest to
//! the true root, however large or small the argument is.

use crate::arithmetic as real;
use crate::complex::rectangular;
use crate::complex_flonum::ComplexFlonum;
use crate::convert::{quotient_to_scaled, round_scaled};
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::{is_exact, is_exact_nonnegative_integer, is_negative};
use dashu_base::{BitTest, DivRem, SquareRootRem};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// `(exact-integer-sqrt value)`: the integer square root and the rest.
pub fn exact_integer_sqrt(value: &Number) -> Result<(Number, Number), NumberError> {
    match value.to_integer() {
        Some(integer) if is_exact_nonnegative_integer(value) => {
            let (root, rest) = integer.into_owned().into_parts().1.sqrt_rem();
            Ok((
                Number::from_integer(IBig::from(root)),
                Number::from_integer(IBig::from(rest)),
            ))
        }
        _ => Err(NumberError::NotExactNonnegativeInteger(value.clone())),
    }
}

/// `(sqrt value)`: the principal root.
pub fn sqrt(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Flonum(flonum) if *flonum < 0.0 => Ok(rectangular(
            Number::Flonum(0.0),
            Number::Flonum((-flonum).sqrt()),
        )),
        Number::Flonum(flonum) => Ok(Number::Flonum(flonum.sqrt())),
        Number::Complex(parts) => {
            if is_exact(value)
                && let Some(root) = exact_complex_sqrt(&parts.0, &parts.1)?
            {
                return Ok(root);
            }
            let square = ComplexFlonum::from_number(value);
            let root = square.sqrt();
            // R7RS asks for a nonnegative imaginary part when the real part is zero, also for the root of a
            // negative number with imaginary part -0.0, whatever the branch cut says.
            let imaginary = if root.re == 0.0 && square.im == 0.0 {
                root.im.abs()
            } else {
                root.im
            };
            Ok(ComplexFlonum::new(root.re, imaginary).into_number())
        }
        exact => {
            let root = sqrt_of_magnitude(&real::abs(exact)?);
            Ok(if is_negative(exact)? {
                rectangular(Number::ZERO, root)
            } else {
                root
            })
        }
    }
}

/// The root of an exact complex number if both its parts are rational.
fn exact_complex_sqrt(re: &Number, im: &Number) -> Result<Option<Number>, NumberError> {
    let length = sqrt_of_magnitude(&real::norm(re, im)?);
    if !is_exact(&length) {
        return Ok(None);
    }
    let two = Number::Fixnum(2);
    let root_re = sqrt(&real::div(&real::add(&length, re)?, &two)?)?;
    let root_im = sqrt(&real::div(&real::sub(&length, re)?, &two)?)?;
    if !is_exact(&root_re) || !is_exact(&root_im) {
        return Ok(None);
    }
    let root_im = if is_negative(im)? {
        real::negate(&root_im)
    } else {
        root_im
    };
    Ok(Some(rectangular(root_re, root_im)))
}

/// The root of an exact number that is not negative.
fn sqrt_of_magnitude(value: &Number) -> Number {
    let Some(ratio) = value.to_ratio() else {
        return value.clone();
    };
    let numerator = ratio.numerator().clone().into_parts().1;
    let denominator = ratio.denominator();
    let (root, rest) = numerator.sqrt_rem();
    if rest.is_zero() {
        let (root_below, rest_below) = denominator.sqrt_rem();
        if rest_below.is_zero() {
            return Number::from_ratio(RBig::from_parts(IBig::from(root), root_below));
        }
    }
    Number::Flonum(rounded_sqrt(&numerator, denominator))
}

/// The nearest flonum to the root of a positive ratio: an integer root of at least 64 bits, whose
/// remainder only has to be known to exist.
fn rounded_sqrt(numerator: &UBig, denominator: &UBig) -> f64 {
    let surplus = 130 + denominator.bit_len() as i64 - numerator.bit_len() as i64;
    let shift = surplus + (surplus & 1);
    let (quotient, rest) = if shift >= 0 {
        (numerator << shift as usize).div_rem(denominator)
    } else {
        numerator.div_rem(&(denominator << (-shift) as usize))
    };
    let (root, root_rest) = quotient.sqrt_rem();
    let sticky = !rest.is_zero() || !root_rest.is_zero();
    round_scaled(u128::try_from(&root).unwrap_or(0), sticky, -shift / 2)
}

/// The exact `degree`-th root of an exact number that is not negative, if there is one.
pub(crate) fn exact_root(value: &Number, degree: u64) -> Option<Number> {
    let ratio = value.to_ratio()?;
    let numerator = exact_magnitude_root(&ratio.numerator().clone().into_parts().1, degree)?;
    let denominator = exact_magnitude_root(ratio.denominator(), degree)?;
    Some(Number::from_ratio(RBig::from_parts(
        IBig::from(numerator),
        denominator,
    )))
}

fn exact_magnitude_root(value: &UBig, degree: u64) -> Option<UBig> {
    if value.is_zero() || value.is_one() {
        return Some(value.clone());
    }
    if degree >= value.bit_len() as u64 {
        return None;
    }
    let power = usize::try_from(degree).ok()?;
    let root = match short_root(value, degree) {
        Some(root) => root,
        None if may_be_power(value, degree) => value.nth_root(power),
        None => return None,
    };
    (root.pow(power) == *value).then_some(root)
}

/// The nearest integer to a root, if it is short enough for flonums to find it.
fn short_root(value: &UBig, degree: u64) -> Option<UBig> {
    const BITS_MAX: f64 = 40.0;
    let (mantissa, exponent) = quotient_to_scaled(value, &UBig::ONE);
    let logarithm = (mantissa.log2() + exponent as f64) / degree as f64;
    (logarithm < BITS_MAX).then(|| UBig::from(logarithm.exp2().round() as u64))
}

/// A quick test that almost every number fails which is not a power of this degree. Finding the
/// root of a long number takes long, while its residues are cheap: modulo a prime of the form
/// k * degree + 1, only one in `degree` residues is a power.
fn may_be_power(value: &UBig, degree: u64) -> bool {
    const BITS_WORTH_TESTING: usize = 1 << 13;
    const PRIMES_TRIED: usize = 48;
    if value.bit_len() < BITS_WORTH_TESTING {
        return true;
    }
    let primes = (1..)
        .map_while(|factor: u64| factor.checked_mul(degree)?.checked_add(1))
        .take_while(|candidate| *candidate < 1 << 32)
        .filter(|candidate| is_prime(*candidate));
    primes.take(PRIMES_TRIED).all(|prime| {
        let residue = value % prime;
        residue == 0 || power_modulo(residue, (prime - 1) / degree, prime) == 1
    })
}

fn is_prime(candidate: u64) -> bool {
    candidate > 1
        && (2..)
            .take_while(|divisor| divisor * divisor <= candidate)
            .all(|divisor| !candidate.is_multiple_of(divisor))
}

/// A power modulo a number of at most 32 bits.
fn power_modulo(base: u64, exponent: u64, modulus: u64) -> u64 {
    let (mut power, mut factor, mut rest) = (1, base % modulus, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            power = power * factor % modulus;
        }
        factor = factor * factor % modulus;
        rest >>= 1;
    }
    power
}
