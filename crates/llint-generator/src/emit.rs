//! Compiles every handler and stub into an object file.
//!
//! Symbols: `canny_llint_table` (handlers by opcode), `canny_llint_logging_table` (the same, those that
//! log in place of plain ones), `canny_llint_slow` (slow stubs by opcode), `canny_llint_enter` (the
//! platform's calling convention in, the handlers' out), `canny_llint_native_to_bytecode` (where
//! compiled calls of code that is not compiled go), and `canny_llint_native_capture` and
//! `canny_llint_native_continue` (where those of the machine's own go).

use canny_tables::layout::{self, thread};
use canny_tables::opcodes::{LOG_FULL_ENTRY, NATIVE_ENTER_ENTRY, Opcode, TABLE_ENTRIES};
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{
    DataDescription, FuncId, Linkage, Module, ModuleReloc, ModuleRelocTarget, default_libcall_names,
};
use cranelift_object::{ObjectBuilder, ObjectModule};

use crate::dsl::{Exits, Handler};
use crate::handlers::{
    Implementation, Writer, continuations, control, implementation, logging, stencil_writers,
};
use crate::stencils::{Exit, Stencil, reads, take_apart};
use crate::strip::{Offsets, strip_frame};

/// Why the interpreter could not be generated; the text names the opcode.
#[derive(Debug)]
pub struct GenerateError(String);

impl std::fmt::Display for GenerateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot generate the interpreter: {}", self.0)
    }
}

impl std::error::Error for GenerateError {}

/// An error with a text.
pub fn error(what: impl std::fmt::Display) -> GenerateError {
    GenerateError(what.to_string())
}

/// The object file of the interpreter for a target triple.
pub fn emit_object(target: &str) -> Result<Vec<u8>, GenerateError> {
    let isa = isa(target)?;
    let strips = target.starts_with("x86_64");
    let builder = ObjectBuilder::new(isa, "canny-llint", default_libcall_names()).map_err(error)?;
    let mut module = ObjectModule::new(builder);
    // The handler of words that verified code never dispatches: bytes that are no opcode, stubs of
    // opcodes without a runtime entry.
    let invalid = module
        .declare_function("op_invalid", Linkage::Local, &handler_signature())
        .map_err(error)?;
    let mut emitter = Emitter {
        module,
        builder_context: FunctionBuilderContext::new(),
        strips,
        invalid,
    };
    emitter.define_invalid()?;
    let mut handlers = Vec::new();
    let mut stubs = Vec::new();
    for &opcode in Opcode::ALL {
        let stub = if opcode == Opcode::Break {
            emitter.debug_stub()?
        } else if opcode.has_runtime_entry() {
            emitter.slow_stub(opcode)?
        } else {
            invalid
        };
        stubs.push(stub);
        let handler = emitter.opcode(opcode, stub)?;
        handlers.push(handler);
    }
    let log_full = emitter.stub("log_full", LOG_FULL_ENTRY, None)?;
    let mut logging_handlers = Vec::new();
    for (&opcode, &plain) in Opcode::ALL.iter().zip(&handlers) {
        logging_handlers.push(emitter.logging(opcode, plain, log_full)?);
    }
    for table in [&mut handlers, &mut stubs, &mut logging_handlers] {
        table.resize(TABLE_ENTRIES, invalid);
    }
    handlers[NATIVE_ENTER_ENTRY] = emitter.native_enter(invalid)?;
    logging_handlers[NATIVE_ENTER_ENTRY] = emitter.logged_native_enter(invalid)?;
    logging_handlers[Opcode::Stitched as usize] = emitter.unstitch()?;
    emitter.table("canny_llint_table", &handlers)?;
    emitter.table("canny_llint_logging_table", &logging_handlers)?;
    emitter.table("canny_llint_slow", &stubs)?;
    emitter.entry()?;
    emitter.native_to_bytecode()?;
    emitter.stitched_slow()?;
    emitter.module.finish().emit().map_err(error)
}

/// The stencils of an opcode: the first, and the one for what it leaves.
pub type StencilPair = (Stencil, Option<Stencil>);

