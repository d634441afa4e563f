//! The meaning of instructions on vectors.
//!
//! An operand has the type of its operation's lanes; a result has any type of 128 bits. No operation
//! traps. Where the standard leaves a choice to relaxed operations, they do what the others do:
//! products and sums are rounded one by one, and all operands have signs.

use canny_tables::guest::{
    Lanes, VectorBinary, VectorLoad, VectorShift, VectorTernary, VectorTest, VectorUnary,
};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{
    F32, F32X4, F64, F64X2, I8, I8X16, I16, I16X8, I32, I32X4, I64, I64X2,
};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;

/// Vectors are cast lane by lane, as they lie in memory.
const LITTLE: MemFlagsData = MemFlagsData::new().with_endianness(Endianness::Little);

/// Cranelift's type of a vector.
pub fn vector_type(lanes: Lanes) -> Type {
    match lanes {
        Lanes::I8x16 => I8X16,
        Lanes::I16x8 => I16X8,
        Lanes::I32x4 => I32X4,
        Lanes::I64x2 => I64X2,
        Lanes::F32x4 => F32X4,
        Lanes::F64x2 => F64X2,
    }
}

/// The same bits as a vector of another type.
pub fn vector_cast(b: &mut FunctionBuilder, to: Type, x: Value) -> Value {
    if b.func.dfg.value_type(x) == to {
        x
    } else {
        b.ins().bitcast(to, LITTLE, x)
    }
}

fn zero(b: &mut FunctionBuilder, of: Type) -> Value {
    let bytes = b.func.dfg.constants.insert(vec![0; 16].into());
    b.ins().vconst(of, bytes)
}

/// The result of an operation on one vector.
pub fn vector_unary(b: &mut FunctionBuilder, op: VectorUnary, x: Value) -> Value {
    use VectorUnary::*;
    match op {
        V128Not => b.ins().bnot(x),
        I8x16Abs | I16x8Abs | I32x4Abs | I64x2Abs => b.ins().iabs(x),
        I8x16Neg | I16x8Neg | I32x4Neg | I64x2Neg => b.ins().ineg(x),
        I8x16Popcnt => b.ins().popcnt(x),
        I16x8ExtAddPairwiseI8x16S | I32x4ExtAddPairwiseI16x8S => {
            let (low, high) = (b.ins().swiden_low(x), b.ins().swiden_high(x));
            b.ins().iadd_pairwise(low, high)
        }
        I16x8ExtAddPairwiseI8x16U | I32x4ExtAddPairwiseI16x8U => {
            let (low, high) = (b.ins().uwiden_low(x), b.ins().uwiden_high(x));
            b.ins().iadd_pairwise(low, high)
        }
        I16x8ExtendLowI8x16S | I32x4ExtendLowI16x8S | I64x2ExtendLowI32x4S => b.ins().swiden_low(x),
        I16x8ExtendHighI8x16S | I32x4ExtendHighI16x8S | I64x2ExtendHighI32x4S => {
            b.ins().swiden_high(x)
        }
        I16x8ExtendLowI8x16U | I32x4ExtendLowI16x8U | I64x2ExtendLowI32x4U => b.ins().uwiden_low(x),
        I16x8ExtendHighI8x16U | I32x4ExtendHighI16x8U | I64x2ExtendHighI32x4U => {
            b.ins().uwiden_high(x)
        }
        F32x4Ceil | F64x2Ceil => b.ins().ceil(x),
        F32x4Floor | F64x2Floor => b.ins().floor(x),
        F32x4Trunc | F64x2Trunc => b.ins().trunc(x),
        F32x4Nearest | F64x2Nearest => b.ins().nearest(x),
        F32x4Abs | F64x2Abs => b.ins().fabs(x),
        F32x4Neg | F64x2Neg => b.ins().fneg(x),
        F32x4Sqrt | F64x2Sqrt => b.ins().sqrt(x),
        I32x4TruncSatF32x4S | I32x4RelaxedTruncF32x4S => b.ins().fcvt_to_sint_sat(I32X4, x),
        I32x4TruncSatF32x4U | I32x4RelaxedTruncF32x4U => b.ins().fcvt_to_uint_sat(I32X4, x),
        I32x4TruncSatF64x2SZero | I32x4RelaxedTruncF64x2SZero => {
            let whole = b.ins().fcvt_to_sint_sat(I64X2, x);
            let zero = zero(b, I64X2);
            b.ins().snarrow(whole, zero)
        }
        I32x4TruncSatF64x2UZero | I32x4RelaxedTruncF64x2UZero => {
            let whole = b.ins().fcvt_to_uint_sat(I64X2, x);
            let zero = zero(b, I64X2);
            b.ins().uunarrow(whole, zero)
        }
        F32x4ConvertI32x4S => b.ins().fcvt_from_sint(F32X4, x),
        F32x4ConvertI32x4U => b.ins().fcvt_from_uint(F32X4, x),
        F64x2ConvertLowI32x4S => {
            let wide = b.ins().swiden_low(x);
            b.ins().fcvt_from_sint(F64X2, wide)
        }
        F64x2ConvertLowI32x4U => {
            let wide = b.ins().uwiden_low(x);
            b.ins().fcvt_from_uint(F64X2, wide)
        }
        F32x4DemoteF64x2Zero => b.ins().fvdemote(x),
        F64x2PromoteLowF32x4 => b.ins().fvpromote_low(x),
    }
}

