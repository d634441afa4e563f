//! Exceptions: blocks that catch them, and what throws them.
//!
//! A call inside of a block with clauses has a handler, at which it goes on if the runtime has found one
//! of the clauses. The frame for operands has the clause's number then, and the values behind it.

use canny_tables::guest::{Opcode, Reason, Runtime, activation};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    BlockArg, ExceptionTableData, ExceptionTableItem, ExceptionTag, InstBuilder, MemFlagsData,
    SigRef, StackSlotData, StackSlotKind, Value,
};
use cranelift_codegen::isa::CallConv;
use wasmparser::{Catch, TryTable};

use super::calls::Callee;
use super::control::Kind;
use super::{Compiler, kind_of, words_signature};
use crate::code::Code;
use crate::code_memory::CaughtBy;
use crate::definitions;

/// A clause of a block that is open.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    caught: CaughtBy,
    /// The block that it leads to, by its number among those that are open.
    target: usize,
}

/// Slots have half of a vector's alignment.
const SLOTS: MemFlagsData = MemFlagsData::new().with_notrap();

impl Compiler<'_, '_> {
    /// Keeps the instance where the runtime finds it: tags are those of the instance.
    pub(super) fn keep_instance(&mut self) {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_store(I64, self.instance, slot, 0);
    }

    pub(super) fn open_try(&mut self, block: &TryTable) {
        let (parameters, results) = self.block_type(block.ty);
        let innermost = self.control.len() - 1;
        let clauses = block.catches.iter().map(|catch| {
            let (tag, takes_reference, depth) = match *catch {
                Catch::One { tag, label } => (Some(tag), false, label),
                Catch::OneRef { tag, label } => (Some(tag), true, label),
                Catch::All { label } => (None, false, label),
                Catch::AllRef { label } => (None, true, label),
            };
            Clause {
                caught: CaughtBy {
                    tag,
                    takes_reference,
                },
                target: innermost - depth as usize,
            }
        });
        let clauses = clauses.collect();
        self.open(Kind::Try(clauses), parameters, results);
    }

    /// The clauses of all blocks that are open, those of inner blocks first.
    fn open_clauses(&self) -> Vec<Clause> {
        let kinds = self.control.iter().rev().map(|control| &control.kind);
        let mut all = Vec::new();
        for kind in kinds {
            if let Kind::Try(clauses) = kind {
                all.extend(clauses);
            }
        }
        all
    }

    /// Calls a function, inside of the blocks that are open; gives the results.
    pub(super) fn write_call(
        &mut self,
        callee: Callee,
        signature: SigRef,
        arguments: &[Value],
    ) -> Vec<Value> {
        let clauses = self.open_clauses();
        if clauses.is_empty() {
            let call = match callee {
                Callee::Known(target) => self.b.ins().call(target, arguments),
                Callee::At(entry) => self.b.ins().call_indirect(signature, entry, arguments),
            };
            return self.b.inst_results(call).to_vec();
        }
        let tag = ExceptionTag::from_u32(self.clauses.len() as u32);
        let caught = clauses.iter().map(|clause| clause.caught);
        self.clauses.push(caught.collect());
        let (behind, handler) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(handler);
        let results = self.b.func.dfg.signatures[signature].returns.len();
        let mut given = Vec::new();
        for number in 0..results {
            let of = self.b.func.dfg.signatures[signature].returns[number].value_type;
            self.b.append_block_param(behind, of);
            given.push(BlockArg::TryCallRet(number as u32));
        }
        let pool = &mut self.b.func.dfg.value_lists;
        let behind_call = cranelift_codegen::ir::BlockCall::new(behind, given, pool);
        let handler_call = cranelift_codegen::ir::BlockCall::new(handler, [], pool);
        let items = [ExceptionTableItem::Tag(tag, handler_call)];
        let table = ExceptionTableData::new(signature, behind_call, items);
        let table = self.b.func.dfg.exception_tables.push(table);
        match callee {
            Callee::Known(target) => self.b.ins().try_call(target, arguments, table),
            Callee::At(entry) => self.b.ins().try_call_indirect(entry, arguments, table),
        };
        self.b.switch_to_block(handler);
        self.b.seal_block(handler);
        self.write_handler(&clauses);
        self.b.switch_to_block(behind);
        self.b.seal_block(behind);
        self.b.block_params(behind).to_vec()
    }

    /// Goes on at the clause whose number the runtime has given.
    fn write_handler(&mut self, clauses: &[Clause]) {
        self.load_budget();
        let frame = self.run_word(activation::TOP);
        let number = self.b.ins().load(I64, SLOTS, frame, 0);
        let below = self.stack.clone();
        for (index, clause) in clauses.iter().enumerate() {
            let mut next = None;
            if index + 1 < clauses.len() {
                let (here, other) = (self.b.create_block(), self.b.create_block());
                let is_it = self.b.ins().icmp_imm_s(IntCC::Equal, number, index as i64);
                self.b.ins().brif(is_it, here, &[], other, &[]);
                self.b.switch_to_block(here);
                self.b.seal_block(here);
                self.b.seal_block(other);
                next = Some(other);
            }
            self.load_caught(clause.caught, frame);
            let depth = self.control.len() - 1 - clause.target;
            let (target, values) = self.branch_values(depth as u32);
            self.b.ins().jump(target, &values);
            self.stack.clone_from(&below);
            if let Some(next) = next {
                self.b.switch_to_block(next);
            }
        }
    }

    /// Puts what a clause gives on the operand stack.
    fn load_caught(&mut self, caught: CaughtBy, frame: Value) {
        let mut slot = 1;
        if let Some(tag) = caught.tag {
            let number = self.module.parts().tags[tag as usize];
            for kind in &definitions::function_type(number).parameters {
                let value = self.b.ins().load(kind_of(*kind), SLOTS, frame, 8 * slot);
                self.push(value);
                slot += kind.slots() as i32;
            }
        }
        if caught.takes_reference {
            let value = self.b.ins().load(I64, SLOTS, frame, 8 * slot);
            self.push(value);
        }
    }

    pub(super) fn throw(&mut self, tag: u32) {
        let number = self.module.parts().tags[tag as usize];
        let count = definitions::function_type(number).parameters.len();
        let mut code = Code::default();
        let place = code.put(Opcode::Runtime(Runtime::Throw));
        code.set32(place, 16, tag);
        self.leave_with_exception(code, count);
    }

    pub(super) fn throw_reference(&mut self) {
        let mut code = Code::default();
        code.put(Opcode::Runtime(Runtime::ThrowReference));
        self.leave_with_exception(code, 1);
    }

    /// Leaves for an operation that throws, on the newest operands.
    fn leave_with_exception(&mut self, code: Code, operands: usize) {
        let operands = self.take(operands);
        let (frame, _) = self.write_operands(&operands);
        self.note_operation(code, frame);
        self.store_budget();
        let signature = words_signature(CallConv::Tail, 1);
        let signature = self.b.import_signature(signature);
        let entry = self.b.ins().iconst(I64, self.entries.leave as i64);
        let reason = self.b.ins().iconst(I64, Reason::Operation as i64);
        self.write_call(Callee::At(entry), signature, &[reason]);
        self.b.ins().trap(super::trap(Reason::Unreachable));
        self.unreachable = Some(0);
    }
}
