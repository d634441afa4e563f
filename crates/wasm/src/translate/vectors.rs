//! Vectors: which instruction an operator becomes.
//!
//! A part of a vector is read from its slots. Accesses of one lane are two instructions, one of which
//! moves a number to or from memory.

use canny_tables::guest::{
    Access, Lanes, Load, Number, Opcode, Place, Shape, Store, Vector, VectorBinary, VectorLoad,
    VectorPlain, VectorShift, VectorTernary, VectorTest, VectorUnary,
};
use wasmparser::{MemArg, Operator};

use super::operators::operations;
use super::{Entry, Operand, Source, Translator};

impl Translator<'_> {
    /// Operators on vectors; gives whether the operator is one of these.
    pub(super) fn vector(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        match *operator {
            O::V128Const { value } => self.vector_constant(value.i128() as u128),
            O::I8x16Shuffle { lanes } => self.shuffle(lanes),
            O::I8x16Splat => self.splat(Lanes::I8x16),
            O::I16x8Splat => self.splat(Lanes::I16x8),
            O::I32x4Splat => self.splat(Lanes::I32x4),
            O::I64x2Splat => self.splat(Lanes::I64x2),
            O::F32x4Splat => self.splat(Lanes::F32x4),
            O::F64x2Splat => self.splat(Lanes::F64x2),
            O::I8x16ExtractLaneS { lane } => self.extract(Load::I32From8S, lane),
            O::I8x16ExtractLaneU { lane } => self.extract(Load::I32From8U, lane),
            O::I16x8ExtractLaneS { lane } => self.extract(Load::I32From16S, 2 * lane),
            O::I16x8ExtractLaneU { lane } => self.extract(Load::I32From16U, 2 * lane),
            O::I32x4ExtractLane { lane } | O::F32x4ExtractLane { lane } => {
                self.extract(Load::Bits32, 4 * lane);
            }
            O::I64x2ExtractLane { lane } | O::F64x2ExtractLane { lane } => {
                self.extract(Load::Bits64, 8 * lane);
            }
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
            O::V128Load { memarg } => self.vector_load(L::V128, memarg),
            O::V128Load8x8S { memarg } => self.vector_load(L::From8x8S, memarg),
            O::V128Load8x8U { memarg } => self.vector_load(L::From8x8U, memarg),
            O::V128Load16x4S { memarg } => self.vector_load(L::From16x4S, memarg),
            O::V128Load16x4U { memarg } => self.vector_load(L::From16x4U, memarg),
            O::V128Load32x2S { memarg } => self.vector_load(L::From32x2S, memarg),
            O::V128Load32x2U { memarg } => self.vector_load(L::From32x2U, memarg),
            O::V128Load8Splat { memarg } => self.vector_load(L::Splat8, memarg),
            O::V128Load16Splat { memarg } => self.vector_load(L::Splat16, memarg),
            O::V128Load32Splat { memarg } => self.vector_load(L::Splat32, memarg),
            O::V128Load64Splat { memarg } => self.vector_load(L::Splat64, memarg),
            O::V128Load32Zero { memarg } => self.vector_load(L::Zero32, memarg),
            O::V128Load64Zero { memarg } => self.vector_load(L::Zero64, memarg),
            O::V128Store { memarg } => self.vector_store(memarg),
            O::V128Load8Lane { memarg, lane } => {
                self.load_lane((Load::I32From8U, memarg), Lanes::I8x16, lane);
            }
            O::V128Load16Lane { memarg, lane } => {
                self.load_lane((Load::I32From16U, memarg), Lanes::I16x8, lane);
            }
            O::V128Load32Lane { memarg, lane } => {
                self.load_lane((Load::Bits32, memarg), Lanes::I32x4, lane);
            }
            O::V128Load64Lane { memarg, lane } => {
                self.load_lane((Load::Bits64, memarg), Lanes::I64x2, lane);
            }
            O::V128Store8Lane { memarg, lane } => {
                self.extract(Load::I32From8U, lane);
                self.store(Store::Bits8, memarg, Number::I32);
            }
            O::V128Store16Lane { memarg, lane } => {
                self.extract(Load::I32From16U, 2 * lane);
                self.store(Store::Bits16, memarg, Number::I32);
            }
            O::V128Store32Lane { memarg, lane } => {
                self.extract(Load::Bits32, 4 * lane);
                self.store(Store::Bits32, memarg, Number::I32);
            }
            O::V128Store64Lane { memarg, lane } => {
                self.extract(Load::Bits64, 8 * lane);
                self.store(Store::Bits64, memarg, Number::I64);
            }
            _ => return self.vector_operation(operator),
        }
        true
    }

    fn vector_operation(&mut self, operator: &Operator) -> bool {
        if let Some(op) = binary_of(operator) {
            let pair = (self.pop(), self.pop());
            self.put_pair((pair.1, pair.0), op.shapes(), |shape| {
                Vector::Binary(op, shape, false)
            });
        } else if let Some(op) = unary_of(operator) {
            self.put_unary(Number::V128, |takes| Vector::Unary(op, takes, false));
        } else if let Some(op) = shift_of(operator) {
            self.shift(op);
        } else if let Some(op) = test_of(operator) {
            self.put_unary(Number::V128, |takes| Vector::Test(op, takes, false));
        } else if let Some(op) = ternary_of(operator) {
            let z = self.pop();
            let y = self.pop_slot();
            let x = self.pop_slot();
            let z = self.source(z, Number::V128);
            let takes = matches!(z, Source::Kept(..));
            let place = self.put_vector(Vector::Ternary(op, takes, false), x);
            self.code.set16(place, 12, y);
            self.code.set16(place, 14, z.slot());
        } else {
            return false;
        }
        true
    }

    /// Writes an instruction whose first operand is at 10, and notes its result.
    fn put_vector(&mut self, op: Vector, x: u16) -> usize {
        let place = self.code.put(Opcode::Vector(op));
        self.code.set16(place, 10, x);
        self.result(place, Opcode::Vector(op));
        place
    }

    fn put_unary(&mut self, kind: Number, op: impl Fn(bool) -> Vector) {
        let operand = self.pop();
        let x = self.source(operand, kind);
        self.put_vector(op(matches!(x, Source::Kept(..))), x.slot());
    }

    fn vector_constant(&mut self, bits: u128) {
        let place = self.put_vector(Vector::Plain(VectorPlain::Constant), 0);
        self.code.set64(place, 16, bits as u64);
        self.code.set64(place, 24, (bits >> 64) as u64);
    }

    fn splat(&mut self, lanes: Lanes) {
        self.put_unary(lanes.kind(), |takes| Vector::Splat(lanes, takes, false));
    }

    /// Reads a part of a vector that begins at some byte of it.
    fn extract(&mut self, op: Load, byte: u8) {
        let vector = self.pop_slot();
        let opcode = Opcode::Load(op, Access::Frame, Place::Slot);
        let place = self.code.put(opcode);
        self.code
            .set32(place, 12, 8 * u32::from(vector) + u32::from(byte));
        self.result(place, opcode);
    }

    fn replace(&mut self, lanes: Lanes, lane: u8) {
        let number = self.pop();
        let vector = self.pop();
        let (x, y) = match number.entry {
            // The newest result may be in the accumulator, and nothing may come behind what keeps it.
            Entry::Own => {
                let x = Source::Slot(self.slot_of(vector));
                (x, self.source(number, lanes.kind()))
            }
            _ => {
                let y = Source::Slot(self.slot_of(number));
                (self.source(vector, Number::V128), y)
            }
        };
        let op = Vector::Replace(lanes, lane, shape_of(x, y), false);
        let place = self.put_vector(op, x.slot());
        self.code.set16(place, 12, y.slot());
    }

    fn load_lane(&mut self, (load, argument): (Load, MemArg), lanes: Lanes, lane: u8) {
        let vector = self.pop_slot();
        self.load(load, argument);
        let number = self.pop();
        let number = self.source(number, lanes.kind());
        let shape = shape_of(Source::Slot(vector), number);
        let place = self.put_vector(Vector::Replace(lanes, lane, shape, false), vector);
        self.code.set16(place, 12, number.slot());
    }

    fn shuffle(&mut self, lanes: [u8; 16]) {
        let indices = lanes.map(|lane| if lane < 16 { lane } else { (lane - 16) | 0x80 });
        let bits = u128::from_le_bytes(indices);
        let (y, x) = (self.pop(), self.pop());
        let shapes = [Shape::Slots, Shape::KeptFirst, Shape::KeptSecond];
        let place = self.put_pair((x, y), &shapes, |shape| Vector::Shuffle(shape, false));
        self.code.set64(place, 16, bits as u64);
        self.code.set64(place, 24, (bits >> 64) as u64);
    }

    /// Writes an instruction on two vectors; those that have no shape for a second operand in the
    /// accumulator may exchange them.
    fn put_pair(
        &mut self,
        pair: (Operand, Operand),
        shapes: &[Shape],
        op: impl Fn(Shape) -> Vector,
    ) -> usize {
        let (mut x, mut y) = self.sources(pair, Number::V128, true);
        if matches!(y, Source::Kept(..)) && !shapes.contains(&Shape::KeptSecond) {
            std::mem::swap(&mut x, &mut y);
        }
        let place = self.put_vector(op(shape_of(x, y)), x.slot());
        self.code.set16(place, 12, y.slot());
        place
    }

    fn shift(&mut self, op: VectorShift) {
        let count = self.pop();
        let vector = self.pop();
        let (x, shapes) = match count.entry {
            Entry::Constant(_) => {
                let x = self.source(vector, Number::V128);
                (x, [Shape::Right, Shape::KeptRight])
            }
            Entry::Own => {
                let x = Source::Slot(self.slot_of(vector));
                (x, [Shape::Slots, Shape::KeptFirst])
            }
            Entry::Local(_) => {
                let x = self.source(vector, Number::V128);
                (x, [Shape::Slots, Shape::KeptFirst])
            }
        };
        let shape = shapes[usize::from(matches!(x, Source::Kept(..)))];
        let place = self.put_vector(Vector::Shift(op, shape, false), x.slot());
        if let Entry::Constant(bits) = count.entry {
            self.code.set32(place, 12, bits as u32);
        } else {
            let count = self.slot_of(count);
            self.code.set16(place, 12, count);
        }
    }

    fn vector_load(&mut self, op: VectorLoad, argument: MemArg) {
        let (address, access, argument) = self.pop_address(argument);
        let place = self.put_vector(Vector::Load(op, access, false), address);
        self.set_address(place, &argument, access);
    }

    fn vector_store(&mut self, argument: MemArg) {
        let value = self.pop_stored(&argument, Number::V128);
        let (address, access, argument) = self.pop_address(argument);
        let takes = matches!(value, Source::Kept(..));
        let opcode = Opcode::Vector(Vector::Store(access, takes));
        self.put_store(opcode, (address, access, argument), value.slot());
    }
}

