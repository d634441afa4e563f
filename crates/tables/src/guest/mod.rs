//! Instructions of the machine that runs WebAssembly modules, the guests.
//!
//! The code of a guest is register code: operands are slots of the frame or constants. An instruction
//! begins with the address of its handler, and its operands lie behind that at the places that
//! [`Opcode`] says. The crate that translates modules, the generator of the handlers, and the
//! disassembler read these rows.
//!
//! A result that only the next instruction uses stays in an accumulator, a register of the processor: one
//! for integers, one for floats and vectors. Nothing else may lead to that instruction.
//!
//! A slot has 64 bits. Numbers of 32 bits use the lower half, and what the upper half has is unknown. A
//! vector has two slots.

mod atomic;
mod layout;
mod numeric;
mod vector;

pub use atomic::{Atomic, AtomicOperation, AtomicWidth};
pub use layout::*;
pub use numeric::{Binary, Compare, Number, Unary};
pub use vector::{
    Lanes, Vector, VectorBinary, VectorLoad, VectorPlain, VectorShift, VectorTernary, VectorTest,
    VectorUnary,
};

use numeric::operations;

operations! {
    /// Where the operands of an operation on two values are.
    Shape {
        Slots "slots",
        Right "right operand constant",
        Left "left operand constant",
        KeptFirst "accumulator and slot",
        KeptSecond "slot and accumulator",
        KeptRight "accumulator, right operand constant",
        KeptLeft "accumulator, left operand constant",
    }
}

operations! {
    /// Loads; those of 32 and 64 bits are for integers and floats.
    Load {
        Bits32 "load32",
        Bits64 "load64",
        I32From8S "i32.load8_s",
        I32From8U "i32.load8_u",
        I32From16S "i32.load16_s",
        I32From16U "i32.load16_u",
        I64From8S "i64.load8_s",
        I64From8U "i64.load8_u",
        I64From16S "i64.load16_s",
        I64From16U "i64.load16_u",
        I64From32S "i64.load32_s",
        I64From32U "i64.load32_u",
    }
}

operations! {
    /// Stores, of the lower bits of a slot.
    Store {
        Bits8 "store8",
        Bits16 "store16",
        Bits32 "store32",
        Bits64 "store64",
    }
}

operations! {
    /// How an address is kept inside of its memory.
    Access {
        Guarded "guarded",
        Checked "checked",
        Absolute "absolute",
        Kept "accumulator",
        Frame "frame",
        Sum "sum",
    }
}

operations! {
    /// Where a value is.
    Place {
        Slot "slot",
        Integer "accumulator",
        Float "accumulator of floats",
        Vector "accumulator of vectors",
    }
}

operations! {
    /// The part of a field or an element that an instruction reads or sets.
    FieldPart {
        Word "word",
        Vector "vector",
        Signed8 "signed 8",
        Unsigned8 "unsigned 8",
        Signed16 "signed 16",
        Unsigned16 "unsigned 16",
    }
}

impl FieldPart {
    /// The part with a number.
    pub fn of(number: u32) -> FieldPart {
        let part = FieldPart::ALL.get(number as usize);
        part.copied().unwrap_or(FieldPart::Word)
    }
}

operations! {
    /// Instructions with a handler of their own.
    Plain {
        Enter "enter",
        Return "return",
        Finish "finish",
        ReturnAcross "return_across",
        ReturnNative "return_native",
        Jump "jump",
        JumpTable "jump_table",
        Select "select",
        Copy "copy",
        Constant32 "constant32",
        Constant64 "constant64",
        GlobalGet "global.get",
        GlobalSet "global.set",
        Call "call",
        CallImport "call_import",
        CallIndirect "call_indirect",
        CallReference "call_ref",
        TailCall "return_call",
        TailCallImport "return_call_import",
        TailCallIndirect "return_call_indirect",
        TailCallReference "return_call_ref",
        MemorySize "memory.size",
        Fence "atomic.fence",
        Unreachable "unreachable",
    }
}

operations! {
    /// Instructions that leave to the runtime.
    Runtime {
        Translate "translate",
        Host "host",
        MemoryGrow "memory.grow",
        MemoryFill "memory.fill",
        MemoryCopy "memory.copy",
        MemoryInit "memory.init",
        MemoryNotify "memory.atomic.notify",
        MemoryWait32 "memory.atomic.wait32",
        MemoryWait64 "memory.atomic.wait64",
        DataDrop "data.drop",
        TableGet "table.get",
        TableSet "table.set",
        TableSize "table.size",
        TableGrow "table.grow",
        TableFill "table.fill",
        TableCopy "table.copy",
        TableInit "table.init",
        ElementDrop "elem.drop",
        ReferenceFunction "ref.func",
        NullTrap "null_trap",
        Throw "throw",
        ThrowReference "throw_ref",
        NullI31Trap "null_i31_trap",
        StructNew "struct.new",
        StructNewDefault "struct.new_default",
        StructGet "struct.get",
        StructSet "struct.set",
        ArrayNew "array.new",
        ArrayNewDefault "array.new_default",
        ArrayNewFixed "array.new_fixed",
        ArrayNewData "array.new_data",
        ArrayNewElement "array.new_elem",
        ArrayGet "array.get",
        ArraySet "array.set",
        ArrayLength "array.len",
        ArrayFill "array.fill",
        ArrayCopy "array.copy",
        ArrayInitData "array.init_data",
        ArrayInitElement "array.init_elem",
        ReferenceTest "ref.test",
        ReferenceCast "ref.cast",
    }
}

