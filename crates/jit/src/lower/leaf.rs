//! Lowers calls of leaf functions, which take values in registers, never collect and never raise.
//!
//! A leaf function declines an operand by a special result. Then the code side-exits, or calls the
//! runtime at sites that declined before. Lookups in hash tables and functions of characters, numbers
//! and bits have inline code for their usual operands, and call the function only for others.

use canny_spesh::graph::{NodeId, StateId};
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, port, port_flag, thread};
use canny_tables::leaves::{self, LeafId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::segment::Segment;
use super::tables::TableUse;
use crate::JitError;
use crate::trampoline;

impl Segment<'_, '_> {
    /// Calls a leaf function; leaves if it declines.
    pub(super) fn leaf(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        words: &[NodeId],
    ) -> Result<(), JitError> {
        let function = self.leaf_function(leaf)?;
        if let Some(action) = TableUse::of(leaf.row().primitive) {
            let (slow, done) = (self.cold_block(), self.new_block());
            let result = self.builder.append_block_param(done, I64);
            let answer = self.use_entry(action, words, slow);
            self.builder.ins().jump(done, &[answer.into()]);
            self.begin(slow);
            let answer = self.call_leaf(id, function, words)?;
            self.builder.ins().jump(done, &[answer.into()]);
            self.begin(done);
            self.define(id, result);
            return Ok(());
        }
        if let [operand] = words
            && (self.function_by_kind(id, leaf, *operand)?
                || self.count_of_table(id, leaf, *operand)?)
        {
            return Ok(());
        }
        if self.function_of_bits(id, leaf, words)? || self.equality(id, leaf, words)? {
            return Ok(());
        }
        let ([operand], Some(shortcut)) = (words, Shortcut::of(leaf.row().primitive)) else {
            let result = self.call_leaf(id, function, words)?;
            self.define(id, result);
            return Ok(());
        };
        let x = self.tagged(*operand);
        let (usual, other, done) = (self.new_block(), self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        match shortcut {
            Shortcut::Port(flag) => {
                self.kind_test(Kind::Port, *operand, x, usual, other);
                self.begin(usual);
                let flags = self.load(I64, x, FIELD0 + 8 * port::FLAGS as i32);
                let flag = flag << layout::FIXNUM_SHIFT;
                let set = self.builder.ins().band_imm_u(flags, flag);
                let (yes, no) = (self.word(layout::TRUE), self.word(layout::FALSE));
                let answer = self.builder.ins().select(set, yes, no);
                self.builder.ins().jump(done, &[answer.into()]);
            }
            Shortcut::Ascii(table) => {
                // The low byte of other words comes out on top.
                let low = -(layout::CHARACTER_LOW_BYTE as i64);
                let code = self.builder.ins().iadd_imm_s(x, low);
                let code = self.builder.ins().rotr_imm_u(code, 8);
                let below = IntCC::UnsignedLessThan;
                let is_ascii = self.builder.ins().icmp_imm_s(below, code, 128);
                self.builder.ins().brif(is_ascii, usual, &[], other, &[]);
                self.begin(usual);
                let table = self.word(table.as_ptr() as u64);
                let scaled = self.builder.ins().ishl_imm_u(code, 3);
                let place = self.builder.ins().iadd(table, scaled);
                let answer = self.load(I64, place, 0);
                self.builder.ins().jump(done, &[answer.into()]);
            }
        }
        self.begin(other);
        let answer = self.call_leaf(id, function, words)?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(())
    }

    /// Calls a leaf function, and the runtime if it declines: at places where that happened before.
    pub(super) fn leaf_or_runtime(
        &mut self,
        id: NodeId,
        state: StateId,
        leaf: LeafId,
        words: &[NodeId],
    ) -> Result<(), JitError> {
        let function = self.leaf_function(leaf)?;
        let (usual, slow, done) = (self.new_block(), self.cold_block(), self.new_block());
        if let Some(action) = TableUse::of(leaf.row().primitive) {
            let other = self.cold_block();
            let answer = self.use_entry(action, words, other);
            self.define(id, answer);
            self.builder.ins().jump(done, &[]);
            self.begin(other);
        }
        let result = self.try_leaf(function, words)?;
        let declined = self.has_declined(result);
        self.builder.ins().brif(declined, slow, &[], usual, &[]);
        self.begin(usual);
        self.define(id, result);
        self.builder.ins().jump(done, &[]);
        self.begin(slow);
        let mut outcome = Ok(());
        self.coldly(|segment| outcome = segment.runtime_in_place(id, state));
        self.builder.ins().jump(done, &[]);
        self.begin(done);
        outcome
    }

    pub(super) fn leaf_function(&self, leaf: LeafId) -> Result<usize, JitError> {
        let function = self.environment().leaves.get(usize::from(leaf.0)).copied();
        function.ok_or_else(|| JitError::Invalid(format!("no leaf function {}", leaf.0)))
    }

    /// Calls a leaf function; leaves if it declines.
    pub(super) fn call_leaf(
        &mut self,
        id: NodeId,
        function: usize,
        words: &[NodeId],
    ) -> Result<Value, JitError> {
        let result = self.try_leaf(function, words)?;
        let declined = self.has_declined(result);
        self.exit_if(declined, id)?;
        Ok(result)
    }

    pub(super) fn has_declined(&mut self, result: Value) -> Value {
        let declined = layout::DECLINED as i64;
        self.builder
            .ins()
            .icmp_imm_s(IntCC::Equal, result, declined)
    }

    pub(super) fn try_leaf(
        &mut self,
        function: usize,
        words: &[NodeId],
    ) -> Result<Value, JitError> {
        let fp = self.fp();
        // Operands that a function does not take may be anything.
        let mut operands = [fp; leaves::IN_REGISTERS];
        if words.len() > leaves::ARGUMENTS_MAX {
            return Err(JitError::Invalid(
                "a leaf function of too many words".into(),
            ));
        }
        for (operand, word) in operands.iter_mut().zip(words) {
            *operand = self.tagged(*word);
        }
        // No segment hands over its values meanwhile.
        for (index, word) in words.iter().skip(operands.len()).enumerate() {
            let word = self.tagged(*word);
            self.store(word, self.thread, thread::CARRIED + 8 * index as i32);
        }
        let trampoline = self.word(trampoline::runtime() as u64);
        let function = self.word(function as u64);
        let [x, y, z] = operands;
        let registers = [self.thread, x, y, z, function];
        let call = self
            .builder
            .ins()
            .call_indirect(self.runtime_signature, trampoline, &registers);
        Ok(self.builder.inst_results(call)[0])
    }
}

/// The answer of a leaf function of one operand for most operands.
enum Shortcut {
    /// The answers for the characters of ASCII.
    Ascii(&'static [u64; 128]),
    /// Whether a port has a flag.
    Port(i64),
}

impl Shortcut {
    fn of(primitive: &str) -> Option<Shortcut> {
        Some(match primitive {
            "char-alphabetic?" => Shortcut::Ascii(&ALPHABETIC),
            "char-numeric?" => Shortcut::Ascii(&NUMERIC),
            "char-whitespace?" => Shortcut::Ascii(&WHITESPACE),
            "char-upper-case?" => Shortcut::Ascii(&UPPER_CASE),
            "char-lower-case?" => Shortcut::Ascii(&LOWER_CASE),
            "char-upcase" => Shortcut::Ascii(&UPCASE),
            "char-downcase" => Shortcut::Ascii(&DOWNCASE),
            "char-titlecase" => Shortcut::Ascii(&UPCASE),
            "digit-value" => Shortcut::Ascii(&DIGITS),
            "input-port?" => Shortcut::Port(port_flag::INPUT),
            "output-port?" => Shortcut::Port(port_flag::OUTPUT),
            "textual-port?" => Shortcut::Port(port_flag::TEXTUAL),
            "binary-port?" => Shortcut::Port(port_flag::BINARY),
            _ => return None,
        })
    }
}

macro_rules! answers {
    ($($name:ident $character:ident $answer:expr;)*) => { $(
        static $name: [u64; 128] = {
            let mut answers = [0; 128];
            let mut code = 0u8;
            while code < 128 {
                let $character = code;
                answers[code as usize] = $answer;
                code += 1;
            }
            answers
        };
    )* };
}

const fn truth(holds: bool) -> u64 {
    if holds { layout::TRUE } else { layout::FALSE }
}

const fn digit(code: u8) -> u64 {
    if code.is_ascii_digit() {
        ((code - b'0') as u64) << layout::FIXNUM_SHIFT
    } else {
        layout::FALSE
    }
}

const fn character(code: u8) -> u64 {
    (code as u64) << 8 | layout::CHARACTER_LOW_BYTE
}

answers! {
    ALPHABETIC x truth(x.is_ascii_alphabetic());
    NUMERIC x truth(x.is_ascii_digit());
    WHITESPACE x truth(x == b' ' || x >= 9 && x <= 13);
    UPPER_CASE x truth(x.is_ascii_uppercase());
    LOWER_CASE x truth(x.is_ascii_lowercase());
    UPCASE x character(x.to_ascii_uppercase());
    DOWNCASE x character(x.to_ascii_lowercase());
    DIGITS x digit(x);
}
