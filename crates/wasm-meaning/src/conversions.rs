//! Conversions of floats to integers that trap.

use canny_tables::guest::{Number, Reason, Unary};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::{Meaning, type_of};

/// The integer that a float has without its fraction; traps if there is none.
pub fn checked<'b>(code: &mut impl Meaning<'b>, op: Unary, x: Value) -> Value {
    let (from, to) = op.kinds();
    let is_signed = op.name().ends_with("_s");
    let unordered = code.builder().ins().fcmp(FloatCC::Unordered, x, x);
    code.trap_if(unordered, Reason::InvalidConversion);
    // The greatest float below the range and the least one above it, and whether the first is inside.
    let (below, above) = bounds(from, to, is_signed);
    let below = constant(code, from, below.0, below.1);
    let (below, condition) = below;
    let too_small = code.builder().ins().fcmp(condition, x, below);
    code.trap_if(too_small, Reason::IntegerOverflow);
    let (above, _) = constant(code, from, above, false);
    let too_large = code
        .builder()
        .ins()
        .fcmp(FloatCC::GreaterThanOrEqual, x, above);
    code.trap_if(too_large, Reason::IntegerOverflow);
    let b = code.builder();
    if is_signed {
        b.ins().fcvt_to_sint_sat(type_of(to), x)
    } else {
        b.ins().fcvt_to_uint_sat(type_of(to), x)
    }
}

/// A bound that excludes what is below it (with itself, if so said), and one that excludes what is not
/// below it.
fn bounds(from: Number, to: Number, is_signed: bool) -> ((f64, bool), f64) {
    match (to, is_signed) {
        // A float of 64 bits may lie between the least integer and the next one below.
        (Number::I32, true) if from == Number::F64 => ((-2_147_483_649.0, true), 2_147_483_648.0),
        (Number::I32, true) => ((-2_147_483_648.0, false), 2_147_483_648.0),
        (_, true) => (
            (-9_223_372_036_854_775_808.0, false),
            9_223_372_036_854_775_808.0,
        ),
        (Number::I32, false) => ((-1.0, true), 4_294_967_296.0),
        (_, false) => ((-1.0, true), 18_446_744_073_709_551_616.0),
    }
}

fn constant<'b>(
    code: &mut impl Meaning<'b>,
    kind: Number,
    value: f64,
    inclusive: bool,
) -> (Value, FloatCC) {
    let condition = if inclusive {
        FloatCC::LessThanOrEqual
    } else {
        FloatCC::LessThan
    };
    let b = code.builder();
    let constant = match kind {
        Number::F32 => b.ins().f32const(value as f32),
        _ => b.ins().f64const(value),
    };
    (constant, condition)
}
