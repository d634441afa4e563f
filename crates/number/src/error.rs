//! The one error type of the crate.
//!
//! A variant names what was wrong and carries the offending value, so that the machine can put it
//! among a condition's irritants. The caller knows which procedure was running; this crate does
//! not.

use crate::number::Number;
use std::fmt;

/// Why a numerical operation, or the reading of a number, has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberError {
    /// A division whose divisor is an exact zero, or any integer division by zero; also a
    /// literal such as `1/0`.
    DivisionByZero,
    /// The operation wants a real number.
    NotReal(Number),
    /// The operation wants a rational number: not complex, not infinite, not a NaN.
    NotRational(Number),
    /// The operation wants an integer (`3.0` is one).
    NotInteger(Number),
    /// The operation wants an exact integer.
    NotExactInteger(Number),
    /// The operation wants an exact integer that is not negative.
    NotExactNonnegativeInteger(Number),
    /// An infinity or a NaN has no exact counterpart.
    NoExactValue(Number),
    /// The operation is not defined for this argument: `(log 0)`, `(atan 0 0)`, `(atan +i)`.
    Undefined(Number),
    /// The exact result would need about this many bits, more than the implementation's limit.
    TooLarge {
        /// An estimate of the size of the refused result, in bits.
        bits: u64,
    },
    /// A radix outside 2 to 36.
    BadRadix(u32),
}

impl fmt::Display for NumberError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberError::DivisionByZero => write!(out, "division by zero"),
            NumberError::NotReal(value) => write!(out, "not a real number: {value}"),
            NumberError::NotRational(value) => write!(out, "not a rational number: {value}"),
            NumberError::NotInteger(value) => write!(out, "not an integer: {value}"),
            NumberError::NotExactInteger(value) => write!(out, "not an exact integer: {value}"),
            NumberError::NotExactNonnegativeInteger(value) => {
                write!(out, "not an exact nonnegative integer: {value}")
            }
            NumberError::NoExactValue(value) => write!(out, "no exact value: {value}"),
            NumberError::Undefined(value) => write!(out, "undefined for this argument: {value}"),
            NumberError::TooLarge { bits } => {
                write!(out, "exact result too large: about {bits} bits")
            }
            NumberError::BadRadix(radix) => write!(out, "radix not between 2 and 36: {radix}"),
        }
    }
}

impl std::error::Error for NumberError {}
