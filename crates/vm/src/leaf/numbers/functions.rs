//! Functions of one number in place: signs, exactness, rounding, and the parts of ratios; divisors and
//! powers. Each gives none for a value that is no number, for an error, and for long numbers.

use std::cmp::Ordering;

use canny_number::short_ratio::{ShortRatio, gcd};
use canny_number::{self as number, Division};
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIXNUM_MIN, FLAG_NEGATIVE};
use canny_value::{ObjectRef, Value};

use super::{InPlace, TOWER_LIMBS_MAX};
use crate::data::numbers::{View, exact_sign, exact_to_f64, limbs_of, view, with_integer};

/// Bits of a part of a ratio that is a fixnum.
const PART_BITS: u32 = 61;

/// The numerator of a flonum that is no integer, an odd number, and the denominator's bits below its
/// only one. None for other flonums, and for those out of the usual range.
fn odd_and_zeros(f: f64) -> Option<(i64, u32)> {
    const DIGITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = f.to_bits();
    let exponent = (bits >> DIGITS) as u32 & 0x7ff;
    // The number is the mantissa times 2 to this less the bias.
    let bias = f64::MAX_EXP as u32 - 1 + DIGITS;
    if exponent == 0 || exponent >= bias {
        return None;
    }
    let mantissa = bits & ((1 << DIGITS) - 1) | 1 << DIGITS;
    let even = mantissa.trailing_zeros();
    let zeros = (bias - exponent)
        .checked_sub(even)
        .filter(|zeros| *zeros > 0)?;
    let odd = (mantissa >> even) as i64;
    (zeros < f64::MAX_EXP as u32).then_some((if f < 0.0 { -odd } else { odd }, zeros))
}

