//! The operations of WebAssembly on vectors of 128 bits.
//!
//! A vector has two slots of a frame, the first with its lower lanes. Lanes of operands and results derive
//! from the names of operations.

use super::numeric::{Number, operations};
use super::{Access, Shape};

operations! {
    /// How a vector is divided.
    Lanes {
        I8x16 "i8x16",
        I16x8 "i16x8",
        I32x4 "i32x4",
        I64x2 "i64x2",
        F32x4 "f32x4",
        F64x2 "f64x2",
    }
}

operations! {
    /// Operations on one vector that give a vector.
    VectorUnary {
        V128Not "v128.not",
        I8x16Abs "i8x16.abs",
        I8x16Neg "i8x16.neg",
        I8x16Popcnt "i8x16.popcnt",
        I16x8ExtAddPairwiseI8x16S "i16x8.extadd_pairwise_i8x16_s",
        I16x8ExtAddPairwiseI8x16U "i16x8.extadd_pairwise_i8x16_u",
        I16x8Abs "i16x8.abs",
        I16x8Neg "i16x8.neg",
        I16x8ExtendLowI8x16S "i16x8.extend_low_i8x16_s",
        I16x8ExtendHighI8x16S "i16x8.extend_high_i8x16_s",
        I16x8ExtendLowI8x16U "i16x8.extend_low_i8x16_u",
        I16x8ExtendHighI8x16U "i16x8.extend_high_i8x16_u",
        I32x4ExtAddPairwiseI16x8S "i32x4.extadd_pairwise_i16x8_s",
        I32x4ExtAddPairwiseI16x8U "i32x4.extadd_pairwise_i16x8_u",
        I32x4Abs "i32x4.abs",
        I32x4Neg "i32x4.neg",
        I32x4ExtendLowI16x8S "i32x4.extend_low_i16x8_s",
        I32x4ExtendHighI16x8S "i32x4.extend_high_i16x8_s",
        I32x4ExtendLowI16x8U "i32x4.extend_low_i16x8_u",
        I32x4ExtendHighI16x8U "i32x4.extend_high_i16x8_u",
        I64x2Abs "i64x2.abs",
        I64x2Neg "i64x2.neg",
        I64x2ExtendLowI32x4S "i64x2.extend_low_i32x4_s",
        I64x2ExtendHighI32x4S "i64x2.extend_high_i32x4_s",
        I64x2ExtendLowI32x4U "i64x2.extend_low_i32x4_u",
        I64x2ExtendHighI32x4U "i64x2.extend_high_i32x4_u",
        F32x4Ceil "f32x4.ceil",
        F32x4Floor "f32x4.floor",
        F32x4Trunc "f32x4.trunc",
        F32x4Nearest "f32x4.nearest",
        F32x4Abs "f32x4.abs",
        F32x4Neg "f32x4.neg",
        F32x4Sqrt "f32x4.sqrt",
        F64x2Ceil "f64x2.ceil",
        F64x2Floor "f64x2.floor",
        F64x2Trunc "f64x2.trunc",
        F64x2Nearest "f64x2.nearest",
        F64x2Abs "f64x2.abs",
        F64x2Neg "f64x2.neg",
        F64x2Sqrt "f64x2.sqrt",
        I32x4TruncSatF32x4S "i32x4.trunc_sat_f32x4_s",
        I32x4TruncSatF32x4U "i32x4.trunc_sat_f32x4_u",
        F32x4ConvertI32x4S "f32x4.convert_i32x4_s",
        F32x4ConvertI32x4U "f32x4.convert_i32x4_u",
        I32x4TruncSatF64x2SZero "i32x4.trunc_sat_f64x2_s_zero",
        I32x4TruncSatF64x2UZero "i32x4.trunc_sat_f64x2_u_zero",
        F64x2ConvertLowI32x4S "f64x2.convert_low_i32x4_s",
        F64x2ConvertLowI32x4U "f64x2.convert_low_i32x4_u",
        F32x4DemoteF64x2Zero "f32x4.demote_f64x2_zero",
        F64x2PromoteLowF32x4 "f64x2.promote_low_f32x4",
        I32x4RelaxedTruncF32x4S "i32x4.relaxed_trunc_f32x4_s",
        I32x4RelaxedTruncF32x4U "i32x4.relaxed_trunc_f32x4_u",
        I32x4RelaxedTruncF64x2SZero "i32x4.relaxed_trunc_f64x2_s_zero",
        I32x4RelaxedTruncF64x2UZero "i32x4.relaxed_trunc_f64x2_u_zero",
    }
}

