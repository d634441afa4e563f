//! Laws that hold for all numbers, checked on generated ones.

use crate::*;
use dashu_base::Sign;
use proptest::prelude::*;

/// Integers of up to 256 bits, with the borders of machine words made likely.
fn integers() -> impl Strategy<Value = Number> {
    let border = prop_oneof![
        Just(0i64),
        Just(1),
        Just(-1),
        Just(i64::MAX),
        Just(i64::MIN),
        Just(1 << 61),
        Just(-(1 << 61)),
        -100i64..100,
    ];
    prop_oneof![
        border.prop_map(Number::Fixnum),
        any::<i64>().prop_map(Number::Fixnum),
        (any::<bool>(), prop::collection::vec(any::<u64>(), 0..4))
            .prop_map(|(negative, limbs)| Number::from_limbs(negative, &limbs)),
    ]
}

fn ratios() -> impl Strategy<Value = Number> {
    (integers(), integers())
        .prop_map(|(numerator, denominator)| div(&numerator, &denominator).unwrap_or(numerator))
}

fn exact_reals() -> impl Strategy<Value = Number> {
    prop_oneof![integers(), ratios()]
}

/// Finite flonums of every magnitude, subnormals and small integers included.
fn flonums() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("finite", |x| x.is_finite()),
        (0u64..1 << 53).prop_map(f64::from_bits),
        (-1000i32..1000).prop_map(|x| f64::from(x) / 8.0),
        any::<i64>().prop_map(|x| x as f64),
    ]
}

fn reals() -> impl Strategy<Value = Number> {
    prop_oneof![exact_reals(), flonums().prop_map(Number::Flonum)]
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        reals(),
        (exact_reals(), exact_reals())
            .prop_map(|(re, im)| make_rectangular(&re, &im).unwrap_or(Number::ZERO)),
        (flonums(), flonums()).prop_map(|(re, im)| {
            make_rectangular(&Number::Flonum(re), &Number::Flonum(im)).unwrap_or(Number::ZERO)
        }),
    ]
}

/// The exact value of the flonum next above a positive finite one, also beyond the largest.
fn exact_flonum(value: f64) -> RBig {
    exact(&Number::Flonum(value))
        .unwrap()
        .to_ratio()
        .unwrap()
        .into_owned()
}

