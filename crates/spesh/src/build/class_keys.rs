//! Facts about the types of records: behind a comparison of class keys a record is of exactly the
//! type, behind a check it is of the type or of one derived from it. A record keeps its type, so
//! these facts survive any call.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIELD0, FIXNUM_SHIFT, class_key, record_type};

use super::control::test_for;
use super::{Activation, BuildError, Builder, KnownType};
use crate::graph::{Condition, Memory, NodeId, Op, Test};
use crate::types::Type;

impl Builder<'_> {
    /// The class key: of one type of values it is known, of records it is in their type.
    pub(super) fn class_key(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let x = self.register(activation, instruction.b())?;
        if let Some(key) = known_key(self.ty(x)) {
            let key = self.fixnum(key);
            activation.environment.set(instruction.a(), key);
            return Ok(());
        }
        let likely = self.guess(x);
        let test = if likely.is_none() || !self.is_stable(activation) {
            None
        } else if likely.is(Type::RECORD) {
            Some(Test::Kind(Kind::Record))
        } else {
            known_key(likely).and(test_for(likely))
        };
        let key = if let Some(test) = test {
            let x = self.guard(activation, test, x);
            if self.block.is_none() {
                return Ok(());
            }
            match known_key(self.ty(x)) {
                Some(key) => self.fixnum(key),
                None => {
                    let record_type = self.type_of_record(x);
                    self.word_of_type(record_type, record_type::SERIAL, Type::FIXNUM)
                }
            }
        } else {
            let x = self.tagged(x);
            self.pure(Op::ClassKey(x), Type::FIXNUM)
        };
        activation.environment.set(instruction.a(), key);
        Ok(())
    }

    /// The record whose class key is one of two values, if the other is a constant, and that constant.
    pub(super) fn compared_class_key(&self, x: NodeId, y: NodeId) -> Option<(NodeId, NodeId)> {
        let (key, constant) = match (self.constant(x), self.constant(y)) {
            (None, Some(_)) => (x, y),
            (Some(_), None) => (y, x),
            _ => return None,
        };
        let record_type = self.loaded_from(key, record_type::SERIAL)?;
        let record = self.loaded_from(record_type, 0)?;
        let is_record = self.ty(record_type).is(Type::RECORD_TYPE);
        is_record.then_some((record, constant))
    }

    /// The object of which a value is a word that never changes.
    fn loaded_from(&self, value: NodeId, index: usize) -> Option<NodeId> {
        match self.graph.node(value).op {
            Op::Load(object, offset, Memory::Constant) if offset == FIELD0 + 8 * index as i32 => {
                Some(object)
            }
            _ => None,
        }
    }

    /// Goes one way where a record has a class key, and the other where not.
    pub(super) fn class_key_test(
        &mut self,
        activation: &mut Activation,
        (x, y): (NodeId, NodeId),
        (record, key): (NodeId, NodeId),
        (same, different): (usize, usize),
    ) {
        let [is, is_not] = self.fork(Condition::Same(x, y));
        let class = self.constant(key);
        let ty = class.map_or(Type::RECORD, |key| {
            Type::record_of(key as i64 >> FIXNUM_SHIFT)
        });
        self.follow_aside(activation, is, |builder, activation| {
            builder.numbering.add_class_key(record, key);
            let refined = builder.refine(activation, record, ty);
            builder.numbering.add_class_key(refined, key);
            builder.jump(activation, same);
        });
        self.block = Some(is_not);
        self.jump(activation, different);
    }

    /// Whether the record is of a type: `Some` where its own type is known, `Some(true)` where a check
    /// before said so.
    pub(super) fn known_type_test(&self, record: NodeId, wanted: NodeId) -> Option<bool> {
        if self.is_of_known_type(record, wanted) {
            return Some(true);
        }
        let KnownType { class_key, .. } = self.known_types.get(&wanted)?;
        let class = self.ty(record).record_class()?;
        let record_type = self.source.record_type(class)?;
        Some(record_type.ancestors.contains(class_key))
    }

    /// Whether a comparison or a check before says that the record is of a type.
    fn is_of_known_type(&self, record: NodeId, wanted: NodeId) -> bool {
        let Some(KnownType { class_key, .. }) = self.known_types.get(&wanted) else {
            return false;
        };
        let class = self.ty(record).record_class();
        if class.is_some_and(|class| i64::from(class) == *class_key) {
            return true;
        }
        let actual = self.numbering.class_key(record);
        let actual = actual.and_then(|key| self.constant(key));
        actual == Some((class_key << FIXNUM_SHIFT) as u64)
            || self.numbering.is_record_of(record, *class_key)
    }

    /// Notes that a check said so.
    pub(super) fn note_record_of(&mut self, record: NodeId, wanted: NodeId) {
        if let Some(KnownType { class_key, .. }) = self.known_types.get(&wanted) {
            self.numbering.add_record_of(record, *class_key);
        }
    }

    /// Whether records of a type have a field with this index, as far as that is known.
    pub(super) fn has_field(&self, record_type: NodeId, index: usize) -> bool {
        let known = self.known_types.get(&record_type);
        known.is_some_and(|known| index < known.field_count as usize)
    }
}

/// The class key of all values of a type, if they have one.
fn known_key(ty: Type) -> Option<i64> {
    Some(match ty {
        Type::FIXNUM => class_key::FIXNUM,
        Type::FLONUM => Kind::Flonum as i64,
        Type::PAIR => class_key::PAIR,
        Type::NIL => class_key::NIL,
        Type::FALSE | Type::TRUE | Type::BOOLEAN => class_key::BOOLEAN,
        Type::CHARACTER => class_key::CHARACTER,
        _ if ty.any_record() == Type::RECORD => ty.record_class()?.into(),
        _ => ty.kind()? as i64,
    })
}
