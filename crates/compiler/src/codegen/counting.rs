//! Counters in code that is compiled for exact profiles or for coverage.
//!
//! A mark becomes an instruction. A call is counted when its operands are there, right before it is made:
//! at a site of its own, or, where the callee is known, as an edge. The caller is the procedure that the
//! programmer wrote around the call. It is told by the copy in which the call stands, or by the label.

use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_tables::opcodes::Opcode;
use canny_tables::primitives::PrimitiveId;

use super::tests_and_branches::small_integer;
use super::{Destination, Generator, Outcome};
use crate::counting::{Callee, FunctionId, Ledger, MARK, Mark};
use crate::ir::{Kind, Node};

/// The number of the mark that a node is.
fn mark_number(node: &Node) -> Option<u32> {
    match &node.kind {
        Kind::Primitive { id, operands } if id.row().name == MARK => match &operands[..] {
            [number] => u32::try_from(small_integer(number)?).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The mark with which a body begins: its number and the copy in which it stands.
fn head_mark(body: &Node) -> Option<(u32, u32)> {
    match &body.kind {
        Kind::Sequence(parts) => head_mark(parts.first()?),
        Kind::Let(_, body) | Kind::Fix(_, body) | Kind::Labels { body, .. } => head_mark(body),
        _ => Some((mark_number(body)?, body.span.inlining)),
    }
}

/// The generator's knowledge of the functions of a procedure.
#[derive(Debug, Default)]
pub(super) struct CountedFunctions {
    /// The procedure's own mark.
    own: Option<u32>,
    /// Marks of labels.
    labels: Vec<u32>,
    /// The labels whose code is being generated, and the copies in which they stand.
    open_labels: Vec<(FunctionId, u32)>,
    /// The functions of copies, by their numbers.
    copies: Vec<(u32, FunctionId)>,
}

impl Generator<'_> {
    pub(super) fn function(&self) -> Option<FunctionId> {
        let functions = self.unit.counted_functions.as_ref()?;
        functions.get(self.id.0 as usize).copied()
    }

    /// Notes the mark of a procedure whose code begins.
    pub(super) fn begin_counted(&mut self, body: &Node) {
        let head = head_mark(body).filter(|(_, copy)| *copy == self.procedure.span.inlining);
        self.counted.own = head.map(|(mark, _)| mark);
    }

    /// The function of a label, if its calls are counted.
    pub(super) fn label_function(&mut self, body: &Node) -> Option<FunctionId> {
        self.unit.counted_functions.as_ref()?;
        let (number, _) = head_mark(body)?;
        let Mark::Entry(function, _) = Ledger::get().mark(number)? else {
            return None;
        };
        self.counted.labels.push(number);
        Some(function)
    }

    /// Generates the code of a label.
    pub(super) fn in_label(
        &mut self,
        function: Option<FunctionId>,
        body: &Node,
        work: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        if let Some(function) = function {
            let copy = head_mark(body).map_or(0, |(_, copy)| copy);
            self.counted.open_labels.push((function, copy));
        }
        let outcome = work(self);
        if function.is_some() {
            self.counted.open_labels.pop();
        }
        outcome
    }

    /// The function around an expression.
    fn caller(&self, span: Span) -> Option<FunctionId> {
        let own = self.function()?;
        if let Some((function, copy)) = self.counted.open_labels.last()
            && *copy == span.inlining
        {
            return Some(*function);
        }
        let mut copy = span.inlining;
        while copy != self.procedure.span.inlining {
            let mut copies = self.counted.copies.iter();
            if let Some((_, function)) = copies.find(|(number, _)| *number == copy) {
                return Some(*function);
            }
            match self.unit.call_of_copy(copy) {
                Some(call) => copy = call.inlining,
                None => break,
            }
        }
        Some(own)
    }

    /// Counts a call of a known procedure.
    pub(super) fn count_edge(&mut self, span: Span, callee: Callee) {
        let Some(caller) = self.caller(span) else {
            return;
        };
        if let Some(counter) = Ledger::get().edge(caller, callee) {
            self.assembler.abc_number(Opcode::Count, 0, 0, 0, counter);
        }
    }

    /// Counts a call of a primitive.
    pub(super) fn count_primitive(&mut self, span: Span, id: PrimitiveId) {
        self.count_edge(span, Callee::Primitive(id));
    }

    /// Counts a call of the procedure in a register.
    pub(super) fn count_call(&mut self, register: u8, arguments: u8, span: Span) {
        let Some(caller) = self.caller(span) else {
            return;
        };
        if let Some(site) = Ledger::get().site(caller) {
            self.assembler
                .abc_number(Opcode::CountCall, register, arguments, 0, site);
        }
    }

    /// The instruction of a mark; nothing if the primitive is not called as one.
    pub(super) fn mark(
        &mut self,
        id: PrimitiveId,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Option<Outcome> {
        if !self.unit.is_counting || id.row().name != MARK {
            return None;
        }
        let [number] = operands else {
            return None;
        };
        let number = u32::try_from(small_integer(number)?).ok()?;
        match Ledger::get().mark(number)? {
            Mark::Point(counter) => self.assembler.abc_number(Opcode::Count, 0, 0, 0, counter),
            Mark::Entry(_, counter) if self.counted.own == Some(number) => {
                self.assembler.abc_number(Opcode::Count, 1, 0, 0, counter);
            }
            Mark::Entry(function, counter) => {
                self.assembler
                    .abc_number(Opcode::Count, 0, 0, 0, counter + 2);
                if !self.counted.labels.contains(&number) {
                    // A procedure that was applied where it was written is no copy.
                    let call = self.unit.call_of_copy(span.inlining);
                    self.count_edge(call.unwrap_or(span), Callee::Function(function));
                    self.counted.copies.push((span.inlining, function));
                }
            }
        }
        Some(self.constant(&Datum::Unspecified, destination, top, span))
    }
}
