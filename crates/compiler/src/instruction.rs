//! Decoded view of the bytecode: one place that turns words into fields and register effects.
//!
//! Owns the reading of [`canny_tables::opcodes`] rows. Everything that looks at finished bytecode
//! (liveness, verifier, disassembler, the machine's cold paths) goes through [`Instruction`].
//! It reads words only; it knows nothing of pools, units or of the machine.

use canny_tables::opcodes::{
    Extension, Flow, Opcode, OpcodeFlags, OpcodeRow, Operand, Slot, Window, field_a, field_b,
    field_c, field_far, field_wide, opcode_byte,
};

/// Greatest number of words of a frame. Operands reach the first 256 registers.
pub const REGISTER_COUNT_MAX: usize = 1 << 16;

/// One instruction inside a code's words.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// The opcode.
    pub opcode: Opcode,
    /// Word index of the first word.
    pub pc: usize,
    words: &'a [u32],
}

/// Why words could not be read as an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No opcode has this number.
    UnknownOpcode(u8),
    /// The code ends inside the instruction.
    Truncated,
}

impl<'a> Instruction<'a> {
    /// Reads the instruction that starts at word `pc`.
    pub fn decode(code: &'a [u32], pc: usize) -> Result<Instruction<'a>, DecodeError> {
        let first = *code.get(pc).ok_or(DecodeError::Truncated)?;
        let byte = opcode_byte(first);
        let opcode = Opcode::from_byte(byte).ok_or(DecodeError::UnknownOpcode(byte))?;
        let words = code
            .get(pc..pc + opcode.words())
            .ok_or(DecodeError::Truncated)?;
        Ok(Instruction { opcode, pc, words })
    }

    /// The opcode's row.
    pub fn row(&self) -> &'static OpcodeRow {
        self.opcode.row()
    }

    /// Word index of the instruction after this one.
    pub fn next_pc(&self) -> usize {
        self.pc + self.words.len()
    }

    /// The first word.
    pub fn first_word(&self) -> u32 {
        self.words[0]
    }

    /// Field a.
    pub fn a(&self) -> usize {
        usize::from(field_a(self.words[0]))
    }

    /// Field b.
    pub fn b(&self) -> usize {
        usize::from(field_b(self.words[0]))
    }

    /// Field c.
    pub fn c(&self) -> usize {
        usize::from(field_c(self.words[0]))
    }

    /// The 16-bit field.
    pub fn wide(&self) -> u16 {
        field_wide(self.words[0])
    }

    /// The extension word of this meaning, if the opcode has one.
    pub fn extension(&self, meaning: Extension) -> Option<u32> {
        let at = self.row().extensions.iter().position(|e| *e == meaning)?;
        self.words.get(1 + at).copied()
    }

    /// Word index of the extension word of this meaning.
    pub fn extension_pc(&self, meaning: Extension) -> Option<usize> {
        let at = self.row().extensions.iter().position(|e| *e == meaning)?;
        Some(self.pc + 1 + at)
    }

    /// Where control may go besides the next instruction, as a word index; it may lie outside the
    /// code when the words are not verified.
    pub fn branch_target(&self) -> Option<i64> {
        let offset = match self.row().operands[0] {
            Operand::Offset24 => i64::from(field_far(self.words[0])),
            _ => i64::from(self.extension(Extension::Offset)? as i32),
        };
        Some(self.next_pc() as i64 + offset)
    }

    /// Whether control may reach the next instruction.
    pub fn falls_through(&self) -> bool {
        matches!(self.row().flow, Flow::Next | Flow::Branch)
    }

    /// The distance to the pool slot that the instruction refers to, and the word index from which
    /// the distance counts back.
    pub fn pool_reference(&self) -> Option<(u32, usize)> {
        if self.row().operands.iter().any(|it| it.slot().is_some()) {
            return Some((u32::from(self.wide()), self.pc + 1));
        }
        let at = self.pool_extension_pc()?;
        Some((self.words[at - self.pc], at + 1))
    }

