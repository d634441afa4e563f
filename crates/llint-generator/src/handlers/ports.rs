//! Characters of ports that are lent to the thread; see `layout::loan`.

use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, FIELD0, loan, port, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Everything in the word of a character but the code point of an ASCII one.
const NOT_ASCII: u64 = !(0x7f << 8);

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    let port = h.rb();
    h.guard_kind(port, Kind::Port);
    let lent = h.load(port, FIELD0 + 8 * port::LOAN as i32);
    if opcode == Opcode::WriteCharacter {
        let character = h.ra();
        let others = h.and_constant(character, NOT_ASCII);
        let other = h.compare_constant(IntCC::NotEqual, others, CHARACTER_LOW_BYTE as i64);
        h.slow_if(other);
    }
    let flag = set_flag(h, 1);
    let owner = h.load(lent, loan::OWNER);
    let other = h.compare(IntCC::NotEqual, owner, flag);
    h.unlikely(other, release);
    let cursor = h.load(lent, loan::CURSOR);
    let limit = h.load(lent, loan::LIMIT);
    let used_up = h.compare(IntCC::UnsignedGreaterThanOrEqual, cursor, limit);
    h.unlikely(used_up, release);
    if opcode == Opcode::WriteCharacter {
        // Read again, so that no register held it over the checks.
        let character = h.ra();
        let byte = h.shift_right(character, 8);
        h.store_u8(byte, cursor, 0);
    } else {
        let byte = h.load_u8(cursor, 0);
        let shifted = h.shift_left(byte, 8);
        let character = h
            .builder
            .ins()
            .bor_imm_u(shifted, CHARACTER_LOW_BYTE as i64);
        h.set_a(character);
    }
    if opcode != Opcode::PeekCharacter {
        let next = h.add_constant(cursor, 1);
        h.store(next, lent, loan::CURSOR);
    }
    set_flag(h, 0);
    h.next();
}

/// Says whether a loan is being used; gives the flag's address, which is loaded each time so that no register holds it
/// meanwhile.
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
