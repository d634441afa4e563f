//! Arithmetic on ratios whose parts are fixnums of the machine, without a [`crate::Number`].
//!
//! Common factors are taken out before the products, as in Knuth, "Seminumerical Algorithms", 4.5.1: what
//! is reduced then fits a machine word, and a product of two such parts fits 128 bits.

use std::cmp::Ordering;

use crate::division::Division;

/// Parts are smaller than this in magnitude, so that a sum of two products fits 127 bits.
pub const PART_LIMIT: u64 = 1 << 62;

/// A ratio in lowest terms, or an integer with denominator one.
#[derive(Clone, Copy, Debug)]
pub struct ShortRatio {
    numerator: i64,
    denominator: i64,
}

/// Numerator and denominator of a result in lowest terms; the denominator is positive.
pub type Parts = (i128, i128);

/// The greatest common divisor, by Stein's algorithm.
pub fn gcd(left: u64, right: u64) -> u64 {
    if left == 0 || right == 0 {
        return left | right;
    }
    let twos = (left | right).trailing_zeros();
    let mut x = left >> left.trailing_zeros();
    let mut y = right >> right.trailing_zeros();
    while x != y {
        let (larger, smaller) = (x.max(y), x.min(y));
        x = larger - smaller;
        x >>= x.trailing_zeros();
        y = smaller;
    }
    x << twos
}

fn common(left: i64, right: i64) -> i64 {
    // One operand is a denominator, which is positive and below the limit; so is the divisor.
    gcd(left.unsigned_abs(), right.unsigned_abs()) as i64
}

fn product(left: i64, right: i64) -> i128 {
    i128::from(left) * i128::from(right)
}

impl ShortRatio {
    /// The ratio with these parts, which are in lowest terms; `None` if they are too large.
    #[inline]
    pub fn new(numerator: i64, denominator: i64) -> Option<ShortRatio> {
        let fits = numerator.unsigned_abs() < PART_LIMIT
            && denominator.unsigned_abs() < PART_LIMIT
            && denominator > 0;
        fits.then_some(ShortRatio {
            numerator,
            denominator,
        })
    }

    /// `self + other`
    pub fn plus(self, other: ShortRatio) -> Parts {
        let shared = common(self.denominator, other.denominator);
        if shared == 1 {
            let (left, right) = (
                product(self.numerator, other.denominator),
                product(other.numerator, self.denominator),
            );
            return (left + right, product(self.denominator, other.denominator));
        }
        let (mine, others) = (self.denominator / shared, other.denominator / shared);
        let sum = product(self.numerator, others) + product(other.numerator, mine);
        // Only factors of `shared` can be common to sum and denominator.
        let (sum, rest) = match i64::try_from(sum) {
            Ok(sum) => {
                let rest = common(sum, shared);
                (i128::from(sum / rest), rest)
            }
            Err(_) => {
                let rest = common((sum % i128::from(shared)) as i64, shared);
                (sum / i128::from(rest), rest)
            }
        };
        (sum, product(mine, other.denominator / rest))
    }

    /// `-self`
    pub fn negate(self) -> ShortRatio {
        ShortRatio {
            numerator: -self.numerator,
            ..self
        }
    }

    /// `self * other`
    pub fn times(self, other: ShortRatio) -> Parts {
        let above = common(self.numerator, other.denominator);
        let below = common(other.numerator, self.denominator);
        (
            product(self.numerator / above, other.numerator / below),
            product(self.denominator / below, other.denominator / above),
        )
    }

    /// `1 / self`; `None` for zero.
    pub fn invert(self) -> Option<ShortRatio> {
        match self.numerator {
            0 => None,
            numerator => Some(ShortRatio {
                numerator: self.denominator * numerator.signum(),
                denominator: numerator.abs(),
            }),
        }
    }

    /// The order.
    pub fn compare(self, other: ShortRatio) -> Ordering {
        product(self.numerator, other.denominator).cmp(&product(other.numerator, self.denominator))
    }

    /// The order of the ratio and a flonum; `None` where they are so near that it takes long products.
    pub fn compare_with_flonum(self, flonum: f64) -> Option<Option<Ordering>> {
        if flonum.is_nan() {
            return Some(None);
        }
        // Off by less than three units in the last place.
        let near = self.numerator as f64 / self.denominator as f64;
        let is_apart = (near - flonum).abs() > near.abs() * 1e-15;
        (is_apart || self.to_f64() == Some(near) && self.is_flonum())
            .then(|| near.partial_cmp(&flonum))
    }

