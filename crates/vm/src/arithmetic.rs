//! Generic arithmetic on words, for handlers' slow paths, primitives and leaf functions.
//!
//! Fixnums, flonums, short ratios and inexact complex numbers have fast paths. All others go
//! through `canny_number`, which alone defines what an operation means: a fast path agrees with it
//! bit by bit. Operations on long integers are offloaded to another thread, so that this one can
//! run other tasks.

use std::cmp::Ordering;

use canny_number::integers::Workspace;
use canny_number::{self as number, Division, Number, NumberError};
use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::numbers::{
    LONG_LIMBS, Numeric, integer_ordering, limbs_of, number_of, numeric, short_ratios,
};
use crate::primitive::Raise;
use crate::thread::Thread;

/// The numbers of two operands, or a type condition that names the wrong one.
fn both(thread: &mut Thread, who: &str, x: Value, y: Value) -> Result<(Number, Number), Raise> {
    let Some(left) = number_of(x) else {
        return Err(thread.raise_type(who, 1, "number", x));
    };
    let Some(right) = number_of(y) else {
        return Err(thread.raise_type(who, 2, "number", y));
    };
    Ok((left, right))
}

/// How the time of an operation on integers grows with their limbs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    Linear,
    Higher,
}

/// Real and imaginary part.
type Parts = (f64, f64);

/// The parts of an inexact complex number, or of a flonum.
fn flonum_parts(x: Value) -> Option<Parts> {
    if let Some(object) = x.as_kind(Kind::Compnum) {
        return Some((object.field(0).as_flonum()?, object.field(1).as_flonum()?));
    }
    Some((x.as_flonum()?, 0.0))
}

impl Thread {
    /// An inexact complex number.
    fn compnum(&mut self, re: f64, im: f64) -> Value {
        let re = self.flonum(re);
        let re = self.protect(re);
        let im = self.flonum(im);
        let im = self.protect(im);
        let object = self.object(Kind::Compnum, 0, 2, Value::ZERO);
        self.store(object, 0, self.protected(re));
        self.store(object, 1, self.protected(im));
        self.release(re);
        object
    }

    /// Sum, difference or product when both operands are inexact complex numbers with finite parts, which is
    /// where the tower's rules and the schoolbook's formulas agree.
    fn complex(
        &mut self,
        x: Value,
        y: Value,
        operation: fn(Parts, Parts) -> Parts,
    ) -> Option<Value> {
        if !x.is_kind(Kind::Compnum) || !y.is_kind(Kind::Compnum) {
            return None;
        }
        let (re, im) = operation(flonum_parts(x)?, flonum_parts(y)?);
        (re.is_finite() && im.is_finite()).then(|| self.compnum(re, im))
    }

    fn tower(
        &mut self,
        who: &str,
        x: Value,
        y: Value,
        cost: Cost,
        operation: fn(&Number, &Number) -> Result<Number, NumberError>,
    ) -> Result<Value, Raise> {
        let (left, right) = both(self, who, x, y)?;
        let is_ratio = |value: Value| value.is_kind(Kind::Ratnum);
        let is_linear = cost == Cost::Linear && !is_ratio(x) && !is_ratio(y);
        let (result, left) = if is_linear || limbs_of(x) + limbs_of(y) < LONG_LIMBS {
            (operation(&left, &right), left)
        } else {
            self.compute_offloaded(who, &[x, y], move || (operation(&left, &right), left))?
        };
        match result {
            Ok(result) => self.number(&result),
            // The number that is no integer is named like any argument of a wrong type.
            Err(NumberError::NotInteger(_)) => Err(if number::is_integer(&left) {
                self.raise_type(who, 2, "integer", y)
            } else {
                self.raise_type(who, 1, "integer", x)
            }),
            Err(error) => Err(self.raise_number(who, &error, &[x, y])),
        }
    }

