//! Lowers conditions and type tests to branches, or to a boolean where a value is wanted.
//!
//! A test first uses the node's known type: cases that the type excludes are not tested again. A
//! header is loaded only after the tag bits have shown that the word is a pointer to an object.

use canny_spesh::elements::Elements;
use canny_spesh::graph::{Comparison, Condition, NodeId, Test};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, CHARACTER_LOW_BYTE, ELEMENT_TYPE_SHIFT, FIELD0, record_type};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::{Segment, TRUSTED};

/// Types whose values all have a header.
const OBJECTS: Type = Type::CLOSURE
    .or(Type::VECTOR)
    .or(Type::STRING)
    .or(Type::SYMBOL)
    .or(Type::BYTEVECTOR)
    .or(Type::RECORD)
    .or(Type::RECORD_TYPE)
    .or(Type::BOX)
    .or(Type::CELL)
    .or(Type::BIGNUM)
    .or(Type::OTHER_NUMBER)
    .or(Type::COMPNUM)
    .or(Type::VALUES)
    .or(Type::NUMERIC_VECTOR)
    .or(Type::HASH_TABLE)
    .or(Type::OTHER_OBJECT);

impl Segment<'_, '_> {
    /// Goes to one block or the other.
    pub(super) fn condition(&mut self, condition: &Condition, yes: Block, no: Block) {
        if let Condition::Test(test, x) = condition {
            return self.test(*test, *x, yes, no);
        }
        if let Condition::RecordOf(record, wanted) = condition {
            return self.record_test(*record, *wanted, yes, no);
        }
        let holds = self.compare(condition);
        self.builder.ins().brif(holds, yes, &[], no, &[]);
    }

    /// Goes to one block or the other by whether the bits of a mask have a value.
    pub(super) fn masked_branch(
        &mut self,
        x: Value,
        mask: u64,
        wanted: u64,
        yes: Block,
        no: Block,
    ) {
        match self.masked_difference(x, mask, wanted) {
            // The bits themselves decide, without a comparison.
            Some(bits) => self.builder.ins().brif(bits, no, &[], yes, &[]),
            None => {
                let holds = self.masked(x, mask, wanted);
                self.builder.ins().brif(holds, yes, &[], no, &[])
            }
        };
    }

    /// `#t` or `#f`.
    pub(super) fn boolean(&mut self, condition: &Condition) -> Value {
        let is_one_comparison = match condition {
            Condition::Test(test, _) => matches!(
                test,
                Test::Fixnum | Test::Pair | Test::Character | Test::Word(_)
            ),
            Condition::RecordOf(..) => false,
            _ => true,
        };
        if !is_one_comparison {
            let (yes, no, done) = (self.new_block(), self.new_block(), self.new_block());
            let result = self.builder.append_block_param(done, I64);
            self.condition(condition, yes, no);
            for (block, word) in [(yes, layout::TRUE), (no, layout::FALSE)] {
                self.begin(block);
                let word = self.word(word);
                self.builder.ins().jump(done, &[word.into()]);
            }
            self.begin(done);
            return result;
        }
        let holds = self.compare(condition);
        self.truth(holds)
    }

    /// `#t` or `#f` for a bit.
    pub(super) fn truth(&mut self, holds: Value) -> Value {
        let bit = self.builder.ins().uextend(I64, holds);
        const STEP: u64 = layout::TRUE - layout::FALSE;
        let step = i64::from(STEP.trailing_zeros());
        let scaled = self.builder.ins().ishl_imm_u(bit, step);
        self.builder.ins().iadd_imm_s(scaled, layout::FALSE as i64)
    }

    /// A condition that is one comparison, as a bit.
    fn compare(&mut self, condition: &Condition) -> Value {
        match condition {
            Condition::Test(test, x) => {
                let (mask, wanted) = match test {
                    Test::Fixnum => (3, 0),
                    Test::Pair => (layout::TAG_MASK, layout::TAG_PAIR),
                    Test::Character => (0xff, layout::CHARACTER_LOW_BYTE),
                    Test::Word(word) => (u64::MAX, *word),
                    Test::Flonum
                    | Test::Kind(_)
                    | Test::ClosureOf(_)
                    | Test::Elements(_)
                    | Test::Class(_) => {
                        unreachable!("tests of more than one comparison are branches")
                    }
                };
                let x = self.value(*x);
                self.masked(x, mask, wanted)
            }
            Condition::Same(x, y) => self.words(IntCC::Equal, *x, *y),
            Condition::Fixnums(comparison, x, y) => self.words(signed(*comparison), *x, *y),
            Condition::Characters(comparison, x, y) => self.words(unsigned(*comparison), *x, *y),
            Condition::Floats(comparison, x, y) => {
                let (x, y) = (self.value(*x), self.value(*y));
                self.builder.ins().fcmp(float(*comparison), x, y)
            }
            Condition::RecordOf(..) => {
                unreachable!("tests of more than one comparison are branches")
            }
        }
    }

