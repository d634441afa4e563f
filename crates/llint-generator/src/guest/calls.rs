//! Handlers of calls, entries and returns of guests.
//!
//! The frame of a function begins with its parameters, where its results will be; behind as many slots
//! as the more of both follow the words of the link, then locals and operands. A caller puts the
//! arguments behind its own operands, where the callee's frame begins, and writes the link.

use canny_tables::guest::{LINK_WORDS, Plain, Reason, activation, function, instance, table};
use canny_wasm_meaning::Meaning;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::dsl::Handler;

/// Writes the handler of a call, an entry or a return.
pub fn write(h: &mut Handler, op: Plain, bytes: usize) {
    match op {
        Plain::Enter => enter(h, bytes),
        Plain::Return => {
            let link = h.slot(8);
            let pc = h.load(link, 0);
            h.frame = h.load(link, 8);
            h.dispatch(pc);
        }
        Plain::ReturnAcross => {
            let caller = h.wide(8);
            let pc = h.wide(16);
            h.set_instance(caller);
            h.dispatch(pc);
        }
        Plain::Call => {
            let code = own_code(h, 12);
            let link = h.slot(10);
            let callee = h.slot(8);
            let after = h.builder.ins().iadd_imm_s(h.pc, bytes as i64);
            h.store(after, link, 0);
            h.store(h.frame, link, 8);
            h.frame = callee;
            h.dispatch(code);
        }
        Plain::CallImport => {
            let callee = imported(h, 12);
            call(h, callee, bytes);
        }
        Plain::CallIndirect => {
            let callee = element(h, [12, 14, 16]);
            call(h, callee, bytes);
        }
        Plain::CallReference => {
            let callee = h.operand(I64, 12);
            let null = h.builder.ins().icmp_imm_s(IntCC::Equal, callee, 0);
            h.trap_if(null, Reason::NullFunction);
            call(h, callee, bytes);
        }
        Plain::TailCall => {
            move_link(h);
            h.set_instance(h.instance);
            let code = own_code(h, 16);
            h.dispatch(code);
        }
        Plain::TailCallImport => {
            let callee = imported(h, 16);
            tail_call(h, callee);
        }
        Plain::TailCallIndirect => {
            let callee = element(h, [16, 18, 20]);
            tail_call(h, callee);
        }
        Plain::TailCallReference => {
            let callee = h.operand(I64, 16);
            let null = h.builder.ins().icmp_imm_s(IntCC::Equal, callee, 0);
            h.trap_if(null, Reason::NullFunction);
            tail_call(h, callee);
        }
        _ => unreachable!("other handlers are written elsewhere"),
    }
}

/// Bytes of the frame at 8, the first local without a value at 12, how many there are at 14.
fn enter(h: &mut Handler, bytes: usize) {
    h.charge(h.pc);
    let size = h.long(8);
    let end = h.builder.ins().iadd(h.frame, size);
    let limit = h.load(h.activation, activation::STACK_LIMIT);
    let over = h.builder.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
    h.trap_if(over, Reason::StackExhausted);
    let count = h.short(14);
    let (clear, done) = (h.builder.create_block(), h.builder.create_block());
    h.builder.append_block_param(clear, I64);
    h.builder.append_block_param(clear, I64);
    let first = h.slot(12);
    h.builder
        .ins()
        .brif(count, clear, &[first.into(), count.into()], done, &[]);
    h.builder.switch_to_block(clear);
    let parameters = h.builder.block_params(clear);
    let (slot, left) = (parameters[0], parameters[1]);
    let zero = h.builder.ins().iconst(I64, 0);
    h.store(zero, slot, 0);
    let slot = h.builder.ins().iadd_imm_s(slot, 8);
    let left = h.builder.ins().iadd_imm_s(left, -1);
    h.builder
        .ins()
        .brif(left, clear, &[slot.into(), left.into()], done, &[]);
    h.builder.switch_to_block(done);
    h.next(bytes);
}

