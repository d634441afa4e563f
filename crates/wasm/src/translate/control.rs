//! Blocks, branches and returns.
//!
//! Distances to the end of a block are filled in when it is closed.

use canny_tables::guest::{Compare, Number, Opcode, Plain, Shape};
use wasmparser::{BlockType, BrTable, ValType};

use super::values::Values;
use super::{Comparison, Entry, Source, Translator, slots_of};
use crate::code::{Clause, Loop, LoopOperand};
use crate::definitions;
use crate::error::Error;

/// The kind of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Block,
    Loop,
    /// With the instruction that jumps to the other branch.
    If(usize),
    Else,
    Function,
    /// With the number of its first clause, and how many there are.
    Try(usize, usize),
}

/// A distance that is known when its block ends: the instruction, and where the distance is in it.
#[derive(Clone, Copy, Debug)]
struct Patch {
    from: usize,
    at: usize,
}

/// A block that is open.
#[derive(Debug)]
pub struct Control {
    kind: Kind,
    /// Operands below its parameters.
    height: usize,
    /// The slot of its first parameter or result.
    slot: u32,
    parameters: Values,
    results: Values,
    /// Where a loop begins.
    start: usize,
    patches: Vec<Patch>,
    /// Clauses that lead to its end, by number.
    landings: Vec<usize>,
}

impl Control {
    /// Lets a clause lead here.
    pub(super) fn land(&mut self, number: usize, clause: &mut Clause) {
        clause.slot = self.slot as u16;
        if self.kind == Kind::Loop {
            clause.target = self.start as u32;
        } else {
            self.landings.push(number);
        }
    }

    /// The block of a whole function.
    pub fn function(results: Values, slot: u32) -> Control {
        Control {
            kind: Kind::Function,
            height: 0,
            slot,
            parameters: Values::Scalars(0),
            results,
            start: 0,
            patches: Vec::new(),
            landings: Vec::new(),
        }
    }

    /// Whether it is a function to whose end nothing jumps.
    fn is_plain_function(&self) -> bool {
        self.kind == Kind::Function && self.patches.is_empty() && self.landings.is_empty()
    }

    /// How many values a branch to it takes.
    fn arity(&self) -> usize {
        match self.kind {
            Kind::Loop => self.parameters.len(),
            _ => self.results.len(),
        }
    }
}

/// Words of an unconditional jump.
const JUMP_WORDS: usize = 2;

/// The branch that is taken if a comparison gives `wanted`.
fn branch_opcode(op: Compare, shape: Shape, wanted: bool) -> Opcode {
    match op.negated() {
        Some(negated) if !wanted => Opcode::Branch(negated, shape, true),
        _ => Opcode::Branch(op, shape, wanted),
    }
}

