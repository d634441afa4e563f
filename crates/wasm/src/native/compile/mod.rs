//! A function's bytes as machine code, by Cranelift.
//!
//! One pass over the operators keeps the operand stack as values of the code generator, and local
//! variables as its variables. A function takes its instance and its parameters, and gives its results,
//! in the convention for tail calls. The code for a loop takes the instance and the interpreter's frame,
//! from which it loads everything; what comes before the loop is code that nothing reaches.

mod calls;
mod catches;
mod control;
mod memory;
mod operators;
mod scan;
mod unroll;
mod vectors;

use std::sync::OnceLock;

use canny_tables::guest::{LINK_WORDS, Reason, activation};
use canny_wasm_meaning::Meaning;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I8X16, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, MemFlagsData, Signature, SourceLoc, TrapCode, Type, Value,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{
    CompiledCode, Context, FinalizedMachExceptionHandler, FinalizedRelocTarget, binemit::Reloc,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use wasmparser::{BinaryReader, Operator};

use crate::code::{Loop, LoopOperand};
use crate::code_memory::{CaughtBy, Landing, Landings};
use crate::definitions;
pub use crate::machine_code::Refusal;
use crate::module::Module;
use crate::switch::{Entries, entries};
use crate::types::{FunctionType, ValueType};
use control::Control;
use scan::Contents;
use unroll::Copies;

/// Machine code of a function, without an address yet.
pub struct Compiled {
    pub bytes: Vec<u8>,
    /// Offsets of instructions that trap, in order.
    pub traps: Vec<(u32, Reason)>,
    /// Where its instructions are from: offsets of theirs, and offsets in the module's bytes.
    pub origins: Vec<(u32, u32)>,
    /// Places of 32 bits that have the distance to an address; none is that of the code itself.
    pub relocations: Vec<(u32, Option<usize>, i64)>,
    /// Instructions of the runtime that it refers to.
    pub words: Vec<Box<[u64]>>,
    pub landings: Landings,
}

/// The things outside of itself that code refers to.
pub trait Surroundings {
    /// The machine code of one of the module's own functions, if it is there.
    fn native(&self, own_index: u32) -> Option<usize>;
    /// The cell with the address that calls of one of the module's own functions go to.
    fn cell(&self, own_index: u32) -> Result<usize, Refusal>;
    /// The adapter for functions of the type with this number, whose record is given.
    fn adapter(&self, kind: u32) -> Result<usize, Refusal>;
}

/// Most bytes of a frame of machine code; the stack's margin has room for several.
const FRAME_MAX: u32 = 16 << 10;

/// Memory that always has what is expected.
const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Addresses in records that never change.
const FIXED: MemFlagsData = MemFlagsData::trusted().with_readonly().with_can_move();

/// Cranelift's description of this processor.
pub fn isa() -> Result<&'static OwnedTargetIsa, Refusal> {
    static ISA: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    match ISA.get_or_init(make_isa) {
        Ok(isa) => Ok(isa),
        Err(text) => Err(Refusal::Failed(text.clone())),
    }
}

fn make_isa() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifies = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", verifies),
        ("enable_pinned_reg", "true"),
        ("preserve_frame_pointers", "true"),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let builder = cranelift_codegen::isa::lookup_by_name("x86_64-unknown-linux-gnu");
    let mut builder = builder.map_err(|error| error.to_string())?;
    for feature in features() {
        let enabled = builder.enable(feature);
        enabled.map_err(|error| error.to_string())?;
    }
    let isa = builder.finish(settings::Flags::new(flags));
    isa.map_err(|error| error.to_string())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    let mut features = vec![
        "has_sse3",
        "has_ssse3",
        "has_sse41",
        "has_sse42",
        "has_popcnt",
    ];
    macro_rules! detect {
        ($($feature:tt => $setting:literal),*) => { $(
            if std::is_x86_feature_detected!($feature) {
                features.push($setting);
            }
        )* };
    }
    detect!("avx" => "has_avx", "avx2" => "has_avx2", "bmi1" => "has_bmi1", "bmi2" => "has_bmi2",
        "lzcnt" => "has_lzcnt");
    features
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

/// The code generator's type of a value.
pub fn kind_of(kind: ValueType) -> Type {
    match kind {
        ValueType::I32 => I32,
        ValueType::I64 | ValueType::Reference { .. } => I64,
        ValueType::F32 => F32,
        ValueType::F64 => F64,
        ValueType::V128 => I8X16,
    }
}