/// The code of the module's own function that an operand numbers.
fn own_code(h: &mut Handler, at: i32) -> Value {
    let codes = h.load(h.instance, instance::CODES);
    let number = h.long(at);
    h.element(codes, number)
}

/// The imported function that an operand numbers.
fn imported(h: &mut Handler, at: i32) -> Value {
    let imports = h.load(h.instance, instance::IMPORTS);
    let number = h.long(at);
    h.element(imports, number)
}

/// The function in a table: operands are the slot of the index, the table, and the type that the
/// function must have or be below, followed by where that is among supertypes, in bytes.
fn element(h: &mut Handler, [index, number, kind]: [i32; 3]) -> Value {
    let tables = h.load(h.instance, instance::TABLES);
    let number = h.short(number);
    let record = h.element(tables, number);
    let index = h.operand(I32, index);
    let index = h.builder.ins().uextend(I64, index);
    let length = h.load(record, table::LENGTH);
    let outside = h
        .builder
        .ins()
        .icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
    h.trap_if(outside, Reason::UndefinedElement);
    let base = h.load(record, table::BASE);
    let callee = h.element(base, index);
    let null = h.builder.ins().icmp_imm_s(IntCC::Equal, callee, 0);
    h.trap_if(null, Reason::UninitializedElement);
    let wanted = h.load_as(I32, h.pc, kind);
    let found = h.load_as(I32, callee, function::TYPE);
    let same = h.builder.ins().icmp(IntCC::Equal, wanted, found);
    let (below, go) = (h.builder.create_block(), h.builder.create_block());
    h.builder.set_cold_block(below);
    h.builder.ins().brif(same, go, &[], below, &[]);
    h.builder.switch_to_block(below);
    let display = h.load(callee, function::DISPLAY);
    let depth = h.long(kind + 4);
    let place = h.builder.ins().iadd(display, depth);
    let found = h.load_as(I32, place, 0);
    let wanted = h.load_as(I32, h.pc, kind);
    let other = h.builder.ins().icmp(IntCC::NotEqual, wanted, found);
    h.trap_if(other, Reason::IndirectTypeMismatch);
    h.builder.ins().jump(go, &[]);
    h.builder.switch_to_block(go);
    callee
}

/// Calls a function that may belong to another instance: its frame at 8, the link at 10.
///
/// Few registers are free, so that both ways compute what they need.
fn call(h: &mut Handler, callee: Value, bytes: usize) {
    let owner = h.load(callee, function::INSTANCE);
    let same = h.builder.ins().icmp(IntCC::Equal, owner, h.instance);
    let (within, across) = (h.builder.create_block(), h.builder.create_block());
    h.builder.ins().brif(same, within, &[], across, &[]);
    h.builder.switch_to_block(across);
    let link = h.slot(10);
    h.store(h.frame, link, 8);
    h.store(h.instance, link, 24);
    let after = h.builder.ins().iadd_imm_s(h.pc, bytes as i64);
    h.store(after, link, 32);
    let handler = h.builder.ins().func_addr(I64, h.return_across);
    h.store(handler, link, 16);
    let embedded = h.builder.ins().iadd_imm_s(link, 16);
    h.store(embedded, link, 0);
    let (old_frame, old_memory, old_instance) = (h.frame, h.memory, h.instance);
    h.frame = h.slot(8);
    h.set_instance(owner);
    let code = h.load(callee, function::CODE);
    h.dispatch(code);
    (h.frame, h.memory, h.instance) = (old_frame, old_memory, old_instance);
    h.builder.switch_to_block(within);
    let link = h.slot(10);
    let after = h.builder.ins().iadd_imm_s(h.pc, bytes as i64);
    h.store(after, link, 0);
    h.store(h.frame, link, 8);
    h.frame = h.slot(8);
    // The register of the memory was needed.
    h.set_instance(h.instance);
    let code = h.load(callee, function::CODE);
    h.dispatch(code);
}