operations! {
    /// Operations on two vectors.
    VectorBinary {
        I8x16Swizzle "i8x16.swizzle",
        I8x16Eq "i8x16.eq",
        I8x16Ne "i8x16.ne",
        I8x16LtS "i8x16.lt_s",
        I8x16LtU "i8x16.lt_u",
        I8x16GtS "i8x16.gt_s",
        I8x16GtU "i8x16.gt_u",
        I8x16LeS "i8x16.le_s",
        I8x16LeU "i8x16.le_u",
        I8x16GeS "i8x16.ge_s",
        I8x16GeU "i8x16.ge_u",
        I16x8Eq "i16x8.eq",
        I16x8Ne "i16x8.ne",
        I16x8LtS "i16x8.lt_s",
        I16x8LtU "i16x8.lt_u",
        I16x8GtS "i16x8.gt_s",
        I16x8GtU "i16x8.gt_u",
        I16x8LeS "i16x8.le_s",
        I16x8LeU "i16x8.le_u",
        I16x8GeS "i16x8.ge_s",
        I16x8GeU "i16x8.ge_u",
        I32x4Eq "i32x4.eq",
        I32x4Ne "i32x4.ne",
        I32x4LtS "i32x4.lt_s",
        I32x4LtU "i32x4.lt_u",
        I32x4GtS "i32x4.gt_s",
        I32x4GtU "i32x4.gt_u",
        I32x4LeS "i32x4.le_s",
        I32x4LeU "i32x4.le_u",
        I32x4GeS "i32x4.ge_s",
        I32x4GeU "i32x4.ge_u",
        I64x2Eq "i64x2.eq",
        I64x2Ne "i64x2.ne",
        I64x2LtS "i64x2.lt_s",
        I64x2GtS "i64x2.gt_s",
        I64x2LeS "i64x2.le_s",
        I64x2GeS "i64x2.ge_s",
        F32x4Eq "f32x4.eq",
        F32x4Ne "f32x4.ne",
        F32x4Lt "f32x4.lt",
        F32x4Gt "f32x4.gt",
        F32x4Le "f32x4.le",
        F32x4Ge "f32x4.ge",
        F64x2Eq "f64x2.eq",
        F64x2Ne "f64x2.ne",
        F64x2Lt "f64x2.lt",
        F64x2Gt "f64x2.gt",
        F64x2Le "f64x2.le",
        F64x2Ge "f64x2.ge",
        V128And "v128.and",
        V128AndNot "v128.andnot",
        V128Or "v128.or",
        V128Xor "v128.xor",
        I8x16NarrowI16x8S "i8x16.narrow_i16x8_s",
        I8x16NarrowI16x8U "i8x16.narrow_i16x8_u",
        I8x16Add "i8x16.add",
        I8x16AddSatS "i8x16.add_sat_s",
        I8x16AddSatU "i8x16.add_sat_u",
        I8x16Sub "i8x16.sub",
        I8x16SubSatS "i8x16.sub_sat_s",
        I8x16SubSatU "i8x16.sub_sat_u",
        I8x16MinS "i8x16.min_s",
        I8x16MinU "i8x16.min_u",
        I8x16MaxS "i8x16.max_s",
        I8x16MaxU "i8x16.max_u",
        I8x16AvgrU "i8x16.avgr_u",
        I16x8Q15MulrSatS "i16x8.q15mulr_sat_s",
        I16x8NarrowI32x4S "i16x8.narrow_i32x4_s",
        I16x8NarrowI32x4U "i16x8.narrow_i32x4_u",
        I16x8Add "i16x8.add",
        I16x8AddSatS "i16x8.add_sat_s",
        I16x8AddSatU "i16x8.add_sat_u",
        I16x8Sub "i16x8.sub",
        I16x8SubSatS "i16x8.sub_sat_s",
        I16x8SubSatU "i16x8.sub_sat_u",
        I16x8Mul "i16x8.mul",
        I16x8MinS "i16x8.min_s",
        I16x8MinU "i16x8.min_u",
        I16x8MaxS "i16x8.max_s",
        I16x8MaxU "i16x8.max_u",
        I16x8AvgrU "i16x8.avgr_u",
        I16x8ExtMulLowI8x16S "i16x8.extmul_low_i8x16_s",
        I16x8ExtMulHighI8x16S "i16x8.extmul_high_i8x16_s",
        I16x8ExtMulLowI8x16U "i16x8.extmul_low_i8x16_u",
        I16x8ExtMulHighI8x16U "i16x8.extmul_high_i8x16_u",
        I32x4Add "i32x4.add",
        I32x4Sub "i32x4.sub",
        I32x4Mul "i32x4.mul",
        I32x4MinS "i32x4.min_s",
        I32x4MinU "i32x4.min_u",
        I32x4MaxS "i32x4.max_s",
        I32x4MaxU "i32x4.max_u",
        I32x4DotI16x8S "i32x4.dot_i16x8_s",
        I32x4ExtMulLowI16x8S "i32x4.extmul_low_i16x8_s",
        I32x4ExtMulHighI16x8S "i32x4.extmul_high_i16x8_s",
        I32x4ExtMulLowI16x8U "i32x4.extmul_low_i16x8_u",
        I32x4ExtMulHighI16x8U "i32x4.extmul_high_i16x8_u",
        I64x2Add "i64x2.add",
        I64x2Sub "i64x2.sub",
        I64x2Mul "i64x2.mul",
        I64x2ExtMulLowI32x4S "i64x2.extmul_low_i32x4_s",
        I64x2ExtMulHighI32x4S "i64x2.extmul_high_i32x4_s",
        I64x2ExtMulLowI32x4U "i64x2.extmul_low_i32x4_u",
        I64x2ExtMulHighI32x4U "i64x2.extmul_high_i32x4_u",
        F32x4Add "f32x4.add",
        F32x4Sub "f32x4.sub",
        F32x4Mul "f32x4.mul",
        F32x4Div "f32x4.div",
        F32x4Min "f32x4.min",
        F32x4Max "f32x4.max",
        F32x4PMin "f32x4.pmin",
        F32x4PMax "f32x4.pmax",
        F64x2Add "f64x2.add",
        F64x2Sub "f64x2.sub",
        F64x2Mul "f64x2.mul",
        F64x2Div "f64x2.div",
        F64x2Min "f64x2.min",
        F64x2Max "f64x2.max",
        F64x2PMin "f64x2.pmin",
        F64x2PMax "f64x2.pmax",
        I8x16RelaxedSwizzle "i8x16.relaxed_swizzle",
        F32x4RelaxedMin "f32x4.relaxed_min",
        F32x4RelaxedMax "f32x4.relaxed_max",
        F64x2RelaxedMin "f64x2.relaxed_min",
        F64x2RelaxedMax "f64x2.relaxed_max",
        I16x8RelaxedQ15mulrS "i16x8.relaxed_q15mulr_s",
        I16x8RelaxedDotI8x16I7x16S "i16x8.relaxed_dot_i8x16_i7x16_s",
    }
}

