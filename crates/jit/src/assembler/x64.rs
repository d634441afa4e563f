//! Instructions of x86-64.
//!
//! An instruction has a REX prefix if one of its bits is set. Those on low bytes have one always, since
//! without it the numbers 4 to 7 name other bytes; so have [`Assembler::mov32`] and
//! [`Assembler::load_double`], which thereby have the same length for all registers.

use super::{Ahead, Assembler, Place};
use crate::relocation::Target;

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register(u8);

impl Register {
    pub(crate) const RAX: Register = Register(0);
    pub(crate) const RCX: Register = Register(1);
    pub(crate) const RDX: Register = Register(2);
    pub(crate) const RBX: Register = Register(3);
    pub(crate) const RSP: Register = Register(4);
    pub(crate) const RBP: Register = Register(5);
    pub(crate) const RSI: Register = Register(6);
    pub(crate) const RDI: Register = Register(7);
    pub(crate) const R8: Register = Register(8);
    pub(crate) const R9: Register = Register(9);
    pub(crate) const R11: Register = Register(11);
    pub(crate) const R12: Register = Register(12);
    pub(crate) const R13: Register = Register(13);
    pub(crate) const R14: Register = Register(14);
    pub(crate) const R15: Register = Register(15);

    #[cfg(test)]
    pub(super) fn all() -> impl Iterator<Item = Register> {
        (0..16).map(Register)
    }

    #[cfg(test)]
    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// The bit of its number that stands in a prefix.
    fn high(self) -> u8 {
        self.0 >> 3
    }

    fn low(self) -> u8 {
        self.0 & 7
    }
}

/// A register for doubles, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoubleRegister(u8);

impl DoubleRegister {
    #[cfg(test)]
    pub(super) fn all() -> impl Iterator<Item = DoubleRegister> {
        (0..16).map(DoubleRegister)
    }

    /// Numbered as a general register, for the fields of instructions.
    fn field(self) -> Register {
        Register(self.0)
    }
}

/// pc in handlers; in compiled code the word that is returned, and the first argument.
pub(crate) const VALUE: Register = Register::RDI;
/// The frame pointer.
pub(crate) const FP: Register = Register::RSI;
/// The thread block.
pub(crate) const THREAD: Register = Register::RDX;
/// Arguments that are words: pc, table and word of a handler, and the next one. They are the first,
/// fourth, fifth and sixth parameter in Cranelift's `tail` convention.
pub(crate) const ARGUMENTS: [Register; 4] = [VALUE, Register::RCX, Register::R8, Register::R9];
/// Arguments and results that are doubles.
pub(crate) const DOUBLES: [DoubleRegister; 4] = [
    DoubleRegister(0),
    DoubleRegister(1),
    DoubleRegister(2),
    DoubleRegister(3),
];
/// Registers that nothing is passed in; [`Assembler::compare_masked`] changes the second.
pub(crate) const SCRATCH: Register = Register::R11;
pub(crate) const ACCUMULATOR: Register = Register::RAX;

/// Registers that functions keep for their callers, but for the frame pointer of the native stack.
const SAVED: [Register; 5] = [
    Register::RBX,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Memory at a register's address and a displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    base: Register,
    displacement: Displacement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Displacement {
    None,
    Byte(i8),
    Word(i32),
}

impl Memory {
    /// At the address itself. Registers that cannot be written so have a displacement of a byte.
    pub(crate) const fn at(base: Register) -> Memory {
        Memory {
            base,
            displacement: Displacement::None,
        }
    }

    /// With a displacement of one byte.
    pub(crate) const fn near(base: Register, displacement: i8) -> Memory {
        Memory {
            base,
            displacement: Displacement::Byte(displacement),
        }
    }

    /// With a displacement of four bytes.
    pub(crate) const fn far(base: Register, displacement: i32) -> Memory {
        Memory {
            base,
            displacement: Displacement::Word(displacement),
        }
    }
}

/// When a jump is taken, by the last comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    /// The bit that [`Assembler::test_bit`] looked at is set.
    BitSet,
}

