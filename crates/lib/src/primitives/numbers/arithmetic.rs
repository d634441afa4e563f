//! Primitives of arithmetic: the four operations and the integer divisions.
//!
//! They fold over their arguments from the left. Two fixnums are done here; everything else is the
//! machine's generic arithmetic, which agrees with the numeric tower.

use canny_number::short_ratio;
use canny_number::{self as number, Division, Number, NumberError};
use canny_value::Value;
use canny_vm::{Numeric, PrimitiveFunction, Raise, Thread, numeric};

use super::{
    Short, binary, effort_of_arguments, fold, fold_onto, fold_quickly, number_at, refused, unary,
};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "+" => add;
    "*" => multiply;
    "-" => subtract;
    "/" => divide;
    "1+" => |thread, call| step(thread, call, 1, number::increment);
    "-1+" => |thread, call| step(thread, call, -1, number::decrement);
    "abs" => abs;
    "quotient" => quotient;
    "truncate-quotient" => quotient;
    "remainder" => remainder;
    "truncate-remainder" => remainder;
    "modulo" => modulo;
    "floor-remainder" => modulo;
    "floor-quotient" => floor_quotient;
    "floor/" => |thread, call| both_parts(thread, call, Division::Floor);
    "truncate/" => |thread, call| both_parts(thread, call, Division::Truncate);
    "gcd" => gcd;
    "lcm" => |thread, call| fold(thread, call, Number::ONE, number::lcm);
};

fn add(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.count() {
        0 => Ok(Value::ZERO),
        1 => itself(thread, call),
        2 => thread.add(call.at(0), call.at(1)),
        _ => {
            let step = |x: Short, y: Short| x.with(y, i64::checked_add, |x, y| x + y);
            fold_quickly(thread, call, step, number::add)
        }
    }
}

fn multiply(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.count() {
        0 => Ok(Value::fixnum(1)),
        1 => itself(thread, call),
        2 => thread.multiply(call.at(0), call.at(1)),
        _ => {
            let step = |x: Short, y: Short| x.with(y, i64::checked_mul, |x, y| x * y);
            fold_quickly(thread, call, step, number::mul)
        }
    }
}

fn itself(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    number_at(thread, call, 0)?;
    Ok(call.at(0))
}

fn subtract(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.count() {
        1 => match numeric(call.at(0)) {
            Some(Numeric::Fixnum(fixnum)) => Ok(thread.integer(-fixnum)),
            Some(Numeric::Flonum(flonum)) => Ok(thread.flonum(-flonum)),
            _ => unary(thread, call, |operand| Ok(number::negate(operand))),
        },
        2 => thread.subtract(call.at(0), call.at(1)),
        _ => {
            let step = |x: Short, y: Short| x.with(y, i64::checked_sub, |x, y| x - y);
            fold_quickly(thread, call, step, number::sub)
        }
    }
}

fn divide(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.count() {
        1 => unary(thread, call, |operand| number::div(&Number::ONE, operand)),
        2 => thread.divide(call.at(0), call.at(1)),
        _ => {
            let first = number_at(thread, call, 0)?;
            fold_onto(thread, call, first, 1, number::div)
        }
    }
}

fn step(thread: &mut Thread, call: Call, by: i64, operation: super::Unary) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(fixnum)) => Ok(thread.integer(fixnum + by)),
        Some(Numeric::Flonum(flonum)) => Ok(thread.flonum(flonum + by as f64)),
        _ => unary(thread, call, operation),
    }
}

fn abs(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(fixnum)) => Ok(thread.integer(fixnum.abs())),
        Some(Numeric::Flonum(flonum)) => Ok(thread.flonum(flonum.abs())),
        _ => unary(thread, call, number::abs),
    }
}

/// Two fixnums, the second not zero.
fn fixnums(call: Call) -> Option<(i64, i64)> {
    match (call.at(0).as_fixnum(), call.at(1).as_fixnum()) {
        (Some(dividend), Some(divisor)) if divisor != 0 => Some((dividend, divisor)),
        _ => None,
    }
}

fn quotient(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match fixnums(call) {
        Some((dividend, divisor)) => Ok(thread.integer(dividend / divisor)),
        None => match thread.of_integers(call.at(0), call.at(1), |integers, left, right| {
            integers.quotient(Division::Truncate, left, right)
        }) {
            Some(result) => result,
            None => binary(thread, call, number::quotient),
        },
    }
}

