//! Generates conditionals and tests as branches, without making a boolean.
//!
//! A test has two labels and knows which of them comes next, so that one branch is enough. `and`,
//! `or` and `not` become control flow between the same labels. Only `materialise` makes `#t` or
//! `#f`, where the value itself is wanted.

use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::layout;
use canny_tables::opcodes::Opcode;

use super::integrated::{Comparison, Integration, Sign, TypeTest, integration};
use super::{Destination, Generator, Outcome};
use crate::assembler::CodeLabel;
use crate::ir::{Kind, Node};
use crate::literals::{has_word_identity, immediate_word};
use crate::unit::Written;

/// The operands of a comparison are in the other order.
const EXCHANGED: Written = Written {
    is_exchanged: true,
    is_opposite: false,
};

/// The two targets of a test, and the one that is bound next.
#[derive(Clone, Copy)]
pub(super) struct Exits {
    pub yes: CodeLabel,
    pub no: CodeLabel,
    pub next: Option<CodeLabel>,
}

impl Exits {
    /// The exits with their roles exchanged.
    fn negated(self) -> Exits {
        Exits {
            yes: self.no,
            no: self.yes,
            next: self.next,
        }
    }
}

/// The value of a literal as a small exact integer.
pub(super) fn small_integer(node: &Node) -> Option<i64> {
    match &node.kind {
        Kind::Constant(Datum::Number(number)) => canny_syntax::number::as_integer(number),
        _ => None,
    }
}

