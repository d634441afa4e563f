//! The one place where this crate meets the numeric tower: parsing, printing and `eqv?`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number literal.
#[derive(Clone, PartialEq)]
pub enum Number {
    /// An exact integer.
    Fixnum(i64),
    /// An inexact real.
    Flonum(f64),
}

/// Parses the text of a number token; `None` when it is not a number.
pub fn parse(text: &str, radix: u32) -> Option<Number> {
    if let Ok(integer) = i64::from_str_radix(text, radix) {
        return Some(Number::Fixnum(integer));
    }
    if text.contains(|character: char| character.is_ascii_digit()) && radix == 10 {
        return text.parse::<f64>().ok().map(Number::Flonum);
    }
    None
}

/// The text that reads back as the number.
pub fn print(number: &Number) -> String {
    match number {
        Number::Fixnum(integer) => integer.to_string(),
        Number::Flonum(real) => format!("{real:?}"),
    }
}

/// Whether two literals are the same number in the sense of `eqv?`.
pub fn equivalent(left: &Number, right: &Number) -> bool {
    left == right
}

/// The number as a small exact integer.
pub fn as_integer(number: &Number) -> Option<i64> {
    match number {
        Number::Fixnum(integer) => Some(*integer),
        Number::Flonum(_) => None,
    }
}

/// An exact integer literal.
pub fn integer(value: i64) -> Number {
    Number::Fixnum(value)
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&print(self))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&print(self))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text, 10).ok_or_else(|| serde::de::Error::custom("not a number"))
    }
}
