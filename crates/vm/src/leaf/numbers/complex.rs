//! Complex numbers in place: arithmetic, parts and construction.
//!
//! Parts that are doubles are computed with as such; other parts are words, and the operations on reals
//! are those of the module above. The formulas are the tower's.

use canny_number::{self as number, NumberError};
use canny_tables::kinds::Kind;
use canny_value::Value;

use super::InPlace;
use crate::data::numbers::{View, exact_to_f64, view};

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Real and imaginary part, none of a real number.
type Parts<T> = (T, Option<T>);

/// The parts of a number that is no real one with exact parts.
fn doubles(x: Value) -> Option<Parts<f64>> {
    match view(x)? {
        View::Fixnum(n) => Some((n as f64, None)),
        View::Flonum(f) => Some((f, None)),
        View::Complex(real, imaginary) => Some((real.as_flonum()?, Some(imaginary.as_flonum()?))),
        _ => None,
    }
}

/// The parts as doubles, also if they are exact.
fn inexact_parts(x: Value) -> Option<(f64, f64)> {
    let double = |part: Value| part.as_flonum().or_else(|| exact_to_f64(part));
    match view(x)? {
        View::Complex(real, imaginary) => Some((double(real)?, double(imaginary)?)),
        _ => Some((double(x)?, 0.0)),
    }
}

/// The parts of a result, at least one of whose operands is complex.
fn of_doubles(operation: Operation, (a, b): Parts<f64>, (c, d): Parts<f64>) -> (f64, f64) {
    match (operation, b, d) {
        (Operation::Add, Some(b), Some(d)) => (a + c, b + d),
        (Operation::Add, ..) => (a + c, b.or(d).unwrap_or(0.0)),
        (Operation::Subtract, Some(b), Some(d)) => (a - c, b - d),
        (Operation::Subtract, Some(b), None) => (a - c, b),
        (Operation::Subtract, None, d) => (a - c, -d.unwrap_or(0.0)),
        (Operation::Multiply, Some(b), Some(d)) => (a * c - b * d, a * d + b * c),
        (Operation::Multiply, Some(b), None) => (a * c, b * c),
        (Operation::Multiply, None, d) => (c * a, d.unwrap_or(0.0) * a),
        (Operation::Divide, Some(b), None) => (a / c, b / c),
        (Operation::Divide, b, d) => {
            number::divide_complex((a, b.unwrap_or(0.0)), (c, d.unwrap_or(0.0)))
        }
    }
}

impl InPlace {
    /// An operation on two numbers, at least one of them complex. None for long parts, and for a divisor
    /// of zero.
    pub(super) fn complex(&mut self, operation: Operation, x: Value, y: Value) -> Option<Value> {
        if let (Some(left), Some(right)) = (doubles(x), doubles(y)) {
            let (real, imaginary) = of_doubles(operation, left, right);
            return Some(self.compnum_of_doubles(real, imaginary));
        }
        let parts = |x: Value| match view(x)? {
            View::Complex(real, imaginary) => Some((real, Some(imaginary))),
            _ => Some((x, None)),
        };
        let (left, right) = (parts(x)?, parts(y)?);
        match operation {
            Operation::Add | Operation::Subtract => self.complex_sum(operation, left, right),
            Operation::Multiply => self.complex_product(left, right),
            Operation::Divide => self.complex_quotient(x, y),
        }
    }

    fn complex_sum(
        &mut self,
        operation: Operation,
        (a, b): Parts<Value>,
        (c, d): Parts<Value>,
    ) -> Option<Value> {
        let is_sum = operation == Operation::Add;
        let term = |thread: &mut Self, x, y| {
            if is_sum {
                thread.add(x, y)
            } else {
                thread.subtract(x, y)
            }
        };
        let real = term(self, a, c)?;
        let imaginary = match (b, d) {
            (Some(b), Some(d)) => term(self, b, d)?,
            (Some(b), None) => b,
            (None, Some(d)) if is_sum => d,
            (None, Some(d)) => self.negate(d)?,
            (None, None) => return None,
        };
        self.make_rectangular(real, imaginary)
    }

    fn complex_product(&mut self, (a, b): Parts<Value>, (c, d): Parts<Value>) -> Option<Value> {
        let (real, imaginary) = match (b, d) {
            (Some(b), Some(d)) => {
                let (ac, bd) = (self.multiply(a, c)?, self.multiply(b, d)?);
                let (ad, bc) = (self.multiply(a, d)?, self.multiply(b, c)?);
                (self.subtract(ac, bd)?, self.add(ad, bc)?)
            }
            (Some(b), None) => (self.multiply(a, c)?, self.multiply(b, c)?),
            (None, Some(d)) => (self.multiply(c, a)?, self.multiply(d, a)?),
            (None, None) => return None,
        };
        self.make_rectangular(real, imaginary)
    }

