//! The numeric tower on plain Rust values: reading, printing, arithmetic.
//!
//! This crate owns the meaning of every number in the language: how it is read and written, what
//! each R7RS numerical operation yields, and when two numbers are the same. It knows nothing of
//! tagged words, the heap or conditions; the machine converts its values to [`Number`] for every
//! operation that it does not do itself, and turns a [`NumberError`] into a condition object.
//!
//! Invariants, upheld by every public function (see [`Number`] for the representation):
//! - results are normalised: no big integer that fits an `i64`, no ratio with denominator one,
//!   no complex number whose imaginary part is an exact zero;
//! - both parts of a complex number are real and of the same exactness;
//! - no operation panics, and none starts work whose exact result would exceed
//!   [`EXACT_BITS_MAX`]: such operations yield [`NumberError::TooLarge`].
//!
//! An exact zero does not absorb flonums: `(* 0 1.5)` is `0.0`, so that the type of a product
//! depends on the types of its operands alone.

#![forbid(unsafe_code)]

mod arithmetic;
mod bitwise;
mod compare;
mod complex;
mod complex_flonum;
mod convert;
mod division;
pub mod elements;
mod error;
mod exactness;
mod expt;
mod hash;
pub mod integers;
mod limbs;
mod log_base;
mod number;
mod polar;
mod predicates;
mod rational;
mod read;
mod roots;
mod rounding;
mod serial;
pub mod short_ratio;
mod transcendental;
mod write;

#[cfg(test)]
mod tests;

pub use dashu_int::{IBig, UBig};
pub use dashu_ratio::RBig;

pub use arithmetic::{
    abs, add, add_fixnums, decrement, div, increment, mul, mul_fixnums, negate, square, sub,
    sub_fixnums,
};
pub use bitwise::{
    arithmetic_shift, bit_count, bit_set, bitwise_and, bitwise_not, bitwise_or, bitwise_xor,
    first_set_bit, integer_length,
};
pub use compare::{
    compare, eqv, greater, greater_or_equal, less, less_or_equal, max, min, numeric_equal,
};
pub use complex::{imag_part, make_rectangular, real_part};
pub use complex_flonum::divide_complex;
pub use convert::to_f64;
pub use division::{
    Division, divide, divide_quotient, divide_remainder, gcd, lcm, modulo, quotient, remainder,
};
pub use error::NumberError;
pub use exactness::{exact, inexact};
pub use expt::expt;
pub use hash::{hash_by_eqv, hash_by_value};
pub use log_base::log_base;
pub use number::{EXACT_BITS_MAX, Number};
pub use polar::{angle, magnitude, make_polar};
pub use predicates::{
    is_complex, is_even, is_exact, is_exact_integer, is_exact_nonnegative_integer,
    is_exact_rational, is_finite, is_inexact, is_infinite, is_integer, is_nan, is_negative, is_odd,
    is_positive, is_rational, is_real, is_zero,
};
pub use rational::{denominator, numerator, rationalize, rationalize_quickly};
pub use read::{READ_EXPONENT_MAX, parse_flonum, parse_number};
pub use roots::{exact_integer_sqrt, sqrt};
pub use rounding::{ceiling, floor, round, truncate};
pub use transcendental::{acos, asin, atan, atan2, cos, exp, log, sin, tan};
pub use write::{flonum_to_string, write_number};