fn shape_of(x: Source, y: Source) -> Shape {
    match (x, y) {
        (Source::Kept(..), _) => Shape::KeptFirst,
        (_, Source::Kept(..)) => Shape::KeptSecond,
        _ => Shape::Slots,
    }
}

/// The operation of an operator.
pub(crate) fn unary_of(operator: &Operator) -> Option<VectorUnary> {
    operations!(operator, VectorUnary:
        V128Not I8x16Abs I8x16Neg I8x16Popcnt I16x8ExtAddPairwiseI8x16S
        I16x8ExtAddPairwiseI8x16U I16x8Abs I16x8Neg I16x8ExtendLowI8x16S I16x8ExtendHighI8x16S
        I16x8ExtendLowI8x16U I16x8ExtendHighI8x16U I32x4ExtAddPairwiseI16x8S
        I32x4ExtAddPairwiseI16x8U I32x4Abs I32x4Neg I32x4ExtendLowI16x8S I32x4ExtendHighI16x8S
        I32x4ExtendLowI16x8U I32x4ExtendHighI16x8U I64x2Abs I64x2Neg I64x2ExtendLowI32x4S
        I64x2ExtendHighI32x4S I64x2ExtendLowI32x4U I64x2ExtendHighI32x4U F32x4Ceil F32x4Floor
        F32x4Trunc F32x4Nearest F32x4Abs F32x4Neg F32x4Sqrt F64x2Ceil F64x2Floor F64x2Trunc
        F64x2Nearest F64x2Abs F64x2Neg F64x2Sqrt I32x4TruncSatF32x4S I32x4TruncSatF32x4U
        F32x4ConvertI32x4S F32x4ConvertI32x4U I32x4TruncSatF64x2SZero I32x4TruncSatF64x2UZero
        F64x2ConvertLowI32x4S F64x2ConvertLowI32x4U F32x4DemoteF64x2Zero F64x2PromoteLowF32x4
        I32x4RelaxedTruncF32x4S I32x4RelaxedTruncF32x4U I32x4RelaxedTruncF64x2SZero
        I32x4RelaxedTruncF64x2UZero
    )
}