impl Condition {
    fn code(self) -> u8 {
        match self {
            Condition::BitSet => 0x2,
            Condition::Equal => 0x4,
            Condition::NotEqual => 0x5,
        }
    }
}

/// The second operand of an instruction.
#[derive(Clone, Copy)]
enum Operand {
    Register(Register),
    Memory(Memory),
}

/// Bits of a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rex {
    /// 64 bits.
    Wide,
    /// 32 bits; a prefix only for registers that need it.
    Narrow,
    /// The same, with a prefix always.
    Present,
}

/// Bit of a prefix for 64 bits.
const REX_W: u8 = 8;
const REX: u8 = 0x40;

// How the parts of an instruction are written.
impl Assembler {
    /// Prefix, opcode and operands. `field` is a register's number or a part of the opcode.
    fn instruction(&mut self, rex: Rex, opcode: &[u8], field: Register, operand: Operand) {
        let base = match operand {
            Operand::Register(register) => register,
            Operand::Memory(memory) => memory.base,
        };
        self.prefix(rex, field, base);
        self.code.extend_from_slice(opcode);
        match operand {
            Operand::Register(register) => self.mode(3, field, register),
            Operand::Memory(memory) => self.memory(field, memory),
        }
    }

    fn prefix(&mut self, rex: Rex, field: Register, base: Register) {
        let wide = if rex == Rex::Wide { REX_W } else { 0 };
        let bits = wide | field.high() << 2 | base.high();
        if bits != 0 || rex == Rex::Present {
            self.code.push(REX | bits);
        }
    }

    fn mode(&mut self, mode: u8, field: Register, base: Register) {
        self.code.push(mode << 6 | field.low() << 3 | base.low());
    }

    fn memory(&mut self, field: Register, Memory { base, displacement }: Memory) {
        let displacement = match displacement {
            // This form means something else for rbp and r13.
            Displacement::None if base.low() == Register::RBP.low() => Displacement::Byte(0),
            other => other,
        };
        let mode = match displacement {
            Displacement::None => 0,
            Displacement::Byte(_) => 1,
            Displacement::Word(_) => 2,
        };
        self.mode(mode, field, base);
        if base.low() == Register::RSP.low() {
            // In the place of rsp and r12 a byte follows that says: this base, no index.
            self.mode(0, Register::RSP, Register::RSP);
        }
        match displacement {
            Displacement::None => {}
            Displacement::Byte(byte) => self.code.extend(byte.to_le_bytes()),
            Displacement::Word(word) => self.code.extend(word.to_le_bytes()),
        }
    }

    /// An instruction on a register whose field is a part of the opcode.
    fn on_register(&mut self, rex: Rex, opcode: &[u8], part: u8, register: Register) {
        self.instruction(rex, opcode, Register(part), Operand::Register(register));
    }
}

// Moves.
impl Assembler {
    /// `mov to, from`
    pub(crate) fn mov(&mut self, to: Register, from: Register) {
        self.instruction(Rex::Wide, &[0x89], from, Operand::Register(to));
    }

    /// `mov to, from` of 32 bits; the others become 0.
    pub(crate) fn mov32(&mut self, to: Register, from: Register) {
        self.instruction(Rex::Present, &[0x8b], to, Operand::Register(from));
    }

    /// `mov to, word` with all eight bytes.
    pub(crate) fn mov_constant(&mut self, to: Register, word: u64) {
        self.prefix(Rex::Wide, Register(0), to);
        self.code.push(0xb8 | to.low());
        self.code.extend(word.to_le_bytes());
    }

    /// `mov to, word` of 32 bits; the others become 0.
    pub(crate) fn mov32_constant(&mut self, to: Register, word: u32) {
        self.prefix(Rex::Narrow, Register(0), to);
        self.code.push(0xb8 | to.low());
        self.code.extend(word.to_le_bytes());
    }