/// The result of an operation on two vectors.
pub fn vector_binary(b: &mut FunctionBuilder, op: VectorBinary, x: Value, y: Value) -> Value {
    use VectorBinary::*;
    match op {
        I8x16Swizzle | I8x16RelaxedSwizzle => b.ins().swizzle(x, y),
        V128And => b.ins().band(x, y),
        V128AndNot => {
            let other = b.ins().bnot(y);
            b.ins().band(x, other)
        }
        V128Or => b.ins().bor(x, y),
        V128Xor => b.ins().bxor(x, y),
        I8x16NarrowI16x8S | I16x8NarrowI32x4S => b.ins().snarrow(x, y),
        I8x16NarrowI16x8U | I16x8NarrowI32x4U => b.ins().unarrow(x, y),
        I8x16Add | I16x8Add | I32x4Add | I64x2Add => b.ins().iadd(x, y),
        I8x16Sub | I16x8Sub | I32x4Sub | I64x2Sub => b.ins().isub(x, y),
        I16x8Mul | I32x4Mul | I64x2Mul => b.ins().imul(x, y),
        I8x16AddSatS | I16x8AddSatS => b.ins().sadd_sat(x, y),
        I8x16AddSatU | I16x8AddSatU => b.ins().uadd_sat(x, y),
        I8x16SubSatS | I16x8SubSatS => b.ins().ssub_sat(x, y),
        I8x16SubSatU | I16x8SubSatU => b.ins().usub_sat(x, y),
        I8x16MinS | I16x8MinS | I32x4MinS => b.ins().smin(x, y),
        I8x16MinU | I16x8MinU | I32x4MinU => b.ins().umin(x, y),
        I8x16MaxS | I16x8MaxS | I32x4MaxS => b.ins().smax(x, y),
        I8x16MaxU | I16x8MaxU | I32x4MaxU => b.ins().umax(x, y),
        I8x16AvgrU | I16x8AvgrU => b.ins().avg_round(x, y),
        I16x8Q15MulrSatS | I16x8RelaxedQ15mulrS => b.ins().sqmul_round_sat(x, y),
        I32x4DotI16x8S | I16x8RelaxedDotI8x16I7x16S => dot(b, x, y),
        I16x8ExtMulLowI8x16S | I32x4ExtMulLowI16x8S | I64x2ExtMulLowI32x4S => {
            let (x, y) = (b.ins().swiden_low(x), b.ins().swiden_low(y));
            b.ins().imul(x, y)
        }
        I16x8ExtMulHighI8x16S | I32x4ExtMulHighI16x8S | I64x2ExtMulHighI32x4S => {
            let (x, y) = (b.ins().swiden_high(x), b.ins().swiden_high(y));
            b.ins().imul(x, y)
        }
        I16x8ExtMulLowI8x16U | I32x4ExtMulLowI16x8U | I64x2ExtMulLowI32x4U => {
            let (x, y) = (b.ins().uwiden_low(x), b.ins().uwiden_low(y));
            b.ins().imul(x, y)
        }
        I16x8ExtMulHighI8x16U | I32x4ExtMulHighI16x8U | I64x2ExtMulHighI32x4U => {
            let (x, y) = (b.ins().uwiden_high(x), b.ins().uwiden_high(y));
            b.ins().imul(x, y)
        }
        F32x4Add | F64x2Add => b.ins().fadd(x, y),
        F32x4Sub | F64x2Sub => b.ins().fsub(x, y),
        F32x4Mul | F64x2Mul => b.ins().fmul(x, y),
        F32x4Div | F64x2Div => b.ins().fdiv(x, y),
        F32x4Min | F64x2Min | F32x4RelaxedMin | F64x2RelaxedMin => b.ins().fmin(x, y),
        F32x4Max | F64x2Max | F32x4RelaxedMax | F64x2RelaxedMax => b.ins().fmax(x, y),
        F32x4PMin | F64x2PMin => {
            let less = b.ins().fcmp(FloatCC::LessThan, y, x);
            select_lanes(b, less, y, x)
        }
        F32x4PMax | F64x2PMax => {
            let less = b.ins().fcmp(FloatCC::LessThan, x, y);
            select_lanes(b, less, y, x)
        }
        _ => vector_compare(b, op, x, y),
    }
}

