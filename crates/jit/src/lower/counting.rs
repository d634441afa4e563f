//! Lowers the counters of exact profiles: additions to words of the thread. A call at a site that has no
//! counter for the callee is left to a leaf function.

use canny_spesh::graph::NodeId;
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIELD0, FIXNUM_SHIFT, call_site, thread};
use canny_tables::leaves;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::segment::Segment;
use crate::JitError;

impl Segment<'_, '_> {
    /// Adds one to a counter.
    pub(super) fn count(&mut self, counter: u32) {
        let counters = self.load(I64, self.thread, thread::COUNTERS);
        match i32::try_from(8 * i64::from(counter)) {
            Ok(offset) => self.increment(counters, offset),
            Err(_) => {
                let offset = self.word(8 * u64::from(counter));
                let place = self.builder.ins().iadd(counters, offset);
                self.increment(place, 0);
            }
        }
    }

    /// Counts a call at a site, of a closure over this code if it is known.
    pub(super) fn count_call(
        &mut self,
        code: Option<u64>,
        [callee, site, passed]: [NodeId; 3],
    ) -> Result<(), JitError> {
        let leaf = leaves::lookup("%count-call!", 3)
            .ok_or_else(|| JitError::Invalid("no leaf function counts calls".into()))?;
        let function = self.leaf_function(leaf)?;
        let (other, done) = (self.cold_block(), self.new_block());
        let x = self.tagged(callee);
        let code = match code {
            Some(code) => self.word(code),
            None => {
                let closure = self.new_block();
                self.kind_test(Kind::Closure, callee, x, closure, other);
                self.begin(closure);
                self.load(I64, x, FIELD0)
            }
        };
        let counters = self.load(I64, self.thread, thread::COUNTERS);
        let number = self.tagged(site);
        let number = self
            .builder
            .ins()
            .ushr_imm_u(number, i64::from(FIXNUM_SHIFT));
        let bytes = self.builder.ins().ishl_imm_u(number, 3);
        let place = self.builder.ins().iadd(counters, bytes);
        for pair in 0..call_site::PAIRS as i32 {
            let known = self.load(I64, place, 16 * pair);
            let is_known = self.builder.ins().icmp(IntCC::Equal, code, known);
            let (usual, next) = match pair {
                0 => (self.new_block(), self.cold_block()),
                _ => (self.cold_block(), self.cold_block()),
            };
            self.builder.ins().brif(is_known, usual, &[], next, &[]);
            self.begin(usual);
            self.increment(place, 16 * pair + 8);
            self.builder.ins().jump(done, &[]);
            self.begin(next);
        }
        self.builder.ins().jump(other, &[]);
        self.begin(other);
        self.try_leaf(function, &[callee, site, passed])?;
        self.builder.ins().jump(done, &[]);
        self.begin(done);
        Ok(())
    }

    fn increment(&mut self, place: Value, offset: i32) {
        let count = self.load(I64, place, offset);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.store(count, place, offset);
    }
}