    fn words(&mut self, condition: IntCC, x: NodeId, y: NodeId) -> Value {
        if let Some(word) = self.constant(y) {
            let x = self.value(x);
            return self.builder.ins().icmp_imm_s(condition, x, word as i64);
        }
        let (x, y) = (self.value(x), self.value(y));
        self.builder.ins().icmp(condition, x, y)
    }

    pub(super) fn masked(&mut self, x: Value, mask: u64, wanted: u64) -> Value {
        let (bits, wanted) = match self.masked_difference(x, mask, wanted) {
            Some(bits) => (bits, 0),
            None if mask == u64::MAX => (x, wanted as i64),
            None => (self.builder.ins().band_imm_s(x, mask as i64), wanted as i64),
        };
        self.builder.ins().icmp_imm_s(IntCC::Equal, bits, wanted)
    }

    /// Returns a word that is zero if the bits of a mask have the wanted value. Testing a
    /// difference for low bits that are zero takes one instruction less than comparing masked bits.
    fn masked_difference(&mut self, x: Value, mask: u64, wanted: u64) -> Option<Value> {
        if mask == u64::MAX || mask & (mask + 1) != 0 && wanted != 0 {
            return None;
        }
        let difference = match wanted {
            0 => x,
            _ => self.builder.ins().iadd_imm_s(x, -(wanted as i64)),
        };
        Some(self.builder.ins().band_imm_s(difference, mask as i64))
    }

    /// Goes to one block or the other by a property of a value.
    pub(super) fn test(&mut self, test: Test, node: NodeId, yes: Block, no: Block) {
        let x = self.value(node);
        match test {
            Test::Fixnum => {
                self.masked_branch(x, 3, 0, yes, no);
            }
            Test::Flonum => self.flonum_test(x, [yes, yes], no),
            Test::Kind(kind) => self.kind_test(kind, node, x, yes, no),
            Test::ClosureOf(code) => {
                let closure = self.new_block();
                self.kind_test(Kind::Closure, node, x, closure, no);
                self.begin(closure);
                let there = self.load(I64, x, FIELD0);
                let wanted = self.word(code);
                let same = self.builder.ins().icmp(IntCC::Equal, there, wanted);
                self.builder.ins().brif(same, yes, &[], no, &[]);
            }
            Test::Elements(elements) => {
                let object = self.new_block();
                let ty = self.procedure.graph.node(node).ty;
                if ty.is(OBJECTS) {
                    self.builder.ins().jump(object, &[]);
                } else {
                    self.masked_branch(x, layout::TAG_MASK, layout::TAG_OBJECT, object, no);
                }
                self.begin(object);
                self.elements_test(elements, x, yes, no);
            }
            Test::Class(class) => {
                let record = self.new_block();
                if self.procedure.graph.node(node).ty.is(Type::RECORD) {
                    self.builder.ins().jump(record, &[]);
                } else {
                    self.kind_test(Kind::Record, node, x, record, no);
                }
                self.begin(record);
                let its_type = self.load(I64, x, FIELD0);
                let key = self.load(I64, its_type, FIELD0 + 8 * record_type::SERIAL as i32);
                let wanted = i64::from(class) << layout::FIXNUM_SHIFT;
                let same = self.builder.ins().icmp_imm_s(IntCC::Equal, key, wanted);
                self.builder.ins().brif(same, yes, &[], no, &[]);
            }
            Test::Pair if self.is_list_end_or_pair(node) => {
                let end = self.masked(x, u64::MAX, layout::NIL);
                self.builder.ins().brif(end, no, &[], yes, &[]);
            }
            Test::Pair => self.masked_branch(x, layout::TAG_MASK, layout::TAG_PAIR, yes, no),
            Test::Character => self.masked_branch(x, 0xff, CHARACTER_LOW_BYTE, yes, no),
            Test::Word(_) => {
                let holds = self.compare(&Condition::Test(test, node));
                self.builder.ins().brif(holds, yes, &[], no, &[]);
            }
        }
    }

    fn is_list_end_or_pair(&self, node: NodeId) -> bool {
        let ty = self.procedure.graph.node(node).ty;
        ty.is(Type::PAIR.or(Type::NIL))
    }

