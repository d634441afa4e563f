//! Ratios with long parts, in place: by the operations on integers.
//!
//! Common factors are taken out before products where the parts have no others.

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::InPlace;
use super::complex::Operation;
use crate::data::numbers::{View, exact_sign, view};

const ONE: Value = Value::fixnum(1);

/// Numerator and denominator of an exact real number.
fn parts(x: Value) -> Option<(Value, Value)> {
    match view(x)? {
        View::Fixnum(_) | View::Bignum(_) => Some((x, ONE)),
        View::Ratio(numerator, denominator) => Some((numerator, denominator)),
        View::Flonum(_) | View::Complex(..) => None,
    }
}

impl InPlace {
    /// An operation on exact real numbers, at least one of them a ratio. None for long results, and for a
    /// divisor of zero.
    pub(super) fn long_ratios(
        &mut self,
        operation: Operation,
        x: Value,
        y: Value,
    ) -> Option<Value> {
        let ((a, b), (c, d)) = (parts(x)?, parts(y)?);
        match operation {
            Operation::Add | Operation::Subtract => self.sum_of_ratios(operation, (a, b), (c, d)),
            Operation::Multiply => self.product_of_ratios((a, b), (c, d)),
            Operation::Divide if c == Value::ZERO => None,
            Operation::Divide => self.product_of_ratios((a, b), (d, c)),
        }
    }

    /// A product that is not made where a factor is one.
    fn times(&mut self, x: Value, y: Value) -> Option<Value> {
        if x == ONE {
            Some(y)
        } else if y == ONE {
            Some(x)
        } else {
            self.multiply(x, y)
        }
    }

    /// The factors without their greatest common divisor. The second one is not zero.
    pub(super) fn without_common_factor(&mut self, x: Value, y: Value) -> Option<(Value, Value)> {
        if x == ONE || y == ONE {
            return Some((x, y));
        }
        let shared = self.gcd(x, y)?;
        if shared == ONE {
            return Some((x, y));
        }
        Some((self.quotient(x, shared)?, self.quotient(y, shared)?))
    }

    /// The ratio of integers that have no common factor, or an integer. The second one is not zero.
    pub(super) fn quotient_of(&mut self, above: Value, below: Value) -> Option<Value> {
        let (mut above, mut below) = (above, below);
        if exact_sign(below)?.is_lt() {
            (above, below) = (self.negate(above)?, self.negate(below)?);
        }
        if below == ONE || above == Value::ZERO {
            return Some(above);
        }
        let parts = [above, below];
        Some(self.0.mutator().fields_in_place(Kind::Ratnum, parts))
    }

    /// `a/b * c/d`
    fn product_of_ratios(
        &mut self,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Option<Value> {
        let (a, d) = self.without_common_factor(a, d)?;
        let (c, b) = self.without_common_factor(c, b)?;
        let (above, below) = (self.times(a, c)?, self.times(b, d)?);
        self.quotient_of(above, below)
    }

    /// `a/b + c/d` or `a/b - c/d`
    fn sum_of_ratios(
        &mut self,
        operation: Operation,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Option<Value> {
        let (left, right) = (self.times(a, d)?, self.times(c, b)?);
        let above = match operation {
            Operation::Add => self.add(left, right)?,
            _ => self.subtract(left, right)?,
        };
        if b == ONE || d == ONE {
            // The denominator has no factor in common with the numerator.
            return self.quotient_of(above, if b == ONE { d } else { b });
        }
        let below = self.multiply(b, d)?;
        let (above, below) = self.without_common_factor(above, below)?;
        self.quotient_of(above, below)
    }
}