operations! {
    /// Operations on three vectors.
    VectorTernary {
        V128Bitselect "v128.bitselect",
        F32x4RelaxedMadd "f32x4.relaxed_madd",
        F32x4RelaxedNmadd "f32x4.relaxed_nmadd",
        F64x2RelaxedMadd "f64x2.relaxed_madd",
        F64x2RelaxedNmadd "f64x2.relaxed_nmadd",
        I8x16RelaxedLaneselect "i8x16.relaxed_laneselect",
        I16x8RelaxedLaneselect "i16x8.relaxed_laneselect",
        I32x4RelaxedLaneselect "i32x4.relaxed_laneselect",
        I64x2RelaxedLaneselect "i64x2.relaxed_laneselect",
        I32x4RelaxedDotI8x16I7x16AddS "i32x4.relaxed_dot_i8x16_i7x16_add_s",
    }
}

operations! {
    /// Shifts of all lanes by the same count.
    VectorShift {
        I8x16Shl "i8x16.shl",
        I8x16ShrS "i8x16.shr_s",
        I8x16ShrU "i8x16.shr_u",
        I16x8Shl "i16x8.shl",
        I16x8ShrS "i16x8.shr_s",
        I16x8ShrU "i16x8.shr_u",
        I32x4Shl "i32x4.shl",
        I32x4ShrS "i32x4.shr_s",
        I32x4ShrU "i32x4.shr_u",
        I64x2Shl "i64x2.shl",
        I64x2ShrS "i64x2.shr_s",
        I64x2ShrU "i64x2.shr_u",
    }
}

