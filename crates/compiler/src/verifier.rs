//! Checks bytecode that nobody vouches for, completely: code that passes cannot make the machine
//! touch memory that it should not, whatever it computes.
//!
//! The checks, for every code of a unit:
//! - each word is an instruction that compiled code may contain, or belongs to one;
//! - operands lie inside the frame, captured slots inside the closure, pool distances on a slot of
//!   the right kind, indices inside the unit's tables;
//! - branches go forward and `loop` goes back, both to the start of an instruction, and nothing
//!   falls off the end;
//! - on every path a register is written before it is read, boxes are opened only where the
//!   register holds a box, cells likewise, and a new closure gets all its values before any other
//!   code can run;
//! - entry instructions come first and only in code with a variable number of arguments;
//! - live maps equal a recomputation.
//!
//! The analysis is a forward data flow over blocks with one [`RegisterType`] per register.

use std::collections::VecDeque;

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, code::VARIADIC};
use canny_tables::opcodes::{Extension, Flow, Opcode, OpcodeFlags, Operand, Slot};
use canny_tables::primitives::{self, Flags};

use crate::instruction::{Instruction, REGISTER_COUNT_MAX, instructions};
use crate::liveness::{LivenessTable, decode_live_map};
use crate::unit::{CodeBlock, CompiledUnit, PoolEntry, UnitSpan};

/// Why a unit is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The code, if the problem lies in one.
    pub code: Option<usize>,
    /// Word index of the instruction, if the problem lies in one.
    pub pc: Option<usize>,
    /// The problem found there.
    pub problem: Problem,
}

/// The problems of a unit that the verifier finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An index points outside its table.
    BadIndex(&'static str),
    /// The entry code takes arguments or captures values.
    BadEntryCode,
    /// A word is not an instruction.
    NotAnInstruction,
    /// An opcode that compiled code never contains.
    ForbiddenOpcode(Opcode),
    /// A register outside the frame.
    OutsideFrame,
    /// The frame is larger than registers can be numbered, or smaller than the parameters.
    BadFrame,
    /// An unused field is not zero, or a field has a value without meaning.
    BadOperand,
    /// A branch does not lead to an instruction, or in the wrong direction.
    BadTarget,
    /// Control falls off the end.
    FallsOffEnd,
    /// A register is read that is not written on every path.
    Unwritten(usize),
    /// A register does not hold what the instruction needs.
    WrongType(usize),
    /// A pool distance hits no slot or one of the wrong kind.
    BadPoolSlot,
    /// A primitive is applied to the wrong number of arguments or cannot be applied directly.
    BadPrimitive,
    /// An entry instruction in the wrong place, or missing.
    BadEntry,
    /// A closure does not get all its values at once.
    UnfinishedClosure,
    /// A live map differs from the registers that are live.
    WrongLiveMap,
    /// The description of the parameters does not fit the code.
    BadParameters,
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "invalid bytecode: {:?}", self.problem)?;
        if let Some(code) = self.code {
            write!(formatter, " in code {code}")?;
        }
        if let Some(pc) = self.pc {
            write!(formatter, " at word {pc}")?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}

/// Checks a whole unit.
pub fn verify_unit(unit: &CompiledUnit) -> Result<(), VerifyError> {
    let whole = |problem| VerifyError {
        code: None,
        pc: None,
        problem,
    };
    let entry = unit
        .codes
        .get(unit.entry as usize)
        .ok_or_else(|| whole(Problem::BadIndex("entry code")))?;
    if entry.arity != 0 || entry.captured != 0 {
        return Err(whole(Problem::BadEntryCode));
    }
    for (index, row) in unit.inlinings.iter().enumerate() {
        if !is_known_place(unit, row.call, index) {
            return Err(whole(Problem::BadIndex("inlining")));
        }
    }
    for index in 0..unit.codes.len() {
        verify_code(unit, index)?;
    }
    Ok(())
}

/// Whether a position names a source there is, and a copy among the first so many.
fn is_known_place(unit: &CompiledUnit, span: UnitSpan, inlinings: usize) -> bool {
    (span.source as usize) < unit.sources.len() && span.inlining as usize <= inlinings
}

/// Checks one code of a unit.
pub fn verify_code(unit: &CompiledUnit, index: usize) -> Result<(), VerifyError> {
    let code = unit.codes.get(index).ok_or(VerifyError {
        code: Some(index),
        pc: None,
        problem: Problem::BadIndex("code"),
    })?;
    Verifier { unit, code }
        .run()
        .map_err(|(pc, problem)| VerifyError {
            code: Some(index),
            pc,
            problem,
        })
}