/// Moves the arguments to where the frame begins, and the link to where the callee wants it: links at 8
/// and 10, the first argument at 12, their number at 14.
fn move_link(h: &mut Handler) {
    let old = h.slot(8);
    for word in 0..LINK_WORDS as i32 {
        let value = h.load(old, 8 * word);
        h.store(value, h.activation, activation::SCRATCH + 8 * word);
    }
    let count = h.short(14);
    let source = h.slot(12);
    let (copy, done) = (h.builder.create_block(), h.builder.create_block());
    for _ in 0..3 {
        h.builder.append_block_param(copy, I64);
    }
    let arguments = [source.into(), h.frame.into(), count.into()];
    h.builder.ins().brif(count, copy, &arguments, done, &[]);
    h.builder.switch_to_block(copy);
    let parameters = h.builder.block_params(copy);
    let (from, to, left) = (parameters[0], parameters[1], parameters[2]);
    let value = h.load(from, 0);
    h.store(value, to, 0);
    let from = h.builder.ins().iadd_imm_s(from, 8);
    let to = h.builder.ins().iadd_imm_s(to, 8);
    let left = h.builder.ins().iadd_imm_s(left, -1);
    let arguments = [from.into(), to.into(), left.into()];
    h.builder.ins().brif(left, copy, &arguments, done, &[]);
    h.builder.switch_to_block(done);
    let old = h.slot(8);
    let new = h.slot(10);
    for word in 1..LINK_WORDS as i32 {
        let value = h.load(h.activation, activation::SCRATCH + 8 * word);
        h.store(value, new, 8 * word);
    }
    // A return address in the link itself moves along.
    let back = h.load(h.activation, activation::SCRATCH);
    let embedded = h.builder.ins().iadd_imm_s(old, 16);
    let moved = h.builder.ins().iadd_imm_s(new, 16);
    let is_embedded = h.builder.ins().icmp(IntCC::Equal, back, embedded);
    let back = h.builder.ins().select(is_embedded, moved, back);
    h.store(back, new, 0);
}

/// Calls a function in place of the current one, which may belong to another instance.
fn tail_call(h: &mut Handler, callee: Value) {
    // An argument may overwrite the slot of the callee.
    h.store(callee, h.activation, activation::CALLEE);
    // The register of the instance is needed meanwhile.
    h.store(h.instance, h.activation, activation::INSTANCE);
    move_link(h);
    h.instance = h.load(h.activation, activation::INSTANCE);
    let (other, link, go) = (
        h.builder.create_block(),
        h.builder.create_block(),
        h.builder.create_block(),
    );
    let callee = h.load(h.activation, activation::CALLEE);
    let owner = h.load(callee, function::INSTANCE);
    let same = h.builder.ins().icmp(IntCC::Equal, owner, h.instance);
    h.builder.ins().brif(same, go, &[], other, &[]);
    h.builder.switch_to_block(other);
    let new = h.slot(10);
    let embedded = h.builder.ins().iadd_imm_s(new, 16);
    let back = h.load(new, 0);
    let is_embedded = h.builder.ins().icmp(IntCC::Equal, back, embedded);
    h.builder.ins().brif(is_embedded, go, &[], link, &[]);
    h.builder.switch_to_block(link);
    let handler = h.builder.ins().func_addr(I64, h.return_across);
    h.store(handler, new, 16);
    h.store(h.instance, new, 24);
    h.store(back, new, 32);
    h.store(embedded, new, 0);
    h.builder.ins().jump(go, &[]);
    h.builder.switch_to_block(go);
    let callee = h.load(h.activation, activation::CALLEE);
    let owner = h.load(callee, function::INSTANCE);
    h.set_instance(owner);
    let code = h.load(callee, function::CODE);
    h.dispatch(code);
}
