//! Lowers `eqv?` and `equal?`: a word is equal to itself, and words that are no references to nothing
//! else. The leaf function compares the rest.

use canny_spesh::graph::NodeId;
use canny_tables::layout::{self, TAG_MASK, TAG_OBJECT};
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;

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
        let is_eqv = match leaf.row().primitive {
            "eqv?" => true,
            "equal?" => false,
            _ => return Ok(false),
        };
        let [x, y] = words else { return Ok(false) };
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
}
