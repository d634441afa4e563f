//! Quotients and remainders.
//!
//! Division is Knuth's algorithm D. Digits of the quotient come from a reciprocal of the divisor's top
//! limbs, after Möller and Granlund, "Improved division by invariant integers" (2011), whose names for
//! words the two steps use.

use super::multiply::subtract_product;
use super::{LIMB_BITS, add_in_place};

#[inline(always)]
fn join(high: u64, low: u64) -> u128 {
    u128::from(high) << LIMB_BITS | u128::from(low)
}

#[inline(always)]
fn split(value: u128) -> (u64, u64) {
    ((value >> LIMB_BITS) as u64, value as u64)
}

/// A divisor of one limb, shifted so that its top bit is set, and its reciprocal.
#[derive(Clone, Copy)]
struct OneLimb {
    divisor: u64,
    reciprocal: u64,
}

impl OneLimb {
    fn new(divisor: u64) -> OneLimb {
        debug_assert!(divisor >> (LIMB_BITS - 1) == 1);
        // (2^128 - 1) / d - 2^64; the dividend's top limb is smaller than d.
        let reciprocal = (join(!divisor, u64::MAX) / u128::from(divisor)) as u64;
        OneLimb {
            divisor,
            reciprocal,
        }
    }

    /// Quotient and remainder of two limbs, the upper one smaller than the divisor.
    #[inline(always)]
    fn divide(self, u1: u64, u0: u64) -> (u64, u64) {
        let product = u128::from(self.reciprocal) * u128::from(u1);
        let (q1, q0) = split(product.wrapping_add(join(u1, u0)));
        let mut q = q1.wrapping_add(1);
        let mut r = u0.wrapping_sub(q.wrapping_mul(self.divisor));
        if r > q0 {
            q = q.wrapping_sub(1);
            r = r.wrapping_add(self.divisor);
        }
        if r >= self.divisor {
            q += 1;
            r -= self.divisor;
        }
        (q, r)
    }
}

/// The top two limbs of a divisor, shifted so that the top bit is set, and their reciprocal.
#[derive(Clone, Copy)]
struct TwoLimbs {
    divisor: u128,
    reciprocal: u64,
}

impl TwoLimbs {
    fn new(d1: u64, d0: u64) -> TwoLimbs {
        let mut v = OneLimb::new(d1).reciprocal;
        let mut p = d1.wrapping_mul(v).wrapping_add(d0);
        if p < d0 {
            v = v.wrapping_sub(1);
            if p >= d1 {
                v = v.wrapping_sub(1);
                p = p.wrapping_sub(d1);
            }
            p = p.wrapping_sub(d1);
        }
        let (t1, t0) = split(u128::from(v) * u128::from(d0));
        let (sum, carry) = p.overflowing_add(t1);
        if carry {
            v = v.wrapping_sub(1);
            if join(sum, t0) >= join(d1, d0) {
                v = v.wrapping_sub(1);
            }
        }
        TwoLimbs {
            divisor: join(d1, d0),
            reciprocal: v,
        }
    }

    /// Quotient and remainder of three limbs, the upper two smaller than the divisor.
    #[inline(always)]
    fn divide(self, u2: u64, u1: u64, u0: u64) -> (u64, u128) {
        let (d1, d0) = split(self.divisor);
        let product = u128::from(self.reciprocal) * u128::from(u2);
        let (q1, q0) = split(product.wrapping_add(join(u2, u1)));
        let r1 = u1.wrapping_sub(q1.wrapping_mul(d1));
        let mut r = join(r1, u0)
            .wrapping_sub(u128::from(d0) * u128::from(q1))
            .wrapping_sub(self.divisor);
        let mut q = q1.wrapping_add(1);
        if (r >> LIMB_BITS) as u64 >= q0 {
            q = q.wrapping_sub(1);
            r = r.wrapping_add(self.divisor);
        }
        if r >= self.divisor {
            q = q.wrapping_add(1);
            r = r.wrapping_sub(self.divisor);
        }
        (q, r)
    }
}

/// Limbs of a dividend that are divided by half a limb with the machine's divisions: a reciprocal takes
/// as long as some of them.
const HALVES_LIMBS_MAX: usize = 6;

