//! Logging for the specializer: handlers that write what is about to happen into the thread's log, then
//! continue in the plain handler of their opcode.
//!
//! The format is that of `canny_tables::layout::log`. An entry says types and code, never a value.
//! Work that the plain handler would not do on its fast path is not logged. A full log is left to
//! the stub that hands it over, after which the same instruction begins again, by whatever table is
//! then in force.
//!
//! Registers are few: types are written one by one, and calls give up the register of the dispatch table.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, CAR, CDR, FIELD0, code, frame, log, record_type, thread};
use canny_tables::opcodes::{Opcode, OpcodeFlags};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

use super::Writer;
use super::objects::{element, record_slot};
use crate::dsl::Handler;

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// The logging handler of an opcode that is logged before its plain handler runs: its row says what is
/// written.
pub fn logging(opcode: Opcode) -> Option<Writer> {
    const WRITERS: [(OpcodeFlags, Writer); 4] = [
        (OpcodeFlags::LOGS_CALL, write_enter),
        (OpcodeFlags::LOGS_RETURN, write_return),
        (OpcodeFlags::LOGS_LOOP, write_loop),
        (OpcodeFlags::LOGS_RESULT, write_load),
    ];
    let known = WRITERS.iter().find(|(flag, _)| opcode.has(*flag));
    known.map(|(_, writer)| *writer)
}

/// Whether an opcode leaves everything to the runtime, and its result is logged after it is there.
pub fn logs_after(opcode: Opcode) -> bool {
    opcode.has(OpcodeFlags::LOGS_RESULT) && opcode.has(OpcodeFlags::RUNTIME_ONLY)
}

/// Where the next entry goes; leaves if there is no room for it.
fn cursor(h: &mut Handler) -> Value {
    let cursor = h.load(h.thread, thread::LOG_CURSOR);
    let limit = h.load(h.thread, thread::LOG_LIMIT);
    let full = h.compare(IntCC::UnsignedGreaterThan, cursor, limit);
    h.unlikely(full, Handler::hand_log_over);
    cursor
}

/// Makes an entry of so many words at `cursor` permanent.
fn advance(h: &mut Handler, cursor: Value, words: usize) {
    let next = h.add_constant(cursor, 8 * words as i64);
    h.store(next, h.thread, thread::LOG_CURSOR);
}

/// The position of a frame, above the bits that share its word.
fn position(h: &mut Handler, frame: Value) -> Value {
    let base = h.load(h.thread, thread::STACK_BASE);
    let sealed = h.load(h.thread, thread::SEALED_BYTES);
    let on_stack = h.builder.ins().isub(frame, base);
    let position = h.add(on_stack, sealed);
    h.shift_left(position, log::POSITION_SHIFT.into())
}

/// Writes an entry of a value that the frame at hand gives.
fn write_value(h: &mut Handler, cursor: Value, value: Value) {
    let position = position(h, h.fp);
    h.store(position, cursor, 8);
    write_type(h, value, cursor, 8);
    let own = own_code(h);
    h.store(own, cursor, 16);
    advance(h, cursor, log::PLAIN_WORDS);
}

/// Word 0 of an entry about the instruction at hand.
fn first_word(h: &mut Handler, kind: u8) -> Value {
    let shifted = h.shift_left(h.pc, log::ADDRESS_SHIFT.into());
    // pc is behind the first word of the instruction.
    h.add_constant(shifted, i64::from(kind) - (4 << log::ADDRESS_SHIFT))
}

/// The code of the frame at hand.
fn own_code(h: &mut Handler) -> Value {
    let closure = h.load(h.fp, 8 * frame::CLOSURE);
    h.load(closure, FIELD0)
}

