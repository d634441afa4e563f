//! Stitched code: machine code of a procedure, put together from stencils within microseconds.
//!
//! It does what the interpreter does in plain execution, without decoding and dispatch. Registers are in
//! their slots between any two instructions, so stitched code and interpreter continue each other's
//! frames anywhere. It has no guesses and is never retired for a wrong one. Where an instruction takes
//! its slow path, the runtime does it and gives the address of the next instruction; stitched code
//! continues if that is the one behind. Calls and loops first look whether the thread still executes
//! plainly: a request, or the beginning of a log, is left to the interpreter there.
//!
//! ```text
//! | check for compiled calls | usual parts, in order of the bytecode | rare parts | slow paths |
//! ```
//!
//! All displacements are within the code, so it does not depend on its address.

use canny_tables::layout::{FIXNUM_SHIFT, thread};
use canny_tables::opcodes::{
    Flow, Opcode, OpcodeFlags, field_a, field_b, field_c, field_far, field_wide,
};
use canny_tables::stencils::{Hole, Patch};

use crate::stencils::{self, Part, Stencil};

/// A call in stitched code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StitchedReturn {
    /// Word index of the instruction behind the call.
    pub pc: usize,
    /// The call's first word and its live map.
    pub call: [u32; 2],
    /// Where the code continues.
    pub offset: usize,
}

/// Stitched code. Its address is still to be chosen, and those of its descriptors are to be put in.
#[derive(Clone, Debug, Default)]
pub struct Stitched {
    /// Machine code.
    pub code: Vec<u8>,
    /// Where calls by compiled code enter.
    pub native_entry: usize,
    /// Where calls by the interpreter enter.
    pub entry: usize,
    /// Calls.
    pub returns: Vec<StitchedReturn>,
    /// Places of 64 bits that get the address of a call's descriptor, and the number of the call.
    pub return_places: Vec<(usize, usize)>,
    /// Heads of loops: word index and offset.
    pub loops: Vec<(usize, usize)>,
    /// For profilers: offsets, ascending, and the word index of the instruction to which code belongs from
    /// there on.
    pub instructions: Vec<(usize, usize)>,
}

/// Whether there are stencils for this target.
pub fn is_available() -> bool {
    stencils::are_there()
}

/// Stitches the code whose instructions begin at address `start`; nothing if it has an instruction of
/// the machine's own, or if there are no stencils.
pub fn stitch(instructions: &[u32], start: u64) -> Option<Stitched> {
    if !is_available() {
        return None;
    }
    let mut stitcher = Stitcher {
        instructions,
        start,
        done: Stitched::default(),
        places: vec![0; instructions.len() + 1],
        jumps: Vec::new(),
        rare: Vec::new(),
        slow: Vec::new(),
    };
    stitcher.write_entry();
    let mut pc = 0;
    while pc < instructions.len() {
        let opcode = Opcode::from_byte(instructions[pc] as u8)?;
        let is_of_machine = opcode.has(OpcodeFlags::MACHINE);
        if is_of_machine || pc + opcode.words() > instructions.len() {
            return None;
        }
        stitcher.note_instruction(pc);
        stitcher.write_instruction(pc, opcode);
        pc += opcode.words();
    }
    stitcher.places[pc] = stitcher.done.code.len();
    // Verified code does not run over its end.
    stitcher.done.code.push(TRAP);
    stitcher.write_rare_parts();
    stitcher.write_slow_paths();
    stitcher.write_rare_parts();
    stitcher.land_jumps();
    Some(stitcher.done)
}

/// A byte that stops the process.
const TRAP: u8 = 0xcc;

/// Where a displacement leads.
#[derive(Clone, Copy)]
enum Target {
    /// The instruction at a word index.
    Instruction(usize),
    /// An offset.
    Offset(usize),
    /// The slow path of an instruction, by its number.
    Slow(usize),
}

/// A rare part to be written.
struct Rare {
    part: &'static Part,
    pc: usize,
    opcode: Opcode,
    usual: usize,
    slow: usize,
    /// The rare part's places in the usual part: they lead to offsets of the rare part.
    from_usual: Vec<(usize, u32)>,
}

/// A slow path to be written.
struct Slow {
    pc: usize,
    opcode: Opcode,
    /// The stencil for what the first one leaves.
    second: Option<&'static Stencil>,
    offset: usize,
}

struct Stitcher<'a> {
    instructions: &'a [u32],
    start: u64,
    done: Stitched,
    /// Offsets of instructions by word index.
    places: Vec<usize>,
    /// Displacements of 32 bits: their place, and where they lead.
    jumps: Vec<(usize, Target)>,
    rare: Vec<Rare>,
    slow: Vec<Slow>,
}

