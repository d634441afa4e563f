//! Primitives of rounding, powers, roots, transcendental functions and parts of complex numbers.
//!
//! A flonum in a function's real domain goes to the host's function; other numbers go to the
//! numeric tower. Exact arguments give exact results where R7RS requires that. Powers with long
//! results are computed by another thread.

use canny_number::{self as number, Number};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::numbers::LONG_LIMBS;
use canny_vm::{Numeric, PrimitiveFunction, Raise, Thread, numeric};

use super::arithmetic::pair_of_values;
use super::conversion::integral;
use super::{binary, effort_of_arguments, give, number_at, refused, unary};
use crate::arguments::{Call, Effort, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "numerator" => |thread, call| unary(thread, call, number::numerator);
    "denominator" => |thread, call| unary(thread, call, number::denominator);
    "floor" => |thread, call| round_to(thread, call, f64::floor, number::floor);
    "ceiling" => |thread, call| round_to(thread, call, f64::ceil, number::ceiling);
    "truncate" => |thread, call| round_to(thread, call, f64::trunc, number::truncate);
    "round" => |thread, call| round_to(thread, call, f64::round_ties_even, number::round);
    "exact-floor" => |thread, call| {
        exact_round_to(thread, call, f64::floor, |x| number::exact(&number::floor(x)?))
    };
    "exact-ceiling" => |thread, call| {
        exact_round_to(thread, call, f64::ceil, |x| number::exact(&number::ceiling(x)?))
    };
    "exact-truncate" => |thread, call| {
        exact_round_to(thread, call, f64::trunc, |x| number::exact(&number::truncate(x)?))
    };
    "exact-round" => |thread, call| {
        exact_round_to(thread, call, f64::round_ties_even, |x| number::exact(&number::round(x)?))
    };
    "rationalize" => |thread, call| binary(thread, call, number::rationalize);
    "exp" => |thread, call| of_flonum(thread, call, |_| true, f64::exp, number::exp);
    "log" => log;
    "sin" => |thread, call| of_flonum(thread, call, |_| true, f64::sin, number::sin);
    "cos" => |thread, call| of_flonum(thread, call, |_| true, f64::cos, number::cos);
    "tan" => |thread, call| of_flonum(thread, call, |_| true, f64::tan, number::tan);
    "asin" => |thread, call| of_flonum(thread, call, |x| x.abs() <= 1.0, f64::asin, number::asin);
    "acos" => |thread, call| of_flonum(thread, call, |x| x.abs() <= 1.0, f64::acos, number::acos);
    "atan" => atan;
    "square" => square;
    "cube" => |thread, call| unary(thread, call, |x| number::mul(x, &number::square(x)?));
    "sqrt" => sqrt;
    "exact-integer-sqrt" => exact_integer_sqrt;
    "expt" => expt;
    "make-rectangular" => |thread, call| binary(thread, call, number::make_rectangular);
    "make-polar" => |thread, call| binary(thread, call, number::make_polar);
    "real-part" => |thread, call| part(thread, call, 0, |x| Ok(number::real_part(x)));
    "imag-part" => |thread, call| part(thread, call, 1, |x| Ok(number::imag_part(x)));
    "magnitude" => |thread, call| unary(thread, call, number::magnitude);
    "angle" => |thread, call| unary(thread, call, number::angle);
};

/// A part of a number: that of a complex one lies in its object.
fn part(
    thread: &mut Thread,
    call: Call,
    field: usize,
    operation: fn(&Number) -> Result<Number, number::NumberError>,
) -> Result<Value, Raise> {
    match call.at(0).as_kind(Kind::Compnum) {
        Some(object) => Ok(object.field(field)),
        None => unary(thread, call, operation),
    }
}

fn round_to(
    thread: &mut Thread,
    call: Call,
    operation: fn(f64) -> f64,
    of_number: super::Unary,
) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(_)) => Ok(call.at(0)),
        Some(Numeric::Flonum(flonum)) => Ok(thread.flonum(operation(flonum))),
        _ => unary(thread, call, of_number),
    }
}

fn exact_round_to(
    thread: &mut Thread,
    call: Call,
    operation: fn(f64) -> f64,
    of_number: super::Unary,
) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(_)) => Ok(call.at(0)),
        Some(Numeric::Flonum(flonum)) if let Some(fixnum) = integral(operation(flonum)) => {
            Ok(fixnum)
        }
        _ => unary(thread, call, of_number),
    }
}

