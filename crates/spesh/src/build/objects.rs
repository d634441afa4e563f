//! Pairs, vectors, strings, bytevectors, characters and records: accesses, stores and allocation.
//!
//! An access guards the kind, then the index against the length; both checks are numbered, so a
//! second access to the same object repeats neither. Contents of objects that were made in this
//! graph are remembered and replace loads until a store or safepoint. Where the profile says that
//! guards of an instruction fail often (not `is_stable`), the access is not speculated on.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, CAR, CDR, FIELD0, record_type};
use canny_tables::opcodes::Opcode;

use super::steps::Step;
use super::{Activation, BuildError, Builder};
use crate::graph::{Condition, Memory, NodeId, Op, Test};
use crate::types::Type;

/// Longest list whose length is found out from how it was made.
const LENGTH_MAX: usize = 32;

impl Builder<'_> {
    /// Whether speculation on the instruction at hand is worth it.
    pub(super) fn is_stable(&self, activation: &Activation) -> bool {
        !self
            .profile
            .is_unstable(activation.code.word, activation.pc)
    }

    pub(super) fn list_access(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        path: &[(i32, Memory)],
    ) -> Result<(), BuildError> {
        if !self.is_stable(activation) {
            self.runtime(activation, instruction, Type::ANY);
            return Ok(());
        }
        let mut value = self.register(activation, instruction.b())?;
        value = self.tagged(value);
        for (offset, memory) in path {
            let pair = self.guard(activation, Test::Pair, value);
            if self.block.is_none() {
                return Ok(());
            }
            value = self.pure(Op::Load(pair, *offset, *memory), Type::ANY);
        }
        self.expect(activation, value);
        activation.environment.set(instruction.a(), value);
        Ok(())
    }

    /// `make-record`: the number of fields is checked against the type's.
    pub(super) fn make_record(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let (first, count) = (instruction.a(), instruction.b());
        if !self.is_stable(activation) {
            self.runtime(activation, instruction, Type::RECORD);
            return Ok(());
        }
        let record_type = self.register(activation, first)?;
        let record_type = self.tagged(record_type);
        let record_type = self.guard(activation, Test::Kind(Kind::RecordType), record_type);
        if self.block.is_none() {
            return Ok(());
        }
        let known = self.known_types.get(&record_type).copied();
        if known.is_none_or(|known| known.field_count as usize != count - 1) {
            let names = self.word_of_type(record_type, record_type::FIELDS, Type::VECTOR);
            let length = self.pure(Op::Length(names), Type::FIXNUM);
            let wanted = self.fixnum(count as i64 - 1);
            let fits = Condition::Same(length, wanted);
            let state = self.state(activation);
            self.push(Op::Require(fits, state), Type::NONE);
        }
        let mut words = vec![record_type];
        for index in 1..count {
            let value = self.register(activation, first + index)?;
            words.push(self.tagged(value));
        }
        let ty = known.map_or(Type::RECORD, |known| Type::record_of(known.class_key));
        let record = self.allocate(Kind::Record, words, ty);
        self.note_record_of(record, record_type);
        activation.environment.set(first, record);
        Ok(())
    }

    pub(super) fn new_pair(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let car = self.register(activation, instruction.b())?;
        let cdr = self.register(activation, instruction.c())?;
        let (car, cdr) = (self.tagged(car), self.tagged(cdr));
        let pair = self.cons(car, cdr);
        activation.environment.set(instruction.a(), pair);
        Ok(())
    }

    /// A new pair, whose parts are known.
    pub(super) fn cons(&mut self, car: NodeId, cdr: NodeId) -> NodeId {
        let pair = self.push(Op::Cons(car, cdr), Type::PAIR);
        self.note_word(pair, CAR, Memory::Car, car);
        self.note_word(pair, CDR, Memory::Cdr, cdr);
        pair
    }

    /// A new object with these payload words, which are known.
    pub(super) fn allocate(&mut self, kind: Kind, words: Vec<NodeId>, ty: Type) -> NodeId {
        let object = self.push(Op::Allocate(kind, words.clone()), ty);
        if kind == Kind::Vector {
            for (index, word) in words.iter().enumerate() {
                let index = self.fixnum(index as i64);
                self.numbering.add(Op::LoadElement(object, index), *word);
            }
            let length = self.fixnum(words.len() as i64);
            self.numbering.add(Op::Length(object), length);
            let mutable = Op::RequireMutable(object, super::environment::NO_STATE);
            self.numbering.add(mutable, object);
            return object;
        }
        if kind == Kind::Values {
            let length = self.fixnum(words.len() as i64);
            self.numbering.add(Op::Length(object), length);
        }
        for (index, word) in words.into_iter().enumerate() {
            let memory = match kind {
                Kind::Box => Memory::Box,
                Kind::Record if index > 0 => Memory::Record,
                _ => Memory::Constant,
            };
            self.note_word(object, FIELD0 + 8 * index as i32, memory, word);
        }
        object
    }

    /// Notes what a word of a new object is.
    fn note_word(&mut self, object: NodeId, offset: i32, memory: Memory, word: NodeId) {
        let load = Op::Load(object, offset, memory);
        self.numbering.add(load, word);
    }

    /// Length of a list that was made here.
    pub(super) fn known_length(&self, list: NodeId) -> Option<usize> {
        let mut rest = list;
        for length in 0..=LENGTH_MAX {
            if self.constant(rest) == Some(layout::NIL) {
                return Some(length);
            }
            rest = self.numbering.find(&Op::Load(rest, CDR, Memory::Cdr))?;
        }
        None
    }

    /// Elements of a list that was made here, as they are now.
    pub(super) fn known_elements(&self, list: NodeId) -> Option<Vec<NodeId>> {
        let (mut elements, mut rest) = (Vec::new(), list);
        while self.constant(rest) != Some(layout::NIL) {
            if elements.len() == LENGTH_MAX {
                return None;
            }
            elements.push(self.numbering.find(&Op::Load(rest, CAR, Memory::Car))?);
            rest = self.numbering.find(&Op::Load(rest, CDR, Memory::Cdr))?;
        }
        Some(elements)
    }

    pub(super) fn set_pair(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        offset: i32,
        memory: Memory,
    ) -> Result<(), BuildError> {
        if !self.is_stable(activation) {
            self.runtime(activation, instruction, Type::ANY);
            return Ok(());
        }
        let pair = self.register(activation, instruction.a())?;
        let value = self.register(activation, instruction.b())?;
        let pair = self.tagged(pair);
        let pair = self.guard(activation, Test::Pair, pair);
        if self.block.is_none() {
            return Ok(());
        }
        self.store(pair, offset, value, memory);
        Ok(())
    }

    pub(super) fn object_access(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        step: Step,
    ) -> Result<(), BuildError> {
        if !self.is_stable(activation) {
            self.runtime(activation, instruction, Type::ANY);
            return Ok(());
        }
        match step {
            Step::ElementRef(kind) => {
                let object = self.register(activation, instruction.b())?;
                let index = self.register(activation, instruction.c())?;
                if let Some(value) = self.element(activation, kind, object, index) {
                    self.expect(activation, value);
                    activation.environment.set(instruction.a(), value);
                }
            }
            Step::ElementSet(kind) => {
                let object = self.register(activation, instruction.a())?;
                let index = self.register(activation, instruction.b())?;
                let value = self.register(activation, instruction.c())?;
                self.set_element(activation, kind, object, index, value);
            }
            Step::Length(kind) => {
                let object = self.register(activation, instruction.b())?;
                if let Some((_, length)) = self.sized(activation, kind, object) {
                    activation.environment.set(instruction.a(), length);
                }
            }
            Step::CharacterToInteger => {
                let x = self.register(activation, instruction.b())?;
                let x = self.guard(activation, Test::Character, x);
                if self.block.is_some() {
                    let value = self.pure(Op::CharacterToFixnum(x), Type::FIXNUM);
                    activation.environment.set(instruction.a(), value);
                }
            }
            Step::IntegerToCharacter => {
                let x = self.register(activation, instruction.b())?;
                let x = self.guard(activation, Test::Fixnum, x);
                if self.block.is_some() {
                    let state = self.state(activation);
                    let value = self.pure(Op::FixnumToCharacter(x, state), Type::CHARACTER);
                    activation.environment.set(instruction.a(), value);
                }
            }
            Step::RecordRef => self.record_access(activation, instruction, true)?,
            Step::RecordSet => self.record_access(activation, instruction, false)?,
            _ => return Err(BuildError::Unsupported("a step that is no object's")),
        }
        Ok(())
    }

    /// The object, checked to be of the kind, and its length.
    fn sized(
        &mut self,
        activation: &mut Activation,
        kind: Kind,
        object: NodeId,
    ) -> Option<(NodeId, NodeId)> {
        let object = self.tagged(object);
        let object = self.guard(activation, Test::Kind(kind), object);
        self.block?;
        let length = if kind == Kind::String {
            self.pure(Op::StringLength(object), Type::FIXNUM)
        } else {
            self.pure(Op::Length(object), Type::FIXNUM)
        };
        Some((object, length))
    }

    /// The index, checked to be inside.
    pub(super) fn inside(
        &mut self,
        activation: &mut Activation,
        index: NodeId,
        length: NodeId,
    ) -> Option<NodeId> {
        let index = self.guard(activation, Test::Fixnum, index);
        self.block?;
        if let (Some(at), Some(end)) = (self.constant(index), self.constant(length))
            && at < end
        {
            return Some(index);
        }
        let key = Op::RequireIndex(index, length, super::environment::NO_STATE);
        if self.numbering.find(&key).is_none() {
            let state = self.state(activation);
            self.pure(Op::RequireIndex(index, length, state), Type::NONE);
        }
        Some(index)
    }

    fn element(
        &mut self,
        activation: &mut Activation,
        kind: Kind,
        object: NodeId,
        index: NodeId,
    ) -> Option<NodeId> {
        let (object, length) = self.sized(activation, kind, object)?;
        let index = self.inside(activation, index, length)?;
        Some(match kind {
            Kind::Vector => self.pure(Op::LoadElement(object, index), Type::ANY),
            Kind::Bytevector => self.push(Op::LoadByte(object, index), Type::FIXNUM),
            _ => self.push(Op::StringRef(object, index), Type::CHARACTER),
        })
    }

    /// Checks that an object may be changed.
    pub(super) fn require_mutable(&mut self, activation: &mut Activation, object: NodeId) {
        let key = Op::RequireMutable(object, super::environment::NO_STATE);
        if self.numbering.find(&key).is_none() {
            let state = self.state(activation);
            self.pure(Op::RequireMutable(object, state), Type::NONE);
        }
    }

    fn set_element(
        &mut self,
        activation: &mut Activation,
        kind: Kind,
        object: NodeId,
        index: NodeId,
        value: NodeId,
    ) -> Option<()> {
        let (object, length) = self.sized(activation, kind, object)?;
        self.require_mutable(activation, object);
        let index = self.inside(activation, index, length)?;
        if kind == Kind::Vector {
            let value = self.tagged(value);
            self.push(Op::StoreElement(object, index, value), Type::NONE);
            self.numbering.store(Memory::Vector);
            self.numbering.add(Op::LoadElement(object, index), value);
        } else {
            let value = self.guard(activation, Test::Fixnum, value);
            self.block?;
            let limit = self.fixnum(256);
            let state = self.state(activation);
            self.pure(Op::RequireIndex(value, limit, state), Type::NONE);
            self.push(Op::StoreByte(object, index, value), Type::NONE);
        }
        Some(())
    }

    /// The record, checked to be of the wanted type.
    fn record_of(
        &mut self,
        activation: &mut Activation,
        record: NodeId,
        wanted: NodeId,
    ) -> Option<NodeId> {
        let record = self.tagged(record);
        let record = self.guard(activation, Test::Kind(Kind::Record), record);
        self.block?;
        let condition = Condition::RecordOf(record, wanted);
        let key = Op::Require(condition, super::environment::NO_STATE);
        if self.numbering.find(&key).is_none() && self.known_type_test(record, wanted) != Some(true)
        {
            let state = self.state(activation);
            self.pure(Op::Require(condition, state), Type::NONE);
            self.note_record_of(record, wanted);
        }
        Some(record)
    }

    fn record_access(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        reads: bool,
    ) -> Result<(), BuildError> {
        let (record, wanted) = if reads {
            (instruction.b(), instruction.c())
        } else {
            (instruction.a(), instruction.b())
        };
        let record = self.register(activation, record)?;
        let wanted = self.register(activation, wanted)?;
        let wanted = self.guard(activation, Test::Kind(Kind::RecordType), wanted);
        if self.block.is_none() {
            return Ok(());
        }
        let Some(record) = self.record_of(activation, record, wanted) else {
            return Ok(());
        };
        let index = Self::number(instruction)?;
        let offset = FIELD0 + 8 + 8 * index as i32;
        // A record of that type has the fields that the accessor was made for, but an accessor may name
        // a field that there is not; the length tells, if nothing else does.
        if !self.has_field(wanted, index as usize) {
            let length = self.pure(Op::Length(record), Type::FIXNUM);
            let at = self.fixnum(i64::from(index) + 1);
            let key = Op::RequireIndex(at, length, super::environment::NO_STATE);
            if self.numbering.find(&key).is_none() {
                let state = self.state(activation);
                self.pure(Op::RequireIndex(at, length, state), Type::NONE);
            }
        }
        if reads {
            let value = self.load(activation, record, offset, Memory::Record);
            activation.environment.set(instruction.a(), value);
        } else {
            let value = self.register(activation, instruction.c())?;
            self.store(record, offset, value, Memory::Record);
        }
        Ok(())
    }

    pub(super) fn record_test(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let target = instruction.branch_target().unwrap_or(0) as usize;
        let next = instruction.next_pc();
        if !self.is_stable(activation) {
            self.runtime_branch(activation, target, next);
            return Ok(());
        }
        let value = self.register(activation, instruction.a())?;
        let wanted = self.register(activation, instruction.b())?;
        let wanted = self.guard(activation, Test::Kind(Kind::RecordType), wanted);
        if self.block.is_none() {
            return Ok(());
        }
        let value = self.tagged(value);
        let (holds, fails) = if instruction.opcode == Opcode::JumpRecord {
            (target, next)
        } else {
            (next, target)
        };
        if !self.ty(value).may_be(Type::RECORD) {
            self.jump(activation, fails);
            return Ok(());
        }
        let record = if self.ty(value).is(Type::RECORD) {
            value
        } else {
            let [is, is_not] = self.fork(Condition::Test(Test::Kind(Kind::Record), value));
            self.follow_aside(activation, is_not, |builder, activation| {
                builder.refine(activation, value, Type::ANY.without(Type::RECORD));
                builder.jump(activation, fails);
            });
            self.block = Some(is);
            self.refine(activation, value, Type::RECORD)
        };
        let key = Op::Require(
            Condition::RecordOf(record, wanted),
            super::environment::NO_STATE,
        );
        let answer = match self.numbering.find(&key) {
            Some(_) => Some(true),
            None => self.known_type_test(record, wanted),
        };
        if let Some(answer) = answer {
            self.jump(activation, if answer { holds } else { fails });
            return Ok(());
        }
        let [is, is_not] = self.fork(Condition::RecordOf(record, wanted));
        self.follow_aside(activation, is, |builder, activation| {
            builder.numbering.add(key, record);
            builder.note_record_of(record, wanted);
            builder.jump(activation, holds);
        });
        self.block = Some(is_not);
        self.jump(activation, fails);
        Ok(())
    }
}
