//! Rounding, powers and roots, transcendental functions, and the parts of numbers.

use canny_number::{self as number, Number};
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::arithmetic::pair_of_values;
use super::{binary, number_at, refused, unary};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "numerator" => |thread, call| unary(thread, call, number::numerator);
    "denominator" => |thread, call| unary(thread, call, number::denominator);
    "floor" => |thread, call| round_to(thread, call, number::floor);
    "ceiling" => |thread, call| round_to(thread, call, number::ceiling);
    "truncate" => |thread, call| round_to(thread, call, number::truncate);
    "round" => |thread, call| round_to(thread, call, number::round);
    "exact-floor" => |thread, call| unary(thread, call, |x| number::exact(&number::floor(x)?));
    "exact-ceiling" => |thread, call| unary(thread, call, |x| number::exact(&number::ceiling(x)?));
    "exact-truncate" => |thread, call| unary(thread, call, |x| number::exact(&number::truncate(x)?));
    "exact-round" => |thread, call| unary(thread, call, |x| number::exact(&number::round(x)?));
    "rationalize" => |thread, call| binary(thread, call, number::rationalize);
    "exp" => |thread, call| unary(thread, call, number::exp);
    "log" => |thread, call| one_or_two(thread, call, number::log, number::log_base);
    "sin" => |thread, call| unary(thread, call, number::sin);
    "cos" => |thread, call| unary(thread, call, number::cos);
    "tan" => |thread, call| unary(thread, call, number::tan);
    "asin" => |thread, call| unary(thread, call, number::asin);
    "acos" => |thread, call| unary(thread, call, number::acos);
    "atan" => |thread, call| one_or_two(thread, call, number::atan, number::atan2);
    "square" => |thread, call| unary(thread, call, number::square);
    "cube" => |thread, call| unary(thread, call, |x| number::mul(x, &number::square(x)?));
    "sqrt" => |thread, call| unary(thread, call, number::sqrt);
    "exact-integer-sqrt" => exact_integer_sqrt;
    "expt" => |thread, call| binary(thread, call, number::expt);
    "make-rectangular" => |thread, call| binary(thread, call, number::make_rectangular);
    "make-polar" => |thread, call| binary(thread, call, number::make_polar);
    "real-part" => |thread, call| unary(thread, call, |x| Ok(number::real_part(x)));
    "imag-part" => |thread, call| unary(thread, call, |x| Ok(number::imag_part(x)));
    "magnitude" => |thread, call| unary(thread, call, number::magnitude);
    "angle" => |thread, call| unary(thread, call, number::angle);
};

fn round_to(thread: &mut Thread, call: Call, operation: super::Unary) -> Result<Value, Raise> {
    if call.at(0).is_fixnum() {
        return Ok(call.at(0));
    }
    unary(thread, call, operation)
}

fn one_or_two(
    thread: &mut Thread,
    call: Call,
    of_one: super::Unary,
    of_two: super::Binary,
) -> Result<Value, Raise> {
    match call.optional(1) {
        Some(_) => binary(thread, call, of_two),
        None => unary(thread, call, of_one),
    }
}

fn exact_integer_sqrt(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let operand: Number = number_at(thread, call, 0)?;
    match number::exact_integer_sqrt(&operand) {
        Ok((root, rest)) => pair_of_values(thread, &root, &rest),
        Err(error) => Err(refused(thread, call, &error)),
    }
}
