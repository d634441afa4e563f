//! Generates closures: selects their captured values, makes them, and fills mutually recursive
//! ones.
//!
//! A closure has at most `SLOTS_MAX` slots. More captured values are packed into vectors, which the
//! closure captures instead. `captures` is a function of the procedure alone, so the code that
//! makes a closure and the code inside agree on the slots.

use canny_syntax::core::VarId;
use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::kinds::Kind;
use canny_tables::opcodes::Opcode;
use canny_tables::primitives;

use super::{Destination, Generator, Outcome, Place, UnitBuilder, register};
use crate::assembler::AssemblyError;
use crate::ir::{Node, Procedure, ProcedureId, Program};
use crate::unit::PoolEntry;

/// Greatest number of slots of a closure.
const SLOTS_MAX: usize = 250;

/// Greatest number of boxes among them. A closure inside one with packed captures needs a register
/// for each while it is made, see [`Generator::preload_boxes`].
const BOXES_MAX: usize = 40;

/// Values per vector of a closure with packed captures.
const PACK_WORDS: usize = 40;

/// The captured values of a closure. If there are too many, they are packed into vectors, and the
/// closure captures the vectors.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Variables with a slot each.
    pub direct: Vec<VarId>,
    /// Variables in vectors, which have the slots after the direct ones.
    pub packed: Vec<VarId>,
    /// Slots that hold boxes.
    pub boxes: Vec<u32>,
}

/// Where a closure keeps a captured variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Direct(u16),
    /// Slot of the vector, index in the vector.
    Packed(u16, u16),
}

/// Returns the captured values of a closure over `procedure`.
pub(crate) fn captures(unit: &UnitBuilder, program: &Program, procedure: &Procedure) -> Captures {
    let is_value =
        |var: &VarId| program.known[var.0 as usize].is_none_or(|known| !unit.is_closed(known));
    let is_box = |var: &VarId| program.boxed[var.0 as usize];
    let all: Vec<VarId> = procedure.free.iter().copied().filter(is_value).collect();
    let few_boxes = all.iter().filter(|var| is_box(var)).count() <= BOXES_MAX;
    let (direct, packed) = if all.len() <= SLOTS_MAX && few_boxes {
        (all, Vec::new())
    } else {
        (Vec::new(), all)
    };
    let boxes = (0..direct.len())
        .filter(|at| is_box(&direct[*at]))
        .map(|at| at as u32)
        .collect();
    Captures {
        direct,
        packed,
        boxes,
    }
}

impl Captures {
    /// Number of slots in the closure.
    pub fn slots(&self) -> usize {
        self.direct.len() + self.packed.len().div_ceil(PACK_WORDS)
    }

    /// The captured variables with their places.
    pub fn places(&self) -> impl Iterator<Item = (VarId, Slot)> + '_ {
        let direct = self
            .direct
            .iter()
            .enumerate()
            .map(|(at, var)| (*var, Slot::Direct(at as u16)));
        let packed = self.packed.iter().enumerate().map(|(at, var)| {
            let vector = self.direct.len() + at / PACK_WORDS;
            (*var, Slot::Packed(vector as u16, (at % PACK_WORDS) as u16))
        });
        direct.chain(packed)
    }
}