/// A function that is the host's for the flonums in its real domain.
fn of_flonum(
    thread: &mut Thread,
    call: Call,
    is_in_domain: fn(f64) -> bool,
    operation: fn(f64) -> f64,
    of_number: super::Unary,
) -> Result<Value, Raise> {
    match call.at(0).as_flonum() {
        Some(flonum) if is_in_domain(flonum) => Ok(thread.flonum(operation(flonum))),
        _ => unary(thread, call, of_number),
    }
}

fn log(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.optional(1) {
        Some(_) => binary(thread, call, number::log_base),
        None => of_flonum(thread, call, |x| x > 0.0, f64::ln, number::log),
    }
}

fn atan(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match call.optional(1) {
        Some(second) => match (call.at(0).as_flonum(), second.as_flonum()) {
            (Some(y), Some(x)) => Ok(thread.flonum(y.atan2(x))),
            _ => binary(thread, call, number::atan2),
        },
        None => of_flonum(thread, call, |_| true, f64::atan, number::atan),
    }
}

fn square(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let operand = call.at(0);
    match numeric(operand) {
        Some(Numeric::Flonum(flonum)) => return Ok(thread.flonum(flonum * flonum)),
        Some(Numeric::Fixnum(fixnum)) if let Some(square) = fixnum.checked_mul(fixnum) => {
            return Ok(thread.integer(square));
        }
        _ => {}
    }
    match thread.of_integers(operand, operand, |integers, factor, _| {
        integers.square(factor)
    }) {
        Some(result) => result,
        None => unary(thread, call, number::square),
    }
}

fn sqrt(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Flonum(flonum)) if flonum >= 0.0 => Ok(thread.flonum(flonum.sqrt())),
        Some(Numeric::Fixnum(fixnum)) if (0..1 << 53).contains(&fixnum) => {
            // Up to 53 bits the argument is an exact flonum, whose root is rounded correctly.
            let root = fixnum.isqrt();
            if root * root == fixnum {
                Ok(thread.integer(root))
            } else {
                Ok(thread.flonum((fixnum as f64).sqrt()))
            }
        }
        _ => unary(thread, call, number::sqrt),
    }
}

fn expt(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match (numeric(call.at(0)), numeric(call.at(1))) {
        (Some(Numeric::Fixnum(base)), Some(Numeric::Fixnum(exponent)))
            if let Some(power) = short_power(base, exponent) =>
        {
            Ok(thread.integer(power))
        }
        (Some(Numeric::Flonum(base)), Some(Numeric::Flonum(exponent))) if base > 0.0 => {
            Ok(thread.flonum(base.powf(exponent)))
        }
        _ => {
            let base = number_at(thread, call, 0)?;
            let exponent = number_at(thread, call, 1)?;
            let words = match base {
                Number::Flonum(_) => 0,
                _ => exponent_size(&exponent).saturating_mul(base.words()),
            };
            let work = move || number::expt(&base, &exponent);
            let effort = Effort::Short.or_offloaded(words >= 64 * LONG_LIMBS);
            let result = call.compute(thread, effort, work)?;
            give(thread, call, result)
        }
    }
}

/// How often the words of a base are multiplied in a power, about.
fn exponent_size(exponent: &Number) -> usize {
    match exponent {
        Number::Fixnum(exponent) => exponent.unsigned_abs() as usize,
        Number::Flonum(_) => 1,
        _ => usize::MAX,
    }
}

/// A power that fits 64 bits.
fn short_power(base: i64, exponent: i64) -> Option<i64> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

fn exact_integer_sqrt(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if let Some(fixnum) = call.at(0).as_fixnum()
        && fixnum >= 0
    {
        let root = fixnum.isqrt();
        let rest = thread.integer(fixnum - root * root);
        let root = thread.integer(root);
        return Ok(thread.two_values(root, rest));
    }
    let operand: Number = number_at(thread, call, 0)?;
    let root = call.compute(thread, effort_of_arguments(call), move || {
        number::exact_integer_sqrt(&operand)
    })?;
    match root {
        Ok((root, rest)) => pair_of_values(thread, &root, &rest),
        Err(error) => Err(refused(thread, call, &error)),
    }
}