operations! {
    /// Questions about all lanes, answered by a number of 32 bits.
    VectorTest {
        V128AnyTrue "v128.any_true",
        I8x16AllTrue "i8x16.all_true",
        I8x16Bitmask "i8x16.bitmask",
        I16x8AllTrue "i16x8.all_true",
        I16x8Bitmask "i16x8.bitmask",
        I32x4AllTrue "i32x4.all_true",
        I32x4Bitmask "i32x4.bitmask",
        I64x2AllTrue "i64x2.all_true",
        I64x2Bitmask "i64x2.bitmask",
    }
}

operations! {
    /// Loads that give a vector.
    VectorLoad {
        V128 "v128.load",
        From8x8S "v128.load8x8_s",
        From8x8U "v128.load8x8_u",
        From16x4S "v128.load16x4_s",
        From16x4U "v128.load16x4_u",
        From32x2S "v128.load32x2_s",
        From32x2U "v128.load32x2_u",
        Splat8 "v128.load8_splat",
        Splat16 "v128.load16_splat",
        Splat32 "v128.load32_splat",
        Splat64 "v128.load64_splat",
        Zero32 "v128.load32_zero",
        Zero64 "v128.load64_zero",
    }
}

operations! {
    /// Instructions on vectors that move them.
    VectorPlain {
        Select "select vector",
        Copy "copy vector",
        Constant "constant128",
        GlobalGet "global.get vector",
        GlobalSet "global.set vector",
    }
}

/// An instruction on vectors.
///
/// Offsets are as in [`Opcode`](super::Opcode); the last `bool` of each says whether its result goes to
/// the accumulator, and one before that whether its operand is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vector {
    /// d at 8, operand at 10.
    Unary(VectorUnary, bool, bool),
    /// d at 8, operands at 10 and 12.
    Binary(VectorBinary, Shape, bool),
    /// d at 8, operands at 10, 12 and 14, of which the last may be in the accumulator.
    Ternary(VectorTernary, bool, bool),
    /// d at 8, operand at 10; the count is the slot at 12 or a constant of 32 bits there.
    Shift(VectorShift, Shape, bool),
    /// d at 8, operand at 10.
    Test(VectorTest, bool, bool),
    /// d at 8, the number for all lanes at 10.
    Splat(Lanes, bool, bool),
    /// d at 8, vector at 10, the number for the lane at 12.
    Replace(Lanes, u8, Shape, bool),
    /// d at 8, operands at 10 and 12, at 16 a byte for each of the result's: an index into the first
    /// operand, or an index into the second one with the highest bit set.
    Shuffle(Shape, bool),
    /// As [`Opcode::Load`](super::Opcode::Load).
    Load(VectorLoad, Access, bool),
    /// As [`Opcode::Store`](super::Opcode::Store); of all 16 bytes.
    Store(Access, bool),
    /// d at 8. Select has its operands at 10 and 12 and the condition at 14, Copy its operand at 10,
    /// Constant 128 bits at 16. The number of a global is at 12, the value to set at 8.
    Plain(VectorPlain),
}

impl Vector {
    /// All instructions, in the order of the table of handlers.
    pub(super) fn all() -> Vec<Vector> {
        let both = [false, true];
        let mut all = Vec::new();
        all.extend(VectorPlain::ALL.iter().map(|op| Vector::Plain(*op)));
        for takes in both {
            for gives in both {
                let unary = VectorUnary::ALL.iter();
                all.extend(unary.map(|op| Vector::Unary(*op, takes, gives)));
                let tests = VectorTest::ALL.iter();
                all.extend(tests.map(|op| Vector::Test(*op, takes, gives)));
                let splats = Lanes::ALL.iter();
                all.extend(splats.map(|lanes| Vector::Splat(*lanes, takes, gives)));
                let ternary = VectorTernary::ALL.iter();
                all.extend(ternary.map(|op| Vector::Ternary(*op, takes, gives)));
            }
        }
        for gives in both {
            for &op in VectorBinary::ALL {
                let shapes = op.shapes().iter();
                all.extend(shapes.map(|shape| Vector::Binary(op, *shape, gives)));
            }
            for &op in VectorShift::ALL {
                let shapes = SHIFT_SHAPES.iter();
                all.extend(shapes.map(|shape| Vector::Shift(op, *shape, gives)));
            }
            all.extend(SLOTS_OR_KEPT.map(|shape| Vector::Shuffle(shape, gives)));
            for &lanes in Lanes::ALL {
                for lane in 0..lanes.count() {
                    let shapes = SLOTS_OR_KEPT;
                    all.extend(shapes.map(|shape| Vector::Replace(lanes, lane, shape, gives)));
                }
            }
        }
        for &access in Access::ALL {
            for &keeps in kept_with(access) {
                let loads = VectorLoad::ALL.iter();
                all.extend(loads.map(|op| Vector::Load(*op, access, keeps)));
                // An address and a value are not in accumulators at once.
                if !(keeps && matches!(access, Access::Kept | Access::Sum)) {
                    all.push(Vector::Store(access, keeps));
                }
            }
        }
        all
    }