/// Writes the type of a word as 16 bits. A word above the low tag bits never gets into the log.
fn write_type(h: &mut Handler, x: Value, base: Value, offset: i32) {
    let object = h.builder.create_block();
    let [record, classed, no_class] = [0; 3].map(|_| h.builder.create_block());
    let other = h.builder.create_block();
    let immediate = h.builder.create_block();
    let plain = h.builder.create_block();
    let done = h.builder.create_block();
    let tag = h.and_constant(x, layout::TAG_MASK);
    let is_object = h.compare_constant(IntCC::Equal, tag, layout::TAG_OBJECT as i64);
    h.builder.ins().brif(is_object, object, &[], other, &[]);
    let put = |h: &mut Handler, value: Value| {
        h.builder.ins().istore16(TRUSTED, value, base, offset);
        h.builder.ins().jump(done, &[]);
    };
    h.builder.switch_to_block(object);
    let kind = h.load_u8(x, layout::HEADER + 1);
    let is_record = h.compare_constant(IntCC::Equal, kind, Kind::Record as i64);
    h.builder.ins().brif(is_record, record, &[], no_class, &[]);
    h.builder.switch_to_block(record);
    let its_type = h.load(x, FIELD0);
    let key = h.load(its_type, FIELD0 + 8 * record_type::SERIAL as i32);
    let class = h.shift_right(key, i64::from(layout::FIXNUM_SHIFT));
    let is_large = h.compare_constant(IntCC::UnsignedGreaterThanOrEqual, class, log::CLASSES_END);
    h.builder.ins().brif(is_large, no_class, &[], classed, &[]);
    h.builder.switch_to_block(classed);
    let class = h
        .builder
        .ins()
        .bor_imm_u(class, i64::from(log::TYPE_RECORD));
    put(h, class);
    h.builder.switch_to_block(no_class);
    let kind = h.load_u8(x, layout::HEADER + 1);
    let kind = h.builder.ins().bor_imm_u(kind, i64::from(log::TYPE_OBJECT));
    put(h, kind);
    h.builder.switch_to_block(other);
    let is_immediate = h.compare_constant(IntCC::Equal, tag, layout::TAG_IMMEDIATE as i64);
    h.builder
        .ins()
        .brif(is_immediate, immediate, &[], plain, &[]);
    h.builder.switch_to_block(immediate);
    let low = h.and_constant(x, u64::from(!log::TYPE_OBJECT));
    put(h, low);
    h.builder.switch_to_block(plain);
    put(h, tag);
    h.builder.switch_to_block(done);
}

/// Writes the type of a word as 8 bits. The word need not be live: the kind of an object that moved
/// away is wrong, but the heap's addresses can always be read.
fn write_short_type(h: &mut Handler, x: Value, base: Value, offset: i32) {
    let object = h.builder.create_block();
    let other = h.builder.create_block();
    let done = h.builder.create_block();
    let tag = h.and_constant(x, layout::TAG_MASK);
    let is_object = h.compare_constant(IntCC::Equal, tag, layout::TAG_OBJECT as i64);
    h.builder.ins().brif(is_object, object, &[], other, &[]);
    h.builder.switch_to_block(object);
    let kind = h.load_u8(x, layout::HEADER + 1);
    let kind = h
        .builder
        .ins()
        .bor_imm_u(kind, i64::from(log::SHORT_TYPE_OBJECT));
    h.store_u8(kind, base, offset);
    h.builder.ins().jump(done, &[]);
    h.builder.switch_to_block(other);
    h.store_u8(tag, base, offset);
    h.builder.ins().jump(done, &[]);
    h.builder.switch_to_block(done);
}

/// `call` and `tail-call` of a closure: its code and the types of the arguments.
fn write_enter(opcode: Opcode, h: &mut Handler) {
    let kind = if opcode == Opcode::Call {
        log::ENTER
    } else {
        log::TAIL_ENTER
    };
    let base = h.a();
    let base = h.slot(base);
    let callee = h.load(base, 0);
    h.guard_kind(callee, Kind::Closure);
    let cursor = cursor(h);
    // The fallback wants the table; nothing leaves there from here on.
    h.forget_table();
    let target = h.load(callee, FIELD0);
    h.store(target, cursor, 8);
    let first = first_word(h, kind);
    let count = h.b();
    let extra = h.shift_left(count, log::EXTRA_SHIFT.into());
    let first = h.add(first, extra);
    h.store(first, cursor, 0);
    let arguments = h.add_constant(base, 8 * frame::LINK_WORDS as i64);
    let frame = if opcode == Opcode::Call {
        let position = position(h, arguments);
        let register = h.a();
        let distance = h.add_constant(register, frame::LINK_WORDS as i64);
        h.add(position, distance)
    } else {
        position(h, h.fp)
    };
    h.store(frame, cursor, 24);
    write_arguments(
        h,
        cursor,
        arguments,
        |h| h.b(),
        |h| {
            h.reload_table();
            h.continue_plainly();
        },
    );
}