impl Translator<'_> {
    /// Parameters and results.
    pub(super) fn block_type(&self, kind: BlockType) -> (Values, Values) {
        match kind {
            BlockType::Empty => (Values::Scalars(0), Values::Scalars(0)),
            BlockType::Type(kind) => (Values::Scalars(0), Values::one(kind == ValType::V128)),
            BlockType::FuncType(index) => {
                let number = self.module.parts().types[index as usize];
                let kind = definitions::function_type(number);
                (Values::of(&kind.parameters), Values::of(&kind.results))
            }
        }
    }

    pub(super) fn open(&mut self, kind: Kind, block: BlockType) {
        let (parameters, results) = self.block_type(block);
        self.settle_locals(parameters.len());
        self.open_settled(kind, parameters, results);
    }

    pub(super) fn open_settled(&mut self, kind: Kind, parameters: Values, results: Values) {
        self.last = None;
        self.newest_branch = None;
        if kind == Kind::Loop {
            self.note_loop();
        }
        self.control.push(Control {
            kind,
            height: self.stack.len() - parameters.len(),
            slot: self.top() - parameters.slots(),
            parameters,
            results,
            start: self.code.len(),
            patches: Vec::new(),
            landings: Vec::new(),
        });
    }

    /// Notes where a loop begins, and where operands are there.
    fn note_loop(&mut self) {
        let operands = self.stack.iter().map(|operand| match operand.entry {
            Entry::Constant(bits) => LoopOperand::Constant(bits),
            // Operands that are local variables were moved.
            Entry::Own | Entry::Local(_) => LoopOperand::Slot(operand.slot as u16),
        });
        self.loops.push(Loop {
            offset: self.offset,
            place: self.code.len() as u32,
            operands: operands.collect(),
        });
    }

    pub(super) fn open_if(&mut self, block: BlockType) {
        let (parameters, results) = self.block_type(block);
        // The condition is above the parameters, and must be decided after they are settled.
        let mut condition = self.condition();
        if !self.is_settled(parameters.len()) {
            self.give_back(&mut condition.0);
        }
        self.settle_locals(parameters.len());
        let jump = self.branch_if(condition.0, !condition.1);
        self.open_settled(Kind::If(jump), parameters, results);
    }

    pub(super) fn open_else(&mut self) {
        let index = self.control.len() - 1;
        if self.unreachable.take().is_none() {
            self.fall_through();
            let jump = self.code.put(Opcode::Plain(Plain::Jump));
            let patch = Patch { from: jump, at: 12 };
            self.control[index].patches.push(patch);
        }
        let control = &mut self.control[index];
        let Kind::If(jump) = control.kind else { return };
        control.kind = Kind::Else;
        let (height, parameters) = (control.height, control.parameters.clone());
        self.bind(Patch { from: jump, at: 12 });
        self.truncate(height);
        self.push_own(&parameters);
    }

    pub(super) fn close(&mut self) {
        if self.unreachable.is_none() && self.control.last().is_some_and(Control::is_plain_function)
        {
            // Results go from where they are to where the caller wants them.
            self.control.pop();
            self.write_return();
            return;
        }
        if self.unreachable.take().is_none() {
            self.fall_through();
        }
        let Some(control) = self.control.pop() else {
            return;
        };
        if let Kind::If(jump) = control.kind {
            // Without the other branch, parameters are results.
            self.bind(Patch { from: jump, at: 12 });
        }
        for patch in control.patches {
            self.bind(patch);
        }
        if let Kind::Try(first, count) = control.kind {
            self.close_clauses(first, count);
        }
        self.land_clauses(&control.landings);
        self.truncate(control.height);
        self.push_own(&control.results);
        self.last = None;
        if control.kind == Kind::Function {
            self.write_return();
        }
    }

    /// Moves the results of the innermost block to where they belong.
    fn fall_through(&mut self) {
        let Some(control) = self.control.last() else {
            return;
        };
        let (slot, count) = (control.slot, control.results.len());
        self.move_top(slot, count);
    }

    fn truncate(&mut self, height: usize) {
        while self.stack.len() > height {
            self.pop();
        }
    }

    /// Fixes a distance to lead here. A branch around a jump back becomes the inverse branch back.
    fn bind(&mut self, patch: Patch) {
        if let Some((jump, target)) = self.around.take()
            && let Some((branch, op, shape, wanted)) = self.newest_branch
            && patch.from == branch
            && self.code.len() == jump + JUMP_WORDS
        {
            self.code.truncate(jump);
            self.code
                .set_opcode(branch, branch_opcode(op, shape, !wanted));
            let distance = 8 * (target as i64 - branch as i64);
            self.code.set32(branch, patch.at, distance as i32 as u32);
            self.newest_branch = None;
            self.last = None;
            return;
        }
        self.newest_branch = None;
        let distance = 8 * (self.code.len() as i64 - patch.from as i64);
        self.code
            .set32(patch.from, patch.at, distance as i32 as u32);
        self.last = None;
    }

    /// Copies the newest operands to slots from a given one on, without taking them.
    fn move_top(&mut self, mut slot: u32, count: usize) {
        for place in self.stack.len() - count..self.stack.len() {
            let operand = self.stack[place];
            let to = self.own_slot(slot, operand.is_vector);
            self.copy_operand(to, operand);
            slot += slots_of(operand.is_vector);
        }
    }

    /// Whether a branch with so many values copies nothing.
    fn is_in_place(&self, slot: u32, count: usize) -> bool {
        let newest = &self.stack[self.stack.len() - count..];
        let is_there = newest.first().is_none_or(|first| first.slot == slot);
        is_there && newest.iter().all(|operand| operand.entry == Entry::Own)
    }

    /// Lets the distance of an instruction lead to a block.
    fn lead(&mut self, patch: Patch, depth: usize) {
        let index = self.control.len() - 1 - depth;
        let control = &mut self.control[index];
        if control.kind == Kind::Loop {
            let distance = 8 * (control.start as i64 - patch.from as i64);
            self.code
                .set32(patch.from, patch.at, distance as i32 as u32);
        } else {
            control.patches.push(patch);
        }
    }

    /// Where the values of a branch go, and how many there are.
    fn target(&self, depth: usize) -> (u32, usize) {
        let control = &self.control[self.control.len() - 1 - depth];
        (control.slot, control.arity())
    }

    fn jump(&mut self, depth: usize) {
        let jump = self.code.put(Opcode::Plain(Plain::Jump));
        self.lead(Patch { from: jump, at: 12 }, depth);
        self.last = None;
        let control = &self.control[self.control.len() - 1 - depth];
        let follows = self
            .newest_branch
            .is_some_and(|(branch, op, shape, wanted)| {
                branch + branch_opcode(op, shape, wanted).bytes() / 8 == jump
            });
        self.around = (follows && control.kind == Kind::Loop).then_some((jump, control.start));
    }

    pub(super) fn branch(&mut self, depth: u32) {
        let (slot, count) = self.target(depth as usize);
        self.move_top(slot, count);
        self.jump(depth as usize);
        self.unreachable = Some(0);
    }

    pub(super) fn branch_when(&mut self, depth: u32) {
        let (comparison, wanted) = self.condition();
        self.branch_on(comparison, wanted, depth);
    }

    /// Branches if a comparison gives what is wanted.
    pub(super) fn branch_on(&mut self, comparison: Comparison, wanted: bool, depth: u32) {
        let depth = depth as usize;
        let (slot, count) = self.target(depth);
        if self.is_in_place(slot, count) {
            let jump = self.branch_if(comparison, wanted);
            self.lead(Patch { from: jump, at: 12 }, depth);
            return;
        }
        let around = self.branch_if(comparison, !wanted);
        self.move_top(slot, count);
        self.jump(depth);
        self.bind(Patch {
            from: around,
            at: 12,
        });
    }

    /// Takes the condition of a branch, and what it has to give.
    fn condition(&mut self) -> (Comparison, bool) {
        if let Some((start, comparison, wanted)) = self.newest_comparison() {
            self.pop();
            self.code.truncate(start);
            self.last = None;
            return (comparison, wanted);
        }
        let operand = self.pop();
        let x = self.source(operand, Number::I32);
        let (shape, producer) = match x {
            Source::Kept(_, place, opcode) => (Shape::KeptRight, Some((place, opcode))),
            Source::Slot(_) => (Shape::Right, None),
        };
        let comparison = Comparison {
            op: Compare::I32Ne,
            shape,
            x: x.slot(),
            y: 0,
            constant: 0,
            producer,
        };
        (comparison, true)
    }

    /// Lets the first operand of a comparison be in its slot, since the branch does not come next.
    fn give_back(&mut self, comparison: &mut Comparison) {
        let Some((place, opcode)) = comparison.producer.take() else {
            return;
        };
        self.code.set_opcode(place, opcode);
        comparison.shape = match comparison.shape {
            Shape::KeptFirst => Shape::Slots,
            _ => Shape::Right,
        };
    }

    /// Writes a branch that is taken if a comparison gives `wanted`; gives its place.
    pub(super) fn branch_if(&mut self, comparison: Comparison, wanted: bool) -> usize {
        let Comparison {
            op,
            shape,
            x,
            y,
            constant,
            ..
        } = comparison;
        let place = self.code.put(branch_opcode(op, shape, wanted));
        self.code.set16(place, 8, x);
        self.code.set16(place, 10, y);
        if shape.has_constant() {
            self.code.set64(place, 16, constant);
        }
        self.last = None;
        self.around = None;
        self.newest_branch = Some((place, op, shape, wanted));
        place
    }

    pub(super) fn branch_table(&mut self, table: &BrTable) -> Result<(), Error> {
        let index = self.pop_slot();
        let mut depths = Vec::new();
        for depth in table.targets() {
            depths.push(depth? as usize);
        }
        depths.push(table.default() as usize);
        let (_, count) = self.target(table.default() as usize);
        self.settle_top(count);
        let place = self.code.put(Opcode::Plain(Plain::JumpTable));
        self.code.set16(place, 8, index);
        self.code.set32(place, 12, depths.len() as u32 - 1);
        self.code.extend(depths.len().div_ceil(2));
        for (number, depth) in depths.into_iter().enumerate() {
            let patch = Patch {
                from: place,
                at: 16 + 4 * number,
            };
            let (slot, count) = self.target(depth);
            if self.is_in_place(slot, count) {
                self.lead(patch, depth);
            } else {
                self.bind(patch);
                self.move_top(slot, count);
                self.jump(depth);
            }
        }
        self.unreachable = Some(0);
        self.last = None;
        Ok(())
    }

    /// Returns the newest operands.
    pub(super) fn write_return(&mut self) {
        let count = self.results.len();
        let first = self.stack.len() - count;
        // A result's slot may be that of a parameter which is a later result.
        let mut slot = 0;
        let mut clobbers = false;
        for operand in &self.stack[first..] {
            if let Entry::Local(local) = operand.entry {
                clobbers |= self.locals[local as usize].slot < slot;
            }
            slot += slots_of(operand.is_vector) as u16;
        }
        if clobbers {
            self.settle_top(count);
        }
        let mut slot = 0;
        for place in first..self.stack.len() {
            let operand = self.stack[place];
            match count {
                1 => self.move_result(slot, operand),
                _ => self.copy_operand(slot, operand),
            }
            slot += slots_of(operand.is_vector) as u16;
        }
        let place = self.code.put(Opcode::Plain(Plain::Return));
        self.code.set16(place, 8, self.link);
        self.last = None;
    }
}
