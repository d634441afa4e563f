//! Generates code for variables: references, assignments and binding forms.
//!
//! An assigned variable is in a box, made after all values of its binding form: a continuation that
//! is captured during one of them must not share it. A variable that always equals another one uses
//! its register. For debuggers the scopes are recorded, and with `keeps_variables` the registers
//! stay live to the end of the scope.

use std::ops::Range;

use canny_syntax::core::{GlobalName, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::layout;
use canny_tables::opcodes::Opcode;

use crate::assembler::{AssemblyError, Gap};

use super::closures::Slot;
use super::{Destination, Generator, Outcome, Place, register};
use crate::ir::{Kind, Node};
use crate::unit::{PoolEntry, VariablePlace, VariableScope};

impl Generator<'_> {
    pub(super) fn local(
        &mut self,
        var: VarId,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if let Destination::Effect = destination {
            return Ok(());
        }
        let from = match self.place(var) {
            Place::Register(from) => from,
            place => {
                let to = self.target(destination, top)?;
                self.load_place(place, to);
                to
            }
        };
        self.deliver(from, destination, span);
        Ok(())
    }

    /// The register that holds the box of a variable, loading it at `top` if need be.
    fn box_register(&mut self, var: VarId, top: usize) -> Result<u8, AssemblyError> {
        match self.place(var) {
            Place::Register(from) => Ok(from),
            place => {
                let to = register(top)?;
                self.load_place(place, to);
                if let Place::Free(Slot::Packed(..)) = place {
                    self.assert_box(to);
                }
                Ok(to)
            }
        }
    }

    pub(super) fn unbox(
        &mut self,
        var: VarId,
        check: bool,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if matches!(destination, Destination::Effect) && !check {
            return Ok(());
        }
        let from = self.box_register(var, top)?;
        let to = self.target(destination, top)?;
        self.assembler.abc(Opcode::BoxRef, to, from, 0);
        if check {
            self.check_defined(var, to, top, span)?;
        }
        self.deliver(to, destination, span);
        Ok(())
    }

    fn check_defined(&mut self, var: VarId, at: u8, top: usize, span: Span) -> Outcome {
        let name = self.program.names[var.0 as usize];
        let entry = PoolEntry::Constant(self.unit.constant(&Datum::Symbol(name)));
        self.position(span);
        if self.assembler.is_near(&entry) {
            self.assembler.pool_near(Opcode::CheckDefined, at, entry);
            return Ok(());
        }
        // Too far from the pool: a cell that nobody defines raises the same error.
        let defined = self.assembler.label();
        let unbound = layout::UNBOUND as i16;
        self.assembler
            .branch_wide(Opcode::JumpNotEqImmediate, at, unbound, defined);
        let library = canny_syntax::core::LibraryKey::new("local");
        let scratch = register(top + 1)?;
        let cell = PoolEntry::Global(GlobalName { library, name });
        self.assembler.load_pool(scratch, cell);
        self.position(span);
        self.assembler.abc(Opcode::CellRef, scratch, scratch, 0);
        self.assembler.bind(defined);
        Ok(())
    }

    pub(super) fn assign_register(&mut self, to: u8, value: &Node, top: usize) -> Outcome {
        if !self.unit.keeps_variables {
            return self.node(value, Destination::Register(to), top);
        }
        // A debugger shows the value in force until the other one is there.
        let at = register(top)?;
        self.node(value, Destination::Register(at), top)?;
        self.keep_live(to);
        self.copy(to, at);
        Ok(())
    }

    pub(super) fn set_box(
        &mut self,
        var: VarId,
        value: &Node,
        destination: Destination,
        top: usize,
    ) -> Outcome {
        let (from, next) = self.operand(value, &[], top)?;
        let holder = self.box_register(var, next)?;
        self.assembler.abc(Opcode::BoxSet, holder, from, 0);
        self.constant(&Datum::Unspecified, destination, top, value.span)
    }

    pub(super) fn global(
        &mut self,
        global: &GlobalName,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let to = self.target(destination, top)?;
        if self.procedure.self_global.as_ref() == Some(global) {
            if !matches!(destination, Destination::Effect) {
                self.assembler.abc(Opcode::SelfRef, to, 0, 0);
            }
        } else {
            let entry = PoolEntry::Global(global.clone());
            self.position(span);
            if self.assembler.is_near(&entry) {
                self.assembler.pool_near(Opcode::GlobalRef, to, entry);
            } else {
                self.assembler.load_pool(to, entry);
                self.position(span);
                self.assembler.abc(Opcode::CellRef, to, to, 0);
            }
        }
        self.deliver(to, destination, span);
        Ok(())
    }

    pub(super) fn store_global(
        &mut self,
        global: &GlobalName,
        value: &Node,
        define: bool,
        top: usize,
        span: Span,
    ) -> Outcome {
        let (from, next) = self.operand(value, &[], top)?;
        let entry = PoolEntry::Global(global.clone());
        self.position(span);
        let (near, far) = if define {
            (Opcode::GlobalDefine, Opcode::CellDefine)
        } else {
            (Opcode::GlobalSet, Opcode::CellSet)
        };
        if self.assembler.is_near(&entry) {
            self.assembler.pool_near(near, from, entry);
        } else {
            let cell = register(next)?;
            self.assembler.load_pool(cell, entry);
            self.position(span);
            self.assembler.abc(far, cell, from, 0);
        }
        Ok(())
    }

    pub(super) fn bind(
        &mut self,
        bindings: &[(VarId, Node)],
        body: &Node,
        destination: Destination,
        mut top: usize,
    ) -> Outcome {
        let mut values = Vec::with_capacity(bindings.len());
        let mut aliases = Vec::new();
        for (var, init) in bindings {
            if let Some(from) = self.alias(*var, init) {
                self.registers.insert(*var, from);
                aliases.push((*var, from));
                continue;
            }
            let at = register(top)?;
            self.node(init, Destination::Register(at), top)?;
            values.push((*var, at));
            top += 1;
        }
        // Boxes are made after all values: a continuation captured while computing one of them
        // must not share the others' variables when it is entered again.
        for (var, at) in &values {
            self.bind_register(*var, *at);
        }
        values.extend(aliases);
        self.scope(&values, body, destination, top, body.span)
    }

    /// Evaluates the body of what binds variables in registers. If people may want to see them, keeps
    /// where they are, and if they will look into frames, keeps them live until the body returns. The
    /// span tells which copy of code they belong to. No other value that lives on comes into a
    /// variable's register as long as its scope lasts.
    pub(super) fn scope(
        &mut self,
        variables: &[(VarId, u8)],
        body: &Node,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if !self.unit.keeps_variables {
            let start = self.assembler.here();
            self.node(body, destination, top)?;
            if self.unit.names_variables {
                for (var, at) in variables {
                    self.keep_variable(*var, *at, start, span);
                }
            }
            return Ok(());
        }
        let (start, outer) = (self.assembler.here(), self.kept.len());
        self.kept.extend(variables.iter().map(|(_, at)| *at));
        // The value must not take the place of a variable that is still in scope.
        let (inner, copies) = self.elsewhere(variables, destination, top)?;
        let outcome = self.node(body, inner, top);
        self.kept.truncate(outer);
        outcome?;
        for (_, at) in variables {
            self.keep_live(*at);
        }
        for (var, at) in variables {
            self.keep_variable(*var, *at, start, span);
        }
        for (to, from) in copies {
            self.copy(to, from);
        }
        Ok(())
    }

    /// A destination whose registers are those of no variable, and what is to be copied then.
    fn elsewhere(
        &self,
        variables: &[(VarId, u8)],
        destination: Destination,
        top: usize,
    ) -> Result<(Destination, Vec<(u8, u8)>), AssemblyError> {
        let is_variable = |register: u8| variables.iter().any(|(_, at)| *at == register);
        match destination {
            Destination::Register(to) if is_variable(to) => {
                let at = register(top)?;
                Ok((Destination::Register(at), vec![(to, at)]))
            }
            Destination::Values {
                base,
                required,
                rest,
            } => {
                let count = required + u8::from(rest);
                let mut own = base..base + count;
                if !own.any(is_variable) {
                    return Ok((destination, Vec::new()));
                }
                register(top + usize::from(count))?;
                let from = register(top)?;
                let elsewhere = Destination::Values {
                    base: from,
                    required,
                    rest,
                };
                let copies = (0..count).map(|index| (base + index, from + index));
                Ok((elsewhere, copies.collect()))
            }
            _ => Ok((destination, Vec::new())),
        }
    }

    /// Reads a register to no effect, which makes it live until here.
    fn keep_live(&mut self, at: u8) {
        self.assembler.abc(Opcode::Move, at, at, 0);
    }

    /// Keeps the variables of all scopes live until here, where the frame goes away.
    pub(super) fn keep_scopes_live(&mut self) {
        let mut registers = self.kept.clone();
        registers.sort_unstable();
        registers.dedup();
        registers.into_iter().for_each(|at| self.keep_live(at));
    }

    /// Keeps that a variable of the program was in a register from `start` up to here.
    fn keep_variable(&mut self, var: VarId, at: u8, start: u32, span: Span) {
        if self.program.imported[var.0 as usize] {
            return;
        }
        let inlining = self.unit.copy_number(span);
        let scope = VariableScope {
            name: self.program.names[var.0 as usize],
            place: VariablePlace::Register(at),
            is_boxed: self.program.boxed[var.0 as usize],
            start,
            end: start,
            inlining,
        };
        self.place_variable(var, scope);
    }

    /// Keeps the place of a variable up to here, except where its register has its next value already,
    /// where another variable of its name is in force, and where it is not in scope.
    pub(super) fn place_variable(&mut self, var: VarId, scope: VariableScope) {
        let end = self.assembler.here();
        let mut gaps: Vec<(Range<u32>, Gap)> = Vec::new();
        if let VariablePlace::Register(at) = scope.place {
            let is_its = |(register, range): &&(u8, Range<u32>)| {
                *register == at && range.start >= scope.start
            };
            let ahead = self.ahead.iter().filter(is_its);
            gaps.extend(ahead.map(|(_, range)| (range.clone(), Gap::Unknown)));
        }
        if let Some(visibility) = self
            .unit
            .visibility(scope.name, self.program.bound[var.0 as usize])
        {
            let positions = self.assembler.positions_from(scope.start);
            for (index, (at, span, _)) in positions.iter().enumerate() {
                let next = positions.get(index + 1).map_or(end, |(next, ..)| *next);
                let gap = self.unit.gap(visibility, *span);
                gaps.extend(gap.map(|gap| (scope.start.max(*at)..next, gap)));
            }
        }
        gaps.sort_by_key(|(range, _)| range.start);
        self.assembler.variable(scope, &gaps);
    }

    /// Makes the value in a register the value of a variable.
    pub(super) fn bind_register(&mut self, var: VarId, at: u8) {
        if self.program.boxed[var.0 as usize] {
            self.assembler.abc(Opcode::MakeBox, at, at, 0);
        }
        self.registers.insert(var, at);
    }

    /// The register of another variable that never differs from `var`.
    fn alias(&self, var: VarId, init: &Node) -> Option<u8> {
        let Kind::Local(other) = init.kind else {
            return None;
        };
        let index = var.0 as usize;
        let fresh = self.program.boxed[index] || self.program.assigned[index];
        if fresh || self.program.assigned[other.0 as usize] {
            return None;
        }
        match self.place(other) {
            Place::Register(from) => Some(from),
            _ => None,
        }
    }

    pub(super) fn bind_values(
        &mut self,
        required: &[VarId],
        rest: Option<VarId>,
        init: &Node,
        body: &Node,
        destination: Destination,
        top: usize,
    ) -> Outcome {
        let count = required.len() + usize::from(rest.is_some());
        register(top + count)?;
        let base = register(top)?;
        let values = Destination::Values {
            base,
            required: required.len() as u8,
            rest: rest.is_some(),
        };
        self.node(init, values, top)?;
        for (index, var) in required.iter().chain(&rest).enumerate() {
            self.bind_register(*var, (top + index) as u8);
        }
        let variables = required.iter().chain(&rest).enumerate();
        let variables: Vec<(VarId, u8)> = variables
            .map(|(index, var)| (*var, (top + index) as u8))
            .collect();
        self.scope(&variables, body, destination, top + count, body.span)
    }
}