/// The signature of functions of a type: the instance and the budget come first, and the budget is the
/// first result. It stays in a register from call to call.
pub fn signature_of(kind: &FunctionType) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([AbiParam::new(I64); 2]);
    let parameters = kind.parameters.iter();
    let parameters = parameters.map(|kind| AbiParam::new(kind_of(*kind)));
    signature.params.extend(parameters);
    let results = kind.results.iter();
    signature.returns.push(AbiParam::new(I64));
    let results = results.map(|kind| AbiParam::new(kind_of(*kind)));
    signature.returns.extend(results);
    signature
}

/// The same of code that begins at a loop, which takes the interpreter's frame in place of parameters.
pub fn loop_signature_of(kind: &FunctionType) -> Signature {
    let mut signature = signature_of(kind);
    signature.params = vec![AbiParam::new(I64); 3];
    signature
}

/// A signature of words.
pub fn words_signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.resize(parameters, AbiParam::new(I64));
    signature
}

/// The trap of a reason, and back.
pub fn trap(reason: Reason) -> TrapCode {
    TrapCode::unwrap_user(reason as u8)
}

fn reason(code: TrapCode) -> Reason {
    let raw = u64::from(code.as_raw().get());
    let mut known = Reason::ALL.iter().copied();
    let known = known.find(|reason| *reason as u64 == raw);
    // An access outside of a memory has no code of ours.
    known.unwrap_or(Reason::OutOfBoundsMemory)
}

/// Compiles one of a module's own functions, from its beginning or from that of a loop.
pub fn function(
    module: &Module,
    own_index: u32,
    from: Option<&Loop>,
    surroundings: &dyn Surroundings,
) -> Result<Compiled, Refusal> {
    let body = body_of(module, own_index);
    let kind = type_of(module, own_index);
    let contents = scan::scan(module, &body, kind)?;
    let mut context = Context::new();
    let mut builders = FunctionBuilderContext::new();
    context.func.signature = match from {
        Some(_) => loop_signature_of(kind),
        None => signature_of(kind),
    };
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builders);
    builder.set_srcloc(SourceLoc::new(body.range().start as u32));
    let mut compiler = Compiler::new(&mut builder, module, surroundings, contents);
    compiler.own_index = own_index;
    compiler.is_whole = from.is_none();
    compiler.begin(kind, &body, from).map_err(unreadable)?;
    let operators = body.get_operators_reader().map_err(unreadable)?;
    let operators: Result<Vec<_>, _> = operators.into_iter_with_offsets().collect();
    let operators = operators.map_err(unreadable)?;
    let mut next = 0;
    while let Some((operator, offset)) = operators.get(next) {
        compiler.offset = *offset;
        compiler.b.set_srcloc(SourceLoc::new(*offset as u32));
        if let Operator::Loop { .. } = operator {
            compiler.copies = unroll::copies(&operators, next);
        }
        compiler.operator(operator.clone())?;
        next = compiler.again.take().unwrap_or(next + 1);
    }
    if compiler.entrance.is_some() {
        return Err(Refusal::Unfit("the loop is not reached"));
    }
    let (words, targets, clauses) = (compiler.words, compiler.targets, compiler.clauses);
    builder.finalize(isa()?.frontend_config());
    let mut compiled = generate_with(context, &targets, &clauses)?;
    compiled.words = words;
    Ok(compiled)
}

/// The module's own functions that one calls in its place; an error if it is not fit to be compiled.
pub fn tail_callees(module: &Module, own_index: u32) -> Result<Vec<u32>, Refusal> {
    let body = body_of(module, own_index);
    let contents = scan::scan(module, &body, type_of(module, own_index))?;
    Ok(contents.tail_callees)
}

fn body_of(module: &Module, own_index: u32) -> wasmparser::FunctionBody<'_> {
    let range = module.parts().bodies[own_index as usize].clone();
    let start = range.start as u64;
    wasmparser::FunctionBody::new(BinaryReader::new(&module.bytes()[range], start))
}

/// The type of one of a module's own functions.
pub fn type_of(module: &Module, own_index: u32) -> &'static FunctionType {
    let parts = module.parts();
    definitions::function_type(parts.functions[parts.imported_functions + own_index as usize])
}

