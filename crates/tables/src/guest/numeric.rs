//! The numeric operations of WebAssembly that compute one value of one or two.
//!
//! Kinds of operands and results derive from the names.

/// Rows of an enumeration of operations: the variant, and its name in the text format.
macro_rules! operations {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name in the text format.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

pub(super) use operations;

operations! {
    /// Operations on one number.
    Unary {
        I32Clz "i32.clz",
        I32Ctz "i32.ctz",
        I32Popcnt "i32.popcnt",
        I32Extend8S "i32.extend8_s",
        I32Extend16S "i32.extend16_s",
        I64Clz "i64.clz",
        I64Ctz "i64.ctz",
        I64Popcnt "i64.popcnt",
        I64Extend8S "i64.extend8_s",
        I64Extend16S "i64.extend16_s",
        I64Extend32S "i64.extend32_s",
        I32WrapI64 "i32.wrap_i64",
        I64ExtendI32S "i64.extend_i32_s",
        I64ExtendI32U "i64.extend_i32_u",
        F32Abs "f32.abs",
        F32Neg "f32.neg",
        F32Ceil "f32.ceil",
        F32Floor "f32.floor",
        F32Trunc "f32.trunc",
        F32Nearest "f32.nearest",
        F32Sqrt "f32.sqrt",
        F64Abs "f64.abs",
        F64Neg "f64.neg",
        F64Ceil "f64.ceil",
        F64Floor "f64.floor",
        F64Trunc "f64.trunc",
        F64Nearest "f64.nearest",
        F64Sqrt "f64.sqrt",
        I32TruncF32S "i32.trunc_f32_s",
        I32TruncF32U "i32.trunc_f32_u",
        I32TruncF64S "i32.trunc_f64_s",
        I32TruncF64U "i32.trunc_f64_u",
        I64TruncF32S "i64.trunc_f32_s",
        I64TruncF32U "i64.trunc_f32_u",
        I64TruncF64S "i64.trunc_f64_s",
        I64TruncF64U "i64.trunc_f64_u",
        I32TruncSatF32S "i32.trunc_sat_f32_s",
        I32TruncSatF32U "i32.trunc_sat_f32_u",
        I32TruncSatF64S "i32.trunc_sat_f64_s",
        I32TruncSatF64U "i32.trunc_sat_f64_u",
        I64TruncSatF32S "i64.trunc_sat_f32_s",
        I64TruncSatF32U "i64.trunc_sat_f32_u",
        I64TruncSatF64S "i64.trunc_sat_f64_s",
        I64TruncSatF64U "i64.trunc_sat_f64_u",
        F32ConvertI32S "f32.convert_i32_s",
        F32ConvertI32U "f32.convert_i32_u",
        F32ConvertI64S "f32.convert_i64_s",
        F32ConvertI64U "f32.convert_i64_u",
        F64ConvertI32S "f64.convert_i32_s",
        F64ConvertI32U "f64.convert_i32_u",
        F64ConvertI64S "f64.convert_i64_s",
        F64ConvertI64U "f64.convert_i64_u",
        F32DemoteF64 "f32.demote_f64",
        F64PromoteF32 "f64.promote_f32",
    }
}

operations! {
    /// Operations on two numbers that are no comparisons.
    Binary {
        I32Add "i32.add",
        I32Sub "i32.sub",
        I32Mul "i32.mul",
        I32DivS "i32.div_s",
        I32DivU "i32.div_u",
        I32RemS "i32.rem_s",
        I32RemU "i32.rem_u",
        I32And "i32.and",
        I32Or "i32.or",
        I32Xor "i32.xor",
        I32Shl "i32.shl",
        I32ShrS "i32.shr_s",
        I32ShrU "i32.shr_u",
        I32Rotl "i32.rotl",
        I32Rotr "i32.rotr",
        I64Add "i64.add",
        I64Sub "i64.sub",
        I64Mul "i64.mul",
        I64DivS "i64.div_s",
        I64DivU "i64.div_u",
        I64RemS "i64.rem_s",
        I64RemU "i64.rem_u",
        I64And "i64.and",
        I64Or "i64.or",
        I64Xor "i64.xor",
        I64Shl "i64.shl",
        I64ShrS "i64.shr_s",
        I64ShrU "i64.shr_u",
        I64Rotl "i64.rotl",
        I64Rotr "i64.rotr",
        F32Add "f32.add",
        F32Sub "f32.sub",
        F32Mul "f32.mul",
        F32Div "f32.div",
        F32Min "f32.min",
        F32Max "f32.max",
        F32Copysign "f32.copysign",
        F64Add "f64.add",
        F64Sub "f64.sub",
        F64Mul "f64.mul",
        F64Div "f64.div",
        F64Min "f64.min",
        F64Max "f64.max",
        F64Copysign "f64.copysign",
    }
}

operations! {
    /// Comparisons of two numbers.
    Compare {
        I32Eq "i32.eq",
        I32Ne "i32.ne",
        I32LtS "i32.lt_s",
        I32LtU "i32.lt_u",
        I32GtS "i32.gt_s",
        I32GtU "i32.gt_u",
        I32LeS "i32.le_s",
        I32LeU "i32.le_u",
        I32GeS "i32.ge_s",
        I32GeU "i32.ge_u",
        I64Eq "i64.eq",
        I64Ne "i64.ne",
        I64LtS "i64.lt_s",
        I64LtU "i64.lt_u",
        I64GtS "i64.gt_s",
        I64GtU "i64.gt_u",
        I64LeS "i64.le_s",
        I64LeU "i64.le_u",
        I64GeS "i64.ge_s",
        I64GeU "i64.ge_u",
        F32Eq "f32.eq",
        F32Ne "f32.ne",
        F32Lt "f32.lt",
        F32Gt "f32.gt",
        F32Le "f32.le",
        F32Ge "f32.ge",
        F64Eq "f64.eq",
        F64Ne "f64.ne",
        F64Lt "f64.lt",
        F64Gt "f64.gt",
        F64Le "f64.le",
        F64Ge "f64.ge",
    }
}

/// The kind of an operand or a result; numeric instructions have no vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// A vector of 128 bits.
    V128,
}

