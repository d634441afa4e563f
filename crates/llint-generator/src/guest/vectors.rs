//! Handlers of instructions on vectors.
//!
//! A vector has two slots, which need not be aligned to its size. No float is in the accumulator behind
//! such an instruction, so that its register has the result in any case.

use canny_tables::guest::{
    Access, Lanes, Number, Shape, Vector, VectorBinary, VectorLoad, VectorPlain, VectorShift,
    VectorTernary, VectorTest, VectorUnary,
};
use canny_wasm_meaning as meaning;
use canny_wasm_meaning::type_of;
use cranelift_codegen::ir::types::{F64X2, I8X16, I32};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use meaning::{vector_cast, vector_type};

use super::dsl::Handler;
use super::handlers::{address, give, global};

/// Slots of the machine, which have half of a vector's alignment.
const SLOTS: MemFlagsData = MemFlagsData::new().with_notrap();

/// Writes the handler of an instruction.
pub fn write(h: &mut Handler, op: Vector, bytes: usize) {
    match op {
        Vector::Unary(op, takes, gives) => unary(h, op, takes, gives),
        Vector::Binary(op, shape, gives) => binary(h, op, shape, gives),
        Vector::Ternary(op, takes, gives) => ternary(h, op, takes, gives),
        Vector::Shift(op, shape, gives) => shift(h, op, shape, gives),
        Vector::Test(op, takes, gives) => test(h, op, takes, gives),
        Vector::Splat(lanes, takes, gives) => splat(h, lanes, takes, gives),
        Vector::Replace(lanes, lane, shape, gives) => replace(h, (lanes, lane), shape, gives),
        Vector::Shuffle(shape, gives) => {
            let (x, y) = operands(h, I8X16, shape);
            let indices = h.builder.ins().load(I8X16, SLOTS, h.pc, 16);
            let result = meaning::vector_shuffle(h.builder, x, y, indices);
            give_vector(h, result, gives);
        }
        Vector::Load(op, access, gives) => load(h, op, access, gives),
        Vector::Store(access, takes) => store(h, access, takes),
        Vector::Plain(op) => plain(h, op),
    }
    h.next(bytes);
}

/// The vector in the slots that an operand names.
fn operand(h: &mut Handler, of: Type, at: i32) -> Value {
    let slot = h.slot(at);
    h.builder.ins().load(of, SLOTS, slot, 0)
}

/// The vector in the accumulator.
fn kept(h: &mut Handler, of: Type) -> Value {
    vector_cast(h.builder, of, h.float)
}

/// The operand at 10, or that in the accumulator.
fn taken(h: &mut Handler, of: Type, takes: bool) -> Value {
    if takes {
        kept(h, of)
    } else {
        operand(h, of, 10)
    }
}

/// The operands at 10 and 12, one of which may be in the accumulator.
fn operands(h: &mut Handler, of: Type, shape: Shape) -> (Value, Value) {
    match shape {
        Shape::KeptFirst => (kept(h, of), operand(h, of, 12)),
        Shape::KeptSecond => (operand(h, of, 10), kept(h, of)),
        _ => (operand(h, of, 10), operand(h, of, 12)),
    }
}

/// Leaves a result in the accumulator, and in its slots if it is not to be kept.
fn give_vector(h: &mut Handler, result: Value, keeps: bool) {
    if !keeps {
        let slot = h.slot(8);
        h.builder.ins().store(SLOTS, result, slot, 0);
    }
    h.float = vector_cast(h.builder, F64X2, result);
}

fn unary(h: &mut Handler, op: VectorUnary, takes: bool, gives: bool) {
    let x = taken(h, vector_type(op.lanes()), takes);
    let result = meaning::vector_unary(h.builder, op, x);
    give_vector(h, result, gives);
}

