//! Lowers arithmetic and comparisons of numbers whose kinds vary.
//!
//! Two fixnums are computed with here, and comparisons of other usual operands are made. The rest, and
//! results that are no fixnums, are left to a leaf function on a cold path that comes back: values stay
//! in registers, and only what the function declines leaves compiled code.

use canny_spesh::graph::{Comparison, Condition, FixnumOperation, NodeId};
use canny_spesh::types::Type;
use canny_tables::layout::FIXNUM_SHIFT;
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder};

use super::segment::Segment;
use crate::JitError;

/// Operation on two fixnums.
enum Quick {
    Arithmetic(FixnumOperation),
    Comparison(Comparison),
}

impl Quick {
    fn of(primitive: &str) -> Option<Quick> {
        use Quick::{Arithmetic, Comparison as Compare};
        Some(match primitive {
            "+" => Arithmetic(FixnumOperation::Add),
            "-" => Arithmetic(FixnumOperation::Subtract),
            "*" => Arithmetic(FixnumOperation::Multiply),
            "quotient" => Arithmetic(FixnumOperation::Quotient),
            "remainder" => Arithmetic(FixnumOperation::Remainder),
            "modulo" => Arithmetic(FixnumOperation::Modulo),
            "bitwise-and" => Arithmetic(FixnumOperation::And),
            "bitwise-ior" => Arithmetic(FixnumOperation::Or),
            "bitwise-xor" => Arithmetic(FixnumOperation::Xor),
            "arithmetic-shift" => Arithmetic(FixnumOperation::Shift),
            "<" => Compare(Comparison::Less),
            "<=" => Compare(Comparison::LessEqual),
            "=" => Compare(Comparison::Equal),
            ">" => Compare(Comparison::Greater),
            ">=" => Compare(Comparison::GreaterEqual),
            _ => return None,
        })
    }
}

impl Segment<'_, '_> {
    pub(super) fn general(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        x: NodeId,
        y: NodeId,
    ) -> Result<(), JitError> {
        let function = self.leaf_function(leaf)?;
        let graph = self.procedure.graph;
        let [tx, ty] = [x, y].map(|operand| graph.node(operand).ty);
        let quick = Quick::of(leaf.row().primitive);
        let may_be_fixnums = tx.may_be(Type::FIXNUM) && ty.may_be(Type::FIXNUM);
        let done = self.new_block();
        let result = self.builder.append_block_param(done, I64);
        if let Some(quick) = &quick
            && may_be_fixnums
        {
            self.quick(id, quick, leaf, [x, y], done)?;
        }
        if let Some(Quick::Comparison(comparison)) = quick {
            self.compare_mixed(comparison, x, y, done);
        } else if self.is_same(leaf, y) {
            self.give_number(x, done);
        }
        let answer = self.call_leaf(id, function, &[x, y])?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(())
    }

    /// Whether an operation with this second operand is the identity of all numbers.
    fn is_same(&self, leaf: LeafId, y: NodeId) -> bool {
        let is_one = self.constant(y) == Some(1 << FIXNUM_SHIFT);
        is_one && matches!(leaf.row().primitive, "*" | "/")
    }

    /// Computes with two fixnums and goes to `done`. Goes on in a block for other operands, and for results
    /// that are no fixnums.
    fn quick(
        &mut self,
        id: NodeId,
        quick: &Quick,
        leaf: LeafId,
        [x, y]: [NodeId; 2],
        done: Block,
    ) -> Result<(), JitError> {
        let graph = self.procedure.graph;
        let [tx, ty] = [x, y].map(|operand| graph.node(operand).ty);
        let slow = match quick {
            Quick::Arithmetic(_) if !self.is_same(leaf, y) => self.cold_block(),
            _ => self.new_block(),
        };
        let asked = match (tx.is(Type::FIXNUM), ty.is(Type::FIXNUM)) {
            (true, true) => None,
            (true, false) => Some(self.value(y)),
            (false, true) => Some(self.value(x)),
            (false, false) if x == y => Some(self.value(x)),
            (false, false) => {
                let (x, y) = (self.value(x), self.value(y));
                Some(self.builder.ins().bor(x, y))
            }
        };
        if let Some(bits) = asked {
            let fixnums = self.new_block();
            self.masked_branch(bits, 3, 0, fixnums, slow);
            self.begin(fixnums);
        }
        self.detour = Some(slow);
        let answer = match quick {
            Quick::Arithmetic(operation) => self.fixnum(id, *operation, x, y),
            Quick::Comparison(comparison) => {
                Ok(self.boolean(&Condition::Fixnums(*comparison, x, y)))
            }
        };
        self.detour = None;
        let answer = answer?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(slow);
        Ok(())
    }
}
