//! Machine code that all segments share: entries into the interpreter and into the runtime.
//!
//! Written once when code memory is made, and never freed. A stub takes pc, fp and the thread block
//! in the registers of the segments' convention. The ones that enter the interpreter first clear
//! the callee-saved registers: a stale reference there would keep objects and code alive, since
//! native frames are scanned conservatively.

use canny_tables::layout::{frame, thread};
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, SigRef, Signature, SourceLoc, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::assembler::Assembler;
use crate::machine::{self, Effort, FunctionCode, segment_signature};
use crate::{JitError, Processor};

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Offsets in a resumption: two pairs of the address that the runtime gives and of the segment for it.
pub(crate) mod resumption {
    pub(crate) const NEXT: i32 = 0;
    pub(crate) const NEXT_SEGMENT: i32 = 8;
    pub(crate) const TAKEN: i32 = 16;
    pub(crate) const TAKEN_SEGMENT: i32 = 24;
    pub(crate) const SIZE: usize = 32;
}

/// Bytes from a return address back to field a of the call before it.
const RETURN_BASE_BYTE: i32 = -7;

struct StubWriter<'b> {
    builder: FunctionBuilder<'b>,
    thread: Value,
    signature: SigRef,
    exits: u32,
}

impl StubWriter<'_> {
    fn load(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().load(I64, TRUSTED, base, offset)
    }

    fn mark_exit(&mut self) {
        self.exits += 1;
        self.builder.set_srcloc(SourceLoc::new(self.exits));
    }

    /// Dispatches the instruction at an address.
    fn dispatch(&mut self, address: Value, fp: Value) {
        let table = self.load(self.thread, thread::TABLE);
        let word = self.builder.ins().load(I32, TRUSTED, address, 0);
        let pc = self.builder.ins().iadd_imm_s(address, 4);
        let opcode = self.builder.ins().ireduce(I8, word);
        let opcode = self.builder.ins().uextend(I64, opcode);
        let offset = self.builder.ins().ishl_imm_u(opcode, 3);
        let entry = self.builder.ins().iadd(table, offset);
        let target = self.load(entry, 0);
        self.mark_exit();
        let registers = [pc, fp, self.thread, table, word];
        self.builder
            .ins()
            .return_call_indirect(self.signature, target, &registers);
    }
}

fn write(
    body: impl FnOnce(&mut StubWriter, [Value; 5]) -> Result<(), JitError>,
) -> Result<FunctionCode, JitError> {
    let mut context = Context::new();
    let mut builder_context = FunctionBuilderContext::new();
    machine::clear(&mut context);
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let p = builder.block_params(entry);
    let registers = [p[0], p[1], p[2], p[3], p[4]];
    let signature = builder.import_signature(segment_signature());
    let mut writer = StubWriter {
        thread: registers[2],
        builder,
        signature,
        exits: 0,
    };
    body(&mut writer, registers)?;
    let exits = writer.exits;
    writer.builder.seal_all_blocks();
    let isa = machine::target(Processor::Host, Effort::Little)?;
    writer.builder.finalize(isa.frontend_config());
    machine::generate(&mut context, exits, isa, false)
}

/// Empties the registers that functions keep for their callers and the interpreter does not use, before
/// anything else. Otherwise each collection until compiled code runs again would find stale
/// references there, and keep alive all that they refer to.
fn forgetting(code: FunctionCode) -> FunctionCode {
    code.behind(&Assembler::bytes_of(Assembler::clear_saved_registers))
}

/// Executes the instruction at pc (not behind its first word) in the interpreter.
pub(crate) fn dispatch() -> Result<FunctionCode, JitError> {
    let code = write(|writer, [pc, fp, ..]| {
        writer.dispatch(pc, fp);
        Ok(())
    });
    code.map(forgetting)
}

