//! Computes the registers whose values are read later, by backward data flow over finished
//! bytecode.
//!
//! Everything follows from the opcode rows: operands, windows and flow. The code generator takes
//! the live maps of calls from here, the verifier compares them with a recomputation, and the
//! collector asks [`LivenessTable`] for the registers to trace in a frame stopped at any
//! instruction. The code must be decodable with branch targets at instruction starts; otherwise
//! [`LivenessTable::new`] gives an error and never panics.
//!
//! The table keeps one set per block, where a block has at most [`BLOCK_INSTRUCTIONS`]
//! instructions: a query walks back through one block only, however long straight-line code is.

use canny_tables::layout::frame::{NARROW_REGISTERS, WIDE_MAP};
use canny_tables::opcodes::{Extension, Window};

use crate::instruction::{DecodeError, Instruction};

/// Greatest number of instructions in a block of the table.
pub const BLOCK_INSTRUCTIONS: usize = 64;

/// A set of registers of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterSet {
    words: Vec<u64>,
}

impl RegisterSet {
    /// The empty set for a frame of `frame_words` registers.
    pub fn new(frame_words: usize) -> RegisterSet {
        RegisterSet {
            words: vec![0; frame_words.div_ceil(64)],
        }
    }

    /// Whether `register` is in the set.
    pub fn contains(&self, register: usize) -> bool {
        self.words
            .get(register / 64)
            .is_some_and(|word| word >> (register % 64) & 1 == 1)
    }

    /// Adds a register; ignored outside the frame.
    pub fn insert(&mut self, register: usize) {
        if let Some(word) = self.words.get_mut(register / 64) {
            *word |= 1 << (register % 64);
        }
    }

    /// Removes a register.
    pub fn remove(&mut self, register: usize) {
        if let Some(word) = self.words.get_mut(register / 64) {
            *word &= !(1 << (register % 64));
        }
    }

    /// Removes `register` and all above it.
    pub fn remove_from(&mut self, register: usize) {
        let first = register / 64;
        for (index, word) in self.words.iter_mut().enumerate().skip(first) {
            let keep = if index == first {
                (1u64 << (register % 64)) - 1
            } else {
                0
            };
            *word &= keep;
        }
    }

    /// Adds `register` and all above it in the frame.
    fn insert_from(&mut self, register: usize) {
        let first = register / 64;
        for (index, word) in self.words.iter_mut().enumerate().skip(first) {
            let keep = if index == first {
                (1u64 << (register % 64)) - 1
            } else {
                0
            };
            *word |= !keep;
        }
    }

    /// The registers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(index * 64 + bit)
            })
        })
    }

    /// The registers as bits, 64 to a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds the registers of `other`; tells whether that changed anything.
    fn unite(&mut self, other: &RegisterSet) -> bool {
        let mut changed = false;
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            changed |= *more & !*word != 0;
            *word |= more;
        }
        changed
    }
}

/// Why the liveness of some words cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivenessError {
    /// The words at this index are not an instruction.
    Decode(usize, DecodeError),
    /// The instruction at this index branches to a word that starts no instruction.
    BadTarget(usize),
}

#[derive(Clone, Debug)]
struct Block {
    start: usize,
    /// Blocks that control may reach.
    successors: [Option<u32>; 2],
    /// Registers live when the block is left.
    live_out: RegisterSet,
}

/// Live registers of one code, ready for queries at any instruction.
#[derive(Clone, Debug)]
pub struct LivenessTable {
    frame_words: usize,
    blocks: Vec<Block>,
}