/// The stencils of all opcodes that have some, by opcode; none for targets without stencils.
pub fn stencils(target: &str) -> Result<Vec<Option<StencilPair>>, GenerateError> {
    if !target.starts_with("x86_64") {
        return Ok(Vec::new());
    }
    let builder = ObjectBuilder::new(isa(target)?, "canny-stencils", default_libcall_names())
        .map_err(error)?;
    let mut module = ObjectModule::new(builder);
    // Functions that are never defined: jumps to them are found and patched.
    let mut exit = |name| {
        module
            .declare_function(name, Linkage::Local, &handler_signature())
            .map_err(error)
    };
    let exits = [exit("next")?, exit("taken")?, exit("slow")?];
    let mut cutter = StencilCutter {
        builder_context: FunctionBuilderContext::new(),
        module,
        exits,
    };
    let mut all = Vec::new();
    for &opcode in Opcode::ALL {
        let pair = match stencil_writers(opcode) {
            None => None,
            Some((first, second)) => {
                let mut cut = |writer| {
                    let sparing = cutter.cut(opcode, writer, false);
                    sparing.or_else(|_| cutter.cut(opcode, writer, true))
                };
                let first = cut(first)?;
                let second = second.map(cut).transpose()?;
                Some((first, second))
            }
        };
        all.push(pair);
    }
    Ok(all)
}

struct StencilCutter {
    module: ObjectModule,
    builder_context: FunctionBuilderContext,
    /// Next, taken, slow.
    exits: [FuncId; 3],
}

impl StencilCutter {
    fn cut(
        &mut self,
        opcode: Opcode,
        write: Writer,
        frees: bool,
    ) -> Result<Stencil, GenerateError> {
        let name = opcode.row().name;
        let mut context = self.module.make_context();
        context.set_disasm(true);
        context.func.signature = handler_signature();
        let [next, taken, slow] = self
            .exits
            .map(|exit| self.module.declare_func_in_func(exit, &mut context.func));
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.builder_context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let p = builder.block_params(entry);
        let registers = [p[0], p[1], p[2], p[3], p[4]];
        let signature = builder.import_signature(handler_signature());
        let mut handler = Handler::new(&mut builder, registers, signature, slow);
        handler.begin_stencil(Exits { next, taken }, frees);
        write(opcode, &mut handler);
        handler.finish();
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        let needs_pc = reads(&context.func, registers[0]);
        let needs_word = reads(&context.func, registers[4]);
        context
            .compile(self.module.isa(), &mut Default::default())
            .map_err(|e| error(format!("stencil of {name}: {:?}", e.inner)))?;
        let compiled = context
            .compiled_code()
            .ok_or_else(|| error(format!("stencil of {name}: no code")))?;
        let listing = compiled.vcode.as_deref().unwrap_or_default();
        let wrong = |what: String| error(format!("stencil of {name}: {what}\n{listing}"));
        let mut code = compiled.code_buffer().to_vec();
        let mut relocations: Vec<ModuleReloc> = compiled
            .buffer
            .relocs()
            .iter()
            .map(|relocation| {
                ModuleReloc::from_mach_reloc(relocation, &context.func, self.exits[0])
            })
            .collect();
        strip_frame(&mut code, &mut relocations, Offsets::Moved).map_err(wrong)?;
        let mut exits = Vec::new();
        for relocation in &relocations {
            let named = self
                .exits
                .iter()
                .zip([Exit::Next, Exit::Taken, Exit::Slow])
                .find(|(id, _)| {
                    let (namespace, index) = (0, id.as_u32());
                    matches!(relocation.name, ModuleRelocTarget::User { namespace: n, index: i }
                        if (n, i) == (namespace, index))
                })
                .ok_or_else(|| wrong("it refers to something".into()))?;
            exits.push((relocation.offset, named.1));
        }
        let (usual, rare) = take_apart(&code, &exits).map_err(wrong)?;
        Ok(Stencil {
            usual,
            rare,
            needs_word,
            needs_pc,
        })
    }
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
    cranelift_codegen::isa::lookup_by_name(target)
        .map_err(error)?
        .finish(settings::Flags::new(flags))
        .map_err(error)
}

