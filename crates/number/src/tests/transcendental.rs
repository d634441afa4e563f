use super::{check_binary, check_near, check_unary, number};
use crate::*;

#[test]
fn exact_results() {
    check_unary(exp, &[("0", "1")]);
    check_unary(log, &[("1", "0"), ("0.0", "-inf.0")]);
    check_unary(sin, &[("0", "0")]);
    check_unary(cos, &[("0", "1")]);
    check_unary(tan, &[("0", "0")]);
    check_unary(asin, &[("0", "0")]);
    check_unary(acos, &[("1", "0")]);
    check_unary(atan, &[("0", "0")]);
    check_binary(atan2, &[("0", "1", "0"), ("0", "1.5", "0")]);
    assert!(log(&number("0")).is_err());
    assert!(atan2(&number("0"), &number("0")).is_err());
    assert!(atan(&number("+i")).is_err());
}

#[test]
fn logarithms() {
    check_near(log(&number("-1")), "0.0+3.141592653589793i");
    check_near(log(&number("-1.0")), "0.0+3.141592653589793i");
    check_near(log(&number("-1.0-0.0i")), "0.0-3.141592653589793i");
    check_near(log(&number("+i")), "0.0+1.5707963267948966i");
    check_near(
        log(&number("1+2i")),
        "0.8047189562170503+1.1071487177940904i",
    );
    check_near(
        log(&number(&format!("1{}", "0".repeat(1000)))),
        "2302.5850929940457",
    );
    check_near(
        log(&number(&format!("1/1{}", "0".repeat(1000)))),
        "-2302.5850929940457",
    );
    check_near(
        log(&number(&format!("-1{}", "0".repeat(1000)))),
        "2302.5850929940457+3.141592653589793i",
    );
    let near_one = number(&format!("1{}1/1{}", "0".repeat(29), "0".repeat(30)));
    assert_eq!(log(&near_one).unwrap().to_string(), "1.0e-30");
    check_binary(
        log_base,
        &[
            ("8", "2", "3.0"),
            ("100", "10", "2.0"),
            ("1000", "10", "3.0"),
            ("4096", "2", "12.0"),
            ("1/1024", "2", "-10.0"),
            ("1/125", "5", "-3.0"),
            ("8", "1/2", "-3.0"),
            ("1000.0", "10", "3.0"),
            ("2", "2", "1.0"),
            ("1", "2", "0.0"),
        ],
    );
    check_near(log_base(&number("10"), &number("3")), "2.095903274289385");
    assert!(log_base(&number("10"), &number("1")).is_err());
    let near_one = number("1000000001/1000000000");
    check_near(log_base(&number("2"), &near_one), "693147180.9065189");
    let power = expt(&number("7"), &number("1000")).unwrap();
    assert_eq!(
        log_base(&power, &number("7")).unwrap().to_string(),
        "1000.0"
    );
}

#[test]
fn exponentials() {
    check_near(exp(&number("3")), "20.085536923187668");
    check_near(exp(&number("+i")), "0.5403023058681398+0.8414709848078965i");
    check_near(exp(&number("0.0+3.141592653589793i")), "-1.0+0.0i");
    // The exponential of the real part alone overflows.
    check_near(
        exp(&number("710.0+0.75i")),
        "1.6345891035228986e308+1.5227774223050872e308i",
    );
    check_near(exp(&number("-inf.0+1.0i")), "0.0+0.0i");
}

#[test]
fn trigonometry_of_reals() {
    check_near(sin(&number("1")), "0.8414709848078965");
    check_near(cos(&number("1/2")), "0.8775825618903728");
    check_near(tan(&number("1")), "1.5574077246549023");
    check_near(asin(&number("1")), "1.5707963267948966");
    check_near(acos(&number("-1")), "3.141592653589793");
    check_near(atan(&number("1")), "0.7853981633974483");
    check_near(atan2(&number("1"), &number("-1")), "2.356194490192345");
    check_near(
        atan2(&number("-0.0"), &number("-1.0")),
        "-3.141592653589793",
    );
    check_near(atan2(&number("0"), &number("-1")), "3.141592653589793");
    let big = format!("1{}", "0".repeat(400));
    check_near(atan2(&number(&big), &number(&big)), "0.7853981633974483");
    check_near(
        atan2(&number("1"), &number(&format!("-{big}"))),
        "3.141592653589793",
    );
    check_unary(atan2_one, &[("0.0", "0.0"), ("-0.0", "-0.0")]);
    check_unary(asin, &[("+nan.0", "+nan.0")]);
}

fn atan2_one(y: &Number) -> Result<Number, NumberError> {
    atan2(y, &Number::Flonum(1.0))
}

/// Outside the real domain, by the defining formulas of R7RS 6.2.6.
#[test]
fn branch_cuts() {
    check_near(asin(&number("2")), "1.5707963267948966-1.3169578969248166i");
    check_near(
        asin(&number("-2")),
        "-1.5707963267948966+1.3169578969248166i",
    );
    check_near(acos(&number("2")), "0.0+1.3169578969248166i");
    check_near(acos(&number("-2")), "3.141592653589793-1.3169578969248166i");
    check_near(
        asin(&number("2.0+0.0i")),
        "1.5707963267948966+1.3169578969248166i",
    );
    check_near(
        asin(&number("2.0-0.0i")),
        "1.5707963267948966-1.3169578969248166i",
    );
    check_near(
        atan(&number("+2i")),
        "1.5707963267948966+0.5493061443340549i",
    );
    check_near(
        atan(&number("-2i")),
        "-1.5707963267948966-0.5493061443340549i",
    );
    check_near(atan(&number("+1/2i")), "0.0+0.5493061443340549i");
    check_near(asin(&number("+inf.0")), "1.5707963267948966-inf.0i");
    check_near(acos(&number("+inf.0")), "0.0+inf.0i");
}

#[test]
fn trigonometry_of_complex_numbers() {
    check_near(
        sin(&number("1+2i")),
        "3.165778513216168+1.9596010414216063i",
    );
    check_near(cos(&number("1+2i")), "2.0327230070196656-3.0518977991518i");
    check_near(
        tan(&number("1+2i")),
        "0.033812826079896774+1.0147936161466335i",
    );
    check_near(
        asin(&number("1+2i")),
        "0.4270785863924768+1.5285709194809982i",
    );
    check_near(
        acos(&number("1+2i")),
        "1.1437177404024206-1.5285709194809982i",
    );
    check_near(
        atan(&number("1+2i")),
        "1.3389725222944935+0.40235947810852507i",
    );
    check_near(tan(&number("1.0+1000.0i")), "0.0+1.0i");
    check_near(sin(&number("0.0+1.0i")), "0.0+1.1752011936438014i");
    check_near(atan(&number("1e200+1e200i")), "1.5707963267948966+5e-201i");
    check_near(
        asin(&number("1e200+1e200i")),
        "0.7853981633974483+461.55673936964905i",
    );
    check_near(
        atan(&number("1e-300+1.0i")),
        "0.7853981633974483+345.73433753938684i",
    );
    check_unary(atan, &[("1e300-0.0i", "1.5707963267948966-0.0i")]);
}
