//! The limbs' loops against `dashu`, on lengths from nothing on and on limbs at the ends of their range.

use dashu_base::{DivRem, Sign};
use dashu_int::{IBig, UBig};
use proptest::prelude::*;

use crate::Division;
use crate::integers::{self, Integer, Workspace};
use crate::limbs::significant;

/// Limbs where carries and estimates of digits go wrong first, and any others.
fn limb() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        2 => Just(u64::MAX),
        1 => Just(1),
        1 => Just(1 << 63),
        1 => Just((1 << 63) - 1),
        1 => Just(u64::MAX - 1),
        1 => Just(1 << 32),
        4 => any::<u64>(),
    ]
}

fn magnitude(longest: usize) -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(limb(), 0..6),
        prop::collection::vec(limb(), 0..longest),
    ]
}

fn big(negative: bool, limbs: &[u64]) -> IBig {
    let sign = if negative {
        Sign::Negative
    } else {
        Sign::Positive
    };
    IBig::from_parts(sign, UBig::from_words(limbs))
}

fn result(workspace: &Workspace) -> IBig {
    let (negative, limbs) = workspace.result();
    assert_eq!(significant(limbs), limbs.len(), "the result is normal");
    big(negative, limbs)
}

fn floor_parts(x: &IBig, y: &IBig) -> (IBig, IBig) {
    let (quotient, remainder) = x.div_rem(y);
    if !remainder.is_zero() && (remainder < IBig::ZERO) != (*y < IBig::ZERO) {
        (quotient - IBig::ONE, remainder + y)
    } else {
        (quotient, remainder)
    }
}

fn check_division(workspace: &mut Workspace, x: (bool, &[u64]), y: (bool, &[u64])) {
    let (dividend, divisor) = (Integer::new(x.0, x.1), Integer::new(y.0, y.1));
    let (x, y) = (big(x.0, x.1), big(y.0, y.1));
    if y.is_zero() {
        assert!(!workspace.quotient(Division::Truncate, dividend, divisor));
        assert!(!workspace.remainder(Division::Floor, dividend, divisor));
        return;
    }
    let cases = [
        (Division::Truncate, (&x).div_rem(&y)),
        (Division::Floor, floor_parts(&x, &y)),
    ];
    for (division, (quotient, remainder)) in cases {
        if workspace.quotient(division, dividend, divisor) {
            assert_eq!(result(workspace), quotient);
        }
        if workspace.remainder(division, dividend, divisor) {
            assert_eq!(result(workspace), remainder);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sums_and_products_agree(
        x in magnitude(60), y in magnitude(60), signs in any::<(bool, bool)>(),
    ) {
        let mut workspace = Workspace::default();
        let (left, right) = (Integer::new(signs.0, &x), Integer::new(signs.1, &y));
        let (x, y) = (big(signs.0, &x), big(signs.1, &y));
        prop_assert!(workspace.add(left, right));
        prop_assert_eq!(result(&workspace), &x + &y);
        prop_assert!(workspace.subtract(left, right));
        prop_assert_eq!(result(&workspace), &x - &y);
        if workspace.multiply(left, right) {
            prop_assert_eq!(result(&workspace), &x * &y);
        }
        if workspace.square(left) {
            prop_assert_eq!(result(&workspace), &x * &x);
        }
        prop_assert_eq!(integers::compare(left, right), x.cmp(&y));
        prop_assert!(workspace.subtract(left, left));
        prop_assert_eq!(result(&workspace), IBig::ZERO);
    }

    #[test]
    fn divisions_agree(x in magnitude(90), y in magnitude(50), signs in any::<(bool, bool)>()) {
        let mut workspace = Workspace::default();
        check_division(&mut workspace, (signs.0, &x), (signs.1, &y));
        check_division(&mut workspace, (signs.1, &y), (signs.0, &x));
    }

    /// They have an algorithm of their own for short dividends.
    #[test]
    fn divisions_by_half_a_limb_agree(
        x in magnitude(12), y in 1u64..=1 << 32, negative in any::<bool>(),
    ) {
        let mut workspace = Workspace::default();
        check_division(&mut workspace, (negative, &x), (false, &[y]));
        let rest = big(false, &x).div_rem(&IBig::from(y)).1;
        prop_assert_eq!(IBig::from(Integer::new(false, &x).magnitude_remainder(y)), rest);
    }

    /// Dividends next to multiples of the divisor make estimates of digits too large.
    #[test]
    fn divisions_near_multiples_agree(
        y in magnitude(20), factor in magnitude(20), offset in -2i64..=2, negative in any::<bool>(),
    ) {
        let multiple = big(false, &y) * big(false, &factor) + IBig::from(offset);
        let (sign, words) = multiple.as_sign_words();
        let mut workspace = Workspace::default();
        check_division(&mut workspace, (sign == Sign::Negative, words), (negative, &y));
    }

    #[test]
    fn shifts_agree(x in magnitude(20), bits in -1500i64..1500, negative in any::<bool>()) {
        let mut workspace = Workspace::default();
        prop_assert!(workspace.shift(Integer::new(negative, &x), bits));
        let x = big(negative, &x);
        let expected = if bits >= 0 { x << bits as usize } else { x >> bits.unsigned_abs() as usize };
        prop_assert_eq!(result(&workspace), expected);
    }
}

#[test]
fn digits_at_the_limit_are_found() {
    // The upper limbs of dividend and divisor agree: the estimate would be 2^64.
    let mut workspace = Workspace::default();
    let divisor = [u64::MAX, 0, 1 << 63];
    for low in [0, 1, u64::MAX] {
        for middle in [0, 1, u64::MAX] {
            let dividend = [low, middle, 0, u64::MAX, (1 << 63) - 1];
            check_division(&mut workspace, (false, &dividend), (false, &divisor));
            let dividend = [low, low, middle, 0, 1 << 63];
            check_division(&mut workspace, (true, &dividend), (false, &divisor));
        }
    }
}