impl LivenessTable {
    /// Solves the data flow for a code.
    pub fn new(code: &[u32], frame_words: usize) -> Result<LivenessTable, LivenessError> {
        let mut blocks = split_into_blocks(code)?;
        let mut generated = Vec::with_capacity(blocks.len());
        let mut killed = Vec::with_capacity(blocks.len());
        for index in 0..blocks.len() {
            let end = blocks
                .get(index + 1)
                .map_or(code.len(), |next: &Block| next.start);
            let (uses, kills) = summarize(code, blocks[index].start, end, frame_words);
            generated.push(uses);
            killed.push(kills);
            blocks[index].live_out = RegisterSet::new(frame_words);
        }
        let mut live_in = generated;
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..blocks.len()).rev() {
                let block = &mut blocks[index];
                let mut grew = false;
                for successor in block.successors.into_iter().flatten() {
                    grew |= block.live_out.unite(&live_in[successor as usize]);
                }
                if grew {
                    let through = difference(&block.live_out, &killed[index]);
                    changed |= live_in[index].unite(&through);
                }
            }
        }
        Ok(LivenessTable {
            frame_words,
            blocks,
        })
    }

    /// Registers that are read, before they are written, at or after the instruction at `pc`.
    /// `code` is what the table was made from. A `pc` inside an instruction counts as its start.
    pub fn live_before(&self, code: &[u32], pc: usize) -> RegisterSet {
        self.live_at(code, pc, true)
    }

    /// Registers that are read, before they are written, after the instruction at `pc`.
    pub fn live_after(&self, code: &[u32], pc: usize) -> RegisterSet {
        self.live_at(code, pc, false)
    }

    fn live_at(&self, code: &[u32], pc: usize, before: bool) -> RegisterSet {
        let Some(index) = self
            .blocks
            .partition_point(|block| block.start <= pc)
            .checked_sub(1)
        else {
            return RegisterSet::new(self.frame_words);
        };
        let mut live = self.blocks[index].live_out.clone();
        let end = self
            .blocks
            .get(index + 1)
            .map_or(code.len(), |next| next.start);
        for instruction in block_instructions(code, self.blocks[index].start, end)
            .iter()
            .rev()
        {
            let at_query = instruction.pc <= pc;
            if at_query && !before {
                break;
            }
            step_back(instruction, &mut live);
            if at_query {
                break;
            }
        }
        live
    }

    /// Calls `visit` for each instruction that carries a live map, with the registers that are live
    /// after it and survive it.
    pub fn each_live_map(&self, code: &[u32], mut visit: impl FnMut(&Instruction, &RegisterSet)) {
        for (index, block) in self.blocks.iter().enumerate() {
            let end = self
                .blocks
                .get(index + 1)
                .map_or(code.len(), |next| next.start);
            let mut live = block.live_out.clone();
            for instruction in block_instructions(code, block.start, end).iter().rev() {
                if instruction.extension(Extension::LiveMap).is_some() {
                    let mut surviving = live.clone();
                    surviving.remove_from(instruction.a());
                    visit(instruction, &surviving);
                }
                step_back(instruction, &mut live);
            }
        }
    }
}

/// Registers live before the instruction at `pc`; for one-off questions. A caller that asks often about
/// the same code keeps a [`LivenessTable`].
pub fn live_registers_at(
    code: &[u32],
    pc: usize,
    frame_words: usize,
) -> Result<RegisterSet, LivenessError> {
    Ok(LivenessTable::new(code, frame_words)?.live_before(code, pc))
}

/// How a call with base `base` keeps the set of registers live after it: the word itself, or the
/// words of a wide map.
pub fn encode_live_map(live: &RegisterSet, base: usize) -> Result<u32, Vec<u64>> {
    if live.iter().all(|register| register < NARROW_REGISTERS) {
        let word = live.words().first().copied().unwrap_or(0);
        return Ok(word as u32 & !WIDE_MAP);
    }
    let mut words = live.words().to_vec();
    words.resize(base.div_ceil(64), 0);
    Err(words)
}

/// The registers that a call's live map names, or `None` if a wide map is outside `wide_maps`.
pub fn decode_live_map(word: u32, base: usize, wide_maps: &[u64]) -> Option<RegisterSet> {
    if word & WIDE_MAP == 0 {
        return Some(RegisterSet {
            words: vec![u64::from(word)],
        });
    }
    let start = (word & !WIDE_MAP) as usize;
    let words = wide_maps.get(start..start.checked_add(base.div_ceil(64))?)?;
    Some(RegisterSet {
        words: words.to_vec(),
    })
}