/// An instruction.
///
/// Offsets of operands are in bytes from its beginning; `d` is the slot of the result, if it goes to one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Opcode {
    /// d at 8, operand at 10. The last parts say whether the operand is in the accumulator, and whether
    /// the result goes there.
    Unary(Unary, bool, bool),
    /// d at 8, operands at 10 and 12; a constant has 32 bits at 12, or 64 bits at 16. The last part says
    /// whether the result goes to the accumulator.
    Binary(Binary, Shape, bool),
    /// The same; the result goes to a slot.
    Compare(Compare, Shape),
    /// Jumps if the comparison gives what the last part says: operands at 8 and 10, distance of 32
    /// bits at 12, a constant at 16.
    Branch(Compare, Shape, bool),
    /// d at 8, address at 10, offset of 32 bits at 12; a checked one has an address of 64 bits, the
    /// memory at 12 and an offset of 64 bits at 16; an absolute one has no address but the offset. One of
    /// the frame is a part of a vector: its offset is one of bytes from where the frame begins. The
    /// address of a sum is a slot and a constant at 12, added in 32 bits.
    Load(Load, Access, Place),
    /// Address at 8, value at 10, the rest as for loads. The last part says where the value is.
    Store(Store, Access, Place),
    /// See [`Vector`].
    Vector(Vector),
    /// d at 8, address at 10, the other operands at 12 and 14, offset of 32 bits at 16; a checked one has
    /// an address of 64 bits, an offset of 64 bits at 16 and the memory at 24. All operands are in slots.
    Atomic(Atomic),
    /// See [`Plain`].
    Plain(Plain),
    /// See [`Runtime`].
    Runtime(Runtime),
}

impl Opcode {
    /// All instructions, in the order of the table of handlers.
    pub fn all() -> Vec<Opcode> {
        let mut all = Vec::new();
        all.extend(Plain::ALL.iter().map(|op| Opcode::Plain(*op)));
        all.extend(Runtime::ALL.iter().map(|op| Opcode::Runtime(*op)));
        for &op in Unary::ALL {
            for takes in [false, true] {
                all.extend([false, true].map(|gives| Opcode::Unary(op, takes, gives)));
            }
        }
        for &op in Binary::ALL {
            for &shape in binary_shapes(op) {
                all.extend([false, true].map(|gives| Opcode::Binary(op, shape, gives)));
            }
        }
        for &op in Compare::ALL {
            all.extend(COMPARISON_SHAPES.map(|shape| Opcode::Compare(op, shape)));
        }
        for &op in Compare::ALL {
            for shape in COMPARISON_SHAPES {
                all.push(Opcode::Branch(op, shape, true));
                if op.negated().is_none() {
                    all.push(Opcode::Branch(op, shape, false));
                }
            }
        }
        for &access in Access::ALL {
            for &op in Load::ALL {
                let places = load_places(op, access).iter();
                all.extend(places.map(|place| Opcode::Load(op, access, *place)));
            }
            for &op in Store::ALL {
                let places = store_places(op, access).iter();
                all.extend(places.map(|place| Opcode::Store(op, access, *place)));
            }
        }
        all.extend(Vector::all().into_iter().map(Opcode::Vector));
        all.extend(Atomic::all().into_iter().map(Opcode::Atomic));
        all
    }

    /// The same instruction with its result in the accumulator of a kind of value, if there is one.
    pub fn keeping(self, kind: Number) -> Option<Opcode> {
        let wanted = Place::of(kind);
        match self {
            Opcode::Unary(op, takes, false) if Place::of(op.kinds().1) == wanted => {
                Some(Opcode::Unary(op, takes, true))
            }
            Opcode::Binary(op, shape, false) if Place::of(op.kind()) == wanted => {
                Some(Opcode::Binary(op, shape, true))
            }
            Opcode::Load(op, access, Place::Slot) if load_places(op, access).contains(&wanted) => {
                Some(Opcode::Load(op, access, wanted))
            }
            Opcode::Vector(op) => op.keeping(kind).map(Opcode::Vector),
            _ => None,
        }
    }

