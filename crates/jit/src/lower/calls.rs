//! Lowers calls, tail calls, returns, and instructions that the runtime executes.
//!
//! Each of them but a return ends its segment: machine code after it starts at a return descriptor,
//! with an empty register file, and loads what it needs from frame slots. So before the jump every
//! live register of the state is in its slot. Arguments of a known callee are passed in registers
//! as words or doubles; those that do not fit, and all of an unknown callee, are words in slots of
//! the callee's frame.

use canny_spesh::graph::{BlockId, Callee, Edge, NodeId, SlotContent, StateId};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, code, continuation, descriptor, frame, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};

use super::Root;
use super::objects::{object_bytes, object_header};
use super::segment::{Segment, TRUSTED};
use crate::JitError;
use crate::arguments::{Doubles, doubles_of, in_registers, known_types};
use crate::descriptors::{RETURN_FIXNUM, RETURN_FLOAT, RETURN_NATIVE};
use crate::relocation::{Stub, Target};
use crate::slots::instruction;
use crate::values::is_float;

/// An instruction of the bytecode, as slow paths need it.
#[derive(Clone, Copy)]
struct Site {
    /// Address behind the first word.
    behind: u64,
    /// Address of the next instruction.
    next: u64,
    /// Address of the branch target, if it is a branch.
    taken: Option<u64>,
    word: u32,
    opcode: Opcode,
    /// Field a.
    a: i32,
    /// Arguments of the instruction, if it is a call.
    count: usize,
}

/// A call's arguments.
#[derive(Default)]
struct Passed {
    /// In registers, in order.
    words: Vec<Value>,
    /// In registers for doubles, in order.
    doubles: Vec<Value>,
    /// Words for slots: those behind the ones in registers.
    in_slots: Vec<Value>,
}

impl Passed {
    fn in_registers(&self) -> usize {
        self.words.len() + self.doubles.len()
    }
}

impl Segment<'_, '_> {
    fn site(&self, state: StateId) -> Result<Site, JitError> {
        let graph = self.procedure.graph;
        let instruction = instruction(graph, state)?;
        let code = graph.code_of(graph.state(state).frame);
        Ok(Site {
            behind: code.address(instruction.pc + 1),
            next: code.address(instruction.next_pc()),
            taken: instruction
                .branch_target()
                .and_then(|pc| usize::try_from(pc).ok())
                .map(|pc| code.address(pc)),
            word: instruction.first_word(),
            opcode: instruction.opcode,
            a: instruction.a() as i32,
            count: instruction.b(),
        })
    }

    // Calls.

    /// A call, which ends the segment.
    pub(super) fn call(
        &mut self,
        id: NodeId,
        callee: &Callee,
        arguments: &[NodeId],
        state: StateId,
        root: Root,
    ) -> Result<(), JitError> {
        let site = self.site(state)?;
        let base = self.procedure.frame_base(state);
        let window = base + site.a;
        let stores = self.procedure.slots.at_node(id).to_vec();
        self.store_slots(&stores);
        let first = window + frame::LINK_WORDS as i32;
        let passed = self.passed(callee, arguments);
        for (word, slot) in passed
            .in_slots
            .iter()
            .zip(first + passed.in_registers() as i32..)
        {
            self.store_slot(*word, slot);
        }
        let closure = callee.closure();
        let index = self.output.return_descriptor(id, state, root);
        if let Callee::Capture { receiver, .. } = callee {
            self.capture(arguments[0], *receiver, state, index)?;
        }
        let value = self.value(closure);
        self.store_slot(value, window);
        if let Callee::Capture { repeats: true, .. } = callee {
            for (word, slot) in passed.words.iter().zip(first..) {
                self.store_slot(*word, slot);
            }
            let descriptor = self.address(Target::Return(index));
            self.store_slot(descriptor, window + 1);
            let fp = self.slot_address(first);
            let target = self.word(self.environment().capture_apart as u64);
            self.jump_to(target, &[fp, fp, self.thread]);
            return Ok(());
        }
        let target = match callee {
            Callee::Known { code, .. } | Callee::Capture { code, .. } => {
                self.link(*code, arguments)
            }
            Callee::Unknown(_) => {
                let slow = self.cold_block();
                let target = self.callee_code(closure, value, arguments.len(), slow);
                let fast = self.builder.current_block();
                self.begin(slow);
                // The collector takes the operands of the instruction for live.
                let false_word = self.word(layout::FALSE);
                for operand in arguments.len()..site.count {
                    self.store_slot(false_word, first + operand as i32);
                }
                let pc = self.word(site.behind);
                let fp = self.slot_address(base);
                let word = with_count(site.word, arguments.len())?;
                let stub = self.environment().call_slow_stub;
                self.slow(stub, pc, fp, word);
                self.continue_in(fast);
                target
            }
        };
        let descriptor = self.address(Target::Return(index));
        self.store_slot(descriptor, window + 1);
        let fp = self.slot_address(first);
        self.enter_callee(callee, target, fp, &passed);
        Ok(())
    }