/// The nearest flonum to an exact number by definition: compare with the midpoints around.
fn is_nearest(value: &RBig, candidate: f64) -> bool {
    if candidate < 0.0 || (candidate == 0.0 && value.sign() == Sign::Negative) {
        return is_nearest(&-value.clone(), -candidate);
    }
    let half_ulp = RBig::from_parts(IBig::ONE, UBig::ONE << 1075usize);
    let overflow = RBig::from((IBig::ONE << 1024usize) - (IBig::ONE << 970usize));
    if candidate.is_infinite() {
        return *value >= overflow;
    }
    let even = candidate.to_bits() & 1 == 0;
    let middle = exact_flonum(candidate);
    let low = if candidate == 0.0 {
        -half_ulp
    } else {
        (exact_flonum(candidate.next_down()) + &middle) / RBig::from(2)
    };
    let high = if candidate == f64::MAX {
        overflow
    } else {
        (exact_flonum(candidate.next_up()) + &middle) / RBig::from(2)
    };
    if even {
        low <= *value && *value <= high
    } else {
        low < *value && *value < high
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writing_then_reading_is_the_identity(value in numbers(), radix in 2u32..=36) {
        let text = write_number(&value, radix);
        prop_assert_eq!(parse_number(&text, radix), Ok(Some(value)), "text {}", text);
    }

    #[test]
    fn decimal_flonums_round_trip(value in flonums()) {
        let text = flonum_to_string(value);
        prop_assert_eq!(parse_flonum(&text).map(f64::to_bits), Some(value.to_bits()));
    }

    #[test]
    fn flonum_digits_are_no_longer_than_the_hosts(value in flonums()) {
        let digits = |text: &str| {
            let mantissa = text.split('e').next().unwrap_or("");
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            digits.trim_matches('0').len()
        };
        prop_assert_eq!(digits(&flonum_to_string(value)), digits(&format!("{value:e}")));
    }

    #[test]
    fn reading_never_panics(text in "[-+#.@/0-9a-fiINnxeE]{0,12}", radix in 0u32..40) {
        if let Ok(Some(number)) = parse_number(&text, radix) {
            let again = parse_number(&write_number(&number, 10), 10);
            prop_assert_eq!(again, Ok(Some(number)));
        }
    }

    #[test]
    fn decimals_are_read_as_the_nearest_flonum(
        digits in "[0-9]{1,40}", fraction in "[0-9]{0,40}", exponent in -400i32..400,
    ) {
        let text = format!("{digits}.{fraction}e{exponent}");
        let flonum = parse_flonum(&text).unwrap();
        let exact = parse_number(&format!("#e{text}"), 10).unwrap().unwrap();
        prop_assert!(is_nearest(&exact.to_ratio().unwrap(), flonum), "{} {}", text, flonum);
    }

    #[test]
    fn ratios_convert_to_the_nearest_flonum(
        value in ratios(), shift in -1200i64..1200,
    ) {
        let factor = expt(&Number::Fixnum(2), &Number::Fixnum(shift)).unwrap();
        let scaled = mul(&value, &factor).unwrap();
        let flonum = to_f64(&scaled).unwrap();
        prop_assert!(is_nearest(&scaled.to_ratio().unwrap(), flonum), "{} {}", scaled, flonum);
    }

    #[test]
    fn integers_convert_to_the_nearest_flonum(value in integers(), shift in 0i64..1100) {
        let scaled = arithmetic_shift(&value, &Number::Fixnum(shift)).unwrap();
        let scaled = add(&scaled, &value).unwrap();
        let flonum = to_f64(&scaled).unwrap();
        prop_assert!(is_nearest(&scaled.to_ratio().unwrap(), flonum), "{} {}", scaled, flonum);
    }

    #[test]
    fn square_roots_are_nearest(value in ratios(), shift in -600i64..600) {
        let factor = expt(&Number::Fixnum(2), &Number::Fixnum(shift)).unwrap();
        let value = abs(&mul(&value, &factor).unwrap()).unwrap();
        let root = sqrt(&value).unwrap();
        if is_exact(&root) {
            prop_assert_eq!(square(&root).unwrap(), value);
        } else {
            let root = to_f64(&root).unwrap();
            let middle = |other: f64| (exact_flonum(root) + exact_flonum(other)) / RBig::from(2);
            let (low, high) = (middle(root.next_down()), middle(root.next_up()));
            let value = value.to_ratio().unwrap();
            prop_assert!(low.sqr() <= *value && *value <= high.sqr());
        }
    }

    #[test]
    fn exact_numbers_form_a_ring(a in exact_reals(), b in exact_reals(), c in exact_reals()) {
        prop_assert_eq!(add(&a, &b), add(&b, &a));
        prop_assert_eq!(mul(&a, &b), mul(&b, &a));
        prop_assert_eq!(add(&add(&a, &b)?, &c), add(&a, &add(&b, &c)?));
        prop_assert_eq!(mul(&mul(&a, &b)?, &c), mul(&a, &mul(&b, &c)?));
        prop_assert_eq!(mul(&a, &add(&b, &c)?), add(&mul(&a, &b)?, &mul(&a, &c)?));
        prop_assert_eq!(sub(&a, &b), add(&a, &negate(&b)));
        if !b.is_exact_zero() {
            prop_assert_eq!(mul(&div(&a, &b)?, &b), Ok(a));
        }
    }

    #[test]
    fn exact_complex_numbers_form_a_field(
        a in exact_reals(), b in exact_reals(), c in exact_reals(), d in exact_reals(),
    ) {
        let (x, y) = (make_rectangular(&a, &b)?, make_rectangular(&c, &d)?);
        prop_assert_eq!(mul(&x, &y), mul(&y, &x));
        if !is_zero(&y) {
            prop_assert_eq!(mul(&div(&x, &y)?, &y), Ok(x.clone()));
        }
        let root = sqrt(&square(&x)?)?;
        prop_assert!(root == x || root == negate(&x));
    }

    #[test]
    fn divisions_keep_their_promises(a in integers(), b in integers()) {
        let b = if b.is_exact_zero() { Number::ONE } else { b };
        let half = div(&abs(&b)?, &Number::Fixnum(2))?;
        for kind in [
            Division::Floor, Division::Ceiling, Division::Truncate,
            Division::Round, Division::Euclidean, Division::Balanced,
        ] {
            let (quotient, rest) = divide(kind, &a, &b)?;
            prop_assert_eq!(add(&mul(&quotient, &b)?, &rest)?, a.clone());
            prop_assert!(less(&abs(&rest)?, &abs(&b)?)?);
            let (rest_negative, same_sign) =
                (is_negative(&rest)?, is_negative(&rest)? == is_negative(&b)?);
            match kind {
                _ if rest.is_exact_zero() => {}
                Division::Floor => prop_assert!(same_sign),
                Division::Ceiling => prop_assert!(!same_sign),
                Division::Truncate => prop_assert_eq!(rest_negative, is_negative(&a)?),
                Division::Euclidean => prop_assert!(!rest_negative),
                Division::Round => {
                    prop_assert_eq!(quotient, round(&div(&a, &b)?)?);
                    prop_assert!(less_or_equal(&abs(&rest)?, &half)?);
                }
                Division::Balanced => {
                    prop_assert!(less_or_equal(&negate(&half), &rest)? && less(&rest, &half)?);
                }
            }
        }
    }

    #[test]
    fn divisors_and_multiples_agree(a in integers(), b in integers()) {
        let product = mul(&gcd(&a, &b)?, &lcm(&a, &b)?)?;
        prop_assert_eq!(product, abs(&mul(&a, &b)?)?);
    }

    #[test]
    fn order_is_that_of_exact_values(a in reals(), b in reals()) {
        let (x, y) = (exact(&a)?, exact(&b)?);
        prop_assert_eq!(compare(&a, &b)?, compare(&x, &y)?);
        let difference = sub(&x, &y)?;
        prop_assert_eq!(less(&a, &b)?, is_negative(&difference)?);
        prop_assert_eq!(numeric_equal(&a, &b), difference.is_exact_zero());
        if numeric_equal(&a, &b) {
            prop_assert_eq!(hash_by_value(&a), hash_by_value(&b));
        }
    }

    #[test]
    fn order_is_transitive_near_a_flonum(flonum in flonums(), offset in -2i64..=2) {
        let inexact_value = Number::Flonum(flonum);
        let neighbour = add(&exact(&inexact_value)?, &Number::Fixnum(offset))?;
        let order = compare(&neighbour, &inexact_value)?;
        prop_assert_eq!(order, Some(offset.cmp(&0)));
    }

    #[test]
    fn bit_operations_follow_twos_complement(a in any::<i128>(), b in any::<i128>()) {
        let (x, y) = (Number::from_i128(a), Number::from_i128(b));
        prop_assert_eq!(bitwise_and(&x, &y), Ok(Number::from_i128(a & b)));
        prop_assert_eq!(bitwise_or(&x, &y), Ok(Number::from_i128(a | b)));
        prop_assert_eq!(bitwise_xor(&x, &y), Ok(Number::from_i128(a ^ b)));
        prop_assert_eq!(bitwise_not(&x), Ok(Number::from_i128(!a)));
        let index = (b & 127) as i64;
        let index_number = Number::Fixnum(index);
        prop_assert_eq!(bit_set(&index_number, &x), Ok(a >> index & 1 == 1));
        prop_assert_eq!(
            arithmetic_shift(&x, &Number::Fixnum(-index)), Ok(Number::from_i128(a >> index))
        );
        let ones = if a < 0 { a.count_zeros() } else { a.count_ones() };
        prop_assert_eq!(bit_count(&x), Ok(Number::Fixnum(i64::from(ones))));
        let length = 128 - (if a < 0 { !a } else { a }).leading_zeros();
        prop_assert_eq!(integer_length(&x), Ok(Number::Fixnum(i64::from(length))));
    }

    #[test]
    fn shifts_multiply_by_powers_of_two(a in integers(), count in -300i64..300) {
        let shifted = arithmetic_shift(&a, &Number::Fixnum(count))?;
        let factor = expt(&Number::Fixnum(2), &Number::Fixnum(count))?;
        prop_assert_eq!(shifted, floor(&mul(&a, &factor)?)?);
    }

    #[test]
    fn integer_roots_bracket(a in integers()) {
        let a = abs(&a)?;
        let (root, rest) = exact_integer_sqrt(&a)?;
        prop_assert_eq!(add(&square(&root)?, &rest)?, a.clone());
        prop_assert!(less(&a, &square(&increment(&root)?)?)?);
    }

    #[test]
    fn powers_add_their_exponents(
        a in exact_reals(), m in -6i64..6, n in -6i64..6,
    ) {
        let a = if a.is_exact_zero() { Number::ONE } else { a };
        let power = |n: i64| expt(&a, &Number::Fixnum(n));
        prop_assert_eq!(mul(&power(m)?, &power(n)?)?, power(m + n)?);
    }

    #[test]
    fn rational_powers_are_exact_where_they_can_be(
        a in 0i64..1000, b in 1i64..1000, degree in 1i64..6, power in -4i64..5,
    ) {
        let a = if power > 0 { a } else { a + 1 };
        let base = div(&Number::Fixnum(a), &Number::Fixnum(b))?;
        let raised = expt(&base, &Number::Fixnum(degree))?;
        let exponent = div(&Number::Fixnum(power), &Number::Fixnum(degree))?;
        prop_assert_eq!(expt(&raised, &exponent)?, expt(&base, &Number::Fixnum(power))?);
    }

    #[test]
    fn simplest_rationals_are_simplest(
        n in -300i64..300, d in 1i64..100, w in 1i64..40, e in 40i64..200,
    ) {
        let value = div(&Number::Fixnum(n), &Number::Fixnum(d))?;
        let width = div(&Number::Fixnum(w), &Number::Fixnum(e))?;
        let simplest = rationalize(&value, &width)?;
        let (low, high) = (sub(&value, &width)?, add(&value, &width)?);
        prop_assert!(less_or_equal(&low, &simplest)? && less_or_equal(&simplest, &high)?);
        // The least denominator that has any numerator in the interval, then the least numerator.
        for denominator in 1.. {
            let scale = Number::Fixnum(denominator);
            let first = ceiling(&mul(&low, &scale)?)?;
            let last = floor(&mul(&high, &scale)?)?;
            if less_or_equal(&first, &last)? {
                let least = if is_positive(&first)? {
                    first
                } else if is_negative(&last)? {
                    last
                } else {
                    Number::ZERO
                };
                prop_assert_eq!(simplest, div(&least, &scale)?);
                break;
            }
        }
    }

    #[test]
    fn exactness_round_trips(value in flonums()) {
        let back = inexact(&exact(&Number::Flonum(value))?);
        prop_assert!(numeric_equal(&back, &Number::Flonum(value)));
    }

    #[test]
    fn logarithms_invert_exponentials(re in -20.0f64..20.0, im in -3.0f64..3.0) {
        let value = make_rectangular(&Number::Flonum(re), &Number::Flonum(im))?;
        let back = log(&exp(&value)?)?;
        let error = to_f64(&magnitude(&sub(&back, &value)?)?)?;
        prop_assert!(error < 1e-13, "{} {}", back, value);
    }

    #[test]
    fn inverse_functions_invert(re in -20.0f64..20.0, im in -20.0f64..20.0) {
        let value = make_rectangular(&Number::Flonum(re), &Number::Flonum(im))?;
        let size = 1.0 + re.abs() + im.abs();
        let pairs: [(Unary, Unary); 4] = [(sin, asin), (cos, acos), (tan, atan), (square, sqrt)];
        for (index, (function, inverse)) in pairs.into_iter().enumerate() {
            let back = function(&inverse(&value)?)?;
            let error = to_f64(&magnitude(&sub(&back, &value)?)?)?;
            prop_assert!(error < 1e-11 * size * size, "{}: {} {}", index, back, value);
        }
    }

    #[test]
    fn stored_numbers_round_trip(value in numbers()) {
        let json = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(serde_json::from_str::<Number>(&json).unwrap(), value);
    }
}

type Unary = fn(&Number) -> Result<Number, NumberError>;