/// A call of compiled code enters bytecode; pc is the code object, fp the callee's. Nobody knows the
/// call instruction: its address is zero. A full log is left alone, since no instruction could begin
/// again here.
pub fn write_native_enter(h: &mut Handler) {
    let start: fn(&mut Handler) = |h| {
        h.reload_table();
        start_of_bytecode(h);
        h.next();
    };
    h.forget_table();
    let cursor = h.load(h.thread, thread::LOG_CURSOR);
    let limit = h.load(h.thread, thread::LOG_LIMIT);
    let full = h.compare(IntCC::UnsignedGreaterThan, cursor, limit);
    h.unlikely(full, start);
    h.store(h.pc, cursor, 8);
    let count = argument_count(h);
    let extra = h.shift_left(count, log::EXTRA_SHIFT.into());
    let first = h.add_constant(extra, log::ENTER.into());
    h.store(first, cursor, 0);
    let frame = position(h, h.fp);
    h.store(frame, cursor, 24);
    write_arguments(h, cursor, h.fp, argument_count, start);
}

/// From the code in pc to its first instruction. Not by the entry, which may lead to compiled code that
/// passed the call on.
pub fn start_of_bytecode(h: &mut Handler) {
    let pool_words = h.load_u32(h.pc, code::POOL_LENGTH);
    let pool_bytes = h.shift_left(pool_words, 3);
    let end = h.add(h.pc, pool_bytes);
    h.pc = h.add_constant(end, code::POOL.into());
}

/// How many arguments the code in pc is called with: it takes that many, or the thread was notified.
fn argument_count(h: &mut Handler) -> Value {
    let arity = h.load_u32(h.pc, code::ARITY);
    let told = h.load(h.thread, thread::ARGUMENT_COUNT);
    let is_fixed = h.compare_constant(IntCC::UnsignedLessThan, arity, code::LARGE_FRAME.into());
    let count = h.builder.ins().select(is_fixed, arity, told);
    h.and_constant(count, 0xff)
}

/// Writes the types of arguments, makes the entry permanent and continues with `start`.
fn write_arguments(
    h: &mut Handler,
    cursor: Value,
    arguments: Value,
    count: fn(&mut Handler) -> Value,
    start: fn(&mut Handler),
) {
    let finish = |h: &mut Handler, words| {
        advance(h, cursor, words);
        start(h);
    };
    for index in 0..log::ARGUMENTS_MAX as i32 {
        let count = count(h);
        let enough = h.compare_constant(IntCC::UnsignedLessThanOrEqual, count, index.into());
        let words = log::FRAME_WORDS + usize::from(index > 4);
        h.when(enough, |h| finish(h, words));
        let argument = h.load(arguments, 8 * index);
        // The word of the frame stands between the types of the first four and the others.
        let place = 16 + 2 * index + if index < 4 { 0 } else { 8 };
        write_type(h, argument, cursor, place);
    }
    finish(h, log::FRAME_WORDS + 1);
}

/// `return`: where to, the type of the value and whose it is.
fn write_return(_: Opcode, h: &mut Handler) {
    let cursor = cursor(h);
    let address = h.load(h.fp, 8 * frame::RETURN_PC);
    let shifted = h.shift_left(address, log::ADDRESS_SHIFT.into());
    let first = h.add_constant(shifted, log::RETURN.into());
    h.store(first, cursor, 0);
    let value = h.ra();
    write_value(h, cursor, value);
    h.continue_plainly();
}

/// `loop`: the code and the types of the first registers.
fn write_loop(_: Opcode, h: &mut Handler) {
    let cursor = cursor(h);
    let first = first_word(h, log::LOOP);
    h.store(first, cursor, 0);
    let frame = position(h, h.fp);
    h.store(frame, cursor, 24);
    for register in 0..log::LOOP_REGISTERS as i32 {
        let x = h.load(h.fp, 8 * register);
        write_short_type(h, x, cursor, 16 + register);
    }
    let own = own_code(h);
    h.store(own, cursor, 8);
    let bytes = h.load_u32(own, code::FRAME_BYTES);
    let small = h.compare_constant(
        IntCC::UnsignedLessThanOrEqual,
        bytes,
        8 * log::LOOP_REGISTERS as i64,
    );
    h.when(small, |h| {
        advance(h, cursor, log::FRAME_WORDS);
        h.continue_plainly();
    });
    let more = h.constant(1);
    h.store_u8(more, cursor, (log::EXTRA_SHIFT / 8) as i32);
    for register in log::LOOP_REGISTERS as i32..log::LOOP_REGISTERS_MAX as i32 {
        let x = h.load(h.fp, 8 * register);
        // The word of the frame stands between these types and those of the first eight.
        write_short_type(h, x, cursor, 24 + register);
    }
    advance(h, cursor, log::ENTRY_WORDS_MAX);
    h.continue_plainly();
}

