//! Capturing and calling continuations, and going back to sealed frames, as long as slices are small.
//!
//! These do what the runtime does for the same opcodes, and leave all unusual cases to it: a stack
//! with the barrier, a trap frame or a wide live map on it, limits, winders to be run, several
//! values. Nothing is changed before the last check. None of them needs registers for the
//! instruction: a fallback finds it by the frame, which makes the same functions serve compiled
//! calls. The layout is that of `canny_tables::layout::continuation`.

use canny_tables::kinds::Kind;
use canny_tables::layout::continuation::{
    DEPTH, HANDLERS, PARAMETERS, PARENT, RESUME_PC, SLICE, SMALL_SLICE_BYTES, WINDERS,
};
use canny_tables::layout::{self, FIELD0, HEADER_LENGTH_SHIFT};
use canny_tables::layout::{code, descriptor, escape, frame, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::Writer;
use super::variables::header_bits;
use crate::dsl::Handler;

/// Name of a handler to which compiled calls of the machine's own procedures go at once.
pub fn native_entry(opcode: Opcode) -> Option<&'static str> {
    match opcode {
        Opcode::CaptureStub => Some("canny_llint_native_capture"),
        Opcode::ContinueStub => Some("canny_llint_native_continue"),
        _ => None,
    }
}

/// Another handler of an opcode that compiled code goes to: its name, and what writes it.
pub fn native_variant(opcode: Opcode) -> Option<(&'static str, Writer)> {
    (opcode == Opcode::CaptureStub).then_some((
        "canny_llint_native_capture_apart",
        write_capture_apart as Writer,
    ))
}

const LINK_BYTES: i64 = 8 * frame::LINK_WORDS as i64;

/// Offset of a payload word from a tagged object.
fn field(index: usize) -> i32 {
    FIELD0 + 8 * index as i32
}

/// Offset of a payload word from the object's address.
fn word(index: usize) -> i32 {
    8 + 8 * index as i32
}

/// Registers of the dynamic state, and where continuations keep them.
const DYNAMIC_STATE: [(i32, usize); 3] = [
    (thread::WINDERS, WINDERS),
    (thread::HANDLERS, HANDLERS),
    (thread::PARAMETERS, PARAMETERS),
];

/// `capture-stub`: R0 is the receiver, which takes one argument.
pub fn write_capture(_: Opcode, h: &mut Handler) {
    write_captures(h, false);
}

/// The same with the newest frame in a continuation of its own.
fn write_capture_apart(_: Opcode, h: &mut Handler) {
    write_captures(h, true);
}

fn write_captures(h: &mut Handler, keeps_newest_apart: bool) {
    h.forget_instruction();
    let receiver = h.load(h.fp, 0);
    h.guard_kind(receiver, Kind::Closure);
    let target = h.load(receiver, FIELD0);
    let arity = h.load_u32(target, code::ARITY);
    let other = h.compare_constant(IntCC::NotEqual, arity, 1);
    h.slow_if(other);
    let base = h.load(h.thread, thread::STACK_BASE);
    let top = h.add_constant(h.fp, -LINK_BYTES);
    let empty = h.compare(IntCC::Equal, top, base);
    h.unlikely(empty, |h| {
        give_same_again(h);
        enter_receiver(h, h.fp);
    });
    check_room(h, base, top);
    let resume = h.load(h.fp, 8 * frame::RETURN_PC);
    check_frame(h, resume);
    h.store(base, h.thread, OLDEST);
    if keeps_newest_apart {
        seal_older_frames(h, base, top, resume);
    }
    let top = h.add_constant(h.fp, -LINK_BYTES);
    let resume = h.load(h.fp, 8 * frame::RETURN_PC);
    copy_frames(h, top, resume);
    let top = h.add_constant(h.fp, -LINK_BYTES);
    let resume = h.load(h.fp, 8 * frame::RETURN_PC);
    let object = seal(h, top, resume);
    for (register, index) in DYNAMIC_STATE {
        let value = h.load(h.thread, register);
        h.store(value, object, field(index));
    }
    let receiver = h.load(h.fp, 0);
    let base = h.load(h.thread, thread::STACK_BASE);
    h.store(receiver, base, 0);
    let underflow = h.load(h.thread, thread::UNDERFLOW);
    h.store(underflow, base, 8);
    h.store(object, base, 16);
    enter_receiver(h, base);
}

/// Where the oldest of the frames begins that are being sealed: a word of the thread block that
/// nothing else uses meanwhile.
const OLDEST: i32 = thread::CARRIED;

