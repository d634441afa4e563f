//! Emits the words of one code: instructions, labels, pool slots, positions, live maps.
//!
//! Dead code is dropped here: after an instruction that does not continue, nothing is emitted until a
//! label is bound that something jumps to. A jump to the label bound right behind it is taken back.
//!
//! Pool slots are numbered from the code backwards while emitting (slot 0 is next to the first
//! instruction), so that distances are known at once; [`Assembler::finish`] turns the order round.

use std::collections::HashMap;
use std::ops::Range;

use canny_syntax::span::EXPANDED;
use canny_tables::layout::frame::WIDE_MAP;
use canny_tables::opcodes::{
    Extension, Flow, Opcode, Operand, encode_abc, encode_far, encode_wide,
};

use crate::instruction::Instruction;
use crate::liveness::{LivenessTable, encode_live_map};
use crate::unit::{
    PoolEntry, PositionTable, PositionTableBuilder, UnitSpan, VariablePlace, VariableScope, Written,
};

/// The reason why a variable has no value in a range of its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Its value is not there.
    Unknown,
    /// The source has other variables in scope there.
    Elsewhere,
}

/// A place in the code, bound at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLabel(u32);

/// Why a code cannot be expressed in the bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssemblyError {
    /// More registers are alive at once than instructions can name.
    TooManyRegisters,
    /// The code is too long for a branch offset.
    TooLong,
}

/// The instruction that can replace a jump to a jump.
enum Shortcut {
    /// This return.
    Return(u32),
    /// A `loop` to this word.
    Loop(usize),
    /// A jump to this word.
    Jump(usize),
    /// The same branch to this word.
    Branch(usize),
}

/// Word index of an offset, word index from which it counts, whether it has 24 bits.
type Fixup = (usize, usize, bool);

#[derive(Debug, Default)]
struct LabelState {
    bound: Option<usize>,
    fixups: Vec<Fixup>,
}

/// Collects one code.
#[derive(Debug, Default)]
pub struct Assembler {
    words: Vec<u32>,
    labels: Vec<LabelState>,
    pool: Vec<PoolEntry>,
    slots: HashMap<PoolEntry, u32>,
    positions: Vec<(u32, UnitSpan, Written)>,
    /// The number of positions when the last one was noted that another one may replace.
    weak_position: Option<usize>,
    variables: Vec<VariableScope>,
    unreachable: bool,
    /// Where labels were bound last, which ones, and what was patched for them.
    bound_at: usize,
    bound_here: Vec<CodeLabel>,
    patched_here: Vec<Fixup>,
    /// Start and label of a jump that is the last instruction.
    last_jump: Option<(usize, CodeLabel)>,
}

/// The parts of a finished code.
#[derive(Debug)]
pub struct Assembled {
    /// Pool slots in their final order.
    pub pool: Vec<PoolEntry>,
    /// Instruction words.
    pub instructions: Vec<u32>,
    /// Wide live maps.
    pub wide_maps: Vec<u64>,
    /// Positions.
    pub positions: PositionTable,
    /// Numbers of places in expansions, from a word on; none behind them.
    pub expanded: Vec<(u32, Option<u32>)>,
    /// Where variables are.
    pub variables: Vec<VariableScope>,
    /// Registers used.
    pub frame_words: usize,
}

impl Assembler {
    /// A label to be bound later.
    pub fn label(&mut self) -> CodeLabel {
        self.labels.push(LabelState::default());
        CodeLabel(self.labels.len() as u32 - 1)
    }

    /// Whether something jumps forward to the label.
    pub fn is_awaited(&self, label: CodeLabel) -> bool {
        !self.labels[label.0 as usize].fixups.is_empty()
    }

    /// Whether the label has its place already.
    pub fn is_bound(&self, label: CodeLabel) -> bool {
        self.labels[label.0 as usize].bound.is_some()
    }

