//! What is known of the types of records: behind a comparison of class keys a record is of the very type, behind a check it
//! is of the type or of one derived from that. A record keeps its type, so that remains known whatever is called.

use canny_tables::layout::{FIELD0, FIXNUM_SHIFT, record_type};

use super::{Activation, Builder, KnownType};
use crate::graph::{Condition, Memory, NodeId, Op};
use crate::types::Type;

impl Builder<'_> {
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
            Op::Load {
                object,
                offset,
                memory: Memory::Constant,
            } if offset == FIELD0 + 8 * index as i32 => Some(object),
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
        self.follow_aside(activation, is, |builder, activation| {
            builder.numbering.add_class_key(record, key);
            builder.jump(activation, same);
        });
        self.block = Some(is_not);
        self.jump(activation, different);
    }

    /// Whether a comparison or a check before says that the record is of a type.
    pub(super) fn is_of_known_type(&self, record: NodeId, wanted: NodeId) -> bool {
        let Some(KnownType { class_key, .. }) = self.known_types.get(&wanted) else {
            return false;
        };
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