    /// Bytes of the instruction; a [`Plain::JumpTable`] has its distances behind them.
    pub fn bytes(self) -> usize {
        let has_wide_constant = |kind: Number, shape: Shape| kind.is_wide() && shape.has_constant();
        match self {
            Opcode::Binary(op, shape, _) if has_wide_constant(op.kind(), shape) => 24,
            Opcode::Compare(op, shape) if has_wide_constant(op.kind(), shape) => 24,
            Opcode::Branch(_, shape, _) if shape.has_constant() => 24,
            Opcode::Load(_, Access::Checked, _) | Opcode::Store(_, Access::Checked, _) => 24,
            Opcode::Unary(..)
            | Opcode::Binary(..)
            | Opcode::Compare(..)
            | Opcode::Branch(..)
            | Opcode::Load(..)
            | Opcode::Store(..) => 16,
            Opcode::Vector(op) => op.bytes(),
            Opcode::Atomic(op) => op.bytes(),
            Opcode::Plain(op) => match op {
                Plain::Constant64
                | Plain::CallIndirect
                | Plain::ReturnAcross
                | Plain::TailCall
                | Plain::TailCallImport
                | Plain::TailCallReference => 24,
                Plain::TailCallIndirect => 32,
                Plain::Unreachable | Plain::Finish | Plain::ReturnNative | Plain::Fence => 8,
                _ => 16,
            },
            Opcode::Runtime(Runtime::NullTrap | Runtime::NullI31Trap) => 8,
            Opcode::Runtime(_) => 24,
        }
    }

    /// The name in listings.
    pub fn name(self) -> String {
        match self {
            Opcode::Unary(op, ..) => op.name().to_owned(),
            Opcode::Binary(op, ..) => op.name().to_owned(),
            Opcode::Compare(op, _) => op.name().to_owned(),
            Opcode::Branch(op, _, true) => format!("branch {}", op.name()),
            Opcode::Branch(op, _, false) => format!("branch not {}", op.name()),
            Opcode::Load(op, access, _) => accessed(op.name(), access),
            Opcode::Store(op, access, _) => accessed(op.name(), access),
            Opcode::Vector(op) => op.name(),
            Opcode::Atomic(op) => accessed(&op.name(), op.access),
            Opcode::Plain(op) => op.name().to_owned(),
            Opcode::Runtime(op) => op.name().to_owned(),
        }
    }
}

fn accessed(name: &str, access: Access) -> String {
    match access {
        Access::Guarded | Access::Kept | Access::Sum => name.to_owned(),
        _ => format!("{name} {}", access.name()),
    }
}

impl Place {
    /// The accumulator of a kind of value.
    pub const fn of(kind: Number) -> Place {
        match kind {
            Number::I32 | Number::I64 => Place::Integer,
            Number::F32 | Number::F64 => Place::Float,
            Number::V128 => Place::Vector,
        }
    }
}

impl Shape {
    /// Whether an operand is a constant.
    pub const fn has_constant(self) -> bool {
        matches!(
            self,
            Shape::Right | Shape::Left | Shape::KeptRight | Shape::KeptLeft
        )
    }
}

/// The shapes of comparisons; others come from exchanging the operands.
const COMPARISON_SHAPES: [Shape; 4] = [
    Shape::Slots,
    Shape::Right,
    Shape::KeptFirst,
    Shape::KeptRight,
];

/// The places to which a load may go.
fn load_places(op: Load, access: Access) -> &'static [Place] {
    match (access, op) {
        (Access::Checked, _) => &[Place::Slot],
        (_, Load::Bits32 | Load::Bits64) => &[Place::Slot, Place::Integer, Place::Float],
        _ => &[Place::Slot, Place::Integer],
    }
}

/// The places from which a store may take its value.
pub fn store_places(op: Store, access: Access) -> &'static [Place] {
    match (access, op) {
        (Access::Frame, _) => &[],
        (Access::Checked | Access::Kept | Access::Sum, _) => &[Place::Slot],
        (_, Store::Bits32 | Store::Bits64) => &[Place::Slot, Place::Integer, Place::Float],
        _ => &[Place::Slot, Place::Integer],
    }
}

/// The shapes without those that only differ by which operand is which.
const SHAPES_FROM_LEFT: &[Shape] = &COMPARISON_SHAPES;

/// The shapes that an operation on two values has.
pub fn binary_shapes(op: Binary) -> &'static [Shape] {
    use Binary::*;
    match op {
        I32DivS | I32DivU | I32RemS | I32RemU | I64DivS | I64DivU | I64RemS | I64RemU => {
            &[Shape::Slots, Shape::Right]
        }
        F32Min | F32Max | F32Copysign | F64Min | F64Max | F64Copysign => {
            &[Shape::Slots, Shape::KeptFirst, Shape::KeptSecond]
        }
        I32Shl | I32ShrS | I32ShrU | I32Rotl | I32Rotr | I64Shl | I64ShrS | I64ShrU | I64Rotl
        | I64Rotr => SHAPES_FROM_LEFT,
        _ if op.is_commutative() => SHAPES_FROM_LEFT,
        _ => Shape::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::Opcode;

    #[test]
    fn no_instruction_appears_twice() {
        let all = Opcode::all();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(all.len(), distinct.len());
        assert!(all.iter().all(|opcode| opcode.bytes() % 8 == 0));
    }
}