type Failure = (Option<usize>, Problem);

/// The type of value in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterType {
    /// Nothing that may be read.
    Undefined,
    /// Any tagged value.
    Value,
    /// A box.
    Box,
    /// A global's cell.
    Cell,
}

/// A closure that has not got all its values yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unfinished {
    register: usize,
    code: usize,
    missing: Vec<u32>,
}

/// The state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Whether the parameters are in place.
    entered: bool,
    registers: Vec<RegisterType>,
}

impl State {
    /// Weakens this state to what also holds in `other`; tells whether it changed, or `None` when
    /// the two cannot meet.
    fn meet(&mut self, other: &State) -> Option<bool> {
        if self.entered != other.entered {
            return None;
        }
        let mut changed = false;
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            let met = match (*mine, *theirs) {
                (left, right) if left == right => left,
                (RegisterType::Undefined, _) | (_, RegisterType::Undefined) => {
                    RegisterType::Undefined
                }
                _ => RegisterType::Value,
            };
            changed |= met != *mine;
            *mine = met;
        }
        Some(changed)
    }
}

struct Verifier<'a> {
    unit: &'a CompiledUnit,
    code: &'a CodeBlock,
}

impl Verifier<'_> {
    fn run(&self) -> Result<(), Failure> {
        self.check_header().map_err(|problem| (None, problem))?;
        let words = &self.code.instructions;
        let mut starts = vec![false; words.len()];
        let mut leaders = vec![false; words.len()];
        for decoded in instructions(words) {
            let instruction = decoded.map_err(|_| (None, Problem::NotAnInstruction))?;
            let pc = instruction.pc;
            starts[pc] = true;
            self.check_fields(&instruction)
                .map_err(|problem| (Some(pc), problem))?;
        }
        for instruction in instructions(words).flatten() {
            let pc = instruction.pc;
            if let Some(target) = instruction.branch_target() {
                let target = usize::try_from(target)
                    .ok()
                    .filter(|at| starts.get(*at) == Some(&true));
                let target = target.ok_or((Some(pc), Problem::BadTarget))?;
                let forward = target >= instruction.next_pc();
                if forward == (instruction.row().flow == Flow::Loop) {
                    return Err((Some(pc), Problem::BadTarget));
                }
                leaders[target] = true;
            }
            if instruction.falls_through() && instruction.next_pc() >= words.len() {
                return Err((Some(pc), Problem::FallsOffEnd));
            }
            if instruction.row().flow != Flow::Next && instruction.next_pc() < words.len() {
                leaders[instruction.next_pc()] = true;
            }
        }
        self.check_flow(&leaders)?;
        self.check_live_maps()
    }

    fn check_header(&self) -> Result<(), Problem> {
        let code = self.code;
        if code.instructions.is_empty() {
            return Err(Problem::FallsOffEnd);
        }
        let frame = code.frame_words as usize;
        if frame > REGISTER_COUNT_MAX || code.captured > u32::from(u16::MAX) {
            return Err(Problem::BadFrame);
        }
        // A `case-lambda` may have no clauses.
        if code.arity != VARIADIC {
            let fits = matches!(code.clauses.as_slice(), [clause]
                if clause.arguments_min() == code.arity as usize
                    && clause.arguments_max() == Some(code.arity as usize));
            if !fits {
                return Err(Problem::BadParameters);
            }
            if code.arity as usize > frame {
                return Err(Problem::BadFrame);
            }
        }
        let ascending = code.captured_boxes.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending
            || code
                .captured_boxes
                .last()
                .is_some_and(|last| *last >= code.captured)
        {
            return Err(Problem::BadIndex("captured box"));
        }
        if code.pool.len() > u32::MAX as usize / 4 {
            return Err(Problem::BadPoolSlot);
        }
        code.pool
            .iter()
            .try_for_each(|entry| self.check_pool_entry(entry))?;
        let mut spans = code.positions.iter().map(|(_, span)| span).chain(code.span);
        let inlinings = self.unit.inlinings.len();
        if !spans.all(|span| is_known_place(self.unit, span, inlinings)) {
            return Err(Problem::BadIndex("source"));
        }
        if code
            .enclosing
            .is_some_and(|enclosing| enclosing as usize >= self.unit.codes.len())
        {
            return Err(Problem::BadIndex("enclosing code"));
        }
        Ok(())
    }

    fn check_pool_entry(&self, entry: &PoolEntry) -> Result<(), Problem> {
        match entry {
            PoolEntry::Constant(index) => {
                self.unit
                    .constants
                    .get(*index as usize)
                    .ok_or(Problem::BadIndex("constant"))?;
            }
            PoolEntry::Code(index) => {
                self.unit
                    .codes
                    .get(*index as usize)
                    .ok_or(Problem::BadIndex("code"))?;
            }
            PoolEntry::Closure(index) => {
                let code = self
                    .unit
                    .codes
                    .get(*index as usize)
                    .ok_or(Problem::BadIndex("code"))?;
                if code.captured != 0 {
                    return Err(Problem::UnfinishedClosure);
                }
            }
            PoolEntry::Primitive(number) => {
                primitives::all()
                    .get(usize::from(*number))
                    .ok_or(Problem::BadIndex("primitive"))?;
            }
            PoolEntry::Global(_) | PoolEntry::Keywords(_) => {}
        }
        Ok(())
    }

    fn pool_entry(&self, instruction: &Instruction) -> Result<&PoolEntry, Problem> {
        let index = instruction
            .pool_index(self.code.pool.len())
            .ok_or(Problem::BadPoolSlot)?;
        self.code.pool.get(index).ok_or(Problem::BadPoolSlot)
    }

    /// Checks all that needs no data flow.
    fn check_fields(&self, instruction: &Instruction) -> Result<(), Problem> {
        let row = instruction.row();
        let frame = self.code.frame_words as usize;
        let fields = [instruction.a(), instruction.b(), instruction.c()];
        if row.flags.has(OpcodeFlags::MACHINE.or(OpcodeFlags::COUNTS)) {
            return Err(Problem::ForbiddenOpcode(instruction.opcode));
        }
        let wide_at = row.operands.iter().position(|operand| operand.is_wide());
        for (index, (operand, field)) in row.operands.iter().zip(fields).enumerate() {
            let covered = wide_at.is_some_and(|at| index > at);
            if !covered {
                self.check_operand(instruction, *operand, field)?;
            }
        }
        if instruction.registers_needed() > frame {
            return Err(Problem::OutsideFrame);
        }
        if let Some(slot) = instruction.pool_slot() {
            self.check_slot(instruction, slot)?;
        }
        if instruction.extension(Extension::Primitive).is_some() {
            let (number, operands) = instruction.primitive_call().ok_or(Problem::BadPrimitive)?;
            let row = primitives::all()
                .get(number as usize)
                .ok_or(Problem::BadPrimitive)?;
            if !row.accepts(operands.len()) || row.flags.has(Flags::FRAME) {
                return Err(Problem::BadPrimitive);
            }
        }
        Ok(())
    }

    /// Checks what a field may be; registers are checked together.
    fn check_operand(
        &self,
        instruction: &Instruction,
        operand: Operand,
        field: usize,
    ) -> Result<(), Problem> {
        let defines = instruction.row().operands[0].is_written();
        let fits = match operand {
            Operand::None => field == 0,
            Operand::Positive => field > 0,
            Operand::Flag => field <= 1,
            // A word that is only compared gets into no register.
            Operand::Word16 => !defines || is_safe_word(instruction.wide() as i16),
            Operand::Captured16 if u32::from(instruction.wide()) >= self.code.captured => {
                return Err(Problem::BadIndex("captured value"));
            }
            Operand::Def | Operand::DefBox | Operand::UseDef => true,
            Operand::Use | Operand::UseBox | Operand::UseCell | Operand::UseClosure => true,
            Operand::Count | Operand::Signed8 | Operand::Unsigned8 => true,
            Operand::Signed16 | Operand::Unsigned16 | Operand::Captured16 => true,
            Operand::Constant16 | Operand::Cell16 | Operand::Name16 | Operand::Offset24 => true,
        };
        if fits {
            Ok(())
        } else {
            Err(Problem::BadOperand)
        }
    }

    /// Checks that the pool slot holds what the row says.
    fn check_slot(&self, instruction: &Instruction, slot: Slot) -> Result<(), Problem> {
        use canny_syntax::datum::Datum;
        let entry = self.pool_entry(instruction)?;
        let fits = match (slot, entry) {
            (Slot::Value, PoolEntry::Code(_) | PoolEntry::Keywords(_)) => false,
            (Slot::Value, _) => true,
            (Slot::Cell, entry) => matches!(entry, PoolEntry::Global(_)),
            (Slot::Code, PoolEntry::Code(index)) => self
                .unit
                .codes
                .get(*index as usize)
                .is_some_and(|code| code.captured as usize == instruction.b()),
            (Slot::Keywords, PoolEntry::Keywords(description)) => {
                description.optional_count as usize + description.names.len() == instruction.b()
            }
            (Slot::Name, PoolEntry::Constant(index)) => {
                let constant = self.unit.constants.get(*index as usize);
                matches!(constant, Some(Datum::Symbol(_)))
            }
            (Slot::Code | Slot::Keywords | Slot::Name, _) => false,
        };
        if fits {
            Ok(())
        } else {
            Err(Problem::BadPoolSlot)
        }
    }

    fn check_flow(&self, leaders: &[bool]) -> Result<(), Failure> {
        let words = &self.code.instructions;
        let frame = self.code.frame_words as usize;
        let variadic = self.code.arity == VARIADIC;
        let mut registers = vec![RegisterType::Undefined; frame];
        if !variadic {
            registers[..self.code.arity as usize].fill(RegisterType::Value);
        }
        let first = State {
            entered: !variadic,
            registers,
        };
        let mut states: Vec<Option<State>> = vec![None; words.len()];
        states[0] = Some(first);
        let mut pending = VecDeque::from([0usize]);
        while let Some(start) = pending.pop_front() {
            let Some(mut state) = states[start].clone() else {
                continue;
            };
            let mut unfinished: Vec<Unfinished> = Vec::new();
            let mut pc = start;
            loop {
                let instruction = Instruction::decode(words, pc)
                    .map_err(|_| (Some(pc), Problem::NotAnInstruction))?;
                self.step(&instruction, &mut state, &mut unfinished)
                    .map_err(|problem| (Some(pc), problem))?;
                let next = instruction.next_pc();
                let mut successors = [None, None];
                if let Some(target) = instruction.branch_target() {
                    successors[0] = usize::try_from(target).ok();
                }
                let ends_block = leaders.get(next) == Some(&true);
                if instruction.falls_through() && ends_block {
                    successors[1] = Some(next);
                }
                if (ends_block || !instruction.falls_through()) && !unfinished.is_empty() {
                    return Err((Some(pc), Problem::UnfinishedClosure));
                }
                for (index, successor) in successors.into_iter().enumerate() {
                    let Some(successor) = successor else { continue };
                    if index == 1 && is_box_test(&instruction) {
                        state.registers[instruction.a()] = RegisterType::Box;
                    }
                    let changed = match &mut states[successor] {
                        Some(known) => known
                            .meet(&state)
                            .ok_or((Some(successor), Problem::BadEntry))?,
                        unknown => {
                            *unknown = Some(state.clone());
                            true
                        }
                    };
                    if changed {
                        pending.push_back(successor);
                    }
                }
                if !instruction.falls_through() || ends_block {
                    break;
                }
                pc = next;
            }
        }
        Ok(())
    }

    /// Checks an instruction against the state before it and makes that the state after it.
    fn step(
        &self,
        instruction: &Instruction,
        state: &mut State,
        unfinished: &mut Vec<Unfinished>,
    ) -> Result<(), Problem> {
        let opcode = instruction.opcode;
        if opcode.has(OpcodeFlags::BEFORE_ENTRY) == state.entered {
            return Err(Problem::BadEntry);
        }
        let mut unwritten = None;
        instruction.each_use(|register| {
            if state.registers[register] == RegisterType::Undefined {
                unwritten.get_or_insert(register);
            }
        });
        if let Some(register) = unwritten {
            return Err(Problem::Unwritten(register));
        }
        let needs = |register: usize, wanted: RegisterType| {
            let fits = state.registers[register] == wanted;
            if fits {
                Ok(())
            } else {
                Err(Problem::WrongType(register))
            }
        };
        let row = opcode.row();
        let fields = [instruction.a(), instruction.b(), instruction.c()];
        for (operand, register) in row.operands.iter().zip(fields) {
            match operand {
                Operand::UseBox => needs(register, RegisterType::Box)?,
                Operand::UseCell => needs(register, RegisterType::Cell)?,
                Operand::UseClosure => self.fill_slot(instruction, register, state, unfinished)?,
                _ => {}
            }
        }
        if !unfinished.is_empty() && !may_stand_among_closures(instruction) {
            return Err(Problem::UnfinishedClosure);
        }
        let result = self.result_type(instruction, state)?;
        if let Some(register) = instruction.clobbered_from() {
            state.registers[register..].fill(RegisterType::Undefined);
        }
        let mut overwritten = false;
        instruction.each_definition(|register| {
            overwritten |= unfinished
                .iter()
                .any(|closure| closure.register == register);
            state.registers[register] = result;
        });
        if overwritten {
            return Err(Problem::UnfinishedClosure);
        }
        if instruction.pool_slot() == Some(Slot::Code) {
            self.open_closure(instruction, unfinished)?;
        }
        state.entered |= row.window.is_entry();
        Ok(())
    }

    fn result_type(
        &self,
        instruction: &Instruction,
        state: &State,
    ) -> Result<RegisterType, Problem> {
        if instruction.row().operands[0] == Operand::DefBox {
            return Ok(RegisterType::Box);
        }
        if instruction.pool_slot() == Some(Slot::Value) {
            let is_cell = matches!(self.pool_entry(instruction)?, PoolEntry::Global(_));
            return Ok(if is_cell {
                RegisterType::Cell
            } else {
                RegisterType::Value
            });
        }
        Ok(match instruction.opcode {
            Opcode::Move => state.registers[instruction.b()],
            Opcode::Free => {
                let slot = u32::from(instruction.wide());
                let is_box = self.code.captured_boxes.binary_search(&slot).is_ok();
                if is_box {
                    RegisterType::Box
                } else {
                    RegisterType::Value
                }
            }
            _ => RegisterType::Value,
        })
    }

    fn open_closure(
        &self,
        instruction: &Instruction,
        unfinished: &mut Vec<Unfinished>,
    ) -> Result<(), Problem> {
        let PoolEntry::Code(code) = self.pool_entry(instruction)? else {
            return Err(Problem::BadPoolSlot);
        };
        if instruction.b() > 0 {
            unfinished.push(Unfinished {
                register: instruction.a(),
                code: *code as usize,
                missing: (0..instruction.b() as u32).collect(),
            });
        }
        Ok(())
    }

    fn fill_slot(
        &self,
        instruction: &Instruction,
        register: usize,
        state: &State,
        unfinished: &mut Vec<Unfinished>,
    ) -> Result<(), Problem> {
        let at = unfinished
            .iter()
            .position(|closure| closure.register == register)
            .ok_or(Problem::WrongType(register))?;
        let closure = &mut unfinished[at];
        let slot = instruction.c() as u32;
        let missing = closure.missing.iter().position(|missing| *missing == slot);
        closure
            .missing
            .swap_remove(missing.ok_or(Problem::BadIndex("captured value"))?);
        let wants_box = self.unit.codes[closure.code]
            .captured_boxes
            .binary_search(&slot)
            .is_ok();
        let has_box = state.registers[instruction.b()] == RegisterType::Box;
        if wants_box && !has_box {
            return Err(Problem::WrongType(instruction.b()));
        }
        if closure.missing.is_empty() {
            unfinished.remove(at);
        }
        Ok(())
    }

    fn check_live_maps(&self) -> Result<(), Failure> {
        let code = self.code;
        let table = LivenessTable::new(&code.instructions, code.frame_words as usize)
            .map_err(|_| (None, Problem::BadTarget))?;
        let mut wrong = None;
        table.each_live_map(&code.instructions, |call, live| {
            let word = call.extension(Extension::LiveMap).unwrap_or(0);
            let same = decode_live_map(word, call.a(), &code.wide_maps)
                .is_some_and(|stored| stored.iter().eq(live.iter()));
            if !same {
                wrong = Some((Some(call.pc), Problem::WrongLiveMap));
            }
        });
        wrong.map_or(Ok(()), Err)
    }
}

