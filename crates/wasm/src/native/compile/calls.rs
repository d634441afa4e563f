//! Calls, and operations of the runtime.
//!
//! A function of the module is called at its address, if it has machine code by now, or by a cell that will
//! have the address. Others are called by their records, which have the address once that was used.

use canny_tables::guest::{Opcode, Reason, Runtime, activation, function, instance, table};
use canny_wasm_meaning::Meaning;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    BlockArg, ExtFuncData, ExternalName, FuncRef, InstBuilder, MemFlagsData, SigRef, Type,
    UserExternalName, Value,
};

use super::{Compiler, FIXED, Refusal, TRUSTED, signature_of};
use crate::code::Code;
use crate::definitions;

/// Where the function of a call comes from.
#[derive(Clone, Copy)]
pub(super) enum Callee {
    /// At a known address.
    Known(FuncRef),
    /// At an address that is computed.
    At(Value),
}

impl Compiler<'_, '_> {
    /// A function at an address, or this one.
    fn reference(&mut self, address: Option<usize>, signature: SigRef) -> FuncRef {
        let index = self.targets.len() as u32;
        self.targets.push(address);
        let name = UserExternalName {
            namespace: 0,
            index,
        };
        let name = self.b.func.declare_imported_user_function(name);
        self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        })
    }

    /// Calls a function with its index in the module's numbering.
    pub(super) fn call(&mut self, index: u32, is_tail: bool) -> Result<(), Refusal> {
        let parts = self.module.parts();
        let number = parts.functions[index as usize];
        let Some(own_index) = index.checked_sub(parts.imported_functions as u32) else {
            let record = self.listed(instance::IMPORTS, index);
            return self.call_record(record, number);
        };
        let kind = definitions::function_type(number);
        let signature = self.b.import_signature(signature_of(kind));
        let known = if own_index == self.own_index && self.is_whole {
            Some(None)
        } else {
            self.surroundings.native(own_index).map(Some)
        };
        let callee = match known {
            Some(address) => Callee::Known(self.reference(address, signature)),
            None => {
                let cell = self.surroundings.cell(own_index)?;
                let cell = self.b.ins().iconst(I64, cell as i64);
                Callee::At(self.b.ins().load(I64, TRUSTED, cell, 0))
            }
        };
        self.finish_call(callee, self.instance, (number, signature), is_tail);
        Ok(())
    }

    fn call_record(&mut self, record: Value, number: u32) -> Result<(), Refusal> {
        let kind = definitions::function_type(number);
        let signature = self.b.import_signature(signature_of(kind));
        let adapter = self.surroundings.adapter(number)?;
        let native = self.b.ins().load(I64, TRUSTED, record, function::NATIVE);
        let (other, ready) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(other);
        let entry = self.b.append_block_param(ready, I64);
        let known = [BlockArg::Value(native)];
        self.b.ins().brif(native, ready, &known, other, &[]);
        self.b.switch_to_block(other);
        self.b.seal_block(other);
        self.set_run_word(activation::CALLEE, record);
        let adapter = self.b.ins().iconst(I64, adapter as i64);
        self.b.ins().jump(ready, &[BlockArg::Value(adapter)]);
        self.b.switch_to_block(ready);
        self.b.seal_block(ready);
        let owner = self.b.ins().load(I64, FIXED, record, function::INSTANCE);
        self.finish_call(Callee::At(entry), owner, (number, signature), false);
        Ok(())
    }

    fn finish_call(
        &mut self,
        callee: Callee,
        owner: Value,
        (number, signature): (u32, SigRef),
        is_tail: bool,
    ) {
        let count = definitions::function_type(number).parameters.len();
        let mut arguments = vec![owner, self.b.use_var(self.budget)];
        arguments.extend(self.take(count));
        if is_tail {
            match callee {
                Callee::Known(target) => self.b.ins().return_call(target, &arguments),
                Callee::At(entry) => self
                    .b
                    .ins()
                    .return_call_indirect(signature, entry, &arguments),
            };
            self.unreachable = Some(0);
            return;
        }
        let results = self.write_call(callee, signature, &arguments);
        self.b.def_var(self.budget, results[0]);
        self.stack.extend(&results[1..]);
    }

    pub(super) fn call_indirect(
        &mut self,
        type_index: u32,
        table_index: u32,
    ) -> Result<(), Refusal> {
        let number = self.module.parts().types[type_index as usize];
        let index = self.pop();
        let record = self.element(index, table_index, number);
        self.call_record(record, number)
    }

    pub(super) fn call_reference(&mut self, type_index: u32) -> Result<(), Refusal> {
        let number = self.module.parts().types[type_index as usize];
        let record = self.pop();
        self.b
            .ins()
            .trapz(record, super::trap(Reason::NullFunction));
        self.call_record(record, number)
    }

    /// The function in a table, which must have a type or be below it.
    fn element(&mut self, index: Value, number: u32, kind: u32) -> Value {
        let record = self.listed(instance::TABLES, number);
        let index = if self.module.parts().tables[number as usize].is_wide {
            index
        } else {
            self.b.ins().uextend(I64, index)
        };
        let length = self.b.ins().load(I64, TRUSTED, record, table::LENGTH);
        let outside = IntCC::UnsignedGreaterThanOrEqual;
        let outside = self.b.ins().icmp(outside, index, length);
        self.trap_if(outside, Reason::UndefinedElement);
        let base = self.b.ins().load(I64, TRUSTED, record, table::BASE);
        let offset = self.b.ins().ishl_imm_u(index, 3);
        let place = self.b.ins().iadd(base, offset);
        let callee = self.b.ins().load(I64, TRUSTED, place, 0);
        let null = super::trap(Reason::UninitializedElement);
        self.b.ins().trapz(callee, null);
        let wanted = self.b.ins().iconst(I32, i64::from(kind));
        let found = self.b.ins().load(I32, TRUSTED, callee, function::TYPE);
        let same = self.b.ins().icmp(IntCC::Equal, wanted, found);
        let (below, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(below);
        self.b.ins().brif(same, go_on, &[], below, &[]);
        self.b.switch_to_block(below);
        self.b.seal_block(below);
        let display = self.b.ins().load(I64, TRUSTED, callee, function::DISPLAY);
        let depth = 4 * definitions::definition(kind).depth() as i32;
        let found = self.b.ins().load(I32, TRUSTED, display, depth);
        let other = self.b.ins().icmp(IntCC::NotEqual, wanted, found);
        self.trap_if(other, Reason::IndirectTypeMismatch);
        self.b.ins().jump(go_on, &[]);
        self.b.switch_to_block(go_on);
        self.b.seal_block(go_on);
        callee
    }

    /// Writes operands where an operation of the runtime finds them; gives their slots and the frame.
    pub(super) fn write_operands(&mut self, operands: &[Value]) -> (Value, Vec<u16>) {
        let frame = self.run_word(activation::TOP);
        let flags = MemFlagsData::new().with_notrap();
        let mut slot = 0;
        let mut slots = Vec::new();
        for operand in operands {
            self.b
                .ins()
                .store(flags, *operand, frame, 8 * i32::from(slot));
            slots.push(slot);
            let bytes = self.b.func.dfg.value_type(*operand).bytes();
            slot += bytes.div_ceil(8) as u16;
        }
        (frame, slots)
    }

    /// Notes the instruction of the runtime for which code leaves, and the frame with its operands.
    pub(super) fn note_operation(&mut self, code: Code, frame: Value) {
        let words = code.finish();
        let address = words.as_ptr() as i64;
        self.words.push(words);
        let address = self.b.ins().iconst(I64, address);
        self.set_run_word(activation::PC, address);
        self.set_run_word(activation::FRAME, frame);
        self.set_run_word(activation::INSTANCE, self.instance);
    }

    /// Leaves for an instruction of the runtime whose operands are in a frame; gives its result.
    fn run_operation(&mut self, code: Code, frame: Value, result: Option<Type>) -> Option<Value> {
        self.note_operation(code, frame);
        self.leave(Reason::Operation);
        let of = result?;
        let frame = self.run_word(activation::TOP);
        let flags = MemFlagsData::new().with_notrap();
        Some(self.b.ins().load(of, flags, frame, 0))
    }

    /// An operation of the runtime on the newest operands, with two numbers.
    pub(super) fn operation(
        &mut self,
        op: Runtime,
        count: usize,
        result: Option<Type>,
        numbers: [u32; 2],
    ) {
        let operands = self.take(count);
        let value = self.operation_on(op, &operands, result, numbers);
        self.stack.extend(value);
    }

    /// The same on given operands.
    pub(super) fn operation_on(
        &mut self,
        op: Runtime,
        operands: &[Value],
        result: Option<Type>,
        numbers: [u32; 2],
    ) -> Option<Value> {
        let (frame, slots) = self.write_operands(operands);
        let mut code = Code::default();
        let place = code.put(Opcode::Runtime(op));
        code.set32(place, 16, numbers[0]);
        code.set32(place, 20, numbers[1]);
        for (index, slot) in slots.iter().enumerate() {
            code.set16(place, 10 + 2 * index, *slot);
        }
        self.run_operation(code, frame, result)
    }

    /// An operation that takes a number of values in a row.
    pub(super) fn operation_on_row(&mut self, op: Runtime, count: usize, numbers: [u32; 2]) {
        let operands = self.take(count);
        let (frame, _) = self.write_operands(&operands);
        let mut code = Code::default();
        let place = code.put(Opcode::Runtime(op));
        code.set32(place, 16, numbers[0]);
        code.set32(place, 20, numbers[1]);
        let value = self.run_operation(code, frame, Some(I64));
        self.stack.extend(value);
    }
}
