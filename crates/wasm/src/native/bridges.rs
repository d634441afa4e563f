//! The ways between the interpreter and machine code.
//!
//! The interpreter comes to machine code by an instruction whose handler is a piece of code made here. It
//! notes a transition (`Transition`) on the stack, by which frames below it are found. Machine code comes
//! to an interpreted function by an adapter of its type, which makes a frame as the interpreter does.

use std::sync::LazyLock;

use canny_locks::Mutex;
use canny_tables::guest::{LINK_WORDS, Opcode, Plain, activation, function, instance};
use canny_tables::hashing::SeededMap;
use cranelift_codegen::Context;
use cranelift_codegen::ir::types::{F64X2, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, InstBuilder, MemFlagsData, Signature, StackSlotData,
    StackSlotKind, UserExternalName, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::compile::{
    Compiled, Refusal, generate, isa, kind_of, loop_signature_of, signature_of, words_signature,
};
use crate::activation::{TRANSITION_BYTES, transition};
use crate::code::Code;
use crate::code_memory::{self, Landings, Piece, Purpose};
use crate::code_origins::CodeOrigins;
use crate::definitions;
use crate::switch::entries;
use crate::types::FunctionType;

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Slots have half of a vector's alignment.
const SLOTS: MemFlagsData = MemFlagsData::new().with_notrap();

/// The signature of handlers.
fn handler_signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([AbiParam::new(I64); 6]);
    signature.params.push(AbiParam::new(F64X2));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Writes a function of a signature.
fn write(
    signature: Signature,
    targets: &[Option<usize>],
    body: impl FnOnce(&mut FunctionBuilder, &[Value]),
) -> Result<Compiled, Refusal> {
    let mut context = Context::new();
    let mut builders = FunctionBuilderContext::new();
    context.func.signature = signature;
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builders);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let parameters = builder.block_params(entry).to_vec();
    body(&mut builder, &parameters);
    builder.seal_all_blocks();
    builder.finalize(isa()?.frontend_config());
    generate(context, targets)
}

/// A handler that calls machine code of a function of a type, and returns for it. The code gets the
/// parameters, or the frame if it begins at a loop.
pub fn from_interpreter(
    kind: &FunctionType,
    code: usize,
    takes_frame: bool,
) -> Result<Compiled, Refusal> {
    write(handler_signature(), &[Some(code)], |b, registers| {
        let [frame, instance, run] = [registers[1], registers[3], registers[4]];
        b.ins().set_pinned_reg(run);
        let slot = b.create_sized_stack_slot(StackSlotData::new(
            StackSlotKind::ExplicitSlot,
            TRANSITION_BYTES,
            3,
        ));
        let note = b.ins().stack_addr(I64, slot, 0);
        let link = 8 * kind.link() as i64;
        let link = b.ins().iadd_imm_s(frame, link);
        let older = b.ins().load(I64, TRUSTED, run, activation::TRANSITION);
        let top = b.ins().load(I64, TRUSTED, run, activation::TOP);
        let base = b.ins().get_frame_pointer(I64);
        for (at, value) in [
            (transition::OLDER, older),
            (transition::TOP, top),
            (transition::FRAME, frame),
            (transition::LINK, link),
            (transition::INSTANCE, instance),
            (transition::BASE, base),
        ] {
            b.ins().store(TRUSTED, value, note, at);
        }
        b.ins().store(TRUSTED, note, run, activation::TRANSITION);
        let end = b.ins().iadd_imm_s(link, 8 * LINK_WORDS as i64);
        b.ins().store(TRUSTED, end, run, activation::TOP);
        let budget = b.ins().load(I64, TRUSTED, run, activation::BUDGET);
        let mut arguments = vec![instance, budget];
        let signature = if takes_frame {
            loop_signature_of(kind)
        } else {
            signature_of(kind)
        };
        if takes_frame {
            arguments.push(frame);
        } else {
            let mut slot = 0;
            for kind in &kind.parameters {
                let value = b.ins().load(kind_of(*kind), SLOTS, frame, 8 * slot as i32);
                arguments.push(value);
                slot += kind.slots();
            }
        }
        let signature = b.import_signature(signature);
        let name = UserExternalName {
            namespace: 0,
            index: 0,
        };
        let name = b.func.declare_imported_user_function(name);
        let target = b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        let call = b.ins().call(target, &arguments);
        let results = b.inst_results(call).to_vec();
        b.ins().store(TRUSTED, results[0], run, activation::BUDGET);
        b.ins().store(TRUSTED, older, run, activation::TRANSITION);
        b.ins().store(TRUSTED, top, run, activation::TOP);
        let mut slot = 0;
        for (result, kind) in results[1..].iter().zip(&kind.results) {
            b.ins().store(SLOTS, *result, frame, 8 * slot as i32);
            slot += kind.slots();
        }
        // As the instruction that returns.
        let pc = b.ins().load(I64, TRUSTED, link, 0);
        let caller = b.ins().load(I64, TRUSTED, link, 8);
        let memory = b.ins().load(I64, TRUSTED, instance, instance::MEMORY);
        let handler = b.ins().load(I64, TRUSTED, pc, 0);
        let signature = b.import_signature(handler_signature());
        let arguments = [
            pc,
            caller,
            memory,
            instance,
            run,
            registers[5],
            registers[6],
        ];
        b.ins().return_call_indirect(signature, handler, &arguments);
    })
}

/// The function that an adapter calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// The activation has its index among the functions of the instance's module.
    Own,
    /// The activation has its record.
    Record,
}

static ADAPTERS: LazyLock<Mutex<SeededMap<(u32, Callee), usize>>> = LazyLock::new(Mutex::default);

