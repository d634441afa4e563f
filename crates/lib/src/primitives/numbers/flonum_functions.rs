//! Primitives of flonums beyond R7RS: functions of SRFI 144 by name, and the bits of SRFI 208.
//!
//! Arguments are flonums and nothing else; the libraries convert before. One primitive takes the
//! function by name, since the SRFI has many that few programs call.

use canny_number::Number;
use canny_value::Value;
use canny_vm::numbers::number_of;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%flonum-function" => flonum_function;
    "%flonum->bits" => |thread, call| {
        let bits = flonum_at(thread, call, 0)?.to_bits();
        thread.number(&Number::from_i128(bits.into()))
    };
    "%bits->flonum" => bits_to_flonum;
};

fn flonum_at(thread: &mut Thread, call: Call, position: usize) -> Result<f64, Raise> {
    match call.at(position).as_flonum() {
        Some(flonum) => Ok(flonum),
        None => Err(call.type_error(thread, position, "flonum")),
    }
}

/// An order of a Bessel function or an exponent of two, cut to what makes a difference.
fn small_integer(value: f64) -> i32 {
    value as i32
}

/// The function that a symbol names, of one to three flonums.
fn flonum_function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(name) = symbol_name(call.at(0)) else {
        return Err(call.type_error(thread, 0, "symbol"));
    };
    let x = flonum_at(thread, call, 1)?;
    if call.count() == 2 {
        let function: fn(f64) -> f64 = match name.as_str() {
            "exp-1" => f64::exp_m1,
            "exp2" => f64::exp2,
            "log1+" => f64::ln_1p,
            "log2" => f64::log2,
            "log10" => f64::log10,
            "cbrt" => f64::cbrt,
            "sinh" => f64::sinh,
            "cosh" => f64::cosh,
            "tanh" => f64::tanh,
            "asinh" => f64::asinh,
            "acosh" => f64::acosh,
            "atanh" => f64::atanh,
            "gamma" => libm::tgamma,
            "loggamma" => libm::lgamma,
            "erf" => libm::erf,
            "erfc" => libm::erfc,
            _ => return Err(call.range_error(thread, 0, "a function of one flonum")),
        };
        return Ok(thread.flonum(function(x)));
    }
    let y = flonum_at(thread, call, 2)?;
    if call.count() == 3 {
        let result = match name.as_str() {
            "hypot" => x.hypot(y),
            "copysign" => x.copysign(y),
            "adjacent" => libm::nextafter(x, y),
            "scale" => libm::scalbn(x, small_integer(y)),
            "remainder" => libm::remquo(x, y).0,
            "quotient-bits" => f64::from(libm::remquo(x, y).1),
            "first-bessel" => libm::jn(small_integer(x), y),
            "second-bessel" => libm::yn(small_integer(x), y),
            _ => return Err(call.range_error(thread, 0, "a function of two flonums")),
        };
        return Ok(thread.flonum(result));
    }
    let z = flonum_at(thread, call, 3)?;
    match name.as_str() {
        "multiply-add" => Ok(thread.flonum(x.mul_add(y, z))),
        _ => Err(call.range_error(thread, 0, "a function of three flonums")),
    }
}

fn bits_to_flonum(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bits = number_of(call.at(0))
        .and_then(|number| number.to_integer().map(|integer| u64::try_from(&*integer)));
    match bits {
        Some(Ok(bits)) => Ok(thread.flonum(f64::from_bits(bits))),
        Some(Err(_)) => Err(call.range_error(thread, 0, "64 bits")),
        None => Err(call.type_error(thread, 0, "exact integer")),
    }
}
