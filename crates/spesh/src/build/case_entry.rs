//! The graph of `case-entry`, which selects the clause of a procedure by the number of arguments.
//!
//! A known number of arguments selects the clause while the graph is built. At the start of
//! compiled code the number is compared in the graph. Otherwise the runtime's entry decides. Only
//! numbers up to `ARGUMENTS_MAX` are compared. Where the runtime decides, both outcomes stay in the
//! graph.

use canny_compiler::instruction::{Instruction, instructions};
use canny_tables::opcodes::Opcode;

use super::control::to;
use super::{Activation, Builder};
use crate::graph::{BlockId, Comparison, Condition, EntryPoint, FrameId, NodeId, Op, Terminator};
use crate::types::Type;

/// Arguments of a clause that are looked at without the runtime.
const ARGUMENTS_MAX: usize = 8;

impl Builder<'_> {
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
            .filter(|known| known.opcode == Opcode::CaseEntry && known.b() == 0)
            .map(|known| known.a())
            .filter(|count| *count <= ARGUMENTS_MAX)
            .max()
            .unwrap_or(0);
        self.entry_slots = (0..arguments as u32)
            .map(|register| self.graph.push(entry, Op::Slot(register), Type::ANY))
            .collect();
        Some(self.pure(Op::ArgumentCount, Type::FIXNUM))
    }
}
