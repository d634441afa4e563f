//! Primitives that are compiled to nodes instead of calls.
//!
//! A call of a primitive arrives here as its row and the operands' nodes. Each case gives the same
//! value or the same error as the primitive: it guards what it assumes, and an exit repeats the
//! call in the interpreter. Primitives without a case here stay calls, or become calls of leaf
//! functions.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, record_type};
use canny_tables::opcodes::Opcode;
use canny_tables::primitives::PrimitiveId;

use super::control::test_for;
use super::{Activation, BuildError, Builder};
use crate::graph::{
    Comparison, Condition, FloatFunction, FloatOperation, Memory, NodeId, Op, Test,
};
use crate::results::result_type;
use crate::types::Type;

/// Functions of one number that are nodes for the flonums, some for the fixnums too.
const NUMERIC: &[&str] = &[
    "inexact",
    "exact->inexact",
    "exact",
    "inexact->exact",
    "floor",
    "ceiling",
    "truncate",
    "round",
    "sqrt",
    "abs",
    "magnitude",
    "even?",
    "odd?",
    "finite?",
    "infinite?",
    "nan?",
    "rational?",
    "integer?",
    "bitwise-not",
    "-",
    "/",
];

/// Elements of a new list or vector that is made by nodes.
const ELEMENTS_MAX: usize = 12;

/// Values that are `equal?` only if they are `eq?`.
const ALONE: Type = Type::FIXNUM
    .or(Type::NIL)
    .or(Type::BOOLEAN)
    .or(Type::CHARACTER)
    .or(Type::SYMBOL);