    /// The same instruction with its result in the accumulator of a kind of value, if there is one.
    pub(super) fn keeping(self, kind: Number) -> Option<Vector> {
        if let (Vector::Test(op, takes, false), Number::I32 | Number::I64) = (self, kind) {
            return Some(Vector::Test(op, takes, true));
        }
        if kind != Number::V128 {
            return None;
        }
        Some(match self {
            Vector::Unary(op, takes, false) => Vector::Unary(op, takes, true),
            Vector::Binary(op, shape, false) => Vector::Binary(op, shape, true),
            Vector::Ternary(op, takes, false) => Vector::Ternary(op, takes, true),
            Vector::Shift(op, shape, false) => Vector::Shift(op, shape, true),
            Vector::Splat(lanes, takes, false) => Vector::Splat(lanes, takes, true),
            Vector::Replace(lanes, lane, shape, false) => Vector::Replace(lanes, lane, shape, true),
            Vector::Shuffle(shape, false) => Vector::Shuffle(shape, true),
            Vector::Load(op, access, false) if access != Access::Checked => {
                Vector::Load(op, access, true)
            }
            _ => return None,
        })
    }

    /// Whether the result is a vector; instructions without a result do not matter.
    pub fn gives_vector(self) -> bool {
        !matches!(self, Vector::Test(..))
    }

    /// Bytes of the instruction.
    pub(super) fn bytes(self) -> usize {
        match self {
            Vector::Shuffle(..) | Vector::Plain(VectorPlain::Constant) => 32,
            Vector::Load(_, Access::Checked, _) | Vector::Store(Access::Checked, _) => 24,
            _ => 16,
        }
    }

    /// The name in listings.
    pub(super) fn name(self) -> String {
        match self {
            Vector::Unary(op, ..) => op.name().to_owned(),
            Vector::Binary(op, ..) => op.name().to_owned(),
            Vector::Ternary(op, ..) => op.name().to_owned(),
            Vector::Shift(op, ..) => op.name().to_owned(),
            Vector::Test(op, ..) => op.name().to_owned(),
            Vector::Splat(lanes, ..) => format!("{}.splat", lanes.name()),
            Vector::Replace(lanes, lane, ..) => format!("{}.replace_lane {lane}", lanes.name()),
            Vector::Shuffle(..) => "i8x16.shuffle".to_owned(),
            Vector::Load(op, access, _) => super::accessed(op.name(), access),
            Vector::Store(access, _) => super::accessed("v128.store", access),
            Vector::Plain(op) => op.name().to_owned(),
        }
    }
}

/// Slots, or one of two operands in an accumulator.
const SLOTS_OR_KEPT: [Shape; 3] = [Shape::Slots, Shape::KeptFirst, Shape::KeptSecond];

/// The count is never in an accumulator.
const SHIFT_SHAPES: &[Shape] = &[
    Shape::Slots,
    Shape::Right,
    Shape::KeptFirst,
    Shape::KeptRight,
];

/// Whether an access may keep a vector in the accumulator.
fn kept_with(access: Access) -> &'static [bool] {
    match access {
        Access::Checked => &[false],
        Access::Frame => &[],
        _ => &[false, true],
    }
}

impl Lanes {
    /// The lanes that a name begins with; an operation on all bits may take any.
    const fn of(name: &str) -> Lanes {
        match name.as_bytes() {
            [b'i', b'8', ..] => Lanes::I8x16,
            [b'i', b'1', ..] => Lanes::I16x8,
            [b'i', b'3', ..] => Lanes::I32x4,
            [b'f', b'3', ..] => Lanes::F32x4,
            [b'f', ..] => Lanes::F64x2,
            _ => Lanes::I64x2,
        }
    }

