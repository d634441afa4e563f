//! Bits of exact integers on borrowed limbs, as if in two's complement with infinitely many sign bits:
//! combinations word by word, counts, and single bits. Shifts are with the arithmetic.

use super::{Integer, LIMBS_MAX, Workspace};
use crate::limbs;

/// The words of an integer in two's complement, least significant first, without an end.
struct Words<'a> {
    limbs: std::slice::Iter<'a, u64>,
    negative: bool,
    carry: bool,
}

impl Words<'_> {
    #[inline]
    fn next(&mut self) -> u64 {
        let limb = self.limbs.next().copied().unwrap_or(0);
        if !self.negative {
            return limb;
        }
        let (word, carry) = (!limb).overflowing_add(u64::from(self.carry));
        self.carry = carry;
        word
    }
}

impl<'a> Integer<'a> {
    fn words(self) -> Words<'a> {
        let negative = self.is_negative();
        Words {
            limbs: self.limbs.iter(),
            negative,
            carry: negative,
        }
    }

    /// A word of the integer in two's complement.
    fn word(self, index: usize) -> u64 {
        let limb = self.limbs.get(index).copied().unwrap_or(0);
        if !self.is_negative() {
            return limb;
        }
        let is_lowest = self.limbs.iter().take(index).all(|limb| *limb == 0);
        (!limb).wrapping_add(u64::from(is_lowest))
    }

    /// `(bit-count self)`: the ones, the zeros of a negative number.
    pub fn bit_count(self) -> usize {
        let ones: usize = self
            .limbs
            .iter()
            .map(|limb| limb.count_ones() as usize)
            .sum();
        match self.trailing_zeros() {
            // One less than the magnitude has ones for the zeros at its end, and for the one above not.
            Some(zeros) if self.negative => ones - 1 + zeros,
            _ => ones,
        }
    }

    /// `(integer-length self)`: the bits without the sign.
    pub fn integer_length(self) -> usize {
        let bits = self.magnitude_bits();
        let is_least = self.negative && self.trailing_zeros() == bits.checked_sub(1);
        bits - usize::from(is_least && bits > 0)
    }

    /// `(bit-set? index self)`
    pub fn is_bit_set(self, index: usize) -> bool {
        self.word(index / 64) >> (index % 64) & 1 == 1
    }

    /// The 64 bits from an index on.
    pub fn bits_from(self, index: usize) -> u64 {
        let (place, shift) = (index / 64, index as u32 % 64);
        let low = self.word(place) >> shift;
        match shift {
            0 => low,
            _ => low | self.word(place + 1) << (64 - shift),
        }
    }
}

impl Workspace {
    /// The bits of both integers, combined word by word.
    pub fn bitwise(
        &mut self,
        left: Integer,
        right: Integer,
        combine: impl Fn(u64, u64) -> u64,
    ) -> bool {
        let length = left.limbs.len().max(right.limbs.len()) + 1;
        if length > LIMBS_MAX {
            return false;
        }
        let (mut left, mut right) = (left.words(), right.words());
        let room = self.room(length);
        for slot in room.iter_mut() {
            *slot = combine(left.next(), right.next());
        }
        // The last word is nothing but sign bits.
        let is_negative = room[length - 1] != 0;
        if is_negative {
            let mut carry = true;
            for slot in room.iter_mut() {
                (*slot, carry) = (!*slot).overflowing_add(u64::from(carry));
            }
        }
        let count = limbs::significant(room);
        self.give(is_negative, 0, count);
        true
    }

    /// `-1 - operand`
    pub fn invert(&mut self, operand: Integer) -> bool {
        self.bitwise(operand, operand, |word, _| !word)
    }