    fn complex_quotient(&mut self, x: Value, y: Value) -> Option<Value> {
        let (a, b) = match view(x)? {
            View::Complex(a, b) => (a, b),
            _ => (x, Value::ZERO),
        };
        let View::Complex(c, d) = view(y)? else {
            let (real, imaginary) = (self.divide(a, y)?, self.divide(b, y)?);
            return self.make_rectangular(real, imaginary);
        };
        if a.as_flonum().or(c.as_flonum()).is_some() {
            let (left, right) = inexact_parts(x).zip(inexact_parts(y))?;
            let (real, imaginary) = number::divide_complex(left, right);
            return Some(self.compnum_of_doubles(real, imaginary));
        }
        let (cc, dd) = (self.multiply(c, c)?, self.multiply(d, d)?);
        let norm = self.add(cc, dd)?;
        let (ac, bd) = (self.multiply(a, c)?, self.multiply(b, d)?);
        let (bc, ad) = (self.multiply(b, c)?, self.multiply(a, d)?);
        let (real, imaginary) = (self.add(ac, bd)?, self.subtract(bc, ad)?);
        let (real, imaginary) = (self.divide(real, norm)?, self.divide(imaginary, norm)?);
        self.make_rectangular(real, imaginary)
    }

    fn compnum_of_doubles(&mut self, real: f64, imaginary: f64) -> Value {
        let parts = [self.flonum(real), self.flonum(imaginary)];
        self.0.mutator().fields_in_place(Kind::Compnum, parts)
    }

    /// `(make-rectangular real imaginary)`
    #[inline]
    pub fn make_rectangular(&mut self, real: Value, imaginary: Value) -> Option<Value> {
        let is_inexact = |part: Value| match view(part)? {
            View::Complex(..) => None,
            View::Flonum(_) => Some(true),
            _ => Some(false),
        };
        let (is_real_inexact, is_imaginary_inexact) = (is_inexact(real)?, is_inexact(imaginary)?);
        if imaginary == Value::ZERO {
            return Some(real);
        }
        let parts = match (is_real_inexact, is_imaginary_inexact) {
            (true, false) => [real, self.inexact(imaginary)?],
            (false, true) => [self.inexact(real)?, imaginary],
            _ => [real, imaginary],
        };
        Some(self.0.mutator().fields_in_place(Kind::Compnum, parts))
    }

    /// `(real-part x)`
    #[inline]
    pub fn real_part(&self, x: Value) -> Option<Value> {
        Some(match view(x)? {
            View::Complex(real, _) => real,
            _ => x,
        })
    }

    /// `(imag-part x)`
    #[inline]
    pub fn imaginary_part(&self, x: Value) -> Option<Value> {
        Some(match view(x)? {
            View::Complex(_, imaginary) => imaginary,
            _ => Value::ZERO,
        })
    }

    /// `(magnitude x)`
    #[inline]
    pub fn magnitude(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Complex(real, imaginary) => {
                if let Some((real, imaginary)) = real.as_flonum().zip(imaginary.as_flonum()) {
                    return Some(self.flonum(real.hypot(imaginary)));
                }
                self.of_tower(x, number::magnitude)
            }
            _ => self.absolute(x),
        }
    }

    /// `(angle x)`
    #[inline]
    pub fn angle(&mut self, x: Value) -> Option<Value> {
        match view(x)? {
            View::Complex(real, imaginary) => {
                if let Some((real, imaginary)) = real.as_flonum().zip(imaginary.as_flonum()) {
                    return Some(self.flonum(imaginary.atan2(real)));
                }
                self.of_tower(x, number::angle)
            }
            View::Fixnum(n) if n >= 0 => Some(Value::ZERO),
            View::Flonum(f) if f >= 0.0 => Some(Value::ZERO),
            View::Flonum(f) if f < 0.0 => Some(self.flonum(std::f64::consts::PI)),
            _ => self.of_tower(x, number::angle),
        }
    }

    /// `(make-polar magnitude angle)`
    pub fn make_polar(&mut self, magnitude: Value, angle: Value) -> Option<Value> {
        match magnitude.as_flonum().zip(angle.as_flonum()) {
            Some((magnitude, angle)) => {
                let (sine, cosine) = angle.sin_cos();
                Some(self.compnum_of_doubles(magnitude * cosine, magnitude * sine))
            }
            None => {
                let polar: fn(&_, &_) -> Result<_, NumberError> = number::make_polar;
                self.of_tower2(magnitude, angle, polar)
            }
        }
    }
}
