use super::{check, check_binary, check_near, check_unary, number};
use crate::*;

#[test]
fn construction() {
    check_binary(
        make_rectangular,
        &[
            ("1", "2", "1+2i"),
            ("1", "0", "1"),
            ("1.5", "0", "1.5"),
            ("1", "2.0", "1.0+2.0i"),
            ("1/2", "0.0", "0.5+0.0i"),
            ("0", "-1", "-i"),
        ],
    );
    check_binary(
        make_polar,
        &[("5", "0", "5"), ("0", "5", "0"), ("1.5", "0", "1.5")],
    );
    check_near(
        make_polar(&number("1"), &number("1")),
        "0.54030230586814+0.841470984807897i",
    );
    assert!(make_rectangular(&number("+i"), &number("1")).is_err());
    assert!(make_polar(&number("1"), &number("+i")).is_err());
}

#[test]
fn parts() {
    check(Ok(real_part(&number("1+2i"))), "1");
    check(Ok(imag_part(&number("1+2i"))), "2");
    check(Ok(imag_part(&number("1.5"))), "0");
    check_unary(
        magnitude,
        &[
            ("3+4i", "5"),
            ("-5", "5"),
            ("3.0+4.0i", "5.0"),
            ("3/5-4/5i", "1"),
            ("1e300+1e300i", "1.4142135623730952e+300"),
        ],
    );
    check_near(magnitude(&number("1+2i")), "2.23606797749979");
    check_unary(angle, &[("5", "0"), ("0", "0"), ("2.5", "0")]);
    check_near(angle(&number("-1")), "3.141592653589793");
    check_near(angle(&number("-1.5")), "3.141592653589793");
    check_near(angle(&number("1+2i")), "1.10714871779409");
    check_near(angle(&number("-1.0-0.0i")), "-3.141592653589793");
}

#[test]
fn huge_exact_parts() {
    let big = "1".to_owned() + &"0".repeat(400);
    let value = number(&format!("3{0}+4{0}i", &big[1..]));
    check(magnitude(&value), &format!("5{}", &big[1..]));
    check_near(angle(&value), "0.9272952180016122");
    check_near(log(&value), "922.6434751100523+0.9272952180016122i");
}
