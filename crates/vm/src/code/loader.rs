//! Makes code objects, closures and constants of compiled units.
//!
//! Everything made is held in the thread's scratch roots until the pools refer to it.

use std::collections::HashMap;

use canny_compiler::primitive_code::{machine_block, primitive_code, stub};
use canny_compiler::unit::{CodeBlock, CompiledUnit, PoolEntry};
use canny_syntax::datum::Datum;
use canny_tables::kinds::Kind;
use canny_tables::layout::{FLAG_IMMUTABLE, code, escape, frame};
use canny_tables::opcodes::{Opcode, encode_abc};
use canny_tables::primitives::{Flags, PrimitiveId};
use canny_value::Value;

use crate::code::{CodeMetadata, CodeRef, UnitMetadata};
use crate::primitive::Raise;
use crate::thread::{Protected, Thread};

/// Names of the machine's procedures in the shared roots.
const TRAP: &str = "trap";
/// Name of the closures that hold the code of continuations and of escape procedures, and of these to users.
const CONTINUATION: &str = "continuation";
const ESCAPE: &str = "escape";
/// The primitive whose code is entered by a handler of its own.
const CAPTURE: &str = "call-with-current-continuation";
/// Registers of the machine's own code.
const MACHINE_FRAME_WORDS: u32 = 5;

impl Thread {
    /// Loads a verified unit; gives a closure without parameters that runs its body.
    pub fn load_unit(&mut self, unit: &CompiledUnit, is_library: bool) -> Result<Value, Raise> {
        if self.vm.units.want_collection() {
            self.collect_garbage(true);
        }
        let metadata = UnitMetadata {
            name: unit.name.as_str().to_owned(),
            is_library,
            sources: unit.sources.clone(),
            inlinings: unit.inlinings.clone(),
            entry: unit.entry as usize,
            codes: unit.codes.iter().map(CodeMetadata::of).collect(),
        };
        let unit_number = self.vm.units.add(metadata);
        let first = self.protect(Value::NIL);
        let result = self.load_protected(unit, unit_number, is_library);
        self.release(first);
        result
    }

    fn load_protected(
        &mut self,
        unit: &CompiledUnit,
        unit_number: usize,
        is_library: bool,
    ) -> Result<Value, Raise> {
        let codes = self.scratch.len();
        let debug = CodeRef::debug_word(unit_number, is_library);
        for (index, block) in unit.codes.iter().enumerate() {
            match self.make_code(block, debug, index) {
                Ok(object) => self.scratch.push(object),
                Err(raise) => {
                    self.vm.units.finish(unit_number, &self.scratch[codes..]);
                    return Err(raise);
                }
            }
        }
        self.vm.units.finish(unit_number, &self.scratch[codes..]);
        let constants = self.scratch.len();
        for datum in &unit.constants {
            let value = match datum {
                // Programs may tell their own literals apart.
                Datum::String(text) if is_library => self.shared_literal(text),
                datum => self.constant(datum)?,
            };
            self.scratch.push(value);
        }
        let closures = self.scratch.len();
        let mut closure_of = HashMap::new();
        let wanted =
            unit.codes
                .iter()
                .flat_map(|block| &block.pool)
                .filter_map(|entry| match entry {
                    PoolEntry::Closure(index) => Some(*index),
                    _ => None,
                });
        for index in wanted.chain([unit.entry]) {
            if let std::collections::hash_map::Entry::Vacant(slot) = closure_of.entry(index) {
                let closure = self.closure_over(self.scratch[codes + index as usize]);
                slot.insert(self.scratch.len());
                self.scratch.push(closure);
            }
        }
        debug_assert!(closures <= self.scratch.len());
        for (index, block) in unit.codes.iter().enumerate() {
            for (slot, entry) in block.pool.iter().enumerate() {
                let value = match entry {
                    PoolEntry::Constant(constant) => self.scratch[constants + *constant as usize],
                    PoolEntry::Global(name) => self.cell(name),
                    PoolEntry::Code(code) => self.scratch[codes + *code as usize],
                    PoolEntry::Closure(code) => self.scratch[closure_of[code]],
                    PoolEntry::Primitive(id) => self.primitive_procedure(PrimitiveId(*id)),
                    PoolEntry::Keywords(keywords) => {
                        let place = self.protect(Value::fixnum(i64::from(keywords.optional_count)));
                        self.scratch.push(Value::boolean(keywords.allow_other_keys));
                        for name in &keywords.names {
                            let keyword = self.keyword(name.as_str());
                            self.scratch.push(keyword);
                        }
                        let vector = self.vector_of_protected(place)?;
                        self.release(place);
                        vector
                    }
                };
                let object = self.scratch[codes + index];
                self.mutator().store_code_pool(object, slot, value);
            }
        }
        if self.vm.debugger.is_on() {
            // Breakpoints on assignments look at the cells.
            self.set_breaks_of_unit(unit_number);
        }
        Ok(self.scratch[closure_of[&unit.entry]])
    }

