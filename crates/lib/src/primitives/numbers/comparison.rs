//! Order and equality of numbers, for any number of arguments. All arguments are checked, also behind
//! the place where the answer is known.

use std::cmp::Ordering;

use canny_number::{self as number, Number};
use canny_value::Value;
use canny_vm::numbers::integer_ordering;
use canny_vm::{Numeric, PrimitiveFunction, Raise, Thread, numeric};

use super::{Short, give, number_at, real_at};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "=" => equal;
    "<" => |thread, call| ordered(thread, call, Ordering::is_lt);
    ">" => |thread, call| ordered(thread, call, Ordering::is_gt);
    "<=" => |thread, call| ordered(thread, call, Ordering::is_le);
    ">=" => |thread, call| ordered(thread, call, Ordering::is_ge);
    "max" => |thread, call| extreme(thread, call, Ordering::Greater, number::max);
    "min" => |thread, call| extreme(thread, call, Ordering::Less, number::min);
};

fn ordered(thread: &mut Thread, call: Call, holds: fn(Ordering) -> bool) -> Result<Value, Raise> {
    if call.count() == 1 {
        real_at(thread, call, 0)?;
    }
    let mut all_hold = true;
    for position in 1..call.count() {
        let ordering = match (numeric(call.at(position - 1)), numeric(call.at(position))) {
            (Some(Numeric::Fixnum(left)), Some(Numeric::Fixnum(right))) => Some(left.cmp(&right)),
            (Some(Numeric::Flonum(left)), Some(Numeric::Flonum(right))) => left.partial_cmp(&right),
            _ if let Some(ordering) =
                integer_ordering(call.at(position - 1), call.at(position)) =>
            {
                Some(ordering)
            }
            _ => {
                let left = real_at(thread, call, position - 1)?;
                let right = real_at(thread, call, position)?;
                // Real numbers are always comparable, NaNs with the answer `None`.
                number::compare(&left, &right).unwrap_or(None)
            }
        };
        all_hold &= ordering.is_some_and(holds);
    }
    Ok(Value::boolean(all_hold))
}

fn equal(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if call.count() == 1 {
        number_at(thread, call, 0)?;
    }
    let mut all_equal = true;
    for position in 1..call.count() {
        all_equal &= match (numeric(call.at(position - 1)), numeric(call.at(position))) {
            (Some(Numeric::Fixnum(left)), Some(Numeric::Fixnum(right))) => left == right,
            (Some(Numeric::Flonum(left)), Some(Numeric::Flonum(right))) => left == right,
            _ if let Some(ordering) =
                integer_ordering(call.at(position - 1), call.at(position)) =>
            {
                ordering.is_eq()
            }
            _ => {
                let left = number_at(thread, call, position - 1)?;
                let right = number_at(thread, call, position)?;
                number::numeric_equal(&left, &right)
            }
        };
    }
    Ok(Value::boolean(all_equal))
}

fn extreme(
    thread: &mut Thread,
    call: Call,
    wanted: Ordering,
    choose: super::Binary,
) -> Result<Value, Raise> {
    if call.count() == 2 {
        let (left, right) = (call.at(0), call.at(1));
        if let Some(order) = integer_ordering(left, right) {
            return Ok(if order == wanted { left } else { right });
        }
        if let (Some(Numeric::Flonum(x)), Some(Numeric::Flonum(y))) =
            (numeric(left), numeric(right))
        {
            return Ok(match x.partial_cmp(&y) {
                None => thread.flonum(f64::NAN),
                Some(order) if order == wanted => left,
                Some(_) => right,
            });
        }
    }
    let mut best = real_at_quickly(thread, call, 0)?;
    for position in 1..call.count() {
        let other = real_at_quickly(thread, call, position)?;
        best = match (&best, &other) {
            (Number::Fixnum(x), Number::Fixnum(y)) => {
                Number::Fixnum(if x.cmp(y) == wanted { *x } else { *y })
            }
            _ => match choose(&best, &other) {
                Ok(next) => next,
                Err(error) => return Err(super::refused(thread, call, &error)),
            },
        };
    }
    give(thread, call, Ok(best))
}

fn real_at_quickly(thread: &mut Thread, call: Call, position: usize) -> Result<Number, Raise> {
    match Short::of(call.at(position)) {
        Some(number) => Ok(number.number()),
        None => real_at(thread, call, position),
    }
}
