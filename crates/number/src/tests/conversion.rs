use super::{check_unary, number};
use crate::*;

#[test]
fn flonums_to_exact_numbers() {
    check_unary(
        exact,
        &[
            ("0.5", "1/2"),
            ("-0.0", "0"),
            ("0.1", "3602879701896397/36028797018963968"),
            ("1e18", "1000000000000000000"),
            ("9223372036854775808.0", "9223372036854775808"),
            ("-9223372036854775808.0", "-9223372036854775808"),
            ("1e23", "99999999999999991611392"),
            ("1.5+2.0i", "3/2+2i"),
            ("1.0+0.0i", "1"),
            ("3/4", "3/4"),
        ],
    );
    for text in ["+inf.0", "-inf.0", "+nan.0"] {
        assert_eq!(
            exact(&number(text)),
            Err(NumberError::NoExactValue(number(text)))
        );
    }
    assert!(exact(&number("1.0+inf.0i")).is_err());
}

#[test]
fn exact_numbers_to_flonums() {
    let power = |base: &str, exponent: &str| expt(&number(base), &number(exponent)).unwrap();
    let flonum = |value: &Number| to_f64(value).unwrap();
    assert_eq!(flonum(&number("9007199254740993")), 9007199254740992.0);
    assert_eq!(flonum(&number("9007199254740995")), 9007199254740996.0);
    assert_eq!(
        flonum(&number("18446744073709551615")),
        18446744073709551616.0
    );
    assert_eq!(
        flonum(&number("18446744073709549568")),
        18446744073709549568.0
    );
    assert_eq!(
        flonum(&number("36893488147419101185")),
        36893488147419103232.0
    );
    assert_eq!(flonum(&power("10", "400")), f64::INFINITY);
    assert_eq!(flonum(&negate(&power("10", "400"))), f64::NEG_INFINITY);
    // The largest flonum, and the halfway point beyond it.
    let limit = sub(&power("2", "1024"), &power("2", "970")).unwrap();
    assert_eq!(flonum(&limit), f64::INFINITY);
    assert_eq!(flonum(&decrement(&limit).unwrap()), f64::MAX);
    // Subnormals and their halfway points.
    assert_eq!(flonum(&power("2", "-1074")), 5e-324);
    assert_eq!(flonum(&power("2", "-1075")), 0.0);
    let above = add(&power("2", "-1075"), &power("2", "-3000")).unwrap();
    assert_eq!(flonum(&above), 5e-324);
    assert_eq!(
        flonum(&mul(&number("3"), &power("2", "-1075")).unwrap()),
        1e-323
    );
    assert_eq!(
        flonum(&mul(&number("5"), &power("2", "-1075")).unwrap()),
        1e-323
    );
    assert_eq!(flonum(&power("10", "-400")), 0.0);
    // Numerator and denominator both out of range.
    let quotient = div(&power("10", "400"), &power("7", "470")).unwrap();
    assert!((flonum(&quotient) - 641.2).abs() < 1e3);
    let third = div(
        &power("10", "400"),
        &mul(&number("3"), &power("10", "400")).unwrap(),
    );
    assert_eq!(flonum(&third.unwrap()), 1.0 / 3.0);
    assert!(to_f64(&number("+i")).is_err());
}

#[test]
fn limbs_round_trip() {
    let value = number("-340282366920938463463374607431768211457");
    let (negative, limbs) = value.limbs().unwrap();
    assert!(negative);
    assert_eq!(limbs, [1, 0, 1]);
    assert_eq!(Number::from_limbs(negative, limbs), value);
    assert_eq!(Number::from_limbs(true, &[5, 0, 0]), number("-5"));
    assert_eq!(
        Number::from_limbs(true, &[1 << 63]),
        Number::Fixnum(i64::MIN)
    );
    assert_eq!(Number::from_limbs(true, &[]), Number::ZERO);
    assert!(number("5").limbs().is_none());
}

#[test]
fn stored_numbers_round_trip() {
    for text in [
        "0",
        "-5",
        "100000000000000000000",
        "-100000000000000000000",
        "1/3",
        "-1/3",
        "1.5",
        "-0.0",
        "+inf.0",
        "+nan.0",
        "1+2i",
        "1.5-2.5i",
    ] {
        let json = serde_json::to_string(&number(text)).unwrap();
        let back: Number = serde_json::from_str(&json).unwrap();
        assert_eq!(back, number(text), "{json}");
    }
}

#[test]
fn stored_numbers_are_normalised_or_refused() {
    let read = |json: &str| {
        serde_json::from_str::<Number>(json)
            .ok()
            .map(|n| n.to_string())
    };
    assert_eq!(read(r#"{"Big":[5]}"#).as_deref(), Some("5"));
    assert_eq!(read(r#"{"Big":[]}"#).as_deref(), Some("0"));
    assert_eq!(read(r#"{"Ratio":[[4],[2]]}"#).as_deref(), Some("2"));
    assert_eq!(read(r#"{"Ratio":[[4],[0]]}"#), None);
    assert_eq!(
        read(r#"{"Complex":[{"Fixnum":1},{"Fixnum":0}]}"#).as_deref(),
        Some("1")
    );
    let nested = r#"{"Complex":[{"Fixnum":1},{"Complex":[{"Fixnum":1},{"Fixnum":1}]}]}"#;
    assert_eq!(read(nested), None);
}