    /// A vector of the protected values from `first` on.
    pub fn vector_of_protected(&mut self, first: Protected) -> Result<Value, Raise> {
        let count = self.scratch.len() - first.index();
        let vector = self.make_vector(count, Value::FALSE)?;
        for index in 0..count {
            let value = self.scratch[first.index() + index];
            self.store(vector, index, value);
        }
        Ok(vector)
    }

    fn closure_over(&mut self, code: Value) -> Value {
        self.object(Kind::Closure, 0, 1, code)
    }

    /// A code object whose pool is still empty.
    fn make_code(&mut self, block: &CodeBlock, debug: Value, index: usize) -> Result<Value, Raise> {
        let pool_words = block.pool.len();
        let instruction_bytes = (4 * block.instructions.len()).next_multiple_of(8);
        let bytes =
            8 * (code::FIXED_WORDS + pool_words + block.wide_maps.len()) + instruction_bytes;
        let object = match self.mutator().code(bytes) {
            Ok(object) => object,
            Err(exhausted) => {
                let requested = self.integer(exhausted.requested_bytes as i64);
                let message = "the heap limit does not allow code of so many bytes";
                return Err(self.raise(crate::ConditionKind::Memory, message, &[requested], None));
            }
        };
        let arity = if block.frame_words as usize > frame::SMALL_FRAME_WORDS
            && block.arity != code::VARIADIC
        {
            code::LARGE_FRAME
        } else {
            block.arity
        };
        let start = object.address() + 8;
        let entry = start + 8 * (code::FIXED_WORDS + pool_words);
        // SAFETY: the payload of the fresh code object is `bytes` long, and the layout below adds up to that.
        unsafe {
            let word = |field: i32| (object.bits() as i64 + i64::from(field)) as *mut u64;
            *word(code::ENTRY) = entry as u64;
            *word(code::ARITY).cast::<u32>() = arity;
            *word(code::FRAME_BYTES).cast::<u32>() = 8 * block.frame_words;
            *word(code::POOL_LENGTH).cast::<u32>() = pool_words as u32;
            *word(code::INSTRUCTION_WORDS).cast::<u32>() = block.instructions.len() as u32;
            *word(code::NAME) = Value::FALSE.bits();
            *word(code::DEBUG) = debug.bits();
            *word(code::PARAMETERS) = Value::fixnum(index as i64).bits();
            *word(code::NATIVE) = canny_llint::native_to_bytecode() as u64;
            std::ptr::copy_nonoverlapping(
                block.instructions.as_ptr(),
                entry as *mut u32,
                block.instructions.len(),
            );
            let maps = (entry + instruction_bytes) as *mut u64;
            std::ptr::copy_nonoverlapping(block.wide_maps.as_ptr(), maps, block.wide_maps.len());
        }
        Ok(object)
    }

    /// The object of a literal.
    pub fn constant(&mut self, datum: &Datum) -> Result<Value, Raise> {
        let mut builder = DatumBuilder {
            labels: HashMap::new(),
        };
        let base = self.protect(Value::NIL);
        let result = builder.build(self, datum);
        self.release(base);
        result
    }

    /// The procedure object of a primitive, made at its first use.
    pub fn primitive_procedure(&mut self, id: PrimitiveId) -> Value {
        let index = id.0 as usize;
        if let Some(procedure) = self.vm.shared_roots.procedure(index) {
            return procedure;
        }
        let row = id.row();
        // A primitive that the interpreter enters by a handler of its own takes exactly its
        // arguments: calls are fastest so.
        let arity = match row.name {
            CAPTURE | "call-with-escape-continuation" => 1,
            _ => code::VARIADIC,
        };
        let block = if row.flags.has(Flags::FRAME) {
            machine_block(&frame_primitive(row.name), arity, MACHINE_FRAME_WORDS)
        } else {
            primitive_code(id)
                .unwrap_or_else(|| machine_block(&stub(id), arity, MACHINE_FRAME_WORDS))
        };
        let procedure = self.machine_code(row.user_name(), block, Some(id.0));
        if row.name == CAPTURE {
            enter_natively(procedure, canny_llint::native_capture());
        }
        self.vm.shared_roots.procedure_or_set(index, procedure)
    }

