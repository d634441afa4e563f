//! Magnitudes as slices of limbs, where the machine computes on the limbs of its objects.
//!
//! A magnitude is a slice of 64-bit limbs, least significant first. *Normal* means that the last limb
//! is not zero; zero is the empty slice. Every function takes normal magnitudes and says how many limbs
//! of its result are significant. These are the schoolbook's methods: for operands above the limits of
//! [`crate::integers`] the asymptotically faster ones of `dashu` are taken.

pub(crate) mod divide;
pub(crate) mod multiply;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// Bits of a limb.
pub(crate) const LIMB_BITS: u32 = 64;

/// The number of limbs without the zeros at the end.
#[inline]
pub(crate) fn significant(limbs: &[u64]) -> usize {
    let mut length = limbs.len();
    while length > 0 && limbs[length - 1] == 0 {
        length -= 1;
    }
    length
}

/// The order of two normal magnitudes.
#[inline]
pub(crate) fn compare(left: &[u64], right: &[u64]) -> Ordering {
    left.len()
        .cmp(&right.len())
        .then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

#[inline]
fn add_with_carry(left: u64, right: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = left.overflowing_add(right);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

#[inline]
fn subtract_with_borrow(left: u64, right: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = left.overflowing_sub(right);
    let (difference, second) = difference.overflowing_sub(u64::from(borrow));
    (difference, first | second)
}

/// The sum, in `out`, which has one limb more than the longer operand; its significant limbs.
pub(crate) fn add(out: &mut [u64], left: &[u64], right: &[u64]) -> usize {
    let (long, short) = if left.len() >= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let (low, high) = long.split_at(short.len());
    let (out_low, out_high) = out.split_at_mut(short.len());
    let mut carry = false;
    for ((slot, &x), &y) in out_low.iter_mut().zip(low).zip(short) {
        (*slot, carry) = add_with_carry(x, y, carry);
    }
    for (slot, &x) in out_high.iter_mut().zip(high) {
        (*slot, carry) = x.overflowing_add(u64::from(carry));
    }
    out[long.len()] = u64::from(carry);
    long.len() + usize::from(carry)
}

/// The difference, in `out`, which is as long as `left`; its significant limbs. The left operand is
/// not the smaller one.
pub(crate) fn subtract(out: &mut [u64], left: &[u64], right: &[u64]) -> usize {
    let (low, high) = left.split_at(right.len());
    let (out_low, out_high) = out.split_at_mut(right.len());
    let mut borrow = false;
    for ((slot, &x), &y) in out_low.iter_mut().zip(low).zip(right) {
        (*slot, borrow) = subtract_with_borrow(x, y, borrow);
    }
    for (slot, &x) in out_high.iter_mut().zip(high) {
        (*slot, borrow) = x.overflowing_sub(u64::from(borrow));
    }
    debug_assert!(!borrow, "the difference is not negative");
    significant(&out[..left.len()])
}

/// Adds `addend` in place, which is not longer; the carry.
fn add_in_place(limbs: &mut [u64], addend: &[u64]) -> bool {
    let (low, high) = limbs.split_at_mut(addend.len());
    let mut carry = false;
    for (slot, &y) in low.iter_mut().zip(addend) {
        (*slot, carry) = add_with_carry(*slot, y, carry);
    }
    for slot in high {
        if !carry {
            break;
        }
        (*slot, carry) = slot.overflowing_add(1);
    }
    carry
}

/// Adds one in place; the carry.
pub(crate) fn increment(limbs: &mut [u64]) -> bool {
    add_in_place(limbs, &[1])
}

/// Shifts left by less than a limb into `out`, which is as long; what is shifted out.
pub(crate) fn shift_left(out: &mut [u64], limbs: &[u64], bits: u32) -> u64 {
    debug_assert!(bits < LIMB_BITS && out.len() == limbs.len());
    if bits == 0 {
        out.copy_from_slice(limbs);
        return 0;
    }
    let mut carry = 0;
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        *slot = limb << bits | carry;
        carry = limb >> (LIMB_BITS - bits);
    }
    carry
}

/// Shifts right by less than a limb into `out`, which is as long.
pub(crate) fn shift_right(out: &mut [u64], limbs: &[u64], bits: u32) {
    debug_assert!(bits < LIMB_BITS && out.len() == limbs.len());
    if bits == 0 {
        out.copy_from_slice(limbs);
        return;
    }
    let mut carry = 0;
    for (slot, &limb) in out.iter_mut().zip(limbs).rev() {
        *slot = limb >> bits | carry;
        carry = limb << (LIMB_BITS - bits);
    }
}

/// Shifts right by less than a limb in place.
pub(crate) fn shift_right_in_place(limbs: &mut [u64], bits: u32) {
    if bits == 0 {
        return;
    }
    let mut carry = 0;
    for slot in limbs.iter_mut().rev() {
        let limb = *slot;
        *slot = limb >> bits | carry;
        carry = limb << (LIMB_BITS - bits);
    }
}
