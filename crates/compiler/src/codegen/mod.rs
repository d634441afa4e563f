//! Lowered procedures to bytecode.
//!
//! One pass over each procedure, driven by destinations: every expression gets a destination, where its value
//! goes ([`Destination`]), so that values are computed in place, tests branch without making
//! booleans and arguments are evaluated where the callee expects them.
//!
//! Registers are allocated like a stack. `top` is the first free register; variables and pending
//! operands lie below it. An expression may use any register from `top` up as scratch. It writes
//! its destination register once on each path, after its last read, so that the destination may
//! be the register of a variable that the expression itself reads.
//!
//! Operands are evaluated left to right, the operator first. Live maps are not kept here: they are
//! computed from the finished words.

mod bindings;
mod calls;
mod closures;
mod counting;
mod entry;
mod integrated;
mod primitives;
mod tests_and_branches;
mod unit_builder;

use std::collections::HashMap;
use std::ops::Range;

use canny_syntax::core::VarId;
use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::layout;
use canny_tables::opcodes::Opcode;

use crate::assembler::{Assembler, AssemblyError, CodeLabel};
use crate::counting::FunctionId;
use crate::ir::{self, Kind, Node, Procedure, ProcedureId, Program};
use crate::literals::immediate_word;
use crate::unit::PoolEntry;

use closures::Slot;
use counting::CountedFunctions;

pub(crate) use entry::generate_procedure;
pub use integrated::has_opcode;
pub(crate) use integrated::has_opcodes_of_its_name;
pub(crate) use unit_builder::UnitBuilder;

/// First register number that the code generator does not use.
pub(crate) const REGISTER_LIMIT: usize = 250;

/// Where the value of an expression goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination {
    /// Into this register.
    Register(u8),
    /// Nowhere.
    Effect,
    /// To the caller; control does not continue.
    Return,
    /// Control goes to the first label for a true value and to the second for `#f`. The third is
    /// the one of the two that will be bound next, if any.
    Branch(CodeLabel, CodeLabel, Option<CodeLabel>),
    /// Several values, into `base ..`, the surplus as a list behind them.
    Values {
        /// First register.
        base: u8,
        /// Number of values.
        required: u8,
        /// Whether a list of the surplus values follows.
        rest: bool,
    },
}

/// Where a variable is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Register(u8),
    /// A captured value of this closure.
    Free(Slot),
    /// This closure itself.
    Itself,
    /// The one closure over this code.
    Constant(ProcedureId),
}

pub(crate) type Outcome = Result<(), AssemblyError>;

/// A label with the registers of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct JumpTarget {
    label: CodeLabel,
    parameters: Vec<u8>,
    /// The function whose calls the jumps are, if they are counted.
    function: Option<FunctionId>,
}

/// The state of one procedure's generation.
pub(crate) struct Generator<'a> {
    unit: &'a mut UnitBuilder,
    program: &'a Program,
    procedure: &'a Procedure,
    id: ProcedureId,
    assembler: Assembler,
    /// Registers of the variables bound in this procedure.
    registers: HashMap<VarId, u8>,
    /// Slot of each captured variable.
    free: HashMap<VarId, Slot>,
    labels: HashMap<VarId, JumpTarget>,
    /// Where a call of this procedure by itself in tail position goes.
    self_target: Option<JumpTarget>,
    /// Registers of variables in scope that are kept live until the procedure returns.
    kept: Vec<u8>,
    /// Registers that have the next value of a loop's variable already, and where that is so.
    ahead: Vec<(u8, Range<u32>)>,
    counted: CountedFunctions,
}

fn register(number: usize) -> Result<u8, AssemblyError> {
    if number < REGISTER_LIMIT {
        Ok(number as u8)
    } else {
        Err(AssemblyError::TooManyRegisters)
    }
}

