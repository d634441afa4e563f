//! The interpreter of WebAssembly guests: handlers, their table and the way in, as an object file.
//!
//! Symbols: `canny_guest_handlers` (addresses by the order of `Opcode::all`), `canny_guest_enter` (the
//! platform's calling convention in, the handlers' out) and `canny_guest_out_of_bounds`, where a handler
//! goes on whose access met a guard page. Handlers keep the machine's registers until their access is
//! done, which is checked here, so that it finds them in place.

mod atomics;
mod calls;
mod dsl;
mod handlers;
mod vectors;

use canny_tables::guest::{Access, Opcode, Plain, Reason, Vector, activation};
use cranelift_codegen::Context;
use cranelift_codegen::ir::types::{F64X2, I64};
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{
    DataDescription, FuncId, Linkage, Module, ModuleReloc, default_libcall_names,
};
use cranelift_object::{ObjectBuilder, ObjectModule};
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register};

use crate::emit::{GenerateError, error};
use crate::strip::{Offsets, strip_frame};
use dsl::Handler;

/// The object file of the interpreter of guests for a target triple.
pub fn emit_guest_object(target: &str) -> Result<Vec<u8>, GenerateError> {
    let isa = isa(target)?;
    let is_x64 = target.starts_with("x86_64");
    let builder = ObjectBuilder::new(isa, "canny-guest", default_libcall_names()).map_err(error)?;
    let mut module = ObjectModule::new(builder);
    let across = Opcode::Plain(Plain::ReturnAcross);
    let return_across = declare(&mut module, &symbol(across))?;
    let mut emitter = Emitter {
        module,
        builder_context: FunctionBuilderContext::new(),
        is_x64,
        return_across,
    };
    let mut handlers = Vec::new();
    for opcode in Opcode::all() {
        let write = |handler: &mut Handler| handlers::write(opcode, handler);
        let is_guarded = matches!(
            opcode,
            Opcode::Load(_, access, _)
            | Opcode::Store(_, access, _)
            | Opcode::Vector(Vector::Load(_, access, _) | Vector::Store(access, _))
                if !matches!(access, Access::Checked | Access::Frame)
        ) || matches!(opcode, Opcode::Atomic(op) if op.access == Access::Guarded);
        handlers.push(emitter.handler(&symbol(opcode), is_guarded, write)?);
    }
    emitter.table("canny_guest_handlers", &handlers)?;
    emitter.out_of_bounds()?;
    emitter.entry()?;
    emitter.module.finish().emit().map_err(error)
}

fn symbol(opcode: Opcode) -> String {
    format!("guest_{opcode:?}").replace(|c: char| !c.is_alphanumeric(), "_")
}

fn isa(target: &str) -> Result<OwnedTargetIsa, GenerateError> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "true"),
        ("unwind_info", "false"),
        ("enable_verifier", "true"),
        ("preserve_frame_pointers", "true"),
    ] {
        flags.set(name, value).map_err(error)?;
    }
    let mut builder = cranelift_codegen::isa::lookup_by_name(target).map_err(error)?;
    if target.starts_with("x86_64") {
        // Guests need these: their instructions would be calls otherwise.
        for feature in ["sse3", "ssse3", "sse41", "sse42", "popcnt"] {
            builder.enable(&format!("has_{feature}")).map_err(error)?;
        }
    }
    builder.finish(settings::Flags::new(flags)).map_err(error)
}

/// Address of the instruction, frame, first memory, instance, activation, both accumulators; gives a
/// reason.
fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([AbiParam::new(I64); 6]);
    signature.params.push(AbiParam::new(F64X2));
    signature.returns.push(AbiParam::new(I64));
    signature
}

fn declare(module: &mut ObjectModule, name: &str) -> Result<FuncId, GenerateError> {
    module
        .declare_function(name, Linkage::Local, &signature())
        .map_err(error)
}

struct Emitter {
    module: ObjectModule,
    builder_context: FunctionBuilderContext,
    is_x64: bool,
    return_across: FuncId,
}

impl Emitter {
    fn handler(
        &mut self,
        name: &str,
        is_guarded: bool,
        write: impl FnOnce(&mut Handler),
    ) -> Result<FuncId, GenerateError> {
        let id = declare(&mut self.module, name)?;
        let mut context = self.begin();
        let across = self
            .module
            .declare_func_in_func(self.return_across, &mut context.func);
        self.build(&mut context, |builder, registers| {
            let handlers = builder.import_signature(signature());
            let mut handler = Handler::new(builder, machine(registers), handlers, across);
            write(&mut handler);
            handler.finish();
        });
        context
            .compile(self.module.isa(), &mut Default::default())
            .map_err(|e| error(format!("{name}: {:?}", e.inner)))?;
        let compiled = context
            .compiled_code()
            .ok_or_else(|| error(format!("{name}: no code")))?;
        let mut code = compiled.code_buffer().to_vec();
        let relocations = compiled.buffer.relocs().iter();
        let mut relocations: Vec<ModuleReloc> = relocations
            .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
            .collect();
        if self.is_x64 {
            let listing = compiled.vcode.as_deref().unwrap_or_default();
            let wrong = |what: String| error(format!("{name}: {what}\n{listing}"));
            strip_frame(&mut code, &mut relocations, Offsets::Kept).map_err(wrong)?;
            if is_guarded {
                check_access(&code).map_err(wrong)?;
            }
        }
        self.module
            .define_function_bytes(id, 16, &code, &relocations)
            .map_err(error)?;
        Ok(id)
    }

