//! Characters and bytes of ports that are lent to the thread; see `layout::loan`.
//!
//! A handler takes or puts one byte where the loan is this thread's and lends what the opcode wants.
//! Everything else, characters beyond ASCII among it, is left to the slow stub.

use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, FIELD0, FIXNUM_SHIFT, loan, port, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Everything in the word of a character but the code point of an ASCII one.
const NOT_ASCII: u64 = !(0x7f << 8);
/// Everything in the word of a fixnum but a byte.
const NOT_BYTE: u64 = !(0xff << FIXNUM_SHIFT);

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    let is_of_bytes = matches!(
        opcode,
        Opcode::ReadByte | Opcode::PeekByte | Opcode::WriteByte
    );
    let puts = matches!(opcode, Opcode::WriteCharacter | Opcode::WriteByte);
    let (mask, low_bits, shift) = if is_of_bytes {
        (NOT_BYTE, 0, i64::from(FIXNUM_SHIFT))
    } else {
        (NOT_ASCII, CHARACTER_LOW_BYTE as i64, 8)
    };
    let lends = match (is_of_bytes, puts) {
        (false, false) => loan::TEXT_INPUT,
        (false, true) => loan::TEXT_OUTPUT,
        (true, false) => loan::BYTE_INPUT,
        (true, true) => loan::BYTE_OUTPUT,
    };
    let port = h.rb();
    h.guard_kind(port, Kind::Port);
    let lent = h.load(port, FIELD0 + 8 * port::LOAN as i32);
    if puts {
        let operand = h.ra();
        let others = h.and_constant(operand, mask);
        let other = h.compare_constant(IntCC::NotEqual, others, low_bits);
        h.slow_if(other);
    }
    let flag = set_flag(h, 1);
    let wanted = match lends {
        0 => flag,
        lends => h.add_constant(flag, lends as i64),
    };
    let owner = h.load(lent, loan::OWNER);
    let other = h.compare(IntCC::NotEqual, owner, wanted);
    h.unlikely(other, release);
    let cursor = h.load(lent, loan::CURSOR);
    let limit = h.load(lent, loan::LIMIT);
    let used_up = h.compare(IntCC::UnsignedGreaterThanOrEqual, cursor, limit);
    h.unlikely(used_up, release);
    if puts {
        // Read again, so that no register held it over the checks.
        let operand = h.ra();
        let byte = h.shift_right(operand, shift);
        h.store_u8(byte, cursor, 0);
    } else {
        let byte = h.load_u8(cursor, 0);
        let shifted = h.shift_left(byte, shift);
        let value = match low_bits {
            0 => shifted,
            low_bits => h.builder.ins().bor_imm_u(shifted, low_bits),
        };
        h.set_a(value);
    }
    if !matches!(opcode, Opcode::PeekCharacter | Opcode::PeekByte) {
        let next = h.add_constant(cursor, 1);
        h.store(next, lent, loan::CURSOR);
    }
    set_flag(h, 0);
    h.next();
}

/// Says whether a loan is being used; gives the flag's address, which is loaded each time so that no
/// register holds it meanwhile.
fn set_flag(h: &mut Handler, value: u64) -> Value {
    let flag = h.load(h.thread, thread::LOAN_FLAG);
    let value = h.constant(value);
    h.store(value, flag, 0);
    flag
}

/// The loan is no use: lets go of it, and leaves.
fn release(h: &mut Handler) {
    set_flag(h, 0);
    h.leave();
}