fn difference(left: &RegisterSet, right: &RegisterSet) -> RegisterSet {
    let words = left
        .words
        .iter()
        .zip(&right.words)
        .map(|(left, right)| left & !right)
        .collect();
    RegisterSet { words }
}

fn block_instructions(code: &[u32], start: usize, end: usize) -> Vec<Instruction<'_>> {
    let mut instructions = Vec::with_capacity(BLOCK_INSTRUCTIONS);
    let mut pc = start;
    while pc < end {
        let Ok(instruction) = Instruction::decode(code, pc) else {
            break;
        };
        pc = instruction.next_pc();
        instructions.push(instruction);
    }
    instructions
}

/// Live registers before an instruction from those after it.
fn step_back(instruction: &Instruction, live: &mut RegisterSet) {
    if let Some(register) = instruction.clobbered_from() {
        live.remove_from(register);
    }
    instruction.each_definition(|register| live.remove(register));
    instruction.each_use(|register| live.insert(register));
    // Code of the machine's own keeps registers over a call that no instruction reads afterwards.
    if let Some(map) = instruction.extension(Extension::LiveMap)
        && map & WIDE_MAP == 0
    {
        let kept = (0..NARROW_REGISTERS).filter(|register| map >> register & 1 != 0);
        kept.for_each(|register| live.insert(register));
    }
    if instruction.row().window == Window::Stub {
        live.remove_from(0);
    }
}

/// Registers that a block reads before writing, and those that it writes or clobbers.
fn summarize(code: &[u32], start: usize, end: usize, frame: usize) -> (RegisterSet, RegisterSet) {
    let (mut uses, mut kills) = (RegisterSet::new(frame), RegisterSet::new(frame));
    for instruction in block_instructions(code, start, end).iter().rev() {
        step_back(instruction, &mut uses);
        if let Some(register) = instruction.clobbered_from() {
            kills.insert_from(register);
        }
        instruction.each_definition(|register| kills.insert(register));
    }
    (uses, kills)
}

