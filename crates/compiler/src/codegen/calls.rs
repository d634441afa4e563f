//! Calls, tail calls, jumps to labels and `apply`.
//!
//! A jump assigns a label's parameters all at once: arguments that read a parameter are computed
//! before it is overwritten. Apart from that operands are evaluated as written. Every call and
//! every jump back has a live map and a position.

use canny_syntax::core::VarId;
use canny_syntax::span::Span;
use canny_tables::opcodes::Opcode;
use canny_tables::primitives::{self, Flags};

use super::entry::byte;
use super::{Destination, Generator, JumpTarget, Outcome, Place, register};
use crate::counting::Callee;
use crate::ir::{self, Kind, Label, Node};
use crate::parallel_move::{Move, sequentialise};

/// The remaining work for an argument of a jump.
enum Argument<'n> {
    /// A move that can wait.
    Move(u8),
    /// Something without effect that can be loaded after all moves.
    Late(&'n Node),
    /// Computed already.
    Done,
}

/// Whether a call in tail position keeps the caller's frame, so that a report shows where it is. These
/// procedures call handlers, which are no tail calls either: the stack grows no further for it.
fn keeps_caller(operator: &Node) -> bool {
    match &operator.kind {
        Kind::Global(global) => {
            global.library.as_str() == "(canny machine control)"
                && matches!(
                    global.name.as_str(),
                    "raise" | "raise-continuable" | "error"
                )
        }
        _ => false,
    }
}

