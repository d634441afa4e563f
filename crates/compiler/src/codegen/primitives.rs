//! Primitives in operator position: as opcodes where there is one, else by `call-primitive`.
//!
//! The row of a primitive says which opcode it has. Operands are evaluated in order into
//! consecutive registers, unless they are variables or small constants that the opcode names
//! directly. Redefined names never arrive here: the optimizer has resolved the reference to the
//! primitive.

use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::opcodes::Opcode;
use canny_tables::primitives::{self, Flags, PrimitiveId};

use super::integrated::{Integration, integration};
use super::tests_and_branches::{is_identity, small_integer};
use super::{Destination, Generator, Outcome, register};
use crate::ir::{Kind, Node};
use crate::parallel_move::{Move, sequentialise};
use crate::unit::{PoolEntry, Written};

impl Generator<'_> {
    pub(super) fn primitive(
        &mut self,
        id: PrimitiveId,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if let Some(outcome) = self.mark(id, operands, destination, top, span) {
            return outcome;
        }
        if let Destination::Branch(yes, no, next) = destination {
            let exits = super::tests_and_branches::Exits { yes, no, next };
            return self.primitive_test(span, id, operands, exits, top);
        }
        let effect_free = id.row().flags.has(Flags::PURE.with(Flags::NEVER_RAISES));
        if matches!(destination, Destination::Effect) && effect_free {
            return self.effects(operands, top);
        }
        match (integration(id), operands) {
            (Integration::Unary(opcode), [operand]) => {
                self.path(&[opcode], operand, destination, top, span)
            }
            (Integration::Path(opcodes), [operand]) => {
                self.path(opcodes, operand, destination, top, span)
            }
            (Integration::Binary(opcode), [_, _]) => {
                let (registers, next) = self.operands(operands, top)?;
                let to = self.target(destination, next)?;
                self.position(span);
                self.assembler.abc(opcode, to, registers[0], registers[1]);
                self.deliver(to, destination, span);
                Ok(())
            }
            (Integration::Fold(opcode), [_, _, ..]) => {
                self.fold(opcode, operands, destination, top, span)
            }
            (Integration::Increment(by), [operand]) => {
                let (from, next) = self.operand(operand, &[], top)?;
                let to = self.target(destination, next)?;
                self.position(span);
                self.assembler.abc(Opcode::AddImmediate, to, from, by as u8);
                self.deliver(to, destination, span);
                Ok(())
            }
            (Integration::Store2(opcode), [_, _]) => {
                let (registers, next) = self.operands(operands, top)?;
                self.position(span);
                self.assembler.abc(opcode, registers[0], registers[1], 0);
                self.constant(&Datum::Unspecified, destination, next, span)
            }
            (Integration::Store3(opcode), [_, _, _]) => {
                let (registers, next) = self.operands(operands, top)?;
                self.position(span);
                self.assembler
                    .abc(opcode, registers[0], registers[1], registers[2]);
                self.constant(&Datum::Unspecified, destination, next, span)
            }
            (Integration::RecordRef, [object, kind, index, name]) => {
                match record_field(index, name) {
                    Some((field, name)) => {
                        let pair = [object, kind];
                        self.record_ref(pair, field, name, destination, top, span)
                    }
                    None => self.call_primitive(id, operands, destination, top, span),
                }
            }
            (Integration::RecordSet, [object, kind, index, value, name]) => {
                match record_field(index, name) {
                    Some((field, name)) => {
                        let parts = [object, kind, value];
                        self.record_set(parts, field, name, destination, top, span)
                    }
                    None => self.call_primitive(id, operands, destination, top, span),
                }
            }
            (Integration::MakeRecord, _) => {
                let base = self.window(operands, top)?;
                self.position(span);
                self.assembler
                    .abc(Opcode::MakeRecord, base, operands.len() as u8, 0);
                self.deliver(base, destination, span);
                Ok(())
            }
            (Integration::Values, [operand]) => self.node(operand, destination, top),
            (Integration::Values, _) => self.values(id, operands, destination, top, span),
            (Integration::Literal(datum), _) => {
                self.effects(operands, top)?;
                self.constant(&datum, destination, top, span)
            }
            (integration, operands) if is_test(&integration, operands) => {
                self.materialise(span, destination, top, |generator, exits| {
                    generator.primitive_test(span, id, operands, exits, top)
                })
            }
            _ => self.call_primitive(id, operands, destination, top, span),
        }
    }

    /// Evaluates operands whose values nobody needs.
    fn effects(&mut self, operands: &[Node], top: usize) -> Outcome {
        operands
            .iter()
            .try_for_each(|operand| self.node(operand, Destination::Effect, top))
    }

    fn path(
        &mut self,
        opcodes: &[Opcode],
        operand: &Node,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let (mut from, next) = self.operand(operand, &[], top)?;
        for (index, opcode) in opcodes.iter().enumerate() {
            let last = index + 1 == opcodes.len();
            let to = if last {
                self.target(destination, next)?
            } else {
                register(next)?
            };
            self.position(span);
            self.assembler.abc(*opcode, to, from, 0);
            from = to;
        }
        self.deliver(from, destination, span);
        Ok(())
    }

    /// Sums and the like: all operands first, then the operations from the left.
    fn fold(
        &mut self,
        opcode: Opcode,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if let [left, right] = operands
            && let Some((operand, by, written)) = addend(opcode, left, right)
        {
            let (from, next) = self.operand(operand, &[], top)?;
            let to = self.target(destination, next)?;
            self.position(span);
            self.assembler.written(written);
            self.assembler.abc(Opcode::AddImmediate, to, from, by as u8);
            self.deliver(to, destination, span);
            return Ok(());
        }
        let (registers, next) = self.operands(operands, top)?;
        let mut accumulator = registers[0];
        for (index, operand) in registers.iter().enumerate().skip(1) {
            let last = index + 1 == registers.len();
            let to = if last {
                self.target(destination, next)?
            } else {
                register(next)?
            };
            self.position(span);
            self.assembler.abc(opcode, to, accumulator, *operand);
            accumulator = to;
        }
        self.deliver(accumulator, destination, span);
        Ok(())
    }

    fn record_ref(
        &mut self,
        [object, kind]: [&Node; 2],
        field: u32,
        name: &Datum,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let (a, next) = self.operand(object, std::slice::from_ref(kind), top)?;
        let (b, next) = self.operand(kind, &[], next)?;
        let to = self.target(destination, next)?;
        let entry = PoolEntry::Constant(self.unit.constant(name));
        self.position(span);
        self.assembler
            .number_and_pool(Opcode::RecordRef, [to, a, b], field, entry);
        self.deliver(to, destination, span);
        Ok(())
    }

    fn record_set(
        &mut self,
        [object, kind, value]: [&Node; 3],
        field: u32,
        name: &Datum,
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let stable = match object.kind {
            Kind::Local(var) => {
                self.is_stable(var, std::slice::from_ref(kind))
                    && self.is_stable(var, std::slice::from_ref(value))
            }
            _ => false,
        };
        let (a, next) = if stable {
            self.operand(object, &[], top)?
        } else {
            let to = register(top)?;
            self.node(object, Destination::Register(to), top)?;
            (to, top + 1)
        };
        let (b, next) = self.operand(kind, std::slice::from_ref(value), next)?;
        let (c, next) = self.operand(value, &[], next)?;
        let entry = PoolEntry::Constant(self.unit.constant(name));
        self.position(span);
        self.assembler
            .number_and_pool(Opcode::RecordSet, [a, b, c], field, entry);
        self.constant(&Datum::Unspecified, destination, next, span)
    }

    /// Evaluates operands into consecutive registers from `top`; gives the first.
    pub(super) fn window(
        &mut self,
        operands: &[Node],
        top: usize,
    ) -> Result<u8, crate::assembler::AssemblyError> {
        let base = register(top)?;
        for (index, operand) in operands.iter().enumerate() {
            let to = register(top + index)?;
            self.node(operand, Destination::Register(to), top + index)?;
        }
        Ok(base)
    }

    pub(super) fn call_primitive(
        &mut self,
        id: PrimitiveId,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let number = u32::from(id.0);
        let to = match operands {
            [operand] => {
                let (from, next) = self.operand(operand, &[], top)?;
                let to = self.target(destination, next)?;
                self.count_primitive(span, id);
                self.position(span);
                self.assembler
                    .abc_number(Opcode::CallPrimitive1, to, from, 0, number);
                to
            }
            [_, _] => {
                let (from, next) = self.operands(operands, top)?;
                let to = self.target(destination, next)?;
                self.count_primitive(span, id);
                self.position(span);
                self.assembler
                    .abc_number(Opcode::CallPrimitive2, to, from[0], from[1], number);
                to
            }
            _ => {
                let base = self.window(operands, top)?;
                self.count_primitive(span, id);
                self.position(span);
                let count = super::entry::byte(operands.len())?;
                self.assembler
                    .abc_number(Opcode::CallPrimitive, base, count, 0, number);
                base
            }
        };
        self.deliver(to, destination, span);
        Ok(())
    }

    /// `values` with other than one operand: straight into the registers that wait for them, if
    /// the number fits.
    fn values(
        &mut self,
        id: PrimitiveId,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        let Destination::Values {
            base,
            required,
            rest,
        } = destination
        else {
            return self.call_primitive(id, operands, destination, top, span);
        };
        let required = usize::from(required);
        let fits = if rest {
            operands.len() >= required
        } else {
            operands.len() == required
        };
        if !fits {
            return self.call_primitive(id, operands, destination, top, span);
        }
        let (direct, surplus) = operands.split_at(required);
        let (mut registers, mut next) = (Vec::new(), top);
        for (index, operand) in direct.iter().enumerate() {
            let (from, above) = self.operand(operand, &operands[index + 1..], next)?;
            registers.push(from);
            next = above;
        }
        if rest {
            let list = register(next)?;
            self.list(surplus, list, next, span)?;
            registers.push(list);
            next += 1;
        }
        let moves: Vec<Move> = registers
            .iter()
            .enumerate()
            .map(|(index, from)| Move {
                to: base + index as u8,
                from: *from,
            })
            .collect();
        let scratch = register(next.max(usize::from(base) + registers.len()))?;
        for step in sequentialise(&moves, scratch) {
            self.copy(step.to, step.from);
        }
        Ok(())
    }

    /// A fresh list of the operands.
    fn list(&mut self, operands: &[Node], to: u8, top: usize, span: Span) -> Outcome {
        if operands.is_empty() {
            self.load_datum(&Datum::Nil, to);
            return Ok(());
        }
        match primitives::lookup("list") {
            Some(id) => self.call_primitive(id, operands, Destination::Register(to), top, span),
            None => unreachable!("the list primitive exists"),
        }
    }
}

