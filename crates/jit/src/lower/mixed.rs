//! Lowers comparisons of numbers that are not two fixnums: flonums in words, bignums and ratios of
//! fixnums beside a fixnum, two ratios of fixnums, and fixnums beside flonums. Other operands are left to
//! the leaf function.

use canny_spesh::graph::{Comparison, NodeId};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, FIXNUM_SHIFT};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::conditions::{float, signed};
use super::segment::Segment;

const SHIFT: i64 = FIXNUM_SHIFT as i64;
/// Fixnums up to here are the same numbers as doubles.
const EXACT_AS_DOUBLE: i64 = 1 << f64::MANTISSA_DIGITS;

impl Segment<'_, '_> {
    /// Compares two numbers that are not both fixnums and goes to `done` with the truth value. Goes on in
    /// a block for other operands.
    pub(super) fn compare_mixed(
        &mut self,
        comparison: Comparison,
        x: NodeId,
        y: NodeId,
        done: Block,
    ) {
        let other = self.cold_block();
        let graph = self.procedure.graph;
        let [is_x_fixnum, is_y_fixnum] =
            [x, y].map(|operand| graph.node(operand).ty.is(Type::FIXNUM));
        let constant = self.constant(if is_y_fixnum { y } else { x });
        let constant = constant.map(|word| word as i64 >> SHIFT);
        let (x, y) = (self.value(x), self.value(y));
        if is_y_fixnum {
            self.compare_with_fixnum(comparison, x, (y, constant), done, other);
        } else if is_x_fixnum {
            let comparison = reversed(comparison);
            self.compare_with_fixnum(comparison, y, (x, constant), done, other);
        } else {
            self.compare_open(comparison, x, y, done, other);
        }
        self.begin(other);
    }

