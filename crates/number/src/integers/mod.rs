//! Exact integers of moderate size on borrowed limbs, without a [`crate::Number`] in between.
//!
//! The machine keeps the limbs of big integers in its own objects. For operands up to some hundred limbs
//! it gives them here as they are, and takes the result from a [`Workspace`] that it keeps: nothing is
//! allocated, and a collection between two operations finds nothing to move. Every operation gives
//! `None` (or `false`) where the tower should do the work: divisors of zero, which are errors, and
//! operands for which `dashu`'s methods are faster.

mod bits;

use std::cmp::Ordering;

use crate::convert::{decode, round_scaled};
use crate::division::Division;
use crate::limbs::{self, LIMB_BITS};

/// Sums, differences and shifts are made here up to this many limbs.
const LIMBS_MAX: usize = 1 << 12;
/// Products are made here while the shorter factor has no more limbs.
const MULTIPLY_LIMBS_MAX: usize = 36;
/// Squares are made here up to this many limbs.
const SQUARE_LIMBS_MAX: usize = 48;
/// Quotients are made here while quotient or divisor has no more limbs.
const DIVIDE_LIMBS_MAX: usize = 64;

/// An exact integer: its sign and its limbs, least significant first. The last limb is not zero, and
/// zero has no limbs.
#[derive(Clone, Copy, Debug)]
pub struct Integer<'a> {
    negative: bool,
    limbs: &'a [u64],
}

impl<'a> Integer<'a> {
    /// The integer with this sign and magnitude; zeros at the end of the limbs are allowed.
    #[inline]
    pub fn new(negative: bool, limbs: &'a [u64]) -> Integer<'a> {
        Integer {
            negative,
            limbs: &limbs[..limbs::significant(limbs)],
        }
    }

    /// Whether it is below zero.
    #[inline]
    pub fn is_negative(self) -> bool {
        self.negative && !self.limbs.is_empty()
    }

    /// Whether it is zero.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.limbs.is_empty()
    }

    /// Whether it is odd.
    #[inline]
    pub fn is_odd(self) -> bool {
        self.limbs.first().is_some_and(|limb| limb & 1 == 1)
    }

