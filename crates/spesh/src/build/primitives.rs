//! Primitives that are compiled to nodes instead of calls.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIELD0, class_key, record_type};
use canny_tables::opcodes::{Extension, Opcode};
use canny_tables::primitives::PrimitiveId;

use super::control::test_for;
use super::{Activation, BuildError, Builder};
use crate::graph::{FloatFunction, Memory, NodeId, Op, Test};
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
            "%class-key" => self.class_key(activation, x),
            "record-type-descriptor" | "%record-type-extension" | "%record-type-key" => {
                self.of_record_type(activation, name, x)
            }
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

impl Builder<'_> {
    /// The class key: of one type of values it is known, of records it is in their type.
    fn class_key(&mut self, activation: &mut Activation, x: NodeId) -> Option<NodeId> {
        let likely = self.guess(x);
        let test = if likely.is_none() {
            None
        } else if likely.is(Type::RECORD) {
            Some(Test::Kind(Kind::Record))
        } else {
            known_key(likely).and(test_for(likely))
        };
        let Some(test) = test else {
            let x = self.tagged(x);
            return Some(self.pure(Op::ClassKey(x), Type::FIXNUM));
        };
        let x = self.guard(activation, test, x);
        self.block?;
        if !self.ty(x).is(Type::RECORD) {
            let key = known_key(self.ty(x))?;
            return Some(self.fixnum(key));
        }
        let record_type = self.type_of_record(x);
        Some(self.word_of_type(record_type, record_type::SERIAL, Type::FIXNUM))
    }

    fn of_record_type(
        &mut self,
        activation: &mut Activation,
        name: &str,
        x: NodeId,
    ) -> Option<NodeId> {
        let kind = if name == "record-type-descriptor" {
            Kind::Record
        } else {
            Kind::RecordType
        };
        let x = self.tagged(x);
        let x = self.guard(activation, Test::Kind(kind), x);
        self.block?;
        Some(match name {
            "record-type-descriptor" => self.type_of_record(x),
            "%record-type-key" => self.word_of_type(x, record_type::SERIAL, Type::FIXNUM),
            _ => {
                let load = Op::Load {
                    object: x,
                    offset: FIELD0 + 8 * record_type::EXTENSION as i32,
                    memory: Memory::Record,
                };
                self.pure(load, Type::ANY)
            }
        })
    }

    fn type_of_record(&mut self, record: NodeId) -> NodeId {
        let load = Op::Load {
            object: record,
            offset: FIELD0,
            memory: Memory::Constant,
        };
        self.pure(load, Type::RECORD_TYPE)
    }

    /// A word of a record type that never changes.
    fn word_of_type(&mut self, object: NodeId, index: usize, ty: Type) -> NodeId {
        let load = Op::Load {
            object,
            offset: FIELD0 + 8 * index as i32,
            memory: Memory::Constant,
        };
        self.pure(load, ty)
    }
}

/// The class key of all values of a type, if they have one.
fn known_key(ty: Type) -> Option<i64> {
    Some(match ty {
        Type::FIXNUM => class_key::FIXNUM,
        Type::FLONUM => Kind::Flonum as i64,
        Type::PAIR => class_key::PAIR,
        Type::NIL => class_key::NIL,
        Type::FALSE | Type::TRUE | Type::BOOLEAN => class_key::BOOLEAN,
        Type::CHARACTER => class_key::CHARACTER,
        Type::RECORD => return None,
        _ => ty.kind()? as i64,
    })
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
