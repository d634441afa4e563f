use super::{check_binary, number};
use crate::*;

const KINDS: [Division; 6] = [
    Division::Floor,
    Division::Ceiling,
    Division::Truncate,
    Division::Round,
    Division::Euclidean,
    Division::Balanced,
];

/// Dividend, divisor, and quotient and remainder by each of [`KINDS`].
type Row = (i64, i64, [(i64, i64); 6]);

/// Quotients and remainders of 5, -5 … by each rule, worked out by hand from the definitions.
#[test]
fn six_roundings() {
    let rows: &[Row] = &[
        (5, 2, [(2, 1), (3, -1), (2, 1), (2, 1), (2, 1), (3, -1)]),
        (
            -5,
            2,
            [(-3, 1), (-2, -1), (-2, -1), (-2, -1), (-3, 1), (-2, -1)],
        ),
        (
            5,
            -2,
            [(-3, -1), (-2, 1), (-2, 1), (-2, 1), (-2, 1), (-3, -1)],
        ),
        (-5, -2, [(2, -1), (3, 1), (2, -1), (2, -1), (3, 1), (2, -1)]),
        (7, 4, [(1, 3), (2, -1), (1, 3), (2, -1), (1, 3), (2, -1)]),
        (6, 4, [(1, 2), (2, -2), (1, 2), (2, -2), (1, 2), (2, -2)]),
        (
            -6,
            4,
            [(-2, 2), (-1, -2), (-1, -2), (-2, 2), (-2, 2), (-1, -2)],
        ),
        (6, 3, [(2, 0); 6]),
    ];
    let big = number("1000000000000000000000000000000");
    for (dividend, divisor, expected) in rows {
        for (kind, (quotient, remainder)) in KINDS.iter().zip(expected) {
            let (x, y) = (Number::Fixnum(*dividend), Number::Fixnum(*divisor));
            let wanted = (Number::Fixnum(*quotient), Number::Fixnum(*remainder));
            assert_eq!(
                divide(*kind, &x, &y),
                Ok(wanted.clone()),
                "{kind:?} {dividend} {divisor}"
            );
            // Scaled, the same division goes through big integers.
            let scaled = divide(*kind, &mul(&x, &big).unwrap(), &mul(&y, &big).unwrap());
            assert_eq!(
                scaled,
                Ok((wanted.0.clone(), mul(&wanted.1, &big).unwrap()))
            );
            let flonums = divide(*kind, &inexact(&x), &y);
            assert_eq!(flonums, Ok((inexact(&wanted.0), inexact(&wanted.1))));
        }
    }
}

#[test]
fn common_divisions() {
    check_binary(
        quotient,
        &[
            ("-9223372036854775808", "-1", "9223372036854775808"),
            ("7.0", "2", "3.0"),
            ("1e300", "7", "1.4285714285714286e+299"),
            ("-1073741824", "-1", "1073741824"),
        ],
    );
    check_binary(
        remainder,
        &[
            ("-13", "4", "-1"),
            ("-13", "-4.0", "-1.0"),
            ("-9223372036854775808", "-1", "0"),
        ],
    );
    check_binary(
        modulo,
        &[
            ("-13", "4", "3"),
            ("13", "-4", "-3"),
            ("-13", "-4", "-1"),
            ("1e300", "7", "1.0"),
            ("-100000000000000000000", "7", "5"),
        ],
    );
}

#[test]
fn refused_operands() {
    for zero in ["0", "0.0", "-0.0"] {
        assert_eq!(
            quotient(&number("1"), &number(zero)),
            Err(NumberError::DivisionByZero)
        );
        assert_eq!(
            modulo(&number("1.0"), &number(zero)),
            Err(NumberError::DivisionByZero)
        );
    }
    for bad in ["1/2", "1.5", "+inf.0", "+nan.0", "1+i"] {
        let wanted = NumberError::NotInteger(number(bad));
        assert_eq!(quotient(&number(bad), &number("2")), Err(wanted.clone()));
        assert_eq!(modulo(&number("2"), &number(bad)), Err(wanted.clone()));
        assert_eq!(gcd(&number("2"), &number(bad)), Err(wanted));
    }
}

#[test]
fn common_divisors_and_multiples() {
    check_binary(
        gcd,
        &[
            ("32", "-36", "4"),
            ("0", "0", "0"),
            ("0", "-5", "5"),
            ("-9223372036854775808", "0", "9223372036854775808"),
            ("32.0", "-36", "4.0"),
            ("100000000000000000000", "75", "25"),
        ],
    );
    check_binary(
        lcm,
        &[
            ("32", "-36", "288"),
            ("32.0", "-36", "288.0"),
            ("0", "5", "0"),
            ("18446744073709551616", "-24", "55340232221128654848"),
        ],
    );
}