/// Leaves if the frames between `base` and `top` are too many, or if there is no room for them: for
/// two objects at most.
fn check_room(h: &mut Handler, base: Value, top: Value) {
    let bytes = h.builder.ins().isub(top, base);
    let large = h.compare_constant(IntCC::UnsignedGreaterThan, bytes, SMALL_SLICE_BYTES);
    h.slow_if(large);
    let sealed = h.load(h.thread, thread::SEALED_BYTES);
    let sum = h.add(sealed, bytes);
    let limit = h.load(h.thread, thread::CAPTURE_LIMIT);
    let deep = h.compare(IntCC::UnsignedGreaterThanOrEqual, sum, limit);
    h.slow_if(deep);
    let most = 2 * (i64::from(word(SLICE)) + 8);
    let size = h.add_constant(bytes, most);
    let address = h.load(h.thread, thread::SCAN_CURSOR);
    let end = h.add(address, size);
    let limit = h.load(h.thread, thread::SCAN_LIMIT);
    let full = h.compare(IntCC::UnsignedGreaterThan, end, limit);
    h.slow_if(full);
}

/// Leaves if the frame that resumes at `pc` is not an ordinary one, or has a wide live map.
fn check_frame(h: &mut Handler, pc: Value) {
    let opcode = h.load_u8(pc, 0);
    let moved = h.add_constant(opcode, -(Opcode::ReturnUnderflow as i64));
    let special = h.compare_constant(IntCC::UnsignedLessThan, moved, STUBS);
    h.slow_if(special);
    let live = h.load_i32(pc, -4);
    let wide = h.compare_constant(IntCC::SignedLessThan, live, 0);
    h.slow_if(wide);
}

/// Seals all frames but the newest, which was checked, into an object of their own, if there are some.
/// So the newest alone comes back, and a loop that captures again and again copies its own frame only.
/// A frame that compiled code inlined stays with the one that it belongs to.
fn seal_older_frames(h: &mut Handler, base: Value, top: Value, resume: Value) {
    let several = h.builder.create_block();
    let apart = h.builder.create_block();
    let done = h.builder.create_block();
    let start = start_of_frame(h, top, resume);
    let one = h.compare(IntCC::Equal, start, base);
    h.builder.ins().brif(one, done, &[], several, &[]);
    h.builder.switch_to_block(several);
    let below = h.load(start, 8);
    let opcode = h.load_u8(below, 0);
    let inlined = h.compare_constant(IntCC::Equal, opcode, Opcode::Retired as i64);
    h.builder.ins().brif(inlined, done, &[], apart, &[]);
    h.builder.switch_to_block(apart);
    copy_frames(h, start, below);
    let top = h.add_constant(h.fp, -LINK_BYTES);
    let resume = h.load(h.fp, 8 * frame::RETURN_PC);
    let start = start_of_frame(h, top, resume);
    let below = h.load(start, 8);
    let object = seal(h, start, below);
    // Nobody can call it.
    for (_, index) in DYNAMIC_STATE {
        let nothing = h.constant(layout::FALSE);
        h.store(nothing, object, field(index));
    }
    let top = h.add_constant(h.fp, -LINK_BYTES);
    let resume = h.load(h.fp, 8 * frame::RETURN_PC);
    let start = start_of_frame(h, top, resume);
    h.store(start, h.thread, OLDEST);
    h.builder.ins().jump(done, &[]);
    h.builder.switch_to_block(done);
}

/// Where the link of the frame begins that ends at `top` and resumes at `resume`.
fn start_of_frame(h: &mut Handler, top: Value, resume: Value) -> Value {
    let count = h.load_u8(resume, -7);
    let bytes = h.shift_left(count, 3);
    let fp = h.builder.ins().isub(top, bytes);
    h.add_constant(fp, -LINK_BYTES)
}

/// Bytes of a continuation with the frames up to `top`.
fn object_size(h: &mut Handler, top: Value) -> Value {
    let oldest = h.load(h.thread, OLDEST);
    let bytes = h.builder.ins().isub(top, oldest);
    let size = h.add_constant(bytes, i64::from(word(SLICE)) + 8);
    h.and_constant(size, !15)
}

