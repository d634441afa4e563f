//! Atomic accesses to memory, all of them sequentially consistent.
//!
//! The user of this code finds the place and keeps it inside of the memory. An address has to be a multiple
//! of the access's width, which is checked here.

use canny_tables::guest::{AtomicOperation, AtomicWidth, Number, Reason};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;

use crate::{Meaning, type_of};

/// Cranelift's type of what an access reads and writes.
pub fn atomic_type(width: AtomicWidth) -> Type {
    match width {
        AtomicWidth::Bits8 => I8,
        AtomicWidth::Bits16 => I16,
        AtomicWidth::Bits32 => I32,
        AtomicWidth::Bits64 => I64,
    }
}

/// Traps if an address in a memory, of 64 bits, cannot be that of an atomic access.
pub fn atomic_check<'b>(code: &mut impl Meaning<'b>, width: AtomicWidth, address: Value) {
    if width == AtomicWidth::Bits8 {
        return;
    }
    let b = code.builder();
    let rest = b.ins().band_imm_u(address, width.bytes() as i64 - 1);
    let unaligned = b.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
    code.trap_if(unaligned, Reason::UnalignedAtomic);
}

/// An access at a place, which was checked: operands and result are integers of a kind. Stores give
/// nothing. The access itself may trap.
pub fn atomic(
    builder: &mut FunctionBuilder,
    operation: AtomicOperation,
    (width, kind): (AtomicWidth, Number),
    place: Value,
    operands: &[Value],
) -> Option<Value> {
    let (narrow, wide) = (atomic_type(width), type_of(kind));
    let flags = MemFlagsData::new();
    let mut operands = operands.iter().map(|operand| {
        if narrow == wide {
            *operand
        } else {
            builder.ins().ireduce(narrow, *operand)
        }
    });
    let (first, second) = (operands.next(), operands.next());
    let old = match (operation, first, second) {
        (AtomicOperation::CompareExchange, Some(expected), Some(replacement)) => builder
            .ins()
            .atomic_cas(flags, place, expected, replacement),
        (AtomicOperation::Store, Some(value), _) => {
            builder.ins().atomic_store(flags, value, place);
            return None;
        }
        (_, Some(value), _) => {
            let operation = update(operation);
            builder
                .ins()
                .atomic_rmw(narrow, flags, operation, place, value)
        }
        _ => builder.ins().atomic_load(narrow, flags, place),
    };
    Some(if narrow == wide {
        old
    } else {
        builder.ins().uextend(wide, old)
    })
}

/// Orders all accesses before it and behind it.
pub fn fence(builder: &mut FunctionBuilder) {
    builder.ins().fence();
}

fn update(operation: AtomicOperation) -> AtomicRmwOp {
    match operation {
        AtomicOperation::Add => AtomicRmwOp::Add,
        AtomicOperation::Sub => AtomicRmwOp::Sub,
        AtomicOperation::And => AtomicRmwOp::And,
        AtomicOperation::Or => AtomicRmwOp::Or,
        AtomicOperation::Xor => AtomicRmwOp::Xor,
        _ => AtomicRmwOp::Xchg,
    }
}