    /// Gives the label the current place.
    pub fn bind(&mut self, label: CodeLabel) {
        self.take_back_jump(label);
        let here = self.words.len();
        if self.bound_at != here {
            self.bound_at = here;
            self.bound_here.clear();
            self.patched_here.clear();
        }
        let state = &mut self.labels[label.0 as usize];
        state.bound = Some(here);
        let fixups = std::mem::take(&mut state.fixups);
        self.unreachable &= fixups.is_empty();
        self.bound_here.push(label);
        for (at, from, narrow) in fixups {
            self.patch(at, from, narrow, here);
            self.patched_here.push((at, from, narrow));
        }
    }

    /// Removes a jump to `label`, which is about to be bound, if it is the last instruction. Labels
    /// bound behind it move with the end of the code.
    fn take_back_jump(&mut self, label: CodeLabel) {
        let Some((start, target)) = self.last_jump else {
            return;
        };
        if target != label || start + 1 != self.words.len() {
            return;
        }
        self.words.pop();
        self.labels[label.0 as usize]
            .fixups
            .retain(|(at, _, _)| *at != start);
        self.unreachable = false;
        self.last_jump = None;
        if self.bound_at == start + 1 {
            self.bound_at = start;
            for bound in std::mem::take(&mut self.bound_here) {
                self.labels[bound.0 as usize].bound = Some(start);
                self.bound_here.push(bound);
            }
            for (at, from, narrow) in std::mem::take(&mut self.patched_here) {
                self.patch(at, from, narrow, start);
                self.patched_here.push((at, from, narrow));
            }
        }
    }

    fn patch(&mut self, at: usize, from: usize, narrow: bool, target: usize) {
        let offset = target as i64 - from as i64;
        if narrow {
            let opcode = Opcode::from_byte(self.words[at] as u8).unwrap_or(Opcode::Jump);
            self.words[at] = encode_far(opcode, offset as i32);
        } else {
            self.words[at] = offset as i32 as u32;
        }
    }

    /// Notes the position of the next instruction.
    pub fn position(&mut self, span: UnitSpan) {
        if !self.unreachable {
            let here = self.words.len() as u32;
            if self.is_weak(here) {
                self.positions.pop();
            }
            self.positions.push((here, span, Written::default()));
        }
    }

    /// Notes the position of the next instruction, unless another one is noted before it comes.
    pub fn position_weakly(&mut self, span: UnitSpan) {
        let here = self.words.len() as u32;
        let is_noted = self.positions.last().is_some_and(|(at, ..)| *at == here);
        if !self.unreachable && (!is_noted || self.is_weak(here)) {
            self.position(span);
            self.weak_position = Some(self.positions.len());
        }
    }

    /// Whether the last position is one for the next instruction that another one may replace.
    fn is_weak(&self, here: u32) -> bool {
        let is_last = self.weak_position == Some(self.positions.len());
        is_last && self.positions.last().is_some_and(|(at, ..)| *at == here)
    }

    /// Notes how the call of the next instruction is written, whose position was noted.
    pub fn written(&mut self, written: Written) {
        if let Some((_, _, last)) = self.positions.last_mut()
            && !self.unreachable
        {
            *last = written;
        }
    }

    /// The positions from a word on, and the one in force there.
    pub fn positions_from(&self, start: u32) -> &[(u32, UnitSpan, Written)] {
        let behind = self.positions.partition_point(|(at, ..)| *at <= start);
        &self.positions[behind.saturating_sub(1)..]
    }

    /// The index of the next word.
    pub fn here(&self) -> u32 {
        self.words.len() as u32
    }

    /// Says where a variable is from `scope.start` up to here. In some ranges, in their order, it is
    /// nowhere, or not in scope.
    pub fn variable(&mut self, scope: VariableScope, gaps: &[(Range<u32>, Gap)]) {
        let mut rows = Vec::new();
        let mut start = scope.start;
        for (range, gap) in gaps {
            rows.push((scope.place, start..range.start));
            if *gap == Gap::Unknown {
                rows.push((VariablePlace::Nowhere, range.clone()));
            }
            start = start.max(range.end);
        }
        rows.push((scope.place, start..self.here()));
        let rows = rows.into_iter().filter(|(_, range)| !range.is_empty());
        self.variables
            .extend(rows.map(|(place, range)| VariableScope {
                place,
                start: range.start,
                end: range.end,
                ..scope.clone()
            }));
    }

