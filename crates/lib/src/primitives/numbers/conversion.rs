//! Primitives that convert between exact and inexact numbers, and between numbers and text.
//!
//! Texts are parsed and printed by `canny_number`, so that the reader, the compiler and these
//! agree. Long texts take time that grows faster than their length; another thread converts them.

use canny_number as number;
use canny_value::Value;
use canny_vm::numbers::short_ratio_to_f64;
use canny_vm::{Numeric, PrimitiveFunction, Raise, Thread, numeric, string_text};

use super::{effort_of_arguments, number_at, unary};
use crate::arguments::{Call, Effort, implementations};
use crate::decimal::{DIGITS_MAX, digits};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "exact" => exact;
    "inexact" => inexact;
    "number->string" => number_to_string;
    "string->number" => string_to_number;
};

fn exact(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(_)) => Ok(call.at(0)),
        Some(Numeric::Flonum(flonum)) if let Some(fixnum) = integral(flonum) => Ok(fixnum),
        _ => unary(thread, call, number::exact),
    }
}

/// The fixnum equal to a flonum, if there is one.
pub(super) fn integral(flonum: f64) -> Option<Value> {
    // Out of range, the conversion saturates to what is no fixnum.
    let integer = flonum as i64;
    if integer as f64 == flonum {
        Value::try_fixnum(integer)
    } else {
        None
    }
}

fn inexact(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(fixnum)) => Ok(thread.flonum(fixnum as f64)),
        Some(Numeric::Flonum(_)) => Ok(call.at(0)),
        _ => match short_ratio_to_f64(call.at(0)) {
            Some(flonum) => Ok(thread.flonum(flonum)),
            None => unary(thread, call, |operand| Ok(number::inexact(operand))),
        },
    }
}

/// The radix that argument 1 gives.
fn radix(thread: &mut Thread, call: Call) -> Result<u32, Raise> {
    if call.optional(1).is_none() {
        return Ok(10);
    }
    match call.index(thread, 1)? {
        radix @ 2..=36 => Ok(radix as u32),
        _ => Err(call.range_error(thread, 1, "a radix is from 2 to 36")),
    }
}

fn number_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if call.count() == 1 {
        match numeric(call.at(0)) {
            Some(Numeric::Fixnum(fixnum)) => return decimal(thread, fixnum),
            Some(Numeric::Flonum(flonum)) => {
                let text = number::flonum_to_string(flonum);
                return thread.string_from_latin1(text.as_bytes());
            }
            _ => {}
        }
    }
    let operand = number_at(thread, call, 0)?;
    let radix = radix(thread, call)?;
    let text = call.compute(thread, effort_of_arguments(call), move || {
        number::write_number(&operand, radix)
    })?;
    thread.string_from_latin1(text.as_bytes())
}

/// The decimal digits of a fixnum.
fn decimal(thread: &mut Thread, fixnum: i64) -> Result<Value, Raise> {
    thread.string_from_latin1(digits(fixnum, &mut [0; DIGITS_MAX]))
}

/// Bytes of a text whose number takes milliseconds to find out.
const LONG_TEXT: usize = 1 << 18;

fn string_to_number(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let radix = radix(thread, call)?;
    // A text such as 1/0 has the form of a number but stands for none.
    let effort = Effort::Short.or_offloaded(text.len() >= LONG_TEXT);
    match call.compute(thread, effort, move || number::parse_number(&text, radix))? {
        Ok(Some(number)) => thread.number(&number),
        Ok(None) | Err(_) => Ok(Value::FALSE),
    }
}
