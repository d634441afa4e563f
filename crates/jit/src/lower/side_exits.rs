//! How control leaves a segment: side exits to the interpreter, jumps to stubs, other segments and
//! code.
//!
//! A side exit is a cold block at the end of the segment. It stores the values that its state lacks
//! in frame slots and dispatches the bytecode address of the state. Every jump out is a tail call
//! in the convention of segments: pc, fp and thread in fixed registers, nothing on the native
//! stack. `mark_exit` gives these jumps source locations, by which their machine code is found
//! afterwards.

use canny_spesh::graph::{NodeId, Op, SlotContent, StateId};
use canny_tables::layout::thread;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    Block, ExtFuncData, ExternalName, FuncRef, InstBuilder, SourceLoc, UserExternalName, Value,
};

use super::segment::Segment;
use super::values::flonum_word;
use crate::JitError;
use crate::exits::{Constant, ExitTail};
use crate::relocation::{Stub, Target};
use crate::slots::SlotStore;

/// A side exit to the interpreter.
pub(super) struct Exit {
    state: StateId,
    stores: Vec<SlotStore>,
    block: Block,
}

impl Segment<'_, '_> {
    /// The cold block that leaves for the state of a node.
    pub(super) fn exit(&mut self, id: NodeId) -> Result<Block, JitError> {
        if let Some(block) = self.detour {
            return Ok(block);
        }
        let state = self.procedure.graph.node(id).op.state();
        let state =
            state.ok_or_else(|| JitError::Invalid(format!("node {} has no state", id.0)))?;
        let stores = self.procedure.slots.at_node(id).to_vec();
        Ok(self.exit_block(state, stores))
    }

    pub(super) fn exit_block(&mut self, state: StateId, stores: Vec<SlotStore>) -> Block {
        let known = self
            .exits
            .iter()
            .find(|exit| exit.state == state && exit.stores == stores);
        if let Some(exit) = known {
            return exit.block;
        }
        let block = self.cold_block();
        self.exits.push(Exit {
            state,
            stores,
            block,
        });
        block
    }

    /// Leaves for the state of a node if the condition is not zero.
    pub(super) fn exit_if(&mut self, condition: Value, id: NodeId) -> Result<(), JitError> {
        let exit = self.exit(id)?;
        let fine = self.builder.create_block();
        self.builder.ins().brif(condition, exit, &[], fine, &[]);
        self.begin(fine);
        Ok(())
    }

    /// Leaves for the state of a node if the word is zero.
    pub(super) fn exit_unless(&mut self, word: Value, id: NodeId) -> Result<(), JitError> {
        let exit = self.exit(id)?;
        let fine = self.builder.create_block();
        self.builder.ins().brif(word, fine, &[], exit, &[]);
        self.begin(fine);
        Ok(())
    }

    pub(super) fn write_exits(&mut self) {
        self.is_cold = true;
        self.reserve = None;
        for exit in std::mem::take(&mut self.exits) {
            self.begin(exit.block);
            self.set_state(exit.state);
            let mut tail = ExitTail {
                way: self.procedure.way_out(exit.state, self.output),
                base: self.procedure.frame_base(exit.state),
                stores: Vec::new(),
            };
            let mut stores = exit.stores;
            stores.retain(|(slot, content)| match self.known_content(*content) {
                Some(constant) => {
                    tail.stores.push((*slot, constant));
                    false
                }
                None => true,
            });
            self.store_slots(&stores);
            let index = self.output.exit_tail(tail);
            let fp = self.fp();
            // The tail takes nothing in the register of pc.
            self.jump_to_stub(Target::ExitTail(index), fp, fp);
        }
    }

    /// Returns the content of a slot as a constant, if it is known now.
    fn known_content(&mut self, content: SlotContent) -> Option<Constant> {
        let id = match content {
            SlotContent::Address(address) => {
                return Some(Constant::Inlined(self.output.inlined_descriptor(address)));
            }
            SlotContent::Node(id) => self.procedure.values.root(id),
        };
        match self.procedure.graph.node(id).op {
            Op::Word(word) => Some(Constant::Word(word)),
            Op::Float(number) => flonum_word(number).map(Constant::Word),
            _ => None,
        }
    }

    /// Continues in the interpreter with the instruction at an address.
    pub(super) fn dispatch(&mut self, address: Value, fp: Value) {
        self.jump_to_stub(Target::Stub(Stub::Dispatch), address, fp);
    }

    /// Jumps to what takes pc, fp and the thread block.
    pub(super) fn jump_to_stub(&mut self, target: Target, pc: Value, fp: Value) {
        let stub = self.function(target, 3);
        self.mark_exit();
        let registers = [pc, fp, self.thread];
        self.builder.ins().return_call(stub, &registers);
        self.unmark_exit();
    }

    /// Has the runtime execute an instruction, after which a resumption says where to continue.
    pub(super) fn jump_to_runtime(&mut self, pc: Value, fp: Value, resumption: Value, word: u32) {
        let stub = self.function(Target::Stub(Stub::Runtime), 5);
        let word = self.builder.ins().iconst(I32, i64::from(word));
        self.mark_exit();
        let registers = [pc, fp, self.thread, resumption, word];
        self.builder.ins().return_call(stub, &registers);
        self.unmark_exit();
    }

    pub(super) fn function(&mut self, target: Target, registers: usize) -> FuncRef {
        let name = target.name();
        if let Some(function) = self.stubs.get(&name) {
            return *function;
        }
        let user = self
            .builder
            .func
            .declare_imported_user_function(UserExternalName::new(name.0, name.1));
        let function = self.builder.import_function(ExtFuncData {
            name: ExternalName::user(user),
            signature: self.signatures[registers],
            colocated: true,
            patchable: false,
        });
        self.stubs.insert(name, function);
        function
    }

    /// Jumps to a machine address in the convention of segments, of whose registers the first few matter.
    pub(super) fn jump_to(&mut self, target: Value, registers: &[Value]) {
        let signature = self.signatures[registers.len()];
        self.mark_exit();
        self.builder
            .ins()
            .return_call_indirect(signature, target, registers);
        self.unmark_exit();
    }

    /// Leaves the interpreter with the thread's result.
    pub(super) fn leave_machine(&mut self) {
        let result = self.load(I64, self.thread, thread::RESULT);
        self.mark_exit();
        self.builder.ins().return_(&[result]);
        self.unmark_exit();
    }

    pub(super) fn mark_exit(&mut self) {
        self.exit_count += 1;
        self.builder.set_srcloc(SourceLoc::new(self.exit_count));
    }

    pub(super) fn unmark_exit(&mut self) {
        self.builder.set_srcloc(self.location);
    }
}
