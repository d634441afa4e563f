//! Numbers: which instruction an operator becomes.
//!
//! Constants become part of instructions that have room for them.

use canny_tables::guest::{
    Access, Binary, Compare, Load, Number, Opcode, Plain, Shape, Store, Unary, binary_shapes,
};
use wasmparser::{MemArg, MemArgTarget};

use super::{Comparison, Entry, Last, Translator};

impl Translator<'_> {
    pub(super) fn unary(&mut self, op: Unary) {
        let x = self.pop_slot();
        let place = self.code.put(Opcode::Unary(op));
        self.code.set16(place, 10, x);
        self.result(place);
    }

    /// Whether an instruction has room for a constant of a kind.
    fn fits(kind: Number, bits: u64) -> bool {
        kind != Number::I64 || bits as i32 as i64 as u64 == bits
    }

    pub(super) fn binary(&mut self, op: Binary) {
        let kind = op.kind();
        let shapes = binary_shapes(op);
        let y = self.pop();
        let x = self.pop();
        let places = (self.stack.len(), self.stack.len() + 1);
        let (shape, slot, constant) = match (x, y) {
            (_, Entry::Constant(bits))
                if shapes.contains(&Shape::Right) && Self::fits(kind, bits) =>
            {
                (Shape::Right, self.slot_of(x, places.0), bits)
            }
            (Entry::Constant(bits), _) if op.is_commutative() && Self::fits(kind, bits) => {
                (Shape::Right, self.slot_of(y, places.1), bits)
            }
            (Entry::Constant(bits), _)
                if shapes.contains(&Shape::Left) && Self::fits(kind, bits) =>
            {
                (Shape::Left, self.slot_of(y, places.1), bits)
            }
            _ => {
                let (x, y) = (self.slot_of(x, places.0), self.slot_of(y, places.1));
                let place = self.code.put(Opcode::Binary(op, Shape::Slots));
                self.code.set16(place, 10, x);
                self.code.set16(place, 12, y);
                return self.result(place);
            }
        };
        let place = self.code.put(Opcode::Binary(op, shape));
        self.code.set16(place, 10, slot);
        self.set_constant(place, kind, 12, constant);
        self.result(place);
    }

    fn set_constant(&mut self, place: usize, kind: Number, at: usize, bits: u64) {
        match kind {
            Number::F64 => self.code.set64(place, 16, bits),
            _ => self.code.set32(place, at, bits as u32),
        }
    }

    pub(super) fn compare(&mut self, op: Compare) {
        let y = self.pop();
        let x = self.pop();
        let places = (self.stack.len(), self.stack.len() + 1);
        let kind = op.kind();
        let comparison = match (x, y) {
            (_, Entry::Constant(bits)) if Self::fits(kind, bits) => Comparison {
                op,
                shape: Shape::Right,
                x: self.slot_of(x, places.0),
                y: 0,
                constant: bits,
            },
            (Entry::Constant(bits), _) if Self::fits(kind, bits) => Comparison {
                op: op.exchanged(),
                shape: Shape::Right,
                x: self.slot_of(y, places.1),
                y: 0,
                constant: bits,
            },
            _ => Comparison {
                op,
                shape: Shape::Slots,
                x: self.slot_of(x, places.0),
                y: self.slot_of(y, places.1),
                constant: 0,
            },
        };
        self.put_comparison(comparison);
    }

    fn put_comparison(&mut self, comparison: Comparison) {
        let Comparison {
            op,
            shape,
            x,
            y,
            constant,
        } = comparison;
        let place = self.code.put(Opcode::Compare(op, shape));
        self.code.set16(place, 10, x);
        match shape {
            Shape::Slots => self.code.set16(place, 12, y),
            _ => self.set_constant(place, op.kind(), 12, constant),
        }
        self.result(place);
        self.last = self.last.map(|last| Last {
            comparison: Some((comparison, true)),
            ..last
        });
    }

    /// Whether the newest operand is zero.
    pub(super) fn is_zero(&mut self, op: Compare) {
        let known = self.newest_comparison().filter(|_| op == Compare::I32Eq);
        let Some((start, comparison, wanted)) = known else {
            self.push(Entry::Constant(0));
            return self.compare(op);
        };
        if let (Some(negated), true) = (comparison.op.negated(), wanted) {
            self.pop();
            self.code.truncate(start);
            return self.put_comparison(Comparison {
                op: negated,
                ..comparison
            });
        }
        // There is no such comparison of floats, but a branch of that kind.
        self.push(Entry::Constant(0));
        self.compare(op);
        self.last = self.last.map(|last| Last {
            start,
            comparison: Some((comparison, !wanted)),
            ..last
        });
    }

    /// The comparison that gave the newest operand, if nothing was written since: where it begins, and
    /// what it has to give.
    pub(super) fn newest_comparison(&self) -> Option<(usize, Comparison, bool)> {
        let last = self.last?;
        let is_newest = self.stack.last() == Some(&Entry::Own)
            && last.slot as usize == self.base + self.stack.len() - 1;
        let (comparison, wanted) = last.comparison.filter(|_| is_newest)?;
        Some((last.start, comparison, wanted))
    }

    pub(super) fn select(&mut self) {
        let condition = self.pop_slot();
        let y = self.pop_slot();
        let x = self.pop_slot();
        let place = self.code.put(Opcode::Plain(Plain::Select));
        self.code.set16(place, 10, x);
        self.code.set16(place, 12, y);
        self.code.set16(place, 14, condition);
        self.result(place);
    }

    /// Whether accesses to a memory are kept inside of it by guard pages.
    fn access(&self, argument: &MemArg) -> Access {
        let memory = &self.module.parts().memories[memory_of(argument) as usize];
        let is_near = argument.offset <= u64::from(u32::MAX);
        if memory_of(argument) == 0 && !memory.is_wide && is_near {
            Access::Guarded
        } else {
            Access::Checked
        }
    }

    /// Takes an address: its slot, what kind of access it makes, and the argument with the offset.
    ///
    /// One of 32 bits is extended if it is going to be checked, and a constant becomes part of the offset.
    fn pop_address(&mut self, mut argument: MemArg) -> (u16, Access, MemArg) {
        let access = self.access(&argument);
        if access == Access::Guarded
            && let Some(Entry::Constant(bits)) = self.stack.last()
            && let Some(offset) = argument.offset.checked_add(u64::from(*bits as u32))
            && offset <= u64::from(u32::MAX)
        {
            argument.offset = offset;
            self.pop();
            return (0, Access::Absolute, argument);
        }
        let is_wide = self.module.parts().memories[memory_of(&argument) as usize].is_wide;
        if access == Access::Checked && !is_wide {
            self.unary(Unary::I64ExtendI32U);
        }
        (self.pop_slot(), access, argument)
    }

    fn set_address(&mut self, place: usize, argument: &MemArg, access: Access) {
        match access {
            Access::Guarded | Access::Absolute => {
                self.code.set32(place, 12, argument.offset as u32);
            }
            Access::Checked => {
                self.code.set16(place, 12, memory_of(argument) as u16);
                self.code.set64(place, 16, argument.offset);
            }
        }
    }

    pub(super) fn load(&mut self, op: Load, argument: MemArg) {
        let (address, access, argument) = self.pop_address(argument);
        let place = self.code.put(Opcode::Load(op, access));
        self.code.set16(place, 10, address);
        self.set_address(place, &argument, access);
        self.result(place);
    }

    pub(super) fn store(&mut self, op: Store, argument: MemArg) {
        let value = self.pop();
        // The address may have to be computed, which is written behind the value.
        let value = self.slot_of(value, self.stack.len());
        let (address, access, argument) = self.pop_address(argument);
        let place = self.code.put(Opcode::Store(op, access));
        self.code.set16(place, 8, address);
        self.code.set16(place, 10, value);
        self.set_address(place, &argument, access);
        self.last = None;
    }
}

/// The memory of an access.
fn memory_of(argument: &MemArg) -> u32 {
    match argument.target {
        MemArgTarget::Memory(index) | MemArgTarget::Array(index) => index,
    }
}
