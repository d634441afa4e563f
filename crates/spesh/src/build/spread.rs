//! Several values, and the elements of lists, where the code that takes them wants each of them alone.
//!
//! Owns the instruction `unpack`, and the calls of `%apply-values` and `apply` whose procedure or whose
//! values are known well enough: they become calls of the procedure itself. Guards hold the number of
//! values, or the length of the list. A call where such a guard failed too often is left to the
//! machine's own procedure, which takes any number.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::code::VARIADIC;
use canny_tables::layout::{self, CAR, CDR, FIELD0};
use canny_tables::opcodes::Opcode;

use super::calls::Site;
use super::control::to;
use super::{Activation, BuildError, Builder};
use crate::graph::{Condition, Memory, NodeId, Op, Terminator, Test};
use crate::snapshot::CodeSnapshot;
use crate::types::Type;

/// Most values, or elements of a list, that are loaded one by one.
const SPREAD_MAX: usize = 4;

/// Number of values that is guessed where nothing tells it.
const VALUES_LIKELY: usize = 2;

/// Elements of a list of unknown length that become arguments of a call of their own.
const APPLIED_MAX: usize = 3;

/// Times that `apply` has to be called for each run of the outermost procedure, for calls by length.
const FREQUENCY_MIN: f64 = 0.3;

/// A call of `apply`, taken apart.
pub(super) struct Applied {
    procedure: NodeId,
    given: Vec<NodeId>,
    list: NodeId,
}

/// Form of the last argument of a machine procedure that spreads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// `%apply-values`: the last argument is several values, or one.
    Values,
    /// `apply` and `%apply`: the last argument is a list.
    List,
}

