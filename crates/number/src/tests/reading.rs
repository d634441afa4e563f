use super::{check, number};
use crate::{Number, NumberError, parse_flonum, parse_number, write_number};

#[track_caller]
fn check_reads(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(write_number(&number(text), 10), *expected, "reading {text}");
    }
}

#[test]
fn exact_numbers() {
    check_reads(&[
        ("0", "0"),
        ("-0", "0"),
        ("+17", "17"),
        ("007", "7"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("6/4", "3/2"),
        ("-10/5", "-2"),
        ("0/10", "0"),
        ("#e1.2e-3", "3/2500"),
        ("#e1e3", "1000"),
        ("#e-.0", "0"),
        ("#e1.5e400", &format!("15{}", "0".repeat(399))),
    ]);
    assert!(matches!(
        number("-9223372036854775808"),
        Number::Fixnum(i64::MIN)
    ));
    assert!(matches!(number("9223372036854775808"), Number::Big(_)));
}

#[test]
fn prefixes() {
    check_reads(&[
        ("#x1F", "31"),
        ("#X1f", "31"),
        ("#b-101", "-5"),
        ("#o777", "511"),
        ("#d10", "10"),
        ("#e#x10", "16"),
        ("#x#e10", "16"),
        ("#i#x10", "16.0"),
        ("#x#I1/10", "0.0625"),
        ("#x1e2", "482"),
        ("#xabc/def", "916/1189"),
        ("#i1/3", "0.3333333333333333"),
        ("#x+i", "+i"),
        ("#x10+11i", "16+17i"),
        ("#b10-11i", "2-3i"),
    ]);
}

#[test]
fn decimals() {
    check_reads(&[
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("-0.0", "-0.0"),
        ("1e10", "10000000000.0"),
        ("1E10", "10000000000.0"),
        ("1e+2", "100.0"),
        ("1.5e-7", "1.5e-7"),
        ("1s2", "100.0"),
        ("1F2", "100.0"),
        ("1d2", "100.0"),
        ("1L2", "100.0"),
        ("+inf.0", "+inf.0"),
        ("-INF.0", "-inf.0"),
        ("+nan.0", "+nan.0"),
        ("-NaN.0", "+nan.0"),
        ("#i5", "5.0"),
        ("#b0.1", "0.5"),
        ("#x-1.8", "-1.5"),
        ("#e#x1.8", "3/2"),
    ]);
}

#[test]
fn complex_numbers() {
    check_reads(&[
        ("+i", "+i"),
        ("-I", "-i"),
        ("1+2i", "1+2i"),
        ("1-i", "1-i"),
        ("-2.5+0i", "-2.5"),
        ("-2.5+0.0i", "-2.5+0.0i"),
        ("1/2+3/4i", "1/2+3/4i"),
        ("0.5+3/4i", "0.5+0.75i"),
        ("+2i", "+2i"),
        ("+inf.0+nan.0i", "+inf.0+nan.0i"),
        ("+inf.0i", "0.0+inf.0i"),
        ("-inf.0-i", "-inf.0-1.0i"),
        ("1e2-1.5e3i", "100.0-1500.0i"),
        ("1@0", "1"),
        ("0@1", "0"),
        ("#e1.5+.5i", "3/2+1/2i"),
        ("#i1+2i", "1.0+2.0i"),
        ("#i1+0i", "1.0"),
        ("1@2", "-0.4161468365471424+0.9092974268256817i"),
        ("-1@-2", "0.4161468365471424+0.9092974268256817i"),
        ("1@+inf.0", "+nan.0+nan.0i"),
    ]);
}

#[test]
fn underscores_between_digits() {
    check_reads(&[
        ("1_000", "1000"),
        ("-0_1_2", "-12"),
        ("1_2/3_4", "6/17"),
        ("1_0.2_5e1_0", "102500000000.0"),
        ("#xf_f", "255"),
        ("#b1_0", "2"),
        ("1_0-2_0i", "10-20i"),
        ("1_0@0", "10"),
    ]);
}

#[test]
fn not_numbers() {
    let texts = [
        "", "+", "-", ".", "...", "a", "1a", "1+", "--1", "+-1", "1/", "/2", "1/2/3", "1.2.3",
        "1e", "1e+", "e10", "1/2.0", "1.0/2", "1/2e3", "#", "#x", "#e", "#x#b1", "#e#i1", "#e#e1",
        "#xg", "#b2", "#o8", "i", "1i", "2+3", "1+2", "1+2ii", "1+i2", "+inf", "inf.0", "+inf.0.0",
        "+inf.1", "+nan.0x", "1@", "@1", "1@2i", "1@2@3", "1 2", " 1", "1 ", "١", "_1", "1_",
        "1__0", "+_1", "1_.5", "1._5", "1_e5", "1e_5", "1/_2", "1_+i", "1+2_i", "#x_1", "+i_nf.0",
        "+inf._0", "#q1", "0x10", "+.", "-.e1", "1+.i", "é", "+é", "++i", "+i+", "1++i", "- 1",
    ];
    for text in texts {
        assert_eq!(parse_number(text, 10), Ok(None), "reading {text:?}");
    }
}

#[test]
fn numbers_without_a_value() {
    let error = |text: &str| parse_number(text, 10).err();
    assert_eq!(error("1/0"), Some(NumberError::DivisionByZero));
    assert_eq!(error("#i1/0"), Some(NumberError::DivisionByZero));
    assert_eq!(error("1+1/0i"), Some(NumberError::DivisionByZero));
    assert_eq!(
        error("#e+inf.0"),
        Some(NumberError::NoExactValue(number("+inf.0")))
    );
    assert_eq!(
        error("#e-nan.0"),
        Some(NumberError::NoExactValue(number("+nan.0")))
    );
    assert!(matches!(
        error("#e1e1000000000"),
        Some(NumberError::TooLarge { .. })
    ));
    assert!(matches!(
        error("#e1e-1000000000"),
        Some(NumberError::TooLarge { .. })
    ));
    assert_eq!(parse_number("1", 37), Err(NumberError::BadRadix(37)));
    assert_eq!(parse_number("1", 1), Err(NumberError::BadRadix(1)));
    check(Ok(number("#e0e1000000000")), "0");
}

#[test]
fn huge_exponents() {
    let long = "9".repeat(400);
    let shifted = format!("0.{}1e100001", "0".repeat(100_000));
    let far = format!("0.{}1e700001", "0".repeat(700_000));
    let back = format!("1{}e-700000", "0".repeat(700_000));
    check_reads(&[
        ("1e1000000000", "+inf.0"),
        ("-1e1000000000", "-inf.0"),
        ("1e-1000000000", "0.0"),
        ("-1e-1000000000", "-0.0"),
        (&format!("1e{long}"), "+inf.0"),
        (&format!("1e-{long}"), "0.0"),
        ("0e1000000000", "0.0"),
        (&shifted, "1.0"),
        (&far, "1.0"),
        (&back, "1.0"),
    ]);
}

/// Halfway cases, subnormals and long literals, each with the bits of the right answer.
#[test]
fn decimals_are_rounded_correctly() {
    let rows: &[(&str, u64)] = &[
        ("9007199254740993", 0x4340_0000_0000_0000),
        ("9007199254740993.0", 0x4340_0000_0000_0000),
        (
            "9007199254740993.0000000000000000000000000000000000000001",
            0x4340_0000_0000_0001,
        ),
        ("9007199254740995.0", 0x4340_0000_0000_0002),
        ("2.4703282292062327e-324", 0),
        ("2.4703282292062328e-324", 1),
        ("5e-324", 1),
        ("2.2250738585072011e-308", 0x000f_ffff_ffff_ffff),
        ("2.2250738585072012e-308", 0x0010_0000_0000_0000),
        ("1.7976931348623157e308", 0x7fef_ffff_ffff_ffff),
        ("1.7976931348623158e308", 0x7fef_ffff_ffff_ffff),
        ("1.7976931348623159e308", 0x7ff0_0000_0000_0000),
        ("1e23", 0x44b5_2d02_c7e1_4af6),
    ];
    for (text, bits) in rows {
        assert_eq!(
            parse_flonum(text).map(f64::to_bits),
            Some(*bits),
            "reading {text}"
        );
    }
    // Exactly half of the least subnormal rounds to even; a digit thousands of places on decides.
    let exact_half = exact_decimal_of_half_least();
    assert_eq!(parse_flonum(&exact_half), Some(0.0));
    assert_eq!(
        parse_flonum(&format!("{exact_half}{}1", "0".repeat(5000))),
        Some(5e-324)
    );
}

/// 2^-1075 in full decimal digits.
fn exact_decimal_of_half_least() -> String {
    let digits = dashu_int::UBig::from(5u8).pow(1075).to_string();
    format!("0.{}{digits}", "0".repeat(1075 - digits.len()))
}

#[test]
fn other_radices() {
    let read = |text: &str, radix| parse_number(text, radix).unwrap().map(|n| n.to_string());
    assert_eq!(read("zz", 36).as_deref(), Some("1295"));
    assert_eq!(read("ZZ/-1", 36), None);
    assert_eq!(read("12/21", 3).as_deref(), Some("5/7"));
    assert_eq!(read("+i", 20).as_deref(), Some("18"));
    assert_eq!(read("0+i", 20).as_deref(), Some("+i"));
    assert_eq!(read("+inf.0", 36).as_deref(), Some("+inf.0"));
    assert_eq!(read("inf.0", 36).as_deref(), Some("24171.0"));
    assert_eq!(read("+inf.00", 36).as_deref(), Some("24171.0"));
    assert_eq!(read("1e1", 16).as_deref(), Some("481"));
    assert_eq!(read("#d1e1", 16).as_deref(), Some("10.0"));
    assert_eq!(read("0.1", 3).as_deref(), Some("0.3333333333333333"));
}

#[test]
fn long_integers_are_read_in_good_time() {
    let digits = "1234567890".repeat(20_000);
    assert_eq!(write_number(&number(&digits), 10), digits);
}