/// A comparison of all lanes, whose results are all ones or all zeros.
fn vector_compare(b: &mut FunctionBuilder, op: VectorBinary, x: Value, y: Value) -> Value {
    if matches!(op.lanes(), Lanes::F32x4 | Lanes::F64x2) {
        b.ins().fcmp(float_condition(op), x, y)
    } else {
        b.ins().icmp(integer_condition(op), x, y)
    }
}

fn integer_condition(op: VectorBinary) -> IntCC {
    match op.operation() {
        "eq" => IntCC::Equal,
        "ne" => IntCC::NotEqual,
        "lt_s" => IntCC::SignedLessThan,
        "lt_u" => IntCC::UnsignedLessThan,
        "gt_s" => IntCC::SignedGreaterThan,
        "gt_u" => IntCC::UnsignedGreaterThan,
        "le_s" => IntCC::SignedLessThanOrEqual,
        "le_u" => IntCC::UnsignedLessThanOrEqual,
        "ge_s" => IntCC::SignedGreaterThanOrEqual,
        "ge_u" => IntCC::UnsignedGreaterThanOrEqual,
        other => unreachable!("{other} has no meaning"),
    }
}

fn float_condition(op: VectorBinary) -> FloatCC {
    match op.operation() {
        "eq" => FloatCC::Equal,
        "ne" => FloatCC::NotEqual,
        "lt" => FloatCC::LessThan,
        "gt" => FloatCC::GreaterThan,
        "le" => FloatCC::LessThanOrEqual,
        "ge" => FloatCC::GreaterThanOrEqual,
        other => unreachable!("{other} has no meaning"),
    }
}

/// Sums of the products of two neighbours, as lanes of twice the width.
fn dot(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let (x_low, y_low) = (b.ins().swiden_low(x), b.ins().swiden_low(y));
    let low = b.ins().imul(x_low, y_low);
    let (x_high, y_high) = (b.ins().swiden_high(x), b.ins().swiden_high(y));
    let high = b.ins().imul(x_high, y_high);
    b.ins().iadd_pairwise(low, high)
}

/// The bits of `x` where the mask has ones, those of `y` elsewhere.
fn select_lanes(b: &mut FunctionBuilder, mask: Value, x: Value, y: Value) -> Value {
    let of = b.func.dfg.value_type(x);
    let mask = vector_cast(b, of, mask);
    b.ins().bitselect(mask, x, y)
}

/// The result of an operation on three vectors.
pub fn vector_ternary(b: &mut FunctionBuilder, op: VectorTernary, operands: [Value; 3]) -> Value {
    use VectorTernary::*;
    let [x, y, z] = operands;
    match op {
        V128Bitselect
        | I8x16RelaxedLaneselect
        | I16x8RelaxedLaneselect
        | I32x4RelaxedLaneselect
        | I64x2RelaxedLaneselect => b.ins().bitselect(z, x, y),
        F32x4RelaxedMadd | F64x2RelaxedMadd => {
            let product = b.ins().fmul(x, y);
            b.ins().fadd(product, z)
        }
        F32x4RelaxedNmadd | F64x2RelaxedNmadd => {
            let product = b.ins().fmul(x, y);
            b.ins().fsub(z, product)
        }
        I32x4RelaxedDotI8x16I7x16AddS => {
            let sums = dot(b, x, y);
            let (low, high) = (b.ins().swiden_low(sums), b.ins().swiden_high(sums));
            let sums = b.ins().iadd_pairwise(low, high);
            b.ins().iadd(sums, z)
        }
    }
}