    /// Makes what the machine itself needs before any code is loaded.
    pub(crate) fn make_machine_procedures(&mut self) {
        // Threads may begin at the same time; the last of them made decides whether there is anything to do.
        if self.vm.shared_roots.named(ESCAPE).is_none() {
            let stub = |opcode| {
                machine_block(
                    &[encode_abc(opcode, 0, 0, 0)],
                    code::VARIADIC,
                    MACHINE_FRAME_WORDS,
                )
            };
            let trap = self.machine_code(TRAP, stub(Opcode::ArityError), None);
            self.vm.shared_roots.named_or_set(TRAP, trap);
            let continuation = self.machine_code(CONTINUATION, stub(Opcode::ContinueStub), None);
            enter_natively(continuation, canny_llint::native_continue());
            self.vm
                .shared_roots
                .named_or_set(CONTINUATION, continuation);
            let escape = self.machine_code(ESCAPE, stub(Opcode::EscapeStub), None);
            self.vm.shared_roots.named_or_set(ESCAPE, escape);
        }
        let code_of = |name| {
            let closure = self.vm.shared_roots.named(name);
            let code = closure.and_then(CodeRef::of_closure);
            code.map_or(Value::FALSE, CodeRef::value)
        };
        (self.continuation_code, self.escape_code) = (code_of(CONTINUATION), code_of(ESCAPE));
    }

    /// The only closure over code of the machine's own.
    fn machine_code(&mut self, name: &str, mut block: CodeBlock, primitive: Option<u16>) -> Value {
        block.frame_words = block.frame_words.max(MACHINE_FRAME_WORDS);
        let metadata = CodeMetadata {
            name: Some(name.to_owned()),
            primitive,
            ..CodeMetadata::of(&block)
        };
        let unit = self.vm.units.add(UnitMetadata {
            name: "machine".to_owned(),
            is_library: true,
            sources: Vec::new(),
            inlinings: Vec::new(),
            entry: usize::MAX,
            codes: vec![metadata],
        });
        match self.make_code(&block, CodeRef::debug_word(unit, true), 0) {
            Ok(code) => self.closure_over(code),
            // A few words cannot exceed any heap limit that a machine starts with.
            Err(_) => Value::FALSE,
        }
    }
}

/// Sends compiled calls of a procedure of the machine's to a handler of its own.
fn enter_natively(procedure: Value, address: usize) {
    if let Some(code) = CodeRef::of_closure(procedure) {
        let native = code.shared_word(code::NATIVE);
        native.store(address as u64, std::sync::atomic::Ordering::Release);
    }
}

/// The body of a frame operation as a procedure.
fn frame_primitive(name: &str) -> Vec<u32> {
    let check = |count: u8| [encode_abc(Opcode::Entry, count, 0, 0)];
    let body: Vec<u32> = match name {
        "apply" => return vec![encode_abc(Opcode::ApplyStub, 0, 0, 0)],
        CAPTURE => return vec![encode_abc(Opcode::CaptureStub, 0, 0, 0)],
        "%throw" => return vec![encode_abc(Opcode::ThrowStub, 0, 0, 0)],
        // R0 receiver; the escape procedure stays live over the call of R2.
        "call-with-escape-continuation" => {
            return vec![
                encode_abc(Opcode::MakeEscape, escape::HOLDER as u8, 0, 0),
                encode_abc(Opcode::Move, 2, 0, 0),
                encode_abc(Opcode::Move, 4, escape::HOLDER as u8, 0),
                encode_abc(Opcode::Call, 2, 1, 0),
                1 << escape::HOLDER,
                encode_abc(Opcode::Return, 2, 0, 0),
            ];
        }
        "%apply" => vec![encode_abc(Opcode::TailApply, 0, 1, 0)],
        "%apply-values" => vec![encode_abc(Opcode::TailCallValues, 0, 1, 0)],
        // R0 producer, R1 consumer: only R1 is live over the call of R2.
        "call-with-values" => vec![
            encode_abc(Opcode::Move, 2, 0, 0),
            encode_abc(Opcode::Call, 2, 0, 0),
            0b10,
            encode_abc(Opcode::TailCallValues, 1, 2, 0),
        ],
        other => unreachable!("{other} is not a frame operation that the machine knows"),
    };
    check(2).into_iter().chain(body).collect()
}

/// Builds the heap object of a datum without native recursion; objects under construction lie in
/// the thread's scratch roots.
struct DatumBuilder {
    /// Scratch index of labelled objects.
    labels: HashMap<u32, usize>,
}

enum Task<'d> {
    Build(&'d Datum),
    /// The car is done and on top of the scratch stack below the cdr.
    Pair,
    Vector(usize),
}