    /// The integer with one bit set, or cleared.
    pub fn copy_bit(&mut self, operand: Integer, index: usize, is_set: bool) -> bool {
        if index / 64 >= LIMBS_MAX {
            return false;
        }
        let length = operand.limbs.len().max(index / 64 + 1) + 1;
        if length > LIMBS_MAX {
            return false;
        }
        let mut words = operand.words();
        let room = self.room(length);
        for slot in room.iter_mut() {
            *slot = words.next();
        }
        let mask = 1 << (index % 64);
        if is_set {
            room[index / 64] |= mask;
        } else {
            room[index / 64] &= !mask;
        }
        let is_negative = operand.is_negative();
        if is_negative {
            let mut carry = true;
            for slot in room.iter_mut() {
                (*slot, carry) = (!*slot).overflowing_add(u64::from(carry));
            }
        }
        let count = limbs::significant(room);
        self.give(is_negative, 0, count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use proptest::prelude::*;

    fn limbs() -> impl Strategy<Value = Vec<u64>> {
        let limb = prop_oneof![
            Just(0),
            Just(u64::MAX),
            Just(1),
            Just(1 << 63),
            any::<u64>()
        ];
        proptest::collection::vec(limb, 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn bits_agree_with_the_tower(
            x in limbs(), y in limbs(), signs in any::<(bool, bool)>(), index in 0usize..300, bit: bool,
        ) {
            let (left, right) = (Integer::new(signs.0, &x), Integer::new(signs.1, &y));
            let (long_left, long_right) =
                (Number::from_limbs(signs.0, &x), Number::from_limbs(signs.1, &y));
            let mut room = Workspace::default();
            let result = |room: &Workspace| {
                let (is_negative, limbs) = room.result();
                assert!(limbs.last() != Some(&0));
                Number::from_limbs(is_negative, limbs)
            };
            prop_assert!(room.bitwise(left, right, |x, y| x & y));
            prop_assert_eq!(result(&room), crate::bitwise_and(&long_left, &long_right).unwrap());
            prop_assert!(room.bitwise(left, right, |x, y| x | y));
            prop_assert_eq!(result(&room), crate::bitwise_or(&long_left, &long_right).unwrap());
            prop_assert!(room.bitwise(left, right, |x, y| x ^ y));
            prop_assert_eq!(result(&room), crate::bitwise_xor(&long_left, &long_right).unwrap());
            prop_assert!(room.invert(left));
            prop_assert_eq!(result(&room), crate::bitwise_not(&long_left).unwrap());
            let count = |count: usize| Number::from(count as u64);
            prop_assert_eq!(count(left.bit_count()), crate::bit_count(&long_left).unwrap());
            prop_assert_eq!(count(left.integer_length()), crate::integer_length(&long_left).unwrap());
            let place = Number::from(index as u64);
            prop_assert_eq!(left.is_bit_set(index), crate::bit_set(&place, &long_left).unwrap());
            let shifted = crate::arithmetic_shift(&long_left, &crate::negate(&place)).unwrap();
            let mask = Number::from(u64::MAX);
            let expected = crate::bitwise_and(&shifted, &mask).unwrap();
            prop_assert_eq!(Number::from(left.bits_from(index)), expected);
            prop_assert!(room.copy_bit(left, index, bit));
            let one = crate::arithmetic_shift(&Number::ONE, &place).unwrap();
            let expected = if bit {
                crate::bitwise_or(&long_left, &one)
            } else {
                crate::bitwise_and(&long_left, &crate::bitwise_not(&one).unwrap())
            };
            prop_assert_eq!(result(&room), expected.unwrap());
        }

        #[test]
        fn comparisons_and_conversions_agree_with_the_tower(
            x in limbs(), y in limbs(), signs in any::<(bool, bool)>(), flonum: f64, divisor in 1u64..,
        ) {
            let (left, right) = (Integer::new(signs.0, &x), Integer::new(signs.1, &y));
            let (long_left, long_right) =
                (Number::from_limbs(signs.0, &x), Number::from_limbs(signs.1, &y));
            prop_assert_eq!(left.equals(right), long_left == long_right);
            prop_assert!(left.equals(left));
            let own = crate::to_f64(&long_left).unwrap();
            prop_assert_eq!(left.to_f64(), own);
            let near = [own.next_up(), own.next_down(), own + 0.5, 0.5, -0.0, f64::INFINITY, f64::NAN];
            for flonum in near.into_iter().chain([flonum, own, -own, 1e18, 2f64.powi(61), 2f64.powi(64)]) {
                let expected = crate::compare(&long_left, &Number::Flonum(flonum)).unwrap();
                prop_assert_eq!(left.compare_with_flonum(flonum), expected, "{}", flonum);
            }
            let magnitude = crate::abs(&long_left).unwrap();
            let expected = crate::remainder(&magnitude, &Number::from(divisor)).unwrap();
            prop_assert_eq!(Number::from(left.magnitude_remainder(divisor)), expected);
        }
    }
}
