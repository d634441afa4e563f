//! Numbers: which instruction an operator becomes.
//!
//! Constants become part of instructions that have room for them.

use canny_tables::guest::{
    Access, Binary, Compare, Load, Number, Opcode, Place, Plain, Shape, Store, Unary, Vector,
    VectorPlain, binary_shapes,
};
use wasmparser::{MemArg, MemArgTarget};

use super::{Comparison, Entry, Last, Operand, Source, Translator};

impl Translator<'_> {
    pub(super) fn unary(&mut self, op: Unary) {
        let operand = self.pop();
        let x = self.source(operand, op.kinds().0);
        let opcode = Opcode::Unary(op, matches!(x, Source::Kept(..)), false);
        let place = self.code.put(opcode);
        self.code.set16(place, 10, x.slot());
        self.result(place, opcode);
    }

    pub(super) fn binary(&mut self, op: Binary) {
        let kind = op.kind();
        let shapes = binary_shapes(op);
        let y = self.pop();
        let x = self.pop();
        let fits = |shape: Shape| shapes.contains(&shape);
        let (shape, operand, constant) = match (x.entry, y.entry) {
            (_, Entry::Constant(bits)) if fits(Shape::Right) => (Shape::Right, x, bits),
            (Entry::Constant(bits), _) if op.is_commutative() && fits(Shape::Right) => {
                (Shape::Right, y, bits)
            }
            (Entry::Constant(bits), _) if fits(Shape::Left) => (Shape::Left, y, bits),
            _ => return self.binary_of_slots(op, (x, y), shapes),
        };
        let takes = shapes.contains(&Shape::KeptRight);
        let source = if takes {
            self.source(operand, kind)
        } else {
            Source::Slot(self.slot_of(operand))
        };
        let shape = match (source, shape) {
            (Source::Kept(..), Shape::Right) => Shape::KeptRight,
            (Source::Kept(..), _) => Shape::KeptLeft,
            _ => shape,
        };
        let opcode = Opcode::Binary(op, shape, false);
        let place = self.code.put(opcode);
        self.code.set16(place, 10, source.slot());
        self.set_constant(place, kind, 12, constant);
        self.result(place, opcode);
    }

    /// An operation on two values that are no constants of the instruction.
    fn binary_of_slots(&mut self, op: Binary, (x, y): (Operand, Operand), shapes: &[Shape]) {
        let keeps_first = shapes.contains(&Shape::KeptFirst);
        let keeps_second = shapes.contains(&Shape::KeptSecond) || op.is_commutative();
        let keeps = match y.entry {
            Entry::Own => keeps_second,
            _ => keeps_first,
        };
        let (mut x, mut y) = self.sources((x, y), op.kind(), keeps);
        if matches!(y, Source::Kept(..)) && !shapes.contains(&Shape::KeptSecond) {
            // The order does not matter.
            std::mem::swap(&mut x, &mut y);
        }
        let shape = match (x, y) {
            (Source::Kept(..), _) => Shape::KeptFirst,
            (_, Source::Kept(..)) => Shape::KeptSecond,
            _ => Shape::Slots,
        };
        let opcode = Opcode::Binary(op, shape, false);
        let place = self.code.put(opcode);
        self.code.set16(place, 10, x.slot());
        self.code.set16(place, 12, y.slot());
        self.result(place, opcode);
    }

    /// Where both operands of an instruction are that is written next; the second was computed later.
    pub(super) fn sources(
        &mut self,
        (x, y): (Operand, Operand),
        kind: Number,
        keeps: bool,
    ) -> (Source, Source) {
        if !keeps {
            let x = Source::Slot(self.slot_of(x));
            return (x, Source::Slot(self.slot_of(y)));
        }
        match y.entry {
            // Constants are written first, so that nothing comes behind what keeps its result.
            Entry::Constant(_) => {
                let y = Source::Slot(self.slot_of(y));
                (self.source(x, kind), y)
            }
            Entry::Own => {
                let x = Source::Slot(self.slot_of(x));
                (x, self.source(y, kind))
            }
            Entry::Local(_) => {
                let x = self.source(x, kind);
                (x, Source::Slot(self.slot_of(y)))
            }
        }
    }

    fn set_constant(&mut self, place: usize, kind: Number, at: usize, bits: u64) {
        if kind.is_wide() {
            self.code.set64(place, 16, bits);
        } else {
            self.code.set32(place, at, bits as u32);
        }
    }

    pub(super) fn compare(&mut self, op: Compare) {
        let y = self.pop();
        let x = self.pop();
        let kind = op.kind();
        let (op, x, y, constant) = match (x.entry, y.entry) {
            (_, Entry::Constant(bits)) => (op, self.source(x, kind), None, bits),
            (Entry::Constant(bits), _) => (op.exchanged(), self.source(y, kind), None, bits),
            _ => match self.sources((x, y), kind, true) {
                (x, y @ Source::Kept(..)) => (op.exchanged(), y, Some(x), 0),
                (x, y) => (op, x, Some(y), 0),
            },
        };
        let shape = match (x, y) {
            (Source::Kept(..), Some(_)) => Shape::KeptFirst,
            (Source::Kept(..), None) => Shape::KeptRight,
            (_, Some(_)) => Shape::Slots,
            (_, None) => Shape::Right,
        };
        let producer = match x {
            Source::Kept(_, place, opcode) => Some((place, opcode)),
            Source::Slot(_) => None,
        };
        self.put_comparison(Comparison {
            op,
            shape,
            x: x.slot(),
            y: y.map_or(0, Source::slot),
            constant,
            producer,
        });
    }

    fn put_comparison(&mut self, comparison: Comparison) {
        let Comparison {
            op,
            shape,
            x,
            y,
            constant,
            ..
        } = comparison;
        let opcode = Opcode::Compare(op, shape);
        let place = self.code.put(opcode);
        self.code.set16(place, 10, x);
        if shape.has_constant() {
            self.set_constant(place, op.kind(), 12, constant);
        } else {
            self.code.set16(place, 12, y);
        }
        self.result(place, opcode);
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
        let newest = self.stack.last()?;
        let is_newest = newest.entry == Entry::Own && newest.slot as u16 == last.slot;
        let (comparison, wanted) = last.comparison.filter(|_| is_newest)?;
        Some((last.start, comparison, wanted))
    }

    pub(super) fn select(&mut self) {
        let condition = self.pop_slot();
        let y = self.pop();
        let opcode = if y.is_vector {
            Opcode::Vector(Vector::Plain(VectorPlain::Select))
        } else {
            Opcode::Plain(Plain::Select)
        };
        let y = self.slot_of(y);
        let x = self.pop_slot();
        let place = self.code.put(opcode);
        self.code.set16(place, 10, x);
        self.code.set16(place, 12, y);
        self.code.set16(place, 14, condition);
        self.result(place, opcode);
    }

    /// Lets an index of 64 bits have 32: one that is greater becomes one that no table reaches.
    pub(super) fn narrow_index(&mut self) {
        let newest = self.stack.len() - 1;
        self.settle(newest);
        let slot = self.stack[newest].slot as u16;
        let greatest = u64::from(u32::MAX);
        self.push(Entry::Constant(greatest));
        self.put_comparison(Comparison {
            op: Compare::I64LeU,
            shape: Shape::Right,
            x: slot,
            y: 0,
            constant: greatest,
            producer: None,
        });
        self.select();
    }

    /// Whether accesses to a memory are kept inside of it by guard pages.
    pub(super) fn access(&self, argument: &MemArg) -> Access {
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
    pub(super) fn pop_address(&mut self, mut argument: MemArg) -> (u16, Access, MemArg) {
        let access = self.access(&argument);
        if access == Access::Guarded
            && let Some(Entry::Constant(bits)) = self.stack.last().map(|operand| operand.entry)
            && let Some(offset) = argument.offset.checked_add(u64::from(bits as u32))
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
        if access == Access::Guarded {
            let operand = self.pop();
            if argument.offset == 0
                && let Some((slot, constant)) = self.newest_sum(operand)
            {
                argument.offset = u64::from(constant);
                return (slot, Access::Sum, argument);
            }
            return match self.source(operand, Number::I32) {
                Source::Kept(slot, ..) => (slot, Access::Kept, argument),
                Source::Slot(slot) => (slot, access, argument),
            };
        }
        (self.pop_slot(), access, argument)
    }

    /// Takes back the instruction that has just added a constant to a slot, if it gave the operand.
    fn newest_sum(&mut self, operand: Operand) -> Option<(u16, u32)> {
        let last = self.last?;
        let sum = Opcode::Binary(Binary::I32Add, Shape::Right, false);
        let is_newest = last.place + sum.bytes() / 8 == self.code.len();
        let gave = operand.entry == Entry::Own && operand.slot as u16 == last.slot;
        if last.opcode != sum || !is_newest || !gave {
            return None;
        }
        let slot = self.code.operand16(last.place, 10);
        let constant = self.code.operand32(last.place, 12);
        self.code.truncate(last.place);
        self.last = None;
        Some((slot, constant))
    }

    pub(super) fn set_address(&mut self, place: usize, argument: &MemArg, access: Access) {
        match access {
            Access::Checked => {
                self.code.set16(place, 12, memory_of(argument) as u16);
                self.code.set64(place, 16, argument.offset);
            }
            _ => {
                self.code.set32(place, 12, argument.offset as u32);
            }
        }
    }

    pub(super) fn load(&mut self, op: Load, argument: MemArg) {
        let (address, access, argument) = self.pop_address(argument);
        let opcode = Opcode::Load(op, access, Place::Slot);
        let place = self.code.put(opcode);
        self.code.set16(place, 10, address);
        self.set_address(place, &argument, access);
        self.result(place, opcode);
    }

    pub(super) fn store(&mut self, op: Store, argument: MemArg, kind: Number) {
        let value = self.pop_stored(&argument, kind);
        let (address, access, argument) = self.pop_address(argument);
        let from = match value {
            Source::Kept(..) => Place::of(kind),
            Source::Slot(_) => Place::Slot,
        };
        let opcode = Opcode::Store(op, access, from);
        self.put_store(opcode, (address, access, argument), value.slot());
    }

    /// Takes the value of a store.
    pub(super) fn pop_stored(&mut self, argument: &MemArg, kind: Number) -> Source {
        let operand = self.pop();
        let may_keep = self.access(argument) == Access::Guarded && self.is_ready(argument);
        if may_keep {
            self.source(operand, kind)
        } else {
            Source::Slot(self.slot_of(operand))
        }
    }

    pub(super) fn put_store(
        &mut self,
        opcode: Opcode,
        (address, access, argument): (u16, Access, MemArg),
        value: u16,
    ) {
        let place = self.code.put(opcode);
        self.code.set16(place, 8, address);
        self.code.set16(place, 10, value);
        self.set_address(place, &argument, access);
        self.last = None;
    }

    /// Whether the newest operand is an address that no instruction has to be written for.
    fn is_ready(&self, argument: &MemArg) -> bool {
        match self.stack.last().map(|operand| operand.entry) {
            Some(Entry::Constant(bits)) => {
                let offset = argument.offset.checked_add(u64::from(bits as u32));
                offset.is_some_and(|offset| offset <= u64::from(u32::MAX))
            }
            _ => true,
        }
    }
}

/// The memory of an access.
pub(crate) fn memory_of(argument: &MemArg) -> u32 {
    match argument.target {
        MemArgTarget::Memory(index) | MemArgTarget::Array(index) => index,
    }
}