impl DatumBuilder {
    fn build(&mut self, thread: &mut Thread, datum: &Datum) -> Result<Value, Raise> {
        if datum.has_labels() {
            return self.build_with_labels(thread, datum);
        }
        let mut tasks = vec![Task::Build(datum)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Build(Datum::Pair(pair)) => {
                    tasks.extend([Task::Pair, Task::Build(&pair.cdr), Task::Build(&pair.car)]);
                }
                Task::Build(Datum::Vector(elements)) => {
                    tasks.push(Task::Vector(elements.len()));
                    tasks.extend(elements.iter().rev().map(Task::Build));
                }
                Task::Build(atom) => {
                    let value = atom_value(thread, atom)?;
                    thread.scratch.push(value);
                }
                Task::Pair => {
                    let cdr = thread.scratch.pop().unwrap_or(Value::NIL);
                    let car = thread.scratch.pop().unwrap_or(Value::NIL);
                    let pair = thread.cons(car, cdr);
                    thread.scratch.push(pair);
                }
                Task::Vector(count) => {
                    let vector =
                        thread.try_object(Kind::Vector, FLAG_IMMUTABLE, count, Value::FALSE)?;
                    let first = thread.scratch.len() - count;
                    for index in 0..count {
                        let value = thread.scratch[first + index];
                        thread.store(vector, index, value);
                    }
                    thread.scratch.truncate(first);
                    thread.scratch.push(vector);
                }
            }
        }
        Ok(thread.scratch.pop().unwrap_or(Value::NIL))
    }

    /// Data with labels: containers are made first and filled afterwards, so that references find them. The
    /// worklist holds places to fill; containers stay in scratch until the end.
    fn build_with_labels(&mut self, thread: &mut Thread, datum: &Datum) -> Result<Value, Raise> {
        let root = thread.scratch.len();
        thread.scratch.push(Value::NIL);
        let holder = thread.make_vector(1, Value::NIL)?;
        thread.scratch[root] = holder;
        // (container's scratch index, slot, datum)
        let mut places: Vec<(usize, usize, &Datum)> = vec![(root, 0, datum)];
        while let Some((container, slot, mut datum)) = places.pop() {
            let mut labels = Vec::new();
            while let Datum::Labelled(label, content) = datum {
                labels.push(*label);
                datum = content.content();
            }
            let value = match datum {
                Datum::Pair(pair) => {
                    let value = thread.cons(Value::NIL, Value::NIL);
                    let index = thread.scratch.len();
                    thread.scratch.push(value);
                    places.extend([(index, 1, &pair.cdr), (index, 0, &pair.car)]);
                    value
                }
                Datum::Vector(elements) => {
                    let value = thread.try_object(
                        Kind::Vector,
                        FLAG_IMMUTABLE,
                        elements.len(),
                        Value::FALSE,
                    )?;
                    let index = thread.scratch.len();
                    thread.scratch.push(value);
                    places.extend(
                        elements
                            .iter()
                            .enumerate()
                            .rev()
                            .map(|(slot, element)| (index, slot, element)),
                    );
                    value
                }
                Datum::LabelRef(label) => self
                    .labels
                    .get(label)
                    .map_or(Value::UNSPECIFIED, |index| thread.scratch[*index]),
                atom => atom_value(thread, atom)?,
            };
            if !labels.is_empty() {
                let index = thread.scratch.len();
                thread.scratch.push(value);
                self.labels
                    .extend(labels.into_iter().map(|label| (label, index)));
            }
            let target = thread.scratch[container];
            match (target.is_pair(), slot) {
                (true, 0) => thread.set_car(target, value),
                (true, _) => thread.set_cdr(target, value),
                (false, slot) => thread.store(target, slot, value),
            }
        }
        let result = thread.scratch[root]
            .as_object()
            .map_or(Value::NIL, |holder| holder.field(0));
        thread.scratch.truncate(root);
        Ok(result)
    }
}

fn atom_value(thread: &mut Thread, datum: &Datum) -> Result<Value, Raise> {
    Ok(match datum {
        Datum::Nil => Value::NIL,
        Datum::Boolean(b) => Value::boolean(*b),
        Datum::Character(c) => Value::character(*c),
        Datum::Number(number) => thread.number(number.as_ref())?,
        Datum::String(text) => thread.literal_string(text),
        Datum::Symbol(name) => thread.symbol(name.as_str()),
        Datum::Keyword(name) => thread.keyword(name.as_str()),
        Datum::Bytevector(bytes) => {
            let object = thread.try_leaf(Kind::Bytevector, FLAG_IMMUTABLE, bytes.len())?;
            object.as_object().expect("a leaf").copy_bytes_in(0, bytes);
            object
        }
        Datum::NumericVector(element, bytes) => {
            let object = thread.numeric_vector(*element, FLAG_IMMUTABLE, bytes.len())?;
            object.as_object().expect("a leaf").copy_bytes_in(0, bytes);
            object
        }
        Datum::Eof => Value::EOF,
        Datum::DefaultObject => Value::DEFAULT,
        Datum::Object(number) => thread.embedded(*number)?,
        _ => Value::UNSPECIFIED,
    })
}