    fn begin(&self) -> Context {
        let mut context = self.module.make_context();
        context.set_disasm(true);
        context.func.signature = signature();
        context
    }

    fn build(&mut self, context: &mut Context, write: impl FnOnce(&mut FunctionBuilder, &[Value])) {
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.builder_context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let registers = builder.block_params(entry).to_vec();
        write(&mut builder, &registers);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
    }

    /// Where a handler goes on whose access met a guard page.
    fn out_of_bounds(&mut self) -> Result<(), GenerateError> {
        let name = "canny_guest_out_of_bounds";
        let id = self
            .module
            .declare_function(name, Linkage::Export, &signature())
            .map_err(error)?;
        let mut context = self.begin();
        let across = self
            .module
            .declare_func_in_func(self.return_across, &mut context.func);
        self.build(&mut context, |builder, registers| {
            let handlers = builder.import_signature(signature());
            let mut handler = Handler::new(builder, machine(registers), handlers, across);
            handler.leave(Reason::OutOfBoundsMemory);
        });
        // It may have a frame, since it returns.
        self.module.define_function(id, &mut context).map_err(error)
    }

    fn table(&mut self, name: &str, entries: &[FuncId]) -> Result<(), GenerateError> {
        let id = self
            .module
            .declare_data(name, Linkage::Export, false, false)
            .map_err(error)?;
        let mut data = DataDescription::new();
        data.define(vec![0; 8 * entries.len()].into_boxed_slice());
        data.set_align(64);
        for (index, entry) in entries.iter().enumerate() {
            let function = self.module.declare_func_in_data(*entry, &mut data);
            data.write_function_addr(8 * index as u32, function);
        }
        self.module.define_data(id, &data).map_err(error)
    }

    /// `canny_guest_enter(pc, frame, memory, instance, activation) -> reason`.
    fn entry(&mut self) -> Result<(), GenerateError> {
        let mut outer = self.module.make_signature();
        outer.params.extend([AbiParam::new(I64); 5]);
        outer.returns.push(AbiParam::new(I64));
        let id = self
            .module
            .declare_function("canny_guest_enter", Linkage::Export, &outer)
            .map_err(error)?;
        let mut context = self.module.make_context();
        context.func.signature = outer;
        self.build(&mut context, |builder, registers| {
            let trusted = cranelift_codegen::ir::MemFlagsData::trusted();
            let handler = builder.ins().load(I64, trusted, registers[0], 0);
            let handlers = builder.import_signature(signature());
            let nothing = builder.ins().iconst(I64, 0);
            let float = builder.ins().f64const(0.0);
            let float = builder.ins().scalar_to_vector(F64X2, float);
            let mut all = registers.to_vec();
            all.extend([nothing, float]);
            let call = builder.ins().call_indirect(handlers, handler, &all);
            let reason = builder.inst_results(call)[0];
            builder.ins().return_(&[reason]);
        });
        self.module.define_function(id, &mut context).map_err(error)
    }
}

/// The parameters of a handler.
fn machine(p: &[Value]) -> [Value; 7] {
    [p[0], p[1], p[2], p[3], p[4], p[5], p[6]]
}

/// The machine's registers, as the tail-calling convention passes them.
const REGISTERS: [Register; 5] = [
    Register::RDI,
    Register::RSI,
    Register::RDX,
    Register::RCX,
    Register::R8,
];

/// Checks that a handler's access to the guest's memory comes before any change of the machine's
/// registers (that of the memory aside), so that a fault there can be turned into a trap.
fn check_access(code: &[u8]) -> Result<(), String> {
    let mut factory = InstructionInfoFactory::new();
    for instruction in &mut Decoder::new(64, code, DecoderOptions::NONE) {
        let info = factory.info(&instruction);
        let accesses = info.used_memory().iter().any(|used| {
            let parts = [used.base(), used.index()];
            // The machine's own memory is reached through its registers, the guest's through an index.
            let is_operand = used.base() == Register::RDI && used.index() == Register::None;
            let is_slot = used.base() == Register::RSI;
            !is_operand && !is_slot && parts.iter().any(|part| *part != Register::None)
        });
        if accesses {
            return Ok(());
        }
        for used in info.used_registers() {
            let written = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            let register = used.register().full_register();
            if written && REGISTERS.contains(&register) && register != Register::RDX {
                return Err(format!("{register:?} changes before the access to memory"));
            }
        }
    }
    Err("no access to memory found".into())
}

const _: () = assert!(activation::SCRATCH % 8 == 0);

#[cfg(test)]
mod tests {
    #[test]
    fn every_handler_of_guests_is_generated_without_a_frame() {
        let object = super::emit_guest_object("x86_64-unknown-linux-gnu").unwrap();
        assert!(object.len() > 4096);
    }
}