fn binary(h: &mut Handler, op: VectorBinary, shape: Shape, gives: bool) {
    let (x, y) = operands(h, vector_type(op.lanes()), shape);
    let result = meaning::vector_binary(h.builder, op, x, y);
    give_vector(h, result, gives);
}

fn ternary(h: &mut Handler, op: VectorTernary, takes: bool, gives: bool) {
    let (lanes, last) = op.lanes();
    let of = vector_type(lanes);
    let (x, y) = operands(h, of, Shape::Slots);
    let last = vector_type(last);
    let z = if takes {
        kept(h, last)
    } else {
        operand(h, last, 14)
    };
    let result = meaning::vector_ternary(h.builder, op, [x, y, z]);
    give_vector(h, result, gives);
}

fn shift(h: &mut Handler, op: VectorShift, shape: Shape, gives: bool) {
    let takes = matches!(shape, Shape::KeptFirst | Shape::KeptRight);
    let x = taken(h, vector_type(op.lanes()), takes);
    let count = if shape.has_constant() {
        h.constant(Number::I32, 12)
    } else {
        h.operand(I32, 12)
    };
    h.forget_integer();
    let result = meaning::vector_shift(h.builder, op, x, count);
    give_vector(h, result, gives);
}

fn test(h: &mut Handler, op: VectorTest, takes: bool, gives: bool) {
    let x = taken(h, vector_type(op.lanes()), takes);
    let answer = meaning::vector_test(h.builder, op, x);
    give(h, Number::I32, answer, gives);
}

fn splat(h: &mut Handler, lanes: Lanes, takes: bool, gives: bool) {
    let kind = lanes.kind();
    let x = if takes {
        h.kept(kind)
    } else {
        h.operand(type_of(kind), 10)
    };
    let result = meaning::vector_splat(h.builder, lanes, x);
    give_vector(h, result, gives);
}

fn replace(h: &mut Handler, lanes: (Lanes, u8), shape: Shape, gives: bool) {
    let kind = lanes.0.kind();
    let x = taken(h, vector_type(lanes.0), shape == Shape::KeptFirst);
    let to = if shape == Shape::KeptSecond {
        h.kept(kind)
    } else {
        h.operand(type_of(kind), 12)
    };
    let result = meaning::vector_replace(h.builder, lanes, x, to);
    give_vector(h, result, gives);
}

fn load(h: &mut Handler, op: VectorLoad, access: Access, gives: bool) {
    let place = address(h, access, 10, meaning::vector_load_bytes(op));
    // It may trap, so that it is neither moved nor dropped.
    let result = meaning::vector_load(h.builder, op, MemFlagsData::new(), place);
    give_vector(h, result, gives);
}

fn store(h: &mut Handler, access: Access, takes: bool) {
    let value = taken(h, I8X16, takes);
    let place = address(h, access, 8, 16);
    h.builder.ins().store(MemFlagsData::new(), value, place, 0);
}

fn plain(h: &mut Handler, op: VectorPlain) {
    match op {
        VectorPlain::Select => {
            h.forget_integer();
            let condition = h.operand(I32, 14);
            let (x, y) = (h.slot(10), h.slot(12));
            let chosen = h.builder.ins().select(condition, x, y);
            let result = h.builder.ins().load(I8X16, SLOTS, chosen, 0);
            give_vector(h, result, false);
        }
        VectorPlain::Copy => {
            let value = operand(h, I8X16, 10);
            give_vector(h, value, false);
        }
        VectorPlain::Constant => {
            let value = h.builder.ins().load(I8X16, SLOTS, h.pc, 16);
            give_vector(h, value, false);
        }
        VectorPlain::GlobalGet => {
            let cell = global(h);
            let value = h.builder.ins().load(I8X16, SLOTS, cell, 0);
            give_vector(h, value, false);
        }
        VectorPlain::GlobalSet => {
            let value = operand(h, I8X16, 8);
            let cell = global(h);
            h.builder.ins().store(SLOTS, value, cell, 0);
        }
    }
}