impl Generator<'_> {
    pub(super) fn conditional(
        &mut self,
        parts: &[Node; 3],
        destination: Destination,
        top: usize,
    ) -> Outcome {
        let [test, consequent, alternative] = parts;
        if let Destination::Branch(yes, no, next) = destination {
            let exits = Exits { yes, no, next };
            return self.nested_test(test, consequent, alternative, exits, top);
        }
        let (then, otherwise, end) = (
            self.assembler.label(),
            self.assembler.label(),
            self.assembler.label(),
        );
        let dropped = matches!(destination, Destination::Effect);
        let is_idle = |node: &Node| dropped && matches!(node.kind, Kind::Constant(_));
        if is_idle(consequent) {
            self.test(
                test,
                Exits {
                    yes: end,
                    no: otherwise,
                    next: Some(otherwise),
                },
                top,
            )?;
        } else {
            let no = if is_idle(alternative) { end } else { otherwise };
            self.test(
                test,
                Exits {
                    yes: then,
                    no,
                    next: Some(then),
                },
                top,
            )?;
            self.assembler.bind(then);
            self.node(consequent, destination, top)?;
        }
        if !is_idle(alternative) {
            if !is_idle(consequent) {
                self.assembler.jump(end);
            }
            self.assembler.bind(otherwise);
            self.node(alternative, destination, top)?;
        }
        self.assembler.bind(end);
        Ok(())
    }

    /// A conditional as a test: constant branches become the exits themselves.
    fn nested_test(
        &mut self,
        test: &Node,
        consequent: &Node,
        alternative: &Node,
        exits: Exits,
        top: usize,
    ) -> Outcome {
        let exit_of = |node: &Node| match &node.kind {
            Kind::Constant(Datum::Boolean(false)) => Some(exits.no),
            Kind::Constant(_) => Some(exits.yes),
            _ => None,
        };
        let (then_exit, else_exit) = (exit_of(consequent), exit_of(alternative));
        let then = then_exit.unwrap_or_else(|| self.assembler.label());
        let otherwise = else_exit.unwrap_or_else(|| self.assembler.label());
        let next = match (then_exit, else_exit) {
            (None, _) => Some(then),
            (Some(_), None) => Some(otherwise),
            (Some(_), Some(_)) => exits.next,
        };
        self.test(
            test,
            Exits {
                yes: then,
                no: otherwise,
                next,
            },
            top,
        )?;
        if then_exit.is_none() {
            self.assembler.bind(then);
            let next = if else_exit.is_none() {
                None
            } else {
                exits.next
            };
            self.test(consequent, Exits { next, ..exits }, top)?;
        }
        if else_exit.is_none() {
            self.assembler.bind(otherwise);
            self.test(alternative, exits, top)?;
        }
        Ok(())
    }

    /// Evaluates an expression for its truth.
    pub(super) fn test(&mut self, node: &Node, exits: Exits, top: usize) -> Outcome {
        match &node.kind {
            Kind::Primitive { id, operands } => {
                self.primitive_test(node.span, *id, operands, exits, top)
            }
            _ => self.node(
                node,
                Destination::Branch(exits.yes, exits.no, exits.next),
                top,
            ),
        }
    }

    pub(super) fn primitive_test(
        &mut self,
        span: Span,
        id: canny_tables::primitives::PrimitiveId,
        operands: &[Node],
        exits: Exits,
        top: usize,
    ) -> Outcome {
        match (integration(id), operands) {
            (Integration::Not, [operand]) => self.test(operand, exits.negated(), top),
            (Integration::Identity, [left, right]) => self.identity_test(left, right, exits, top),
            (Integration::Equivalence, [left, right]) if is_identity(left, right) => {
                self.identity_test(left, right, exits, top)
            }
            (Integration::Word(word), [operand]) => {
                let (from, _) = self.operand(operand, &[], top)?;
                self.branch_on_word(from, word, exits);
                Ok(())
            }
            (Integration::Boolean, [operand]) => {
                let (from, _) = self.operand(operand, &[], top)?;
                let truth = layout::TRUE as i16;
                self.assembler
                    .branch_wide(Opcode::JumpEqImmediate, from, truth, exits.yes);
                self.branch_on_word(from, layout::FALSE as i16, exits);
                Ok(())
            }
            (Integration::Type(test), [operand]) => {
                let (from, _) = self.operand(operand, &[], top)?;
                let (positive, negative, kind) = match test {
                    TypeTest::Tag(positive, negative) => (positive, negative, 0),
                    TypeTest::Kind(kind) => (Opcode::JumpKind, Opcode::JumpNotKind, kind as u8),
                };
                self.choose(positive, negative, from, kind, exits);
                Ok(())
            }
            (Integration::Sign(sign), [operand]) => {
                let (from, _) = self.operand(operand, &[], top)?;
                let Sign { positive, negative } = sign;
                self.position(span);
                self.choose_immediate(positive, negative, from, 0, exits);
                Ok(())
            }
            (Integration::Compare(comparison), [left, right]) => {
                self.comparison(comparison, left, right, exits, top, span)
            }
            (
                Integration::CharacterCompare {
                    positive,
                    negative,
                    swap,
                },
                [_, _],
            ) => {
                let (registers, _) = self.operands(operands, top)?;
                let (a, b) = order(registers[0], registers[1], swap);
                self.position(span);
                self.assembler.written(Written {
                    is_exchanged: swap,
                    is_opposite: positive == Opcode::JumpNotCharacterLess,
                });
                self.choose(positive, negative, a, b, exits);
                Ok(())
            }
            (Integration::RecordTest, [_, _]) => {
                let (registers, _) = self.operands(operands, top)?;
                self.position(span);
                let (positive, negative) = (Opcode::JumpRecord, Opcode::JumpNotRecord);
                self.choose(positive, negative, registers[0], registers[1], exits);
                Ok(())
            }
            _ => {
                let from = super::register(top)?;
                self.primitive(id, operands, Destination::Register(from), top, span)?;
                let destination = Destination::Branch(exits.yes, exits.no, exits.next);
                self.deliver(from, destination, span);
                Ok(())
            }
        }
    }

    fn identity_test(&mut self, left: &Node, right: &Node, exits: Exits, top: usize) -> Outcome {
        let immediate = |node: &Node| match &node.kind {
            Kind::Constant(datum) => immediate_word(datum),
            _ => None,
        };
        if let Some((other, word)) = immediate(right)
            .map(|word| (left, word))
            .or_else(|| immediate(left).map(|word| (right, word)))
        {
            let (from, _) = self.operand(other, &[], top)?;
            self.branch_on_word(from, word, exits);
            return Ok(());
        }
        let (a, next) = self.operand(left, std::slice::from_ref(right), top)?;
        let (b, _) = self.operand(right, &[], next)?;
        self.choose(Opcode::JumpEq, Opcode::JumpNotEq, a, b, exits);
        Ok(())
    }

    fn branch_on_word(&mut self, from: u8, word: i16, exits: Exits) {
        let (positive, negative) = (Opcode::JumpEqImmediate, Opcode::JumpNotEqImmediate);
        self.choose_immediate(positive, negative, from, word, exits);
    }

    /// Emits whichever of two opposite branches lets control fall into the next label.
    fn choose(&mut self, positive: Opcode, negative: Opcode, a: u8, b: u8, exits: Exits) {
        if exits.next == Some(exits.yes) {
            self.assembler.branch(negative, a, b, exits.no);
        } else {
            self.assembler.branch(positive, a, b, exits.yes);
            self.go(exits.no, exits.next);
        }
    }

    fn choose_immediate(
        &mut self,
        positive: Opcode,
        negative: Opcode,
        a: u8,
        immediate: i16,
        exits: Exits,
    ) {
        if exits.next == Some(exits.yes) {
            self.assembler.branch_wide(negative, a, immediate, exits.no);
        } else {
            self.assembler
                .branch_wide(positive, a, immediate, exits.yes);
            self.go(exits.no, exits.next);
        }
    }

    fn comparison(
        &mut self,
        comparison: &Comparison,
        left: &Node,
        right: &Node,
        exits: Exits,
        top: usize,
        span: Span,
    ) -> Outcome {
        let short = |node: &Node| small_integer(node).and_then(|value| i16::try_from(value).ok());
        if let Some(immediate) = short(right) {
            let (from, _) = self.operand(left, &[], top)?;
            let (positive, negative) = comparison.immediate;
            self.position(span);
            self.choose_immediate(positive, negative, from, immediate, exits);
        } else if let Some(immediate) = short(left) {
            let (from, _) = self.operand(right, &[], top)?;
            let (positive, negative) = comparison.immediate_swapped;
            self.position(span);
            self.assembler.written(EXCHANGED);
            self.choose_immediate(positive, negative, from, immediate, exits);
        } else {
            let (a, next) = self.operand(left, std::slice::from_ref(right), top)?;
            let (b, _) = self.operand(right, &[], next)?;
            let (a, b) = order(a, b, comparison.swap);
            self.position(span);
            if comparison.swap {
                self.assembler.written(EXCHANGED);
            }
            self.choose(comparison.positive, comparison.negative, a, b, exits);
        }
        Ok(())
    }

    /// The value of a test as a boolean.
    pub(super) fn materialise(
        &mut self,
        node_span: Span,
        destination: Destination,
        top: usize,
        test: impl FnOnce(&mut Self, Exits) -> Outcome,
    ) -> Outcome {
        let (yes, no) = (self.assembler.label(), self.assembler.label());
        test(
            self,
            Exits {
                yes,
                no,
                next: Some(yes),
            },
        )?;
        if let Destination::Effect = destination {
            self.assembler.bind(yes);
            self.assembler.bind(no);
            return Ok(());
        }
        let end = self.assembler.label();
        self.assembler.bind(yes);
        self.constant(&Datum::Boolean(true), destination, top, node_span)?;
        self.assembler.jump(end);
        self.assembler.bind(no);
        self.constant(&Datum::Boolean(false), destination, top, node_span)?;
        self.assembler.bind(end);
        Ok(())
    }
}

fn order(a: u8, b: u8, swap: bool) -> (u8, u8) {
    if swap { (b, a) } else { (a, b) }
}

/// Whether `eqv?` on these operands is `eq?`.
pub(super) fn is_identity(left: &Node, right: &Node) -> bool {
    [left, right].into_iter().any(|node| match &node.kind {
        Kind::Constant(datum) => has_word_identity(datum),
        _ => false,
    })
}
