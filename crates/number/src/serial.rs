//! The stored form of numbers.
//!
//! Stored numbers may come from a damaged or hostile file, so that they go through the same
//! normalisation as any other result; an ill-formed complex number is refused. Flonums are stored
//! as bits, since some formats have no infinities.

use crate::complex::make_rectangular;
use crate::number::Number;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) enum Stored {
    Fixnum(i64),
    /// Two's complement, least significant byte first.
    Big(Vec<u8>),
    /// Numerator as a big integer, denominator as an unsigned magnitude.
    Ratio(Vec<u8>, Vec<u8>),
    Flonum(u64),
    Complex(Box<(Number, Number)>),
}

impl From<Number> for Stored {
    fn from(number: Number) -> Stored {
        match number {
            Number::Fixnum(value) => Stored::Fixnum(value),
            Number::Big(value) => Stored::Big(value.to_le_bytes().into_vec()),
            Number::Ratio(value) => Stored::Ratio(
                value.numerator().to_le_bytes().into_vec(),
                value.denominator().to_le_bytes().into_vec(),
            ),
            Number::Flonum(value) => Stored::Flonum(value.to_bits()),
            Number::Complex(parts) => Stored::Complex(parts),
        }
    }
}

impl TryFrom<Stored> for Number {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Number, &'static str> {
        match stored {
            Stored::Fixnum(value) => Ok(Number::Fixnum(value)),
            Stored::Big(bytes) => Ok(Number::from_integer(IBig::from_le_bytes(&bytes))),
            Stored::Ratio(numerator, denominator) => {
                let denominator = UBig::from_le_bytes(&denominator);
                if denominator.is_zero() {
                    return Err("stored ratio has a zero denominator");
                }
                let numerator = IBig::from_le_bytes(&numerator);
                Ok(Number::from_ratio(RBig::from_parts(numerator, denominator)))
            }
            Stored::Flonum(bits) => Ok(Number::Flonum(f64::from_bits(bits))),
            Stored::Complex(parts) => make_rectangular(&parts.0, &parts.1)
                .map_err(|_| "stored complex number has a part that is not real"),
        }
    }
}