impl InPlace {
    /// `(- x)`
    pub fn negate(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Fixnum(n) => Some(self.integer(-n)),
            View::Flonum(f) => Some(self.flonum(-f)),
            View::Bignum(limbs) => self.with_sign(limbs, !limbs.has_flag(FLAG_NEGATIVE)),
            View::Ratio(numerator, denominator) => {
                let numerator = self.negate(numerator)?;
                Some(self.ratnum(numerator, denominator))
            }
            View::Complex(real, imaginary) => {
                let parts = [self.negate(real)?, self.negate(imaginary)?];
                Some(self.0.mutator().fields_in_place(Kind::Compnum, parts))
            }
        }
    }

    /// A bignum with the limbs of another one, or the fixnum that it is then.
    fn with_sign(&mut self, bignum: ObjectRef, is_negative: bool) -> Option<Value> {
        // Only the magnitude of the least fixnum is a bignum.
        if is_negative && bignum.length() == 1 && bignum.raw_word(0) == FIXNUM_MIN.unsigned_abs() {
            return Some(Value::fixnum(FIXNUM_MIN));
        }
        let copy = self.new_bignum(is_negative, bignum.length())?;
        let place: *mut u64 = super::payload(copy)?;
        // SAFETY: the fresh bignum has as many limbs as the other one, and is another object.
        bignum.with_limbs(|limbs| unsafe {
            std::ptr::copy_nonoverlapping(limbs.as_ptr(), place, limbs.len());
        });
        Some(copy)
    }

    fn ratnum(&mut self, numerator: Value, denominator: Value) -> Value {
        let parts = [numerator, denominator];
        self.0.mutator().fields_in_place(Kind::Ratnum, parts)
    }

    /// `(abs x)`
    #[inline]
    pub fn absolute(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Fixnum(n) => Some(self.integer(n.abs())),
            View::Flonum(f) => Some(self.flonum(f.abs())),
            View::Complex(..) => None,
            View::Bignum(limbs) if limbs.has_flag(FLAG_NEGATIVE) => self.with_sign(limbs, false),
            View::Bignum(_) => Some(x),
            View::Ratio(..) => match exact_sign(x)? {
                Ordering::Less => self.negate(x),
                _ => Some(x),
            },
        }
    }

    /// `(/ x)`
    pub fn reciprocal(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Flonum(f) => Some(self.flonum(1.0 / f)),
            View::Complex(..) => self.divide(Value::fixnum(1), x),
            View::Fixnum(0) => None,
            View::Fixnum(1 | -1) => Some(x),
            View::Fixnum(_) | View::Bignum(_) => {
                let is_negative = exact_sign(x)?.is_lt();
                let magnitude = self.absolute(x)?;
                let unit = Value::fixnum(if is_negative { -1 } else { 1 });
                Some(self.ratnum(unit, magnitude))
            }
            View::Ratio(numerator, denominator) => {
                let is_negative = exact_sign(numerator)?.is_lt();
                let above = if is_negative {
                    self.negate(denominator)?
                } else {
                    denominator
                };
                let below = self.absolute(numerator)?;
                if below == Value::fixnum(1) {
                    return Some(above);
                }
                Some(self.ratnum(above, below))
            }
        }
    }

    /// `(exact x)`
    #[inline]
    pub fn exact(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Flonum(f) => {
                // Out of range, the conversion saturates to what is no fixnum.
                let integer = f as i64;
                if integer as f64 == f
                    && let Some(fixnum) = Value::try_fixnum(integer)
                {
                    return Some(fixnum);
                }
                if let Some((numerator, zeros)) = odd_and_zeros(f)
                    && zeros < PART_BITS
                {
                    let parts = [Value::fixnum(numerator), Value::fixnum(1 << zeros)];
                    return Some(self.0.mutator().fields_in_place(Kind::Ratnum, parts));
                }
                self.of_tower(x, number::exact)
            }
            View::Complex(real, _) if real.as_flonum().is_some() => self.of_tower(x, number::exact),
            _ => Some(x),
        }
    }

    /// `(inexact x)`
    #[inline]
    pub fn inexact(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Flonum(_) => Some(x),
            View::Complex(real, imaginary) => {
                let parts = [self.inexact(real)?, self.inexact(imaginary)?];
                Some(self.0.mutator().fields_in_place(Kind::Compnum, parts))
            }
            _ => match exact_to_f64(x) {
                Some(flonum) => Some(self.flonum(flonum)),
                None => self.of_tower(x, |x| Ok(number::inexact(x))),
            },
        }
    }

    /// `(floor x)`, `(ceiling x)`, `(truncate x)` or `(round x)`, with the function for flonums.
    #[inline]
    pub fn rounded(
        &mut self,
        x: Value,
        division: Division,
        of_flonum: fn(f64) -> f64,
    ) -> Option<Value> {
        match view(x)? {
            View::Fixnum(_) | View::Bignum(_) => Some(x),
            View::Flonum(f) => Some(self.flonum(of_flonum(f))),
            View::Complex(..) => None,
            View::Ratio(numerator, denominator) => {
                if let Some((above, below)) = numerator.as_fixnum().zip(denominator.as_fixnum())
                    && let Some(ratio) = ShortRatio::new(above, below)
                {
                    return Some(self.integer(ratio.round(division)));
                }
                match division {
                    Division::Floor => self.floor_quotient(numerator, denominator),
                    Division::Truncate => self.quotient(numerator, denominator),
                    Division::Ceiling => {
                        let floor = self.floor_quotient(numerator, denominator)?;
                        self.add(floor, Value::fixnum(1))
                    }
                    _ => self.of_tower(x, number::round),
                }
            }
        }
    }

    /// The exact integer that is nearest in some direction.
    pub fn exact_rounded(
        &mut self,
        x: Value,
        division: Division,
        of_flonum: fn(f64) -> f64,
    ) -> Option<Value> {
        let rounded = self.rounded(x, division, of_flonum)?;
        self.exact(rounded)
    }

    /// `(numerator x)`
    #[inline]
    pub fn numerator(&mut self, x: Value) -> Option<Value> {
        if let Some(ratio) = x.as_kind(Kind::Ratnum) {
            return Some(ratio.field(0));
        }
        match view(x)? {
            View::Fixnum(_) | View::Bignum(_) => Some(x),
            View::Ratio(numerator, _) => Some(numerator),
            View::Flonum(f) => match odd_and_zeros(f) {
                Some((numerator, _)) => Some(self.flonum(numerator as f64)),
                None => self.of_tower(x, number::numerator),
            },
            View::Complex(..) => None,
        }
    }

    /// `(denominator x)`
    #[inline]
    pub fn denominator(&mut self, x: Value) -> Option<Value> {
        if let Some(ratio) = x.as_kind(Kind::Ratnum) {
            return Some(ratio.field(1));
        }
        match view(x)? {
            View::Fixnum(_) | View::Bignum(_) => Some(Value::fixnum(1)),
            View::Ratio(_, denominator) => Some(denominator),
            View::Flonum(f) => match odd_and_zeros(f) {
                Some((_, zeros)) => {
                    let exponent = f64::MAX_EXP as u64 - 1 + u64::from(zeros);
                    Some(self.flonum(f64::from_bits(exponent << (f64::MANTISSA_DIGITS - 1))))
                }
                None => self.of_tower(x, number::denominator),
            },
            View::Complex(..) => None,
        }
    }

    /// `(odd? x)`
    #[inline]
    pub fn is_odd(&self, x: Value) -> Option<bool> {
        match view(x)? {
            View::Flonum(f) if f.is_finite() && f.trunc() == f => Some(f % 2.0 != 0.0),
            View::Flonum(_) => None,
            _ => with_integer(x, |integer| integer.is_odd()),
        }
    }

    /// `(exact? x)`
    #[inline]
    pub fn is_exact(&self, x: Value) -> Option<bool> {
        Some(match view(x)? {
            View::Flonum(_) => false,
            View::Complex(real, _) => real.as_flonum().is_none(),
            _ => true,
        })
    }

    /// Whether the flonum, or a part of the complex number, is so.
    #[inline]
    pub fn any_part(&self, x: Value, holds: fn(f64) -> bool) -> Option<bool> {
        let of_part = |part: Value| part.as_flonum().is_some_and(holds);
        Some(match view(x)? {
            View::Flonum(f) => holds(f),
            View::Complex(real, imaginary) => of_part(real) || of_part(imaginary),
            _ => false,
        })
    }

    /// `(gcd x y)`
    #[inline]
    pub fn gcd(&mut self, x: Value, y: Value) -> Option<Value> {
        match (view(x)?, view(y)?) {
            (View::Fixnum(x), View::Fixnum(y)) => {
                Some(self.integer(gcd(x.unsigned_abs(), y.unsigned_abs()) as i64))
            }
            (View::Fixnum(0), View::Bignum(_)) => self.absolute(y),
            (View::Bignum(_), View::Fixnum(0)) => self.absolute(x),
            (View::Fixnum(n), View::Bignum(_)) => self.gcd_of_short(y, n),
            (View::Bignum(_), View::Fixnum(n)) => self.gcd_of_short(x, n),
            _ => self.of_tower2(x, y, number::gcd),
        }
    }

    fn gcd_of_short(&mut self, long: Value, short: i64) -> Option<Value> {
        let short = short.unsigned_abs();
        let rest = with_integer(long, |long| long.magnitude_remainder(short))?;
        Some(self.integer(gcd(rest, short) as i64))
    }

    /// `(lcm x y)`
    pub fn lcm(&mut self, x: Value, y: Value) -> Option<Value> {
        if !matches!(
            (view(x)?, view(y)?),
            (
                View::Fixnum(_) | View::Bignum(_),
                View::Fixnum(_) | View::Bignum(_)
            )
        ) {
            return self.of_tower2(x, y, number::lcm);
        }
        if x == Value::ZERO || y == Value::ZERO {
            return Some(Value::ZERO);
        }
        let shared = self.gcd(x, y)?;
        let part = self.quotient(x, shared)?;
        let product = self.multiply(part, y)?;
        self.absolute(product)
    }

    /// Quotient and remainder, rounded down or to zero.
    pub fn divided(&mut self, division: Division, x: Value, y: Value) -> Option<Value> {
        let parts = match division {
            Division::Floor => [self.floor_quotient(x, y)?, self.modulo(x, y)?],
            Division::Truncate => [self.quotient(x, y)?, self.remainder(x, y)?],
            _ => return None,
        };
        Some(self.0.mutator().fields_in_place(Kind::Values, parts))
    }

    /// `(exact-integer-sqrt x)`
    #[inline]
    pub fn exact_integer_sqrt(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Fixnum(n) if n >= 0 => {
                let root = n.isqrt();
                let parts = [root, n - root * root].map(Value::fixnum);
                Some(self.0.mutator().fields_in_place(Kind::Values, parts))
            }
            View::Bignum(_) if limbs_of(x) <= TOWER_LIMBS_MAX => {
                let operand = crate::data::numbers::number_of(x)?;
                let (root, rest) = number::exact_integer_sqrt(&operand).ok()?;
                let parts = [self.number(&root)?, self.number(&rest)?];
                Some(self.values(&parts))
            }
            _ => None,
        }
    }

    /// `(expt base exponent)`
    #[inline]
    pub fn expt(&mut self, base: Value, exponent: Value) -> Option<Value> {
        let exponent_size = match view(exponent)? {
            View::Fixnum(n) => n.unsigned_abs() as usize,
            View::Flonum(_) => 1,
            _ => return None,
        };
        match (view(base)?, view(exponent)?) {
            (View::Fixnum(base), View::Fixnum(exponent)) => {
                if base == 2 && (0..=60).contains(&exponent) {
                    return Some(Value::fixnum(1 << exponent));
                }
                let power = u32::try_from(exponent).ok();
                if let Some(power) = power.and_then(|power| base.checked_pow(power)) {
                    return Some(self.integer(power));
                }
                if base == 2 && exponent >= 0 {
                    return self.arithmetic_shift(Value::fixnum(1), Value::fixnum(exponent));
                }
            }
            (View::Flonum(base), View::Flonum(exponent)) if base > 0.0 => {
                return Some(self.flonum(base.powf(exponent)));
            }
            (View::Flonum(base), View::Fixnum(exponent)) => {
                let size = base.abs().powf(exponent as f64);
                let is_negative = base.is_sign_negative() && exponent & 1 == 1;
                return Some(self.flonum(if is_negative { -size } else { size }));
            }
            (View::Ratio(above, below), View::Fixnum(exponent)) => {
                if let Some(power) = self.power_of_ratio(above, below, exponent) {
                    return Some(power);
                }
            }
            (View::Complex(..), View::Fixnum(2)) => return self.multiply(base, base),
            _ => {}
        }
        let words = match view(base)? {
            View::Flonum(_) => 0,
            _ => exponent_size.saturating_mul(limbs_of(base).max(1)),
        };
        (words <= TOWER_LIMBS_MAX)
            .then(|| self.of_tower2(base, exponent, number::expt))
            .flatten()
    }

    /// A power of a ratio with parts that are fixnums.
    fn power_of_ratio(&mut self, above: Value, below: Value, exponent: i64) -> Option<Value> {
        let count = u32::try_from(exponent.unsigned_abs()).ok()?;
        let above = above.as_fixnum()?.checked_pow(count)?;
        let below = below.as_fixnum()?.checked_pow(count)?;
        let (above, below) = match exponent {
            0 => return Some(Value::fixnum(1)),
            1.. => (above, below),
            _ if above < 0 => (-below, above.checked_neg()?),
            _ => (below, above),
        };
        let (above, below) = (self.integer(above), self.integer(below));
        self.quotient_of(above, below)
    }
}