    /// Word index of the extension word with the distance to a pool slot.
    pub fn pool_extension_pc(&self) -> Option<usize> {
        let extensions = self.row().extensions;
        let at = extensions.iter().position(|it| it.slot().is_some())?;
        Some(self.pc + 1 + at)
    }

    /// The kind of pool slot that the instruction refers to.
    pub fn pool_slot(&self) -> Option<Slot> {
        let row = self.row();
        let near = row.operands.iter().find_map(|it| it.slot());
        near.or_else(|| row.extensions.iter().find_map(|it| it.slot()))
    }

    /// The primitive that the instruction calls, by number, and the registers of the operands.
    pub fn primitive_call(&self) -> Option<(u32, Vec<usize>)> {
        if !self.opcode.has(OpcodeFlags::CALLS_PRIMITIVE) {
            return None;
        }
        Some((self.extension(Extension::Primitive)?, self.uses()))
    }

    /// The registers read, in the order of the operands.
    pub fn uses(&self) -> Vec<usize> {
        let mut registers = Vec::new();
        self.each_use(|register| registers.push(register));
        registers
    }

    /// Index of the pool slot that the instruction refers to, given the pool's length; `None` when
    /// the instruction has no pool operand or the distance hits no slot.
    pub fn pool_index(&self, pool_length: usize) -> Option<usize> {
        let (distance, from) = self.pool_reference()?;
        let back = (distance as usize).checked_sub(from)?;
        if back == 0 || back % 2 != 0 {
            return None;
        }
        pool_length.checked_sub(back / 2)
    }

    /// Calls `visit` for each register read.
    pub fn each_use(&self, mut visit: impl FnMut(usize)) {
        for (operand, field) in self
            .row()
            .operands
            .iter()
            .zip([self.a(), self.b(), self.c()])
        {
            if operand.is_read() {
                visit(field);
            }
        }
        match self.row().window {
            Window::Call | Window::TailCall => {
                let first = self.a() + 2;
                (first..first + self.b()).for_each(visit);
            }
            Window::Arguments => (self.a()..self.a() + self.b()).for_each(visit),
            Window::None | Window::Unpack | Window::Entry | Window::KeywordEntry | Window::Stub => {
            }
        }
    }

    /// Calls `visit` for each register written.
    pub fn each_definition(&self, mut visit: impl FnMut(usize)) {
        for (operand, field) in self
            .row()
            .operands
            .iter()
            .zip([self.a(), self.b(), self.c()])
        {
            if operand.is_written() {
                visit(field);
            }
        }
        match self.row().window {
            Window::Call => visit(self.a()),
            Window::Unpack => (self.a()..self.a() + self.b() + self.c()).for_each(visit),
            Window::Entry | Window::KeywordEntry => {
                (0..self.a() + self.b() + self.c()).for_each(visit);
            }
            Window::None | Window::TailCall | Window::Arguments | Window::Stub => {}
        }
    }

    /// First register of those that the instruction leaves in an unknown state, if any.
    pub fn clobbered_from(&self) -> Option<usize> {
        (self.row().window == Window::Call).then(|| self.a())
    }

    /// One more than the highest register that the instruction needs in the frame.
    pub fn registers_needed(&self) -> usize {
        let mut needed = 0;
        self.each_use(|register| needed = needed.max(register + 1));
        self.each_definition(|register| needed = needed.max(register + 1));
        if matches!(self.row().window, Window::Call | Window::TailCall) {
            needed = needed.max(self.a() + 2 + self.b());
        }
        needed
    }
}

/// Iterates over the instructions of a code from its start; ends after the first that cannot be
/// decoded.
pub fn instructions(code: &[u32]) -> impl Iterator<Item = Result<Instruction<'_>, DecodeError>> {
    let mut pc = 0;
    std::iter::from_fn(move || {
        if pc >= code.len() {
            return None;
        }
        let result = Instruction::decode(code, pc);
        pc = match &result {
            Ok(instruction) => instruction.next_pc(),
            Err(_) => code.len(),
        };
        Some(result)
    })
}