fn split_into_blocks(code: &[u32]) -> Result<Vec<Block>, LivenessError> {
    let mut is_start = vec![false; code.len()];
    let mut leads = vec![false; code.len()];
    let mut pc = 0;
    let mut run = 0;
    while pc < code.len() {
        let instruction =
            Instruction::decode(code, pc).map_err(|error| LivenessError::Decode(pc, error))?;
        is_start[pc] = true;
        leads[pc] |= run == 0;
        run = (run + 1) % BLOCK_INSTRUCTIONS;
        let next = instruction.next_pc();
        if let Some(target) = instruction.branch_target() {
            let target = usize::try_from(target)
                .ok()
                .filter(|target| *target < code.len());
            leads[target.ok_or(LivenessError::BadTarget(pc))?] = true;
        }
        if instruction.branch_target().is_some() || !instruction.falls_through() {
            run = 0;
        }
        pc = next;
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![u32::MAX; code.len()];
    for pc in 0..code.len() {
        if leads[pc] && is_start[pc] {
            block_of[pc] = blocks.len() as u32;
            let live_out = RegisterSet::default();
            blocks.push(Block {
                start: pc,
                successors: [None; 2],
                live_out,
            });
        }
    }
    let mut pc = 0;
    let mut current = 0;
    while pc < code.len() {
        let Ok(instruction) = Instruction::decode(code, pc) else {
            break;
        };
        if block_of[pc] != u32::MAX {
            current = block_of[pc] as usize;
        }
        let next = instruction.next_pc();
        if let Some(target) = instruction.branch_target() {
            let target = block_of[target as usize];
            if target == u32::MAX {
                return Err(LivenessError::BadTarget(pc));
            }
            blocks[current].successors[1] = Some(target);
        }
        if next < code.len() && block_of[next] != u32::MAX && instruction.falls_through() {
            blocks[current].successors[0] = Some(block_of[next]);
        }
        pc = next;
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_tables::opcodes::{Opcode, encode_abc, encode_far};

    fn registers(set: &RegisterSet) -> Vec<usize> {
        set.iter().collect()
    }

    #[test]
    fn call_keeps_what_is_read_later_below_its_base() {
        let code = [
            encode_abc(Opcode::Move, 5, 0, 0), // the argument
            encode_abc(Opcode::Move, 3, 1, 0), // the callee
            encode_abc(Opcode::Call, 3, 1, 0),
            0,
            encode_abc(Opcode::Add, 0, 2, 3),
            encode_abc(Opcode::Return, 0, 0, 0),
        ];
        let table = LivenessTable::new(&code, 6).unwrap();
        assert_eq!(registers(&table.live_before(&code, 0)), [0, 1, 2]);
        assert_eq!(registers(&table.live_before(&code, 2)), [2, 3, 5]);
        let mut maps = Vec::new();
        table.each_live_map(&code, |call, live| maps.push((call.pc, registers(live))));
        assert_eq!(maps, [(2, vec![2])]);
    }

    #[test]
    fn what_a_call_keeps_is_live_before_it() {
        let code = [
            encode_abc(Opcode::Move, 4, 1, 0),
            encode_abc(Opcode::Call, 2, 1, 0),
            1 << 1,
            encode_abc(Opcode::Return, 2, 0, 0),
        ];
        let table = LivenessTable::new(&code, 5).unwrap();
        assert_eq!(registers(&table.live_before(&code, 1)), [1, 2, 4]);
        assert_eq!(registers(&table.live_after(&code, 1)), [2]);
    }

    #[test]
    fn loops_carry_registers_around() {
        let code = [
            encode_abc(Opcode::JumpFalse, 0, 0, 0),
            2,
            encode_abc(Opcode::AddImmediate, 1, 1, 1),
            encode_far(Opcode::Loop, -4),
            encode_abc(Opcode::Return, 1, 0, 0),
        ];
        let table = LivenessTable::new(&code, 3).unwrap();
        assert_eq!(registers(&table.live_before(&code, 0)), [0, 1]);
        assert_eq!(registers(&table.live_before(&code, 3)), [0, 1]);
        assert_eq!(registers(&table.live_before(&code, 4)), [1]);
    }

    #[test]
    fn long_blocks_are_split_and_still_exact() {
        let mut code = vec![encode_abc(Opcode::Move, 1, 0, 0); 1000];
        code.push(encode_abc(Opcode::Return, 1, 0, 0));
        let table = LivenessTable::new(&code, 2).unwrap();
        assert!(table.blocks.len() > 10);
        assert_eq!(registers(&table.live_before(&code, 500)), [0]);
        assert_eq!(registers(&table.live_after(&code, 999)), [1]);
    }

    #[test]
    fn bad_targets_are_errors() {
        assert_eq!(
            LivenessTable::new(&[encode_far(Opcode::Jump, 5)], 1).err(),
            Some(LivenessError::BadTarget(0))
        );
        let into_extension = [encode_abc(Opcode::JumpFalse, 0, 0, 0), -1i32 as u32];
        assert!(LivenessTable::new(&into_extension, 1).is_err());
    }

    #[test]
    fn live_maps_round_trip() {
        for registers in [vec![], vec![0, 30], vec![31], vec![5, 64, 130]] {
            let mut set = RegisterSet::new(200);
            registers.iter().for_each(|register| set.insert(*register));
            let mut wide = Vec::new();
            let word = encode_live_map(&set, 150).unwrap_or_else(|words| {
                wide = words;
                WIDE_MAP
            });
            let back = decode_live_map(word, 150, &wide).unwrap();
            assert_eq!(back.iter().collect::<Vec<_>>(), registers);
        }
    }
}