impl Builder<'_> {
    /// Several values over registers: so many as are wanted, unless that was wrong before.
    pub(super) fn unpack(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let (first, count, has_rest) = (instruction.a(), instruction.b(), instruction.c() == 1);
        let values = self.register(activation, first)?;
        let is_open = self.is_stable(activation) && !has_rest && count != 1;
        if !is_open || !self.ty(values).may_be(Type::VALUES) {
            self.runtime_many(activation, instruction);
            return Ok(());
        }
        let values = self.tagged(values);
        let loads = self.values_of(activation, values, count);
        for (index, value) in loads.into_iter().enumerate() {
            if index == 0 {
                self.expect(activation, value);
            }
            activation.environment.set(first + index, value);
        }
        Ok(())
    }

    /// The procedure and arguments of the call that a call of `%apply-values` or `apply` comes to; none
    /// if the callee is another one, or too little is known.
    pub(super) fn spread_call(
        &mut self,
        activation: &mut Activation,
        callee: &CodeSnapshot,
        arguments: &[NodeId],
    ) -> Option<(NodeId, Vec<NodeId>)> {
        let spread = spread_of_stub(callee)?;
        let [procedure, given @ .., last] = arguments else {
            return None;
        };
        if !self.is_stable(activation) {
            return None;
        }
        let procedure = self.tagged(*procedure);
        let arity = self.fixed_arity(procedure);
        let mut spread_arguments = given.to_vec();
        spread_arguments.extend(match spread {
            Spread::Values => self.spread_values(activation, *last, arity)?,
            Spread::List => {
                let count = arity?.checked_sub(given.len())?;
                self.spread_list(activation, *last, count)?
            }
        });
        Some((procedure, spread_arguments))
    }

    /// The number of arguments that a known procedure takes, if it takes no other number.
    fn fixed_arity(&self, procedure: NodeId) -> Option<usize> {
        let code = self.known_code.get(&procedure)?;
        let snapshot = self.source.snapshot(*code)?;
        (snapshot.arity != VARIADIC).then_some(snapshot.arity as usize)
    }

    /// The values of `values`, of which there should be `arity`.
    fn spread_values(
        &mut self,
        activation: &mut Activation,
        values: NodeId,
        arity: Option<usize>,
    ) -> Option<Vec<NodeId>> {
        if !self.ty(values).may_be(Type::VALUES) {
            return Some(vec![values]);
        }
        let guess = self.guess(values);
        if !guess.may_be(Type::VALUES) {
            self.leave_if(
                activation,
                Condition::Test(Test::Kind(Kind::Values), values),
            );
            return Some(vec![values]);
        }
        if !guess.is(Type::VALUES) {
            return None;
        }
        let values = self.tagged(values);
        let known = self.pure(Op::Length(values), Type::FIXNUM);
        let known = self
            .constant(known)
            .map(|word| (word >> layout::FIXNUM_SHIFT) as usize);
        let count = known.or(arity).unwrap_or(VALUES_LIKELY);
        if count > SPREAD_MAX {
            return None;
        }
        Some(self.values_of(activation, values, count))
    }

    /// Loads so many values; leaves where there is another number of them.
    fn values_of(
        &mut self,
        activation: &mut Activation,
        values: NodeId,
        count: usize,
    ) -> Vec<NodeId> {
        let values = self.guard(activation, Test::Kind(Kind::Values), values);
        if self.block.is_none() {
            return Vec::new();
        }
        let length = self.pure(Op::Length(values), Type::FIXNUM);
        let wanted = self.fixnum(count as i64);
        if length != wanted {
            let state = self.state(activation);
            let condition = Condition::Same(length, wanted);
            self.pure(Op::Require(condition, state), Type::NONE);
        }
        let mut loads = Vec::with_capacity(count);
        for index in 0..count {
            let load = Op::Load(values, FIELD0 + 8 * index as i32, Memory::Constant);
            loads.push(self.pure(load, Type::ANY));
        }
        loads
    }

    /// The parts of a call of `apply` that is worth a call for each of the usual lengths of its list.
    pub(super) fn applied(
        &mut self,
        activation: &Activation,
        callee: &CodeSnapshot,
        site: &Site,
    ) -> Option<Applied> {
        let is_wanted = spread_of_stub(callee) == Some(Spread::List)
            && site.frequency >= FREQUENCY_MIN
            && self.is_stable(activation);
        let [procedure, given @ .., list] = &site.arguments[..] else {
            return None;
        };
        is_wanted.then(|| Applied {
            procedure: self.tagged(*procedure),
            given: given.to_vec(),
            list: self.tagged(*list),
        })
    }

    /// Calls the procedure with the elements of a short list; `apply` itself has the other lists.
    pub(super) fn apply_by_length(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        apply: &Site,
        applied: Applied,
    ) -> Result<(), BuildError> {
        let mut rest = applied.list;
        let mut arguments = applied.given;
        let mut result = Ok(());
        let others = self.graph.add_block();
        let before = self.numbering.clone();
        for length in 0..=APPLIED_MAX {
            let is_end = Condition::Test(Test::Word(layout::NIL), rest);
            let [ends, continues] = self.fork(is_end);
            let site = Site {
                closure: applied.procedure,
                arguments: arguments.clone(),
                is_tail: apply.is_tail,
                frequency: apply.frequency / APPLIED_MAX as f64,
            };
            self.follow_aside(activation, ends, |builder, activation| {
                result = builder.call_spread(activation, instruction, site);
            });
            std::mem::replace(&mut result, Ok(()))?;
            self.block = Some(continues);
            if length == APPLIED_MAX {
                break;
            }
            let is_pair = self.graph.add_block();
            self.terminate(Terminator::Branch {
                condition: Condition::Test(Test::Pair, rest),
                then: to(is_pair),
                otherwise: to(others),
            });
            self.block = Some(is_pair);
            let pair = self.push(Op::Refine(rest), Type::PAIR);
            let element = self.load(activation, pair, CAR, Memory::Car);
            arguments.push(element);
            let next = self.load(activation, pair, CDR, Memory::Cdr);
            rest = self.tagged(next);
        }
        self.terminate(Terminator::Jump(to(others)));
        self.block = Some(others);
        self.numbering = before;
        self.call_out_of_line(activation, instruction, apply, None);
        Ok(())
    }

    /// Calls with spread arguments, and continues behind the call.
    fn call_spread(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        site: Site,
    ) -> Result<(), BuildError> {
        let code = self.known_code.get(&site.closure).copied();
        let snapshot = code.and_then(|code| self.source.snapshot(code));
        if let Some(snapshot) = &snapshot
            && self.is_worth_inlining(activation, snapshot, &site.arguments, site.frequency)
        {
            self.inline(activation, instruction, site, snapshot.clone())?;
        } else {
            self.call_out_of_line(activation, instruction, &site, snapshot.as_deref());
        }
        self.jump(activation, instruction.next_pc());
        Ok(())
    }

    /// The elements of a list, which should have so many.
    fn spread_list(
        &mut self,
        activation: &mut Activation,
        list: NodeId,
        count: usize,
    ) -> Option<Vec<NodeId>> {
        if count > SPREAD_MAX {
            return None;
        }
        let mut rest = self.tagged(list);
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            let pair = self.guard(activation, Test::Pair, rest);
            if self.block.is_none() {
                return Some(elements);
            }
            elements.push(self.load(activation, pair, CAR, Memory::Car));
            let next = self.load(activation, pair, CDR, Memory::Cdr);
            rest = self.tagged(next);
        }
        self.guard(activation, Test::Word(layout::NIL), rest);
        Some(elements)
    }
}

/// Returns the form of the last argument that the code spreads, if it does: `apply`, or code that
/// takes a procedure and a list or values and does nothing but call the one with the others.
fn spread_of_stub(code: &CodeSnapshot) -> Option<Spread> {
    let mut instructions = canny_compiler::instruction::instructions(&code.instructions);
    let first = instructions.next()?.ok()?;
    if first.opcode == Opcode::ApplyStub {
        return Some(Spread::List);
    }
    let second = instructions.next()?.ok()?;
    let takes_two = first.opcode == Opcode::Entry
        && (first.a(), first.b(), first.c()) == (2, 0, 0)
        && (second.a(), second.b()) == (0, 1);
    match second.opcode {
        Opcode::TailCallValues if takes_two => Some(Spread::Values),
        Opcode::TailApply if takes_two => Some(Spread::List),
        _ => None,
    }
}