/// A load: the type of what the plain handler is about to load.
fn write_load(opcode: Opcode, h: &mut Handler) {
    let value = loaded(opcode, h);
    write_result(h, value);
    h.continue_plainly();
}

/// Writes the entry of the value that the instruction at hand gives.
fn write_result(h: &mut Handler, value: Value) {
    let cursor = cursor(h);
    let first = first_word(h, log::RESULT);
    h.store(first, cursor, 0);
    write_value(h, cursor, value);
}

/// Computes the value that the plain handler would load; leaves where that handler would.
fn loaded(opcode: Opcode, h: &mut Handler) -> Value {
    match opcode {
        Opcode::Car | Opcode::Cdr | Opcode::Cadr | Opcode::Cddr => {
            let path: &[i32] = match opcode {
                Opcode::Car => &[CAR],
                Opcode::Cdr => &[CDR],
                Opcode::Cadr => &[CDR, CAR],
                _ => &[CDR, CDR],
            };
            let mut x = h.rb();
            for offset in path {
                h.guard_pair(x);
                x = h.load(x, *offset);
            }
            x
        }
        Opcode::VectorRef => {
            let (vector, index) = (h.rb(), h.rc());
            let header = h.guard_kind_header(vector, Kind::Vector, 0);
            h.guard_index(index, header);
            let slot = element(h, vector, index);
            h.load(slot, FIELD0)
        }
        Opcode::RecordRef => {
            let (record, wanted) = (h.rb(), h.rc());
            let slot = record_slot(h, record, wanted);
            h.load(slot, FIELD0 + 8)
        }
        Opcode::GlobalRef | Opcode::CellRef => {
            let cell = if opcode == Opcode::GlobalRef {
                h.pool_wide()
            } else {
                h.rb()
            };
            let value = h.load(cell, FIELD0);
            let unbound = h.compare_constant(IntCC::Equal, value, layout::UNBOUND as i64);
            h.slow_if(unbound);
            value
        }
        Opcode::Free => {
            let closure = h.load(h.fp, 8 * frame::CLOSURE);
            let index = h.wide();
            let bytes = h.shift_left(index, 3);
            let slot = h.add(closure, bytes);
            h.load(slot, FIELD0 + 8)
        }
        Opcode::BoxRef => {
            let cell = h.rb();
            h.load(cell, FIELD0)
        }
        Opcode::Unpack => {
            // The first value, if there is one to spread.
            let count = h.b();
            let none = h.compare_constant(IntCC::Equal, count, 0);
            h.slow_if(none);
            let values = h.ra();
            let header = h.guard_kind_header(values, Kind::Values, 0);
            let length = h.shift_right(header, layout::HEADER_LENGTH_SHIFT as i64);
            let none = h.compare_constant(IntCC::Equal, length, 0);
            h.slow_if(none);
            h.load(values, FIELD0)
        }
        other => unreachable!("{} is not a load", other.row().name),
    }
}

/// After the runtime did an instruction that continues behind itself: writes the type of register a
/// into the log, if there is room, and continues. `h.pc` and `h.word` are those that the instruction
/// began with, the frame is the same.
pub fn write_after(h: &mut Handler, words: i64) {
    let pc = h.pc;
    let next = h.builder.create_block();
    let room = h.builder.create_block();
    let cursor = h.load(h.thread, thread::LOG_CURSOR);
    let limit = h.load(h.thread, thread::LOG_LIMIT);
    let full = h.compare(IntCC::UnsignedGreaterThan, cursor, limit);
    h.builder.ins().brif(full, next, &[], room, &[]);
    h.builder.switch_to_block(room);
    let first = first_word(h, log::RESULT);
    h.store(first, cursor, 0);
    let value = h.ra();
    write_value(h, cursor, value);
    h.builder.ins().jump(next, &[]);
    h.builder.switch_to_block(next);
    h.pc = pc;
    h.next_after(words);
}
