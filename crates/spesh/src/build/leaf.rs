//! Primitives that are called as leaf functions, with their operands in registers.

use canny_compiler::instruction::Instruction;
use canny_tables::leaves::{self, Gives};

use super::{Activation, BuildError, Builder};
use crate::graph::Op;
use crate::types::Type;

impl Builder<'_> {
    /// Calls the primitive as a leaf function, if it has one that did not decline here before and
    /// declines only for its operands' sake. Others are tried where the runtime is called.
    pub(super) fn leaf(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
    ) -> Result<bool, BuildError> {
        let registers = instruction.uses();
        let Some(id) = leaves::lookup(name, registers.len()) else {
            return Ok(false);
        };
        if id.row().declines_at_times || self.profile.declines(activation.code.word, activation.pc)
        {
            return Ok(false);
        }
        let mut operands = Vec::with_capacity(registers.len());
        for register in registers {
            let operand = self.register(activation, register)?;
            operands.push(self.tagged(operand));
        }
        let state = self.state(activation);
        let value = self.push(Op::Leaf(id, operands, state), type_of(id.row().gives));
        self.expect(activation, value);
        activation.environment.set(instruction.a(), value);
        Ok(true)
    }
}

fn type_of(gives: Gives) -> Type {
    match gives {
        Gives::Any => Type::ANY,
        Gives::Boolean => Type::BOOLEAN,
        Gives::Fixnum => Type::FIXNUM,
        Gives::Number => Type::NUMBER,
        Gives::Flonum => Type::FLONUM,
        Gives::ExactInteger => Type::FIXNUM.or(Type::BIGNUM),
        Gives::Character => Type::CHARACTER,
        Gives::PairOrFalse => Type::PAIR.or(Type::FALSE),
        Gives::List => Type::PAIR.or(Type::NIL),
        Gives::String => Type::STRING,
        Gives::Symbol => Type::SYMBOL,
        Gives::Vector => Type::VECTOR,
        Gives::HashTable => Type::HASH_TABLE,
    }
}