    /// Captures the continuation of a call with the return descriptor `index`, if it is the slice of
    /// this frame alone on the stack, as is usual once a continuation was called, and enters the receiver.
    /// All other cases are left to the code that follows. Live registers are in their slots.
    fn capture(
        &mut self,
        receiver: NodeId,
        code: u64,
        state: StateId,
        index: u32,
    ) -> Result<(), JitError> {
        let graph = self.procedure.graph;
        let call = instruction(graph, state)?;
        let live = graph.code_of(graph.state(state).frame).instructions[call.pc + 1];
        let words = frame::LINK_WORDS + call.a();
        let is_small = 8 * words as i64 <= continuation::SMALL_SLICE_BYTES;
        if self.procedure.frame_base(state) != 0 || live & frame::WIDE_MAP != 0 || !is_small {
            return Ok(());
        }
        let receiver = self.value(receiver);
        let fp = self.fp();
        let base = self.load(I64, self.thread, thread::STACK_BASE);
        let start = self.slot_address(frame::CLOSURE);
        let is_alone = self.builder.ins().icmp(IntCC::Equal, start, base);
        let (alone, below_limit, other) = (self.new_block(), self.new_block(), self.cold_block());
        self.builder.ins().brif(is_alone, alone, &[], other, &[]);
        self.begin(alone);
        let depth = self.load(I64, self.thread, thread::SEALED_BYTES);
        let sum = self.builder.ins().iadd_imm_s(depth, 8 * words as i64);
        let limit = self.load(I64, self.thread, thread::CAPTURE_LIMIT);
        let fits = self.builder.ins().icmp(IntCC::UnsignedLessThan, sum, limit);
        self.builder.ins().brif(fits, below_limit, &[], other, &[]);
        self.begin(below_limit);
        let length = continuation::SLICE + words;
        let bytes = object_bytes(length);
        let address = self.allocate(bytes);
        if bytes != 8 * (1 + length) {
            let zero = self.word(0);
            self.store(zero, address, bytes as i32 - 8);
        }
        let header = self.word(object_header(Kind::Closure, length));
        self.store(header, address, 0);
        let field = |index: usize| 8 * (1 + index) as i32;
        for (register, index) in [
            (thread::CONTINUATION_CODE, continuation::CODE),
            (thread::WINDERS, continuation::WINDERS),
            (thread::HANDLERS, continuation::HANDLERS),
            (thread::PARAMETERS, continuation::PARAMETERS),
            (thread::SEALED, continuation::PARENT),
            (thread::SEALED_PC, continuation::SLICE + 1),
        ] {
            let value = self.load(I64, self.thread, register);
            self.store(value, address, field(index));
        }
        self.store(depth, address, field(continuation::DEPTH));
        let resume = self.address(Target::Return(index));
        self.store(resume, address, field(continuation::RESUME_PC));
        let closure = self.load_slot(frame::CLOSURE);
        self.store(closure, address, field(continuation::SLICE));
        for register in 0..call.a() {
            let value = if live >> register & 1 != 0 {
                self.load_slot(register as i32)
            } else {
                self.word(0)
            };
            let index = continuation::SLICE + frame::LINK_WORDS + register;
            self.store(value, address, field(index));
        }
        let object = self
            .builder
            .ins()
            .iadd_imm_s(address, layout::TAG_OBJECT as i64);
        self.store(object, self.thread, thread::SEALED);
        self.store(sum, self.thread, thread::SEALED_BYTES);
        self.store(resume, self.thread, thread::SEALED_PC);
        // The receiver's frame takes the place of this one.
        self.store_slot(receiver, frame::CLOSURE);
        let underflow = self.load(I64, self.thread, thread::UNDERFLOW);
        self.store_slot(underflow, frame::RETURN_PC);
        let link = self.output.link(code, vec![Type::CLOSURE]);
        let link = self.address(Target::Link(link));
        let target = self.load(I64, link, 0);
        self.jump_directly(target, fp, &[object], &[]);
        self.begin(other);
        Ok(())
    }