/// Signature of handlers and stubs.
fn handler_signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    for kind in [I64, I64, I64, I64, I32] {
        signature.params.push(AbiParam::new(kind));
    }
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// The machine's registers around a call of the runtime.
struct RuntimeDone {
    /// As they were on entry.
    before: [Value; 5],
    /// As the next instruction gets them.
    registers: [Value; 5],
    /// Of handlers.
    signature: SigRef,
}

/// For code that leaves nothing to another function.
fn no_fallback() -> FuncRef {
    FuncRef::from_u32(0)
}

struct Emitter {
    module: ObjectModule,
    builder_context: FunctionBuilderContext,
    strips: bool,
    invalid: FuncId,
}

impl Emitter {
    /// The handler (or handlers) of an opcode; gives what goes into the table.
    fn opcode(&mut self, opcode: Opcode, stub: FuncId) -> Result<FuncId, GenerateError> {
        let name = opcode.row().name;
        let implementation = implementation(opcode).ok_or_else(|| {
            error(format!(
                "{name}: needs a handler, or RUNTIME_ONLY in its row, and not both"
            ))
        })?;
        match implementation {
            Implementation::Stub => Ok(stub),
            Implementation::Fast(writer) => {
                self.handler(&format!("op_{name}"), opcode, writer, stub)
            }
            Implementation::Forgetful(first, second) => {
                let second = self.handler(&format!("op_{name}_recovery"), opcode, second, stub)?;
                if let Some((name, writer)) = continuations::native_variant(opcode) {
                    self.frameless(name, Linkage::Export, [second, second], |handler, _| {
                        writer(opcode, handler)
                    })?;
                }
                let (name, linkage) = match continuations::native_entry(opcode) {
                    Some(symbol) => (symbol.to_owned(), Linkage::Export),
                    None => (format!("op_{name}"), Linkage::Local),
                };
                self.frameless(&name, linkage, [second, second], |handler, _| {
                    first(opcode, handler)
                })
            }
            Implementation::Staged(first, second) => {
                let second = self.handler(&format!("op_{name}_second"), opcode, second, stub)?;
                self.handler(&format!("op_{name}"), opcode, first, second)
            }
        }
    }

    fn handler(
        &mut self,
        name: &str,
        opcode: Opcode,
        writer: Writer,
        fallback: FuncId,
    ) -> Result<FuncId, GenerateError> {
        self.frameless(name, Linkage::Local, [fallback, fallback], |handler, _| {
            writer(opcode, handler)
        })
    }

    /// The handler that logs an opcode before its plain handler, or that one if nothing is logged.
    fn logging(
        &mut self,
        opcode: Opcode,
        plain: FuncId,
        log_full: FuncId,
    ) -> Result<FuncId, GenerateError> {
        let name = format!("log_{}", opcode.row().name);
        if logging::logs_after(opcode) {
            return self.stub(&name, opcode as usize, Some(opcode));
        }
        match logging::logging(opcode) {
            Some(writer) => {
                let leaves = [plain, log_full];
                self.frameless(&name, Linkage::Local, leaves, |handler, log_full| {
                    handler.set_log_full(log_full);
                    writer(opcode, handler)
                })
            }
            None => Ok(plain),
        }
    }

    /// `canny_llint_native_to_bytecode`: a compiled call arrives with the callee's code object as pc;
    /// continues as the table in force says.
    fn native_to_bytecode(&mut self) -> Result<FuncId, GenerateError> {
        let name = "canny_llint_native_to_bytecode";
        let fallback = self.invalid;
        self.frameless(name, Linkage::Export, [fallback, fallback], |handler, _| {
            // Compiled code does not keep the table in its register.
            handler.reload_table();
            let target = handler.load(handler.table, 8 * NATIVE_ENTER_ENTRY as i32);
            handler.go(target);
        })
    }

    /// Goes from a compiled call to the bytecode of the code object in pc.
    fn native_enter(&mut self, invalid: FuncId) -> Result<FuncId, GenerateError> {
        let leaves = [invalid, invalid];
        self.frameless("native_enter", Linkage::Local, leaves, |handler, _| {
            logging::start_of_bytecode(handler);
            handler.next();
        })
    }

