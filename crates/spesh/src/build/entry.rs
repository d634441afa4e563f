//! The graph of `entry`, which puts the arguments of procedures with optional ones or a rest list into
//! their registers, and of `case-entry`, which selects the clause of a procedure by their number.
//!
//! A known number of arguments decides while the graph is built. At the start of compiled code the
//! number is compared in the graph. Otherwise the runtime's entry decides. Only numbers up to
//! [`ARGUMENTS_MAX`] are compared. Where the runtime decides, all outcomes stay in the graph.

use canny_compiler::instruction::{Instruction, instructions};
use canny_tables::layout;
use canny_tables::opcodes::Opcode;

use super::control::to;
use super::{Activation, BuildError, Builder};
use crate::graph::{BlockId, Comparison, Condition, EntryPoint, FrameId, NodeId, Op, Terminator};
use crate::types::Type;

/// Arguments of a clause that are looked at without the runtime.
const ARGUMENTS_MAX: usize = 8;
/// Elements of a rest list that are looked at without the runtime.
const REST_MAX: usize = 3;

impl Builder<'_> {
    /// `entry`; the arguments are in the first registers.
    pub(super) fn entry(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let Some(count) = activation.argument_count else {
            self.entry_by_count(activation, instruction);
            return Ok(());
        };
        let counts = counts(instruction);
        if count < *counts.start() || (count > *counts.end() && instruction.c() == 0) {
            self.exit(activation);
            return Ok(());
        }
        let mut arguments = Vec::with_capacity(count);
        for register in 0..count {
            arguments.push(self.register(activation, register)?);
        }
        self.place(activation, instruction, &arguments);
        Ok(())
    }

    /// Puts the arguments into the registers of optional parameters and of the rest list.
    fn place(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        arguments: &[NodeId],
    ) {
        let positional = instruction.a() + instruction.b();
        for register in 0..positional {
            let value = match arguments.get(register) {
                Some(argument) => *argument,
                None => self.word(layout::ABSENT),
            };
            activation.environment.set(register, value);
        }
        if instruction.c() == 1 {
            let list = self.rest_list(arguments.get(positional..).unwrap_or(&[]));
            activation.environment.set(positional, list);
        }
    }

    /// `entry` at the start of compiled code: each usual number of arguments has a path of its own.
    fn entry_by_count(&mut self, activation: &mut Activation, instruction: &Instruction) {
        let next = instruction.next_pc();
        if let Some(count) = self.argument_count(activation) {
            let slots = self.entry_slots.clone();
            for wanted in counts(instruction).take_while(|wanted| *wanted <= slots.len()) {
                let wanted_node = self.fixnum(wanted as i64);
                let condition = Condition::Fixnums(Comparison::Equal, count, wanted_node);
                let [fits, other] = self.fork(condition);
                self.follow_aside(activation, fits, |builder, activation| {
                    builder.place(activation, instruction, &slots[..wanted]);
                    builder.jump(activation, next);
                });
                self.block = Some(other);
            }
        }
        self.runtime_many(activation, instruction);
    }

    pub(super) fn case_entry(&mut self, activation: &mut Activation, instruction: &Instruction) {
        let (wanted, is_open) = (instruction.a(), instruction.b() == 1);
        let target = instruction.branch_target().unwrap_or(0) as usize;
        let next = instruction.next_pc();
        if let Some(count) = activation.argument_count {
            let fits = count == wanted || (is_open && count > wanted);
            if !fits {
                self.jump(activation, target);
            }
            return;
        }
        let Some(count) = self.argument_count(activation) else {
            return self.runtime_branch(activation, target, next);
        };
        let comparison = if is_open {
            Comparison::GreaterEqual
        } else {
            Comparison::Equal
        };
        let wanted_node = self.fixnum(wanted as i64);
        let [fits, other] = [self.graph.add_block(), self.graph.add_block()];
        self.terminate(Terminator::Branch {
            condition: Condition::Fixnums(comparison, count, wanted_node),
            then: to(fits),
            otherwise: to(other),
        });
        self.arrive(activation, other, (target, Vec::new()));
        let before = activation.environment.clone();
        let behind = Instruction::decode(&activation.code.instructions, next)
            .ok()
            .filter(|entry| {
                entry.opcode == Opcode::Entry
                    && (entry.a(), entry.b(), entry.c()) == (wanted, 0, 0)
                    && wanted <= self.entry_slots.len()
                    && !is_open
            })
            .map(|entry| entry.next_pc());
        if behind.is_some() {
            // The instruction for the clause has nothing to do.
            for (register, slot) in self.entry_slots.iter().take(wanted).enumerate() {
                activation.environment.set(register, *slot);
            }
        }
        self.arrive(activation, fits, (behind.unwrap_or(next), Vec::new()));
        activation.environment = before;
        self.block = None;
    }

    /// The number of arguments, if that is known by now or the code was just entered. The first
    /// registers are read too: those beyond that number hold anything, and nobody looks at them.
    fn argument_count(&mut self, activation: &Activation) -> Option<NodeId> {
        if let Some(node) = self.numbering.find(&Op::ArgumentCount) {
            return Some(node);
        }
        let entry = BlockId(0);
        let is_new = self.block == Some(entry)
            && activation.frame == FrameId(0)
            && self.graph.entry == EntryPoint::Start
            && self.entry_slots.is_empty()
            && self.graph.blocks[entry.index()]
                .nodes
                .iter()
                .all(|node| !self.graph.node(*node).op.is_safepoint());
        if !is_new {
            return None;
        }
        let arguments = instructions(&activation.code.instructions)
            .flatten()
            .filter_map(|known| match known.opcode {
                Opcode::CaseEntry if known.b() == 0 => {
                    Some(known.a()).filter(|count| *count <= ARGUMENTS_MAX)
                }
                Opcode::Entry => Some(ARGUMENTS_MAX.min(*counts(&known).end())),
                _ => None,
            })
            .max()
            .unwrap_or(0);
        self.entry_slots = (0..arguments as u32)
            .map(|register| self.graph.push(entry, Op::Slot(register), Type::ANY))
            .collect();
        Some(self.pure(Op::ArgumentCount, Type::FIXNUM))
    }
}

/// The usual numbers of arguments for an `entry`: all that it takes, unless it makes a rest list.
fn counts(entry: &Instruction) -> std::ops::RangeInclusive<usize> {
    let positional = entry.a() + entry.b();
    entry.a()..=positional + REST_MAX * entry.c()
}
