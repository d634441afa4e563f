//! Numbers: which kind of arithmetic an instruction is compiled to.
//!
//! The types of the operands decide: fixnum arithmetic with an overflow check, float arithmetic on
//! unboxed doubles, or a runtime instruction. Where types are open the profile chooses what to
//! guard, and a guard that failed before is not chosen again. A failed guard or an overflow exits
//! to the state before the instruction, so the interpreter repeats it. Results are those of
//! `number`. Where guards failed, or the logs saw several kinds of numbers, the instruction becomes
//! one operation for all kinds, and the runtime has what even that declines.

use canny_compiler::instruction::Instruction;
use canny_tables::layout;
use canny_tables::leaves;
use canny_tables::opcodes::Opcode;

use super::control::{Facts, constant_double};
use super::{Activation, Builder};
use crate::graph::{
    Comparison, Condition, FixnumOperation, FloatOperation, NodeId, Op, Representation, Test,
};
use crate::types::Type;

/// How to compute with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As fixnums.
    Fixnums,
    /// As doubles.
    Floats,
    /// As the runtime does.
    General,
}

impl Builder<'_> {
    /// Chooses from types, and where they are open from what is likely; a choice that needs a check that
    /// failed before is not made again.
    fn way(&self, activation: &Activation, x: NodeId, y: NodeId) -> Way {
        let (code, pc) = (activation.code.word, activation.pc);
        let (tx, ty) = (self.ty(x), self.ty(y));
        let real = Type::FIXNUM.or(Type::FLONUM);
        if tx.is(Type::FIXNUM) && ty.is(Type::FIXNUM) {
            return if self.profile.is_unstable(code, pc) {
                Way::General
            } else {
                Way::Fixnums
            };
        }
        if tx.is(real) && ty.is(real) && (tx.is(Type::FLONUM) || ty.is(Type::FLONUM)) {
            return Way::Floats;
        }
        let failed = self.profile.failed_operands(code, pc);
        let (gx, gy) = (
            self.guess(x).or(failed.and(tx)),
            self.guess(y).or(failed.and(ty)),
        );
        let unstable = self.profile.is_unstable(code, pc);
        let is_float = |guess: Type, exact: Type| {
            exact.is(Type::FLONUM) || (guess.is(Type::FLONUM) && !guess.is_none())
        };
        let is_fixnum = |guess: Type, exact: Type| {
            exact.is(Type::FIXNUM) || (guess.is(Type::FIXNUM) && !guess.is_none())
        };
        if unstable {
            return Way::General;
        }
        if !failed.is_none() {
            // Trust what failed before what was guessed.
            if failed.is(Type::FLONUM) && tx.may_be(Type::FLONUM) | ty.may_be(Type::FLONUM) {
                return Way::Floats;
            }
            if !failed.is(real) {
                return Way::General;
            }
        }
        match (is_float(gx, tx), is_float(gy, ty)) {
            (true, true) => return Way::Floats,
            (true, false) if gy == Type::ANY || gy.is(real) => return Way::Floats,
            (false, true) if gx == Type::ANY || gx.is(real) => return Way::Floats,
            _ => {}
        }
        // The logs saw several kinds of numbers.
        let is_mixed = |node: NodeId, guess: Type| {
            self.likely.contains_key(&node) && guess.is(Type::NUMBER) && guess.is_several()
        };
        if is_mixed(x, gx) || is_mixed(y, gy) {
            return Way::General;
        }
        let open = |guess: Type| guess == Type::ANY || guess.may_be(Type::FIXNUM);
        if is_fixnum(gx, tx) && open(gy) || is_fixnum(gy, ty) && open(gx) || open(gx) && open(gy) {
            return Way::Fixnums;
        }
        Way::General
    }

    /// The operand as a fixnum.
    fn as_fixnum(&mut self, activation: &mut Activation, x: NodeId) -> NodeId {
        self.guard(activation, Test::Fixnum, x)
    }

    /// The operand as a double: a flonum unless it is known to be a fixnum, or may be one.
    fn as_float(&mut self, activation: &mut Activation, x: NodeId) -> NodeId {
        if self.graph.representation(x) == Representation::Float {
            return x;
        }
        if let Some(value) = self.constant(x).and_then(constant_double) {
            return self.pure(Op::Float(value), Type::FLONUM);
        }
        let ty = self.ty(x);
        if ty.is(Type::FIXNUM) {
            return self.pure(Op::FixnumToFloat(x), Type::FLONUM);
        }
        if ty.is(Type::FLONUM) {
            return self.float(x);
        }
        if ty.is(Type::FIXNUM.or(Type::FLONUM)) {
            return self.pure(Op::NumberToFloat(x), Type::FLONUM);
        }
        let guarded = self.guard(activation, Test::Flonum, x);
        if self.block.is_none() {
            return x;
        }
        self.float(guarded)
    }

    /// The operands of float arithmetic, of which one is a flonum: of two that may both be fixnums,
    /// whose result would be exact, one is asked.
    fn with_flonum(
        &mut self,
        activation: &mut Activation,
        x: NodeId,
        y: NodeId,
    ) -> (NodeId, NodeId) {
        let real = Type::FIXNUM.or(Type::FLONUM);
        // An operand that may be something else is guarded anyway.
        let is_flonum = |ty: Type| ty.is(Type::FLONUM) || !ty.is(real);
        let (tx, ty) = (self.ty(x), self.ty(y));
        if is_flonum(tx) || is_flonum(ty) {
            return (x, y);
        }
        let asks_first =
            tx.may_be(Type::FLONUM) && (self.guess(x).is(Type::FLONUM) || !ty.may_be(Type::FLONUM));
        let asked = self.guard(activation, Test::Flonum, if asks_first { x } else { y });
        if asks_first {
            (asked, if x == y { asked } else { y })
        } else {
            (if x == y { asked } else { x }, asked)
        }
    }

    /// An arithmetic instruction on two values; none where it is left to the runtime.
    pub(super) fn arithmetic(
        &mut self,
        activation: &mut Activation,
        opcode: Opcode,
        x: NodeId,
        y: NodeId,
    ) -> Option<NodeId> {
        let way = self.way(activation, x, y);
        match (way, fixnum_operation(opcode), float_operation(opcode)) {
            (Way::Fixnums, Some(operation), _) => {
                let x = self.as_fixnum(activation, x);
                let y = if self.block.is_some() {
                    self.as_fixnum(activation, y)
                } else {
                    y
                };
                if self.block.is_none() {
                    return Some(x);
                }
                Some(self.fixnum_operation(activation, operation, x, y))
            }
            // An exact zero divides nothing, which the runtime says.
            (Way::Floats, _, Some(FloatOperation::Divide)) if self.constant(y) == Some(0) => None,
            (Way::Floats, _, Some(operation)) => {
                let (x, y) = self.with_flonum(activation, x, y);
                if self.block.is_none() {
                    return Some(x);
                }
                let x = self.as_float(activation, x);
                let y = if self.block.is_some() {
                    self.as_float(activation, y)
                } else {
                    y
                };
                if self.block.is_none() {
                    return Some(x);
                }
                if operation == FloatOperation::Divide
                    && let Op::FixnumToFloat(exact) | Op::NumberToFloat(exact) =
                        self.graph.node(y).op
                {
                    let zero = self.fixnum(0);
                    self.leave_if(activation, Condition::Same(exact, zero));
                }
                Some(self.pure(Op::FloatArithmetic(operation, x, y), Type::FLONUM))
            }
            (Way::General, ..)
                if let Some(value) = self.complex_arithmetic(activation, opcode, x, y) =>
            {
                Some(value)
            }
            _ => self.general(activation, primitive_of(opcode)?, x, y, Type::NUMBER),
        }
    }

    /// Arithmetic or a comparison whatever the kinds of the numbers are; none where it is left to the
    /// runtime, since even that failed.
    fn general(
        &mut self,
        activation: &mut Activation,
        primitive: &str,
        x: NodeId,
        y: NodeId,
        ty: Type,
    ) -> Option<NodeId> {
        if self.profile.declines(activation.code.word, activation.pc)
            || !self.ty(x).may_be(Type::NUMBER)
            || !self.ty(y).may_be(Type::NUMBER)
        {
            return None;
        }
        let leaf = leaves::lookup(primitive, 2)?;
        let (x, y) = (self.tagged(x), self.tagged(y));
        let key = Op::Number(leaf, x, y, super::environment::NO_STATE);
        if let Some(node) = self.numbering.find(&key) {
            return Some(node);
        }
        let state = self.state(activation);
        let value = self.pure(Op::Number(leaf, x, y, state), ty);
        self.expect(activation, value);
        Some(value)
    }

    fn fixnum_operation(
        &mut self,
        activation: &mut Activation,
        operation: FixnumOperation,
        x: NodeId,
        y: NodeId,
    ) -> NodeId {
        let zero = Some(0);
        match operation {
            FixnumOperation::Add if self.constant(y) == zero => return x,
            FixnumOperation::Add if self.constant(x) == zero => return y,
            FixnumOperation::Subtract if self.constant(y) == zero => return x,
            _ => {}
        }
        if let (Some(a), Some(b)) = (self.constant(x), self.constant(y))
            && let Some(result) = fold(operation, a as i64, b as i64)
        {
            return self.word(result as u64);
        }
        let key = Op::Fixnum(operation, x, y, super::environment::NO_STATE);
        if let Some(node) = self.numbering.find(&key) {
            return node;
        }
        let state = self.state(activation);
        self.pure(Op::Fixnum(operation, x, y, state), Type::FIXNUM)
    }

    /// A comparison that branches. `opcode` has its operands in `x` and `y`.
    pub(super) fn comparison(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        comparison: Comparison,
        negated: bool,
        x: NodeId,
        y: NodeId,
    ) {
        let target = instruction.branch_target().unwrap_or(0) as usize;
        let next = instruction.next_pc();
        let Some(condition) = self.compared(activation, comparison, x, y) else {
            return self.runtime_branch(activation, target, next);
        };
        if let Condition::Fixnums(_, x, y) = condition
            && let (Some(a), Some(b)) = (self.constant(x), self.constant(y))
        {
            let holds = compare(comparison, a as i64, b as i64);
            let way = if holds != negated { target } else { next };
            return self.jump(activation, way);
        }
        if self.block.is_none() {
            return;
        }
        let (holds, fails) = if negated {
            (next, target)
        } else {
            (target, next)
        };
        self.branch(
            activation,
            condition,
            (holds, Facts::new()),
            (fails, Facts::new()),
        );
    }

    /// Returns the condition of a comparison; none where it is left to the runtime.
    pub(super) fn compared(
        &mut self,
        activation: &mut Activation,
        comparison: Comparison,
        x: NodeId,
        y: NodeId,
    ) -> Option<Condition> {
        match self.way(activation, x, y) {
            Way::Fixnums => {
                let x = self.as_fixnum(activation, x);
                let y = if self.block.is_some() {
                    self.as_fixnum(activation, y)
                } else {
                    y
                };
                Some(Condition::Fixnums(comparison, x, y))
            }
            Way::Floats if self.exact_float_comparison(x, y) => {
                let x = self.as_float(activation, x);
                let y = if self.block.is_some() {
                    self.as_float(activation, y)
                } else {
                    y
                };
                Some(Condition::Floats(comparison, x, y))
            }
            _ => {
                let primitive = match comparison {
                    Comparison::Less => "<",
                    Comparison::LessEqual => "<=",
                    Comparison::Equal => "=",
                    Comparison::Greater => ">",
                    Comparison::GreaterEqual => ">=",
                };
                let (x, y) = self.with_fixnum(activation, x, y);
                if self.block.is_none() {
                    return Some(Condition::Same(x, y));
                }
                let answer = self.general(activation, primitive, x, y, Type::BOOLEAN)?;
                Some(Condition::Test(Test::Word(layout::TRUE), answer))
            }
        }
    }

    /// The operands of a comparison of any numbers, one of them checked to be a fixnum if it always was
    /// one: bignums and ratios are compared with fixnums in line.
    fn with_fixnum(
        &mut self,
        activation: &mut Activation,
        x: NodeId,
        y: NodeId,
    ) -> (NodeId, NodeId) {
        let (code, pc) = (activation.code.word, activation.pc);
        let is_open = |node: NodeId| !self.ty(node).is(Type::FIXNUM);
        if !is_open(x)
            || !is_open(y)
            || self.profile.is_unstable(code, pc)
            || !self.profile.failed_operands(code, pc).is_none()
        {
            return (x, y);
        }
        let was_fixnum = |node: NodeId| self.guess(node) == Type::FIXNUM;
        match (was_fixnum(x), was_fixnum(y)) {
            (_, true) => (x, self.guard(activation, Test::Fixnum, y)),
            (true, _) => (self.guard(activation, Test::Fixnum, x), y),
            _ => (x, y),
        }
    }

    /// Whether comparing as doubles compares the numbers: not for a fixnum that a double may not hold.
    fn exact_float_comparison(&self, x: NodeId, y: NodeId) -> bool {
        let exact = |node: NodeId| match self.constant(node) {
            Some(bits) => constant_double(bits).is_some_and(|value| value.abs() < 9e15),
            // An operand that may be neither fixnum nor flonum is guarded to be a flonum.
            None => {
                !self.ty(node).is(Type::FIXNUM.or(Type::FLONUM)) || self.ty(node).is(Type::FLONUM)
            }
        };
        exact(x) && exact(y)
    }
}

