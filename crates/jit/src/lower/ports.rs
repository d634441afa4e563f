//! Lowers reading and writing of a character or a byte.
//!
//! A port of a string or bytevector that has nothing behind it yet is known by its flags. If it belongs
//! to the thread, its text is an object of the heap, and its position a word of the port; nothing is
//! written here that could need a write barrier.
//!
//! Of others, the code takes those that are lent to the thread: it sets the thread's flag, checks that
//! the thread owns the loan, uses the cursor and clears the flag. Another thread that revokes the loan
//! waits for the flag. `layout::loan` has the protocol's words. Of the characters of the window that
//! are not ASCII, those of two and three bytes are decoded here.
//!
//! Everything else is done by the leaf function, or by the runtime.

use canny_spesh::graph::{NodeId, StateId};
use canny_tables::kinds::Kind;
use canny_tables::layout::{
    CHARACTER_LOW_BYTE, FIELD0, FIXNUM_SHIFT, UNSPECIFIED, loan, port, port_flag, thread,
};
use canny_tables::leaves;
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::{Segment, TRUSTED};
use crate::JitError;
use crate::slots::instruction;

/// Everything in the word of a character but the code point of an ASCII one.
const NOT_ASCII: u64 = !(0x7f << 8);
/// Everything in the word of a fixnum but a byte.
const NOT_BYTE: u64 = !(0xff << FIXNUM_SHIFT);

const SHIFT: i64 = FIXNUM_SHIFT as i64;

/// The use that an opcode makes of a port.
#[derive(Clone, Copy)]
struct PortUse {
    /// The kind of loan that it needs.
    lent: u64,
    is_of_bytes: bool,
    puts: bool,
    advances: bool,
    /// The leaf function that does the rest, and the number of its arguments.
    leaf: (&'static str, usize),
    /// The flags of a port of a string or bytevector that serves, and the kind of its text.
    memory: (i64, Kind),
}

impl PortUse {
    fn of(opcode: Opcode) -> Option<PortUse> {
        use port_flag::{BINARY, INPUT, MEMORY, OUTPUT, TEXTUAL};
        let (name, advances) = match opcode {
            Opcode::ReadCharacter => ("read-char", true),
            Opcode::PeekCharacter => ("peek-char", false),
            Opcode::WriteCharacter => ("write-char", true),
            Opcode::ReadByte => ("read-u8", true),
            Opcode::PeekByte => ("peek-u8", false),
            Opcode::WriteByte => ("write-u8", true),
            _ => return None,
        };
        let puts = matches!(opcode, Opcode::WriteCharacter | Opcode::WriteByte);
        let is_of_bytes = matches!(
            opcode,
            Opcode::ReadByte | Opcode::PeekByte | Opcode::WriteByte
        );
        let (lent, flags, kind) = match (is_of_bytes, puts) {
            (false, false) => (loan::TEXT_INPUT, TEXTUAL | INPUT, Kind::String8),
            (false, true) => (loan::TEXT_OUTPUT, TEXTUAL | OUTPUT, Kind::Bytevector),
            (true, false) => (loan::BYTE_INPUT, BINARY | INPUT, Kind::Bytevector),
            (true, true) => (loan::BYTE_OUTPUT, BINARY | OUTPUT, Kind::Bytevector),
        };
        Some(PortUse {
            lent,
            is_of_bytes,
            puts,
            advances,
            leaf: (name, 1 + usize::from(puts)),
            memory: (flags | MEMORY, kind),
        })
    }
}

/// Where the parts of the code for one use continue.
#[derive(Clone, Copy)]
struct Ways {
    id: NodeId,
    /// Clears the flag, and leaves the rest to the leaf function.
    release: Block,
    /// The value is there.
    done: Block,
}

impl Segment<'_, '_> {
    /// Reads or writes a character or a byte through the loan of the port, or in a string or
    /// bytevector, or else in the leaf function or the runtime.
    pub(super) fn use_loan(
        &mut self,
        id: NodeId,
        state: StateId,
        operands: &[NodeId],
    ) -> Result<(), JitError> {
        let opcode = instruction(self.procedure.graph, state)?.opcode;
        let Some(used) = PortUse::of(opcode) else {
            return Err(JitError::Invalid("a loan for another opcode".into()));
        };
        let (port_node, operand) = match *operands {
            [port] if !used.puts => (port, None),
            [operand, port] if used.puts => (port, Some(operand)),
            _ => return Err(JitError::Invalid("a loan with other operands".into())),
        };
        let (is_port, slow) = (self.new_block(), self.cold_block());
        let ways = Ways {
            id,
            release: self.cold_block(),
            done: self.new_block(),
        };
        let port = self.tagged(port_node);
        self.kind_test(Kind::Port, port_node, port, is_port, slow);
        self.begin(is_port);
        let operand = operand.map(|operand| self.operand_put(used, operand, slow));
        let (in_memory, other) = (self.new_block(), self.new_block());
        let flags = self.load(I64, port, FIELD0 + 8 * port::FLAGS as i32);
        let wanted = used.memory.0 << SHIFT;
        let same = self.builder.ins().icmp_imm_s(IntCC::Equal, flags, wanted);
        self.builder.ins().brif(same, in_memory, &[], other, &[]);
        self.begin(in_memory);
        self.in_memory(used, port, operand, ways, slow);
        self.begin(other);
        self.through_loan(used, port, operand, ways);

        self.begin(ways.release);
        let flag = self.load(I64, self.thread, thread::LOAN_FLAG);
        self.lower_flag(flag);
        self.builder.ins().jump(slow, &[]);

        self.begin(slow);
        let (name, arguments) = used.leaf;
        if let Some(leaf) = leaves::lookup(name, arguments)
            && let Ok(function) = self.leaf_function(leaf)
        {
            let (usual, other) = (self.new_block(), self.cold_block());
            let result = self.try_leaf(function, operands)?;
            let declined = self.has_declined(result);
            self.builder.ins().brif(declined, other, &[], usual, &[]);
            self.begin(usual);
            self.define(id, result);
            self.builder.ins().jump(ways.done, &[]);
            self.begin(other);
        }
        let mut outcome = Ok(());
        self.coldly(|segment| outcome = segment.runtime_in_place(id, state));
        self.builder.ins().jump(ways.done, &[]);
        self.begin(ways.done);
        outcome
    }