    fn logged_native_enter(&mut self, invalid: FuncId) -> Result<FuncId, GenerateError> {
        let name = "log_native_enter";
        self.frameless(name, Linkage::Local, [invalid, invalid], |handler, _| {
            logging::write_native_enter(handler);
        })
    }

    /// `stitched` while the thread logs: what is logged is bytecode.
    fn unstitch(&mut self) -> Result<FuncId, GenerateError> {
        let leaves = [self.invalid, self.invalid];
        self.frameless("log_stitched", Linkage::Local, leaves, |handler, _| {
            control::write_retired(Opcode::Stitched, handler);
        })
    }

    /// `canny_llint_stitched_slow`: the slow path of an instruction of stitched code. In place of the
    /// dispatch table comes the address of a record: where the next instruction is in the bytecode, and
    /// where the target of the branch is, each followed by the code that continues there. If the runtime
    /// says something else, the interpreter continues.
    fn stitched_slow(&mut self) -> Result<(), GenerateError> {
        let entry = |builder: &mut FunctionBuilder, entries, word| {
            let opcode = builder.ins().ireduce(I8, word);
            let opcode = builder.ins().uextend(I64, opcode);
            let offset = builder.ins().ishl_imm_u(opcode, 3);
            let slot = builder.ins().iadd(entries, offset);
            builder.ins().load(I64, MemFlagsData::trusted(), slot, 0)
        };
        let name = "canny_llint_stitched_slow";
        self.runtime_call(name, Linkage::Export, entry, |builder, done| {
            let trusted = MemFlagsData::trusted();
            let [_, _, _, back, _] = done.before;
            let [next, ..] = done.registers;
            for offset in [0, layout::stitched::SIZE] {
                let expected = builder.ins().load(I64, trusted, back, offset);
                let as_expected = builder.ins().icmp(IntCC::Equal, next, expected);
                let stay = builder.create_block();
                let elsewhere = builder.create_block();
                builder.ins().brif(as_expected, stay, &[], elsewhere, &[]);
                builder.switch_to_block(stay);
                let code = offset + layout::stitched::CODE;
                let target = builder.ins().iadd_imm_s(back, i64::from(code));
                builder
                    .ins()
                    .return_call_indirect(done.signature, target, &done.registers);
                builder.switch_to_block(elsewhere);
            }
        })?;
        Ok(())
    }

    /// A function in the handlers' convention without a frame of its own; it may leave to a fallback
    /// and to another function, which `write` is given.
    fn frameless(
        &mut self,
        name: &str,
        linkage: Linkage,
        [fallback, other]: [FuncId; 2],
        write: impl FnOnce(&mut Handler, FuncRef),
    ) -> Result<FuncId, GenerateError> {
        let signature = handler_signature();
        let id = self
            .module
            .declare_function(name, linkage, &signature)
            .map_err(error)?;
        let mut context = self.module.make_context();
        context.set_disasm(true);
        context.func.signature = signature.clone();
        let has_fallback = fallback != self.invalid;
        let fallback = self
            .module
            .declare_func_in_func(fallback, &mut context.func);
        let other = self.module.declare_func_in_func(other, &mut context.func);
        let mut leaves = false;
        self.build(&mut context, |builder, registers, _| {
            let signature = builder.import_signature(signature);
            let mut handler = Handler::new(builder, registers, signature, fallback);
            write(&mut handler, other);
            handler.finish();
            leaves = handler.leaves_to_fallback();
        });
        if leaves && !has_fallback {
            return Err(error(format!(
                "{name}: leaves rare cases to the runtime, which has no entry by the opcode's row"
            )));
        }
        context
            .compile(self.module.isa(), &mut Default::default())
            .map_err(|e| error(format!("{name}: {:?}", e.inner)))?;
        let compiled = context
            .compiled_code()
            .ok_or_else(|| error(format!("{name}: no code")))?;
        let mut code = compiled.code_buffer().to_vec();
        let mut relocations: Vec<ModuleReloc> = compiled
            .buffer
            .relocs()
            .iter()
            .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
            .collect();
        if self.strips {
            strip_frame(&mut code, &mut relocations, Offsets::Moved).map_err(|what| {
                let listing = compiled.vcode.as_deref().unwrap_or_default();
                error(format!("{name}: {what}\n{listing}"))
            })?;
        }
        self.module
            .define_function_bytes(id, 16, &code, &relocations)
            .map_err(error)?;
        Ok(id)
    }