/// Field number and name of a record access with literal ones.
fn record_field<'n>(index: &Node, name: &'n Node) -> Option<(u32, &'n Datum)> {
    let field = small_integer(index).and_then(|field| u32::try_from(field).ok())?;
    match &name.kind {
        Kind::Constant(datum @ Datum::Symbol(_)) => Some((field, datum)),
        _ => None,
    }
}

/// The operand and the small constant of an addition or subtraction. Zero is left alone: adding it
/// is not the same as subtracting it for a negative zero.
fn addend<'n>(opcode: Opcode, left: &'n Node, right: &'n Node) -> Option<(&'n Node, i8, Written)> {
    let short = |node: &Node, sign: i64| {
        let value = small_integer(node)?.checked_mul(sign)?;
        i8::try_from(value).ok().filter(|value| *value != 0)
    };
    match opcode {
        Opcode::Add => {
            let (operand, by, is_exchanged) = match short(right, 1) {
                Some(by) => (left, by, false),
                None => (right, short(left, 1)?, true),
            };
            let written = Written {
                is_exchanged,
                // Less than nothing is subtracted.
                is_opposite: by < 0,
            };
            Some((operand, by, written))
        }
        Opcode::Subtract => {
            let by = short(right, -1)?;
            let written = Written {
                is_exchanged: false,
                is_opposite: by > 0,
            };
            Some((left, by, written))
        }
        _ => None,
    }
}

/// Whether branching opcodes exist for a call with these operands.
fn is_test(integration: &Integration, operands: &[Node]) -> bool {
    match (integration, operands) {
        (Integration::Equivalence, [left, right]) => is_identity(left, right),
        (
            Integration::Identity
            | Integration::Compare(_)
            | Integration::CharacterCompare { .. }
            | Integration::RecordTest,
            [_, _],
        )
        | (
            Integration::Not
            | Integration::Word(_)
            | Integration::Boolean
            | Integration::Type(_)
            | Integration::Sign(_),
            [_],
        ) => true,
        _ => false,
    }
}
