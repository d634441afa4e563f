//! Operators on vectors.
//!
//! Operands have the type of sixteen bytes, and are cast to the lanes that an operation wants.

use canny_tables::guest::{Lanes, VectorLoad};
use canny_wasm_meaning::{
    vector_binary, vector_cast, vector_load, vector_load_bytes, vector_replace, vector_shift,
    vector_splat, vector_ternary, vector_test, vector_type, vector_unary,
};
use cranelift_codegen::ir::types::{I8X16, I32};
use cranelift_codegen::ir::{ConstantData, InstBuilder, Value};
use wasmparser::{MemArg, Operator};

use super::Compiler;
use super::memory::GUEST;
use crate::translate::vectors::{binary_of, shift_of, ternary_of, test_of, unary_of};

impl Compiler<'_, '_> {
    fn pop_lanes(&mut self, lanes: Lanes) -> Value {
        let value = self.pop();
        vector_cast(self.b, vector_type(lanes), value)
    }

    fn push_vector(&mut self, value: Value) {
        let value = vector_cast(self.b, I8X16, value);
        self.push(value);
    }

    /// Gives whether the operator is one on vectors.
    pub(super) fn vector(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        match *operator {
            O::V128Const { value } => {
                let value = self.vector_constant(value.i128() as u128);
                self.push(value);
            }
            O::I8x16Shuffle { lanes } => {
                let (y, x) = (self.pop(), self.pop());
                let data = ConstantData::from(lanes.to_vec());
                let lanes = self.b.func.dfg.immediates.push(data);
                let value = self.b.ins().shuffle(x, y, lanes);
                self.push_vector(value);
            }
            O::I8x16Splat => self.splat(Lanes::I8x16),
            O::I16x8Splat => self.splat(Lanes::I16x8),
            O::I32x4Splat => self.splat(Lanes::I32x4),
            O::I64x2Splat => self.splat(Lanes::I64x2),
            O::F32x4Splat => self.splat(Lanes::F32x4),
            O::F64x2Splat => self.splat(Lanes::F64x2),
            O::I8x16ExtractLaneS { lane } => self.extract(Lanes::I8x16, lane, true),
            O::I8x16ExtractLaneU { lane } => self.extract(Lanes::I8x16, lane, false),
            O::I16x8ExtractLaneS { lane } => self.extract(Lanes::I16x8, lane, true),
            O::I16x8ExtractLaneU { lane } => self.extract(Lanes::I16x8, lane, false),
            O::I32x4ExtractLane { lane } => self.extract(Lanes::I32x4, lane, false),
            O::F32x4ExtractLane { lane } => self.extract(Lanes::F32x4, lane, false),
            O::I64x2ExtractLane { lane } => self.extract(Lanes::I64x2, lane, false),
            O::F64x2ExtractLane { lane } => self.extract(Lanes::F64x2, lane, false),
            O::I8x16ReplaceLane { lane } => self.replace(Lanes::I8x16, lane),
            O::I16x8ReplaceLane { lane } => self.replace(Lanes::I16x8, lane),
            O::I32x4ReplaceLane { lane } => self.replace(Lanes::I32x4, lane),
            O::I64x2ReplaceLane { lane } => self.replace(Lanes::I64x2, lane),
            O::F32x4ReplaceLane { lane } => self.replace(Lanes::F32x4, lane),
            O::F64x2ReplaceLane { lane } => self.replace(Lanes::F64x2, lane),
            _ => return self.vector_access(operator),
        }
        true
    }