    /// A call in place of the outermost frame.
    pub(super) fn tail_call(
        &mut self,
        id: BlockId,
        callee: &Callee,
        arguments: &[NodeId],
        state: StateId,
    ) -> Result<(), JitError> {
        if self.procedure.frame_base(state) != 0 {
            return Err(JitError::Invalid(
                "a tail call in place of an inlined frame".into(),
            ));
        }
        let closure = callee.closure();
        let closure_value = self.value(closure);
        let target = match callee {
            Callee::Known { code, .. } | Callee::Capture { code, .. } => {
                self.link(*code, arguments)
            }
            Callee::Unknown(_) => {
                let site = self.site(state)?;
                let slow = self.cold_block();
                let target = self.callee_code(closure, closure_value, arguments.len(), slow);
                let fast = self.builder.current_block();
                self.begin(slow);
                let stores = self.procedure.slots.at_end(id).to_vec();
                self.coldly(|s| s.store_slots(&stores));
                if arguments.len() != site.count {
                    // The call is not that of the instruction: `apply` was taken apart.
                    let first = site.a + frame::LINK_WORDS as i32;
                    self.coldly(|s| {
                        s.store_slot(closure_value, site.a);
                        for (argument, slot) in arguments.iter().zip(first..) {
                            let word = s.tagged(*argument);
                            s.store_slot(word, slot);
                        }
                    });
                }
                let pc = self.word(site.behind);
                let fp = self.fp();
                let word = with_count(site.word, arguments.len())?;
                let stub = self.environment().tail_call_slow_stub;
                self.slow(stub, pc, fp, word);
                self.continue_in(fast);
                target
            }
        };
        // Every argument is read before a slot is written: values are in registers.
        let mut moves = vec![(frame::CLOSURE, closure, closure_value)];
        let passed = self.passed(callee, arguments);
        let others = arguments.iter().enumerate().skip(passed.in_registers());
        for ((slot, argument), word) in others.zip(&passed.in_slots) {
            moves.push((slot as i32, *argument, *word));
        }
        let procedure = self.procedure;
        for (slot, node, value) in moves {
            let root = procedure.values.slot_root(procedure.graph, node);
            let content = SlotContent::Node(root);
            let known = procedure.slots.before_tail_call(id);
            if !known.is_some_and(|known| known.holds(slot, content)) {
                self.store_slot(value, slot);
            }
        }
        let fp = self.fp();
        self.enter_callee(callee, target, fp, &passed);
        Ok(())
    }

    /// The values of a call's arguments, held as the callee gets them.
    fn passed(&mut self, callee: &Callee, arguments: &[NodeId]) -> Passed {
        let mut passed = Passed::default();
        let (in_registers, doubles) = match callee {
            Callee::Known { .. } | Callee::Capture { .. } => {
                let types = known_types(self.procedure.graph, arguments);
                (in_registers(arguments.len()), doubles_of(&types))
            }
            Callee::Unknown(_) => (0, Doubles::default()),
        };
        for (argument, id) in arguments.iter().enumerate() {
            if argument >= in_registers {
                let word = self.tagged(*id);
                passed.in_slots.push(word);
            } else if doubles.contains(argument) {
                let double = self.double(*id);
                passed.doubles.push(double);
            } else {
                let word = self.tagged(*id);
                passed.words.push(word);
            }
        }
        passed
    }