    fn build(
        &mut self,
        context: &mut Context,
        write: impl FnOnce(&mut FunctionBuilder, [Value; 5], Block),
    ) {
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.builder_context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let p = builder.block_params(entry);
        let registers = [p[0], p[1], p[2], p[3], p[4]];
        write(&mut builder, registers, entry);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
    }

    /// The stub that saves pc and fp, calls the opcode's runtime entry and continues where it says.
    fn slow_stub(&mut self, opcode: Opcode) -> Result<FuncId, GenerateError> {
        let name = format!("slow_{}", opcode.row().name);
        self.stub(&name, opcode as usize, None)
    }

    /// The stub of `break`, which also stands for all other opcodes while a thread is stepped through: the
    /// runtime either says where to continue, as ever, or has put into the carried words the handler and
    /// the word of the instruction that is to be executed; it then gives the address behind that word.
    fn debug_stub(&mut self) -> Result<FuncId, GenerateError> {
        let entry = |builder: &mut FunctionBuilder, entries, _| {
            let offset = 8 * Opcode::Break as i32;
            let trusted = MemFlagsData::trusted();
            builder.ins().load(I64, trusted, entries, offset)
        };
        self.runtime_call("debug", Linkage::Local, entry, |builder, done| {
            let trusted = MemFlagsData::trusted();
            let [pc, fp, block, table, _] = done.registers;
            let handler = builder.ins().load(I64, trusted, block, thread::CARRIED);
            let execute = builder.create_block();
            let elsewhere = builder.create_block();
            builder.ins().brif(handler, execute, &[], elsewhere, &[]);
            builder.switch_to_block(execute);
            let word = builder.ins().load(I32, trusted, block, thread::CARRIED + 8);
            builder.ins().return_call_indirect(
                done.signature,
                handler,
                &[pc, fp, block, table, word],
            );
            builder.switch_to_block(elsewhere);
        })
    }

    /// A slow stub that calls the runtime entry with a number. If an opcode to log is given, the value
    /// that the instruction left in register a is logged when it continues behind itself.
    fn stub(
        &mut self,
        name: &str,
        entry_number: usize,
        logged: Option<Opcode>,
    ) -> Result<FuncId, GenerateError> {
        let entry = |builder: &mut FunctionBuilder, entries, _| {
            let offset = 8 * entry_number as i32;
            let trusted = MemFlagsData::trusted();
            builder.ins().load(I64, trusted, entries, offset)
        };
        self.runtime_call(name, Linkage::Local, entry, |builder, done| {
            let Some(opcode) = logged else { return };
            let [pc, ..] = done.before;
            let [next, fp, block, table, word] = done.registers;
            let words = opcode.row().extensions.len() as i64;
            let behind = builder.ins().iadd_imm_s(pc, 4 * words);
            let is_behind = builder.ins().icmp(IntCC::Equal, next, behind);
            let log = builder.create_block();
            let elsewhere = builder.create_block();
            builder.ins().brif(is_behind, log, &[], elsewhere, &[]);
            builder.switch_to_block(log);
            let registers = [pc, fp, block, table, word];
            let mut handler = Handler::new(builder, registers, done.signature, no_fallback());
            logging::write_after(&mut handler, words);
            builder.switch_to_block(elsewhere);
        })
    }