/// Quotient and remainder of two limbs, the upper one smaller than the divisor, which has half the bits
/// of a limb.
#[inline(always)]
fn divide_by_half(above: u64, limb: u64, divisor: u64) -> (u64, u64) {
    const HALF: u32 = LIMB_BITS / 2;
    let high = above << HALF | limb >> HALF;
    let (quotient, above) = (high / divisor, high % divisor);
    let low = above << HALF | limb & u64::from(u32::MAX);
    ((quotient << HALF) | (low / divisor), low % divisor)
}

fn is_for_halves(dividend: &[u64], divisor: u64) -> bool {
    divisor <= u64::from(u32::MAX) && dividend.len() <= HALVES_LIMBS_MAX
}

/// The remainder of a division by one limb that is not zero.
pub(crate) fn remainder_by_limb(dividend: &[u64], divisor: u64) -> u64 {
    if is_for_halves(dividend, divisor) {
        let limbs = dividend.iter().rev();
        return limbs.fold(0, |above, limb| divide_by_half(above, *limb, divisor).1);
    }
    let limbs = dividend.iter().rev();
    limbs.fold(0, |above, limb| {
        (join(above, *limb) % u128::from(divisor)) as u64
    })
}

/// The quotient by one limb, in `out`, which is as long as the dividend; the remainder.
pub(crate) fn divide_by_limb(out: &mut [u64], dividend: &[u64], divisor: u64) -> u64 {
    debug_assert!(divisor != 0 && out.len() == dividend.len());
    if is_for_halves(dividend, divisor) {
        let mut above = 0;
        for (out, limb) in out.iter_mut().zip(dividend).rev() {
            (*out, above) = divide_by_half(above, *limb, divisor);
        }
        return above;
    }
    let shift = divisor.leading_zeros();
    let unit = OneLimb::new(divisor << shift);
    let mut above = match dividend.last() {
        Some(top) if shift > 0 => top >> (LIMB_BITS - shift),
        _ => 0,
    };
    for index in (0..dividend.len()).rev() {
        let below = match index {
            _ if shift == 0 => dividend[index],
            0 => dividend[0] << shift,
            _ => dividend[index] << shift | dividend[index - 1] >> (LIMB_BITS - shift),
        };
        (out[index], above) = unit.divide(above, below);
    }
    above >> shift
}

/// Divides in place. The divisor has at least two limbs and its top bit set; the dividend is as much
/// shifted, has a limb more than that takes (which may be zero), and is not shorter than the divisor and
/// one more. The remainder replaces its lowest limbs, the quotient goes to `quotient`, which has as many
/// limbs as the dividend is longer.
pub(crate) fn divide_normalized(quotient: &mut [u64], dividend: &mut [u64], divisor: &[u64]) {
    let count = divisor.len();
    debug_assert!(count >= 2 && quotient.len() + count == dividend.len());
    let (d1, d0) = (divisor[count - 1], divisor[count - 2]);
    let top = TwoLimbs::new(d1, d0);
    let lower = &divisor[..count - 2];
    // The dividend's top limb is less than the divisor's: it was shifted out of a limb.
    let mut u2 = dividend[dividend.len() - 1];
    for index in (0..quotient.len()).rev() {
        // The digit's dividend is window and u2 above it; the window is as long as the divisor.
        let window = &mut dividend[index..index + count];
        let (u1, u0) = (window[count - 1], window[count - 2]);
        let mut digit;
        if u2 == d1 && u1 == d0 {
            digit = u64::MAX;
            subtract_product(window, divisor, digit);
            u2 = window[count - 1];
        } else {
            let (estimate, rest) = top.divide(u2, u1, u0);
            digit = estimate;
            let missing = subtract_product(&mut window[..count - 2], lower, digit);
            let (difference, borrow) = rest.overflowing_sub(u128::from(missing));
            let (r1, r0) = split(difference);
            window[count - 2] = r0;
            u2 = r1;
            if borrow {
                // The estimate was one too large.
                let carry = add_in_place(&mut window[..count - 1], &divisor[..count - 1]);
                u2 = u2.wrapping_add(d1).wrapping_add(u64::from(carry));
                digit -= 1;
            }
        }
        quotient[index] = digit;
    }
    dividend[count - 1] = u2;
}
