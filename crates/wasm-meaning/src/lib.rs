//! The meaning of WebAssembly's instructions on numbers and vectors, and of atomic accesses to memory.
//!
//! Each operation is written once, over Cranelift's builder: the generator of the interpreter's handlers
//! uses it when Canny is built, with operands from slots of a frame, and the compiler of hot functions
//! when a guest runs, with operands in registers. The user says how to trap.
#![forbid(unsafe_code)]

mod atomics;
mod conversions;
mod vectors;

pub use atomics::{atomic, atomic_check, atomic_type, fence};
pub use vectors::*;

use canny_tables::guest::{Binary, Compare, Number, Reason, Unary};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I8X16, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use cranelift_frontend::FunctionBuilder;

/// Code that checks for traps while it computes.
pub trait Meaning<'b> {
    /// The builder that the code is written with.
    fn builder(&mut self) -> &mut FunctionBuilder<'b>;

    /// Traps if a condition holds; what is written afterwards runs if it does not.
    fn trap_if(&mut self, condition: Value, reason: Reason);
}

/// Cranelift's type of a number, or one of those of a vector.
pub fn type_of(number: Number) -> Type {
    match number {
        Number::I32 => I32,
        Number::I64 => I64,
        Number::F32 => F32,
        Number::F64 => F64,
        Number::V128 => I8X16,
    }
}

/// The result of an operation on one number.
pub fn unary<'b>(code: &mut impl Meaning<'b>, op: Unary, x: Value) -> Value {
    use Unary::*;
    let extended = |code: &mut FunctionBuilder, small: Type, wide: Type| {
        let part = code.ins().ireduce(small, x);
        code.ins().sextend(wide, part)
    };
    let b = code.builder();
    match op {
        I32Clz | I64Clz => b.ins().clz(x),
        I32Ctz | I64Ctz => b.ins().ctz(x),
        I32Popcnt | I64Popcnt => b.ins().popcnt(x),
        I32Extend8S => extended(b, I8, I32),
        I32Extend16S => extended(b, I16, I32),
        I64Extend8S => extended(b, I8, I64),
        I64Extend16S => extended(b, I16, I64),
        I64Extend32S => extended(b, I32, I64),
        I32WrapI64 => b.ins().ireduce(I32, x),
        I64ExtendI32S => b.ins().sextend(I64, x),
        I64ExtendI32U => b.ins().uextend(I64, x),
        F32Abs | F64Abs => b.ins().fabs(x),
        F32Neg | F64Neg => b.ins().fneg(x),
        F32Ceil | F64Ceil => b.ins().ceil(x),
        F32Floor | F64Floor => b.ins().floor(x),
        F32Trunc | F64Trunc => b.ins().trunc(x),
        F32Nearest | F64Nearest => b.ins().nearest(x),
        F32Sqrt | F64Sqrt => b.ins().sqrt(x),
        F32ConvertI32S | F32ConvertI64S => b.ins().fcvt_from_sint(F32, x),
        F32ConvertI32U | F32ConvertI64U => b.ins().fcvt_from_uint(F32, x),
        F64ConvertI32S | F64ConvertI64S => b.ins().fcvt_from_sint(F64, x),
        F64ConvertI32U | F64ConvertI64U => b.ins().fcvt_from_uint(F64, x),
        F32DemoteF64 => b.ins().fdemote(F32, x),
        F64PromoteF32 => b.ins().fpromote(F64, x),
        I32TruncF32S | I32TruncF32U | I32TruncF64S | I32TruncF64U | I64TruncF32S | I64TruncF32U
        | I64TruncF64S | I64TruncF64U => conversions::checked(code, op, x),
        I32TruncSatF32S | I32TruncSatF64S => b.ins().fcvt_to_sint_sat(I32, x),
        I32TruncSatF32U | I32TruncSatF64U => b.ins().fcvt_to_uint_sat(I32, x),
        I64TruncSatF32S | I64TruncSatF64S => b.ins().fcvt_to_sint_sat(I64, x),
        I64TruncSatF32U | I64TruncSatF64U => b.ins().fcvt_to_uint_sat(I64, x),
    }
}