    /// Goes to the first block of `yes` if the value is a flonum that is an object, to the second if it
    /// is another one. Usual magnitudes have the tags 2 and 3, zero and the tiny 7; the others are
    /// objects.
    pub(super) fn flonum_test(&mut self, x: Value, yes: [Block; 2], no: Block) {
        let [boxed, word] = yes;
        let (rare, object, kind) = (self.new_block(), self.cold_block(), self.cold_block());
        let tag = self.builder.ins().band_imm_s(x, 6);
        let usual = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 2);
        self.builder.ins().brif(usual, word, &[], rare, &[]);
        self.begin(rare);
        self.masked_branch(x, layout::TAG_MASK, 7, word, object);
        self.begin(object);
        self.masked_branch(x, layout::TAG_MASK, layout::TAG_OBJECT, kind, no);
        self.begin(kind);
        self.header_kind_test(Kind::Flonum, x, boxed, no);
    }

    /// Goes to one block or the other by whether a value is an object of a kind.
    pub(super) fn kind_test(&mut self, kind: Kind, node: NodeId, x: Value, yes: Block, no: Block) {
        let ty = self.procedure.graph.node(node).ty;
        if ty.is(OBJECTS) {
            self.header_kind_test(kind, x, yes, no);
        } else {
            self.object_test(kind, x, yes, no);
        }
    }

    /// The same for a value of which nothing is known.
    pub(super) fn object_test(&mut self, kind: Kind, x: Value, yes: Block, no: Block) {
        let object = self.new_block();
        self.masked_branch(x, layout::TAG_MASK, layout::TAG_OBJECT, object, no);
        self.begin(object);
        self.header_kind_test(kind, x, yes, no);
    }

    /// Goes to one block or the other by whether a record is of a type, which usually is the very type.
    fn record_test(&mut self, record: NodeId, wanted: NodeId, yes: Block, no: Block) {
        let (other, longer) = (self.new_block(), self.new_block());
        let record = self.value(record);
        let actual = self.load(I64, record, FIELD0);
        let wanted = self.value(wanted);
        let same = self.builder.ins().icmp(IntCC::Equal, actual, wanted);
        self.builder.ins().brif(same, yes, &[], other, &[]);
        self.begin(other);
        let place = self.load(I64, wanted, FIELD0 + 8 * record_type::PLACE as i32);
        let place = self
            .builder
            .ins()
            .ushr_imm_u(place, i64::from(layout::FIXNUM_SHIFT));
        let length = self.length(actual);
        let has_place = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedGreaterThan, length, place);
        self.builder.ins().brif(has_place, longer, &[], no, &[]);
        self.begin(longer);
        let bytes = self.builder.ins().ishl_imm_u(place, 3);
        let base = self.builder.ins().iadd(actual, bytes);
        let ancestor = self.load(I64, base, FIELD0);
        let derived = self.builder.ins().icmp(IntCC::Equal, ancestor, wanted);
        self.builder.ins().brif(derived, yes, &[], no, &[]);
    }

    /// The length in an object's header.
    pub(super) fn length(&mut self, object: Value) -> Value {
        let header = self.load(I64, object, layout::HEADER);
        self.length_in(header)
    }

    /// The length in a header.
    pub(super) fn length_in(&mut self, header: Value) -> Value {
        let shift = i64::from(layout::HEADER_LENGTH_SHIFT);
        self.builder.ins().ushr_imm_u(header, shift)
    }

    /// Goes to one block or the other by whether an object is a numeric vector of these elements: kind
    /// and flags stand side by side in the header.
    fn elements_test(&mut self, elements: Elements, x: Value, yes: Block, no: Block) {
        const MASK: u64 = 0xff | 0xff00 & (0xff00 << ELEMENT_TYPE_SHIFT);
        let wanted =
            Kind::NumericVector as u64 | u64::from(elements.code) << (8 + ELEMENT_TYPE_SHIFT);
        let bits = self
            .builder
            .ins()
            .uload16(I64, TRUSTED, x, layout::HEADER + 1);
        let bits = self.builder.ins().band_imm_s(bits, MASK as i64);
        let same = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::Equal, bits, wanted as i64);
        self.builder.ins().brif(same, yes, &[], no, &[]);
    }

    fn header_kind_test(&mut self, kind: Kind, x: Value, yes: Block, no: Block) {
        let byte = self.load(I8, x, layout::HEADER + 1);
        let same = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::Equal, byte, kind as i64);
        self.builder.ins().brif(same, yes, &[], no, &[]);
    }
}

pub(super) fn signed(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Less => IntCC::SignedLessThan,
        Comparison::LessEqual => IntCC::SignedLessThanOrEqual,
        Comparison::Equal => IntCC::Equal,
        Comparison::Greater => IntCC::SignedGreaterThan,
        Comparison::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
    }
}

fn unsigned(comparison: Comparison) -> IntCC {
    signed(comparison).unsigned()
}

pub(super) fn float(comparison: Comparison) -> FloatCC {
    match comparison {
        Comparison::Less => FloatCC::LessThan,
        Comparison::LessEqual => FloatCC::LessThanOrEqual,
        Comparison::Equal => FloatCC::Equal,
        Comparison::Greater => FloatCC::GreaterThan,
        Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
    }
}
