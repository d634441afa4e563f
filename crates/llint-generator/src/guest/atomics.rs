//! Handlers of atomic accesses to memory.
//!
//! Operands and results are in slots. An update in a loop needs four registers besides the machine's, one
//! of which is the accumulator of integers.

use canny_tables::guest::{Access, Atomic, Number, memory};
use canny_wasm_meaning as meaning;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::dsl::Handler;
use super::handlers::checked_index;

/// Writes the handler of an access.
pub fn write(h: &mut Handler, op: Atomic, bytes: usize) {
    h.forget_integer();
    if op.access == Access::Guarded {
        // The activation would be moved before the access.
        h.integer = h.memory;
    }
    let place = place(h, op);
    let operands: Vec<Value> = [12, 14][..op.operation.operands()]
        .iter()
        .map(|at| h.operand(I64, *at))
        .collect();
    let shape = (op.width, Number::I64);
    let old = meaning::atomic(h.builder, op.operation, shape, place, &operands);
    if let Some(old) = old {
        h.set_result(old);
    }
    if op.access == Access::Checked {
        // The register of the memory was needed.
        h.set_instance(h.instance);
    }
    h.next(bytes);
}

fn place(h: &mut Handler, op: Atomic) -> Value {
    if op.access == Access::Checked {
        let index = checked_index(h, [10, 24], op.width.bytes() as i64);
        meaning::atomic_check(h, op.width, index.address);
        let base = h.load(index.record, memory::BASE);
        return h.builder.ins().iadd(base, index.address);
    }
    let index = h.operand(I32, 10);
    let index = h.builder.ins().uextend(I64, index);
    let offset = h.long(16);
    let address = h.builder.ins().iadd(index, offset);
    meaning::atomic_check(h, op.width, address);
    h.builder.ins().iadd(h.memory, address)
}