    fn emit(&mut self, opcode: Opcode, words: &[u32]) {
        if self.unreachable {
            return;
        }
        debug_assert_eq!(words.len(), opcode.words());
        self.words.extend_from_slice(words);
        self.unreachable = matches!(opcode.row().flow, Flow::Stop | Flow::Jump | Flow::Loop);
    }

    /// An instruction with byte fields and without extension words.
    pub fn abc(&mut self, opcode: Opcode, a: u8, b: u8, c: u8) {
        self.emit(opcode, &[encode_abc(opcode, a, b, c)]);
    }

    /// An instruction with byte fields and one plain extension word.
    pub fn abc_number(&mut self, opcode: Opcode, a: u8, b: u8, c: u8, number: u32) {
        self.emit(opcode, &[encode_abc(opcode, a, b, c), number]);
    }

    /// A call; its live map is filled in by [`Assembler::finish`].
    pub fn call(&mut self, base: u8, arguments: u8) {
        self.abc_number(Opcode::Call, base, arguments, 0, 0);
    }

    /// An instruction with a byte field and a 16-bit field.
    pub fn wide(&mut self, opcode: Opcode, a: u8, wide: u16) {
        self.emit(opcode, &[encode_wide(opcode, a, wide)]);
    }

    /// A conditional branch with byte fields.
    pub fn branch(&mut self, opcode: Opcode, a: u8, b: u8, target: CodeLabel) {
        self.branch_word(opcode, encode_abc(opcode, a, b, 0), target);
    }

    /// A conditional branch with a byte field and a 16-bit field.
    pub fn branch_wide(&mut self, opcode: Opcode, a: u8, wide: i16, target: CodeLabel) {
        self.branch_word(opcode, encode_wide(opcode, a, wide as u16), target);
    }

    fn branch_word(&mut self, opcode: Opcode, first: u32, target: CodeLabel) {
        if self.unreachable {
            return;
        }
        self.emit(opcode, &[first, 0]);
        let end = self.words.len();
        self.refer(target, end - 1, end, false);
    }

    /// Goes to the label: forward by `jump`, back by `loop`.
    pub fn jump(&mut self, target: CodeLabel) {
        if self.unreachable {
            return;
        }
        let opcode = if self.is_bound(target) {
            Opcode::Loop
        } else {
            Opcode::Jump
        };
        let start = self.words.len();
        self.emit(opcode, &[encode_far(opcode, 0)]);
        self.refer(target, start, start + 1, true);
        self.last_jump = Some((start, target));
    }

    fn refer(&mut self, target: CodeLabel, at: usize, from: usize, narrow: bool) {
        match self.labels[target.0 as usize].bound {
            Some(place) => self.patch(at, from, narrow, place),
            None => self.labels[target.0 as usize]
                .fixups
                .push((at, from, narrow)),
        }
    }

    /// The slot that holds `entry`, counted back from the code.
    fn slot(&mut self, entry: PoolEntry) -> u32 {
        if let Some(slot) = self.slots.get(&entry) {
            return *slot;
        }
        let slot = self.pool.len() as u32;
        self.pool.push(entry.clone());
        self.slots.insert(entry, slot);
        slot
    }

    /// Distance from word index `from` back to the slot.
    fn distance(slot: u32, from: usize) -> usize {
        from + 2 * (slot as usize + 1)
    }

    /// Whether an instruction with a 16-bit pool field can refer to `entry` from here.
    pub fn is_near(&mut self, entry: &PoolEntry) -> bool {
        let slot = self.slot(entry.clone());
        Self::distance(slot, self.words.len() + 1) <= usize::from(u16::MAX)
    }

    /// An instruction with a 16-bit pool field; the caller asked [`Assembler::is_near`].
    pub fn pool_near(&mut self, opcode: Opcode, a: u8, entry: PoolEntry) {
        if self.unreachable {
            return;
        }
        let slot = self.slot(entry);
        let distance = Self::distance(slot, self.words.len() + 1);
        self.wide(opcode, a, distance as u16);
    }

