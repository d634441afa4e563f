//! The one place where this crate meets the numeric tower: parsing, printing and `eqv?`.

pub use canny_number::Number;

/// Parses the text of a number token; `None` when it is not a number, or none that can be represented
/// (division by exact zero, absurd exponents of exact decimals).
pub fn parse(text: &str, radix: u32) -> Option<Number> {
    canny_number::parse_number(text, radix).ok().flatten()
}

/// The text that reads back as the number.
pub fn print(number: &Number) -> String {
    canny_number::write_number(number, 10)
}

/// Whether two literals are the same number in the sense of `eqv?`.
pub fn equivalent(left: &Number, right: &Number) -> bool {
    left == right
}

/// The number as a small exact integer.
pub fn as_integer(number: &Number) -> Option<i64> {
    number.to_i64()
}

/// An exact integer literal.
pub fn integer(value: i64) -> Number {
    Number::Fixnum(value)
}
