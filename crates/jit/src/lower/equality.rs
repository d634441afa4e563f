//! Lowers `eqv?`, `equal?` and `string=?`: a word is equal to itself, and words that are no references to
//! nothing else. Strings of different lengths differ, and the first eight characters of narrow ones are
//! compared. The leaf function compares the rest.

use canny_spesh::graph::NodeId;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, FIXNUM_SHIFT, TAG_MASK, TAG_OBJECT};
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::segment::Segment;
use crate::JitError;

impl Segment<'_, '_> {
    /// An equivalence; false if the leaf function is another one.
    pub(super) fn equality(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        words: &[NodeId],
    ) -> Result<bool, JitError> {
        let [x, y] = words else { return Ok(false) };
        let is_eqv = match leaf.row().primitive {
            "eqv?" => true,
            "equal?" => false,
            "string=?" => {
                self.string_equality(id, leaf, [*x, *y])?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let leaf = self.leaf_function(leaf)?;
        let (x, y) = (self.tagged(*x), self.tagged(*y));
        let (differ, alike) = (self.new_block(), self.new_block());
        let (slow, done) = (self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let (yes, no) = (self.word(layout::TRUE), self.word(layout::FALSE));
        let same = self.builder.ins().icmp(IntCC::Equal, x, y);
        self.builder
            .ins()
            .brif(same, done, &[yes.into()], differ, &[]);
        self.begin(differ);
        let differences = self.builder.ins().bxor(x, y);
        let tags = self.builder.ins().band_imm_s(differences, TAG_MASK as i64);
        self.builder
            .ins()
            .brif(tags, done, &[no.into()], alike, &[]);
        self.begin(alike);
        // References have the tags 1 and 5, others do not.
        let (mask, wanted) = if is_eqv {
            (TAG_MASK, TAG_OBJECT)
        } else {
            const _: () = assert!(layout::TAG_PAIR == 1 && TAG_OBJECT == 5);
            (3, 1)
        };
        let is_reference = self.masked(x, mask, wanted);
        if is_eqv {
            let objects = self.new_block();
            self.builder
                .ins()
                .brif(is_reference, objects, &[], done, &[no.into()]);
            self.begin(objects);
            let kinds = [x, y].map(|object| self.load_byte(object, layout::HEADER + 1));
            let same_kind = self.builder.ins().icmp(IntCC::Equal, kinds[0], kinds[1]);
            self.builder
                .ins()
                .brif(same_kind, slow, &[], done, &[no.into()]);
        } else {
            self.builder
                .ins()
                .brif(is_reference, slow, &[], done, &[no.into()]);
        }
        self.begin(slow);
        let answer = self.call_leaf(id, leaf, words)?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(true)
    }

    fn string_equality(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        words: [NodeId; 2],
    ) -> Result<(), JitError> {
        const { assert!(FIXNUM_SHIFT == 2) };
        let leaf = self.leaf_function(leaf)?;
        let strings = words.map(|word| self.tagged(word));
        let (slow, done) = (self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        for (node, string) in words.into_iter().zip(strings) {
            let is_string = self.new_block();
            self.kind_test(Kind::String, node, string, is_string, slow);
            self.begin(is_string);
        }
        let (yes, no) = (self.word(layout::TRUE), self.word(layout::FALSE));
        let answer_if = |segment: &mut Self, condition, answer: Value| {
            let next = segment.new_block();
            segment
                .builder
                .ins()
                .brif(condition, done, &[answer.into()], next, &[]);
            segment.begin(next);
        };
        let equal = IntCC::Equal;
        let same = self.builder.ins().icmp(equal, strings[0], strings[1]);
        answer_if(self, same, yes);
        let [length, other] = strings.map(|string| self.load(I64, string, FIELD0));
        let differ = self.builder.ins().icmp(IntCC::NotEqual, length, other);
        answer_if(self, differ, no);
        let is_empty = self.builder.ins().icmp_imm_s(equal, length, 0);
        answer_if(self, is_empty, yes);
        let data = words.map(|string| {
            let narrow = self.new_block();
            self.string_data(string, [narrow, slow])
        });
        let [start, other] = data.map(|data| self.load(I64, data, FIELD0));
        let differences = self.builder.ins().bxor(start, other);
        let (short, long) = (self.new_block(), self.new_block());
        let above = IntCC::UnsignedGreaterThan;
        let is_long = self
            .builder
            .ins()
            .icmp_imm_s(above, length, 8 << FIXNUM_SHIFT);
        self.builder.ins().brif(is_long, long, &[], short, &[]);
        self.begin(short);
        // The bytes behind the characters are shifted out. A fixnum is four times its number.
        let bits = self.builder.ins().ishl_imm_u(length, 1);
        let unused = self.builder.ins().ineg(bits);
        let known = self.builder.ins().ishl(differences, unused);
        let holds = self.builder.ins().icmp_imm_s(equal, known, 0);
        let answer = self.truth(holds);
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(long);
        self.builder
            .ins()
            .brif(differences, done, &[no.into()], slow, &[]);
        self.begin(slow);
        let answer = self.call_leaf(id, leaf, &words)?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(())
    }
}
