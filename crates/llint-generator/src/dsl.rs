//! The small language in which handlers are written.
//!
//! A [`Handler`] wraps Cranelift's builder with the machine's registers and idioms: operand fields,
//! frame slots, tag tests that leave to the slow path, allocation, the write barrier, dispatch. On entry
//! of a handler `pc` is the address after the first instruction word.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, descriptor, thread};
use canny_tables::opcodes::Opcode;
use canny_tables::stencils::Hole;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I8, I32, I64};
use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, MemFlagsData, SigRef, Type, Value};
use cranelift_frontend::FunctionBuilder;

use crate::stencils::mark;

/// Where a stencil ends, beside real dispatches.
#[derive(Clone, Copy)]
pub struct Exits {
    /// The instruction behind this one.
    pub next: FuncRef,
    /// The target of the branch.
    pub taken: FuncRef,
}

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// A handler under construction.
pub struct Handler<'a, 'b> {
    /// Cranelift's builder.
    pub builder: &'a mut FunctionBuilder<'b>,
    /// Address after the first instruction word.
    pub pc: Value,
    /// Frame pointer.
    pub fp: Value,
    /// Thread block.
    pub thread: Value,
    /// Dispatch table.
    pub table: Value,
    /// First instruction word.
    pub word: Value,
    signature: SigRef,
    fallback: FuncRef,
    log_full: Option<FuncRef>,
    fallback_block: Option<Block>,
    entry: [Value; 5],
    keeps_instruction: bool,
    leaves: bool,
    /// Set where a stencil is written.
    exits: Option<Exits>,
    first_pc: Value,
}

impl<'a, 'b> Handler<'a, 'b> {
    /// A handler whose parameters are the five machine registers; `fallback` takes over what it cannot do.
    pub fn new(
        builder: &'a mut FunctionBuilder<'b>,
        registers: [Value; 5],
        signature: SigRef,
        fallback: FuncRef,
    ) -> Self {
        let [pc, fp, thread, table, word] = registers;
        Handler {
            builder,
            pc,
            fp,
            thread,
            table,
            word,
            signature,
            fallback,
            log_full: None,
            fallback_block: None,
            entry: registers,
            keeps_instruction: true,
            leaves: false,
            exits: None,
            first_pc: pc,
        }
    }

    /// Writes a stencil of the handler from here on: operands are holes, and the next instruction is
    /// the one behind this one in the code that stencils make together. That code keeps frame and thread
    /// in their registers. `frees` the others costs moves at the exits.
    pub fn begin_stencil(&mut self, exits: Exits, frees: bool) {
        self.exits = Some(exits);
        if frees {
            self.entry = self.frame_alone();
        }
    }

    /// In a stencil, the operand that is put into a hole.
    fn hole(&mut self, hole: Hole) -> Option<Value> {
        self.exits?;
        Some(self.builder.ins().iconst(I64, mark(hole)))
    }

    /// In a stencil, goes to the slow path unless the thread executes plainly: nobody wants a safepoint,
    /// and nothing is logged.
    pub fn expect_plain_mode(&mut self) {
        if let Some(plain) = self.hole(Hole::PlainLoop) {
            let plain = self.load(plain, 0);
            let table = self.load(self.thread, thread::TABLE);
            let now = self.load(table, 8 * Opcode::Loop as i32);
            let other = self.compare(IntCC::NotEqual, plain, now);
            self.slow_if(other);
        }
    }

    /// Whether anything written so far goes to the fallback.
    pub fn leaves_to_fallback(&self) -> bool {
        self.leaves
    }

    /// Names the stub that hands a full log over, for handlers that log; their fallback is the plain handler.
    pub fn set_log_full(&mut self, stub: FuncRef) {
        self.log_full = Some(stub);
    }

    /// Goes to the stub that hands the log over and begins the instruction again.
    pub fn hand_log_over(&mut self) {
        let stub = self
            .log_full
            .expect("only handlers that log hand logs over");
        self.builder.ins().return_call(stub, &self.entry);
    }

    /// Goes to the fallback, the machine's registers being as they are now.
    pub fn continue_plainly(&mut self) {
        self.leaves = true;
        let registers = [self.pc, self.fp, self.thread, self.table, self.word];
        self.builder.ins().return_call(self.fallback, &registers);
    }

