//! The one place where this crate meets the numeric tower: parsing, printing and `eqv?`.

pub use canny_number::{Number, NumberError};

/// Parses the text of a number token. `Ok(None)` when it is not a number; an error when it is one
/// by its form but has no value, such as `1/0`.
pub fn parse(text: &str, radix: u32) -> Result<Option<Number>, NumberError> {
    canny_number::parse_number(text, radix)
}

/// The text that reads back as the number.
pub fn print(number: &Number) -> String {
    canny_number::write_number(number, 10)
}

/// Whether two literals are the same number in the sense of `eqv?`.
pub fn equivalent(left: &Number, right: &Number) -> bool {
    canny_number::eqv(left, right)
}

/// The number as a small exact integer.
pub fn as_integer(number: &Number) -> Option<i64> {
    number.to_i64()
}

/// An exact integer literal.
pub fn integer(value: i64) -> Number {
    Number::Fixnum(value)
}

/// Tokens made like a number of digits alone that are none (`1/0`, `1.2.3`), surely slips.
pub(crate) fn is_malformed(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_ascii_digit() || matches!(character, '.' | '/'))
}
