//! Exceptions: blocks that catch them, and what throws them.
//!
//! A clause of a block is a row beside the code. It says where the values of an exception go, which is
//! where a branch to the clause's label would put them, so that no code comes between.

use canny_tables::guest::{Opcode, Runtime};
use wasmparser::{Catch, TryTable};

use super::Translator;
use super::control::Kind;
use crate::code::Clause;
use crate::definitions;

impl Translator<'_> {
    pub(super) fn open_try(&mut self, block: &TryTable) {
        let (parameters, results) = self.block_type(block.ty);
        self.settle_locals(parameters.len());
        let first = self.clauses.len();
        for catch in &block.catches {
            let (tag, takes_reference, depth) = match *catch {
                Catch::One { tag, label } => (Some(tag), false, label),
                Catch::OneRef { tag, label } => (Some(tag), true, label),
                Catch::All { label } => (None, false, label),
                Catch::AllRef { label } => (None, true, label),
            };
            let mut clause = Clause {
                start: self.code.len() as u32,
                end: 0,
                tag,
                takes_reference,
                target: 0,
                slot: 0,
            };
            let target = self.control.len() - 1 - depth as usize;
            self.control[target].land(self.clauses.len(), &mut clause);
            self.reserve(&clause);
            self.clauses.push((clause, 0));
        }
        self.open_settled(Kind::Try(first, block.catches.len()), parameters, results);
    }

    /// Gives the frame room for the values of a clause.
    fn reserve(&mut self, clause: &Clause) {
        let values = clause.tag.map_or(0, |tag| {
            let number = self.module.parts().tags[tag as usize];
            definitions::function_type(number).parameter_slots()
        });
        let end = clause.slot as usize + values + usize::from(clause.takes_reference);
        self.frame = self.frame.max(end);
    }

    /// Notes where the block of some clauses ends.
    pub(super) fn close_clauses(&mut self, first: usize, count: usize) {
        for (clause, closed_before) in &mut self.clauses[first..first + count] {
            clause.end = self.code.len() as u32;
            *closed_before = self.closed_tries;
        }
        self.closed_tries += 1;
        // The range must not become shorter.
        self.around = None;
    }

    /// Lets clauses lead to what is written next.
    pub(super) fn land_clauses(&mut self, numbers: &[usize]) {
        for number in numbers {
            self.clauses[*number].0.target = self.code.len() as u32;
        }
        if !numbers.is_empty() {
            self.around = None;
            self.newest_branch = None;
            self.last = None;
        }
    }

    /// All clauses, those of inner blocks first.
    pub(super) fn finished_clauses(&mut self) -> Box<[Clause]> {
        self.clauses
            .sort_by_key(|(_, closed_before)| *closed_before);
        self.clauses.iter().map(|(clause, _)| *clause).collect()
    }

    pub(super) fn throw(&mut self, tag: u32) {
        let number = self.module.parts().tags[tag as usize];
        let count = definitions::function_type(number).parameters.len();
        self.settle_top(count);
        let first = self.place_of(self.stack.len() - count);
        let place = self.code.put(Opcode::Runtime(Runtime::Throw));
        self.code.set16(place, 10, first);
        self.code.set32(place, 16, tag);
        self.unreachable = Some(0);
        self.last = None;
    }

    pub(super) fn throw_reference(&mut self) {
        let slot = self.pop_slot();
        let place = self.code.put(Opcode::Runtime(Runtime::ThrowReference));
        self.code.set16(place, 10, slot);
        self.unreachable = Some(0);
        self.last = None;
    }
}
