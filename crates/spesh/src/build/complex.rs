//! Inexact complex numbers: their parts are computed with as unboxed doubles. A number that is made
//! here is known to have them, so a chain of operations loads nothing, and a number that only such
//! operations want is never made.

use canny_tables::kinds::Kind;
use canny_tables::layout::FIELD0;
use canny_tables::opcodes::Opcode;

use super::{Activation, Builder};
use crate::graph::{FloatFunction, FloatOperation, Memory, NodeId, Op, Representation, Test};
use crate::types::Type;

use FloatOperation::{Add, Multiply, Subtract};

/// Offset of the real part; the imaginary part is the word behind.
const REAL: i32 = FIELD0;
const IMAGINARY: i32 = FIELD0 + 8;

impl Builder<'_> {
    /// Sum, difference or product of what is likely to be complex numbers, or one of them and a flonum;
    /// none where it is not.
    pub(super) fn complex_arithmetic(
        &mut self,
        activation: &mut Activation,
        opcode: Opcode,
        x: NodeId,
        y: NodeId,
    ) -> Option<NodeId> {
        let operation = match opcode {
            Opcode::Add => Add,
            Opcode::Subtract => Subtract,
            Opcode::Multiply => Multiply,
            _ => return None,
        };
        let (guess_x, guess_y) = (self.guess(x), self.guess(y));
        let is_complex = |guess: Type| guess == Type::COMPNUM;
        let is_float = |guess: Type| guess == Type::FLONUM;
        let is_unstable = self
            .profile
            .is_unstable(activation.code.word, activation.pc);
        if is_unstable || !is_complex(guess_x) && !is_complex(guess_y) {
            return None;
        }
        let (real, imaginary) = if is_complex(guess_x) && is_complex(guess_y) {
            let Some(x_parts) = self.parts(activation, x) else {
                return Some(x);
            };
            let Some(y_parts) = self.parts(activation, y) else {
                return Some(x);
            };
            self.of_complex(operation, x_parts, y_parts)
        } else if is_float(guess_y) {
            let Some((a, b)) = self.parts(activation, x) else {
                return Some(x);
            };
            let Some(y) = self.double(activation, y) else {
                return Some(x);
            };
            let real = self.float_operation(operation, a, y);
            let imaginary = match operation {
                Multiply => self.float_operation(Multiply, b, y),
                _ => b,
            };
            (real, imaginary)
        } else if is_float(guess_x) {
            let Some(x) = self.double(activation, x) else {
                return Some(y);
            };
            let Some((c, d)) = self.parts(activation, y) else {
                return Some(y);
            };
            let real = self.float_operation(operation, x, c);
            let imaginary = match operation {
                Multiply => self.float_operation(Multiply, x, d),
                Subtract => {
                    let negated = Op::FloatFunction(FloatFunction::Negate, d, None);
                    self.pure(negated, Type::FLONUM)
                }
                _ => d,
            };
            (real, imaginary)
        } else {
            return None;
        };
        Some(self.compnum(real, imaginary))
    }

    /// The parts of a sum, difference or product, by the schoolbook's formulas as in the tower.
    fn of_complex(
        &mut self,
        operation: FloatOperation,
        (a, b): (NodeId, NodeId),
        (c, d): (NodeId, NodeId),
    ) -> (NodeId, NodeId) {
        if operation != Multiply {
            let real = self.float_operation(operation, a, c);
            return (real, self.float_operation(operation, b, d));
        }
        let [ac, bd, ad, bc] =
            [(a, c), (b, d), (a, d), (b, c)].map(|(x, y)| self.float_operation(Multiply, x, y));
        let real = self.float_operation(Subtract, ac, bd);
        (real, self.float_operation(Add, ad, bc))
    }

    /// `make-rectangular` of flonums.
    pub(super) fn rectangular(&mut self, name: &str, x: NodeId, y: NodeId) -> Option<NodeId> {
        let are_floats = self.ty(x) == Type::FLONUM && self.ty(y) == Type::FLONUM;
        (name == "make-rectangular" && are_floats).then(|| self.compnum(x, y))
    }

    /// The real or imaginary part of what is likely to be a complex number.
    pub(super) fn part(
        &mut self,
        activation: &mut Activation,
        name: &str,
        x: NodeId,
    ) -> Option<NodeId> {
        let offset = match name {
            "real-part" => REAL,
            "imag-part" => IMAGINARY,
            _ => return None,
        };
        if self.guess(x) != Type::COMPNUM {
            return None;
        }
        let x = self.guard(activation, Test::Kind(Kind::Compnum), x);
        if self.block.is_none() {
            return Some(x);
        }
        let value = self.load_part(x, offset);
        if self.graph.node(value).ty == Type::NUMBER {
            self.likely.entry(value).or_insert(Type::FLONUM);
        }
        Some(value)
    }

    /// Both parts as doubles; none if control cannot get there.
    fn parts(&mut self, activation: &mut Activation, x: NodeId) -> Option<(NodeId, NodeId)> {
        let x = self.guard(activation, Test::Kind(Kind::Compnum), x);
        self.block?;
        let mut doubles = [x; 2];
        for (double, offset) in doubles.iter_mut().zip([REAL, IMAGINARY]) {
            let part = self.load_part(x, offset);
            let part = self.guard(activation, Test::Flonum, part);
            self.block?;
            *double = self.float(part);
        }
        Some((doubles[0], doubles[1]))
    }

    fn load_part(&mut self, object: NodeId, offset: i32) -> NodeId {
        let load = Op::Load(object, offset, Memory::Constant);
        self.pure(load, Type::NUMBER)
    }

    fn float_operation(&mut self, operation: FloatOperation, x: NodeId, y: NodeId) -> NodeId {
        self.pure(Op::FloatArithmetic(operation, x, y), Type::FLONUM)
    }

    /// The double of what is likely to be a flonum; none if control cannot get there.
    fn double(&mut self, activation: &mut Activation, x: NodeId) -> Option<NodeId> {
        let x = if self.graph.representation(x) == Representation::Float {
            x
        } else {
            self.guard(activation, Test::Flonum, x)
        };
        self.block?;
        Some(self.float(x))
    }

    /// A new complex number, whose parts are known from here on.
    fn compnum(&mut self, real: NodeId, imaginary: NodeId) -> NodeId {
        let (real, imaginary) = (self.tagged(real), self.tagged(imaginary));
        self.allocate(Kind::Compnum, vec![real, imaginary], Type::COMPNUM)
    }
}