impl Builder<'_> {
    pub(super) fn primitive(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let (id, operands) = instruction
            .primitive_call()
            .ok_or(BuildError::Unsupported("a call of no primitive"))?;
        let name = PrimitiveId(id as u16).row().name;
        if let [register] = operands[..]
            && !self
                .profile
                .is_unstable(activation.code.word, activation.pc)
        {
            let mut x = self.register(activation, register)?;
            if NUMERIC.contains(&name) {
                x = self.likely_number(activation, x);
                if self.block.is_none() {
                    return Ok(());
                }
            }
            let by_kind = self.by_kind(activation, name, x);
            if self.block.is_none() {
                return Ok(());
            }
            if let Some(value) = by_kind.or_else(|| self.unary(activation, name, x)) {
                activation.environment.set(instruction.a(), value);
                return Ok(());
            }
        }
        if self.selection(activation, instruction, name)? {
            return Ok(());
        }
        if let Some(value) = self.constructor(activation, instruction, name)? {
            activation.environment.set(instruction.a(), value);
            return Ok(());
        }
        if instruction.opcode == Opcode::CallPrimitive2 {
            let x = self.register(activation, instruction.b())?;
            let y = self.register(activation, instruction.c())?;
            if let Some(value) = self.both_parts(activation, name, x, y) {
                activation.environment.set(instruction.a(), value);
                return Ok(());
            }
            if self.block.is_none() {
                return Ok(());
            }
            if let Some(value) = self.rectangular(name, x, y) {
                activation.environment.set(instruction.a(), value);
                return Ok(());
            }
            if let Some(value) = self.equivalence(activation, name, x, y) {
                activation.environment.set(instruction.a(), value);
                return Ok(());
            }
            if self.block.is_none() {
                return Ok(());
            }
        }
        if self.is_stable(activation)
            && let Some(path) = pair_path(name)
        {
            return self.list_access(activation, instruction, &path);
        }
        if let Some(value) = self.element_primitive(activation, instruction, name)? {
            activation.environment.set(instruction.a(), value);
            return Ok(());
        }
        if self.block.is_none() {
            return Ok(());
        }
        if self.leaf(activation, instruction, name)?
            || self.extreme_of_four(activation, instruction, name)?
        {
            return Ok(());
        }
        let ty = result_type(PrimitiveId(id as u16).row());
        self.runtime(activation, instruction, ty);
        Ok(())
    }

    /// A new list or vector of a few elements, or several values.
    fn constructor(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
    ) -> Result<Option<NodeId>, BuildError> {
        if !matches!(name, "list" | "vector" | "cons*" | "values") {
            return Ok(None);
        }
        let registers = instruction.uses();
        if registers.len() > ELEMENTS_MAX || name == "values" && registers.len() < 2 {
            return Ok(None);
        }
        let mut elements = Vec::with_capacity(registers.len());
        for register in registers {
            let element = self.register(activation, register)?;
            elements.push(self.tagged(element));
        }
        if name == "vector" {
            // The empty vector is one object.
            let is_empty = elements.is_empty();
            return Ok((!is_empty).then(|| self.allocate(Kind::Vector, elements, Type::VECTOR)));
        }
        if name == "values" {
            return Ok(Some(self.allocate(Kind::Values, elements, Type::VALUES)));
        }
        let end = if name == "list" {
            Some(self.word(layout::NIL))
        } else {
            elements.pop()
        };
        let list = elements.into_iter().rev().fold(end, |list, element| {
            list.map(|list| self.cons(element, list))
        });
        Ok(list)
    }

    /// `eqv?` or `equal?` of values one of which is equal to nothing but itself.
    fn equivalence(
        &mut self,
        activation: &mut Activation,
        name: &str,
        x: NodeId,
        y: NodeId,
    ) -> Option<NodeId> {
        if !matches!(name, "eqv?" | "equal?" | "eq?") {
            return None;
        }
        if name != "eq?" && self.graph.unchecked(x) == self.graph.unchecked(y) {
            return Some(self.word(layout::TRUE));
        }
        let is_alone = |ty: Type| !ty.is_none() && ty.is(ALONE);
        let (mut x, mut y) = (self.tagged(x), self.tagged(y));
        if name != "eq?" && !is_alone(self.ty(x)) && !is_alone(self.ty(y)) {
            let is_stable = !self
                .profile
                .is_unstable(activation.code.word, activation.pc);
            let test = |likely: Type| test_for(likely).filter(|_| is_stable && is_alone(likely));
            if let Some(test) = test(self.guess(x)) {
                x = self.guard(activation, test, x);
            } else if let Some(test) = test(self.guess(y)) {
                y = self.guard(activation, test, y);
            } else {
                return None;
            }
            self.block?;
        }
        Some(self.pure(Op::Boolean(Condition::Same(x, y)), Type::BOOLEAN))
    }

    /// Whether a fixnum is even, or odd.
    fn parity(&mut self, activation: &mut Activation, name: &str, x: NodeId) -> Option<NodeId> {
        let rest = if name == "even?" { 0 } else { 1 };
        let one = self.fixnum(1);
        let bit = self.arithmetic(activation, Opcode::BitAnd, x, one)?;
        let wanted = self.fixnum(rest);
        Some(self.pure(Op::Boolean(Condition::Same(bit, wanted)), Type::BOOLEAN))
    }

    /// The value, checked to be a flonum or a fixnum if it is likely to be one.
    pub(super) fn likely_number(&mut self, activation: &mut Activation, x: NodeId) -> NodeId {
        let (ty, likely) = (self.ty(x), self.guess(x));
        let is_open = !ty.is(Type::FLONUM) && !ty.is(Type::FIXNUM);
        match test_for(likely) {
            Some(test) if is_open && (likely == Type::FLONUM || likely == Type::FIXNUM) => {
                self.guard(activation, test, x)
            }
            _ => x,
        }
    }

    /// Quotient and remainder of fixnums as two values.
    fn both_parts(
        &mut self,
        activation: &mut Activation,
        name: &str,
        x: NodeId,
        y: NodeId,
    ) -> Option<NodeId> {
        if !matches!(name, "floor/" | "truncate/") || !self.is_stable(activation) {
            return None;
        }
        let is_fixnum = |node: NodeId| {
            let guess = self.guess(node);
            guess.is(Type::FIXNUM) && !guess.is_none()
        };
        if !is_fixnum(x) || !is_fixnum(y) {
            return None;
        }
        let x = self.guard(activation, Test::Fixnum, x);
        self.block?;
        let y = self.guard(activation, Test::Fixnum, y);
        self.block?;
        let (remainder, dividend) = if name == "truncate/" {
            (self.arithmetic(activation, Opcode::Remainder, x, y)?, x)
        } else {
            let remainder = self.arithmetic(activation, Opcode::Modulo, x, y)?;
            let whole = self.arithmetic(activation, Opcode::Subtract, x, remainder)?;
            (remainder, whole)
        };
        let quotient = self.arithmetic(activation, Opcode::Quotient, dividend, y)?;
        let parts = vec![self.tagged(quotient), self.tagged(remainder)];
        Some(self.allocate(Kind::Values, parts, Type::VALUES))
    }

    /// A predicate of doubles, by their arithmetic: a difference of what is not finite is not a number,
    /// which equals nothing.
    fn float_test(&mut self, name: &str, x: NodeId) -> Option<NodeId> {
        let (left, right) = match name {
            "finite?" | "rational?" => (self.float_difference(x, x), None),
            "integer?" => {
                let floor = Op::FloatFunction(FloatFunction::Floor, x, None);
                let floor = self.pure(floor, Type::FLONUM);
                (self.float_difference(x, floor), None)
            }
            "infinite?" => {
                let absolute = Op::FloatFunction(FloatFunction::Absolute, x, None);
                (self.pure(absolute, Type::FLONUM), Some(f64::INFINITY))
            }
            "nan?" => {
                let equal = Condition::Floats(Comparison::Equal, x, x);
                let is_number = self.pure(Op::Boolean(equal), Type::BOOLEAN);
                let no = self.word(layout::FALSE);
                let opposite = Op::Boolean(Condition::Same(is_number, no));
                return Some(self.pure(opposite, Type::BOOLEAN));
            }
            _ => return None,
        };
        let right = self.pure(Op::Float(right.unwrap_or(0.0)), Type::FLONUM);
        let equal = Condition::Floats(Comparison::Equal, left, right);
        Some(self.pure(Op::Boolean(equal), Type::BOOLEAN))
    }

    fn float_difference(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let difference = Op::FloatArithmetic(FloatOperation::Subtract, x, y);
        self.pure(difference, Type::FLONUM)
    }

    /// A numeric function of one argument of known type.
    fn unary(&mut self, activation: &mut Activation, name: &str, x: NodeId) -> Option<NodeId> {
        let ty = self.ty(x);
        let (is_float, is_fixnum) = (ty.is(Type::FLONUM), ty.is(Type::FIXNUM));
        match name {
            "length" => {
                let length = self.known_length(x)?;
                Some(self.fixnum(length as i64))
            }
            "symbol->string" => self.symbol_name(activation, x),
            "append" => Some(x),
            "list->vector" => {
                // The empty vector is one object.
                let elements = self.known_elements(x)?;
                let elements = (!elements.is_empty()).then_some(elements)?;
                let elements = elements.into_iter().map(|element| self.tagged(element));
                let elements = elements.collect();
                Some(self.allocate(Kind::Vector, elements, Type::VECTOR))
            }
            "real-part" | "imag-part" => self.part(activation, name, x),
            "record-type-descriptor" | "%record-type-extension" | "%record-type-key" => {
                self.of_record_type(activation, name, x)
            }
            "inexact" | "exact->inexact" if is_float => Some(x),
            "inexact" | "exact->inexact" if is_fixnum => {
                Some(self.pure(Op::FixnumToFloat(x), Type::FLONUM))
            }
            "exact" | "inexact->exact" if is_float => {
                let value = self.float(x);
                let state = self.state(activation);
                Some(self.pure(Op::FloatToFixnum(value, state), Type::FIXNUM))
            }
            "even?" | "odd?" if is_fixnum => self.parity(activation, name, x),
            "bitwise-not" if is_fixnum => {
                let ones = self.fixnum(-1);
                self.arithmetic(activation, Opcode::BitXor, x, ones)
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
                let value = self.float(x);
                if name == "/" {
                    let one = self.pure(Op::Float(1.0), Type::FLONUM);
                    let divided = Op::FloatArithmetic(FloatOperation::Divide, one, value);
                    return Some(self.pure(divided, Type::FLONUM));
                }
                if let Some(answer) = self.float_test(name, value) {
                    return Some(answer);
                }
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
                let state = (function == FloatFunction::SquareRoot).then(|| self.state(activation));
                Some(self.pure(Op::FloatFunction(function, value, state), Type::FLONUM))
            }
            _ => None,
        }
    }
}

