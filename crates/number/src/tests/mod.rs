//! Tests of the whole crate through its public interface, by topic.
//!
//! The helpers here let a test be written as a table of Scheme literals.

mod arithmetic;
mod bitwise;
mod comparison;
mod complex;
mod conversion;
mod division;
mod powers;
mod properties;
mod reading;
mod transcendental;
mod writing;

use crate::{Number, NumberError, parse_number, write_number};

/// Reads a literal that must be a number.
fn number(text: &str) -> Number {
    match parse_number(text, 10) {
        Ok(Some(number)) => number,
        other => panic!("{text:?} reads as {other:?}"),
    }
}

/// Checks that a result, written in radix 10, is the expected text.
#[track_caller]
fn check(actual: Result<Number, NumberError>, expected: &str) {
    let actual = actual.map(|number| write_number(&number, 10));
    assert_eq!(actual.as_deref(), Ok(expected));
}

/// Checks a table of operations with one operand.
#[track_caller]
fn check_unary(operation: fn(&Number) -> Result<Number, NumberError>, rows: &[(&str, &str)]) {
    for (operand, expected) in rows {
        let actual = operation(&number(operand)).map(|number| write_number(&number, 10));
        assert_eq!(actual.as_deref(), Ok(*expected), "operand {operand}");
    }
}

/// Checks a table of operations with two operands.
#[track_caller]
fn check_binary(
    operation: fn(&Number, &Number) -> Result<Number, NumberError>,
    rows: &[(&str, &str, &str)],
) {
    for (left, right, expected) in rows {
        let actual =
            operation(&number(left), &number(right)).map(|number| write_number(&number, 10));
        assert_eq!(actual.as_deref(), Ok(*expected), "operands {left} {right}");
    }
}

/// Checks that two inexact results agree to about 14 digits in each part.
#[track_caller]
fn check_near(actual: Result<Number, NumberError>, expected: &str) {
    let actual = actual.unwrap_or_else(|error| panic!("{error} instead of {expected}"));
    let parts = |value: &Number| {
        let part = |value: &Number| crate::to_f64(value).unwrap_or(f64::NAN);
        (
            part(&crate::real_part(value)),
            part(&crate::imag_part(value)),
        )
    };
    let ((a, b), (c, d)) = (parts(&actual), parts(&number(expected)));
    let near = |x: f64, y: f64| x == y || (x - y).abs() <= 4e-14 * y.abs().max(1e-2);
    assert!(near(a, c) && near(b, d), "{actual} instead of {expected}");
}
