//! Hashing for tables keyed by numbers.
//!
//! The two functions are deterministic: they do not change from run to run. A table that must
//! withstand chosen keys mixes a seed into the result.

use crate::convert::flonum_to_exact;
use crate::number::Number;
use crate::predicates::is_zero;
use dashu_int::UBig;
use std::hash::{Hash, Hasher};

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(hash_by_eqv(self));
    }
}

/// One round of multiply-and-fold mixing.
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product as u64) ^ (product >> 64) as u64
}

fn mix_words(state: u64, words: &[u64]) -> u64 {
    words
        .iter()
        .fold(mix(state, words.len() as u64), |state, word| {
            mix(state, *word)
        })
}

fn mix_magnitude(state: u64, magnitude: &UBig) -> u64 {
    mix_words(state, magnitude.as_words())
}

/// A hash that agrees for numbers that are `eqv?`.
pub fn hash_by_eqv(value: &Number) -> u64 {
    match value {
        Number::Fixnum(small) => mix(1, *small as u64),
        Number::Big(big) => {
            let (sign, words) = big.as_sign_words();
            mix_words(2 + sign as u64, words)
        }
        Number::Ratio(ratio) => {
            let (sign, words) = ratio.numerator().as_sign_words();
            mix_magnitude(mix_words(4 + sign as u64, words), ratio.denominator())
        }
        Number::Flonum(flonum) if flonum.is_nan() => mix(6, 0),
        Number::Flonum(flonum) => mix(7, flonum.to_bits()),
        Number::Complex(parts) => mix(hash_by_eqv(&parts.0), hash_by_eqv(&parts.1)),
    }
}

/// A hash that agrees for numbers that are `=`, whatever their exactness.
pub fn hash_by_value(value: &Number) -> u64 {
    match value {
        Number::Flonum(flonum) if flonum.is_finite() => hash_by_eqv(&flonum_to_exact(*flonum)),
        Number::Complex(parts) if is_zero(&parts.1) => hash_by_value(&parts.0),
        Number::Complex(parts) => mix(hash_by_value(&parts.0), hash_by_value(&parts.1)),
        other => hash_by_eqv(other),
    }
}