    /// `mov to, [from]`
    pub(crate) fn load(&mut self, to: Register, from: Memory) {
        self.instruction(Rex::Wide, &[0x8b], to, Operand::Memory(from));
    }

    /// `mov [to], from`
    pub(crate) fn store(&mut self, to: Memory, from: Register) {
        self.instruction(Rex::Wide, &[0x89], from, Operand::Memory(to));
    }

    /// `mov qword [to], word`, whose sign is extended.
    pub(crate) fn store_constant(&mut self, to: Memory, word: i32) {
        self.instruction(Rex::Wide, &[0xc7], Register(0), Operand::Memory(to));
        self.code.extend(word.to_le_bytes());
    }

    /// `lea to, [memory]`
    pub(crate) fn load_address(&mut self, to: Register, memory: Memory) {
        self.instruction(Rex::Wide, &[0x8d], to, Operand::Memory(memory));
    }

    /// `lea to, [rip + target]`
    pub(crate) fn load_address_of(&mut self, to: Register, target: Target) {
        self.prefix(Rex::Wide, to, Register(0));
        self.code.push(0x8d);
        self.mode(0, to, Register::RBP);
        self.relative(target);
    }

    /// `push register`
    pub(crate) fn push(&mut self, register: Register) {
        self.prefix(Rex::Narrow, Register(0), register);
        self.code.push(0x50 | register.low());
    }

    /// `pop register`
    pub(crate) fn pop(&mut self, register: Register) {
        self.prefix(Rex::Narrow, Register(0), register);
        self.code.push(0x58 | register.low());
    }

    /// `movq to, from`: the bits of a word as a double.
    pub(crate) fn mov_to_double(&mut self, to: DoubleRegister, from: Register) {
        self.code.push(0x66);
        let operand = Operand::Register(from);
        self.instruction(Rex::Wide, &[0x0f, 0x6e], to.field(), operand);
    }

    /// `movq to, from`: the bits of a double as a word.
    pub(crate) fn mov_from_double(&mut self, to: Register, from: DoubleRegister) {
        self.code.push(0x66);
        let operand = Operand::Register(to);
        self.instruction(Rex::Wide, &[0x0f, 0x7e], from.field(), operand);
    }

    /// `movsd to, [from]`
    pub(crate) fn load_double(&mut self, to: DoubleRegister, from: Memory) {
        self.code.push(0xf2);
        let operand = Operand::Memory(from);
        self.instruction(Rex::Present, &[0x0f, 0x10], to.field(), operand);
    }
}

// Arithmetic and comparisons.
impl Assembler {
    /// `xor register, register` of 32 bits: all of it becomes 0.
    pub(crate) fn clear(&mut self, register: Register) {
        self.instruction(Rex::Narrow, &[0x31], register, Operand::Register(register));
    }

    /// `add register, number`
    pub(crate) fn add(&mut self, register: Register, number: i32) {
        self.arithmetic(0, register, number);
    }

    /// `sub register, number`
    pub(crate) fn subtract(&mut self, register: Register, number: i32) {
        self.arithmetic(5, register, number);
    }

    /// With the shortest number, as the code generator writes it.
    fn arithmetic(&mut self, part: u8, register: Register, number: i32) {
        match i8::try_from(number) {
            Ok(number) => {
                self.on_register(Rex::Wide, &[0x83], part, register);
                self.code.extend(number.to_le_bytes());
            }
            Err(_) => {
                self.on_register(Rex::Wide, &[0x81], part, register);
                self.code.extend(number.to_le_bytes());
            }
        }
    }

    /// `dec register`
    pub(crate) fn decrement(&mut self, register: Register) {
        self.on_register(Rex::Wide, &[0xff], 1, register);
    }

    /// `rol register, bits`
    pub(crate) fn rotate_left(&mut self, register: Register, bits: u8) {
        self.on_register(Rex::Wide, &[0xc1], 0, register);
        self.code.push(bits);
    }

