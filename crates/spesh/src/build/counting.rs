//! Counters of exact profiles. They are instructions of their own, so that a side exit before or behind
//! one resumes where it was not, or was, counted already.

use canny_compiler::instruction::Instruction;
use canny_tables::opcodes::field_a;

use super::{Activation, BuildError, Builder};
use crate::graph::Op;
use crate::types::Type;

impl Builder<'_> {
    /// Adds one to a counter.
    pub(super) fn count(
        &mut self,
        activation: &Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let is_by_tier = field_a(instruction.first_word()) != 0;
        let tier = if !is_by_tier {
            0
        } else if activation.path.is_empty() {
            1
        } else {
            2
        };
        let counter = Self::number(instruction)? + tier;
        self.push(Op::Count(counter), Type::NONE);
        Ok(())
    }

    /// Counts a call.
    pub(super) fn count_call(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let callee = self.register(activation, instruction.a())?;
        let callee = self.tagged(callee);
        let site = self.fixnum(i64::from(Self::number(instruction)?));
        let passed = self.fixnum(instruction.b() as i64);
        let op = match self.known_code.get(&callee) {
            Some(code) => Op::CountKnownCall(callee, code.0, site, passed),
            None => Op::CountCall(callee, site, passed),
        };
        self.push(op, Type::NONE);
        Ok(())
    }
}
