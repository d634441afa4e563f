//! Instructions of the machine that runs WebAssembly modules, the guests.
//!
//! The code of a guest is register code: operands are slots of the frame or constants. An instruction
//! begins with the address of its handler, and its operands lie behind that at the places that
//! [`Opcode`] says. The crate that translates modules, the generator of the handlers, and the
//! disassembler read these rows.
//!
//! A slot has 64 bits. Numbers of 32 bits use the lower half, and what the upper half has is unknown.

mod layout;
mod numeric;

pub use layout::*;
pub use numeric::{Binary, Compare, Number, Unary};

use numeric::operations;

operations! {
    /// Where the operands of an operation on two values are.
    Shape {
        Slots "slots",
        Right "right operand constant",
        Left "left operand constant",
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
    }
}

operations! {
    /// Instructions with a handler of their own.
    Plain {
        Enter "enter",
        Return "return",
        Finish "finish",
        ReturnAcross "return_across",
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
    }
}

/// An instruction.
///
/// Offsets of operands are in bytes from its beginning; `d` is the slot of the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Opcode {
    /// d at 8, operand at 10.
    Unary(Unary),
    /// d at 8, operands at 10 and 12; a constant has 32 bits at 12 (integers are extended with their
    /// sign), or is a float of 64 bits at 16.
    Binary(Binary, Shape),
    /// The same.
    Compare(Compare, Shape),
    /// Jumps if the comparison gives what the last part says: operands at 8 and 10, distance of 32
    /// bits at 12, a constant at 16.
    Branch(Compare, Shape, bool),
    /// d at 8, address at 10, offset of 32 bits at 12; a checked one has an address of 64 bits, the
    /// memory at 12 and an offset of 64 bits at 16; an absolute one has no address but the offset.
    Load(Load, Access),
    /// Address at 8, value at 10, the rest as for loads.
    Store(Store, Access),
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
        all.extend(Unary::ALL.iter().map(|op| Opcode::Unary(*op)));
        for &op in Binary::ALL {
            let shapes = binary_shapes(op).iter();
            all.extend(shapes.map(|shape| Opcode::Binary(op, *shape)));
        }
        for &op in Compare::ALL {
            all.extend([Shape::Slots, Shape::Right].map(|shape| Opcode::Compare(op, shape)));
        }
        for &op in Compare::ALL {
            for shape in [Shape::Slots, Shape::Right] {
                all.push(Opcode::Branch(op, shape, true));
                if op.negated().is_none() {
                    all.push(Opcode::Branch(op, shape, false));
                }
            }
        }
        for &access in Access::ALL {
            all.extend(Load::ALL.iter().map(|op| Opcode::Load(*op, access)));
            all.extend(Store::ALL.iter().map(|op| Opcode::Store(*op, access)));
        }
        all
    }

    /// Bytes of the instruction; a [`Plain::JumpTable`] has its distances behind them.
    pub fn bytes(self) -> usize {
        let has_wide_constant =
            |kind: Number, shape: Shape| kind == Number::F64 && shape != Shape::Slots;
        match self {
            Opcode::Unary(_) => 16,
            Opcode::Binary(op, shape) if has_wide_constant(op.kind(), shape) => 24,
            Opcode::Compare(op, shape) if has_wide_constant(op.kind(), shape) => 24,
            Opcode::Branch(_, shape, _) if shape != Shape::Slots => 24,
            Opcode::Binary(..) | Opcode::Compare(..) | Opcode::Branch(..) => 16,
            Opcode::Load(_, Access::Checked) | Opcode::Store(_, Access::Checked) => 24,
            Opcode::Load(..) | Opcode::Store(..) => 16,
            Opcode::Plain(op) => match op {
                Plain::Constant64
                | Plain::CallIndirect
                | Plain::ReturnAcross
                | Plain::TailCall
                | Plain::TailCallImport
                | Plain::TailCallReference => 24,
                Plain::TailCallIndirect => 32,
                Plain::Unreachable | Plain::Finish => 8,
                _ => 16,
            },
            Opcode::Runtime(op) => match op {
                Runtime::NullTrap => 8,
                _ => 24,
            },
        }
    }

    /// The name in listings.
    pub fn name(self) -> String {
        match self {
            Opcode::Unary(op) => op.name().to_owned(),
            Opcode::Binary(op, _) => op.name().to_owned(),
            Opcode::Compare(op, _) => op.name().to_owned(),
            Opcode::Branch(op, _, true) => format!("branch {}", op.name()),
            Opcode::Branch(op, _, false) => format!("branch not {}", op.name()),
            Opcode::Load(op, access) => accessed(op.name(), access),
            Opcode::Store(op, access) => accessed(op.name(), access),
            Opcode::Plain(op) => op.name().to_owned(),
            Opcode::Runtime(op) => op.name().to_owned(),
        }
    }
}

fn accessed(name: &str, access: Access) -> String {
    match access {
        Access::Guarded => name.to_owned(),
        _ => format!("{name} {}", access.name()),
    }
}

/// The shapes that an operation on two values has.
pub fn binary_shapes(op: Binary) -> &'static [Shape] {
    use Binary::*;
    match op {
        I32DivS | I32DivU | I32RemS | I32RemU | I64DivS | I64DivU | I64RemS | I64RemU => {
            &[Shape::Slots, Shape::Right]
        }
        F32Min | F32Max | F32Copysign | F64Min | F64Max | F64Copysign => &[Shape::Slots],
        _ if op.is_commutative() => &[Shape::Slots, Shape::Right],
        _ => &[Shape::Slots, Shape::Right, Shape::Left],
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
