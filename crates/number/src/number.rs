//! The representation of numbers, and its normalisation.
//!
//! ```text
//!   Fixnum(i64)     every exact integer that fits an i64
//!   Big(IBig)       every other exact integer
//!   Ratio(RBig)     an exact ratio in lowest terms, denominator at least 2
//!   Flonum(f64)     any f64; the sign and payload of a NaN have no meaning
//!   Complex(a, b)   a+bi; both exact (b not 0) or both flonums
//! ```
//!
//! The machine's fixnums are narrower than 64 bits: it makes its own choice between a fixnum and a
//! bignum object when it stores a [`Number::Fixnum`].

use dashu_base::{BitTest, Sign};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// No operation makes an exact integer of more than about this many bits (128 MiB).
pub const EXACT_BITS_MAX: u64 = 1 << 30;

/// A number of any kind. `==` is `eqv?`: exactness matters, `0.0` differs from `-0.0`, and all
/// NaNs are the same; see [`crate::numeric_equal`] for `=`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "crate::serial::Stored", into = "crate::serial::Stored")]
pub enum Number {
    /// An exact integer that fits 64 bits.
    Fixnum(i64),
    /// An exact integer that does not fit 64 bits.
    Big(IBig),
    /// An exact number that is not an integer.
    Ratio(RBig),
    /// An inexact real number.
    Flonum(f64),
    /// Real and imaginary part.
    Complex(Box<(Number, Number)>),
}

const _: () = assert!(
    size_of::<dashu_int::Word>() == 8,
    "limbs are 64 bits wide on every supported machine"
);

impl Number {
    /// Exact zero.
    pub const ZERO: Number = Number::Fixnum(0);
    /// Exact one.
    pub const ONE: Number = Number::Fixnum(1);

    /// The number for an exact integer of any size.
    pub fn from_integer(value: IBig) -> Number {
        match i64::try_from(&value) {
            Ok(small) => Number::Fixnum(small),
            Err(_) => Number::Big(value),
        }
    }

    /// The number for an exact ratio, which may be an integer.
    pub fn from_ratio(value: RBig) -> Number {
        if value.is_int() {
            Number::from_integer(value.into_parts().0)
        } else {
            Number::Ratio(value)
        }
    }

    /// The number for a machine integer of 128 bits.
    pub fn from_i128(value: i128) -> Number {
        match i64::try_from(value) {
            Ok(small) => Number::Fixnum(small),
            Err(_) => Number::Big(IBig::from(value)),
        }
    }

    /// An exact integer from its sign and its magnitude in 64-bit limbs, least significant first.
    /// Leading zero limbs are allowed.
    pub fn from_limbs(negative: bool, limbs: &[u64]) -> Number {
        let sign = if negative {
            Sign::Negative
        } else {
            Sign::Positive
        };
        Number::from_integer(IBig::from_parts(sign, UBig::from_words(limbs)))
    }

    /// Sign and magnitude of a [`Number::Big`], as [`Number::from_limbs`] takes them; `None` for
    /// every other kind.
    pub fn limbs(&self) -> Option<(bool, &[u64])> {
        match self {
            Number::Big(value) => {
                let (sign, words) = value.as_sign_words();
                Some((sign == Sign::Negative, words))
            }
            _ => None,
        }
    }

    /// Words of 64 bits that the integers of an exact number take, at least one.
    pub fn words(&self) -> usize {
        match self {
            Number::Fixnum(_) | Number::Flonum(_) => 1,
            Number::Big(value) => value.as_sign_words().1.len(),
            Number::Ratio(ratio) => {
                let numerator = ratio.numerator().as_sign_words().1;
                numerator.len() + ratio.denominator().as_words().len()
            }
            Number::Complex(parts) => parts.0.words() + parts.1.words(),
        }
    }

    /// The value of an exact integer.
    pub fn to_integer(&self) -> Option<Cow<'_, IBig>> {
        match self {
            Number::Fixnum(value) => Some(Cow::Owned(IBig::from(*value))),
            Number::Big(value) => Some(Cow::Borrowed(value)),
            _ => None,
        }
    }

    /// The value of an exact real number.
    pub fn to_ratio(&self) -> Option<Cow<'_, RBig>> {
        match self {
            Number::Fixnum(value) => Some(Cow::Owned(RBig::from(IBig::from(*value)))),
            Number::Big(value) => Some(Cow::Owned(RBig::from(value.clone()))),
            Number::Ratio(value) => Some(Cow::Borrowed(value)),
            _ => None,
        }
    }

    /// The value of an exact integer that fits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Number::Fixnum(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the number is the exact zero (not `0.0`).
    pub fn is_exact_zero(&self) -> bool {
        matches!(self, Number::Fixnum(0))
    }

    /// Whether the number is the exact one.
    pub fn is_exact_one(&self) -> bool {
        matches!(self, Number::Fixnum(1))
    }

    /// The size of an exact real number in bits: of the larger of numerator and denominator;
    /// zero for other numbers.
    pub(crate) fn exact_bits(&self) -> u64 {
        match self {
            Number::Fixnum(value) => u64::from(64 - value.unsigned_abs().leading_zeros()),
            Number::Big(value) => value.bit_len() as u64,
            Number::Ratio(value) => value
                .numerator()
                .bit_len()
                .max(value.denominator().bit_len()) as u64,
            Number::Flonum(_) | Number::Complex(_) => 0,
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::Fixnum(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::from_i128(i128::from(value))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::Flonum(value)
    }
}

impl From<IBig> for Number {
    fn from(value: IBig) -> Number {
        Number::from_integer(value)
    }
}

impl From<RBig> for Number {
    fn from(value: RBig) -> Number {
        Number::from_ratio(value)
    }
}