/// The operation of an operator.
pub(crate) fn binary_of(operator: &Operator) -> Option<VectorBinary> {
    operations!(operator, VectorBinary:
        I8x16Swizzle I8x16Eq I8x16Ne I8x16LtS I8x16LtU I8x16GtS I8x16GtU I8x16LeS I8x16LeU
        I8x16GeS I8x16GeU I16x8Eq I16x8Ne I16x8LtS I16x8LtU I16x8GtS I16x8GtU I16x8LeS I16x8LeU
        I16x8GeS I16x8GeU I32x4Eq I32x4Ne I32x4LtS I32x4LtU I32x4GtS I32x4GtU I32x4LeS I32x4LeU
        I32x4GeS I32x4GeU I64x2Eq I64x2Ne I64x2LtS I64x2GtS I64x2LeS I64x2GeS F32x4Eq F32x4Ne
        F32x4Lt F32x4Gt F32x4Le F32x4Ge F64x2Eq F64x2Ne F64x2Lt F64x2Gt F64x2Le F64x2Ge V128And
        V128AndNot V128Or V128Xor I8x16NarrowI16x8S I8x16NarrowI16x8U I8x16Add I8x16AddSatS
        I8x16AddSatU I8x16Sub I8x16SubSatS I8x16SubSatU I8x16MinS I8x16MinU I8x16MaxS I8x16MaxU
        I8x16AvgrU I16x8Q15MulrSatS I16x8NarrowI32x4S I16x8NarrowI32x4U I16x8Add I16x8AddSatS
        I16x8AddSatU I16x8Sub I16x8SubSatS I16x8SubSatU I16x8Mul I16x8MinS I16x8MinU I16x8MaxS
        I16x8MaxU I16x8AvgrU I16x8ExtMulLowI8x16S I16x8ExtMulHighI8x16S I16x8ExtMulLowI8x16U
        I16x8ExtMulHighI8x16U I32x4Add I32x4Sub I32x4Mul I32x4MinS I32x4MinU I32x4MaxS I32x4MaxU
        I32x4DotI16x8S I32x4ExtMulLowI16x8S I32x4ExtMulHighI16x8S I32x4ExtMulLowI16x8U
        I32x4ExtMulHighI16x8U I64x2Add I64x2Sub I64x2Mul I64x2ExtMulLowI32x4S
        I64x2ExtMulHighI32x4S I64x2ExtMulLowI32x4U I64x2ExtMulHighI32x4U F32x4Add F32x4Sub
        F32x4Mul F32x4Div F32x4Min F32x4Max F32x4PMin F32x4PMax F64x2Add F64x2Sub F64x2Mul
        F64x2Div F64x2Min F64x2Max F64x2PMin F64x2PMax I8x16RelaxedSwizzle F32x4RelaxedMin
        F32x4RelaxedMax F64x2RelaxedMin F64x2RelaxedMax I16x8RelaxedQ15mulrS
        I16x8RelaxedDotI8x16I7x16S
    )
}

