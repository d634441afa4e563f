use super::number;
use crate::*;
use std::cmp::Ordering;

#[test]
fn exact_against_inexact() {
    let rows = [
        ("1", "1.0", Some(Ordering::Equal)),
        (
            "9007199254740993",
            "9007199254740992.0",
            Some(Ordering::Greater),
        ),
        (
            "-9007199254740993",
            "-9007199254740992.0",
            Some(Ordering::Less),
        ),
        (
            "9223372036854775807",
            "9223372036854775808.0",
            Some(Ordering::Less),
        ),
        (
            "-9223372036854775808",
            "-9223372036854775808.0",
            Some(Ordering::Equal),
        ),
        (
            "9223372036854775808",
            "9223372036854775808.0",
            Some(Ordering::Equal),
        ),
        ("1/3", ".3333333333333333", Some(Ordering::Greater)),
        ("1/2", ".5", Some(Ordering::Equal)),
        ("0", "5e-324", Some(Ordering::Less)),
        ("0", "-5e-324", Some(Ordering::Greater)),
        ("-1", "-1.5", Some(Ordering::Greater)),
        ("0", "-0.0", Some(Ordering::Equal)),
        ("100000000000000000000000", "+inf.0", Some(Ordering::Less)),
        ("1/3", "-inf.0", Some(Ordering::Greater)),
        ("1", "+nan.0", None),
        ("1/3", "+nan.0", None),
        ("100000000000000000000000", "+nan.0", None),
    ];
    for (left, right, expected) in rows {
        let (x, y) = (number(left), number(right));
        assert_eq!(compare(&x, &y), Ok(expected), "{left} {right}");
        assert_eq!(
            compare(&y, &x),
            Ok(expected.map(Ordering::reverse)),
            "{right} {left}"
        );
        assert_eq!(numeric_equal(&x, &y), expected == Some(Ordering::Equal));
    }
}

#[test]
fn huge_neighbours_of_a_flonum() {
    let middle = expt(&number("2"), &number("1000")).unwrap();
    let flonum = inexact(&middle);
    assert!(numeric_equal(&middle, &flonum));
    assert_eq!(less(&decrement(&middle).unwrap(), &flonum), Ok(true));
    assert_eq!(greater(&increment(&middle).unwrap(), &flonum), Ok(true));
    let beyond = expt(&number("10"), &number("400")).unwrap();
    assert_eq!(less(&Number::Flonum(f64::MAX), &beyond), Ok(true));
    assert_eq!(less(&beyond, &Number::Flonum(f64::INFINITY)), Ok(true));
}

#[test]
fn complex_equality() {
    assert!(numeric_equal(&number("1"), &number("1.0+0.0i")));
    assert!(numeric_equal(&number("1+2i"), &number("1.0+2.0i")));
    assert!(!numeric_equal(&number("1.0"), &number("1.0+1.0i")));
    assert!(!numeric_equal(
        &number("+nan.0+0.0i"),
        &number("+nan.0+0.0i")
    ));
    assert_eq!(
        less(&number("+i"), &number("1")),
        Err(NumberError::NotReal(number("+i")))
    );
    assert_eq!(
        less(&number("1"), &number("+i")),
        Err(NumberError::NotReal(number("+i")))
    );
}

#[test]
fn equivalence_and_hashes() {
    let same = [
        ("1", "1"),
        ("+nan.0", "-nan.0"),
        ("1.5+2.0i", "1.5+2i"),
        ("2/4", "1/2"),
    ];
    for (left, right) in same {
        assert!(eqv(&number(left), &number(right)));
        assert_eq!(hash_by_eqv(&number(left)), hash_by_eqv(&number(right)));
    }
    for (left, right) in [
        ("1", "1.0"),
        ("0.0", "-0.0"),
        ("1/2", "0.5"),
        ("1", "1.0+0.0i"),
    ] {
        assert!(!eqv(&number(left), &number(right)));
    }
    let equal = [
        ("1", "1.0"),
        ("0.0", "-0.0"),
        ("1/2", "0.5"),
        ("1", "1.0+0.0i"),
        ("1+2i", "1.0+2.0i"),
        ("100000000000000000000", "1e20"),
        ("9223372036854775808", "9223372036854775808.0"),
    ];
    for (left, right) in equal {
        assert!(numeric_equal(&number(left), &number(right)));
        assert_eq!(
            hash_by_value(&number(left)),
            hash_by_value(&number(right)),
            "{left} {right}"
        );
    }
}

#[test]
fn extremes() {
    let text = |value: Result<Number, NumberError>| value.unwrap().to_string();
    assert_eq!(text(max(&number("3.9"), &number("4"))), "4.0");
    assert_eq!(text(min(&number("3"), &number("3.1"))), "3.0");
    assert_eq!(text(max(&number("1/2"), &number("1/3"))), "1/2");
    assert_eq!(text(max(&number("1"), &number("+nan.0"))), "+nan.0");
    assert_eq!(text(min(&number("+nan.0"), &number("1"))), "+nan.0");
    assert!(max(&number("1"), &number("+i")).is_err());
}

#[test]
fn classes() {
    let row = |text: &str| {
        let value = number(text);
        [
            is_real(&value),
            is_rational(&value),
            is_integer(&value),
            is_exact(&value),
        ]
    };
    assert_eq!(row("3"), [true, true, true, true]);
    assert_eq!(row("6/10"), [true, true, false, true]);
    assert_eq!(row("3.0"), [true, true, true, false]);
    assert_eq!(row("3.5"), [true, true, false, false]);
    assert_eq!(row("+inf.0"), [true, false, false, false]);
    assert_eq!(row("+nan.0"), [true, false, false, false]);
    assert_eq!(row("1+2i"), [false, false, false, true]);
    assert_eq!(row("-2.5+0.0i"), [false, false, false, false]);
    assert_eq!(row("-2.5+0i"), [true, true, false, false]);
    assert!(is_infinite(&number("3.0+inf.0i")) && !is_finite(&number("3.0+inf.0i")));
    assert!(is_nan(&number("+nan.0+5.0i")) && !is_nan(&number("1+2i")));
    assert!(is_zero(&number("0.0+0.0i")) && is_zero(&number("-0.0")));
    assert!(is_exact_nonnegative_integer(&number("9223372036854775808")));
    assert!(!is_exact_nonnegative_integer(&number(
        "-9223372036854775809"
    )));
    assert!(is_exact_rational(&number("1/2")) && !is_exact_rational(&number("1+i")));
}

#[test]
fn parity() {
    for (text, odd) in [
        ("0", false),
        ("-1", true),
        ("3.0", true),
        ("-4.0", false),
        ("9007199254740991.0", true),
        ("9007199254740992.0", false),
        ("1e300", false),
        ("0.0", false),
        ("100000000000000000001", true),
        ("-100000000000000000001", true),
        ("100000000000000000000", false),
    ] {
        assert_eq!(is_odd(&number(text)), Ok(odd), "{text}");
        assert_eq!(is_even(&number(text)), Ok(!odd), "{text}");
    }
    for text in ["1/2", "1.5", "+inf.0", "+nan.0", "+i"] {
        assert_eq!(
            is_odd(&number(text)),
            Err(NumberError::NotInteger(number(text)))
        );
    }
}
