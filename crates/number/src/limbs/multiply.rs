//! Products.
//!
//! The inner loop takes two limbs of the shorter factor at once: the accumulator is read and written half
//! as often, and there are two independent chains of carries.

use super::{LIMB_BITS, significant};

#[inline(always)]
fn low(product: u128) -> u64 {
    product as u64
}

#[inline(always)]
fn high(product: u128) -> u64 {
    (product >> LIMB_BITS) as u64
}

#[inline(always)]
fn multiply_add(left: u64, right: u64, first: u64, second: u64) -> u128 {
    // At most (2^64 - 1)^2 + 2 (2^64 - 1), which is 2^128 - 1.
    u128::from(left) * u128::from(right) + u128::from(first) + u128::from(second)
}

/// `out = limbs * factor + carry`; what does not fit.
pub(crate) fn multiply_by_limb(out: &mut [u64], limbs: &[u64], factor: u64, carry: u64) -> u64 {
    let mut carry = carry;
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        let product = multiply_add(limb, factor, carry, 0);
        *slot = low(product);
        carry = high(product);
    }
    carry
}

/// `out += limbs * factor`, both equally long; what does not fit.
fn add_product(out: &mut [u64], limbs: &[u64], factor: u64) -> u64 {
    let mut carry = 0;
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        let product = multiply_add(limb, factor, *slot, carry);
        *slot = low(product);
        carry = high(product);
    }
    carry
}

/// `out -= limbs * factor`, both equally long; what is missing.
pub(super) fn subtract_product(out: &mut [u64], limbs: &[u64], factor: u64) -> u64 {
    let mut missing = 0;
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        let product = multiply_add(limb, factor, missing, 0);
        let (difference, borrow) = slot.overflowing_sub(low(product));
        *slot = difference;
        missing = high(product) + u64::from(borrow);
    }
    missing
}

/// `out = limbs * (first + second * 2^64)`, all but the two last limbs, which are given back.
fn multiply_by_two_limbs(out: &mut [u64], limbs: &[u64], first: u64, second: u64) -> (u64, u64) {
    let (mut carry, mut carry_above) = (0, 0);
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        let product = multiply_add(limb, first, carry, 0);
        *slot = low(product);
        let above = multiply_add(limb, second, high(product), carry_above);
        (carry, carry_above) = (low(above), high(above));
    }
    (carry, carry_above)
}

/// As [`multiply_by_two_limbs`], added to what is in `out`.
fn add_product_of_two_limbs(out: &mut [u64], limbs: &[u64], first: u64, second: u64) -> (u64, u64) {
    let (mut carry, mut carry_above) = (0, 0);
    for (slot, &limb) in out.iter_mut().zip(limbs) {
        let product = multiply_add(limb, first, *slot, carry);
        *slot = low(product);
        let above = multiply_add(limb, second, high(product), carry_above);
        (carry, carry_above) = (low(above), high(above));
    }
    (carry, carry_above)
}

/// The product, in `out`, which is as long as both factors together; its significant limbs.
pub(crate) fn multiply(out: &mut [u64], left: &[u64], right: &[u64]) -> usize {
    let (long, short) = if left.len() >= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    debug_assert!(out.len() == long.len() + short.len());
    let count = long.len();
    let mut done;
    match short {
        [] => return 0,
        [only] => {
            out[count] = multiply_by_limb(&mut out[..count], long, *only, 0);
            return significant(out);
        }
        [first, second, ..] => {
            let top = multiply_by_two_limbs(&mut out[..count], long, *first, *second);
            (out[count], out[count + 1]) = top;
            done = 2;
        }
    }
    while done + 2 <= short.len() {
        let place = &mut out[done..done + count];
        let top = add_product_of_two_limbs(place, long, short[done], short[done + 1]);
        (out[done + count], out[done + count + 1]) = top;
        done += 2;
    }
    if done < short.len() {
        out[done + count] = add_product(&mut out[done..done + count], long, short[done]);
    }
    significant(out)
}

/// The square, in `out`, which is twice as long; its significant limbs.
pub(crate) fn square(out: &mut [u64], limbs: &[u64]) -> usize {
    let count = limbs.len();
    debug_assert!(out.len() == 2 * count);
    if count < 4 {
        return multiply(out, limbs, limbs);
    }
    // The products of different limbs, once each; the first row needs no accumulator.
    out[0] = 0;
    out[count] = multiply_by_limb(&mut out[1..count], &limbs[1..], limbs[0], 0);
    for index in 1..count {
        let place = &mut out[2 * index + 1..index + count];
        out[index + count] = add_product(place, &limbs[index + 1..], limbs[index]);
    }
    // Twice these, and the squares.
    let (mut shifted, mut carry) = (0, false);
    for (pair, &limb) in out.chunks_exact_mut(2).zip(limbs) {
        let square = u128::from(limb) * u128::from(limb);
        let doubled = [
            pair[0] << 1 | shifted,
            pair[1] << 1 | pair[0] >> (LIMB_BITS - 1),
        ];
        shifted = pair[1] >> (LIMB_BITS - 1);
        (pair[0], carry) = super::add_with_carry(doubled[0], low(square), carry);
        (pair[1], carry) = super::add_with_carry(doubled[1], high(square), carry);
    }
    significant(out)
}