impl Generator<'_> {
    /// Loads a captured value.
    pub(super) fn load_free(&mut self, slot: Slot, to: u8) {
        match slot {
            Slot::Direct(index) => self.assembler.wide(Opcode::Free, to, index),
            Slot::Packed(vector, element) => {
                // Nothing else reaches the register at the limit.
                let scratch = super::REGISTER_LIMIT as u8;
                self.assembler.wide(Opcode::Free, to, vector);
                self.load_datum(&Datum::integer(i64::from(element)), scratch);
                self.assembler.abc(Opcode::VectorRef, to, to, scratch);
            }
        }
    }

    /// Makes it certain for the verifier that a register loaded from a vector holds a box.
    pub(super) fn assert_box(&mut self, at: u8) {
        let (good, bad) = (self.assembler.label(), self.assembler.label());
        self.assembler
            .branch(Opcode::JumpNotKind, at, Kind::Box as u8, bad);
        self.assembler.jump(good);
        self.assembler.bind(bad);
        self.assembler.abc(Opcode::Return, at, 0, 0);
        self.assembler.bind(good);
    }

    pub(super) fn closure(
        &mut self,
        id: ProcedureId,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if let Destination::Effect = destination {
            return Ok(());
        }
        let to = self.target(destination, top)?;
        if self.unit.is_closed(id) {
            self.assembler.load_pool(to, PoolEntry::Closure(id.0));
            self.deliver(to, destination, span);
            return Ok(());
        }
        // The closure is made before its values are read: it must not overwrite one of them.
        let captured = self.captured(id);
        let (preloaded, top) = self.preload_boxes(&captured, usize::from(to) + 1, top)?;
        let mut vars = captured.direct.iter().chain(&captured.packed);
        let reads_target = vars.any(|var| self.place(*var) == Place::Register(to));
        let at = if reads_target { register(top)? } else { to };
        let scratch = if usize::from(at) >= top { top + 1 } else { top };
        self.make_closure(id, at, &captured)?;
        self.fill_closure(at, &captured, scratch)?;
        for var in preloaded {
            self.registers.remove(&var);
        }
        self.deliver(at, destination, span);
        Ok(())
    }

    /// Loads the boxes that this procedure keeps in vectors and a new closure captures one by one,
    /// since the test for a box cannot stand between making a closure and filling it. Gives the
    /// variables and the new top.
    fn preload_boxes(
        &mut self,
        captured: &Captures,
        above: usize,
        top: usize,
    ) -> Result<(Vec<VarId>, usize), AssemblyError> {
        let mut loaded = Vec::new();
        let mut next = top.max(above);
        for var in &captured.direct {
            let is_box = self.program.boxed[var.0 as usize];
            let slot = self
                .free
                .get(var)
                .copied()
                .filter(|_| !self.registers.contains_key(var));
            if let (true, Some(slot @ Slot::Packed(..))) = (is_box, slot) {
                let at = register(next)?;
                self.load_free(slot, at);
                self.assert_box(at);
                self.registers.insert(*var, at);
                loaded.push(*var);
                next += 1;
            }
        }
        let top = if loaded.is_empty() { top } else { next };
        Ok((loaded, top))
    }

    fn captured(&self, id: ProcedureId) -> Captures {
        captures(
            self.unit,
            self.program,
            &self.program.procedures[id.0 as usize],
        )
    }

    fn make_closure(&mut self, id: ProcedureId, at: u8, captured: &Captures) -> Outcome {
        let count = super::entry::byte(captured.slots())?;
        self.assembler
            .pool_far(Opcode::MakeClosure, at, count, 0, PoolEntry::Code(id.0));
        Ok(())
    }

    fn fill_closure(&mut self, at: u8, captured: &Captures, top: usize) -> Outcome {
        for (index, var) in captured.direct.iter().enumerate() {
            let from = match self.place(*var) {
                Place::Register(from) => from,
                place => {
                    let from = register(top)?;
                    self.load_place(place, from);
                    from
                }
            };
            self.assembler
                .abc(Opcode::ClosureSet, at, from, super::entry::byte(index)?);
        }
        for (index, vars) in captured.packed.chunks(PACK_WORDS).enumerate() {
            let base = register(top)?;
            for (element, var) in vars.iter().enumerate() {
                let to = register(top + element)?;
                let place = self.place(*var);
                self.load_place(place, to);
            }
            let Some(vector) = primitives::lookup("vector") else {
                unreachable!("the vector primitive exists");
            };
            let number = u32::from(vector.0);
            self.assembler
                .abc_number(Opcode::CallPrimitive, base, vars.len() as u8, 0, number);
            let slot = super::entry::byte(captured.direct.len() + index)?;
            self.assembler.abc(Opcode::ClosureSet, at, base, slot);
        }
        Ok(())
    }

    /// Closures that may refer to each other: first all are made, then filled.
    pub(super) fn fix(
        &mut self,
        bindings: &[(VarId, ProcedureId)],
        body: &Node,
        destination: Destination,
        mut top: usize,
    ) -> Outcome {
        let (mut made, mut preloaded) = (Vec::new(), Vec::new());
        let mut variables = Vec::new();
        let mut open = Vec::with_capacity(bindings.len());
        for (var, id) in bindings.iter().filter(|(_, id)| !self.unit.is_closed(*id)) {
            open.push((*var, *id, self.captured(*id)));
        }
        if self.unit.keeps_variables {
            // Their code refers to the constants.
            for (var, id) in bindings.iter().filter(|(_, id)| self.unit.is_closed(*id)) {
                let at = register(top)?;
                self.assembler.load_pool(at, PoolEntry::Closure(id.0));
                variables.push((*var, at));
                top += 1;
            }
        }
        for (_, _, captured) in &open {
            let (vars, above) = self.preload_boxes(captured, 0, top)?;
            preloaded.extend(vars);
            top = above;
        }
        for (var, id, captured) in open {
            let at = register(top)?;
            self.make_closure(id, at, &captured)?;
            self.registers.insert(var, at);
            variables.push((var, at));
            made.push((at, captured));
            top += 1;
        }
        for (at, captured) in made {
            self.fill_closure(at, &captured, top)?;
        }
        for var in preloaded {
            self.registers.remove(&var);
        }
        self.scope(&variables, body, destination, top, body.span)
    }
}