/// Returns the word in pc's register to the interpreter, as its own return does.
pub(crate) fn to_interpreter() -> Result<FunctionCode, JitError> {
    let code = write(|writer, [value, fp, ..]| {
        let pc = writer.load(fp, 8 * frame::RETURN_PC);
        let ins = writer.builder.ins();
        ins.store(TRUSTED, value, fp, 8 * frame::CLOSURE);
        let base = writer
            .builder
            .ins()
            .uload8(I64, TRUSTED, pc, RETURN_BASE_BYTE);
        let bytes = writer.builder.ins().ishl_imm_u(base, 3);
        let caller = writer.builder.ins().isub(fp, bytes);
        let caller = writer
            .builder
            .ins()
            .iadd_imm_s(caller, -8 * frame::LINK_WORDS as i64);
        writer.dispatch(pc, caller);
        Ok(())
    });
    code.map(forgetting)
}

/// Executes the instruction before pc in the runtime. The table's register holds a resumption: where
/// the runtime says one of its addresses, its segment continues, with fp as the runtime left it; else
/// the interpreter does, or the machine is left.
pub(crate) fn runtime() -> Result<FunctionCode, JitError> {
    let isa = machine::target(Processor::Host, Effort::Little)?;
    write(|writer, [pc, fp, block, ways, word]| {
        let mut signature = Signature::new(CallConv::triple_default(isa.triple()));
        for kind in [I64, I64, I64, I32] {
            signature.params.push(AbiParam::new(kind));
        }
        signature.returns.push(AbiParam::new(I64));
        let signature = writer.builder.import_signature(signature);
        writer.builder.ins().store(TRUSTED, pc, block, thread::PC);
        writer.builder.ins().store(TRUSTED, fp, block, thread::FP);
        let entries = writer.load(block, thread::RUNTIME);
        let opcode = writer.builder.ins().ireduce(I8, word);
        let opcode = writer.builder.ins().uextend(I64, opcode);
        let offset = writer.builder.ins().ishl_imm_u(opcode, 3);
        let slot = writer.builder.ins().iadd(entries, offset);
        let entry = writer.load(slot, 0);
        let call = writer
            .builder
            .ins()
            .call_indirect(signature, entry, &[block, fp, pc, word]);
        let result = writer.builder.inst_results(call)[0];
        let fp = writer.load(block, thread::FP);
        for (address, segment) in [
            (resumption::NEXT, resumption::NEXT_SEGMENT),
            (resumption::TAKEN, resumption::TAKEN_SEGMENT),
        ] {
            let address = writer.load(ways, address);
            let same = writer.builder.ins().icmp(IntCC::Equal, result, address);
            let (on, other) = (writer.builder.create_block(), writer.builder.create_block());
            writer.builder.ins().brif(same, on, &[], other, &[]);
            writer.builder.switch_to_block(on);
            let target = writer.load(ways, segment);
            let signature = writer.signature;
            writer.mark_exit();
            let registers = [result, fp, block, ways, word];
            writer
                .builder
                .ins()
                .return_call_indirect(signature, target, &registers);
            writer.builder.switch_to_block(other);
        }
        let (elsewhere, leave) = (writer.builder.create_block(), writer.builder.create_block());
        writer
            .builder
            .ins()
            .brif(result, elsewhere, &[], leave, &[]);
        writer.builder.switch_to_block(leave);
        let value = writer.load(block, thread::RESULT);
        writer.mark_exit();
        writer.builder.ins().return_(&[value]);
        writer.builder.switch_to_block(elsewhere);
        writer.dispatch(result, fp);
        Ok(())
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_ways_into_the_interpreter_empty_registers_first() {
        for stub in [dispatch(), to_interpreter()] {
            let code = stub.expect("it is generated");
            assert_eq!(code.entry, 0);
            let first = Assembler::bytes_of(Assembler::clear_saved_registers);
            assert!(!first.is_empty() && code.bytes.starts_with(&first));
        }
    }
}
