//! Functions that choose between operands or truth values by comparing them: comparisons of three
//! numbers or characters and more, `min`, `max` and `abs` of numbers.
//!
//! Each outcome continues alone behind the call, so that a test of the value is answered before the
//! paths meet. All operands are guarded before the first comparison, since each of them must be a
//! number.

use canny_compiler::instruction::Instruction;
use canny_tables::layout;
use canny_tables::leaves;
use canny_tables::opcodes::Opcode;

use super::{Activation, BuildError, Builder};
use crate::graph::{Comparison, Condition, NodeId, Op, Test};
use crate::types::Type;

/// Most operands of a comparison in line.
const OPERANDS_MAX: usize = 4;

impl Builder<'_> {
    /// Computes the primitive in line; false if it is another one, or its operands are not likely to be
    /// fixnums, or flonums.
    pub(super) fn selection(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
    ) -> Result<bool, BuildError> {
        let registers = instruction.uses();
        if let Some(comparison) = characters_chained(name)
            && (3..=OPERANDS_MAX).contains(&registers.len())
        {
            return self.characters(activation, instruction, comparison);
        }
        let comparison = chained(name).filter(|_| (3..=OPERANDS_MAX).contains(&registers.len()));
        let is_choice = matches!(
            (name, registers.len()),
            ("min" | "max", 2) | ("abs" | "magnitude", 1)
        );
        if comparison.is_none() && !is_choice || !self.is_stable(activation) {
            return Ok(false);
        }
        let mut operands = Vec::with_capacity(registers.len());
        for register in registers {
            operands.push(self.register(activation, register)?);
        }
        let all = |builder: &Self, ty: Type| operands.iter().all(|x| builder.guess(*x).is(ty));
        let is_fixnum = all(self, Type::FIXNUM);
        let is_float = all(self, Type::FLONUM) && (!is_choice || operands.len() == 2);
        if !is_fixnum && !is_float {
            return Ok(false);
        }
        for operand in &mut operands {
            *operand = self.likely_number(activation, *operand);
            if self.block.is_none() {
                return Ok(true);
            }
        }
        match comparison {
            Some(comparison) => self.chain(activation, instruction, comparison, &operands),
            None if is_float => self.float_choice(activation, instruction, name, &operands)?,
            None => self.choice(activation, instruction, name, &operands),
        }
        Ok(true)
    }

    /// Whether each of a few characters and the next one compare so; false if the operands are not likely to
    /// be characters.
    fn characters(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        comparison: Comparison,
    ) -> Result<bool, BuildError> {
        if !self.is_stable(activation) {
            return Ok(false);
        }
        let mut operands = Vec::with_capacity(OPERANDS_MAX);
        for register in instruction.uses() {
            operands.push(self.register(activation, register)?);
        }
        if !operands.iter().all(|x| self.guess(*x) == Type::CHARACTER) {
            return Ok(false);
        }
        for operand in &mut operands {
            *operand = self.guard(activation, Test::Character, *operand);
            if self.block.is_none() {
                return Ok(true);
            }
        }
        self.chain_of_characters(activation, instruction, comparison, &operands);
        Ok(true)
    }

    fn chain_of_characters(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        comparison: Comparison,
        operands: &[NodeId],
    ) {
        let [x, rest @ ..] = operands else { return };
        let Some(y) = rest.first() else {
            let answer = self.word(layout::TRUE);
            return self.give(activation, instruction, answer);
        };
        let [holds, fails] = self.fork(Condition::Characters(comparison, *x, *y));
        self.follow_aside(activation, holds, |builder, activation| {
            builder.chain_of_characters(activation, instruction, comparison, rest);
        });
        self.follow_aside(activation, fails, |builder, activation| {
            let answer = builder.word(layout::FALSE);
            builder.give(activation, instruction, answer);
        });
        self.block = None;
    }

    /// The least or the greatest of four numbers: that of three, and of it and the last one.
    pub(super) fn extreme_of_four(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
    ) -> Result<bool, BuildError> {
        let [x, y, z, last] = instruction.uses()[..] else {
            return Ok(false);
        };
        let (Some(three), Some(two)) = (leaves::lookup(name, 3), leaves::lookup(name, 2)) else {
            return Ok(false);
        };
        if !matches!(name, "min" | "max")
            || self.profile.declines(activation.code.word, activation.pc)
        {
            return Ok(false);
        }
        let mut operands = Vec::with_capacity(4);
        for register in [x, y, z, last] {
            let operand = self.register(activation, register)?;
            operands.push(self.tagged(operand));
        }
        let last = operands.pop();
        let state = self.state(activation);
        let best = self.push(Op::Leaf(three, operands, state), Type::NUMBER);
        let operands = [best].into_iter().chain(last).collect();
        let best = self.push(Op::Leaf(two, operands, state), Type::NUMBER);
        self.expect(activation, best);
        activation.environment.set(instruction.a(), best);
        Ok(true)
    }

    /// Whether each operand and the next one compare so.
    fn chain(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        comparison: Comparison,
        operands: &[NodeId],
    ) {
        let [x, rest @ ..] = operands else { return };
        let Some(y) = rest.first() else {
            let answer = self.word(layout::TRUE);
            return self.give(activation, instruction, answer);
        };
        let Some(condition) = self.compared(activation, comparison, *x, *y) else {
            return self.exit(activation);
        };
        if self.block.is_none() {
            return;
        }
        let [holds, fails] = self.fork(condition);
        self.follow_aside(activation, holds, |builder, activation| {
            builder.chain(activation, instruction, comparison, rest);
        });
        self.follow_aside(activation, fails, |builder, activation| {
            let answer = builder.word(layout::FALSE);
            builder.give(activation, instruction, answer);
        });
        self.block = None;
    }

    /// The lesser, the greater, or the absolute one of fixnums.
    fn choice(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
        operands: &[NodeId],
    ) {
        let x = operands[0];
        let y = match operands.get(1) {
            Some(y) => *y,
            None => self.fixnum(0),
        };
        let Some(condition) = self.compared(activation, Comparison::Less, x, y) else {
            return self.exit(activation);
        };
        if self.block.is_none() {
            return;
        }
        let [less, others] = self.fork(condition);
        self.follow_aside(activation, less, |builder, activation| {
            let value = match name {
                "min" => Some(x),
                "max" => Some(y),
                _ => builder.arithmetic(activation, Opcode::Subtract, y, x),
            };
            match value {
                Some(value) => builder.give(activation, instruction, value),
                None => builder.exit(activation),
            }
        });
        self.follow_aside(activation, others, |builder, activation| {
            let value = if name == "min" { y } else { x };
            builder.give(activation, instruction, value);
        });
        self.block = None;
    }

    /// The lesser or the greater one of two flonums. The leaf function decides about zeros of both
    /// signs and about values that are no numbers.
    fn float_choice(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
        operands: &[NodeId],
    ) -> Result<(), BuildError> {
        let (x, y) = (operands[0], operands[1]);
        let (lesser, greater) = if name == "min" { (x, y) } else { (y, x) };
        // `x < y` and `y < x`, each with what is chosen then.
        for (less, more, chosen) in [(x, y, lesser), (y, x, greater)] {
            let condition = self.compared(activation, Comparison::Less, less, more);
            let (Some(condition), Some(_)) = (condition, self.block) else {
                return Ok(());
            };
            let [holds, fails] = self.fork(condition);
            self.follow_aside(activation, holds, |builder, activation| {
                builder.give(activation, instruction, chosen);
            });
            self.block = Some(fails);
        }
        if !self.leaf(activation, instruction, name)? {
            self.exit(activation);
            return Ok(());
        }
        let value = self.register(activation, instruction.a())?;
        let value = self.guard(activation, Test::Flonum, value);
        if self.block.is_some() {
            let value = self.float(value);
            activation.environment.set(instruction.a(), value);
        }
        Ok(())
    }
}

/// The comparison of characters that a primitive makes.
fn characters_chained(name: &str) -> Option<Comparison> {
    chained(name.strip_prefix("char")?.strip_suffix('?')?)
}

/// The comparison of numbers that a primitive makes.
fn chained(name: &str) -> Option<Comparison> {
    Some(match name {
        "<" => Comparison::Less,
        ">" => Comparison::Greater,
        "<=" => Comparison::LessEqual,
        ">=" => Comparison::GreaterEqual,
        "=" => Comparison::Equal,
        _ => return None,
    })
}