fn unreadable(error: wasmparser::BinaryReaderError) -> Refusal {
    Refusal::Failed(error.to_string())
}

/// Machine code of the function in a context, which calls functions at some addresses by their numbers.
pub fn generate(context: Context, targets: &[Option<usize>]) -> Result<Compiled, Refusal> {
    generate_with(context, targets, &[])
}

/// The same with lists of clauses around calls, which are exception tags by number.
fn generate_with(
    mut context: Context,
    targets: &[Option<usize>],
    clauses: &[Box<[CaughtBy]>],
) -> Result<Compiled, Refusal> {
    let failed = |text: String| Refusal::Failed(text);
    let isa = isa()?;
    let done = context.compile(&**isa, &mut Default::default());
    if let Err(error) = done {
        return Err(failed(format!("{:?}", error.inner)));
    }
    let compiled = context.compiled_code();
    let compiled = compiled.ok_or_else(|| failed("no code".into()))?;
    if compiled
        .buffer
        .frame_layout()
        .is_some_and(|frame| frame.frame_to_fp_offset > FRAME_MAX)
    {
        return Err(Refusal::Unfit("its frame is too large"));
    }
    let traps = compiled.buffer.traps().iter();
    let mut traps: Vec<_> = traps.map(|at| (at.offset, reason(at.code))).collect();
    traps.sort_unstable_by_key(|(offset, _)| *offset);
    let mut relocations = Vec::new();
    for relocation in compiled.buffer.relocs() {
        let FinalizedRelocTarget::ExternalName(cranelift_codegen::ir::ExternalName::User(name)) =
            &relocation.target
        else {
            return Err(failed(format!("relocation of {:?}", relocation.target)));
        };
        let names = context.func.params.user_named_funcs();
        let number = names[*name].index as usize;
        match relocation.kind {
            Reloc::X86PCRel4 | Reloc::X86CallPCRel4 => {
                relocations.push((relocation.offset, targets[number], relocation.addend));
            }
            other => return Err(failed(format!("relocation {other:?}"))),
        }
    }
    let origins = compiled.buffer.get_srclocs_sorted().iter();
    let origins = origins.filter(|range| !range.loc.is_default());
    Ok(Compiled {
        bytes: compiled.buffer.data().to_vec(),
        traps,
        origins: origins
            .map(|range| (range.start, range.loc.bits()))
            .collect(),
        relocations,
        words: Vec::new(),
        landings: landings(compiled, clauses),
    })
}

/// The calls that have handlers. The first slot of the frame has the instance then.
fn landings(compiled: &CompiledCode, clauses: &[Box<[CaughtBy]>]) -> Landings {
    let Some(layout) = compiled.buffer.frame_layout() else {
        return Landings::default();
    };
    let mut calls = Vec::new();
    for site in compiled.buffer.call_sites() {
        for handler in site.exception_handlers {
            if let FinalizedMachExceptionHandler::Tag(tag, handler) = handler {
                calls.push(Landing {
                    after: site.ret_addr,
                    handler: *handler,
                    clauses: clauses[tag.as_u32() as usize].clone(),
                });
            }
        }
    }
    calls.sort_unstable_by_key(|landing| landing.after);
    let instance = layout.stackslots.values().next();
    Landings {
        frame_bytes: layout.frame_to_fp_offset,
        instance: instance.map_or(0, |slot| slot.offset),
        calls: calls.into(),
    }
}

/// A function on its way to the code generator.
pub struct Compiler<'a, 'b> {
    b: &'a mut FunctionBuilder<'b>,
    module: &'a Module,
    surroundings: &'a dyn Surroundings,
    contents: Contents,
    entries: Entries,
    own_index: u32,
    /// Whether it is compiled from its beginning.
    is_whole: bool,
    instance: Value,
    stack: Vec<Value>,
    control: Vec<Control>,
    locals: Vec<Variable>,
    /// The rest of the budget.
    budget: Variable,
    /// Blocks that were opened in code that is not reached.
    unreachable: Option<usize>,
    /// Where the code of a loop begins, with the frame of the interpreter.
    entrance: Option<(Block, Value)>,
    from: Option<u64>,
    from_operands: Vec<LoopOperand>,
    words: Vec<Box<[u64]>>,
    /// Addresses of functions that are called, by number; none is the function itself.
    targets: Vec<Option<usize>>,
    offset: u64,
    /// Lists of clauses around calls.
    clauses: Vec<Box<[CaughtBy]>>,
    /// The copies of the loop that is opened next.
    copies: Option<Copies>,
    /// The number of the operator with which the next copy of a loop begins.
    again: Option<usize>,
}