/// Whether the instruction can stand between making a closure and filling it.
fn may_stand_among_closures(instruction: &Instruction) -> bool {
    let makes_vector = || {
        let (number, _) = instruction.primitive_call()?;
        Some(primitives::all().get(number as usize)?.name == "vector")
    };
    let opcode = instruction.opcode;
    opcode.has(OpcodeFlags::FILLS_CLOSURES)
        || opcode == Opcode::CallPrimitive && makes_vector() == Some(true)
}

/// Whether falling through this branch proves that R[a] is a box.
fn is_box_test(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::JumpNotKind && instruction.b() == Kind::Box as usize
}

/// Whether a sign-extended 16-bit word is a fixnum or an immediate that compiled code may hold.
fn is_safe_word(word: i16) -> bool {
    let word = i64::from(word) as u64;
    let payload = word >> 8;
    match word & 0xff {
        low if low & 3 == 0 => true,
        layout::CHARACTER_LOW_BYTE => payload <= 0x7f,
        low if low == layout::FALSE & 0xff => payload <= layout::DEFAULT >> 8,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_words_are_refused() {
        assert!(is_safe_word(-4));
        assert!(is_safe_word(layout::NIL as i16));
        assert!(!is_safe_word(1), "a pair reference");
        assert!(!is_safe_word(5), "an object reference");
        assert!(!is_safe_word(6), "a header");
        assert!(!is_safe_word(layout::RAISED as i16));
    }
}
