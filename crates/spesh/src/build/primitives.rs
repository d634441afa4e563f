//! Primitives that are compiled to nodes instead of calls.

use canny_compiler::instruction::Instruction;
use canny_tables::opcodes::{Extension, Opcode};
use canny_tables::primitives::PrimitiveId;

use super::{Activation, BuildError, Builder};
use crate::graph::{FloatFunction, NodeId, Op};
use crate::types::Type;

impl Builder<'_> {
    pub(super) fn primitive(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let id = instruction
            .extension(Extension::Primitive)
            .ok_or(BuildError::Unsupported("a call of no primitive"))?;
        let name = PrimitiveId(id as u16).row().name;
        let operand = match instruction.opcode {
            Opcode::CallPrimitive1 => Some(instruction.b()),
            Opcode::CallPrimitive if instruction.b() == 1 => Some(instruction.a()),
            _ => None,
        };
        if let Some(register) = operand
            && !self
                .profile
                .is_unstable(activation.code.word, activation.pc)
        {
            let x = self.register(activation, register)?;
            if let Some(value) = self.unary(activation, name, x) {
                activation.environment.set(instruction.a(), value);
                return Ok(());
            }
        }
        let ty = result_type(name);
        self.runtime(activation, instruction, ty);
        Ok(())
    }

    /// A numeric function of one argument of known type.
    fn unary(&mut self, activation: &mut Activation, name: &str, x: NodeId) -> Option<NodeId> {
        let ty = self.ty(x);
        let (is_float, is_fixnum) = (ty.is(Type::FLONUM), ty.is(Type::FIXNUM));
        match name {
            "inexact" | "exact->inexact" if is_float => Some(x),
            "inexact" | "exact->inexact" if is_fixnum => {
                Some(self.pure(Op::FixnumToFloat(x), Type::FLONUM))
            }
            "exact" | "inexact->exact" | "floor" | "ceiling" | "truncate" | "round"
                if is_fixnum =>
            {
                Some(x)
            }
            "exact" | "inexact->exact" if is_float => {
                let value = self.float(x);
                let state = self.state(activation);
                Some(self.pure(Op::FloatToFixnum(value, state), Type::FIXNUM))
            }
            "square" => self.arithmetic(activation, Opcode::Multiply, x, x),
            "1+" => {
                let one = self.fixnum(1);
                self.arithmetic(activation, Opcode::Add, x, one)
            }
            "-1+" => {
                let one = self.fixnum(1);
                self.arithmetic(activation, Opcode::Subtract, x, one)
            }
            "-" if is_fixnum => {
                let zero = self.fixnum(0);
                self.arithmetic(activation, Opcode::Subtract, zero, x)
            }
            _ if is_float => {
                let function = match name {
                    "sqrt" => FloatFunction::SquareRoot,
                    "abs" | "magnitude" => FloatFunction::Absolute,
                    "floor" => FloatFunction::Floor,
                    "ceiling" => FloatFunction::Ceiling,
                    "truncate" => FloatFunction::Truncate,
                    "round" => FloatFunction::Round,
                    "-" => FloatFunction::Negate,
                    _ => return None,
                };
                let value = self.float(x);
                let state = (function == FloatFunction::SquareRoot).then(|| self.state(activation));
                Some(self.pure(Op::FloatFunction(function, value, state), Type::FLONUM))
            }
            _ => None,
        }
    }
}

/// What a primitive is known to give.
fn result_type(name: &str) -> Type {
    match name {
        "make-vector" | "vector" | "list->vector" | "vector-copy" | "vector-append"
        | "vector-map" => Type::VECTOR,
        "make-string" | "string" | "list->string" | "string-append" | "substring"
        | "string-copy" | "symbol->string" | "number->string" => Type::STRING,
        "make-bytevector" | "bytevector" | "bytevector-copy" => Type::BYTEVECTOR,
        "string->symbol" => Type::SYMBOL,
        "length" | "vector-fill-count" | "char->integer" => Type::FIXNUM,
        "integer->char" | "char-upcase" | "char-downcase" => Type::CHARACTER,
        _ => Type::ANY,
    }
}