    /// A function that saves pc and fp, calls the runtime entry that `entry` loads (from the table of
    /// entries and the instruction's word), writes `then`, and continues where the runtime says.
    fn runtime_call(
        &mut self,
        name: &str,
        linkage: Linkage,
        entry: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
        then: impl FnOnce(&mut FunctionBuilder, &RuntimeDone),
    ) -> Result<FuncId, GenerateError> {
        let signature = handler_signature();
        let id = self
            .module
            .declare_function(name, linkage, &signature)
            .map_err(error)?;
        let mut runtime_signature = self.module.make_signature();
        for kind in [I64, I64, I64, I32] {
            runtime_signature.params.push(AbiParam::new(kind));
        }
        runtime_signature.returns.push(AbiParam::new(I64));
        let mut context = self.module.make_context();
        context.func.signature = signature.clone();
        self.build(&mut context, |builder, before, _| {
            let [pc, fp, block, _, word] = before;
            let trusted = MemFlagsData::trusted();
            let signature = builder.import_signature(signature);
            let runtime_signature = builder.import_signature(runtime_signature);
            builder.ins().store(trusted, pc, block, thread::PC);
            builder.ins().store(trusted, fp, block, thread::FP);
            let entries = builder.ins().load(I64, trusted, block, thread::RUNTIME);
            let entry = entry(builder, entries, word);
            let call =
                builder
                    .ins()
                    .call_indirect(runtime_signature, entry, &[block, fp, pc, word]);
            let next = builder.inst_results(call)[0];
            let go_on = builder.create_block();
            let leave = builder.create_block();
            builder.set_cold_block(leave);
            builder.ins().brif(next, go_on, &[], leave, &[]);
            builder.switch_to_block(leave);
            let result = builder.ins().load(I64, trusted, block, thread::RESULT);
            builder.ins().return_(&[result]);
            builder.switch_to_block(go_on);
            let fp = builder.ins().load(I64, trusted, block, thread::FP);
            let table = builder.ins().load(I64, trusted, block, thread::TABLE);
            let registers = [next, fp, block, table, word];
            let done = RuntimeDone {
                before,
                registers,
                signature,
            };
            then(builder, &done);
            Handler::new(builder, registers, signature, no_fallback()).next();
        });
        self.module
            .define_function(id, &mut context)
            .map_err(|e| error(format!("{name}: {e:?}")))?;
        Ok(id)
    }

    fn define_invalid(&mut self) -> Result<(), GenerateError> {
        let mut context = self.module.make_context();
        context.func.signature = handler_signature();
        self.build(&mut context, |builder, _, _| {
            builder
                .ins()
                .trap(cranelift_codegen::ir::TrapCode::unwrap_user(1));
        });
        let id = self.invalid;
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

    /// `canny_llint_enter(pc, fp, thread, table) -> word`.
    fn entry(&mut self) -> Result<(), GenerateError> {
        let mut signature = self.module.make_signature();
        for _ in 0..4 {
            signature.params.push(AbiParam::new(I64));
        }
        signature.returns.push(AbiParam::new(I64));
        let id = self
            .module
            .declare_function("canny_llint_enter", Linkage::Export, &signature)
            .map_err(error)?;
        let mut context = self.module.make_context();
        context.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.builder_context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let p = builder.block_params(entry).to_vec();
        let trusted = MemFlagsData::trusted();
        let word = builder.ins().load(I32, trusted, p[0], 0);
        let pc = builder.ins().iadd_imm_s(p[0], 4);
        let opcode = builder.ins().ireduce(I8, word);
        let opcode = builder.ins().uextend(I64, opcode);
        let offset = builder.ins().ishl_imm_u(opcode, 3);
        let slot = builder.ins().iadd(p[3], offset);
        let target = builder.ins().load(I64, trusted, slot, 0);
        let signature = builder.import_signature(handler_signature());
        let call = builder
            .ins()
            .call_indirect(signature, target, &[pc, p[1], p[2], p[3], word]);
        let value = builder.inst_results(call)[0];
        builder.ins().return_(&[value]);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut context).map_err(error)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn plain_opcodes_have_stencils() {
        let all = super::stencils("x86_64-unknown-linux-gnu").unwrap();
        for (opcode, pair) in super::Opcode::ALL.iter().zip(&all) {
            let wanted = super::stencil_writers(*opcode).is_some();
            assert_eq!(pair.is_some(), wanted, "{}", opcode.row().name);
        }
        assert!(
            super::stencils("aarch64-unknown-linux-gnu")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn every_handler_is_generated_without_a_frame() {
        let object = super::emit_object("x86_64-unknown-linux-gnu").unwrap();
        assert!(object.len() > 4096);
    }
}