impl Number {
    /// Whether it is an integer.
    pub const fn is_integer(self) -> bool {
        matches!(self, Number::I32 | Number::I64)
    }

    /// Whether it has 64 bits.
    pub const fn is_wide(self) -> bool {
        matches!(self, Number::I64 | Number::F64)
    }

    /// The kind that a name of the text format begins with.
    const fn of(name: &str) -> Number {
        match name.as_bytes() {
            [b'i', b'3', ..] => Number::I32,
            [b'i', ..] => Number::I64,
            [_, b'3', ..] => Number::F32,
            _ => Number::F64,
        }
    }
}

impl Unary {
    /// The kinds of operand and result.
    pub fn kinds(self) -> (Number, Number) {
        let name = self.name();
        let result = Number::of(name);
        let operand = ["i32", "i64", "f32", "f64"]
            .into_iter()
            .find(|kind| name[4..].split('_').any(|part| part == *kind));
        (operand.map_or(result, Number::of), result)
    }
}

impl Binary {
    /// The kind of both operands and the result.
    pub const fn kind(self) -> Number {
        Number::of(self.name())
    }

    /// Whether the operands may be exchanged.
    pub fn is_commutative(self) -> bool {
        let operation = &self.name()[4..];
        // Results that are not a number may differ in their payload, which the standard allows.
        matches!(operation, "add" | "mul" | "and" | "or" | "xor")
    }
}

impl Compare {
    /// The kind of both operands.
    pub const fn kind(self) -> Number {
        Number::of(self.name())
    }

    /// The comparison that is true where this one is false, but for floats.
    pub fn negated(self) -> Option<Compare> {
        use Compare::*;
        Some(match self {
            I32Eq => I32Ne,
            I32Ne => I32Eq,
            I32LtS => I32GeS,
            I32LtU => I32GeU,
            I32GtS => I32LeS,
            I32GtU => I32LeU,
            I32LeS => I32GtS,
            I32LeU => I32GtU,
            I32GeS => I32LtS,
            I32GeU => I32LtU,
            I64Eq => I64Ne,
            I64Ne => I64Eq,
            I64LtS => I64GeS,
            I64LtU => I64GeU,
            I64GtS => I64LeS,
            I64GtU => I64LeU,
            I64LeS => I64GtS,
            I64LeU => I64GtU,
            I64GeS => I64LtS,
            I64GeU => I64LtU,
            _ => return None,
        })
    }

    /// The comparison with exchanged operands.
    pub fn exchanged(self) -> Compare {
        use Compare::*;
        match self {
            I32LtS => I32GtS,
            I32LtU => I32GtU,
            I32GtS => I32LtS,
            I32GtU => I32LtU,
            I32LeS => I32GeS,
            I32LeU => I32GeU,
            I32GeS => I32LeS,
            I32GeU => I32LeU,
            I64LtS => I64GtS,
            I64LtU => I64GtU,
            I64GtS => I64LtS,
            I64GtU => I64LtU,
            I64LeS => I64GeS,
            I64LeU => I64GeU,
            I64GeS => I64LeS,
            I64GeU => I64LeU,
            F32Lt => F32Gt,
            F32Gt => F32Lt,
            F32Le => F32Ge,
            F32Ge => F32Le,
            F64Lt => F64Gt,
            F64Gt => F64Lt,
            F64Le => F64Ge,
            F64Ge => F64Le,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Number, Unary};

    #[test]
    fn kinds_are_read_from_names() {
        assert_eq!(Unary::I32Clz.kinds(), (Number::I32, Number::I32));
        assert_eq!(Unary::I32WrapI64.kinds(), (Number::I64, Number::I32));
        assert_eq!(Unary::I64TruncSatF32U.kinds(), (Number::F32, Number::I64));
        assert_eq!(Unary::I64Extend32S.kinds(), (Number::I64, Number::I64));
        assert_eq!(Unary::F32DemoteF64.kinds(), (Number::F64, Number::F32));
    }
}