impl Builder<'_> {
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
                let load = Op::Load(
                    x,
                    FIELD0 + 8 * record_type::EXTENSION as i32,
                    Memory::Record,
                );
                self.pure(load, Type::ANY)
            }
        })
    }

    fn symbol_name(&mut self, activation: &mut Activation, x: NodeId) -> Option<NodeId> {
        let x = self.tagged(x);
        let x = self.guard(activation, Test::Kind(Kind::Symbol), x);
        self.block?;
        let load = Op::Load(x, FIELD0, Memory::Constant);
        Some(self.pure(load, Type::STRING))
    }

    pub(super) fn type_of_record(&mut self, record: NodeId) -> NodeId {
        let load = Op::Load(record, FIELD0, Memory::Constant);
        self.pure(load, Type::RECORD_TYPE)
    }

    /// A word of a record type that never changes.
    pub(super) fn word_of_type(&mut self, object: NodeId, index: usize, ty: Type) -> NodeId {
        let load = Op::Load(object, FIELD0 + 8 * index as i32, Memory::Constant);
        self.pure(load, ty)
    }
}

/// The loads of a composition of `car` and `cdr`, or of the first elements of a list, in order.
fn pair_path(name: &str) -> Option<Vec<(i32, Memory)>> {
    let letters = match name {
        "first" => "a",
        "second" => "ad",
        "third" => "add",
        "fourth" => "addd",
        "fifth" => "adddd",
        _ => name.strip_prefix('c')?.strip_suffix('r')?,
    };
    letters
        .chars()
        .rev()
        .map(|letter| match letter {
            'a' => Some((layout::CAR, Memory::Car)),
            'd' => Some((layout::CDR, Memory::Cdr)),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .filter(|path| !path.is_empty())
}
