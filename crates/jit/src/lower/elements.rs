//! Lowers reads and writes of numeric vectors, strings and registers of the dynamic state.
//!
//! The builder has put guards for kind, element type, index and range before these nodes, so
//! numbers are stored unchecked. A character that is not ASCII is put into narrow data by a leaf
//! function. Element types whose integers may not fit a fixnum are not compiled.

use canny_spesh::elements::{ElementKind, Elements};
use canny_spesh::graph::{NodeId, Op};
use canny_tables::layout::{FIELD0, FIXNUM_SHIFT};
use canny_tables::leaves;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::segment::{Segment, TRUSTED};
use crate::JitError;

const SHIFT: i64 = FIXNUM_SHIFT as i64;

impl Segment<'_, '_> {
    pub(super) fn element_node(&mut self, id: NodeId, op: &Op) -> Result<(), JitError> {
        let value = match op {
            Op::ElementCount(elements, vector) => {
                let vector = self.value(*vector);
                let bytes = self.length(vector);
                let count = self
                    .builder
                    .ins()
                    .ushr_imm_u(bytes, i64::from(elements.size));
                self.builder.ins().ishl_imm_u(count, SHIFT)
            }
            Op::LoadNumber(elements, vector, index) => self.load_number(*elements, *vector, *index),
            Op::StoreNumber(elements, vector, index, value) => {
                self.store_number(*elements, *vector, *index, *value);
                return Ok(());
            }
            Op::StringSet(string, index, character, _) => {
                return self.string_set(id, *string, *index, *character);
            }
            Op::Dynamic(offset) => self.load(I64, self.thread, *offset),
            Op::SetDynamic(offset, value) => {
                let value = self.value(*value);
                self.store(value, self.thread, *offset);
                return Ok(());
            }
            _ => {
                return Err(JitError::Invalid(format!("node {} is no element", id.0)));
            }
        };
        self.define(id, value);
        Ok(())
    }

    /// A numeric vector's word, moved by an index.
    fn number_place(&mut self, elements: Elements, vector: NodeId, index: NodeId) -> Value {
        let (vector, index) = (self.value(vector), self.value(index));
        let size = i64::from(elements.size);
        let bytes = match size - SHIFT {
            0 => index,
            more if more > 0 => self.builder.ins().ishl_imm_u(index, more),
            less => self.builder.ins().ushr_imm_u(index, -less),
        };
        self.builder.ins().iadd(vector, bytes)
    }

    fn load_number(&mut self, elements: Elements, vector: NodeId, index: NodeId) -> Value {
        let base = self.number_place(elements, vector, index);
        let ins = self.builder.ins();
        let integer = match (elements.kind, elements.size) {
            (ElementKind::Float, 3) => return self.load(F64, base, FIELD0),
            (ElementKind::Float, _) => {
                let single = self.load(F32, base, FIELD0);
                return self.builder.ins().fpromote(F64, single);
            }
            (ElementKind::Signed, 0) => ins.sload8(I64, TRUSTED, base, FIELD0),
            (ElementKind::Signed, 1) => ins.sload16(I64, TRUSTED, base, FIELD0),
            (ElementKind::Signed, _) => ins.sload32(TRUSTED, base, FIELD0),
            (ElementKind::Unsigned, 0) => ins.uload8(I64, TRUSTED, base, FIELD0),
            (ElementKind::Unsigned, 1) => ins.uload16(I64, TRUSTED, base, FIELD0),
            (ElementKind::Unsigned, _) => ins.uload32(TRUSTED, base, FIELD0),
        };
        self.builder.ins().ishl_imm_u(integer, SHIFT)
    }

    fn store_number(&mut self, elements: Elements, vector: NodeId, index: NodeId, value: NodeId) {
        let base = self.number_place(elements, vector, index);
        let value = self.value(value);
        if elements.kind == ElementKind::Float {
            let value = match elements.size {
                3 => value,
                _ => self.builder.ins().fdemote(F32, value),
            };
            return self.store(value, base, FIELD0);
        }
        let value = self.builder.ins().sshr_imm_u(value, SHIFT);
        let ins = self.builder.ins();
        match elements.size {
            0 => ins.istore8(TRUSTED, value, base, FIELD0),
            1 => ins.istore16(TRUSTED, value, base, FIELD0),
            _ => ins.istore32(TRUSTED, value, base, FIELD0),
        };
    }

    /// Into narrow data ASCII can be stored: neither the width nor the data's promise changes.
    fn string_set(
        &mut self,
        id: NodeId,
        string: NodeId,
        index: NodeId,
        character: NodeId,
    ) -> Result<(), JitError> {
        let leaf = leaves::lookup("string-set!", 3)
            .ok_or_else(|| JitError::Invalid("there is no leaf function string-set!".into()))?;
        let function = self.leaf_function(leaf)?;
        let (narrow, wide, ascii) = (self.new_block(), self.new_block(), self.new_block());
        let (other, done) = (self.cold_block(), self.new_block());
        let word = self.value(character);
        let data = self.string_data(string, [narrow, wide]);
        let below = IntCC::UnsignedLessThan;
        let is_ascii = self.builder.ins().icmp_imm_s(below, word, 0x80 << 8);
        self.builder.ins().brif(is_ascii, ascii, &[], other, &[]);
        self.begin(ascii);
        let place = self.byte(data, index);
        let byte = self.builder.ins().ushr_imm_u(word, 8);
        self.builder.ins().istore8(TRUSTED, byte, place, FIELD0);
        self.builder.ins().jump(done, &[]);
        self.begin(wide);
        let place = self.wide_place(data, index);
        let unit = self.builder.ins().ushr_imm_u(word, 8);
        self.builder.ins().istore32(TRUSTED, unit, place, FIELD0);
        self.builder.ins().jump(done, &[]);
        self.begin(other);
        self.call_leaf(id, function, &[string, index, character])?;
        self.builder.ins().jump(done, &[]);
        self.begin(done);
        Ok(())
    }
}