    /// Where calls of known code continue.
    fn link(&mut self, code: u64, arguments: &[NodeId]) -> Value {
        let types = known_types(self.procedure.graph, arguments);
        let index = self.output.link(code, types);
        let link = self.address(Target::Link(index));
        self.load(I64, link, 0)
    }

    /// Goes to a callee whose frame is ready: known code by its machine address, with arguments in
    /// registers, any other by its code object.
    fn enter_callee(&mut self, callee: &Callee, target: Value, fp: Value, passed: &Passed) {
        if let Callee::Unknown(_) = callee {
            return self.enter_code(target, fp);
        }
        self.jump_directly(target, fp, &passed.words, &passed.doubles);
    }

    /// Jumps with words and doubles in registers.
    fn jump_directly(&mut self, target: Value, fp: Value, words: &[Value], doubles: &[Value]) {
        let (first, others) = match words.split_first() {
            Some((first, others)) => (*first, others),
            None => (fp, words),
        };
        let mut registers = vec![first, fp, self.thread];
        registers.extend(others);
        registers.extend(doubles);
        let signature = self.direct_signature(words.len(), doubles.len());
        self.mark_exit();
        self.builder
            .ins()
            .return_call_indirect(signature, target, &registers);
        self.unmark_exit();
    }

    fn continue_in(&mut self, block: Option<Block>) {
        if let Some(block) = block {
            self.builder.switch_to_block(block);
        }
    }

    /// Jumps into code; its frame is ready.
    fn enter_code(&mut self, code: Value, fp: Value) {
        let native = self.load(I64, code, code::NATIVE);
        let registers = [code, fp, self.thread];
        self.jump_to(native, &registers);
    }

    /// Jumps to an interpreter's stub.
    fn slow(&mut self, stub: usize, pc: Value, fp: Value, word: u32) {
        let target = self.word(stub as u64);
        let table = self.load(I64, self.thread, thread::TABLE);
        let word = self.builder.ins().iconst(I32, i64::from(word));
        let registers = [pc, fp, self.thread, table, word];
        self.jump_to(target, &registers);
    }

