use super::number;
use crate::{Number, flonum_to_string, parse_number, write_number};

#[test]
fn decimal_flonums() {
    let rows = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (100.0, "100.0"),
        (123.456, "123.456"),
        (0.001, "0.001"),
        (0.000001, "0.000001"),
        (0.0000001, "1.0e-7"),
        (1.5e-7, "1.5e-7"),
        (-1.5e-7, "-1.5e-7"),
        (1e20, "100000000000000000000.0"),
        (123456789012345680000.0, "123456789012345680000.0"),
        (1e21, "1.0e+21"),
        (1.25e21, "1.25e+21"),
        (1e100, "1.0e+100"),
        (5e-324, "5.0e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (9007199254740992.0, "9007199254740992.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (f64::INFINITY, "+inf.0"),
        (f64::NEG_INFINITY, "-inf.0"),
        (f64::NAN, "+nan.0"),
        (-f64::NAN, "+nan.0"),
    ];
    for (value, expected) in rows {
        assert_eq!(flonum_to_string(value), expected);
    }
}

#[test]
fn flonums_in_other_radices() {
    let rows = [
        (0.5, 2, "0.1"),
        (-0.75, 2, "-0.11"),
        (10.0, 2, "1010.0"),
        (255.5, 16, "ff.8"),
        (1.0 / 3.0, 3, "0.1"),
        (1e3, 8, "1750.0"),
        (1e21, 16, "3635c9adc5dea00000.0"),
        (24171.0, 36, "inf.00"),
        (-24171.0, 36, "-inf.00"),
        (f64::INFINITY, 36, "+inf.0"),
        (
            0.1,
            2,
            "0.0001100110011001100110011001100110011001100110011001101",
        ),
    ];
    for (value, radix, expected) in rows {
        let text = write_number(&Number::Flonum(value), radix);
        assert_eq!(text, expected);
        assert_eq!(parse_number(&text, radix), Ok(Some(Number::Flonum(value))));
    }
    assert_eq!(write_number(&Number::Flonum(5e-324), 2).len(), 2 + 1074);
    assert_eq!(write_number(&Number::Flonum(f64::MAX), 2).len(), 1024 + 2);
}

#[test]
fn exact_numbers_in_other_radices() {
    let rows = [
        ("255", 16, "ff"),
        ("-255", 2, "-11111111"),
        ("-9223372036854775808", 36, "-1y2p0ij32e8e8"),
        (
            "340282366920938463463374607431768211455",
            16,
            "ffffffffffffffffffffffffffffffff",
        ),
        ("1/3", 3, "1/10"),
        ("-10/7", 8, "-12/7"),
    ];
    for (text, radix, expected) in rows {
        assert_eq!(write_number(&number(text), radix), expected);
        assert_eq!(parse_number(expected, radix), Ok(Some(number(text))));
    }
}

#[test]
fn complex_numbers() {
    for text in [
        "1+2i",
        "+i",
        "-i",
        "1-i",
        "1/2-3/4i",
        "1.0-2.5i",
        "+inf.0+nan.0i",
        "0.0+2.0i",
        "-0.0-0.0i",
        "-inf.0-inf.0i",
        "1.0e+21+1.0e-7i",
    ] {
        assert_eq!(write_number(&number(text), 10), text);
    }
    assert_eq!(write_number(&number("+2i"), 20), "0+2i");
    assert_eq!(write_number(&number("-i"), 36), "0-i");
}

#[test]
fn a_bad_radix_is_ten() {
    assert_eq!(write_number(&number("12"), 1), "12");
    assert_eq!(write_number(&number("12"), 1000), "12");
}
