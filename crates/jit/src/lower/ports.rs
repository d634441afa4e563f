//! Lowers `read-char`, `peek-char` and `write-char` on a port that is lent to the thread.
//!
//! The code sets the thread's flag, checks that the thread owns the loan, uses the cursor and
//! clears the flag: another thread that revokes the loan waits for the flag. Only ASCII characters
//! within the window are handled inline. Everything else is the runtime's work. `layout::loan` has
//! the protocol's words.

use canny_spesh::graph::{NodeId, StateId};
use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, FIELD0, UNSPECIFIED, loan, port, thread};
use canny_tables::leaves;
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::segment::{Segment, TRUSTED};
use crate::JitError;
use crate::slots::instruction;

/// Everything in the word of a character but the code point of an ASCII one.
const NOT_ASCII: u64 = !(0x7f << 8);

impl Segment<'_, '_> {
    /// Reads or writes a character through the loan of the port, or else in the runtime.
    pub(super) fn use_loan(
        &mut self,
        id: NodeId,
        state: StateId,
        operands: &[NodeId],
    ) -> Result<(), JitError> {
        let (port_node, character) = match *operands {
            [port] => (port, None),
            [character, port] => (port, Some(character)),
            _ => return Err(JitError::Invalid("a loan with other operands".into())),
        };
        let opcode = instruction(self.procedure.graph, state)?.opcode;
        let advances = match opcode {
            Opcode::ReadCharacter | Opcode::WriteCharacter => true,
            Opcode::PeekCharacter => false,
            _ => return Err(JitError::Invalid("a loan for another opcode".into())),
        };
        let (is_port, is_owner, is_usable) = (self.new_block(), self.new_block(), self.new_block());
        let (slow, release, done) = (self.cold_block(), self.cold_block(), self.new_block());

        let port = self.tagged(port_node);
        self.kind_test(Kind::Port, port_node, port, is_port, slow);
        self.begin(is_port);
        let character = character.map(|character| {
            let character = self.tagged(character);
            let fine = self.new_block();
            self.masked_branch(character, NOT_ASCII, CHARACTER_LOW_BYTE, fine, slow);
            self.begin(fine);
            character
        });
        let lent = self.load(I64, port, FIELD0 + 8 * port::LOAN as i32);
        let flag = self.load(I64, self.thread, thread::LOAN_FLAG);
        let one = self.word(1);
        self.store(one, flag, 0);
        let owner = self.load(I64, lent, loan::OWNER);
        let owns = self.builder.ins().icmp(IntCC::Equal, owner, flag);
        self.builder.ins().brif(owns, is_owner, &[], release, &[]);
        self.begin(is_owner);
        let cursor = self.load(I64, lent, loan::CURSOR);
        let limit = self.load(I64, lent, loan::LIMIT);
        let less = IntCC::UnsignedLessThan;
        let has_more = self.builder.ins().icmp(less, cursor, limit);
        self.builder
            .ins()
            .brif(has_more, is_usable, &[], release, &[]);
        self.begin(is_usable);
        let value = match character {
            Some(character) => self.put(character, cursor),
            None => self.take(cursor),
        };
        if advances {
            let next = self.builder.ins().iadd_imm_s(cursor, 1);
            self.store(next, lent, loan::CURSOR);
        }
        let zero = self.word(0);
        self.store(zero, flag, 0);
        self.define(id, value);
        self.builder.ins().jump(done, &[]);

        self.begin(release);
        let zero = self.word(0);
        self.store(zero, flag, 0);
        self.builder.ins().jump(slow, &[]);
        self.begin(slow);
        if character.is_some()
            && let Some(leaf) = leaves::lookup("write-char", 2)
            && let Ok(function) = self.leaf_function(leaf)
        {
            let (usual, other) = (self.new_block(), self.cold_block());
            let result = self.try_leaf(function, operands)?;
            let declined = self.has_declined(result);
            self.builder.ins().brif(declined, other, &[], usual, &[]);
            self.begin(usual);
            self.define(id, result);
            self.builder.ins().jump(done, &[]);
            self.begin(other);
        }
        let mut outcome = Ok(());
        self.coldly(|segment| outcome = segment.runtime_in_place(id, state));
        self.builder.ins().jump(done, &[]);
        self.begin(done);
        outcome
    }

    fn take(&mut self, cursor: Value) -> Value {
        let byte = self.load_byte(cursor, 0);
        self.character(byte)
    }

    fn put(&mut self, character: Value, cursor: Value) -> Value {
        let byte = self.builder.ins().ushr_imm_u(character, 8);
        self.builder.ins().istore8(TRUSTED, byte, cursor, 0);
        self.word(UNSPECIFIED)
    }
}