    /// An instruction whose only extension word is a pool distance.
    pub fn pool_far(&mut self, opcode: Opcode, a: u8, b: u8, c: u8, entry: PoolEntry) {
        if self.unreachable {
            return;
        }
        let slot = self.slot(entry);
        let distance = Self::distance(slot, self.words.len() + 2) as u32;
        self.emit(opcode, &[encode_abc(opcode, a, b, c), distance]);
    }

    /// An instruction with a number and a pool distance.
    pub fn number_and_pool(
        &mut self,
        opcode: Opcode,
        [a, b, c]: [u8; 3],
        number: u32,
        entry: PoolEntry,
    ) {
        if self.unreachable {
            return;
        }
        let slot = self.slot(entry);
        let distance = Self::distance(slot, self.words.len() + 3) as u32;
        self.emit(opcode, &[encode_abc(opcode, a, b, c), number, distance]);
    }

    /// Loads a pool slot, near or far.
    pub fn load_pool(&mut self, a: u8, entry: PoolEntry) {
        if self.is_near(&entry) {
            self.pool_near(Opcode::LoadConstant, a, entry);
        } else {
            self.pool_far(Opcode::LoadConstantFar, a, 0, 0, entry);
        }
    }

    /// Completes the code; `parameters` is the number of registers that a caller fills.
    pub fn finish(mut self, parameters: usize) -> Result<Assembled, AssemblyError> {
        const FAR_MAX: usize = (1 << 23) - 1;
        if self.words.len() > FAR_MAX {
            return Err(AssemblyError::TooLong);
        }
        self.thread_jumps();
        self.compact();
        let mut frame_words = parameters;
        for instruction in crate::instruction::instructions(&self.words).flatten() {
            frame_words = frame_words.max(instruction.registers_needed());
        }
        let wide_maps = self.fill_live_maps(frame_words);
        let mut builder = PositionTableBuilder::default();
        let mut expanded: Vec<(u32, Option<u32>)> = Vec::new();
        for (pc, mut span, written) in self.positions {
            if (pc as usize) >= self.words.len() {
                continue;
            }
            let place = (span.inlining >= EXPANDED).then_some(span.inlining);
            if place.is_some() {
                span.inlining = 0;
            }
            builder.add_written(pc, span, written);
            let (at, last) = expanded.last().copied().unwrap_or_default();
            if place != last && (pc > at || expanded.is_empty()) {
                expanded.push((pc, place));
            }
        }
        self.pool.reverse();
        Ok(Assembled {
            pool: self.pool,
            instructions: self.words,
            wide_maps,
            positions: builder.finish(),
            expanded,
            variables: self.variables,
            frame_words,
        })
    }

    /// Lets jumps to jumps go where those go, and puts a return in place of a jump to one.
    fn thread_jumps(&mut self) {
        const HOPS_MAX: usize = 8;
        let mut pc = 0;
        while let Ok(instruction) = Instruction::decode(&self.words, pc) {
            let (start, end) = (pc, instruction.next_pc());
            for _ in 0..HOPS_MAX {
                match self.shortcut(start) {
                    Some(Shortcut::Return(word)) => self.words[start] = word,
                    Some(Shortcut::Loop(goal)) => {
                        self.words[start] = encode_far(Opcode::Loop, 0);
                        self.patch(start, end, true, goal);
                    }
                    Some(Shortcut::Jump(goal)) => self.patch(start, end, true, goal),
                    Some(Shortcut::Branch(goal)) => self.patch(end - 1, end, false, goal),
                    None => break,
                }
            }
            pc = end;
        }
    }