/// Makes a continuation of frames up to `top` that were copied, the newest of which resumes at
/// `resume`. Its dynamic state is left to the caller.
fn seal(h: &mut Handler, top: Value, resume: Value) -> Value {
    let address = h.load(h.thread, thread::SCAN_CURSOR);
    h.store(resume, address, word(RESUME_PC));
    h.store(resume, h.thread, thread::SEALED_PC);
    let size = object_size(h, top);
    let end = h.add(address, size);
    h.store(end, h.thread, thread::SCAN_CURSOR);
    let parent = h.load(h.thread, thread::SEALED);
    h.store(parent, address, word(PARENT));
    let object = h.add_constant(address, layout::TAG_OBJECT as i64);
    h.store(object, h.thread, thread::SEALED);
    let oldest = h.load(h.thread, OLDEST);
    let bytes = h.builder.ins().isub(top, oldest);
    let depth = h.load(h.thread, thread::SEALED_BYTES);
    h.store(depth, address, word(DEPTH));
    let sum = h.add(depth, bytes);
    h.store(sum, h.thread, thread::SEALED_BYTES);
    let length = h.shift_left(bytes, i64::from(HEADER_LENGTH_SHIFT) - 3);
    let header = h.constant(header_bits(Kind::Closure, SLICE as u64));
    let header = h.add(header, length);
    h.store(header, address, 0);
    let own = h.load(h.thread, thread::CONTINUATION_CODE);
    h.store(own, address, 8);
    object
}

/// Copies links and live registers of the frames below `top` to the slice of an object where the next
/// one will be. The newest of them resumes at `resume`. Leaves if one of them is not an ordinary
/// frame. There are nine registers: values that can be loaded are not kept.
fn copy_frames(h: &mut Handler, top: Value, resume: Value) {
    // The granule's last word may be no part of the object.
    let size = object_size(h, top);
    let address = h.load(h.thread, thread::SCAN_CURSOR);
    let end = h.add(address, size);
    let zero = h.constant(0);
    h.store(zero, end, -8);
    let frames = h.builder.create_block();
    let registers = h.builder.create_block();
    let link = h.builder.create_block();
    let older = h.builder.create_block();
    let done = h.builder.create_block();
    let end = h.builder.append_block_param(frames, I64);
    let pc = h.builder.append_block_param(frames, I64);
    let at = h.builder.append_block_param(registers, I64);
    let map = h.builder.append_block_param(registers, I64);
    h.builder.ins().jump(frames, &[top.into(), resume.into()]);

    h.builder.switch_to_block(frames);
    check_frame(h, pc);
    let live = h.load_i32(pc, -4);
    let count = h.load_u8(pc, -7);
    let bytes = h.shift_left(count, 3);
    let fp = h.builder.ins().isub(end, bytes);
    // The distance from the stack to the slice.
    let address = h.load(h.thread, thread::SCAN_CURSOR);
    let oldest = h.load(h.thread, OLDEST);
    let distance = h.builder.ins().isub(address, oldest);
    let distance = h.add_constant(distance, word(SLICE).into());
    h.builder
        .ins()
        .brif(count, registers, &[fp.into(), live.into()], link, &[]);

    h.builder.switch_to_block(registers);
    let value = h.load(at, 0);
    let bit = h.and_constant(map, 1);
    // All ones for a live register.
    let mask = h.builder.ins().ineg(bit);
    let value = h.builder.ins().band(value, mask);
    let to = h.add(at, distance);
    h.store(value, to, 0);
    let rest = h.shift_right(map, 1);
    let next = h.add_constant(at, 8);
    let more = h.compare(IntCC::NotEqual, next, end);
    h.builder
        .ins()
        .brif(more, registers, &[next.into(), rest.into()], link, &[]);

    h.builder.switch_to_block(link);
    let copy = h.add(fp, distance);
    let closure = h.load(fp, 8 * frame::CLOSURE);
    h.store(closure, copy, 8 * frame::CLOSURE);
    let start = h.add_constant(fp, -LINK_BYTES);
    let first = h.load(h.thread, OLDEST);
    let is_oldest = h.compare(IntCC::Equal, start, first);
    h.builder.ins().brif(is_oldest, done, &[], older, &[]);

    h.builder.switch_to_block(older);
    let return_pc = h.load(fp, 8 * frame::RETURN_PC);
    h.store(return_pc, copy, 8 * frame::RETURN_PC);
    h.builder
        .ins()
        .jump(frames, &[start.into(), return_pc.into()]);

    h.builder.switch_to_block(done);
    let below = h.load(h.thread, thread::SEALED_PC);
    h.store(below, copy, 8 * frame::RETURN_PC);
}

/// Opcodes of the machine's own return addresses.
const STUBS: i64 = Opcode::ReturnExit as i64 - Opcode::ReturnUnderflow as i64 + 1;