/// The operation of an operator.
pub(crate) fn ternary_of(operator: &Operator) -> Option<VectorTernary> {
    operations!(operator, VectorTernary:
        V128Bitselect F32x4RelaxedMadd F32x4RelaxedNmadd F64x2RelaxedMadd F64x2RelaxedNmadd
        I8x16RelaxedLaneselect I16x8RelaxedLaneselect I32x4RelaxedLaneselect
        I64x2RelaxedLaneselect I32x4RelaxedDotI8x16I7x16AddS
    )
}

/// The operation of an operator.
pub(crate) fn shift_of(operator: &Operator) -> Option<VectorShift> {
    operations!(operator, VectorShift:
        I8x16Shl I8x16ShrS I8x16ShrU I16x8Shl I16x8ShrS I16x8ShrU I32x4Shl I32x4ShrS I32x4ShrU
        I64x2Shl I64x2ShrS I64x2ShrU
    )
}

/// The operation of an operator.
pub(crate) fn test_of(operator: &Operator) -> Option<VectorTest> {
    operations!(operator, VectorTest:
        V128AnyTrue I8x16AllTrue I8x16Bitmask I16x8AllTrue I16x8Bitmask I32x4AllTrue
        I32x4Bitmask I64x2AllTrue I64x2Bitmask
    )
}