    /// `ror register, bits`
    pub(crate) fn rotate_right(&mut self, register: Register, bits: u8) {
        self.on_register(Rex::Wide, &[0xc1], 1, register);
        self.code.push(bits);
    }

    /// `test register, mask` of the lowest byte: equal if no bit of the mask is set.
    pub(crate) fn test_bits(&mut self, register: Register, mask: u8) {
        self.on_register(Rex::Present, &[0xf6], 0, register);
        self.code.push(mask);
    }

    /// `bt word, index` of 32 bits; the index is taken modulo 32.
    pub(crate) fn test_bit(&mut self, word: Register, index: Register) {
        let operand = Operand::Register(word);
        self.instruction(Rex::Narrow, &[0x0f, 0xa3], index, operand);
    }

    /// `cmp byte [memory], byte`
    pub(crate) fn compare_byte(&mut self, memory: Memory, byte: u8) {
        let operand = Operand::Memory(memory);
        self.instruction(Rex::Present, &[0x80], Register(7), operand);
        self.code.push(byte);
    }

    /// `mov eax, register; and eax, mask; cmp eax, wanted`
    pub(crate) fn compare_masked(&mut self, register: Register, mask: u32, wanted: u32) {
        self.mov32(ACCUMULATOR, register);
        // Both have a form for this register alone.
        self.code.push(0x25);
        self.code.extend(mask.to_le_bytes());
        self.code.push(0x3d);
        self.code.extend(wanted.to_le_bytes());
    }
}

// Jumps.
impl Assembler {
    /// `jmp target`
    pub(crate) fn jump(&mut self, target: Target) {
        self.code.push(0xe9);
        self.relative(target);
    }

    /// `jmp [rip + target]`
    pub(crate) fn jump_through(&mut self, target: Target) {
        self.code.push(0xff);
        self.mode(0, Register(4), Register::RBP);
        self.relative(target);
    }

    /// `jmp [memory]`
    pub(crate) fn jump_to(&mut self, memory: Memory) {
        let operand = Operand::Memory(memory);
        self.instruction(Rex::Narrow, &[0xff], Register(4), operand);
    }

    /// A short `jmp` to a place that comes later.
    pub(crate) fn jump_ahead(&mut self) -> Ahead {
        self.code.extend([0xeb, 0]);
        Ahead {
            behind: self.place(),
        }
    }

    /// A short conditional jump to a place that comes later.
    pub(crate) fn jump_ahead_if(&mut self, condition: Condition) -> Ahead {
        self.code.extend([0x70 | condition.code(), 0]);
        Ahead {
            behind: self.place(),
        }
    }

    /// A conditional jump to a place that was before.
    pub(crate) fn jump_back_if(&mut self, condition: Condition, place: Place) {
        self.code.extend([0x0f, 0x80 | condition.code()]);
        self.back(place);
    }

    /// `call place`, which was before.
    pub(crate) fn call(&mut self, place: Place) {
        self.code.push(0xe8);
        self.back(place);
    }

    fn back(&mut self, place: Place) {
        let behind = self.place() + 4;
        let distance = place as i32 - behind as i32;
        self.code.extend(distance.to_le_bytes());
    }

    /// `call register`
    pub(crate) fn call_register(&mut self, register: Register) {
        self.on_register(Rex::Narrow, &[0xff], 2, register);
    }

    /// `ret`
    pub(crate) fn ret(&mut self) {
        self.code.push(0xc3);
    }

    /// Empties the registers that functions keep for their callers.
    pub(crate) fn clear_saved_registers(&mut self) {
        SAVED.into_iter().for_each(|register| self.clear(register));
    }
}