/// The stack is empty: R0 becomes the continuation that it rests on, if that is just what would be captured.
fn give_same_again(h: &mut Handler) {
    let same = h.load(h.thread, thread::SEALED);
    let none = h.compare_constant(IntCC::Equal, same, layout::FALSE as i64);
    h.slow_if(none);
    let whole = slice_end(h, same);
    let sealed = h.load(h.thread, thread::SEALED_BYTES);
    let used = h.compare(IntCC::NotEqual, whole, sealed);
    h.slow_if(used);
    for (register, index) in DYNAMIC_STATE {
        let now = h.load(h.thread, register);
        let then = h.load(same, field(index));
        let changed = h.compare(IntCC::NotEqual, now, then);
        h.slow_if(changed);
    }
    let receiver = h.load(h.fp, 0);
    h.store(receiver, h.fp, 8 * frame::CLOSURE);
    h.store(same, h.fp, 0);
}

/// Bytes of all frames that a continuation holds.
fn slice_end(h: &mut Handler, continuation: Value) -> Value {
    let header = h.load(continuation, layout::HEADER);
    let words = h.shift_right(header, HEADER_LENGTH_SHIFT.into());
    let words = h.add_constant(words, -(SLICE as i64));
    let bytes = h.shift_left(words, 3);
    let depth = h.load(continuation, field(DEPTH));
    h.add(depth, bytes)
}

/// Enters the receiver in the link at `link` (or in that of the frame there), whose argument is in place.
fn enter_receiver(h: &mut Handler, place: Value) {
    if place != h.fp {
        h.fp = h.add_constant(place, LINK_BYTES);
    }
    let receiver = h.load(h.fp, 8 * frame::CLOSURE);
    let target = h.load(receiver, FIELD0);
    h.pc = target;
    let native = h.load(target, code::NATIVE);
    h.go(native);
}

/// `continue-stub`: the frame's closure is the continuation, R0 the value.
pub fn write_continue(_: Opcode, h: &mut Handler) {
    h.forget_instruction();
    let count = h.load(h.thread, thread::ARGUMENT_COUNT);
    let several = h.compare_constant(IntCC::NotEqual, count, 1);
    h.slow_if(several);
    let limit = h.load(h.thread, thread::CAPTURE_LIMIT);
    let none = h.compare_constant(IntCC::Equal, limit, 0);
    h.slow_if(none);
    let continuation = h.load(h.fp, 8 * frame::CLOSURE);
    let winders = h.load(h.thread, thread::WINDERS);
    let wanted = h.load(continuation, field(WINDERS));
    let other = h.compare(IntCC::NotEqual, winders, wanted);
    h.slow_if(other);
    let sealed = slice_end(h, continuation);
    let resume = h.load(continuation, field(RESUME_PC));
    let value = h.load(h.fp, 0);
    return_to(h, Some(continuation), continuation, sealed, resume, value);
}

/// `make-escape`.
pub fn write_make_escape(_: Opcode, h: &mut Handler) {
    let bytes = h.constant(ESCAPE_BYTES as u64);
    let address = h.allocate(bytes);
    let header = h.constant(header_bits(Kind::Closure, escape::WORDS as u64));
    h.store(header, address, 0);
    let own = h.load(h.thread, thread::ESCAPE_CODE);
    h.store(own, address, word(escape::CODE));
    for (register, index) in DYNAMIC_STATE {
        let value = h.load(h.thread, register);
        h.store(value, address, word(index));
    }
    let base = h.load(h.thread, thread::STACK_BASE);
    let above = h.builder.ins().isub(h.fp, base);
    let sealed = h.load(h.thread, thread::SEALED_BYTES);
    let depth = h.add(above, sealed);
    h.store(depth, address, word(escape::DEPTH));
    let object = h.add_constant(address, layout::TAG_OBJECT as i64);
    h.set_a(object);
    h.next();
}

const ESCAPE_BYTES: usize = 8 * (1 + escape::WORDS);
const _: () = assert!(ESCAPE_BYTES.is_multiple_of(layout::GRANULE_BYTES));
const _: () = assert!(
    escape::WINDERS == WINDERS && escape::HANDLERS == HANDLERS && escape::PARAMETERS == PARAMETERS
);

