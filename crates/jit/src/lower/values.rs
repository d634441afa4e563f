//! Values of nodes as Cranelift values: variables, constants, frame slots and memory, in the scope
//! of one segment.
//!
//! A node has at most one variable in a segment, in the node's own representation (a word, a double
//! and so on); `tagged` boxes on demand. Constants that the collector may move are loaded from the
//! pool (`Op::PoolSlot`). Values do not survive the end of a segment unless they are spilled to
//! slots.

use canny_spesh::code_map::FastMap;
use canny_spesh::graph::{NodeId, Op, SlotContent};
use canny_tables::layout::{FLONUM_MASK, thread};
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    Block, ExternalName, GlobalValueData, InstBuilder, UserExternalName, Value,
};
use cranelift_frontend::Variable;

use super::segment::{Segment, TRUSTED};
use crate::relocation::Target;
use crate::slots::SlotStore;
use crate::trampoline;
use crate::values::is_float;

impl Segment<'_, '_> {
    /// The value of a node in its own representation.
    pub(super) fn value(&mut self, id: NodeId) -> Value {
        let root = self.procedure.values.root(id);
        match self.procedure.graph.node(root).op {
            Op::Word(word) => self.word(word),
            Op::PoolSlot(address) => {
                let address = self.word(address);
                self.load(I64, address, 0)
            }
            Op::Float(number) => self.builder.ins().f64const(number),
            _ => {
                let variable = self.variable(root);
                self.builder.use_var(variable)
            }
        }
    }

    /// The value of a node as a tagged word.
    pub(super) fn tagged(&mut self, id: NodeId) -> Value {
        let root = self.procedure.values.root(id);
        if let Op::Float(number) = self.procedure.graph.node(root).op
            && let Some(word) = flonum_word(number)
        {
            return self.word(word);
        }
        let value = self.value(id);
        if is_float(self.procedure.graph, self.procedure.values.root(id)) {
            self.box_float(value)
        } else {
            value
        }
    }

    /// The double of a node that is a flonum.
    pub(super) fn double(&mut self, id: NodeId) -> Value {
        let value = self.value(id);
        if is_float(self.procedure.graph, self.procedure.values.root(id)) {
            value
        } else {
            self.unbox(value)
        }
    }