    /// The word of an ASCII character or a byte.
    fn operand_put(&mut self, used: PortUse, operand: NodeId, slow: Block) -> Value {
        let operand = self.tagged(operand);
        let fine = self.new_block();
        let (mask, low_bits) = if used.is_of_bytes {
            (NOT_BYTE, 0)
        } else {
            (NOT_ASCII, CHARACTER_LOW_BYTE)
        };
        self.masked_branch(operand, mask, low_bits, fine, slow);
        self.begin(fine);
        operand
    }

    fn through_loan(&mut self, used: PortUse, port: Value, operand: Option<Value>, ways: Ways) {
        let (is_owner, is_usable) = (self.new_block(), self.new_block());
        let lent = self.load(I64, port, FIELD0 + 8 * port::LOAN as i32);
        let flag = self.load(I64, self.thread, thread::LOAN_FLAG);
        let one = self.word(1);
        self.store(one, flag, 0);
        let owner = self.load(I64, lent, loan::OWNER);
        let wanted = match used.lent {
            0 => flag,
            lent => self.builder.ins().iadd_imm_s(flag, lent as i64),
        };
        let owns = self.builder.ins().icmp(IntCC::Equal, owner, wanted);
        self.builder
            .ins()
            .brif(owns, is_owner, &[], ways.release, &[]);
        self.begin(is_owner);
        let cursor = self.load(I64, lent, loan::CURSOR);
        let limit = self.load(I64, lent, loan::LIMIT);
        let beyond = if used.lent == loan::TEXT_INPUT {
            self.cold_block()
        } else {
            ways.release
        };
        self.branch_if_less(cursor, limit, is_usable, beyond);
        self.begin(is_usable);
        let value = match operand {
            Some(operand) => self.put(used, operand, cursor, 0),
            None => self.take(used, cursor, 0),
        };
        if used.advances {
            let next = self.builder.ins().iadd_imm_s(cursor, 1);
            self.store(next, lent, loan::CURSOR);
        }
        self.lower_flag(flag);
        self.define(ways.id, value);
        self.builder.ins().jump(ways.done, &[]);
        if beyond != ways.release {
            self.begin(beyond);
            self.take_wide(used, lent, flag, cursor, ways);
        }
    }

    /// Reads a character behind the ASCII of the window: of one to three bytes in UTF-8, whole for sure.
    fn take_wide(&mut self, used: PortUse, lent: Value, flag: Value, cursor: Value, ways: Ways) {
        let (has_text, short, more) = (self.cold_block(), self.cold_block(), self.cold_block());
        let (one, two, three) = (self.cold_block(), self.cold_block(), self.cold_block());
        let read = self.cold_block();
        let limit = self.load(I64, lent, loan::TEXT_LIMIT);
        self.branch_if_less(cursor, limit, has_text, ways.release);
        self.begin(has_text);
        let first = self.load_byte(cursor, 0);
        let end = self.word(0xe0);
        self.branch_if_less(first, end, short, more);
        self.begin(short);
        let end = self.word(0x80);
        self.branch_if_less(first, end, one, two);
        self.begin(more);
        let end = self.word(0xf0);
        self.branch_if_less(first, end, three, ways.release);

        let code = self.builder.append_block_param(read, I64);
        let next = self.builder.append_block_param(read, I64);
        for (block, bytes) in [(one, 1), (two, 2), (three, 3)] {
            self.begin(block);
            let mut code = match bytes {
                1 => first,
                2 => self.builder.ins().band_imm_u(first, 0x1f),
                _ => self.builder.ins().band_imm_u(first, 0x0f),
            };
            for offset in 1..bytes {
                let byte = self.load_byte(cursor, offset);
                let bits = self.builder.ins().band_imm_u(byte, 0x3f);
                let shifted = self.builder.ins().ishl_imm_u(code, 6);
                code = self.builder.ins().bor(shifted, bits);
            }
            let next = self.builder.ins().iadd_imm_s(cursor, i64::from(bytes));
            self.builder.ins().jump(read, &[code.into(), next.into()]);
        }
        self.begin(read);
        let value = self.character(code);
        if used.advances {
            self.store(next, lent, loan::CURSOR);
        }
        self.lower_flag(flag);
        self.define(ways.id, value);
        self.builder.ins().jump(ways.done, &[]);
    }