/// The address of the adapter for functions of a type, by its number. It stays for the whole process.
pub fn adapter(number: u32, callee: Callee) -> Result<usize, Refusal> {
    let mut known = ADAPTERS.lock();
    if let Some(address) = known.get(&(number, callee)) {
        return Ok(*address);
    }
    let compiled = to_interpreter(definitions::function_type(number), callee)?;
    let code = install(compiled, Purpose::ToInterpreter)?;
    let address = code.address();
    std::mem::forget(code);
    known.insert((number, callee), address);
    Ok(address)
}

fn to_interpreter(kind: &FunctionType, callee: Callee) -> Result<Compiled, Refusal> {
    write(signature_of(kind), &[], |b, parameters| {
        let (instance, budget) = (parameters[0], parameters[1]);
        let run = b.ins().get_pinned_reg(I64);
        let what = b.ins().load(I64, TRUSTED, run, activation::CALLEE);
        let pc = match callee {
            Callee::Own => {
                let codes = b.ins().load(I64, TRUSTED, instance, instance::CODES);
                let offset = b.ins().ishl_imm_u(what, 3);
                let place = b.ins().iadd(codes, offset);
                b.ins().load(I64, TRUSTED, place, 0)
            }
            Callee::Record => {
                compiled_by_now(b, kind, what, parameters);
                b.ins().load(I64, TRUSTED, what, function::CODE)
            }
        };
        let frame = b.ins().load(I64, TRUSTED, run, activation::TOP);
        let mut slot = 0;
        for (value, kind) in parameters[2..].iter().zip(&kind.parameters) {
            b.ins().store(SLOTS, *value, frame, 8 * slot as i32);
            slot += kind.slots();
        }
        let link = 8 * kind.link() as i32;
        let back = b.ins().iconst(I64, RETURN.as_ptr() as i64);
        let base = b.ins().get_frame_pointer(I64);
        b.ins().store(TRUSTED, back, frame, link);
        b.ins().store(TRUSTED, frame, frame, link + 8);
        // By this, frames of machine code are found.
        b.ins().store(TRUSTED, base, frame, link + 16);
        b.ins().store(TRUSTED, budget, run, activation::BUDGET);
        b.ins().store(TRUSTED, pc, run, activation::PC);
        b.ins().store(TRUSTED, frame, run, activation::FRAME);
        b.ins().store(TRUSTED, instance, run, activation::INSTANCE);
        let signature = b.import_signature(words_signature(CallConv::Tail, 0));
        let entry = b.ins().iconst(I64, entries().interpret as i64);
        b.ins().call_indirect(signature, entry, &[]);
        let mut slot = 0;
        let mut results = vec![b.ins().load(I64, TRUSTED, run, activation::BUDGET)];
        for kind in &kind.results {
            results.push(b.ins().load(kind_of(*kind), SLOTS, frame, 8 * slot as i32));
            slot += kind.slots();
        }
        b.ins().return_(&results);
    })
}

/// Goes to the machine code of a record's function, if there is some by now.
fn compiled_by_now(b: &mut FunctionBuilder, kind: &FunctionType, record: Value, all: &[Value]) {
    let instance = all[0];
    let [look, found, none] = [(); 3].map(|()| b.create_block());
    let natives = b.ins().load(I64, TRUSTED, instance, instance::NATIVES);
    b.ins().brif(natives, look, &[], none, &[]);
    b.switch_to_block(look);
    let index = b.ins().load(I32, TRUSTED, record, function::INDEX);
    let index = b.ins().uextend(I64, index);
    let offset = b.ins().ishl_imm_u(index, 3);
    let place = b.ins().iadd(natives, offset);
    let native = b.ins().load(I64, TRUSTED, place, 0);
    b.ins().brif(native, found, &[], none, &[]);
    b.switch_to_block(found);
    b.ins().store(TRUSTED, native, record, function::NATIVE);
    let signature = b.import_signature(signature_of(kind));
    b.ins().return_call_indirect(signature, native, all);
    b.switch_to_block(none);
}

/// The instruction to which a function returns that machine code has called.
static RETURN: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut code = Code::default();
    code.put(Opcode::Plain(Plain::ReturnNative));
    code.finish()
});

/// Code that tells the adapter for functions of a type which one it is.
pub fn stub(own_index: u32, adapter: usize) -> Result<code_memory::Code, Refusal> {
    // mov qword ptr [r15 + callee], index; jmp adapter
    let mut bytes = vec![0x49, 0xc7, 0x47, activation::CALLEE as u8];
    bytes.extend(own_index.to_le_bytes());
    bytes.push(0xe9);
    let at = bytes.len() as u32;
    bytes.extend([0; 4]);
    let compiled = Compiled {
        bytes,
        traps: Vec::new(),
        origins: Vec::new(),
        relocations: vec![(at, Some(adapter), -4)],
        words: Vec::new(),
        landings: Landings::default(),
    };
    install(compiled, Purpose::ToInterpreter)
}

/// Gives code an address.
pub fn install(compiled: Compiled, purpose: Purpose) -> Result<code_memory::Code, Refusal> {
    let Compiled {
        bytes,
        traps,
        origins,
        relocations,
        landings,
        ..
    } = compiled;
    let piece = Piece {
        purpose,
        traps: traps.into(),
        origins: CodeOrigins::new(&origins),
        landings,
    };
    let code = code_memory::install(bytes, piece, |bytes, address| {
        for (offset, target, addend) in relocations {
            let target = target.unwrap_or(address) as i64;
            let distance = target + addend - (address as i64 + i64::from(offset));
            let at = offset as usize;
            bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
    });
    code.ok_or(Refusal::Unfit("there is no memory for machine code"))
}

const _: () = assert!(activation::CALLEE < 128);