fn compare(comparison: Comparison, a: i64, b: i64) -> bool {
    match comparison {
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Equal => a == b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
    }
}

/// Constant sum, difference or bitwise operation of tagged fixnums, if it is a fixnum.
fn fold(operation: FixnumOperation, a: i64, b: i64) -> Option<i64> {
    match operation {
        FixnumOperation::Add => a.checked_add(b),
        FixnumOperation::Subtract => a.checked_sub(b),
        FixnumOperation::And => Some(a & b),
        FixnumOperation::Or => Some(a | b),
        FixnumOperation::Xor => Some(a ^ b),
        _ => None,
    }
}

fn fixnum_operation(opcode: Opcode) -> Option<FixnumOperation> {
    Some(match opcode {
        Opcode::Add | Opcode::AddImmediate => FixnumOperation::Add,
        Opcode::Subtract => FixnumOperation::Subtract,
        Opcode::Multiply => FixnumOperation::Multiply,
        Opcode::Quotient => FixnumOperation::Quotient,
        Opcode::Remainder => FixnumOperation::Remainder,
        Opcode::Modulo => FixnumOperation::Modulo,
        Opcode::BitAnd => FixnumOperation::And,
        Opcode::BitOr => FixnumOperation::Or,
        Opcode::BitXor => FixnumOperation::Xor,
        Opcode::ShiftLeft => FixnumOperation::Shift,
        _ => return None,
    })
}

/// The primitive whose leaf function does what an instruction does.
fn primitive_of(opcode: Opcode) -> Option<&'static str> {
    Some(match opcode {
        Opcode::Add | Opcode::AddImmediate => "+",
        Opcode::Subtract => "-",
        Opcode::Multiply => "*",
        Opcode::Divide => "/",
        Opcode::Quotient => "quotient",
        Opcode::Remainder => "remainder",
        Opcode::Modulo => "modulo",
        Opcode::BitAnd => "bitwise-and",
        Opcode::BitOr => "bitwise-ior",
        Opcode::BitXor => "bitwise-xor",
        Opcode::ShiftLeft => "arithmetic-shift",
        _ => return None,
    })
}

fn float_operation(opcode: Opcode) -> Option<FloatOperation> {
    Some(match opcode {
        Opcode::Add | Opcode::AddImmediate => FloatOperation::Add,
        Opcode::Subtract => FloatOperation::Subtract,
        Opcode::Multiply => FloatOperation::Multiply,
        Opcode::Divide => FloatOperation::Divide,
        _ => return None,
    })
}