/// All lanes of a vector, shifted by a number of 32 bits, of which the lower bits count.
pub fn vector_shift(b: &mut FunctionBuilder, op: VectorShift, x: Value, count: Value) -> Value {
    use VectorShift::*;
    match op {
        I8x16Shl | I16x8Shl | I32x4Shl | I64x2Shl => b.ins().ishl(x, count),
        I8x16ShrS | I16x8ShrS | I32x4ShrS | I64x2ShrS => b.ins().sshr(x, count),
        I8x16ShrU | I16x8ShrU | I32x4ShrU | I64x2ShrU => b.ins().ushr(x, count),
    }
}

/// The answer of a question about all lanes.
pub fn vector_test(b: &mut FunctionBuilder, op: VectorTest, x: Value) -> Value {
    use VectorTest::*;
    match op {
        V128AnyTrue => {
            let any = b.ins().vany_true(x);
            b.ins().uextend(I32, any)
        }
        I8x16AllTrue | I16x8AllTrue | I32x4AllTrue | I64x2AllTrue => {
            let all = b.ins().vall_true(x);
            b.ins().uextend(I32, all)
        }
        I8x16Bitmask | I16x8Bitmask | I32x4Bitmask | I64x2Bitmask => b.ins().vhigh_bits(I32, x),
    }
}

/// A number as a lane: only the lower bits of narrow ones count.
fn lane(b: &mut FunctionBuilder, lanes: Lanes, x: Value) -> Value {
    match lanes {
        Lanes::I8x16 => b.ins().ireduce(I8, x),
        Lanes::I16x8 => b.ins().ireduce(I16, x),
        _ => x,
    }
}

/// A vector whose lanes are all the same number.
pub fn vector_splat(b: &mut FunctionBuilder, lanes: Lanes, x: Value) -> Value {
    let x = lane(b, lanes, x);
    b.ins().splat(vector_type(lanes), x)
}

/// A vector with another number in one of its lanes.
pub fn vector_replace(b: &mut FunctionBuilder, lanes: (Lanes, u8), x: Value, to: Value) -> Value {
    let to = lane(b, lanes.0, to);
    b.ins().insertlane(x, to, lanes.1)
}

/// Bytes of two vectors: each index is one into the first, or one into the second with the highest bit
/// set.
pub fn vector_shuffle(b: &mut FunctionBuilder, x: Value, y: Value, indices: Value) -> Value {
    // A byte whose index is too great is zero.
    let from_first = b.ins().swizzle(x, indices);
    let bit = b.func.dfg.constants.insert(vec![0x80; 16].into());
    let bit = b.ins().vconst(I8X16, bit);
    let indices = b.ins().bxor(indices, bit);
    let from_second = b.ins().swizzle(y, indices);
    b.ins().bor(from_first, from_second)
}

/// Bytes that a load reads.
pub fn vector_load_bytes(op: VectorLoad) -> i64 {
    match op {
        VectorLoad::V128 => 16,
        VectorLoad::Splat8 => 1,
        VectorLoad::Splat16 => 2,
        VectorLoad::Splat32 | VectorLoad::Zero32 => 4,
        _ => 8,
    }
}

/// The vector that a load gives, of what is at an address.
pub fn vector_load(
    b: &mut FunctionBuilder,
    op: VectorLoad,
    flags: MemFlagsData,
    address: Value,
) -> Value {
    let splat = |b: &mut FunctionBuilder, lane: Type, of: Type| {
        let value = b.ins().load(lane, flags, address, 0);
        b.ins().splat(of, value)
    };
    let first = |b: &mut FunctionBuilder, lane: Type, of: Type| {
        let value = b.ins().load(lane, flags, address, 0);
        b.ins().scalar_to_vector(of, value)
    };
    match op {
        VectorLoad::V128 => b.ins().load(I8X16, flags, address, 0),
        VectorLoad::From8x8S => b.ins().sload8x8(flags, address, 0),
        VectorLoad::From8x8U => b.ins().uload8x8(flags, address, 0),
        VectorLoad::From16x4S => b.ins().sload16x4(flags, address, 0),
        VectorLoad::From16x4U => b.ins().uload16x4(flags, address, 0),
        VectorLoad::From32x2S => b.ins().sload32x2(flags, address, 0),
        VectorLoad::From32x2U => b.ins().uload32x2(flags, address, 0),
        VectorLoad::Splat8 => splat(b, I8, I8X16),
        VectorLoad::Splat16 => splat(b, I16, I16X8),
        VectorLoad::Splat32 => splat(b, F32, F32X4),
        VectorLoad::Splat64 => splat(b, I64, I64X2),
        VectorLoad::Zero32 => first(b, F32, F32X4),
        VectorLoad::Zero64 => first(b, F64, F64X2),
    }
}