    /// Reads from or writes to the text of a port that has nothing behind it, if it is this thread's.
    fn in_memory(
        &mut self,
        used: PortUse,
        port: Value,
        operand: Option<Value>,
        ways: Ways,
        slow: Block,
    ) {
        let is_own = self.new_block();
        let field = |index: usize| FIELD0 + 8 * index as i32;
        let owner = self.load(I64, port, field(port::OWNER));
        let flag = self.load(I64, self.thread, thread::LOAN_FLAG);
        let owns = self.builder.ins().icmp(IntCC::Equal, owner, flag);
        self.builder.ins().brif(owns, is_own, &[], slow, &[]);
        self.begin(is_own);
        let text = self.load(I64, port, field(port::TEXT));
        let (kind, is_of_text) = (used.memory.1, !used.is_of_bytes && !used.puts);
        let (has_text, other) = (self.new_block(), self.cold_block());
        self.object_test(kind, text, has_text, other);
        self.begin(has_text);
        self.next_in_memory(used, port, text, operand, ways, slow);
        self.begin(other);
        if !is_of_text {
            self.builder.ins().jump(slow, &[]);
            return;
        }
        let is_wide = self.new_block();
        self.object_test(Kind::String32, text, is_wide, slow);
        self.begin(is_wide);
        let (index, position) = self.index_in_memory(port, text, slow);
        let offset = self.builder.ins().ishl_imm_u(index, 2);
        let place = self.builder.ins().iadd(text, offset);
        let unit = self.builder.ins().uload32(TRUSTED, place, FIELD0);
        let value = self.character(unit);
        self.advance_in_memory(used, port, position);
        self.define(ways.id, value);
        self.builder.ins().jump(ways.done, &[]);
    }

    /// Reads or writes a byte of the text.
    fn next_in_memory(
        &mut self,
        used: PortUse,
        port: Value,
        text: Value,
        operand: Option<Value>,
        ways: Ways,
        slow: Block,
    ) {
        let (index, position) = self.index_in_memory(port, text, slow);
        let place = self.builder.ins().iadd(text, index);
        let value = match operand {
            Some(operand) => self.put(used, operand, place, FIELD0),
            None => self.take(used, place, FIELD0),
        };
        self.advance_in_memory(used, port, position);
        self.define(ways.id, value);
        self.builder.ins().jump(ways.done, &[]);
    }

    /// The position in the text as an index and as it is in the port; to `slow` at the end.
    fn index_in_memory(&mut self, port: Value, text: Value, slow: Block) -> (Value, Value) {
        let has_more = self.new_block();
        let length = self.length(text);
        let position = self.load(I64, port, FIELD0 + 8 * port::USED as i32);
        let index = self.builder.ins().ushr_imm_u(position, SHIFT);
        self.branch_if_less(index, length, has_more, slow);
        self.begin(has_more);
        (index, position)
    }

    fn advance_in_memory(&mut self, used: PortUse, port: Value, position: Value) {
        if used.advances {
            let next = self.builder.ins().iadd_imm_s(position, 1 << SHIFT);
            self.store(next, port, FIELD0 + 8 * port::USED as i32);
        }
    }

    fn branch_if_less(&mut self, x: Value, y: Value, yes: Block, no: Block) {
        let less = self.builder.ins().icmp(IntCC::UnsignedLessThan, x, y);
        self.builder.ins().brif(less, yes, &[], no, &[]);
    }

    fn lower_flag(&mut self, flag: Value) {
        let zero = self.word(0);
        self.store(zero, flag, 0);
    }

    fn take(&mut self, used: PortUse, place: Value, offset: i32) -> Value {
        let byte = self.load_byte(place, offset);
        if used.is_of_bytes {
            self.builder.ins().ishl_imm_u(byte, SHIFT)
        } else {
            self.character(byte)
        }
    }

    fn put(&mut self, used: PortUse, operand: Value, place: Value, offset: i32) -> Value {
        let shift = if used.is_of_bytes { SHIFT } else { 8 };
        let byte = self.builder.ins().ushr_imm_u(operand, shift);
        self.builder.ins().istore8(TRUSTED, byte, place, offset);
        self.word(UNSPECIFIED)
    }
}