/// The native frame of a function that spills nothing, as the code generator makes it:
/// `push rbp; mov rbp, rsp`, then room for the registers that the function keeps for its caller, if
/// there are any, and these. An exit restores them, and closes with `mov rsp, rbp; pop rbp`.
#[derive(Debug)]
pub(crate) struct NativeFrame {
    /// Bytes of the prologue.
    pub(crate) prologue: usize,
    /// Instructions of each exit before its jump.
    pub(crate) epilogue: Vec<u8>,
}

impl NativeFrame {
    /// The frame that a function begins with; `None` if there is none, or one with more in it.
    pub(crate) fn read(code: &[u8]) -> Option<NativeFrame> {
        let (stack, frame) = (Register::RSP, Register::RBP);
        let open = Assembler::bytes_of(|to| {
            to.push(frame);
            to.mov(frame, stack);
        });
        let mut rest = code.strip_prefix(&open[..])?;
        let mut epilogue = Assembler::default();
        if let Some((bytes, saves)) = after_room(rest, stack) {
            rest = saves;
            let mut saved = 0u8;
            while let Some((register, memory, behind)) = save_of_register(rest, stack, saved) {
                epilogue.load(register, memory);
                rest = behind;
                saved += 8;
            }
            if saved.next_multiple_of(16) != bytes {
                return None;
            }
            epilogue.add(stack, i32::from(bytes));
        } else if rest.starts_with(without_number(&room(stack, i32::MAX), 4)) {
            return None;
        }
        epilogue.mov(stack, frame);
        epilogue.pop(frame);
        Some(NativeFrame {
            prologue: code.len() - rest.len(),
            epilogue: epilogue.code,
        })
    }
}

/// `sub stack, bytes`
fn room(stack: Register, bytes: i32) -> Vec<u8> {
    Assembler::bytes_of(|to| to.subtract(stack, bytes))
}

/// An instruction without the bytes of the number at its end.
fn without_number(instruction: &[u8], bytes: usize) -> &[u8] {
    &instruction[..instruction.len() - bytes]
}

/// If the code begins with an instruction that makes room on the stack, a few bytes: how many, and
/// the code behind it.
fn after_room(code: &[u8], stack: Register) -> Option<(u8, &[u8])> {
    let code = code.strip_prefix(without_number(&room(stack, 0), 1))?;
    let (&bytes, rest) = code.split_first()?;
    Some((bytes, rest))
}

/// If the code begins with a store on the stack of a register that functions keep: the register, where
/// it is stored, and the code behind the store.
fn save_of_register(code: &[u8], stack: Register, offset: u8) -> Option<(Register, Memory, &[u8])> {
    let memory = match offset {
        0 => Memory::at(stack),
        offset => Memory::near(stack, offset as i8),
    };
    SAVED.into_iter().find_map(|register| {
        let store = Assembler::bytes_of(|to| to.store(memory, register));
        let rest = code.strip_prefix(&store[..])?;
        Some((register, memory, rest))
    })
}

/// Whether the bytes are exactly one return, direct jump, or indirect jump that does not depend on its
/// address. A direct one depends on it, but has a relocation that moves with it.
pub(crate) fn is_movable_jump(code: &[u8]) -> bool {
    let operation = match code {
        [0xc3] => return true,
        [0xe9, displacement @ ..] => return displacement.len() == 4,
        [prefix, rest @ ..] if prefix & 0xf0 == REX && prefix & REX_W == 0 => rest,
        _ => code,
    };
    let [0xff, mode, operand @ ..] = operation else {
        return false;
    };
    let (addressing, register) = (mode >> 6, mode & 7);
    let displacement = match addressing {
        0 if register == Register::RBP.low() => return false,
        0 | 3 => 0,
        1 => 1,
        _ => 4,
    };
    let has_index = addressing != 3 && register == Register::RSP.low();
    // Without a base there are four bytes more; the code generator writes no such jump.
    if has_index && addressing == 0 && operand.first().is_some_and(|byte| byte & 7 == 5) {
        return false;
    }
    mode >> 3 & 7 == 4 && operand.len() == usize::from(has_index) + displacement
}
