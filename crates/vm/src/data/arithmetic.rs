//! Generic arithmetic on words, for handlers' slow paths and primitives.
//!
//! Numbers of usual size are computed with in place ([`crate::leaf`]). Here is the rest: wrong
//! operands, which raise, and long integers. Operations on those go through `canny_number`, and the
//! longest are offloaded to another thread, so that this one can run other tasks.

use std::cmp::Ordering;

use canny_number::integers::{Integer, Workspace};
use canny_number::{self as number, Division, Number, NumberError};
use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::data::numbers::{LONG_LIMBS, limbs_of, number_of};
use crate::leaf::{InPlace, numbers};
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

impl Thread {
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

    /// An operation that could not be done in place, on long integers without the tower where that is
    /// possible.
    fn long(
        &mut self,
        who: &str,
        x: Value,
        y: Value,
        cost: Cost,
        integers: fn(&mut Workspace, Integer, Integer) -> bool,
        tower: fn(&Number, &Number) -> Result<Number, NumberError>,
    ) -> Result<Value, Raise> {
        match self.of_integers(x, y, integers) {
            Some(result) => result,
            None => self.tower(who, x, y, cost, tower),
        }
    }

    /// `(+ x y)`
    pub fn add(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).add(x, y) {
            Some(sum) => Ok(sum),
            None => self.long("+", x, y, Cost::Linear, Workspace::add, number::add),
        }
    }

    /// `(- x y)`
    pub fn subtract(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).subtract(x, y) {
            Some(difference) => Ok(difference),
            None => self.long("-", x, y, Cost::Linear, Workspace::subtract, number::sub),
        }
    }

    /// `(* x y)`
    pub fn multiply(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).multiply(x, y) {
            Some(product) => Ok(product),
            None => self.long("*", x, y, Cost::Higher, Workspace::multiply, number::mul),
        }
    }

    /// `(/ x y)`
    pub fn divide(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).divide(x, y) {
            Some(quotient) => Ok(quotient),
            None => self.tower("/", x, y, Cost::Higher, number::div),
        }
    }

    /// `(truncate-quotient x y)`
    pub fn quotient(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        if let Some(quotient) = InPlace::of(self).quotient(x, y) {
            return Ok(quotient);
        }
        let integers =
            |room: &mut Workspace, x: Integer, y: Integer| room.quotient(Division::Truncate, x, y);
        self.long("quotient", x, y, Cost::Higher, integers, number::quotient)
    }

    /// `(truncate-remainder x y)`
    pub fn remainder(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        if let Some(remainder) = InPlace::of(self).remainder(x, y) {
            return Ok(remainder);
        }
        let integers =
            |room: &mut Workspace, x: Integer, y: Integer| room.remainder(Division::Truncate, x, y);
        self.long("remainder", x, y, Cost::Higher, integers, number::remainder)
    }

    /// `(floor-quotient x y)`
    pub fn floor_quotient(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        if let Some(quotient) = InPlace::of(self).floor_quotient(x, y) {
            return Ok(quotient);
        }
        let integers =
            |room: &mut Workspace, x: Integer, y: Integer| room.quotient(Division::Floor, x, y);
        let tower = |x: &Number, y: &Number| number::divide_quotient(Division::Floor, x, y);
        self.long("floor-quotient", x, y, Cost::Higher, integers, tower)
    }

    /// `(floor-remainder x y)`
    pub fn modulo(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        if let Some(remainder) = InPlace::of(self).modulo(x, y) {
            return Ok(remainder);
        }
        let integers =
            |room: &mut Workspace, x: Integer, y: Integer| room.remainder(Division::Floor, x, y);
        self.long("modulo", x, y, Cost::Higher, integers, number::modulo)
    }

    /// `(bitwise-and x y)`
    pub fn bitwise_and(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).bitwise_and(x, y) {
            Some(bits) => Ok(bits),
            None => self.tower("bitwise-and", x, y, Cost::Linear, number::bitwise_and),
        }
    }

    /// `(bitwise-ior x y)`
    pub fn bitwise_or(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).bitwise_or(x, y) {
            Some(bits) => Ok(bits),
            None => self.tower("bitwise-ior", x, y, Cost::Linear, number::bitwise_or),
        }
    }

    /// `(bitwise-xor x y)`
    pub fn bitwise_xor(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        match InPlace::of(self).bitwise_xor(x, y) {
            Some(bits) => Ok(bits),
            None => self.tower("bitwise-xor", x, y, Cost::Linear, number::bitwise_xor),
        }
    }

    /// `(arithmetic-shift x y)`
    pub fn arithmetic_shift(&mut self, x: Value, y: Value) -> Result<Value, Raise> {
        const WHO: &str = "arithmetic-shift";
        if let Some(shifted) = InPlace::of(self).arithmetic_shift(x, y) {
            return Ok(shifted);
        }
        if let Some(bits) = y.as_fixnum()
            && let Some(result) =
                self.of_integers(x, y, |integers, operand, _| integers.shift(operand, bits))
        {
            return result;
        }
        self.tower(WHO, x, y, Cost::Linear, number::arithmetic_shift)
    }

    fn ordering(&mut self, who: &str, x: Value, y: Value) -> Result<Option<Ordering>, Raise> {
        if let Some(order) = numbers::ordering(x, y) {
            return Ok(order);
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
        if let Some(answer) = numbers::equal(x, y) {
            return Ok(answer);
        }
        let (left, right) = both(self, "=", x, y)?;
        Ok(number::numeric_equal(&left, &right))
    }
}