    /// Compares two numbers of which nothing is known.
    fn compare_open(
        &mut self,
        comparison: Comparison,
        x: Value,
        y: Value,
        done: Block,
        other: Block,
    ) {
        let (with_fixnum, no_fixnum) = (self.new_block(), self.new_block());
        self.masked_branch(y, 3, 0, with_fixnum, no_fixnum);
        self.begin(with_fixnum);
        self.compare_with_fixnum(comparison, x, (y, None), done, other);
        self.begin(no_fixnum);
        let (with_fixnum, no_fixnum) = (self.new_block(), self.new_block());
        self.masked_branch(x, 3, 0, with_fixnum, no_fixnum);
        self.begin(with_fixnum);
        self.compare_with_fixnum(reversed(comparison), y, (x, None), done, other);
        self.begin(no_fixnum);
        let no_flonum = self.cold_block();
        let [left, right] = [(x, no_flonum), (y, other)].map(|(operand, no)| {
            let flonum = self.new_block();
            let tag = self.builder.ins().band_imm_s(operand, 6);
            let usual = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 2);
            self.builder.ins().brif(usual, flonum, &[], no, &[]);
            self.begin(flonum);
            self.double_of_word(operand)
        });
        let holds = self.builder.ins().fcmp(float(comparison), left, right);
        self.give_truth(holds, done);
        self.begin(no_flonum);
        self.compare_ratios(comparison, [x, y], done, other);
    }

    /// Compares two ratios of fixnums, the first of which is no fixnum and no flonum in its word.
    fn compare_ratios(
        &mut self,
        comparison: Comparison,
        operands: [Value; 2],
        done: Block,
        other: Block,
    ) {
        for operand in operands {
            let object = self.new_block();
            self.masked_branch(operand, layout::TAG_MASK, layout::TAG_OBJECT, object, other);
            self.begin(object);
        }
        let [is_left, is_right] = operands.map(|operand| {
            let kind = self.load_byte(operand, layout::HEADER + 1);
            let ratio = Kind::Ratnum as i64;
            self.builder.ins().icmp_imm_s(IntCC::Equal, kind, ratio)
        });
        let are_ratios = self.builder.ins().band(is_left, is_right);
        let (ratios, short) = (self.new_block(), self.new_block());
        self.builder.ins().brif(are_ratios, ratios, &[], other, &[]);
        self.begin(ratios);
        let [(a, b), (c, d)] = operands.map(|ratio| {
            let numerator = self.load(I64, ratio, FIELD0);
            (numerator, self.load(I64, ratio, FIELD0 + 8))
        });
        let left_bits = self.builder.ins().bor(a, b);
        let right_bits = self.builder.ins().bor(c, d);
        let bits = self.builder.ins().bor(left_bits, right_bits);
        self.masked_branch(bits, 3, 0, short, other);
        self.begin(short);
        if comparison == Comparison::Equal {
            // Ratios are in lowest terms.
            let above = self.builder.ins().icmp(IntCC::Equal, a, c);
            let below = self.builder.ins().icmp(IntCC::Equal, b, d);
            let holds = self.builder.ins().band(above, below);
            return self.give_truth(holds, done);
        }
        let [left, right] = [(a, d), (c, b)].map(|(numerator, denominator)| {
            let integer = self.builder.ins().sshr_imm_u(numerator, SHIFT);
            let fits = self.new_block();
            let (product, overflow) = self.builder.ins().smul_overflow(integer, denominator);
            self.builder.ins().brif(overflow, other, &[], fits, &[]);
            self.begin(fits);
            product
        });
        let holds = self.builder.ins().icmp(signed(comparison), left, right);
        self.give_truth(holds, done);
    }

    fn give_truth(&mut self, holds: Value, done: Block) {
        let answer = self.truth(holds);
        self.builder.ins().jump(done, &[answer.into()]);
    }

    /// Compares what is no fixnum with a fixnum, which may be a constant.
    fn compare_with_fixnum(
        &mut self,
        comparison: Comparison,
        x: Value,
        (fixnum, constant): (Value, Option<i64>),
        done: Block,
        other: Block,
    ) {
        let (flonum, no_flonum, object) = (self.new_block(), self.new_block(), self.new_block());
        let tag = self.builder.ins().band_imm_s(x, 6);
        let usual = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 2);
        self.builder.ins().brif(usual, flonum, &[], no_flonum, &[]);
        self.begin(flonum);
        let left = self.double_of_word(x);
        let right = self.exact_double(fixnum, constant, other);
        let holds = self.builder.ins().fcmp(float(comparison), left, right);
        self.give_truth(holds, done);
        self.begin(no_flonum);
        self.masked_branch(x, layout::TAG_MASK, layout::TAG_OBJECT, object, other);
        self.begin(object);
        let kind = self.load_byte(x, layout::HEADER + 1);
        let (bignum, no_bignum, ratio) = (self.new_block(), self.new_block(), self.new_block());
        for (wanted, yes, no) in [
            (Kind::Bignum, bignum, no_bignum),
            (Kind::Ratnum, ratio, other),
        ] {
            let same = self
                .builder
                .ins()
                .icmp_imm_s(IntCC::Equal, kind, wanted as i64);
            self.builder.ins().brif(same, yes, &[], no, &[]);
            self.begin(yes);
            if comparison == Comparison::Equal {
                let no = self.word(layout::FALSE);
                self.builder.ins().jump(done, &[no.into()]);
            } else if wanted == Kind::Bignum {
                self.compare_bignum(comparison, x, done);
            } else {
                self.compare_ratio(comparison, x, fixnum, done, other);
            }
            if no != other {
                self.begin(no);
            }
        }
    }

    /// Compares a bignum with any fixnum.
    fn compare_bignum(&mut self, comparison: Comparison, bignum: Value, done: Block) {
        let negative = self.sign_flag(bignum);
        let is_less = matches!(comparison, Comparison::Less | Comparison::LessEqual);
        let wanted = if is_less {
            IntCC::NotEqual
        } else {
            IntCC::Equal
        };
        let holds = self.builder.ins().icmp_imm_s(wanted, negative, 0);
        self.give_truth(holds, done);
    }

    /// Compares a ratio of fixnums with a fixnum, times the denominator.
    fn compare_ratio(
        &mut self,
        comparison: Comparison,
        ratio: Value,
        fixnum: Value,
        done: Block,
        other: Block,
    ) {
        let (short, fits) = (self.new_block(), self.new_block());
        let numerator = self.load(I64, ratio, FIELD0);
        let denominator = self.load(I64, ratio, FIELD0 + 8);
        let bits = self.builder.ins().bor(numerator, denominator);
        self.masked_branch(bits, 3, 0, short, other);
        self.begin(short);
        let integer = self.builder.ins().sshr_imm_u(fixnum, SHIFT);
        let (product, overflow) = self.builder.ins().smul_overflow(integer, denominator);
        self.builder.ins().brif(overflow, other, &[], fits, &[]);
        self.begin(fits);
        let holds = self
            .builder
            .ins()
            .icmp(signed(comparison), numerator, product);
        self.give_truth(holds, done);
    }

    /// The double that is the same number as a fixnum; goes to `other` if there is none.
    fn exact_double(&mut self, fixnum: Value, constant: Option<i64>, other: Block) -> Value {
        if let Some(integer) = constant
            && integer.abs() <= EXACT_AS_DOUBLE
        {
            return self.builder.ins().f64const(integer as f64);
        }
        let small = self.new_block();
        const LIMIT: i64 = EXACT_AS_DOUBLE << SHIFT;
        let moved = self.builder.ins().iadd_imm_s(fixnum, LIMIT);
        let above = IntCC::UnsignedGreaterThan;
        let is_large = self.builder.ins().icmp_imm_s(above, moved, 2 * LIMIT);
        self.builder.ins().brif(is_large, other, &[], small, &[]);
        self.begin(small);
        self.float_of_fixnum(fixnum)
    }
}

/// The comparison with its operands exchanged.
fn reversed(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Equal => Comparison::Equal,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
    }
}