/// The result of an operation on two numbers.
pub fn binary<'b>(code: &mut impl Meaning<'b>, op: Binary, x: Value, y: Value) -> Value {
    use Binary::*;
    let b = code.builder();
    match op {
        I32Add | I64Add => b.ins().iadd(x, y),
        I32Sub | I64Sub => b.ins().isub(x, y),
        I32Mul | I64Mul => b.ins().imul(x, y),
        I32DivS | I64DivS => {
            division_checks(code, op.kind(), x, y, true);
            code.builder().ins().sdiv(x, y)
        }
        I32DivU | I64DivU => {
            division_checks(code, op.kind(), x, y, false);
            code.builder().ins().udiv(x, y)
        }
        I32RemS | I64RemS => {
            division_checks(code, op.kind(), x, y, false);
            code.builder().ins().srem(x, y)
        }
        I32RemU | I64RemU => {
            division_checks(code, op.kind(), x, y, false);
            code.builder().ins().urem(x, y)
        }
        I32And | I64And => b.ins().band(x, y),
        I32Or | I64Or => b.ins().bor(x, y),
        I32Xor | I64Xor => b.ins().bxor(x, y),
        I32Shl | I64Shl => b.ins().ishl(x, y),
        I32ShrS | I64ShrS => b.ins().sshr(x, y),
        I32ShrU | I64ShrU => b.ins().ushr(x, y),
        I32Rotl | I64Rotl => b.ins().rotl(x, y),
        I32Rotr | I64Rotr => b.ins().rotr(x, y),
        F32Add | F64Add => b.ins().fadd(x, y),
        F32Sub | F64Sub => b.ins().fsub(x, y),
        F32Mul | F64Mul => b.ins().fmul(x, y),
        F32Div | F64Div => b.ins().fdiv(x, y),
        F32Min | F64Min => b.ins().fmin(x, y),
        F32Max | F64Max => b.ins().fmax(x, y),
        F32Copysign | F64Copysign => b.ins().fcopysign(x, y),
    }
}

/// Traps if a division has no result.
fn division_checks<'b>(
    code: &mut impl Meaning<'b>,
    kind: Number,
    x: Value,
    y: Value,
    may_overflow: bool,
) {
    let zero = code.builder().ins().icmp_imm_s(IntCC::Equal, y, 0);
    code.trap_if(zero, Reason::DivideByZero);
    if may_overflow {
        let least = match kind {
            Number::I32 => i64::from(i32::MIN),
            _ => i64::MIN,
        };
        let b = code.builder();
        let least = b.ins().iconst(type_of(kind), least);
        let is_least = b.ins().icmp(IntCC::Equal, x, least);
        let is_negation = b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let both = b.ins().band(is_least, is_negation);
        code.trap_if(both, Reason::IntegerOverflow);
    }
}

/// Whether a comparison holds, as a byte.
pub fn compare(builder: &mut FunctionBuilder, op: Compare, x: Value, y: Value) -> Value {
    match op.kind() {
        Number::I32 | Number::I64 => builder.ins().icmp(integer_condition(op), x, y),
        _ => builder.ins().fcmp(float_condition(op), x, y),
    }
}

fn integer_condition(op: Compare) -> IntCC {
    match &op.name()[4..] {
        "eq" => IntCC::Equal,
        "ne" => IntCC::NotEqual,
        "lt_s" => IntCC::SignedLessThan,
        "lt_u" => IntCC::UnsignedLessThan,
        "gt_s" => IntCC::SignedGreaterThan,
        "gt_u" => IntCC::UnsignedGreaterThan,
        "le_s" => IntCC::SignedLessThanOrEqual,
        "le_u" => IntCC::UnsignedLessThanOrEqual,
        "ge_s" => IntCC::SignedGreaterThanOrEqual,
        _ => IntCC::UnsignedGreaterThanOrEqual,
    }
}

fn float_condition(op: Compare) -> FloatCC {
    match &op.name()[4..] {
        "eq" => FloatCC::Equal,
        "ne" => FloatCC::NotEqual,
        "lt" => FloatCC::LessThan,
        "gt" => FloatCC::GreaterThan,
        "le" => FloatCC::LessThanOrEqual,
        _ => FloatCC::GreaterThanOrEqual,
    }
}
