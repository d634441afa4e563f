//! Calls of leaf functions.

use canny_spesh::graph::NodeId;
use canny_tables::layout;
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;

use super::segment::Segment;
use crate::JitError;
use crate::trampoline;

impl Segment<'_, '_> {
    /// Calls a leaf function; leaves if it declines.
    pub(super) fn leaf(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        words: &[NodeId],
    ) -> Result<(), JitError> {
        let function = self.environment().leaves.get(usize::from(leaf.0)).copied();
        let function =
            function.ok_or_else(|| JitError::Invalid(format!("no leaf function {}", leaf.0)))?;
        let fp = self.fp();
        // What a function does not take may be anything.
        let mut operands = [fp; canny_tables::leaves::ARGUMENTS_MAX];
        if words.len() > operands.len() {
            return Err(JitError::Invalid(
                "a leaf function of too many words".into(),
            ));
        }
        for (operand, word) in operands.iter_mut().zip(words) {
            *operand = self.tagged(*word);
        }
        let trampoline = self.word(trampoline::runtime() as u64);
        let function = self.word(function as u64);
        let [x, y, z] = operands;
        let registers = [self.thread, x, y, z, function];
        let call = self
            .builder
            .ins()
            .call_indirect(self.runtime_signature, trampoline, &registers);
        let result = self.builder.inst_results(call)[0];
        let declined = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::Equal, result, layout::DECLINED as i64);
        self.exit_if(declined, id)?;
        self.define(id, result);
        Ok(())
    }
}