    /// `(+ x y)`
    pub fn add(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) => Ok(self.integer(a + b)),
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(self.flonum(a + b)),
            _ => {
                if let Some(result) = self.complex(x, y, |(a, b), (c, d)| (a + c, b + d)) {
                    return Ok(result);
                }
                if let Some(result) = self.of_integers(x, y, Workspace::add) {
                    return result;
                }
                if let Some((left, right)) = short_ratios(x, y) {
                    return self.ratio(left.plus(right));
                }
                self.tower("+", x, y, Cost::Linear, number::add)
            }
        }
    }

    /// `(- x y)`
    pub fn subtract(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) => Ok(self.integer(a - b)),
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(self.flonum(a - b)),
            _ => {
                if let Some(result) = self.complex(x, y, |(a, b), (c, d)| (a - c, b - d)) {
                    return Ok(result);
                }
                if let Some(result) = self.of_integers(x, y, Workspace::subtract) {
                    return result;
                }
                if let Some((left, right)) = short_ratios(x, y) {
                    return self.ratio(left.plus(right.negate()));
                }
                self.tower("-", x, y, Cost::Linear, number::sub)
            }
        }
    }

    /// `(* x y)`
    pub fn multiply(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) => match a.checked_mul(b) {
                Some(product) => Ok(self.integer(product)),
                None => self.number(&Number::from_i128(i128::from(a) * i128::from(b))),
            },
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(self.flonum(a * b)),
            _ => {
                if let Some(result) =
                    self.complex(x, y, |(a, b), (c, d)| (a * c - b * d, a * d + b * c))
                {
                    return Ok(result);
                }
                if let Some(result) = self.of_integers(x, y, Workspace::multiply) {
                    return result;
                }
                if let Some((left, right)) = short_ratios(x, y) {
                    return self.ratio(left.times(right));
                }
                self.tower("*", x, y, Cost::Higher, number::mul)
            }
        }
    }

    /// `(/ x y)`
    pub fn divide(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) if b != 0 && a % b == 0 => {
                Ok(self.integer(a / b))
            }
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(self.flonum(a / b)),
            _ => {
                if let Some((left, right)) = short_ratios(x, y)
                    && let Some(inverse) = right.invert()
                {
                    return self.ratio(left.times(inverse));
                }
                self.tower("/", x, y, Cost::Higher, number::div)
            }
        }
    }

    /// `(truncate-quotient x y)`
    pub fn quotient(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match self.of_integers(x, y, |integers, left, right| {
            integers.quotient(Division::Truncate, left, right)
        }) {
            Some(result) => result,
            None => self.tower("quotient", x, y, Cost::Higher, number::quotient),
        }
    }

    /// `(truncate-remainder x y)`
    pub fn remainder(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match self.of_integers(x, y, |integers, left, right| {
            integers.remainder(Division::Truncate, left, right)
        }) {
            Some(result) => result,
            None => self.tower("remainder", x, y, Cost::Higher, number::remainder),
        }
    }

    /// `(floor-quotient x y)`
    pub fn floor_quotient(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match self.of_integers(x, y, |integers, left, right| {
            integers.quotient(Division::Floor, left, right)
        }) {
            Some(result) => result,
            None => self.tower("floor-quotient", x, y, Cost::Higher, |left, right| {
                number::divide_quotient(Division::Floor, left, right)
            }),
        }
    }

    /// `(floor-remainder x y)`
    pub fn modulo(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match self.of_integers(x, y, |integers, left, right| {
            integers.remainder(Division::Floor, left, right)
        }) {
            Some(result) => result,
            None => self.tower("modulo", x, y, Cost::Higher, number::modulo),
        }
    }

    /// `(bitwise-and x y)`
    pub fn bitwise_and(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        self.tower("bitwise-and", x, y, Cost::Linear, number::bitwise_and)
    }

    /// `(bitwise-ior x y)`
    pub fn bitwise_or(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        self.tower("bitwise-ior", x, y, Cost::Linear, number::bitwise_or)
    }

    /// `(bitwise-xor x y)`
    pub fn bitwise_xor(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        self.tower("bitwise-xor", x, y, Cost::Linear, number::bitwise_xor)
    }

    /// `(arithmetic-shift x y)`
    pub fn arithmetic_shift(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        if let Some(bits) = y.as_fixnum()
            && let Some(result) =
                self.of_integers(x, y, |integers, operand, _| integers.shift(operand, bits))
        {
            return result;
        }
        self.tower(
            "arithmetic-shift",
            x,
            y,
            Cost::Linear,
            number::arithmetic_shift,
        )
    }

    fn ordering(&mut self, who: &str, x: Value, y: Value) -> Result<Option<Ordering>, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) => Ok(Some(a.cmp(&b))),
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(a.partial_cmp(&b)),
            _ => {
                if let Some(order) = integer_ordering(x, y) {
                    return Ok(Some(order));
                }
                if let Some((left, right)) = short_ratios(x, y) {
                    return Ok(Some(left.compare(right)));
                }
                let (left, right) = both(self, who, x, y)?;
                number::compare(&left, &right).map_err(|_| {
                    let (position, wrong) = if matches!(left, Number::Complex(_)) {
                        (1, x)
                    } else {
                        (2, y)
                    };
                    self.raise_type(who, position, "real number", wrong)
                })
            }
        }
    }

    /// `(< x y)`
    pub fn less(&mut self, x: Value, y: Value) -> Result<bool, Raise> {
        Ok(self.ordering("<", x, y)? == Some(Ordering::Less))
    }

    /// `(<= x y)`
    pub fn less_equal(&mut self, x: Value, y: Value) -> Result<bool, Raise> {
        Ok(matches!(
            self.ordering("<=", x, y)?,
            Some(Ordering::Less | Ordering::Equal)
        ))
    }

    /// `(> x y)`
    pub fn greater(&mut self, x: Value, y: Value) -> Result<bool, Raise> {
        Ok(self.ordering(">", x, y)? == Some(Ordering::Greater))
    }

    /// `(>= x y)`
    pub fn greater_equal(&mut self, x: Value, y: Value) -> Result<bool, Raise> {
        Ok(matches!(
            self.ordering(">=", x, y)?,
            Some(Ordering::Greater | Ordering::Equal)
        ))
    }

    /// `(= x y)`
    pub fn number_equal(&mut self, x: Value, y: Value) -> Result<bool, Raise> {
        match (numeric(x), numeric(y)) {
            (Some(Numeric::Fixnum(a)), Some(Numeric::Fixnum(b))) => Ok(a == b),
            (Some(Numeric::Flonum(a)), Some(Numeric::Flonum(b))) => Ok(a == b),
            _ => {
                if let Some(order) = integer_ordering(x, y) {
                    return Ok(order.is_eq());
                }
                let (left, right) = both(self, "=", x, y)?;
                Ok(number::numeric_equal(&left, &right))
            }
        }
    }
}