impl Generator<'_> {
    pub(super) fn call(
        &mut self,
        operator: &Node,
        operands: &[Node],
        destination: Destination,
        top: usize,
        span: Span,
    ) -> Outcome {
        if let Destination::Return = destination
            && let Some(target) = self.self_call(operator, operands.len())
        {
            return self.jump_with(&target, operands, top, span);
        }
        let base = register(top)?;
        self.node(operator, Destination::Register(base), top)?;
        for (index, operand) in operands.iter().enumerate() {
            let at = top + 2 + index;
            self.node(operand, Destination::Register(register(at)?), at)?;
        }
        register(top + 2 + operands.len())?;
        let count = byte(operands.len())?;
        self.count_call(base, count, span);
        self.position(span);
        if let Destination::Return = destination
            && !keeps_caller(operator)
        {
            self.keep_scopes_live();
            self.position(span);
            self.assembler.abc(Opcode::TailCall, base, count, 0);
        } else {
            self.assembler.call(base, count);
            self.deliver(base, destination, span);
        }
        Ok(())
    }

    /// Where a call of this very procedure goes, if `operator` is certain to be it.
    fn self_call(&self, operator: &Node, arguments: usize) -> Option<JumpTarget> {
        let is_self = match &operator.kind {
            Kind::Local(var) => self.procedure.self_variable == Some(*var),
            Kind::Global(global) => self.procedure.self_global.as_ref() == Some(global),
            _ => false,
        };
        let target = self.self_target.as_ref().filter(|_| is_self)?;
        (target.parameters.len() == arguments).then(|| target.clone())
    }

    pub(super) fn labels(
        &mut self,
        labels: &[Label],
        body: &Node,
        destination: Destination,
        mut top: usize,
    ) -> Outcome {
        let mut pending = Vec::with_capacity(labels.len());
        for label in labels {
            let mut parameters = Vec::with_capacity(label.parameters.len());
            for parameter in &label.parameters {
                let at = register(top)?;
                self.registers.insert(*parameter, at);
                parameters.push(at);
                top += 1;
            }
            let target = JumpTarget {
                label: self.assembler.label(),
                parameters,
                function: self.label_function(&label.body),
            };
            self.labels.insert(label.var, target.clone());
            pending.push((target, label));
        }
        let end = self.assembler.label();
        // Where control goes next is not known while several pieces of code follow each other.
        let inner = match destination {
            Destination::Branch(yes, no, _) => Destination::Branch(yes, no, None),
            other => other,
        };
        self.node(body, inner, top)?;
        while let Some(index) = pending
            .iter()
            .position(|(target, _)| self.assembler.is_awaited(target.label))
        {
            let (target, label) = pending.remove(index);
            self.assembler.jump(end);
            self.assembler.bind(target.label);
            for (parameter, at) in label.parameters.iter().zip(&target.parameters) {
                if self.program.boxed[parameter.0 as usize] {
                    self.assembler.abc(Opcode::MakeBox, *at, *at, 0);
                }
            }
            let parameters = label.parameters.iter().copied();
            let variables: Vec<_> = parameters.zip(target.parameters.iter().copied()).collect();
            self.in_label(target.function, &label.body, |generator| {
                generator.scope(&variables, &label.body, inner, top, label.body.span)
            })?;
        }
        self.assembler.bind(end);
        Ok(())
    }

    /// Gives the parameters of a label new values, all at once, and jumps. A jump back is a place where
    /// the program may be interrupted, so it has a position.
    pub(super) fn jump_with(
        &mut self,
        target: &JumpTarget,
        arguments: &[Node],
        mut top: usize,
        span: Span,
    ) -> Outcome {
        let order = self.jump_order(target, arguments);
        let ordered: Vec<&Node> = order.iter().map(|index| &arguments[*index]).collect();
        let parameters: Vec<u8> = order
            .iter()
            .map(|index| target.parameters[*index])
            .collect();
        let mut plans: Vec<Argument> = Vec::with_capacity(arguments.len());
        // Parameters with their next value, and since when.
        let mut ahead: Vec<(u8, u32)> = Vec::new();
        for (index, argument) in ordered.iter().copied().enumerate() {
            let rest = &ordered[index + 1..];
            let plan = match self.postponed(argument, rest) {
                Some(plan) => plan,
                None => {
                    let to = parameters[index];
                    let waits =
                        |plan: &Argument| matches!(plan, Argument::Move(from) if *from == to);
                    let free = !plans.iter().any(waits)
                        && !plans.iter().any(|plan| match plan {
                            Argument::Late(node) => self.reads(node, to),
                            _ => false,
                        })
                        && !rest.iter().any(|later| self.reads(later, to))
                        // A debugger shows the values in force.
                        && !self.unit.keeps_variables;
                    if free {
                        self.node(argument, Destination::Register(to), top)?;
                        ahead.push((to, self.assembler.here()));
                        Argument::Done
                    } else {
                        let at = register(top)?;
                        self.node(argument, Destination::Register(at), top)?;
                        top += 1;
                        Argument::Move(at)
                    }
                }
            };
            plans.push(plan);
        }
        if self.unit.keeps_variables {
            self.keep_scopes_live();
        }
        let mut moves = Vec::new();
        for (plan, to) in plans.iter().zip(&parameters) {
            if let Argument::Move(from) = plan {
                moves.push(Move {
                    to: *to,
                    from: *from,
                });
            }
        }
        let scratch = register(top)?;
        for step in sequentialise(&moves, scratch) {
            self.copy(step.to, step.from);
        }
        let moved = moves.iter().map(|step| (step.to, self.assembler.here()));
        ahead.extend(moved);
        for (plan, to) in plans.iter().zip(&parameters) {
            if let Argument::Late(node) = plan {
                self.node(node, Destination::Register(*to), top)?;
            }
        }
        let end = self.assembler.here();
        let ahead = ahead.into_iter().map(|(at, start)| (at, start..end));
        self.ahead
            .extend(ahead.filter(|(_, range)| !range.is_empty()));
        if let Some(function) = target.function {
            self.count_edge(span, Callee::Function(function));
        }
        if self.assembler.is_bound(target.label) {
            self.position(span);
        }
        self.assembler.jump(target.label);
        Ok(())
    }

    /// The order in which a jump's arguments are computed: as written, but for computations whose place
    /// nobody can observe, which come last and so that, where possible, each may overwrite its
    /// parameter at once because no later one reads it.
    fn jump_order(&self, target: &JumpTarget, arguments: &[Node]) -> Vec<usize> {
        let all_pure = arguments
            .iter()
            .all(|argument| self.may_move(argument, Flags::PURE));
        let wanted = if all_pure {
            Flags::PURE
        } else {
            Flags::FOLDABLE
        };
        let (mut last, mut order): (Vec<usize>, Vec<usize>) =
            (0..arguments.len()).partition(|index| self.may_move(&arguments[*index], wanted));
        while !last.is_empty() {
            let unread = last.iter().position(|index| {
                let to = target.parameters[*index];
                last.iter()
                    .all(|other| other == index || !self.reads(&arguments[*other], to))
            });
            order.push(last.remove(unread.unwrap_or(0)));
        }
        order
    }

    /// Whether the node is made of primitives with the flag, literals and variables that are never assigned.
    fn may_move(&self, node: &Node, flag: Flags) -> bool {
        match &node.kind {
            Kind::Constant(_) => true,
            Kind::Local(var) => !self.program.assigned[var.0 as usize],
            Kind::Primitive { id, operands } => {
                primitives::by_id(*id).flags.has(flag)
                    && operands.iter().all(|operand| self.may_move(operand, flag))
            }
            _ => false,
        }
    }

    /// How an argument can wait until the others are computed, if it can.
    fn postponed<'n>(&self, argument: &'n Node, rest: &[&Node]) -> Option<Argument<'n>> {
        match &argument.kind {
            Kind::Constant(_) | Kind::PrimitiveValue(_) => Some(Argument::Late(argument)),
            Kind::Closure(id) if self.unit.is_closed(*id) => Some(Argument::Late(argument)),
            Kind::Local(var) => match self.place(*var) {
                Place::Register(from) => self
                    .is_stable(*var, rest.iter().copied())
                    .then_some(Argument::Move(from)),
                _ => Some(Argument::Late(argument)),
            },
            _ => None,
        }
    }

    /// Whether evaluating the node may read the register. Says yes when that takes too long.
    fn reads(&self, node: &Node, register: u8) -> bool {
        let mut budget = ir::SEARCH_BUDGET;
        node.any(&mut budget, &mut |node| {
            let at = |var: &VarId| self.registers.get(var) == Some(&register);
            match &node.kind {
                Kind::Local(var)
                | Kind::Unbox { var, .. }
                | Kind::SetLocal(var, _)
                | Kind::SetBox(var, _) => at(var),
                Kind::Closure(id) => self.program.procedures[id.0 as usize].free.iter().any(at),
                // Rare among arguments of jumps.
                Kind::Fix(..) | Kind::Labels { .. } | Kind::LetValues { .. } => true,
                _ => false,
            }
        })
    }
}
