//! Primitives of flonums beyond R7RS: functions of SRFI 144, and the bits of SRFI 208.
//!
//! Arguments are flonums and nothing else; the libraries convert before. Two primitives take the
//! function as a number, since the SRFI has many that few programs call.

use canny_number::Number;
use canny_tables::protocols::{FlonumFunction, FlonumOperation};
use canny_value::Value;
use canny_vm::numbers::number_of;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%flonum-function" => flonum_function;
    "%flonum-operation" => flonum_operation;
    "%flonum-multiply-add" => multiply_add;
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

/// The value of a function of one flonum.
pub(crate) fn value_of_function(function: FlonumFunction, x: f64) -> f64 {
    match function {
        FlonumFunction::ExpMinusOne => x.exp_m1(),
        FlonumFunction::ExpOfTwo => x.exp2(),
        FlonumFunction::LogOfOneAnd => x.ln_1p(),
        FlonumFunction::LogToTwo => x.log2(),
        FlonumFunction::LogToTen => x.log10(),
        FlonumFunction::CubeRoot => x.cbrt(),
        FlonumFunction::HyperbolicSine => x.sinh(),
        FlonumFunction::HyperbolicCosine => x.cosh(),
        FlonumFunction::HyperbolicTangent => x.tanh(),
        FlonumFunction::InverseHyperbolicSine => x.asinh(),
        FlonumFunction::InverseHyperbolicCosine => x.acosh(),
        FlonumFunction::InverseHyperbolicTangent => x.atanh(),
        FlonumFunction::Gamma => libm::tgamma(x),
        FlonumFunction::LogGamma => libm::lgamma(x),
        FlonumFunction::Error => libm::erf(x),
        FlonumFunction::ComplementOfError => libm::erfc(x),
    }
}

/// The value of a function of two flonums.
pub(crate) fn value_of_operation(operation: FlonumOperation, x: f64, y: f64) -> f64 {
    match operation {
        FlonumOperation::Hypotenuse => x.hypot(y),
        FlonumOperation::CopySign => x.copysign(y),
        FlonumOperation::Adjacent => libm::nextafter(x, y),
        FlonumOperation::Scale => libm::scalbn(x, small_integer(y)),
        FlonumOperation::Remainder => libm::remquo(x, y).0,
        FlonumOperation::QuotientBits => f64::from(libm::remquo(x, y).1),
        FlonumOperation::FirstBessel => libm::jn(small_integer(x), y),
        FlonumOperation::SecondBessel => libm::yn(small_integer(x), y),
    }
}

fn flonum_function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let function = call.case(thread, 0)?;
    let x = flonum_at(thread, call, 1)?;
    Ok(thread.flonum(value_of_function(function, x)))
}

fn flonum_operation(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let operation = call.case(thread, 0)?;
    let (x, y) = (flonum_at(thread, call, 1)?, flonum_at(thread, call, 2)?);
    Ok(thread.flonum(value_of_operation(operation, x, y)))
}

fn multiply_add(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (x, y) = (flonum_at(thread, call, 0)?, flonum_at(thread, call, 1)?);
    let z = flonum_at(thread, call, 2)?;
    Ok(thread.flonum(x.mul_add(y, z)))
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