    /// Whether the ratio of exact flonums is a flonum itself.
    fn is_flonum(self) -> bool {
        self.denominator & (self.denominator - 1) == 0
    }

    /// The nearest integer below, above, between it and zero, or the nearest one, ties to even.
    pub fn round(self, division: Division) -> i64 {
        let (n, d) = (self.numerator, self.denominator);
        if division == Division::Truncate {
            return n / d;
        }
        let floor = n.div_euclid(d);
        let rest = n - floor * d;
        if rest == 0 {
            return floor;
        }
        let is_up = match division {
            Division::Floor | Division::Euclidean => false,
            Division::Ceiling => true,
            Division::Truncate => n < 0,
            Division::Round => rest > d - rest || rest == d - rest && floor & 1 == 1,
            Division::Balanced => rest >= d - rest,
        };
        floor + i64::from(is_up)
    }

    /// The nearest flonum, if both parts are exact flonums: one division rounds correctly.
    pub fn to_f64(self) -> Option<f64> {
        const EXACT: u64 = 1 << 53;
        let fits = self.numerator.unsigned_abs() <= EXACT && self.denominator as u64 <= EXACT;
        fits.then(|| self.numerator as f64 / self.denominator as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use dashu_int::IBig;
    use dashu_ratio::RBig;
    use proptest::prelude::*;

    fn part() -> impl Strategy<Value = i64> {
        let limit = PART_LIMIT as i64 - 1;
        prop_oneof![
            -12i64..=12,
            Just(limit),
            Just(-limit),
            Just(limit - 1),
            Just(1 << 61),
            Just(3 << 40),
            -limit..=limit,
        ]
    }

    fn ratio() -> impl Strategy<Value = (ShortRatio, Number)> {
        (part(), part()).prop_filter_map("the denominator is not zero", |(x, y)| {
            if y == 0 {
                return None;
            }
            let divisor = gcd(x.unsigned_abs(), y.unsigned_abs()) as i64 * y.signum();
            let short = ShortRatio::new(x / divisor, y / divisor)?;
            let long = RBig::from_parts_signed(IBig::from(x), IBig::from(y));
            Some((short, Number::from_ratio(long)))
        })
    }

    fn check(parts: Parts, expected: Number) -> Result<(), TestCaseError> {
        let parts = [parts.0, parts.1].map(Number::from_i128);
        prop_assert_eq!(&parts[0], &crate::numerator(&expected).unwrap());
        prop_assert_eq!(&parts[1], &crate::denominator(&expected).unwrap());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn results_agree_with_the_tower((x, long_x) in ratio(), (y, long_y) in ratio()) {
            check(x.plus(y), crate::add(&long_x, &long_y).unwrap())?;
            check(x.plus(y.negate()), crate::sub(&long_x, &long_y).unwrap())?;
            check(x.times(y), crate::mul(&long_x, &long_y).unwrap())?;
            if let Some(inverse) = y.invert() {
                check(x.times(inverse), crate::div(&long_x, &long_y).unwrap())?;
            }
            prop_assert_eq!(Some(x.compare(y)), crate::compare(&long_x, &long_y).unwrap());
            if let Some(flonum) = x.to_f64() {
                prop_assert_eq!(flonum, crate::to_f64(&long_x).unwrap());
            }
            type Rounding = fn(&Number) -> Result<Number, crate::NumberError>;
            let roundings: [(Division, Rounding); 4] = [
                (Division::Floor, crate::floor),
                (Division::Ceiling, crate::ceiling),
                (Division::Truncate, crate::truncate),
                (Division::Round, crate::round),
            ];
            for (division, rounded) in roundings {
                prop_assert_eq!(Number::Fixnum(x.round(division)), rounded(&long_x).unwrap());
            }
            let own = crate::to_f64(&long_x).unwrap();
            let other = crate::to_f64(&long_y).unwrap();
            let near = [own, own.next_up(), own.next_down(), other, -0.0, 0.5, f64::NAN, f64::INFINITY];
            for flonum in near {
                if let Some(order) = x.compare_with_flonum(flonum) {
                    prop_assert_eq!(order, crate::compare(&long_x, &Number::Flonum(flonum)).unwrap());
                }
            }
        }

        #[test]
        fn divisors_agree(x in any::<u64>(), y in any::<u64>(), shift in 0u32..60) {
            fn euclid(x: u64, y: u64) -> u64 {
                if y == 0 { x } else { euclid(y, x % y) }
            }
            prop_assert_eq!(gcd(x >> shift, y), euclid(x >> shift, y));
            prop_assert_eq!(gcd(0, y), y);
        }
    }
}