    fn vector_access(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        use VectorLoad as L;
        match *operator {
            O::V128Load { memarg } => self.load_vector(L::V128, memarg),
            O::V128Load8x8S { memarg } => self.load_vector(L::From8x8S, memarg),
            O::V128Load8x8U { memarg } => self.load_vector(L::From8x8U, memarg),
            O::V128Load16x4S { memarg } => self.load_vector(L::From16x4S, memarg),
            O::V128Load16x4U { memarg } => self.load_vector(L::From16x4U, memarg),
            O::V128Load32x2S { memarg } => self.load_vector(L::From32x2S, memarg),
            O::V128Load32x2U { memarg } => self.load_vector(L::From32x2U, memarg),
            O::V128Load8Splat { memarg } => self.load_vector(L::Splat8, memarg),
            O::V128Load16Splat { memarg } => self.load_vector(L::Splat16, memarg),
            O::V128Load32Splat { memarg } => self.load_vector(L::Splat32, memarg),
            O::V128Load64Splat { memarg } => self.load_vector(L::Splat64, memarg),
            O::V128Load32Zero { memarg } => self.load_vector(L::Zero32, memarg),
            O::V128Load64Zero { memarg } => self.load_vector(L::Zero64, memarg),
            O::V128Store { memarg } => {
                let value = self.pop();
                let (place, at) = self.address(memarg, 16);
                self.b.ins().store(GUEST, value, place, at);
            }
            O::V128Load8Lane { memarg, lane } => self.load_lane(Lanes::I8x16, memarg, lane),
            O::V128Load16Lane { memarg, lane } => self.load_lane(Lanes::I16x8, memarg, lane),
            O::V128Load32Lane { memarg, lane } => self.load_lane(Lanes::I32x4, memarg, lane),
            O::V128Load64Lane { memarg, lane } => self.load_lane(Lanes::I64x2, memarg, lane),
            O::V128Store8Lane { memarg, lane } => self.store_lane(Lanes::I8x16, memarg, lane),
            O::V128Store16Lane { memarg, lane } => self.store_lane(Lanes::I16x8, memarg, lane),
            O::V128Store32Lane { memarg, lane } => self.store_lane(Lanes::I32x4, memarg, lane),
            O::V128Store64Lane { memarg, lane } => self.store_lane(Lanes::I64x2, memarg, lane),
            _ => return self.vector_operation(operator),
        }
        true
    }

    fn vector_operation(&mut self, operator: &Operator) -> bool {
        if let Some(op) = binary_of(operator) {
            let y = self.pop_lanes(op.lanes());
            let x = self.pop_lanes(op.lanes());
            let value = vector_binary(self.b, op, x, y);
            self.push_vector(value);
        } else if let Some(op) = unary_of(operator) {
            let x = self.pop_lanes(op.lanes());
            let value = vector_unary(self.b, op, x);
            self.push_vector(value);
        } else if let Some(op) = shift_of(operator) {
            let count = self.pop();
            let x = self.pop_lanes(op.lanes());
            let value = vector_shift(self.b, op, x, count);
            self.push_vector(value);
        } else if let Some(op) = test_of(operator) {
            let x = self.pop_lanes(op.lanes());
            let value = vector_test(self.b, op, x);
            self.push(value);
        } else if let Some(op) = ternary_of(operator) {
            let (lanes, last) = op.lanes();
            let z = self.pop_lanes(last);
            let y = self.pop_lanes(lanes);
            let x = self.pop_lanes(lanes);
            let value = vector_ternary(self.b, op, [x, y, z]);
            self.push_vector(value);
        } else {
            return false;
        }
        true
    }

    fn splat(&mut self, lanes: Lanes) {
        let x = self.pop();
        let value = vector_splat(self.b, lanes, x);
        self.push_vector(value);
    }

    fn extract(&mut self, lanes: Lanes, lane: u8, is_signed: bool) {
        let vector = self.pop_lanes(lanes);
        let value = self.b.ins().extractlane(vector, lane);
        let value = match (lanes, is_signed) {
            (Lanes::I8x16 | Lanes::I16x8, true) => self.b.ins().sextend(I32, value),
            (Lanes::I8x16 | Lanes::I16x8, false) => self.b.ins().uextend(I32, value),
            _ => value,
        };
        self.push(value);
    }

    fn replace(&mut self, lanes: Lanes, lane: u8) {
        let number = self.pop();
        let vector = self.pop_lanes(lanes);
        let value = vector_replace(self.b, (lanes, lane), vector, number);
        self.push_vector(value);
    }

    fn load_vector(&mut self, op: VectorLoad, argument: MemArg) {
        let (place, at) = self.address(argument, vector_load_bytes(op));
        let place = self.b.ins().iadd_imm_s(place, i64::from(at));
        let value = vector_load(self.b, op, GUEST, place);
        self.push_vector(value);
    }

    fn load_lane(&mut self, lanes: Lanes, argument: MemArg, lane: u8) {
        let vector = self.pop_lanes(lanes);
        let of = vector_type(lanes).lane_type();
        let (place, at) = self.address(argument, i64::from(of.bytes()));
        let number = self.b.ins().load(of, GUEST, place, at);
        let value = self.b.ins().insertlane(vector, number, lane);
        self.push_vector(value);
    }

    fn store_lane(&mut self, lanes: Lanes, argument: MemArg, lane: u8) {
        let vector = self.pop_lanes(lanes);
        let number = self.b.ins().extractlane(vector, lane);
        let bytes = i64::from(vector_type(lanes).lane_type().bytes());
        let (place, at) = self.address(argument, bytes);
        self.b.ins().store(GUEST, number, place, at);
    }
}