    fn signum(self) -> i8 {
        match (self.limbs.is_empty(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }

    /// Whether it is the same integer.
    #[inline]
    pub fn equals(self, other: Integer) -> bool {
        self.is_negative() == other.is_negative() && self.limbs == other.limbs
    }

    /// The order of this integer and zero.
    #[inline]
    pub fn sign(self) -> Ordering {
        self.signum().cmp(&0)
    }

    /// Bits of the magnitude.
    pub fn magnitude_bits(self) -> usize {
        match self.limbs {
            [] => 0,
            [.., last] => self.limbs.len() * 64 - last.leading_zeros() as usize,
        }
    }

    /// Zeros below the lowest bit that is set; none for zero.
    pub fn trailing_zeros(self) -> Option<usize> {
        let whole = self.limbs.iter().position(|limb| *limb != 0)?;
        Some(64 * whole + self.limbs[whole].trailing_zeros() as usize)
    }

    /// The remainder of the magnitude and a divisor that is not zero.
    pub fn magnitude_remainder(self, divisor: u64) -> u64 {
        limbs::divide::remainder_by_limb(self.limbs, divisor)
    }

    /// The nearest flonum, ties to even.
    pub fn to_f64(self) -> f64 {
        let magnitude = match self.limbs {
            [] => 0.0,
            [only] => *only as f64,
            [lower @ .., low, high] => {
                let top = u128::from(*high) << LIMB_BITS | u128::from(*low);
                let is_sticky = lower.iter().any(|limb| *limb != 0);
                round_scaled(top, is_sticky, 64 * lower.len() as i64)
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The order of this integer and a flonum; none for what is not a number.
    pub fn compare_with_flonum(self, flonum: f64) -> Option<Ordering> {
        if flonum.is_nan() {
            return None;
        }
        let sign = 0.0f64.partial_cmp(&flonum)?.reverse();
        if self.sign() != sign {
            return Some(self.sign().cmp(&sign));
        }
        let magnitude = self.compare_magnitude(flonum.abs());
        Some(if self.negative {
            magnitude.reverse()
        } else {
            magnitude
        })
    }

    /// The order of the magnitude and a flonum that is not negative.
    fn compare_magnitude(self, flonum: f64) -> Ordering {
        if flonum.is_infinite() {
            return Ordering::Less;
        }
        let (_, mantissa, exponent) = decode(flonum);
        let flonum_bits = i64::from(64 - mantissa.leading_zeros()) + exponent;
        let bits = self.magnitude_bits() as i64;
        if flonum_bits.max(0) != bits {
            return bits.cmp(&flonum_bits.max(0));
        }
        // Both have as many bits before the point.
        if exponent < 0 {
            let whole = mantissa.checked_shr(-exponent as u32).unwrap_or(0);
            let own = self.limbs.first().copied().unwrap_or(0);
            let has_fraction = flonum.fract() != 0.0;
            return own.cmp(&whole).then(false.cmp(&has_fraction));
        }
        let (place, shift) = (exponent as usize / 64, exponent as u32 % 64);
        let part = u128::from(mantissa) << shift;
        let own = self.limbs[place..].iter().rev();
        let own = own.fold(0, |sum, limb| sum << LIMB_BITS | u128::from(*limb));
        let is_more = self.limbs[..place].iter().any(|limb| *limb != 0);
        own.cmp(&part).then(is_more.cmp(&false))
    }
}

/// Room for results, and for what is on the way to them. It is kept between operations and grows to
/// what the largest of them needs.
#[derive(Debug, Default)]
pub struct Workspace {
    limbs: Vec<u64>,
    start: usize,
    end: usize,
    negative: bool,
}

impl Workspace {
    /// Sign and limbs of the last result.
    #[inline]
    pub fn result(&self) -> (bool, &[u64]) {
        (self.negative, &self.limbs[self.start..self.end])
    }

    #[inline]
    fn room(&mut self, count: usize) -> &mut [u64] {
        if self.limbs.len() < count {
            self.limbs.resize(count.next_power_of_two(), 0);
        }
        &mut self.limbs[..count]
    }

    #[inline]
    fn give(&mut self, negative: bool, start: usize, count: usize) {
        (self.negative, self.start, self.end) = (negative, start, start + count);
    }

    /// `left + right`
    pub fn add(&mut self, left: Integer, right: Integer) -> bool {
        self.add_signed(left, right, right.negative)
    }

    /// `left - right`
    pub fn subtract(&mut self, left: Integer, right: Integer) -> bool {
        self.add_signed(left, right, !right.negative)
    }

    fn add_signed(&mut self, left: Integer, right: Integer, right_negative: bool) -> bool {
        let longest = left.limbs.len().max(right.limbs.len());
        if longest > LIMBS_MAX {
            return false;
        }
        let room = self.room(longest + 1);
        if left.negative == right_negative {
            let count = limbs::add(room, left.limbs, right.limbs);
            self.give(left.negative, 0, count);
            return true;
        }
        let (negative, count) = match limbs::compare(left.limbs, right.limbs) {
            Ordering::Less => {
                let count = limbs::subtract(&mut room[..longest], right.limbs, left.limbs);
                (right_negative, count)
            }
            _ => {
                let count = limbs::subtract(&mut room[..longest], left.limbs, right.limbs);
                (left.negative, count)
            }
        };
        self.give(negative, 0, count);
        true
    }

    /// `left * right`
    pub fn multiply(&mut self, left: Integer, right: Integer) -> bool {
        let (x, y) = (left.limbs, right.limbs);
        if x.len().min(y.len()) > MULTIPLY_LIMBS_MAX || x.len().max(y.len()) > LIMBS_MAX {
            return false;
        }
        let room = self.room(x.len() + y.len());
        let count = limbs::multiply::multiply(room, x, y);
        self.give(left.negative != right.negative, 0, count);
        true
    }

    /// `operand * operand`
    pub fn square(&mut self, operand: Integer) -> bool {
        if operand.limbs.len() > SQUARE_LIMBS_MAX {
            return false;
        }
        let room = self.room(2 * operand.limbs.len());
        let count = limbs::multiply::square(room, operand.limbs);
        self.give(false, 0, count);
        true
    }

    /// The quotient, rounded toward zero or down.
    pub fn quotient(&mut self, division: Division, dividend: Integer, divisor: Integer) -> bool {
        let Some(parts) = self.divide(division, dividend, divisor) else {
            return false;
        };
        let negative = dividend.negative != divisor.negative;
        let (start, mut count) = parts.quotient;
        if rounds_down(division) && negative && parts.remainder.1 > 0 {
            // There is a limb more behind the quotient.
            let room = &mut self.limbs[start..=start + count];
            room[count] = 0;
            limbs::increment(room);
            count = limbs::significant(room);
        }
        self.give(negative, start, count);
        true
    }

    /// The remainder: of the dividend's sign for a quotient rounded toward zero, of the divisor's for one
    /// rounded down.
    pub fn remainder(&mut self, division: Division, dividend: Integer, divisor: Integer) -> bool {
        let Some(parts) = self.divide(division, dividend, divisor) else {
            return false;
        };
        let (start, count) = parts.remainder;
        let differs = dividend.negative != divisor.negative;
        if rounds_down(division) && differs && count > 0 {
            let (place, rest) = self.limbs.split_at_mut(start + count);
            let length = divisor.limbs.len();
            let out = &mut rest[..length];
            let count = limbs::subtract(out, divisor.limbs, &place[start..]);
            self.give(divisor.negative, start + parts.remainder.1, count);
        } else {
            self.give(dividend.negative, start, count);
        }
        true
    }

    /// Quotient and remainder of the magnitudes; behind the quotient there is a limb more, behind the
    /// remainder as many as the divisor has.
    fn divide(&mut self, division: Division, dividend: Integer, divisor: Integer) -> Option<Parts> {
        let known = matches!(division, Division::Truncate | Division::Floor);
        let (x, y) = (dividend.limbs, divisor.limbs);
        if !known || y.is_empty() || x.len() > LIMBS_MAX || y.len() > LIMBS_MAX {
            return None;
        }
        if limbs::compare(x, y).is_lt() {
            let room = self.room(1 + x.len() + y.len());
            room[1..=x.len()].copy_from_slice(x);
            return Some(Parts {
                quotient: (0, 0),
                remainder: (1, x.len()),
            });
        }
        let digits = x.len() - y.len() + 1;
        if let [divisor] = y {
            let room = self.room(x.len() + 3);
            let rest = limbs::divide::divide_by_limb(&mut room[..digits], x, *divisor);
            room[digits + 1] = rest;
            return Some(Parts {
                quotient: (0, limbs::significant(&room[..digits])),
                remainder: (digits + 1, usize::from(rest != 0)),
            });
        }
        if y.len().min(digits) > DIVIDE_LIMBS_MAX {
            return None;
        }
        // Quotient and a limb more, dividend and a limb more, divisor.
        let shift = y[y.len() - 1].leading_zeros();
        let room = self.room(digits + 1 + x.len() + 1 + y.len());
        let (quotient, rest) = room.split_at_mut(digits + 1);
        let (scaled_dividend, scaled_divisor) = rest.split_at_mut(x.len() + 1);
        limbs::shift_left(scaled_divisor, y, shift);
        scaled_dividend[x.len()] = limbs::shift_left(&mut scaled_dividend[..x.len()], x, shift);
        let quotient = &mut quotient[..digits];
        limbs::divide::divide_normalized(quotient, scaled_dividend, scaled_divisor);
        let remainder = &mut scaled_dividend[..y.len()];
        limbs::shift_right_in_place(remainder, shift);
        Some(Parts {
            quotient: (0, limbs::significant(quotient)),
            remainder: (digits + 1, limbs::significant(remainder)),
        })
    }

    /// `operand * 2^bits`, rounded down.
    pub fn shift(&mut self, operand: Integer, bits: i64) -> bool {
        let limbs = operand.limbs;
        let distance = bits.unsigned_abs();
        let (whole, part) = (distance / u64::from(LIMB_BITS), distance as u32 % LIMB_BITS);
        let Ok(whole) = usize::try_from(whole) else {
            return false;
        };
        if limbs.len() > LIMBS_MAX || (bits > 0 && whole > LIMBS_MAX) {
            return false;
        }
        if limbs.is_empty() {
            self.give(false, 0, 0);
            return true;
        }
        if bits >= 0 {
            let room = self.room(whole + limbs.len() + 1);
            let (low, high) = room.split_at_mut(whole);
            low.fill(0);
            high[limbs.len()] = limbs::shift_left(&mut high[..limbs.len()], limbs, part);
            let count = limbs::significant(room);
            self.give(operand.negative, 0, count);
            return true;
        }
        let (lost, kept) = limbs.split_at(whole.min(limbs.len()));
        let room = self.room(kept.len() + 1);
        let (shifted, top) = room.split_at_mut(kept.len());
        limbs::shift_right(shifted, kept, part);
        top[0] = 0;
        let is_inexact = lost.iter().any(|&limb| limb != 0)
            || kept
                .first()
                .is_some_and(|&limb| limb.trailing_zeros() < part);
        if operand.negative && is_inexact {
            limbs::increment(room);
        }
        let count = limbs::significant(room);
        self.give(operand.negative, 0, count);
        true
    }
}

/// Where quotient and remainder begin, and how many limbs they have.
struct Parts {
    quotient: (usize, usize),
    remainder: (usize, usize),
}

fn rounds_down(division: Division) -> bool {
    division == Division::Floor
}

/// The order of two exact integers.
#[inline]
pub fn compare(left: Integer, right: Integer) -> Ordering {
    let (x, y) = (left.signum(), right.signum());
    if x != y {
        return x.cmp(&y);
    }
    if x < 0 {
        limbs::compare(right.limbs, left.limbs)
    } else {
        limbs::compare(left.limbs, right.limbs)
    }
}