fn remainder(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match fixnums(call) {
        Some((dividend, divisor)) => Ok(thread.integer(dividend % divisor)),
        None => match thread.of_integers(call.at(0), call.at(1), |integers, left, right| {
            integers.remainder(Division::Truncate, left, right)
        }) {
            Some(result) => result,
            None => binary(thread, call, number::remainder),
        },
    }
}

fn floor_remainder_of(dividend: i64, divisor: i64) -> i64 {
    let remainder = dividend % divisor;
    if remainder != 0 && (remainder < 0) != (divisor < 0) {
        remainder + divisor
    } else {
        remainder
    }
}

fn floor_quotient_of(dividend: i64, divisor: i64) -> i64 {
    let quotient = dividend / divisor;
    let is_rounded_up = dividend % divisor != 0 && (dividend < 0) != (divisor < 0);
    if is_rounded_up {
        quotient - 1
    } else {
        quotient
    }
}

fn modulo(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match fixnums(call) {
        Some((dividend, divisor)) => Ok(thread.integer(floor_remainder_of(dividend, divisor))),
        None => match thread.of_integers(call.at(0), call.at(1), |integers, left, right| {
            integers.remainder(Division::Floor, left, right)
        }) {
            Some(result) => result,
            None => binary(thread, call, number::modulo),
        },
    }
}

fn floor_quotient(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match fixnums(call) {
        Some((dividend, divisor)) => Ok(thread.integer(floor_quotient_of(dividend, divisor))),
        None => match thread.of_integers(call.at(0), call.at(1), |integers, left, right| {
            integers.quotient(Division::Floor, left, right)
        }) {
            Some(result) => result,
            None => binary(thread, call, |left, right| {
                number::divide_quotient(Division::Floor, left, right)
            }),
        },
    }
}

fn both_parts(thread: &mut Thread, call: Call, division: Division) -> Result<Value, Raise> {
    if let Some((dividend, divisor)) = fixnums(call) {
        let (quotient, remainder) = match division {
            Division::Floor => (
                floor_quotient_of(dividend, divisor),
                floor_remainder_of(dividend, divisor),
            ),
            _ => (dividend / divisor, dividend % divisor),
        };
        let quotient = thread.integer(quotient);
        // A remainder of a fixnum is a fixnum: nothing is allocated while the quotient is held.
        let remainder = thread.integer(remainder);
        return Ok(thread.two_values(quotient, remainder));
    }
    let dividend = number_at(thread, call, 0)?;
    let divisor = number_at(thread, call, 1)?;
    let parts: Result<(Number, Number), NumberError> =
        call.compute(thread, effort_of_arguments(call), move || {
            number::divide(division, &dividend, &divisor)
        })?;
    match parts {
        Ok((quotient, remainder)) => pair_of_values(thread, &quotient, &remainder),
        Err(error) => Err(refused(thread, call, &error)),
    }
}

fn gcd(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if call.count() == 2
        && let (Some(left), Some(right)) = (call.at(0).as_fixnum(), call.at(1).as_fixnum())
    {
        // Magnitudes of fixnums are far from the limits of an i64.
        let divisor = short_ratio::gcd(left.unsigned_abs(), right.unsigned_abs());
        return Ok(thread.integer(divisor as i64));
    }
    fold(thread, call, Number::ZERO, number::gcd)
}

/// Two numbers as two values.
pub(super) fn pair_of_values(
    thread: &mut Thread,
    first: &Number,
    second: &Number,
) -> Result<Value, Raise> {
    let first = thread.number(first)?;
    let second = thread.number(second)?;
    Ok(thread.two_values(first, second))
}

#[cfg(test)]
mod tests {
    use super::{floor_quotient_of, floor_remainder_of};

    #[test]
    fn floor_division_agrees_with_its_definition() {
        for dividend in -20i64..=20 {
            for divisor in (-7i64..=7).filter(|divisor| *divisor != 0) {
                let quotient = (dividend as f64 / divisor as f64).floor() as i64;
                assert_eq!(floor_quotient_of(dividend, divisor), quotient);
                assert_eq!(
                    floor_remainder_of(dividend, divisor),
                    dividend - quotient * divisor
                );
            }
        }
    }
}
