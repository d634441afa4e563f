//! Builds the nodes of one bytecode instruction: the match over opcodes, and the instructions that
//! have no module of their own.
//!
//! Owns registers, constants, global and captured variables, closures, type tests and entry
//! instructions; arithmetic, objects, calls and primitives have modules beside this one. An
//! instruction that the builder does not open-code becomes a runtime instruction
//! (`Builder::runtime`) with a state, after which values must be loaded again. A guard always
//! carries the state before its instruction, so that the interpreter repeats the whole instruction
//! after a side exit.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0};
use canny_tables::opcodes::{Extension, Opcode, Operand, Window, field_c, field_wide};

use super::control::{Facts, test_for};
use super::steps::{Asked, Step, step};
use super::{Activation, BuildError, Builder, KnownType};
use crate::graph::{Comparison, Condition, Memory, NodeId, Op, Terminator, Test};
use crate::snapshot::{PoolItem, is_call};
use crate::types::Type;

/// Where to continue if not at the next instruction.
pub(super) type Skipped = Option<usize>;

impl Builder<'_> {
    /// Follows one instruction; control may end here, or have been sent to later ones.
    pub(super) fn instruction(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<Skipped, BuildError> {
        let opcode = instruction.opcode;
        let is_break = activation.code.breaks.contains(&activation.pc);
        if is_break || (is_call(opcode) && self.is_cold(activation)) {
            self.exit(activation);
            return Ok(None);
        }
        match step(opcode) {
            Step::Nothing => {}
            Step::Return => {
                let value = self.register(activation, instruction.a())?;
                self.return_value(activation, value);
            }
            Step::Jump => self.jump(activation, target(instruction)),
            Step::Loop => self.go_back(activation, target(instruction)),
            Step::TypeTest { .. } => self.type_test(activation, instruction)?,
            Step::SameTest => self.same_test(activation, instruction)?,
            Step::RecordTest => self.record_test(activation, instruction)?,
            Step::Comparison {
                comparison,
                is_negated,
                is_immediate,
            } => {
                let x = self.register(activation, instruction.a())?;
                let y = if is_immediate {
                    self.fixnum(i64::from(instruction.wide() as i16))
                } else {
                    self.register(activation, instruction.b())?
                };
                self.comparison(activation, instruction, comparison, is_negated, x, y);
            }
            Step::CharacterComparison {
                comparison,
                is_negated,
            } => self.character_comparison(activation, instruction, comparison, is_negated)?,
            Step::Entry => self.entry(activation, instruction)?,
            Step::CaseEntry => self.case_entry(activation, instruction),
            Step::KeywordEntry => match activation.argument_count {
                Some(count) => self.keyword_entry(activation, instruction, count)?,
                None => self.runtime_many(activation, instruction),
            },
            Step::Unpack => self.unpack(activation, instruction)?,
            Step::MakeClosure => return self.make_closure(activation, instruction),
            Step::Cons => self.new_pair(activation, instruction)?,
            Step::ListRef(path) => self.list_access(activation, instruction, path)?,
            Step::SetPair(offset, memory) => {
                self.set_pair(activation, instruction, offset, memory)?;
            }
            Step::Arithmetic => self.arithmetic_instruction(activation, instruction)?,
            step @ (Step::ElementRef(_)
            | Step::ElementSet(_)
            | Step::Length(_)
            | Step::CharacterToInteger
            | Step::IntegerToCharacter
            | Step::RecordRef
            | Step::RecordSet) => self.object_access(activation, instruction, step)?,
            Step::ClassKey => self.class_key(activation, instruction)?,
            Step::MakeRecord => self.make_record(activation, instruction)?,
            Step::Call => self.call(activation, instruction)?,
            Step::Count => self.count(activation, instruction)?,
            Step::CountCall => self.count_call(activation, instruction)?,
            Step::Primitive => self.primitive(activation, instruction)?,
            Step::GlobalSet => self.global_set(activation, instruction)?,
            step @ (Step::Move
            | Step::LoadImmediate
            | Step::LoadConstant
            | Step::GlobalRef
            | Step::SelfRef
            | Step::Free
            | Step::ClosureSet
            | Step::MakeBox
            | Step::BoxRef
            | Step::BoxSet
            | Step::CheckDefined) => self.variable(activation, instruction, step)?,
            Step::Runtime if instruction.row().window == Window::None => {
                self.runtime(activation, instruction, Type::ANY);
            }
            Step::Runtime => self.runtime_many(activation, instruction),
            Step::Interpreter => self.exit(activation),
        }
        Ok(None)
    }

    fn arithmetic_instruction(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let x = self.register(activation, instruction.b())?;
        let y = if instruction.row().operands[2] == Operand::Signed8 {
            self.fixnum(i64::from(field_c(instruction.first_word()) as i8))
        } else {
            self.register(activation, instruction.c())?
        };
        match self.arithmetic(activation, instruction.opcode, x, y) {
            Some(value) => activation.environment.set(instruction.a(), value),
            None => self.runtime(activation, instruction, Type::NUMBER),
        }
        Ok(())
    }

    /// Registers, global and captured variables, and boxes.
    fn variable(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        step: Step,
    ) -> Result<(), BuildError> {
        match step {
            Step::Move => {
                let value = self.register(activation, instruction.b())?;
                activation.environment.set(instruction.a(), value);
            }
            Step::LoadImmediate => {
                let value = self.word(i64::from(instruction.wide() as i16) as u64);
                activation.environment.set(instruction.a(), value);
            }
            Step::LoadConstant => {
                let value = self.pool_constant(activation, instruction)?;
                activation.environment.set(instruction.a(), value);
            }
            Step::GlobalRef => self.global_ref(activation, instruction)?,
            Step::SelfRef => {
                let closure = self.graph.frame(activation.frame).closure;
                activation.environment.set(instruction.a(), closure);
            }
            Step::Free => {
                let closure = self.graph.frame(activation.frame).closure;
                let offset = FIELD0 + 8 + 8 * i32::from(field_wide(instruction.first_word()));
                let value = self.load(activation, closure, offset, Memory::Constant);
                activation.environment.set(instruction.a(), value);
            }
            Step::ClosureSet => {
                let closure = self.register(activation, instruction.a())?;
                let value = self.register(activation, instruction.b())?;
                let offset = FIELD0 + 8 + 8 * i32::from(field_c(instruction.first_word()));
                self.store(closure, offset, value, Memory::Constant);
            }
            Step::MakeBox => {
                let value = self.register(activation, instruction.b())?;
                let object = self.make_box(activation, value);
                activation.environment.set(instruction.a(), object);
            }
            Step::BoxRef => {
                let object = self.register(activation, instruction.b())?;
                let value = match self.content_of(object) {
                    Some(content) => {
                        self.expect(activation, content);
                        content
                    }
                    None => self.load(activation, object, FIELD0, Memory::Box),
                };
                activation.environment.set(instruction.a(), value);
            }
            Step::BoxSet => {
                let object = self.register(activation, instruction.a())?;
                let value = self.register(activation, instruction.b())?;
                if !self.set_content(object, value) {
                    self.store(object, FIELD0, value, Memory::Box);
                }
            }
            Step::CheckDefined => {
                let value = self.register(activation, instruction.a())?;
                if self.ty(value).may_be(Type::OTHER_IMMEDIATE) {
                    self.leave_if(
                        activation,
                        Condition::Test(Test::Word(layout::UNBOUND), value),
                    );
                }
            }
            _ => return Err(BuildError::Unsupported("a step that is no variable's")),
        }
        Ok(())
    }

    /// The node in a register.
    pub(super) fn register(
        &self,
        activation: &Activation,
        register: usize,
    ) -> Result<NodeId, BuildError> {
        activation
            .environment
            .get(register)
            .ok_or(BuildError::Unsupported("a register without a value"))
    }

    /// Leaves the instruction to the runtime.
    pub(super) fn runtime(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        ty: Type,
    ) {
        self.make_boxes(activation);
        let state = self.state(activation);
        let value = self.push(Op::Runtime(state), ty);
        self.safepoint();
        let mut defines = false;
        instruction.each_definition(|_| defines = true);
        if defines {
            activation.environment.set(instruction.a(), value);
        }
        if let Some(seen) = self
            .profile
            .result_type(activation.code.word, activation.pc)
        {
            self.likely.insert(value, seen);
        }
    }

    /// Leaves an instruction that writes several registers to the runtime; outermost frames only.
    pub(super) fn runtime_many(&mut self, activation: &mut Activation, instruction: &Instruction) {
        let base = self.graph.frame(activation.frame).base;
        self.runtime(activation, instruction, Type::ANY);
        let mut registers = Vec::new();
        instruction.each_definition(|register| registers.push(register));
        registers.dedup();
        for register in registers {
            let value = self.push(Op::Reload(base + register as u32), Type::ANY);
            activation.environment.set(register, value);
        }
    }

    /// Continues only where the condition does not hold.
    pub(super) fn leave_if(&mut self, activation: &mut Activation, condition: Condition) {
        let state = self.state(activation);
        let leaves = self.graph.add_block();
        let stays = self.graph.add_block();
        self.graph.blocks[leaves.index()].terminator = Terminator::Exit(state);
        self.terminate(Terminator::Branch {
            condition,
            then: crate::graph::Edge {
                target: leaves,
                arguments: Vec::new(),
            },
            otherwise: crate::graph::Edge {
                target: stays,
                arguments: Vec::new(),
            },
        });
        self.block = Some(stays);
    }

    fn pool_item(
        &self,
        activation: &Activation,
        instruction: &Instruction,
    ) -> Result<(usize, PoolItem), BuildError> {
        let slot = instruction
            .pool_index(activation.code.pool.len())
            .ok_or(BuildError::Unsupported("a pool distance without a slot"))?;
        Ok((slot, activation.code.pool[slot].clone()))
    }

    fn pool_constant(
        &mut self,
        activation: &Activation,
        instruction: &Instruction,
    ) -> Result<NodeId, BuildError> {
        let (slot, item) = self.pool_item(activation, instruction)?;
        let address = activation.code.pool_address(slot);
        Ok(match item {
            PoolItem::Word(bits) => self.word(bits),
            PoolItem::Object { ty, code } => {
                let node = self.pure(Op::PoolSlot(address), ty);
                if let Some(code) = code {
                    self.known_code.insert(node, code);
                }
                node
            }
            PoolItem::Keyword(name) => {
                let node = self.pure(Op::PoolSlot(address), Type::OTHER_OBJECT);
                self.keywords.insert(node, name);
                node
            }
            _ => self.pure(Op::PoolSlot(address), Type::ANY),
        })
    }

    fn global_ref(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let (slot, item) = self.pool_item(activation, instruction)?;
        let PoolItem::Cell(cell) = item else {
            return Err(BuildError::Unsupported("a global that is no cell"));
        };
        let address = activation.code.pool_address(slot);
        if cell.ty.is_none() {
            self.exit(activation);
            return Ok(());
        }
        let is_known = cell.word.is_some() || cell.code.is_some() || cell.class_key.is_some();
        let watch = cell.is_watched && is_known;
        if watch && !self.graph.watched.contains(&cell.number) {
            self.graph.watched.push(cell.number);
        }
        let value = match cell.word {
            Some(bits) if watch => self.word(bits),
            _ => {
                let object = self.pure(Op::PoolSlot(address), Type::CELL);
                let ty = if watch { cell.ty } else { Type::ANY };
                let value = self.pure(Op::Load(object, FIELD0, Memory::Cell), ty);
                if watch && let Some(code) = cell.code {
                    self.known_code.insert(value, code);
                }
                if watch && let Some(class_key) = cell.class_key {
                    let known = KnownType {
                        class_key,
                        field_count: cell.field_count,
                    };
                    self.known_types.insert(value, known);
                }
                self.expect(activation, value);
                value
            }
        };
        activation.environment.set(instruction.a(), value);
        Ok(())
    }

    /// Assigns a global variable on whose value no code relies.
    fn global_set(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        if self
            .profile
            .is_unstable(activation.code.word, activation.pc)
        {
            self.runtime(activation, instruction, Type::ANY);
            return Ok(());
        }
        let (slot, item) = self.pool_item(activation, instruction)?;
        if !matches!(item, PoolItem::Cell(_)) {
            return Err(BuildError::Unsupported("a global that is no cell"));
        }
        let value = self.register(activation, instruction.a())?;
        let address = activation.code.pool_address(slot);
        let object = self.pure(Op::PoolSlot(address), Type::CELL);
        let state = self.state(activation);
        // Not to be merged with an earlier check: somebody may have begun to rely on it.
        self.push(Op::RequireMutable(object, state), Type::NONE);
        let load = Op::Load(object, FIELD0, Memory::Cell);
        let old = self.pure(load, Type::ANY);
        if self.ty(old).may_be(Type::OTHER_IMMEDIATE) {
            let unbound = Condition::Test(Test::Word(layout::UNBOUND), old);
            self.leave_if(activation, unbound);
        }
        self.store(object, FIELD0, value, Memory::Cell);
        Ok(())
    }

    /// Notes what the profile says of the value of the instruction at hand.
    pub(super) fn expect(&mut self, activation: &Activation, value: NodeId) {
        if let Some(seen) = self
            .profile
            .result_type(activation.code.word, activation.pc)
        {
            self.likely.entry(value).or_insert(seen);
        }
    }

    /// A load, or the value that is known to be there.
    pub(super) fn load(
        &mut self,
        activation: &Activation,
        object: NodeId,
        offset: i32,
        memory: Memory,
    ) -> NodeId {
        let value = self.pure(Op::Load(object, offset, memory), Type::ANY);
        self.expect(activation, value);
        value
    }

    pub(super) fn store(&mut self, object: NodeId, offset: i32, value: NodeId, memory: Memory) {
        let value = self.tagged(value);
        self.push(Op::Store(object, offset, value, memory), Type::NONE);
        self.numbering.store(memory);
        if memory == Memory::Constant {
            // A loop around was entered with what it loaded before.
            self.epochs += 1;
            self.numbering.epoch = self.epochs;
        }
        self.numbering.add(Op::Load(object, offset, memory), value);
    }

    fn type_test(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let question =
            TypeQuestion::of(instruction).ok_or(BuildError::Unsupported("an unknown kind"))?;
        let value = self.register(activation, instruction.a())?;
        let (test, holds, fails) = (question.test, question.holds, question.fails);
        let value = if test == Test::Kind(Kind::Closure) {
            self.likely_no_procedure(activation, value)
        } else {
            value
        };
        if self.block.is_none() {
            return Ok(());
        }
        let answer = question.answer(self.ty(value));
        let answer = answer.or_else(|| question.answer_for(self.constant(value)?));
        match answer {
            Some(true) => {
                self.jump(activation, holds);
                return Ok(());
            }
            Some(false) => {
                self.jump(activation, fails);
                return Ok(());
            }
            None => {}
        }
        let wanted = super::type_of_test(test);
        let precise = question.is_precise();
        let value = self.tagged(value);
        let yes: Facts = vec![(value, wanted)];
        let no: Facts = if precise {
            vec![(value, Type::ANY.without(wanted))]
        } else {
            Vec::new()
        };
        self.branch(
            activation,
            Condition::Test(test, value),
            (holds, yes),
            (fails, no),
        );
        Ok(())
    }

    /// Where objects may be called, `procedure?` is the first of several questions about what is
    /// called, and the next ones have the same answer each time. A guard answers them all, and can be
    /// asked before a loop.
    fn likely_no_procedure(&mut self, activation: &mut Activation, value: NodeId) -> NodeId {
        let likely = self.guess(value);
        let is_open = self.ty(value).may_be(Type::CLOSURE) && !likely.may_be(Type::CLOSURE);
        match test_for(likely) {
            Some(test) if is_open && self.is_stable(activation) => {
                let value = self.tagged(value);
                self.guard(activation, test, value)
            }
            _ => value,
        }
    }

    fn same_test(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let x = self.register(activation, instruction.a())?;
        let y = self.register(activation, instruction.b())?;
        let (x, y) = (self.tagged(x), self.tagged(y));
        let (target, next) = (target(instruction), instruction.next_pc());
        let (same, different) = if instruction.opcode == Opcode::JumpEq {
            (target, next)
        } else {
            (next, target)
        };
        if x == y {
            self.jump(activation, same);
        } else if let (Some(left), Some(right)) = (self.constant(x), self.constant(y)) {
            self.jump(activation, if left == right { same } else { different });
        } else if let Some((record, key)) = self.compared_class_key(x, y) {
            self.class_key_test(activation, (x, y), (record, key), (same, different));
        } else {
            let facts = vec![(x, self.ty(y)), (y, self.ty(x))];
            self.branch(
                activation,
                Condition::Same(x, y),
                (same, facts),
                (different, Facts::new()),
            );
        }
        Ok(())
    }

    fn character_comparison(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        comparison: Comparison,
        negated: bool,
    ) -> Result<(), BuildError> {
        let x = self.register(activation, instruction.a())?;
        let y = self.register(activation, instruction.b())?;
        let x = self.guard(activation, Test::Character, x);
        let y = if self.block.is_some() {
            self.guard(activation, Test::Character, y)
        } else {
            y
        };
        if self.block.is_none() {
            return Ok(());
        }
        let (target, next) = (target(instruction), instruction.next_pc());
        let (holds, fails) = if negated {
            (next, target)
        } else {
            (target, next)
        };
        self.branch(
            activation,
            Condition::Characters(comparison, x, y),
            (holds, Facts::new()),
            (fails, Facts::new()),
        );
        Ok(())
    }

    /// `make-closure` and the `closure-set` that follow it, if they are plain.
    fn make_closure(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<Skipped, BuildError> {
        let (slot, item) = self.pool_item(activation, instruction)?;
        let address = activation.code.pool_address(slot);
        let code = self.pure(Op::PoolSlot(address), Type::OTHER_OBJECT);
        let register = instruction.a();
        let count = instruction.b();
        let words = activation.code.instructions.clone();
        let mut fields = vec![code];
        let mut pc = instruction.next_pc();
        let mut captured: Vec<Option<NodeId>> = vec![None; count];
        while captured.iter().any(Option::is_none) {
            let Ok(set) = Instruction::decode(&words, pc) else {
                break;
            };
            let at = usize::from(field_c(set.first_word()));
            if set.opcode != Opcode::ClosureSet
                || set.a() != register
                || set.b() == register
                || at >= count
            {
                break;
            }
            let value = self.register(activation, set.b())?;
            captured[at] = Some(self.tagged(value));
            pc = set.next_pc();
        }
        let complete = captured.iter().all(Option::is_some);
        for value in captured {
            let zero = self.word(0);
            fields.push(value.filter(|_| complete).unwrap_or(zero));
        }
        let closure = if complete {
            self.allocate(Kind::Closure, fields, Type::CLOSURE)
        } else {
            self.push(Op::Allocate(Kind::Closure, fields), Type::CLOSURE)
        };
        if let PoolItem::Code(code) = item {
            self.known_code.insert(closure, code);
        }
        activation.environment.set(register, closure);
        Ok(complete.then_some(pc))
    }

    /// The number in an extension word.
    pub(super) fn number(instruction: &Instruction) -> Result<u32, BuildError> {
        instruction
            .extension(Extension::Number)
            .ok_or(BuildError::Unsupported("an instruction without its number"))
    }
}

/// A branch by a property of one register.
pub(super) struct TypeQuestion {
    pub(super) register: usize,
    test: Test,
    /// Where it continues if the value has it, and if not.
    pub(super) holds: usize,
    pub(super) fails: usize,
}

impl TypeQuestion {
    /// Returns the question that an instruction asks; none if it is no such branch.
    pub(super) fn of(instruction: &Instruction) -> Option<TypeQuestion> {
        let Step::TypeTest { test, is_negated } = step(instruction.opcode) else {
            return None;
        };
        let test = match test {
            Asked::Test(test) => test,
            Asked::Word => Test::Word(immediate(instruction)),
            Asked::Kind => Test::Kind(Kind::from_byte(instruction.b() as u8)?),
        };
        let (target, next) = (target(instruction), instruction.next_pc());
        let (holds, fails) = if is_negated {
            (next, target)
        } else {
            (target, next)
        };
        Some(TypeQuestion {
            register: instruction.a(),
            test,
            holds,
            fails,
        })
    }

    /// Whether all values of the type that the test is about pass it: these words have a type each, and
    /// of some kinds several objects share a type.
    fn is_precise(&self) -> bool {
        match self.test {
            Test::Word(word) => matches!(word, layout::FALSE | layout::TRUE | layout::NIL),
            Test::Kind(kind) => super::type_of_test(self.test).kind() == Some(kind),
            _ => true,
        }
    }

    /// The answer for every value of a type, if there is one.
    pub(super) fn answer(&self, ty: Type) -> Option<bool> {
        let wanted = super::type_of_test(self.test);
        if !ty.may_be(wanted) {
            return Some(false);
        }
        (self.is_precise() && ty.is(wanted)).then_some(true)
    }

    /// The answer for a word.
    pub(super) fn answer_for(&self, bits: u64) -> Option<bool> {
        match self.test {
            Test::Word(word) => Some(bits == word),
            _ => None,
        }
    }
}

fn target(instruction: &Instruction) -> usize {
    instruction
        .branch_target()
        .and_then(|target| usize::try_from(target).ok())
        .unwrap_or(0)
}

fn immediate(instruction: &Instruction) -> u64 {
    i64::from(instruction.wide() as i16) as u64
}
