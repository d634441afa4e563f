//! Lowers functions of the bits of fixnums. The leaf function is called on a cold path for other numbers,
//! and for bits out of the range of fixnums.

use canny_spesh::graph::NodeId;
use canny_spesh::types::Type;
use canny_tables::layout::{self, FIXNUM_SHIFT};
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::Segment;
use crate::JitError;

const SHIFT: i64 = FIXNUM_SHIFT as i64;
/// The one of fixnums.
const ONE: u64 = 1 << FIXNUM_SHIFT;
/// The last bit of a fixnum, its sign.
const INDEX_MAX: i64 = 61;
/// Bits of a field that is a fixnum in any case, and bits that may be changed without a look at the sign.
const FIELD_MAX: i64 = 60;

/// A function, with its operands.
enum Function {
    IsSet(NodeId, NodeId),
    Copy(NodeId, NodeId, NodeId),
    Field(NodeId, NodeId, NodeId),
    If(NodeId, NodeId, NodeId),
}

impl Function {
    fn of(primitive: &str, words: &[NodeId]) -> Option<Function> {
        match (primitive, words) {
            ("bit-set?", [index, x]) => Some(Function::IsSet(*index, *x)),
            ("copy-bit", [index, x, bit]) => Some(Function::Copy(*index, *x, *bit)),
            ("bit-field", [x, start, end]) => Some(Function::Field(*x, *start, *end)),
            ("bitwise-if", [mask, x, y]) => Some(Function::If(*mask, *x, *y)),
            _ => None,
        }
    }
}

impl Segment<'_, '_> {
    /// A function of bits; false if the leaf function is another one.
    pub(super) fn function_of_bits(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        words: &[NodeId],
    ) -> Result<bool, JitError> {
        let Some(function) = Function::of(leaf.row().primitive, words) else {
            return Ok(false);
        };
        let leaf = self.leaf_function(leaf)?;
        let (slow, done) = (self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let answer = match function {
            Function::IsSet(index, x) => self.is_bit_set(index, x, slow),
            Function::Copy(index, x, bit) => self.copy_bit(index, x, bit, slow),
            Function::Field(x, start, end) => self.bit_field([x, start, end], slow),
            Function::If(mask, x, y) => {
                let [mask, x, y] = self.fixnums([mask, x, y], slow);
                let differences = self.builder.ins().bxor(x, y);
                let chosen = self.builder.ins().band(differences, mask);
                self.builder.ins().bxor(y, chosen)
            }
        };
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(slow);
        let answer = self.call_leaf(id, leaf, words)?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(true)
    }

    /// The words of operands; goes to `slow` unless all are fixnums.
    fn fixnums<const COUNT: usize>(
        &mut self,
        operands: [NodeId; COUNT],
        slow: Block,
    ) -> [Value; COUNT] {
        let mut asked = None;
        let words = operands.map(|operand| {
            let word = self.tagged(operand);
            if !self.procedure.graph.node(operand).ty.is(Type::FIXNUM) {
                asked = Some(match asked {
                    None => word,
                    Some(others) => self.builder.ins().bor(others, word),
                });
            }
            word
        });
        if let Some(bits) = asked {
            let fixnums = self.new_block();
            self.masked_branch(bits, 3, 0, fixnums, slow);
            self.begin(fixnums);
        }
        words
    }

    /// A fixnum as a count of bits; goes to `slow` unless it is from zero to a greatest one.
    fn bit_count_in(&mut self, fixnum: Value, greatest: i64, slow: Block) -> Value {
        let inside = self.new_block();
        let above = IntCC::UnsignedGreaterThan;
        let is_outside = self
            .builder
            .ins()
            .icmp_imm_s(above, fixnum, greatest << SHIFT);
        self.builder.ins().brif(is_outside, slow, &[], inside, &[]);
        self.begin(inside);
        self.builder.ins().ushr_imm_u(fixnum, SHIFT)
    }

    fn is_bit_set(&mut self, index: NodeId, x: NodeId, slow: Block) -> Value {
        let [index, x] = self.fixnums([index, x], slow);
        let count = self.bit_count_in(index, INDEX_MAX, slow);
        let shifted = self.builder.ins().sshr(x, count);
        let bit = self.builder.ins().band_imm_s(shifted, ONE as i64);
        const STEP: u64 = (layout::TRUE - layout::FALSE) / ONE;
        const _: () = assert!(layout::TRUE - layout::FALSE == STEP * ONE && STEP.is_power_of_two());
        let scaled = self
            .builder
            .ins()
            .ishl_imm_u(bit, i64::from(STEP.trailing_zeros()));
        self.builder.ins().iadd_imm_s(scaled, layout::FALSE as i64)
    }

    fn copy_bit(&mut self, index: NodeId, x: NodeId, bit: NodeId, slow: Block) -> Value {
        let [index, x] = self.fixnums([index, x], slow);
        let count = self.bit_count_in(index, FIELD_MAX - 1, slow);
        let one = self.word(ONE);
        let mask = self.builder.ins().ishl(one, count);
        let set = self.builder.ins().bor(x, mask);
        let cleared = self.builder.ins().band_not(x, mask);
        match self.constant(bit) {
            Some(layout::FALSE) => cleared,
            Some(_) => set,
            None => {
                let bit = self.tagged(bit);
                let is_false = self.masked(bit, u64::MAX, layout::FALSE);
                self.builder.ins().select(is_false, cleared, set)
            }
        }
    }

    /// The bits of a fixnum from the second operand to the third one.
    fn bit_field(&mut self, operands: [NodeId; 3], slow: Block) -> Value {
        let [x, start, end] = self.fixnums(operands, slow);
        let width = self.builder.ins().isub(end, start);
        let start = self.bit_count_in(start, INDEX_MAX, slow);
        let width = self.bit_count_in(width, FIELD_MAX, slow);
        let shifted = self.builder.ins().sshr(x, start);
        let one = self.word(ONE);
        let above = self.builder.ins().ishl(one, width);
        let mask = self.builder.ins().iadd_imm_s(above, -(ONE as i64));
        self.builder.ins().band(shifted, mask)
    }
}