    /// Gives up the register of the dispatch table, until it is reloaded, in a handler that does not go
    /// to the fallback or a stub any more.
    pub fn forget_table(&mut self) {
        self.table = self.thread;
    }

    /// Gives up the register of the dispatch table, for a handler that needs one more; stubs take the
    /// table from the thread block anyway. The handler must [`Handler::reload_table`] before it
    /// continues.
    pub fn release_table(&mut self) {
        self.entry[3] = self.thread;
    }

    /// Takes the dispatch table from the thread block.
    pub fn reload_table(&mut self) {
        self.table = self.load(self.thread, thread::TABLE);
    }

    /// Writes the way to the fallback, if anything goes there.
    pub fn finish(&mut self) {
        if let Some(block) = self.fallback_block {
            self.builder.switch_to_block(block);
            let mut registers = self.entry;
            if !self.keeps_instruction {
                registers = self.frame_alone();
            }
            self.builder.ins().return_call(self.fallback, &registers);
        }
    }

    /// Frame and thread, and anything in the other registers.
    fn frame_alone(&mut self) -> [Value; 5] {
        let any = self.builder.ins().ireduce(I32, self.thread);
        [self.thread, self.entry[1], self.thread, self.thread, any]
    }

    /// Gives up the registers of the instruction and of the table, in a handler whose fallback finds
    /// the instruction by the frame. Stubs take the table from the thread block anyway; the handler
    /// must [`Handler::reload_table`] before it dispatches.
    pub fn forget_instruction(&mut self) {
        self.keeps_instruction = false;
        let [pc, _, _, table, word] = self.frame_alone();
        (self.pc, self.table, self.word) = (pc, table, word);
    }

    /// Leaves to the fallback here, the instruction having done nothing.
    pub fn leave(&mut self) {
        self.leaves = true;
        self.builder.ins().return_call(self.fallback, &self.entry);
    }

    fn fallback_block(&mut self) -> Block {
        self.leaves = true;
        if let Some(block) = self.fallback_block {
            return block;
        }
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        self.fallback_block = Some(block);
        block
    }

    // Memory and arithmetic.

    /// Loads a word.
    pub fn load(&mut self, base: Value, offset: i32) -> Value {
        self.load_as(I64, base, offset)
    }

    /// Loads a value of a type.
    pub fn load_as(&mut self, kind: Type, base: Value, offset: i32) -> Value {
        self.builder.ins().load(kind, TRUSTED, base, offset)
    }

    /// Loads an unsigned 32-bit number as a word.
    pub fn load_u32(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().uload32(TRUSTED, base, offset)
    }

    /// Loads a signed 32-bit number as a word.
    pub fn load_i32(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().sload32(TRUSTED, base, offset)
    }

    /// Loads an unsigned byte as a word.
    pub fn load_u8(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().uload8(I64, TRUSTED, base, offset)
    }