impl<'b> Meaning<'b> for Compiler<'_, 'b> {
    fn builder(&mut self) -> &mut FunctionBuilder<'b> {
        self.b
    }

    fn trap_if(&mut self, condition: Value, reason: Reason) {
        self.b.ins().trapnz(condition, trap(reason));
    }
}

impl<'a, 'b> Compiler<'a, 'b> {
    fn new(
        b: &'a mut FunctionBuilder<'b>,
        module: &'a Module,
        surroundings: &'a dyn Surroundings,
        contents: Contents,
    ) -> Compiler<'a, 'b> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let (instance, rest) = (b.block_params(entry)[0], b.block_params(entry)[1]);
        let budget = b.declare_var(I64);
        b.def_var(budget, rest);
        Compiler {
            b,
            module,
            surroundings,
            contents,
            entries: entries(),
            own_index: 0,
            is_whole: true,
            instance,
            stack: Vec::new(),
            control: Vec::new(),
            locals: Vec::new(),
            budget,
            unreachable: None,
            entrance: None,
            from: None,
            from_operands: Vec::new(),
            words: Vec::new(),
            targets: Vec::new(),
            offset: 0,
            clauses: Vec::new(),
            copies: None,
            again: None,
        }
    }

    /// Parameters, local variables, checks on entry.
    fn begin(
        &mut self,
        kind: &FunctionType,
        body: &wasmparser::FunctionBody,
        from: Option<&Loop>,
    ) -> Result<(), wasmparser::BinaryReaderError> {
        let Some(entry) = self.b.current_block() else {
            return Ok(());
        };
        let parameters = self.b.block_params(entry).to_vec();
        if self.contents.catches {
            self.keep_instance();
        }
        let mut slot = 0;
        let frame = from.map(|_| parameters[2]);
        for (index, kind) in kind.parameters.iter().enumerate() {
            let of = kind_of(*kind);
            let value = match frame {
                Some(frame) => self.slot(frame, slot, of),
                None => parameters[2 + index],
            };
            self.declare(of, value);
            slot += kind.slots();
        }
        slot = kind.link() + LINK_WORDS;
        for group in body.get_locals_reader()? {
            let (count, kind) = group?;
            let of = match kind {
                wasmparser::ValType::I32 => I32,
                wasmparser::ValType::F32 => F32,
                wasmparser::ValType::F64 => F64,
                wasmparser::ValType::V128 => I8X16,
                wasmparser::ValType::I64 | wasmparser::ValType::Ref(_) => I64,
            };
            for _ in 0..count {
                let value = match frame {
                    Some(frame) => self.slot(frame, slot, of),
                    None => self.zero(of),
                };
                self.declare(of, value);
                slot += of.bytes().div_ceil(8) as usize;
            }
        }
        if self.contents.has_calls {
            self.check_stack();
        }
        if let (Some(from), Some(frame)) = (from, frame) {
            let entrance = self.b.create_block();
            self.b.ins().jump(entrance, &[]);
            self.b.seal_block(entrance);
            self.entrance = Some((entrance, frame));
            self.from = Some(from.offset);
            self.from_operands = from.operands.to_vec();
            let unreached = self.b.create_block();
            self.b.switch_to_block(unreached);
            self.b.seal_block(unreached);
        } else if self.contents.has_calls {
            self.charge(1);
        }
        let results = kind.results.iter().map(|kind| kind_of(*kind)).collect();
        self.open_function(results);
        Ok(())
    }

    fn declare(&mut self, of: Type, value: Value) {
        let variable = self.b.declare_var(of);
        self.b.def_var(variable, value);
        self.locals.push(variable);
    }

    /// A slot of the interpreter's frame.
    fn slot(&mut self, frame: Value, slot: usize, of: Type) -> Value {
        // A vector has no more than the alignment of slots.
        let flags = MemFlagsData::new().with_notrap();
        self.b.ins().load(of, flags, frame, 8 * slot as i32)
    }

    fn zero(&mut self, of: Type) -> Value {
        match of {
            F32 => self.b.ins().f32const(0.0),
            F64 => self.b.ins().f64const(0.0),
            I8X16 => self.vector_constant(0),
            _ => self.b.ins().iconst(of, 0),
        }
    }

    fn vector_constant(&mut self, bits: u128) -> Value {
        let bytes = bits.to_le_bytes().to_vec();
        let constant = self.b.func.dfg.constants.insert(bytes.into());
        self.b.ins().vconst(I8X16, constant)
    }

    /// The run's activation.
    fn activation(&mut self) -> Value {
        self.b.ins().get_pinned_reg(I64)
    }

    /// A word of the activation.
    fn run_word(&mut self, at: i32) -> Value {
        let activation = self.activation();
        self.b.ins().load(I64, TRUSTED, activation, at)
    }

    fn set_run_word(&mut self, at: i32, value: Value) {
        let activation = self.activation();
        self.b.ins().store(TRUSTED, value, activation, at);
    }

    fn load_budget(&mut self) {
        let value = self.run_word(activation::BUDGET);
        self.b.def_var(self.budget, value);
    }

    fn store_budget(&mut self) {
        let value = self.b.use_var(self.budget);
        self.set_run_word(activation::BUDGET, value);
    }

    /// Takes some off the budget, and leaves when it was used up. The next turns may be more than what was
    /// left; then the rest is negative.
    fn charge(&mut self, turns: i64) {
        let value = self.b.use_var(self.budget);
        let left = self.b.ins().iadd_imm_s(value, -turns);
        self.b.def_var(self.budget, left);
        let zero = self.b.ins().iconst(I64, 0);
        let (compared, condition) = if turns == 1 {
            (left, IntCC::SignedLessThan)
        } else {
            (value, IntCC::SignedLessThanOrEqual)
        };
        let is_over = self.b.ins().icmp(condition, compared, zero);
        let (pause, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(pause);
        self.b.ins().brif(is_over, pause, &[], go_on, &[]);
        self.b.switch_to_block(pause);
        self.b.seal_block(pause);
        // A budget that is used up is negative.
        let rest = self.b.ins().iadd_imm_s(value, -1);
        self.set_run_word(activation::BUDGET, rest);
        self.set_run_word(activation::INSTANCE, self.instance);
        let signature = words_signature(CallConv::PreserveAll, 1);
        let signature = self.b.import_signature(signature);
        let entry = self.b.ins().iconst(I64, self.entries.pause as i64);
        let reason = self.b.ins().iconst(I64, Reason::Budget as i64);
        self.b.ins().call_indirect(signature, entry, &[reason]);
        self.load_budget();
        if turns > 1 {
            self.add_to_budget(1 - turns);
        }
        self.b.ins().jump(go_on, &[]);
        self.b.switch_to_block(go_on);
        self.b.seal_block(go_on);
    }

    fn add_to_budget(&mut self, turns: i64) {
        let value = self.b.use_var(self.budget);
        let sum = self.b.ins().iadd_imm_s(value, turns);
        self.b.def_var(self.budget, sum);
    }

    /// Leaves for the runtime, which comes back when it is done.
    fn leave(&mut self, reason: Reason) {
        self.store_budget();
        let signature = words_signature(CallConv::Tail, 1);
        let signature = self.b.import_signature(signature);
        let entry = self.b.ins().iconst(I64, self.entries.leave as i64);
        let reason = self.b.ins().iconst(I64, reason as i64);
        self.b.ins().call_indirect(signature, entry, &[reason]);
        self.load_budget();
    }

    fn check_stack(&mut self) {
        let stack = self.b.ins().get_stack_pointer(I64);
        let limit = self.run_word(activation::NATIVE_LIMIT);
        let is_over = self.b.ins().icmp(IntCC::UnsignedLessThan, stack, limit);
        self.trap_if(is_over, Reason::StackExhausted);
    }

    fn pop(&mut self) -> Value {
        // Validated: there is one.
        match self.stack.pop() {
            Some(value) => value,
            None => self.b.ins().iconst(I32, 0),
        }
    }

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    /// Takes the newest operands.
    fn take(&mut self, count: usize) -> Vec<Value> {
        let first = self.stack.len() - count;
        self.stack.split_off(first)
    }
}