    /// How many there are.
    pub const fn count(self) -> u8 {
        match self {
            Lanes::I8x16 => 16,
            Lanes::I16x8 => 8,
            Lanes::I32x4 | Lanes::F32x4 => 4,
            Lanes::I64x2 | Lanes::F64x2 => 2,
        }
    }

    /// The kind of number that a lane is read as and written from.
    pub const fn kind(self) -> Number {
        match self {
            Lanes::I8x16 | Lanes::I16x8 | Lanes::I32x4 => Number::I32,
            Lanes::I64x2 => Number::I64,
            Lanes::F32x4 => Number::F32,
            Lanes::F64x2 => Number::F64,
        }
    }

    /// The lanes of an operand: those that a part of the name says, or the first ones.
    fn of_operand(name: &str) -> Lanes {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let mut parts = rest.split('_');
        let named = parts.find(|part| Lanes::ALL.iter().any(|lanes| lanes.name() == *part));
        Lanes::of(named.unwrap_or(first))
    }
}

impl VectorUnary {
    /// The lanes of the operand.
    pub fn lanes(self) -> Lanes {
        Lanes::of_operand(self.name())
    }
}

impl VectorBinary {
    /// The lanes of both operands.
    pub fn lanes(self) -> Lanes {
        Lanes::of_operand(self.name())
    }

    /// The operation without its lanes.
    pub fn operation(self) -> &'static str {
        let name = self.name();
        name.split_once('.')
            .map_or(name, |(_, operation)| operation)
    }

    /// Whether the operands may be exchanged.
    fn is_commutative(self) -> bool {
        let operation = self.operation();
        let of_integers = [
            "add_sat", "avgr", "extmul", "dot", "q15mulr", "min_", "max_",
        ];
        matches!(
            operation,
            "add" | "mul" | "eq" | "ne" | "and" | "or" | "xor"
        ) || of_integers.iter().any(|begin| operation.starts_with(begin))
    }

    /// Where the operands may be.
    pub fn shapes(self) -> &'static [Shape] {
        if self.is_commutative() {
            &[Shape::Slots, Shape::KeptFirst]
        } else {
            &SLOTS_OR_KEPT
        }
    }
}

impl VectorTernary {
    /// The lanes of the operands: of the first two, and of the third.
    pub fn lanes(self) -> (Lanes, Lanes) {
        (Lanes::of_operand(self.name()), Lanes::of(self.name()))
    }
}

impl VectorShift {
    /// The lanes that are shifted.
    pub const fn lanes(self) -> Lanes {
        Lanes::of(self.name())
    }
}

impl VectorTest {
    /// The lanes that are tested.
    pub const fn lanes(self) -> Lanes {
        Lanes::of(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, VectorBinary, VectorTernary, VectorUnary};

    #[test]
    fn lanes_are_read_from_names() {
        assert_eq!(VectorUnary::I8x16Abs.lanes(), Lanes::I8x16);
        assert_eq!(VectorUnary::I32x4TruncSatF64x2SZero.lanes(), Lanes::F64x2);
        assert_eq!(VectorUnary::F64x2ConvertLowI32x4U.lanes(), Lanes::I32x4);
        assert_eq!(VectorBinary::I16x8NarrowI32x4S.lanes(), Lanes::I32x4);
        assert_eq!(
            VectorBinary::I16x8RelaxedDotI8x16I7x16S.lanes(),
            Lanes::I8x16
        );
        let lanes = VectorTernary::I32x4RelaxedDotI8x16I7x16AddS.lanes();
        assert_eq!(lanes, (Lanes::I8x16, Lanes::I32x4));
    }

    #[test]
    fn only_operations_without_an_order_are_commutative() {
        assert!(VectorBinary::I8x16MinS.is_commutative());
        assert!(VectorBinary::I32x4DotI16x8S.is_commutative());
        for op in [
            VectorBinary::V128AndNot,
            VectorBinary::F32x4Min,
            VectorBinary::F32x4PMin,
            VectorBinary::I8x16SubSatU,
            VectorBinary::I8x16NarrowI16x8S,
            VectorBinary::I8x16Swizzle,
        ] {
            assert!(!op.is_commutative(), "{op:?}");
        }
    }
}