    /// The word of a constant.
    pub(super) fn constant(&self, id: NodeId) -> Option<u64> {
        match self.procedure.graph.node(self.procedure.values.root(id)).op {
            Op::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Gives a node its value.
    pub(super) fn define(&mut self, id: NodeId, value: Value) {
        let variable = self.variable(id);
        self.builder.def_var(variable, value);
    }

    pub(super) fn variable(&mut self, root: NodeId) -> Variable {
        if let Some(variable) = self.variables.get(&root) {
            return *variable;
        }
        let kind = if is_float(self.procedure.graph, root) {
            F64
        } else {
            I64
        };
        let variable = self.builder.declare_var(kind);
        self.variables.insert(root, variable);
        variable
    }

    /// The outermost frame.
    pub(super) fn fp(&mut self) -> Value {
        self.builder.use_var(self.fp)
    }

    /// Takes the frame pointer from the thread block, where the runtime left the innermost frame's.
    pub(super) fn reload_fp(&mut self, base: i32) {
        let fp = self.load(I64, self.thread, thread::FP);
        self.set_fp(fp, base);
    }

    // Memory and constants.

    pub(super) fn word(&mut self, bits: u64) -> Value {
        self.builder.ins().iconst(I64, bits as i64)
    }

    /// Address of a descriptor or of what else lies beside the code.
    pub(super) fn address(&mut self, target: Target) -> Value {
        let name = target.name();
        let symbol = match self.addresses.get(&name) {
            Some(symbol) => *symbol,
            None => {
                let user = self
                    .builder
                    .func
                    .declare_imported_user_function(UserExternalName::new(name.0, name.1));
                let symbol = self.builder.create_global_value(GlobalValueData::Symbol {
                    name: ExternalName::user(user),
                    offset: 0.into(),
                    colocated: true,
                    tls: false,
                });
                self.addresses.insert(name, symbol);
                symbol
            }
        };
        self.builder.ins().symbol_value(I64, symbol)
    }

    pub(super) fn load(
        &mut self,
        kind: cranelift_codegen::ir::Type,
        base: Value,
        offset: i32,
    ) -> Value {
        self.builder.ins().load(kind, TRUSTED, base, offset)
    }

    pub(super) fn load_byte(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().uload8(I64, TRUSTED, base, offset)
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.builder.ins().store(TRUSTED, value, base, offset);
    }

    pub(super) fn load_slot(&mut self, slot: i32) -> Value {
        let fp = self.fp();
        self.load(I64, fp, 8 * slot)
    }

    pub(super) fn store_slot(&mut self, value: Value, slot: i32) {
        let fp = self.fp();
        self.store(value, fp, 8 * slot);
    }

    /// Address of a word of the frame.
    pub(super) fn slot_address(&mut self, slot: i32) -> Value {
        let fp = self.fp();
        self.builder.ins().iadd_imm_s(fp, 8 * i64::from(slot))
    }

    pub(super) fn store_slots(&mut self, stores: &[SlotStore]) {
        let mut made = FastMap::default();
        for (slot, content) in stores {
            let value = match content {
                SlotContent::Node(id) => self.content(*id, &mut made),
                SlotContent::Address(address) => {
                    let index = self.output.inlined_descriptor(*address);
                    self.address(Target::Inlined(index))
                }
            };
            self.store_slot(value, *slot);
        }
    }

    /// A value for a slot or a part of an object. Objects that only exits make are made now, each once.
    fn content(&mut self, id: NodeId, made: &mut FastMap<NodeId, Value>) -> Value {
        let root = self.procedure.values.root(id);
        if !self.procedure.graph.is_sunk(root) {
            return self.tagged(root);
        }
        if let Some(value) = made.get(&root) {
            return *value;
        }
        let op = &self.procedure.graph.node(root).op;
        let mut parts = Vec::new();
        op.each_input(|part| parts.push(part));
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|part| self.content(part, made))
            .collect();
        let value = match op {
            Op::Allocate(kind, _) => self.new_object(*kind, &parts),
            _ => self.new_pair([parts[0], parts[1]]),
        };
        made.insert(root, value);
        value
    }

    /// A block as near as what is written now.
    pub(super) fn new_block(&mut self) -> Block {
        let block = self.builder.create_block();
        if self.is_cold {
            self.builder.set_cold_block(block);
        }
        block
    }

    /// Writes something out of the way of the rest.
    pub(super) fn coldly(&mut self, write: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_cold, true);
        write(self);
        self.is_cold = before;
    }

    pub(super) fn cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        block
    }

    /// Calls a Rust function with the thread block and a word, which is also passed as a double;
    /// registers survive. Gives its result.
    pub(super) fn call_maker(&mut self, function: usize, argument: Value) -> Value {
        let trampoline = self.word(trampoline::making() as u64);
        let function = self.word(function as u64);
        let fp = self.fp();
        let registers = [argument, fp, self.thread, function];
        self.builder
            .ins()
            .call_indirect(self.maker_signature, trampoline, &registers);
        self.load(I64, self.thread, thread::PC)
    }

    /// Calls a runtime entry. Gives its result.
    pub(super) fn call_runtime(&mut self, entry: Value, pc: Value, fp: Value, word: u32) -> Value {
        let trampoline = self.word(trampoline::runtime() as u64);
        let word = self.word(u64::from(word));
        let registers = [self.thread, fp, pc, word, entry];
        let call = self
            .builder
            .ins()
            .call_indirect(self.runtime_signature, trampoline, &registers);
        self.builder.inst_results(call)[0]
    }
}

/// The word that holds a double, if it needs no box.
pub(super) fn flonum_word(number: f64) -> Option<u64> {
    let word = number.to_bits().rotate_left(4).wrapping_sub(1);
    (FLONUM_MASK >> (word & 31) & 1 == 1).then_some(word)
}