impl Stitcher<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.done.code.extend_from_slice(bytes);
    }

    fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }

    fn jump_field(&mut self, target: Target) {
        self.jumps.push((self.done.code.len(), target));
        self.bytes(&[0; 4]);
    }

    /// Compiled code calls with any table in its register: enters if the thread executes plainly.
    fn write_entry(&mut self) {
        self.load_table(RAX);
        // mov rax, [rax+LOOP]
        self.bytes(&[0x48, 0x8b, 0x40, LOOP]);
        self.constant(R10, plain_loop());
        // cmp rax, [r10]; je +13
        self.bytes(&[0x49, 0x3b, 0x02, 0x74, 13]);
        self.jump_to(crate::native_to_bytecode());
        self.done.entry = self.done.code.len();
    }

    /// mov register, imm64
    fn constant(&mut self, register: u8, word: u64) {
        self.bytes(&[0x48 | register >> 3, 0xb8 | register & 7]);
        self.word(word);
    }

    /// mov register, [rdx+TABLE]
    fn load_table(&mut self, register: u8) {
        self.bytes(&[0x48, 0x8b, 0x42 | register << 3, TABLE]);
    }

    /// mov r8d, imm32
    fn load_instruction_word(&mut self, pc: usize) {
        self.bytes(&[0x41, 0xb8]);
        self.bytes(&self.instructions[pc].to_le_bytes());
    }

    /// To an address of the machine, by r10.
    fn jump_to(&mut self, address: usize) {
        self.constant(R10, address as u64);
        // jmp r10
        self.bytes(&[0x41, 0xff, 0xe2]);
    }

    fn behind(&self, pc: usize) -> u64 {
        self.start + 4 * (pc as u64 + 1)
    }

    fn write_instruction(&mut self, pc: usize, opcode: Opcode) {
        self.places[pc] = self.done.code.len();
        let slow = self.slow.len();
        match stencils::of(opcode) {
            Some((first, second)) => {
                self.slow.push(Slow {
                    pc,
                    opcode,
                    second: second.as_ref(),
                    offset: 0,
                });
                self.write_stencil(first, pc, opcode, slow);
            }
            // The runtime does all of it: the slow path stands in the way.
            None => {
                self.write_runtime_call(pc, opcode);
            }
        }
        if opcode.row().flow == Flow::Loop {
            let head = self.target(pc, opcode);
            if let Some(head) = head {
                self.done.loops.push((head, self.places[head]));
            }
        }
    }

    fn write_stencil(&mut self, stencil: &'static Stencil, pc: usize, opcode: Opcode, slow: usize) {
        if stencil.needs_word {
            self.load_instruction_word(pc);
        }
        if stencil.needs_pc {
            self.constant(RDI, self.behind(pc));
        }
        let usual = self.done.code.len();
        let from_usual = self.write_part(&stencil.usual, pc, opcode, usual, slow);
        if !stencil.rare.code.is_empty() {
            self.rare.push(Rare {
                part: &stencil.rare,
                pc,
                opcode,
                usual,
                slow,
                from_usual,
            });
        }
    }

    /// Gives the displacements that lead to the rare part: their places and offsets there.
    fn write_part(
        &mut self,
        part: &'static Part,
        pc: usize,
        opcode: Opcode,
        usual: usize,
        slow: usize,
    ) -> Vec<(usize, u32)> {
        let base = self.done.code.len();
        self.bytes(part.code);
        let mut to_rare = Vec::new();
        for (offset, patch) in part.patches {
            let place = base + *offset as usize;
            let target = match patch {
                Patch::Operand(hole, addend) => {
                    self.fill(place, *hole, *addend, pc, opcode);
                    continue;
                }
                Patch::Next => Target::Instruction(pc + opcode.words()),
                Patch::Taken => match self.target(pc, opcode) {
                    Some(target) => Target::Instruction(target),
                    None => Target::Slow(slow),
                },
                Patch::Slow => Target::Slow(slow),
                Patch::Usual(offset) => Target::Offset(usual + *offset as usize),
                Patch::Rare(offset) => {
                    to_rare.push((place, *offset));
                    continue;
                }
            };
            self.jumps.push((place, target));
        }
        to_rare
    }

    /// Where a jump, branch or loop leads.
    fn target(&self, pc: usize, opcode: Opcode) -> Option<usize> {
        let word = self.instructions[pc];
        let (from, distance) = match opcode {
            Opcode::Jump | Opcode::Loop => (pc + 1, field_far(word)),
            _ => (pc + 2, *self.instructions.get(pc + 1)? as i32),
        };
        let target = usize::try_from(from as i64 + i64::from(distance)).ok()?;
        (target < self.instructions.len()).then_some(target)
    }

    fn fill(&mut self, place: usize, hole: Hole, addend: i32, pc: usize, opcode: Opcode) {
        let word = self.instructions[pc];
        let wide = field_wide(word);
        let slot = |register: u8| 8 * i32::from(register);
        let narrow = match hole {
            Hole::A => slot(field_a(word)),
            Hole::B => slot(field_b(word)),
            Hole::C => slot(field_c(word)),
            Hole::CountB => i32::from(field_b(word)),
            Hole::WideBytes => 8 * i32::from(wide),
            Hole::WideWord => i32::from(wide as i16),
            Hole::WideFixnum => i32::from(wide as i16) << FIXNUM_SHIFT,
            Hole::CFixnum => i32::from(field_c(word) as i8) << FIXNUM_SHIFT,
            _ => return self.fill_wide(place, hole, addend, pc, opcode),
        };
        let bytes = (narrow + addend).to_le_bytes();
        self.done.code[place..place + 4].copy_from_slice(&bytes);
    }

    fn fill_wide(&mut self, place: usize, hole: Hole, addend: i32, pc: usize, opcode: Opcode) {
        let behind = self.behind(pc);
        let extension = self.instructions.get(pc + 1).copied().unwrap_or(0);
        let word = match hole {
            Hole::PoolWide => behind - 4 * u64::from(field_wide(self.instructions[pc])),
            Hole::PoolExtension => behind + 4 - 4 * u64::from(extension),
            Hole::PlainLoop => plain_loop(),
            Hole::Return => {
                let number = self.return_number(pc, opcode, extension);
                self.done.return_places.push((place, number));
                0
            }
            _ => behind,
        };
        let word = word.wrapping_add_signed(addend.into());
        self.done.code[place..place + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// The number of a call, which both of its stencils return to.
    fn return_number(&mut self, pc: usize, opcode: Opcode, live_map: u32) -> usize {
        let behind = pc + opcode.words();
        if let Some(number) = self.done.returns.iter().rposition(|it| it.pc == behind) {
            return number;
        }
        self.done.returns.push(StitchedReturn {
            pc: behind,
            call: [self.instructions[pc], live_map],
            offset: 0,
        });
        self.done.returns.len() - 1
    }

    /// From here on code belongs to an instruction.
    fn note_instruction(&mut self, pc: usize) {
        let offset = self.done.code.len();
        self.done.instructions.push((offset, pc));
    }

    fn write_rare_parts(&mut self) {
        for rare in std::mem::take(&mut self.rare) {
            self.note_instruction(rare.pc);
            let base = self.done.code.len();
            let within = self.write_part(rare.part, rare.pc, rare.opcode, rare.usual, rare.slow);
            for (place, offset) in rare.from_usual.into_iter().chain(within) {
                let target = Target::Offset(base + offset as usize);
                self.jumps.push((place, target));
            }
        }
    }

    fn write_slow_paths(&mut self) {
        let mut is_used = vec![false; self.slow.len()];
        for (_, target) in &self.jumps {
            if let Target::Slow(number) = target {
                is_used[*number] = true;
            }
        }
        for number in (0..is_used.len()).filter(|number| is_used[*number]) {
            self.slow[number].offset = self.done.code.len();
            let Slow {
                pc, opcode, second, ..
            } = self.slow[number];
            self.note_instruction(pc);
            if let Some(second) = second {
                // The second stencil has a slow path of its own.
                let slow = self.slow.len();
                self.slow.push(Slow {
                    pc,
                    opcode,
                    second: None,
                    offset: 0,
                });
                self.write_stencil(second, pc, opcode, slow);
                // The usual part ends where the next instruction would begin.
                self.bytes(&[0xe9]);
                self.jump_field(Target::Instruction(pc + opcode.words()));
                self.slow[slow].offset = self.done.code.len();
                self.write_slow_path(pc, opcode);
            } else {
                self.write_slow_path(pc, opcode);
            }
        }
    }

    fn write_slow_path(&mut self, pc: usize, opcode: Opcode) {
        if leaves(opcode) {
            self.write_leave(pc);
        } else {
            self.write_runtime_call(pc, opcode);
        }
    }

    /// The runtime does the instruction.
    fn write_runtime_call(&mut self, pc: usize, opcode: Opcode) {
        self.constant(RDI, self.behind(pc));
        self.load_instruction_word(pc);
        // lea rcx, [rip+13]: behind the jump.
        self.bytes(&[0x48, 0x8d, 0x0d, 13, 0, 0, 0]);
        self.jump_to(crate::stitched_slow());
        let next = pc + opcode.words();
        let taken = match opcode.row().flow {
            Flow::Branch => self.target(pc, opcode),
            _ => None,
        };
        self.write_record(Some(next));
        self.write_record(taken);
    }

    /// Where the code continues if the runtime says so.
    fn write_record(&mut self, pc: Option<usize>) {
        let Some(pc) = pc else {
            // No address of bytecode.
            self.word(0);
            self.word(0);
            return;
        };
        self.word(self.start + 4 * pc as u64);
        // jmp, and three bytes to the end of the record.
        self.bytes(&[0xe9]);
        self.jump_field(Target::Instruction(pc));
        self.bytes(&[TRAP; 3]);
    }

    /// The interpreter does the instruction as it is now, and continues.
    fn write_leave(&mut self, pc: usize) {
        self.constant(RDI, self.behind(pc));
        self.load_table(RCX);
        // mov r8d, [rdi-4]; movzx eax, r8b; jmp [rcx+rax*8]
        self.bytes(&[
            0x44, 0x8b, 0x47, 0xfc, 0x41, 0x0f, 0xb6, 0xc0, 0xff, 0x24, 0xc1,
        ]);
    }

    fn land_jumps(&mut self) {
        for index in 0..self.done.returns.len() {
            let pc = self.done.returns[index].pc;
            self.done.returns[index].offset = self.places[pc];
        }
        for (place, target) in std::mem::take(&mut self.jumps) {
            let target = match target {
                Target::Instruction(pc) => self.places[pc],
                Target::Offset(offset) => offset,
                Target::Slow(number) => self.slow[number].offset,
            };
            let distance = target as i64 - (place as i64 + 4);
            self.done.code[place..place + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
    }
}

/// Whether the interpreter does an instruction that takes its slow path: it may not come back.
fn leaves(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Call | Opcode::TailCall | Opcode::Loop)
}

/// Where the handler of `loop` in plain execution stands.
fn plain_loop() -> u64 {
    &raw const crate::fast_table()[Opcode::Loop as usize] as u64
}

const RAX: u8 = 0;
const RCX: u8 = 1;
const RDI: u8 = 7;
const R10: u8 = 10;
const TABLE: u8 = thread::TABLE as u8;
const LOOP: u8 = 8 * Opcode::Loop as u8;

const _: () = assert!(thread::TABLE < 128 && (Opcode::Loop as usize) < 16);

#[cfg(test)]
mod tests {
    use canny_tables::opcodes::{Opcode, encode_abc, encode_far, encode_wide};

    use super::stitch;

    const START: u64 = 0x10_0000;

    #[test]
    fn calls_and_loops_are_named() {
        let code = [
            encode_wide(Opcode::LoadImmediate, 0, 4),
            encode_abc(Opcode::Call, 1, 1, 0),
            0b1,
            encode_abc(Opcode::AddImmediate, 0, 0, 0xff),
            encode_far(Opcode::Loop, -4),
            encode_abc(Opcode::Return, 0, 0, 0),
        ];
        let Some(stitched) = stitch(&code, START) else {
            return assert!(!super::is_available());
        };
        assert!(stitched.native_entry < stitched.entry);
        assert_eq!(stitched.returns.len(), 1);
        let there = stitched.returns[0];
        assert_eq!((there.pc, there.call), (3, [code[1], 1]));
        // The call has two stencils, and both push the descriptor.
        assert_eq!(stitched.return_places.len(), 2);
        let [(head, offset)] = stitched.loops[..] else {
            panic!("{:?}", stitched.loops);
        };
        assert_eq!(head, 1);
        assert!(stitched.entry < offset && offset < there.offset);
    }

    #[test]
    fn operands_are_put_in() {
        let store = |register: u8, word: i16| {
            let code = [
                encode_wide(Opcode::LoadImmediate, register, word as u16),
                encode_abc(Opcode::Return, register, 0, 0),
            ];
            let stitched = stitch(&code, START)?;
            // mov qword ptr [rsi+slot], word
            Some(stitched.code[stitched.entry..][..11].to_vec())
        };
        let Some(code) = store(3, -2) else {
            return assert!(!super::is_available());
        };
        assert_eq!(code[..3], [0x48, 0xc7, 0x86]);
        assert_eq!(code[3..7], 24_i32.to_le_bytes());
        assert_eq!(code[7..11], (-2_i32).to_le_bytes());
    }

    #[test]
    fn code_of_the_machine_is_not_stitched() {
        assert!(stitch(&[encode_abc(Opcode::CaptureStub, 0, 0, 0)], START).is_none());
        let ends_too_early = [encode_abc(Opcode::Call, 0, 0, 0)];
        assert!(stitch(&ends_too_early, START).is_none());
        assert!(stitch(&[0xff], START).is_none());
    }
}