    /// Stores a word (or a value of another type).
    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.builder.ins().store(TRUSTED, value, base, offset);
    }

    /// Stores the low byte of a word.
    pub fn store_u8(&mut self, value: Value, base: Value, offset: i32) {
        self.builder.ins().istore8(TRUSTED, value, base, offset);
    }

    /// A constant word.
    pub fn constant(&mut self, bits: u64) -> Value {
        self.builder.ins().iconst(I64, bits as i64)
    }

    /// Sum.
    pub fn add(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().iadd(x, y)
    }

    /// Sum with a constant.
    pub fn add_constant(&mut self, x: Value, n: i64) -> Value {
        self.builder.ins().iadd_imm_s(x, n)
    }

    /// Shift left by a constant.
    pub fn shift_left(&mut self, x: Value, bits: i64) -> Value {
        self.builder.ins().ishl_imm_u(x, bits)
    }

    /// Logical shift right by a constant.
    pub fn shift_right(&mut self, x: Value, bits: i64) -> Value {
        self.builder.ins().ushr_imm_u(x, bits)
    }

    /// Arithmetic shift right by a constant.
    pub fn shift_right_signed(&mut self, x: Value, bits: i64) -> Value {
        self.builder.ins().sshr_imm_u(x, bits)
    }

    /// Bitwise and with a constant.
    pub fn and_constant(&mut self, x: Value, mask: u64) -> Value {
        self.builder.ins().band_imm_s(x, mask as i64)
    }

    /// Comparison of words.
    pub fn compare(&mut self, condition: IntCC, x: Value, y: Value) -> Value {
        self.builder.ins().icmp(condition, x, y)
    }

    /// Comparison with a constant.
    pub fn compare_constant(&mut self, condition: IntCC, x: Value, n: i64) -> Value {
        self.builder.ins().icmp_imm_s(condition, x, n)
    }

    // Operands.

    fn byte_field(&mut self, shift: i64) -> Value {
        let field = if shift == 0 {
            self.word
        } else {
            self.builder.ins().ushr_imm_u(self.word, shift)
        };
        if shift == 24 {
            return self.builder.ins().uextend(I64, field);
        }
        let field = self.builder.ins().ireduce(I8, field);
        self.builder.ins().uextend(I64, field)
    }

    /// Field a.
    pub fn a(&mut self) -> Value {
        self.byte_field(8)
    }

    /// Field b.
    pub fn b(&mut self) -> Value {
        self.byte_field(16)
    }

    /// Field c.
    pub fn c(&mut self) -> Value {
        self.byte_field(24)
    }

    /// Field c as a signed number.
    pub fn c_signed(&mut self) -> Value {
        let field = self.builder.ins().sshr_imm_u(self.word, 24);
        self.builder.ins().sextend(I64, field)
    }

    /// The 16-bit field as a signed number.
    pub fn wide_signed(&mut self) -> Value {
        let field = self.builder.ins().sshr_imm_u(self.word, 16);
        self.builder.ins().sextend(I64, field)
    }

    /// The 16-bit field as an unsigned number.
    pub fn wide(&mut self) -> Value {
        let field = self.builder.ins().ushr_imm_u(self.word, 16);
        self.builder.ins().uextend(I64, field)
    }

    /// The 24-bit field as a signed number.
    pub fn far(&mut self) -> Value {
        let field = self.builder.ins().sshr_imm_u(self.word, 8);
        self.builder.ins().sextend(I64, field)
    }

    /// Address of a register's slot.
    pub fn slot(&mut self, register: Value) -> Value {
        let offset = self.shift_left(register, 3);
        self.add(self.fp, offset)
    }

    /// Content of a register.
    pub fn register(&mut self, register: Value) -> Value {
        let slot = self.slot(register);
        self.load(slot, 0)
    }

    /// Writes a register.
    pub fn set_register(&mut self, register: Value, value: Value) {
        let slot = self.slot(register);
        self.store(value, slot, 0);
    }

    /// Writes the register that field a names.
    pub fn set_a(&mut self, value: Value) {
        if self.exits.is_some() {
            return self.store(value, self.fp, mark(Hole::A) as i32);
        }
        let a = self.a();
        self.set_register(a, value);
    }

    /// Address of the slot of the register that field a names.
    pub fn slot_a(&mut self) -> Value {
        if self.exits.is_some() {
            return self.add_constant(self.fp, mark(Hole::A));
        }
        let a = self.a();
        self.slot(a)
    }

    /// Field b as a number of arguments or captured values, 32 bits.
    pub fn count_b(&mut self) -> Value {
        if self.exits.is_some() {
            return self.builder.ins().iconst(I32, mark(Hole::CountB));
        }
        let b = self.b();
        self.builder.ins().ireduce(I32, b)
    }

    /// Content of a register that a field names, which a hole stands for.
    fn register_of(&mut self, hole: Hole, field: fn(&mut Self) -> Value) -> Value {
        if self.exits.is_some() {
            return self.load(self.fp, mark(hole) as i32);
        }
        let register = field(self);
        self.register(register)
    }

    /// Content of the register that field a names.
    pub fn ra(&mut self) -> Value {
        self.register_of(Hole::A, Self::a)
    }

    /// Content of the register that field b names.
    pub fn rb(&mut self) -> Value {
        self.register_of(Hole::B, Self::b)
    }

    /// Content of the register that field c names.
    pub fn rc(&mut self) -> Value {
        self.register_of(Hole::C, Self::c)
    }

    /// The 16-bit field as a tagged word of its own, or as a fixnum.
    pub fn wide_word(&mut self) -> Value {
        self.hole(Hole::WideWord)
            .unwrap_or_else(|| self.wide_signed())
    }

    /// The 16-bit field as a fixnum.
    pub fn wide_fixnum(&mut self) -> Value {
        if let Some(fixnum) = self.hole(Hole::WideFixnum) {
            return fixnum;
        }
        let n = self.wide_signed();
        self.shift_left(n, layout::FIXNUM_SHIFT as i64)
    }

    /// Field c as a fixnum.
    pub fn c_fixnum(&mut self) -> Value {
        if let Some(fixnum) = self.hole(Hole::CFixnum) {
            return fixnum;
        }
        let n = self.c_signed();
        self.shift_left(n, layout::FIXNUM_SHIFT as i64)
    }

    /// The word of an object's payload that the 16-bit field numbers, `offset` bytes further.
    pub fn payload_wide(&mut self, object: Value, offset: i32) -> Value {
        if self.exits.is_some() {
            return self.load(object, mark(Hole::WideBytes) as i32 + offset);
        }
        let index = self.wide();
        let bytes = self.shift_left(index, 3);
        let slot = self.add(object, bytes);
        self.load(slot, offset)
    }

    /// Content of the pool slot that the 16-bit field names.
    pub fn pool_wide(&mut self) -> Value {
        if let Some(slot) = self.hole(Hole::PoolWide) {
            return self.load(slot, 0);
        }
        let distance = self.wide();
        let bytes = self.shift_left(distance, 2);
        let slot = self.builder.ins().isub(self.pc, bytes);
        self.load(slot, 0)
    }

    /// Content of the pool slot that extension word 0 names.
    pub fn pool_extension(&mut self) -> Value {
        if let Some(slot) = self.hole(Hole::PoolExtension) {
            return self.load(slot, 0);
        }
        let distance = self.load_u32(self.pc, 0);
        let bytes = self.shift_left(distance, 2);
        let slot = self.builder.ins().isub(self.pc, bytes);
        self.load(slot, 4)
    }

    // Control.

    /// The return address of a call: behind its live map, and in a stencil the descriptor that stands for
    /// that.
    pub fn return_address(&mut self) -> Value {
        self.hole(Hole::Return)
            .unwrap_or_else(|| self.add_constant(self.pc, 4))
    }

    /// Goes back to a loop's head by the far field.
    pub fn take_loop(&mut self) {
        if let Some(word) = self.hole(Hole::Behind) {
            self.expect_plain_mode();
            // There may be better code for the loop by now.
            let opcode = self.load_u8(word, -4);
            let other = self.compare_constant(IntCC::NotEqual, opcode, Opcode::Loop as i64);
            self.slow_if(other);
        }
        self.take_jump();
    }

    /// Jumps by the far field.
    pub fn take_jump(&mut self) {
        if let Some(exits) = self.exits {
            return self.exit(exits.taken);
        }
        let offset = self.far();
        let bytes = self.shift_left(offset, 2);
        self.pc = self.add(self.pc, bytes);
        self.next();
    }

    /// Takes the branch whose offset is in extension word 0.
    pub fn take_branch(&mut self) {
        if let Some(exits) = self.exits {
            return self.exit(exits.taken);
        }
        let offset = self.load_i32(self.pc, 0);
        let bytes = self.shift_left(offset, 2);
        let target = self.add(self.pc, bytes);
        self.pc = self.add_constant(target, 4);
        self.next();
    }

    /// Leaves a stencil.
    fn exit(&mut self, exit: FuncRef) {
        self.builder.ins().return_call(exit, &self.entry);
    }

    /// Goes to the instruction `words` extension words further.
    pub fn next_after(&mut self, words: i64) {
        if let Some(exits) = self.exits {
            return self.exit(exits.next);
        }
        if words > 0 {
            self.pc = self.add_constant(self.pc, 4 * words);
        }
        self.next();
    }

    /// Goes to the instruction at `pc`.
    pub fn next(&mut self) {
        if let Some(exits) = self.exits {
            if self.pc == self.first_pc {
                return self.exit(exits.next);
            }
            // From one code of stencils into another without a look at the table.
            let opcode = self.load_u8(self.pc, 0);
            let is_stitched = self.compare_constant(IntCC::Equal, opcode, Opcode::Stitched as i64);
            self.when(is_stitched, |h| {
                let target = h.load(h.pc, descriptor::NATIVE as i32);
                h.go(target);
            });
            self.reload_table();
        }
        let word = self.load_as(I32, self.pc, 0);
        let pc = self.add_constant(self.pc, 4);
        let opcode = self.builder.ins().ireduce(I8, word);
        let opcode = self.builder.ins().uextend(I64, opcode);
        let offset = self.shift_left(opcode, 3);
        let entry = self.add(self.table, offset);
        let target = self.load(entry, 0);
        let registers = [pc, self.fp, self.thread, self.table, word];
        self.builder
            .ins()
            .return_call_indirect(self.signature, target, &registers);
    }

    /// Goes to compiled code at a machine address, the registers being as they are.
    pub fn go(&mut self, target: Value) {
        let registers = [self.pc, self.fp, self.thread, self.table, self.word];
        self.builder
            .ins()
            .return_call_indirect(self.signature, target, &registers);
    }

    /// Branches by the offset in extension word 0 if the condition holds, else continues after it.
    pub fn branch(&mut self, condition: Value) {
        let taken = self.builder.create_block();
        let fall = self.builder.create_block();
        self.builder.ins().brif(condition, taken, &[], fall, &[]);
        let pc = self.pc;
        self.builder.switch_to_block(taken);
        self.take_branch();
        self.builder.switch_to_block(fall);
        self.pc = pc;
        self.next_after(1);
    }

    /// Runs `then` if the condition holds; the code that follows is the other case.
    pub fn when(&mut self, condition: Value, then: impl FnOnce(&mut Self)) {
        let yes = self.builder.create_block();
        let no = self.builder.create_block();
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        let (pc, fp) = (self.pc, self.fp);
        self.builder.switch_to_block(yes);
        then(self);
        (self.pc, self.fp) = (pc, fp);
        self.builder.switch_to_block(no);
    }

    /// Like [`Handler::when`], `then` standing out of the way of the other case.
    pub fn unlikely(&mut self, condition: Value, then: impl FnOnce(&mut Self)) {
        let yes = self.builder.create_block();
        self.builder.set_cold_block(yes);
        let no = self.builder.create_block();
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        let (pc, fp) = (self.pc, self.fp);
        self.builder.switch_to_block(yes);
        then(self);
        (self.pc, self.fp) = (pc, fp);
        self.builder.switch_to_block(no);
    }

    /// Leaves to the fallback if the condition holds.
    pub fn slow_if(&mut self, condition: Value) {
        let slow = self.fallback_block();
        let fast = self.builder.create_block();
        self.builder.ins().brif(condition, slow, &[], fast, &[]);
        self.builder.switch_to_block(fast);
    }

    /// Copies `count` words from `source` up to `target` up, lowest first.
    pub fn copy_words(&mut self, source: Value, target: Value, count: Value) {
        let zero = self.constant(0);
        let bytes = self.shift_left(count, 3);
        self.count_up(zero, bytes, |h, offset| {
            let from = h.add(source, offset);
            let to = h.add(target, offset);
            let word = h.load(from, 0);
            h.store(word, to, 0);
        });
    }

    /// Writes `value` to every word from `start` up to `end`, which are not equal beforehand; from the top
    /// down, since that keeps one register less alive.
    pub fn fill_words(&mut self, start: Value, end: Value, value: Value) {
        let head = self.builder.create_block();
        let done = self.builder.create_block();
        let cursor = self.builder.append_block_param(head, I64);
        self.builder.ins().jump(head, &[end.into()]);
        self.builder.switch_to_block(head);
        let slot = self.add_constant(cursor, -8);
        self.store(value, slot, 0);
        let more = self.compare(IntCC::NotEqual, slot, start);
        self.builder
            .ins()
            .brif(more, head, &[slot.into()], done, &[]);
        self.builder.switch_to_block(done);
    }

    fn count_up(&mut self, start: Value, end: Value, body: impl FnOnce(&mut Self, Value)) {
        let head = self.builder.create_block();
        let inside = self.builder.create_block();
        let done = self.builder.create_block();
        let offset = self.builder.append_block_param(head, I64);
        self.builder.ins().jump(head, &[start.into()]);
        self.builder.switch_to_block(head);
        let more = self.compare(IntCC::NotEqual, offset, end);
        self.builder.ins().brif(more, inside, &[], done, &[]);
        self.builder.switch_to_block(inside);
        body(self, offset);
        let next = self.add_constant(offset, 8);
        self.builder.ins().jump(head, &[next.into()]);
        self.builder.switch_to_block(done);
    }

    // Guards.

    /// Leaves unless the word is a fixnum.
    pub fn guard_fixnum(&mut self, x: Value) {
        let tag = self.and_constant(x, 3);
        self.slow_if(tag);
    }

    /// Leaves unless both words are fixnums.
    pub fn guard_fixnums(&mut self, x: Value, y: Value) {
        let either = self.builder.ins().bor(x, y);
        self.guard_fixnum(either);
    }

    /// Leaves unless the word is a pair.
    pub fn guard_pair(&mut self, x: Value) {
        let tag = self.and_constant(x, layout::TAG_MASK);
        let other = self.compare_constant(IntCC::NotEqual, tag, layout::TAG_PAIR as i64);
        self.slow_if(other);
    }

    /// Leaves unless the word is an object reference.
    pub fn guard_object(&mut self, x: Value) {
        let tag = self.and_constant(x, layout::TAG_MASK);
        let other = self.compare_constant(IntCC::NotEqual, tag, layout::TAG_OBJECT as i64);
        self.slow_if(other);
    }

    /// Leaves unless the word is an object of the kind.
    pub fn guard_kind(&mut self, x: Value, kind: Kind) {
        self.guard_object(x);
        let byte = self.load_u8(x, layout::HEADER + 1);
        let other = self.compare_constant(IntCC::NotEqual, byte, kind as i64);
        self.slow_if(other);
    }

    /// Leaves unless the word is an object of the kind (and without the flags); gives its header.
    pub fn guard_kind_header(&mut self, x: Value, kind: Kind, forbidden_flags: u8) -> Value {
        self.guard_object(x);
        let header = self.load(x, layout::HEADER);
        let mask = 0xff << layout::HEADER_KIND_SHIFT
            | (forbidden_flags as u64) << layout::HEADER_FLAGS_SHIFT;
        let masked = self.and_constant(header, mask);
        let wanted = (kind as i64) << layout::HEADER_KIND_SHIFT;
        let other = self.compare_constant(IntCC::NotEqual, masked, wanted);
        self.slow_if(other);
        header
    }

    /// Leaves unless the word is a character.
    pub fn guard_character(&mut self, x: Value) {
        let low = self.and_constant(x, 0xff);
        let other = self.compare_constant(IntCC::NotEqual, low, layout::CHARACTER_LOW_BYTE as i64);
        self.slow_if(other);
    }

    /// Leaves unless `index` is a fixnum below the header's length.
    pub fn guard_index(&mut self, index: Value, header: Value) {
        self.guard_fixnum(index);
        let length = self.shift_right(header, layout::HEADER_LENGTH_SHIFT as i64);
        let length = self.shift_left(length, layout::FIXNUM_SHIFT as i64);
        let outside = self.compare(IntCC::UnsignedGreaterThanOrEqual, index, length);
        self.slow_if(outside);
    }

    // Flonums.

    /// The low bits less the first flonum tag: flonums have 0, 1 (the usual magnitudes) and 5 (zero and
    /// the tiny). A bit mask indexed by the tag would need a variable shift, which ties up a register
    /// that holds machine state.
    fn flonum_class(&mut self, x: Value) -> Value {
        let moved = self.add_constant(x, -2);
        self.and_constant(moved, layout::TAG_MASK)
    }

    /// One if the word is a flonum.
    pub fn is_flonum(&mut self, x: Value) -> Value {
        let class = self.flonum_class(x);
        let usual = self.compare_constant(IntCC::UnsignedLessThan, class, 2);
        let tiny = self.compare_constant(IntCC::Equal, class, 5);
        self.builder.ins().bor(usual, tiny)
    }

    /// Leaves unless the word is a flonum.
    fn guard_flonum_word(&mut self, x: Value) {
        let class = self.flonum_class(x);
        let rare = self.builder.create_block();
        let flonum = self.builder.create_block();
        let usual = self.compare_constant(IntCC::UnsignedLessThan, class, 2);
        self.builder.ins().brif(usual, flonum, &[], rare, &[]);
        self.builder.switch_to_block(rare);
        let other = self.compare_constant(IntCC::NotEqual, class, 5);
        self.slow_if(other);
        self.builder.ins().jump(flonum, &[]);
        self.builder.switch_to_block(flonum);
    }

    /// Leaves unless the word is a flonum; gives it as a machine number.
    pub fn guard_flonum(&mut self, x: Value) -> Value {
        self.guard_flonum_word(x);
        self.decode_flonum(x)
    }

    /// The machine number in a flonum word.
    pub fn decode_flonum(&mut self, x: Value) -> Value {
        let bits = self.add_constant(x, 1);
        let bits = self.builder.ins().rotr_imm_u(bits, 4);
        self.builder.ins().bitcast(F64, MemFlagsData::new(), bits)
    }

    /// The machine number of a flonum or fixnum word; leaves for anything else.
    pub fn guard_number(&mut self, x: Value) -> Value {
        let fixnum = self.builder.create_block();
        let other = self.builder.create_block();
        let join = self.builder.create_block();
        let result = self.builder.append_block_param(join, F64);
        let tag = self.and_constant(x, 3);
        self.builder.ins().brif(tag, other, &[], fixnum, &[]);
        self.builder.switch_to_block(fixnum);
        let integer = self.shift_right_signed(x, layout::FIXNUM_SHIFT as i64);
        let converted = self.builder.ins().fcvt_from_sint(F64, integer);
        self.builder.ins().jump(join, &[converted.into()]);
        self.builder.switch_to_block(other);
        let decoded = self.guard_flonum(x);
        self.builder.ins().jump(join, &[decoded.into()]);
        self.builder.switch_to_block(join);
        result
    }

    /// Leaves unless both words are flonums of usual magnitude, which one test of two bits tells; gives the
    /// machine numbers.
    pub fn guard_usual_flonums(&mut self, x: Value, y: Value) -> (Value, Value) {
        let from_x = self.builder.ins().bxor_imm_s(x, 2);
        let from_y = self.builder.ins().bxor_imm_s(y, 2);
        let either = self.builder.ins().bor(from_x, from_y);
        let other = self.and_constant(either, 6);
        self.slow_if(other);
        (self.decode_flonum(x), self.decode_flonum(y))
    }

    /// The flonum word of a machine number; leaves if its magnitude is unusual.
    pub fn encode_usual_flonum(&mut self, f: Value) -> Value {
        let bits = self.builder.ins().bitcast(I64, MemFlagsData::new(), f);
        let bits = self.builder.ins().rotl_imm_u(bits, 4);
        let word = self.add_constant(bits, -1);
        let class = self.and_constant(word, 6);
        let other = self.compare_constant(IntCC::NotEqual, class, 2);
        self.slow_if(other);
        word
    }

    /// The flonum word of a machine number; leaves if it needs a box.
    pub fn encode_flonum(&mut self, f: Value) -> Value {
        let bits = self.builder.ins().bitcast(I64, MemFlagsData::new(), f);
        let bits = self.builder.ins().rotl_imm_u(bits, 4);
        let word = self.add_constant(bits, -1);
        self.guard_flonum_word(word);
        word
    }

    // Objects.

    /// Takes `bytes` (a multiple of the granule) from the nursery; gives the address. Leaves if full.
    pub fn allocate(&mut self, bytes: Value) -> Value {
        let address = self.load(self.thread, thread::SCAN_CURSOR);
        let limit = self.load(self.thread, thread::SCAN_LIMIT);
        let end = self.add(address, bytes);
        let full = self.compare(IntCC::UnsignedGreaterThan, end, limit);
        self.slow_if(full);
        self.store(end, self.thread, thread::SCAN_CURSOR);
        address
    }

    /// Marks the card of a slot.
    pub fn barrier(&mut self, slot: Value) {
        let cards = self.load(self.thread, thread::CARDS);
        let index = self.shift_right(slot, layout::CARD_SHIFT as i64);
        let card = self.add(cards, index);
        let one = self.constant(1);
        self.store_u8(one, card, 0);
    }

    /// Stores a reference into a heap object and marks its card.
    pub fn store_with_barrier(&mut self, value: Value, base: Value, offset: i32) {
        let slot = self.add_constant(base, offset as i64);
        self.store(value, slot, 0);
        self.barrier(slot);
    }
}
