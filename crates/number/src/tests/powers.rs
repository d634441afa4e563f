use super::{check_binary, check_near, check_unary, number};
use crate::*;

#[test]
fn integer_square_roots() {
    let row = |text: &str| {
        let (root, rest) = exact_integer_sqrt(&number(text)).unwrap();
        (root.to_string(), rest.to_string())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(row("0"), pair("0", "0"));
    assert_eq!(row("17"), pair("4", "1"));
    assert_eq!(row("9223372036854775807"), pair("3037000499", "5928526806"));
    assert_eq!(
        row("10000000000000000000000000000000000000000"),
        pair("100000000000000000000", "0")
    );
    for bad in ["-1", "1.0", "1/2", "+i", "-100000000000000000000"] {
        assert!(exact_integer_sqrt(&number(bad)).is_err());
    }
}

#[test]
fn square_roots() {
    check_unary(
        sqrt,
        &[
            ("0", "0"),
            ("16", "4"),
            ("-4", "+2i"),
            ("1/4", "1/2"),
            ("-9/16", "+3/4i"),
            ("2", "1.4142135623730951"),
            ("16.0", "4.0"),
            ("-4.0", "0.0+2.0i"),
            ("-0.0", "-0.0"),
            ("-2", "0.0+1.4142135623730951i"),
            ("+nan.0", "+nan.0"),
            ("+inf.0", "+inf.0"),
            ("-inf.0", "0.0+inf.0i"),
            ("3+4i", "2+i"),
            ("3-4i", "2-i"),
            ("-3+4i", "1+2i"),
            ("+2i", "1+i"),
            ("-1.0+0.0i", "0.0+1.0i"),
            ("-1.0-0.0i", "0.0+1.0i"),
        ],
    );
    let huge = format!("1{}1", "0".repeat(799));
    check_unary(sqrt, &[(&huge, "+inf.0")]);
    let large = format!("1{}1", "0".repeat(399));
    check_unary(sqrt, &[(&large, "1.0e+200")]);
    let square = format!("1{}", "0".repeat(800));
    check_unary(sqrt, &[(&square, &format!("1{}", "0".repeat(400)))]);
    let small = format!("1/1{}1", "0".repeat(399));
    check_unary(sqrt, &[(&small, "1.0e-200")]);
    check_near(
        sqrt(&number("1+2i")),
        "1.272019649514069+0.7861513777574233i",
    );
    check_near(
        sqrt(&number("1e308+1e308i")),
        "1.0986841134678098e154+4.5508986056222734e153i",
    );
    check_near(sqrt(&number("-1e308-1e-308i")), "0.0-1e154i");
}

#[test]
fn exact_powers() {
    let two_hundred = "1606938044258990275541962092341162602522202993782792835301376";
    check_binary(
        expt,
        &[
            ("3", "3", "27"),
            ("0", "0", "1"),
            ("0", "5", "0"),
            ("1", "100000000000000000000", "1"),
            ("-1", "100000000000000000000", "1"),
            ("-1", "100000000000000000001", "-1"),
            ("-1", "-3", "-1"),
            ("2", "200", two_hundred),
            ("2", "-2", "1/4"),
            ("-2", "-3", "-1/8"),
            ("-2/3", "3", "-8/27"),
            ("-2/3", "-3", "-27/8"),
            (
                "100000000000000000000",
                "2",
                "10000000000000000000000000000000000000000",
            ),
            ("+i", "2", "-1"),
            ("+i", "100000000000000000001", "+i"),
            ("+i", "-1", "-i"),
            ("1+i", "4", "-4"),
            ("1+i", "-2", "-1/2i"),
            ("1/2+1/2i", "2", "+1/2i"),
            ("4", "1/2", "2"),
            ("4", "-1/2", "1/2"),
            ("8/27", "2/3", "4/9"),
            ("-4", "1/2", "+2i"),
            ("0", "1/2", "0"),
            ("1", "1/3", "1"),
        ],
    );
}

/// Roots of numbers so long that most are distinguished from powers by their residues.
#[test]
fn exact_roots_of_long_numbers() {
    let base = number(&"123456789".repeat(200));
    for degree in [3, 5, 12] {
        let raised = expt(&base, &Number::Fixnum(degree)).unwrap();
        let exponent = div(&Number::ONE, &Number::Fixnum(degree)).unwrap();
        assert_eq!(expt(&raised, &exponent), Ok(base.clone()));
        let inexact = expt(&increment(&raised).unwrap(), &exponent).unwrap();
        assert_eq!(inexact, Number::Flonum(f64::INFINITY));
    }
    let raised = expt(&number("7"), &number("10001")).unwrap();
    assert_eq!(expt(&raised, &number("1/10001")), Ok(number("7")));
    check_near(
        expt(&decrement(&raised).unwrap(), &number("1/10001")),
        "7.0",
    );
}

#[test]
fn inexact_powers() {
    check_binary(
        expt,
        &[
            ("0.0", "0", "1.0"),
            ("0", "1.0", "0.0"),
            ("0", "0.0", "1.0"),
            ("0.0", "0.0", "1.0"),
            ("0.0", "-1", "+inf.0"),
            ("-0.0", "-1", "-inf.0"),
            ("-0.0", "3", "-0.0"),
            ("2.0", "10", "1024.0"),
            ("-2.0", "3", "-8.0"),
            ("2", "0.5", "1.4142135623730951"),
            ("2.0", "-1", "0.5"),
            ("1", "+inf.0", "1.0"),
            ("-8.0", "2.0", "64.0"),
            ("+nan.0", "0", "1.0"),
            ("1.5+2.0i", "0", "1.0"),
            ("1.0+1.0i", "4", "-4.0+0.0i"),
            ("-1.0", "9007199254740993", "-1.0"),
            ("0.0", "1.0+1.0i", "0.0"),
        ],
    );
    check_near(expt(&number("2"), &number("1/3")), "1.2599210498948732");
    check_near(
        expt(&number("-8"), &number("1/3")),
        "1.0+1.7320508075688772i",
    );
    check_near(
        expt(&number("-8.0"), &number("0.5")),
        "0.0+2.8284271247461903i",
    );
    check_near(
        expt(&number("+i"), &number("+i")),
        "0.20787957635076193+0.0i",
    );
    check_near(
        expt(&number("2"), &number("+i")),
        "0.7692389013639721+0.6389612763136348i",
    );
    let big = number(&format!("1{}", "0".repeat(400)));
    check_near(expt(&big, &number("0.5")), "1.0e+200");
    check_near(expt(&negate(&big), &number("-1.0")), "0.0");
    check_near(
        expt(&div(&number("1"), &big).unwrap(), &number("-0.25")),
        "1e100",
    );
}

#[test]
fn refused_powers() {
    assert_eq!(
        expt(&number("0"), &number("-1")),
        Err(NumberError::DivisionByZero)
    );
    assert_eq!(
        expt(&number("0"), &number("-1/2")),
        Err(NumberError::DivisionByZero)
    );
    assert!(expt(&number("0"), &number("+i")).is_err());
    for (base, exponent) in [
        ("2", "100000000000"),
        ("2", "-100000000000"),
        ("3", "100000000000000000000"),
        ("1/2", "100000000000"),
        ("1+i", "100000000000"),
        ("3/5+4/5i", "100000000000"),
    ] {
        let result = expt(&number(base), &number(exponent));
        assert!(
            matches!(result, Err(NumberError::TooLarge { .. })),
            "{base} {exponent}"
        );
    }
}