    /// Removes instructions that nothing reaches any more, and jumps to the next instruction.
    fn compact(&mut self) {
        let mut reached = self.reachable();
        // A jump to what follows it, apart from what goes away, does nothing.
        let mut pc = 0;
        while let Ok(instruction) = Instruction::decode(&self.words, pc) {
            if let (Opcode::Jump, Some(target)) = (instruction.opcode, instruction.branch_target())
            {
                let between = pc + 1..(target as usize).min(reached.len());
                if !reached[between].contains(&true) {
                    reached[pc] = false;
                }
            }
            pc = instruction.next_pc();
        }
        let mut moved = vec![0; self.words.len() + 1];
        let (mut pc, mut length) = (0, 0);
        while let Ok(instruction) = Instruction::decode(&self.words, pc) {
            let next = instruction.next_pc();
            moved[pc..next].fill(length);
            if reached[pc] {
                length += next - pc;
            }
            pc = next;
        }
        moved[self.words.len()] = length;
        if length == self.words.len() {
            return;
        }
        let old = std::mem::take(&mut self.words);
        let mut pc = 0;
        while let Ok(instruction) = Instruction::decode(&old, pc) {
            let next = instruction.next_pc();
            if reached[pc] {
                self.words.extend_from_slice(&old[pc..next]);
                self.relocate(&instruction, moved[pc], &moved);
            }
            pc = next;
        }
        for (pc, ..) in &mut self.positions {
            *pc = moved[*pc as usize] as u32;
        }
        for scope in &mut self.variables {
            // The last jump may have been taken back behind the end of a scope.
            let place = |index: u32| moved[(index as usize).min(moved.len() - 1)] as u32;
            (scope.start, scope.end) = (place(scope.start), place(scope.end));
        }
    }

    /// Adjusts the distances of an instruction that was moved to `start`.
    fn relocate(&mut self, old: &Instruction, start: usize, moved: &[usize]) {
        let end = start + old.next_pc() - old.pc;
        if let Some(target) = old.branch_target() {
            let narrow = old.row().operands[0] == Operand::Offset24;
            let at = if narrow { start } else { end - 1 };
            self.patch(at, end, narrow, moved[target as usize]);
        }
        if let Some((distance, _)) = old.pool_reference() {
            let distance = distance as usize - (old.pc - start);
            match old.pool_extension_pc() {
                Some(at) => self.words[start + at - old.pc] = distance as u32,
                None => self.words[start] = encode_wide(old.opcode, old.a() as u8, distance as u16),
            }
        }
    }

    /// For each word, whether it starts an instruction that control can reach.
    fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.words.len() + 1];
        let mut pending = vec![0];
        while let Some(pc) = pending.pop() {
            let Ok(instruction) = Instruction::decode(&self.words, pc) else {
                continue;
            };
            if std::mem::replace(&mut reached[pc], true) {
                continue;
            }
            pending.extend(
                instruction
                    .branch_target()
                    .and_then(|at| usize::try_from(at).ok()),
            );
            if instruction.falls_through() {
                pending.push(instruction.next_pc());
            }
        }
        reached
    }

    /// A better form of the jump or branch at `start`.
    fn shortcut(&self, start: usize) -> Option<Shortcut> {
        let from = Instruction::decode(&self.words, start).ok()?;
        let target = usize::try_from(from.branch_target()?).ok()?;
        let after = Instruction::decode(&self.words, target).ok()?;
        let goal = || usize::try_from(after.branch_target()?).ok();
        match (from.opcode, after.opcode) {
            (Opcode::Jump, Opcode::Return) => Some(Shortcut::Return(after.first_word())),
            (Opcode::Jump, Opcode::Loop) => Some(Shortcut::Loop(goal()?)),
            (Opcode::Jump, Opcode::Jump) => Some(Shortcut::Jump(goal()?)),
            (Opcode::Loop, _) => None,
            (_, Opcode::Jump) => Some(Shortcut::Branch(goal()?)),
            _ => None,
        }
    }

    fn fill_live_maps(&mut self, frame_words: usize) -> Vec<u64> {
        let mut wide_maps: Vec<u64> = Vec::new();
        let mut patches = Vec::new();
        let table = LivenessTable::new(&self.words, frame_words);
        debug_assert!(
            table.is_ok(),
            "the assembler binds every label it refers to"
        );
        if let Ok(table) = table {
            table.each_live_map(&self.words, |call: &Instruction, live| {
                let word = encode_live_map(live, call.a()).unwrap_or_else(|words| {
                    let index = wide_maps.len() as u32;
                    wide_maps.extend(words);
                    WIDE_MAP | index
                });
                if let Some(at) = call.extension_pc(Extension::LiveMap) {
                    patches.push((at, word));
                }
            });
        }
        for (at, word) in patches {
            self.words[at] = word;
        }
        wide_maps
    }
}