    /// The code of a callee that takes so many arguments; to `slow` if there is none.
    fn callee_code(&mut self, node: NodeId, callee: Value, count: usize, slow: Block) -> Value {
        if !self.procedure.graph.node(node).ty.is(Type::CLOSURE) {
            let is_closure = self.new_block();
            self.kind_test(Kind::Closure, node, callee, is_closure, slow);
            self.begin(is_closure);
        }
        let target = self.load(I64, callee, FIELD0);
        let arity = self.load(I32, target, code::ARITY);
        let exact = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::Equal, arity, count as i64);
        let (go, other, variadic) = (self.new_block(), self.new_block(), self.new_block());
        self.builder.ins().brif(exact, go, &[], other, &[]);
        self.begin(other);
        let any = i64::from(code::VARIADIC as i32);
        let takes_any = self.builder.ins().icmp_imm_s(IntCC::Equal, arity, any);
        self.builder.ins().brif(takes_any, variadic, &[], slow, &[]);
        self.begin(variadic);
        let number = self.word(count as u64);
        self.store(number, self.thread, thread::ARGUMENT_COUNT);
        self.builder.ins().jump(go, &[]);
        self.begin(go);
        target
    }

    /// Returns from the outermost frame: into compiled code with the value in the register of pc, or
    /// the double in the first one for doubles, and fp as it is; into the interpreter as its own return
    /// does.
    pub(super) fn return_value(&mut self, x: NodeId) {
        let root = self.procedure.values.root(x);
        let is_double = is_float(self.procedure.graph, root);
        let value = if is_double {
            self.value(x)
        } else {
            self.tagged(x)
        };
        let fp = self.fp();
        let pc = self.load(I64, fp, 8 * frame::RETURN_PC);
        let opcode = self.load(I8, pc, 0);
        let native = i64::from(Opcode::Native as u8);
        let is_native = self.builder.ins().icmp_imm_s(IntCC::Equal, opcode, native);
        let (compiled, interpreted) = (self.new_block(), self.cold_block());
        self.builder
            .ins()
            .brif(is_native, compiled, &[], interpreted, &[]);
        self.begin(interpreted);
        self.coldly(|s| {
            let word = if is_double { s.box_float(value) } else { value };
            s.jump_to_stub(Target::Stub(Stub::Return), word, fp);
        });
        self.begin(compiled);
        if is_double {
            let target = self.load(I64, pc, RETURN_FLOAT as i32);
            return self.jump_directly(target, fp, &[], &[value]);
        }
        let ty = self.procedure.graph.node(x).ty;
        let place = if ty == Type::FIXNUM {
            RETURN_FIXNUM
        } else {
            RETURN_NATIVE
        };
        let target = self.load(I64, pc, place as i32);
        let registers = [value, fp, self.thread];
        self.jump_to(target, &registers);
    }

    // The runtime.

    /// An instruction in the runtime that ends the segment.
    pub(super) fn runtime_cut(
        &mut self,
        id: NodeId,
        state: StateId,
        root: Root,
    ) -> Result<(), JitError> {
        let site = self.site(state)?;
        let stores = self.procedure.slots.at_node(id).to_vec();
        self.store_slots(&stores);
        let index = self.output.resumption((site.next, root), (site.next, root));
        self.leave_to_runtime(site, state, index);
        Ok(())
    }

    /// A branch in the runtime that ends the segment.
    pub(super) fn runtime_branch_cut(
        &mut self,
        id: BlockId,
        state: StateId,
    ) -> Result<(), JitError> {
        let site = self.site(state)?;
        let stores = self.procedure.slots.at_end(id).to_vec();
        self.store_slots(&stores);
        let taken = branch_target(&site)?;
        let index = self
            .output
            .resumption((site.next, Root::Fall(id)), (taken, Root::Taken(id)));
        self.leave_to_runtime(site, state, index);
        Ok(())
    }

    fn leave_to_runtime(&mut self, site: Site, state: StateId, resumption: u32) {
        let pc = self.word(site.behind);
        let fp = self.slot_address(self.procedure.frame_base(state));
        let resumption = self.address(Target::Resumption(resumption));
        self.jump_to_runtime(pc, fp, resumption, site.word);
    }

    /// An instruction in the runtime, after which the segment continues.
    pub(super) fn runtime(&mut self, id: NodeId, state: StateId) -> Result<(), JitError> {
        let site = self.site(state)?;
        let stores = self.procedure.slots.at_node(id).to_vec();
        let result = self.execute(site, state, &stores);
        let (on, away) = (self.new_block(), self.cold_block());
        let next = self.word(site.next);
        let same = self.builder.ins().icmp(IntCC::Equal, result, next);
        self.builder.ins().brif(same, on, &[], away, &[]);
        self.begin(away);
        self.go_elsewhere(result);
        self.begin(on);
        self.reload_fp(self.procedure.frame_base(state));
        Ok(())
    }

    /// A branch in the runtime, after which the segment continues.
    pub(super) fn runtime_branch(
        &mut self,
        id: BlockId,
        state: StateId,
        taken: &Edge,
        fall: &Edge,
    ) -> Result<(), JitError> {
        let site = self.site(state)?;
        let target = branch_target(&site)?;
        let stores = self.procedure.slots.at_end(id).to_vec();
        let result = self.execute(site, state, &stores);
        let base = self.procedure.frame_base(state);
        for (address, edge) in [(site.next, fall), (target, taken)] {
            let (on, other) = (self.new_block(), self.new_block());
            let address = self.word(address);
            let same = self.builder.ins().icmp(IntCC::Equal, result, address);
            self.builder.ins().brif(same, on, &[], other, &[]);
            self.begin(on);
            self.reload_fp(base);
            self.runtime_edge(edge, state)?;
            self.begin(other);
        }
        self.go_elsewhere(result);
        Ok(())
    }

    /// Publishes the state and calls the runtime entry of the instruction.
    fn execute(&mut self, site: Site, state: StateId, stores: &[crate::slots::SlotStore]) -> Value {
        self.store_slots(stores);
        let pc = self.word(site.behind);
        let fp = self.slot_address(self.procedure.frame_base(state));
        self.store(pc, self.thread, thread::PC);
        self.store(fp, self.thread, thread::FP);
        let entries = self.load(I64, self.thread, thread::RUNTIME);
        let entry = self.load(I64, entries, 8 * site.opcode as i32);
        self.call_runtime(entry, pc, fp, site.word)
    }

    /// Goes where the runtime says, or leaves the machine if it says nothing.
    fn go_elsewhere(&mut self, result: Value) {
        let (dispatch, leave) = (self.cold_block(), self.cold_block());
        self.builder.ins().brif(result, dispatch, &[], leave, &[]);
        self.begin(leave);
        self.leave_machine();
        self.begin(dispatch);
        let fp = self.load(I64, self.thread, thread::FP);
        self.dispatch(result, fp);
    }

    // Operations that may allocate.

    /// The tagged flonum of a double.
    pub(super) fn box_float(&mut self, number: Value) -> Value {
        let (other, boxed, done) = (self.new_block(), self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let bits = self.builder.ins().bitcast(I64, MemFlagsData::new(), number);
        let rotated = self.builder.ins().rotl_imm_u(bits, 4);
        let word = self.builder.ins().iadd_imm_s(rotated, -1);
        let class = self.builder.ins().band_imm_s(word, 6);
        let usual = self.builder.ins().icmp_imm_s(IntCC::Equal, class, 2);
        self.builder
            .ins()
            .brif(usual, done, &[word.into()], other, &[]);
        self.begin(other);
        let tag = self.builder.ins().band_imm_s(word, 7);
        let tiny = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 7);
        self.builder
            .ins()
            .brif(tiny, done, &[word.into()], boxed, &[]);
        self.begin(boxed);
        let object = self.call_maker(self.environment().box_flonum, bits);
        self.builder.ins().jump(done, &[object.into()]);
        self.begin(done);
        result
    }

    /// Address of memory for a scannable object: of what was reserved, if anything was.
    pub(super) fn object_memory(&mut self, bytes: usize) -> Value {
        let Some((start, from, left)) = self.reserve else {
            return self.allocate(bytes);
        };
        self.reserve = (left > bytes).then(|| (start, from + bytes, left - bytes));
        self.builder.ins().iadd_imm_s(start, from as i64)
    }

    /// Address of new memory for scannable objects.
    pub(super) fn allocate(&mut self, bytes: usize) -> Value {
        let (fits, full, done) = (self.new_block(), self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let cursor = self.load(I64, self.thread, thread::SCAN_CURSOR);
        let limit = self.load(I64, self.thread, thread::SCAN_LIMIT);
        let end = self.builder.ins().iadd_imm_s(cursor, bytes as i64);
        let over = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedGreaterThan, end, limit);
        self.builder.ins().brif(over, full, &[], fits, &[]);
        self.begin(full);
        let size = self.word(bytes as u64);
        let address = self.call_maker(self.environment().allocate, size);
        self.builder.ins().jump(done, &[address.into()]);
        self.begin(fits);
        self.store(end, self.thread, thread::SCAN_CURSOR);
        self.builder.ins().jump(done, &[cursor.into()]);
        self.begin(done);
        result
    }

    /// Marks the card of an address.
    pub(super) fn mark_card(&mut self, address: Value) {
        let cards = self.load(I64, self.thread, thread::CARDS);
        let index = self
            .builder
            .ins()
            .ushr_imm_u(address, i64::from(layout::CARD_SHIFT));
        let card = self.builder.ins().iadd(cards, index);
        let one = self.builder.ins().iconst(I32, 1);
        self.builder.ins().istore8(TRUSTED, one, card, 0);
    }
}

fn branch_target(site: &Site) -> Result<u64, JitError> {
    site.taken
        .ok_or_else(|| JitError::Invalid("a branch in the runtime is no branch".into()))
}

/// A call's first word with another number of arguments.
fn with_count(word: u32, count: usize) -> Result<u32, JitError> {
    let count = u8::try_from(count).map_err(|_| JitError::TooLarge)?;
    Ok(word & 0xff00_ffff | u32::from(count) << 16)
}

const _: () = assert!(descriptor::SIZE == RETURN_NATIVE);