/// Falls back from the handlers of this group: only frame and thread are known.
pub fn write_recovery(opcode: Opcode, h: &mut Handler) {
    let before = if opcode == Opcode::ReturnUnderflow {
        h.load(h.thread, thread::UNDERFLOW)
    } else {
        // Code of the machine's own has no pool.
        let closure = h.load(h.fp, 8 * frame::CLOSURE);
        let target = h.load(closure, FIELD0);
        h.add_constant(target, code::POOL.into())
    };
    h.word = h.load_as(I32, before, 0);
    h.pc = h.add_constant(before, 4);
    h.reload_table();
    h.continue_plainly();
}

/// `return-underflow`: fp is where the value was put.
pub fn write_underflow(_: Opcode, h: &mut Handler) {
    h.forget_instruction();
    let continuation = h.load(h.thread, thread::SEALED);
    let none = h.compare_constant(IntCC::Equal, continuation, layout::FALSE as i64);
    h.slow_if(none);
    let sealed = h.load(h.thread, thread::SEALED_BYTES);
    let resume = h.load(h.thread, thread::SEALED_PC);
    let value = h.load(h.fp, 0);
    return_to(h, None, continuation, sealed, resume, value);
}

/// Brings back all frames in the slice of `continuation` below the sealed bytes given, and returns
/// `value` to them at `resume`. Restores the dynamic state of a continuation that was called.
fn return_to(
    h: &mut Handler,
    called: Option<Value>,
    continuation: Value,
    sealed: Value,
    resume: Value,
    value: Value,
) {
    let depth = h.load(continuation, field(DEPTH));
    let bytes = h.builder.ins().isub(sealed, depth);
    // None at all is as unusual as many.
    let less = h.add_constant(bytes, -8);
    let unusual = h.compare_constant(IntCC::UnsignedGreaterThanOrEqual, less, SMALL_SLICE_BYTES);
    h.slow_if(unusual);
    if let Some(called) = called {
        let zero = h.constant(0);
        h.store(zero, h.thread, thread::WATERMARK);
        for (register, index) in &DYNAMIC_STATE[1..] {
            let then = h.load(called, field(*index));
            h.store(then, h.thread, *register);
        }
    }
    h.store(depth, h.thread, thread::SEALED_BYTES);
    let parent = h.load(continuation, field(PARENT));
    h.store(parent, h.thread, thread::SEALED);
    let below = h.load(continuation, field(SLICE + 1));
    h.store(below, h.thread, thread::SEALED_PC);
    let base = h.load(h.thread, thread::STACK_BASE);
    let slice = h.add_constant(continuation, i64::from(field(SLICE)));
    let end = h.add(slice, bytes);
    let back = h.builder.ins().isub(base, slice);
    // The object consists of granules, and above the copy is room for the value.
    let top = copy_pairs(h, slice, end, back);
    let underflow = h.load(h.thread, thread::UNDERFLOW);
    let base = h.load(h.thread, thread::STACK_BASE);
    h.store(underflow, base, 8);
    let opcode = h.load_u8(resume, 0);
    let is_compiled = h.compare_constant(IntCC::Equal, opcode, Opcode::Native as i64);
    h.when(is_compiled, |h| {
        h.pc = value;
        h.fp = h.add_constant(top, LINK_BYTES);
        let target = h.load(resume, descriptor::RETURN_NATIVE as i32);
        h.go(target);
    });
    h.store(value, top, 0);
    let count = h.load_u8(resume, -7);
    let registers = h.shift_left(count, 3);
    h.fp = h.builder.ins().isub(top, registers);
    h.pc = resume;
    h.reload_table();
    h.next();
}

/// Copies the words from `start` up to `end`, of which there are some, to the same place plus `distance`;
/// one more if their number is odd. Gives the end of the copy. The end is a parameter of the loop so that
/// nothing that it was computed from takes a register.
fn copy_pairs(h: &mut Handler, start: Value, end: Value, distance: Value) -> Value {
    let head = h.builder.create_block();
    let done = h.builder.create_block();
    let at = h.builder.append_block_param(head, I64);
    let end_now = h.builder.append_block_param(head, I64);
    h.builder.ins().jump(head, &[start.into(), end.into()]);
    h.builder.switch_to_block(head);
    let to = h.add(at, distance);
    for offset in [0, 8] {
        let value = h.load(at, offset);
        h.store(value, to, offset);
    }
    let next = h.add_constant(at, 16);
    let more = h.compare(IntCC::UnsignedLessThan, next, end_now);
    h.builder
        .ins()
        .brif(more, head, &[next.into(), end_now.into()], done, &[]);
    h.builder.switch_to_block(done);
    h.add(end_now, distance)
}