impl Generator<'_> {
    fn position(&mut self, span: Span) {
        if let Some(span) = self.unit.position(span) {
            self.assembler.position(span);
        }
    }

    fn place(&self, var: VarId) -> Place {
        if let Some(register) = self.registers.get(&var) {
            return Place::Register(*register);
        }
        if let Some(id) = self.program.known[var.0 as usize]
            && self.unit.is_closed(id)
        {
            return Place::Constant(id);
        }
        if self.procedure.self_variable == Some(var) {
            return Place::Itself;
        }
        match self.free.get(&var) {
            Some(index) => Place::Free(*index),
            None => unreachable!("variable {var:?} is bound or captured"),
        }
    }

    /// Loads a variable (for a boxed one: its box) into register `to`.
    fn load_place(&mut self, place: Place, to: u8) {
        match place {
            Place::Register(from) => self.copy(to, from),
            Place::Itself => self.assembler.abc(Opcode::SelfRef, to, 0, 0),
            Place::Constant(id) => self.assembler.load_pool(to, PoolEntry::Closure(id.0)),
            Place::Free(slot) => self.load_free(slot, to),
        }
    }

    fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            self.assembler.abc(Opcode::Move, to, from, 0);
        }
    }

    /// The register that an instruction should write on the way to the destination.
    fn target(&self, destination: Destination, top: usize) -> Result<u8, AssemblyError> {
        match destination {
            Destination::Register(to) => Ok(to),
            Destination::Values { base, .. } => Ok(base),
            _ => register(top),
        }
    }

    /// Sends the value in a register to its destination.
    fn deliver(&mut self, from: u8, destination: Destination, span: Span) {
        match destination {
            Destination::Register(to) => self.copy(to, from),
            Destination::Effect => {}
            Destination::Return => {
                self.keep_scopes_live();
                self.assembler.abc(Opcode::Return, from, 0, 0);
            }
            Destination::Branch(yes, no, next) => {
                if next == Some(yes) {
                    self.assembler.branch(Opcode::JumpFalse, from, 0, no);
                } else {
                    self.assembler.branch(Opcode::JumpTrue, from, 0, yes);
                    self.go(no, next);
                }
            }
            Destination::Values {
                base,
                required,
                rest,
            } => {
                self.copy(base, from);
                self.position(span);
                self.assembler
                    .abc(Opcode::Unpack, base, required, u8::from(rest));
            }
        }
    }

    /// Jumps unless the label comes next anyway.
    fn go(&mut self, label: CodeLabel, next: Option<CodeLabel>) {
        if next != Some(label) {
            self.assembler.jump(label);
        }
    }

    fn constant(
        &mut self,
        datum: &Datum,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        match destination {
            Destination::Effect => {}
            Destination::Branch(yes, no, next) => {
                let label = if matches!(datum, Datum::Boolean(false)) {
                    no
                } else {
                    yes
                };
                self.go(label, next);
            }
            _ => {
                let to = self.target(destination, top)?;
                self.load_datum(datum, to);
                self.deliver(to, destination, span);
            }
        }
        Ok(())
    }

    fn load_datum(&mut self, datum: &Datum, to: u8) {
        match immediate_word(datum) {
            Some(word) => self.assembler.wide(Opcode::LoadImmediate, to, word as u16),
            None => {
                let entry = PoolEntry::Constant(self.unit.constant(datum));
                self.assembler.load_pool(to, entry);
            }
        }
    }

    /// Evaluates an operand into some register: a variable's own if that is safe, else the one at
    /// `top`. Gives the register and the new top. `rest` is what is evaluated before it is used.
    fn operand(
        &mut self,
        node: &Node,
        rest: &[Node],
        top: usize,
    ) -> Result<(u8, usize), AssemblyError> {
        if let Kind::Local(var) = node.kind
            && let Place::Register(from) = self.place(var)
            && self.is_stable(var, rest)
        {
            return Ok((from, top));
        }
        let to = register(top)?;
        self.node(node, Destination::Register(to), top)?;
        Ok((to, top + 1))
    }

    /// Whether the variable keeps its value while `rest` is evaluated.
    fn is_stable<'n>(&self, var: VarId, rest: impl IntoIterator<Item = &'n Node>) -> bool {
        let mut budget = ir::SEARCH_BUDGET;
        !self.program.assigned[var.0 as usize]
            || !rest
                .into_iter()
                .any(|node| node.may_assign(var, &mut budget))
    }

    /// Evaluates operands in order, each into some register.
    fn operands(
        &mut self,
        nodes: &[Node],
        mut top: usize,
    ) -> Result<(Vec<u8>, usize), AssemblyError> {
        let mut registers = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let (from, next) = self.operand(node, &nodes[index + 1..], top)?;
            registers.push(from);
            top = next;
        }
        Ok((registers, top))
    }

    /// Evaluates an expression.
    fn node(&mut self, node: &Node, destination: Destination, top: usize) -> Outcome {
        if self.unit.keeps_variables {
            // A debugger stops at every expression, also at those that cannot fail.
            if let Some(span) = self.unit.position(node.span) {
                self.assembler.position_weakly(span);
            }
        }
        match &node.kind {
            Kind::Constant(datum) => self.constant(datum, destination, top, node.span),
            Kind::Unbound => {
                let to = self.target(destination, top)?;
                self.assembler
                    .wide(Opcode::LoadImmediate, to, layout::UNBOUND as u16);
                self.deliver(to, destination, node.span);
                Ok(())
            }
            Kind::Local(var) => self.local(*var, destination, top, node.span),
            Kind::Unbox { var, check } => self.unbox(*var, *check, destination, top, node.span),
            Kind::SetLocal(var, value) => {
                if let Place::Register(to) = self.place(*var) {
                    self.assign_register(to, value, top)?;
                }
                self.constant(&Datum::Unspecified, destination, top, node.span)
            }
            Kind::SetBox(var, value) => self.set_box(*var, value, destination, top),
            Kind::Global(global) => self.global(global, destination, top, node.span),
            Kind::SetGlobal(global, value) => {
                self.store_global(global, value, false, top, node.span)?;
                self.constant(&Datum::Unspecified, destination, top, node.span)
            }
            Kind::DefineGlobal(global, value) => {
                self.store_global(global, value, true, top, node.span)?;
                self.constant(&Datum::Unspecified, destination, top, node.span)
            }
            Kind::PrimitiveValue(id) => match destination {
                Destination::Effect => Ok(()),
                _ => {
                    let to = self.target(destination, top)?;
                    self.assembler.load_pool(to, PoolEntry::primitive(*id));
                    self.deliver(to, destination, node.span);
                    Ok(())
                }
            },
            Kind::If(parts) => self.conditional(parts, destination, top),
            Kind::Sequence(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    let last = index + 1 == parts.len();
                    let to = if last {
                        destination
                    } else {
                        Destination::Effect
                    };
                    self.node(part, to, top)?;
                }
                Ok(())
            }
            Kind::Let(bindings, body) => self.bind(bindings, body, destination, top),
            Kind::Closure(id) => self.closure(*id, destination, top, node.span),
            Kind::Fix(bindings, body) => self.fix(bindings, body, destination, top),
            Kind::Labels { labels, body } => self.labels(labels, body, destination, top),
            Kind::Goto { label, arguments } => match self.labels.get(label).cloned() {
                Some(target) => self.jump_with(&target, arguments, top, node.span),
                None => unreachable!("label {label:?} is bound"),
            },
            Kind::Call { operator, operands } => {
                self.call(operator, operands, destination, top, node.span)
            }
            Kind::Primitive { id, operands } => {
                self.primitive(*id, operands, destination, top, node.span)
            }
            Kind::LetValues {
                required,
                rest,
                init,
                body,
            } => self.bind_values(required, *rest, init, body, destination, top),
        }
    }
}
