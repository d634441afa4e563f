//! Builds the nodes of primitives on numeric vectors, of `string-set!`, and of the registers of the
//! dynamic state.
//!
//! Each access checks kind, element type and bounds with guards that side-exit to the primitive's
//! call, so the primitive raises the error. The checks give types to later questions about the same
//! node. `jit::lower::elements` emits the code of these nodes.

use canny_compiler::instruction::Instruction;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, thread};

use super::environment::NO_STATE;
use super::{Activation, BuildError, Builder};
use crate::elements::{self, ElementKind, Elements};
use crate::graph::{Comparison, Condition, NodeId, Op, Test};
use crate::types::Type;

/// Registers of the dynamic state by the primitives that read and write them.
const DYNAMIC: &[(&str, &str, i32)] = &[
    ("%winders", "%set-winders!", thread::WINDERS),
    ("%handlers", "%set-handlers!", thread::HANDLERS),
    ("%parameters", "%set-parameters!", thread::PARAMETERS),
];

impl Builder<'_> {
    /// The value of a primitive that is compiled to nodes of this file. None if it is not, or if
    /// control does not continue: then there is no block.
    pub(super) fn element_primitive(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        name: &str,
    ) -> Result<Option<NodeId>, BuildError> {
        if !self.is_stable(activation) {
            return Ok(None);
        }
        let mut operands = Vec::new();
        for register in instruction.uses() {
            operands.push(self.register(activation, register)?);
        }
        let value = match (name, &operands[..]) {
            ("%hash-table?", [x]) => Some(self.kind_question(Kind::HashTable, *x)),
            ("string-set!", [string, index, character]) => {
                self.set_character(activation, *string, *index, *character)
            }
            (_, []) => self.dynamic_register(name),
            (_, [value]) => self.set_dynamic_register(name, *value),
            (_, [vector, index]) => self.numeric_ref(activation, name, *vector, *index),
            (_, [vector, index, value]) => {
                self.numeric_set(activation, name, *vector, *index, *value)
            }
            _ => None,
        };
        Ok(value)
    }

    /// Whether a value is an object of a kind.
    fn kind_question(&mut self, kind: Kind, x: NodeId) -> NodeId {
        let x = self.tagged(x);
        let (ty, wanted) = (self.ty(x), Type::of_kind(kind));
        if ty.is(wanted) {
            return self.word(layout::TRUE);
        }
        if !ty.may_be(wanted) {
            return self.word(layout::FALSE);
        }
        let condition = Condition::Test(Test::Kind(kind), x);
        self.pure(Op::Boolean(condition), Type::BOOLEAN)
    }

    fn dynamic_register(&mut self, name: &str) -> Option<NodeId> {
        let (_, _, offset) = DYNAMIC.iter().find(|(reads, ..)| *reads == name)?;
        Some(self.push(Op::Dynamic(*offset), Type::ANY))
    }

    fn set_dynamic_register(&mut self, name: &str, value: NodeId) -> Option<NodeId> {
        let (_, _, offset) = DYNAMIC.iter().find(|(_, writes, _)| *writes == name)?;
        let value = self.tagged(value);
        self.push(Op::SetDynamic(*offset, value), Type::NONE);
        Some(self.word(layout::UNSPECIFIED))
    }

    /// The vector, checked to have these elements, and the index, checked to be inside.
    fn numeric_place(
        &mut self,
        activation: &mut Activation,
        elements: Elements,
        vector: NodeId,
        index: NodeId,
    ) -> Option<(NodeId, NodeId)> {
        let vector = self.tagged(vector);
        let test = Test::Elements(elements);
        let vector = self.guard(activation, test, vector);
        self.block?;
        // The value itself is known to pass, wherever it is asked again.
        self.numbering
            .add(Op::Guard(test, vector, NO_STATE), vector);
        let length = self.pure(Op::ElementCount(elements, vector), Type::FIXNUM);
        let index = self.inside(activation, index, length)?;
        Some((vector, index))
    }

    fn numeric_ref(
        &mut self,
        activation: &mut Activation,
        name: &str,
        vector: NodeId,
        index: NodeId,
    ) -> Option<NodeId> {
        let (elements, "-ref") = elements::of_primitive(name)? else {
            return None;
        };
        let (vector, index) = self.numeric_place(activation, elements, vector, index)?;
        let ty = match elements.kind {
            ElementKind::Float => Type::FLONUM,
            _ => Type::FIXNUM,
        };
        Some(self.push(Op::LoadNumber(elements, vector, index), ty))
    }

    fn numeric_set(
        &mut self,
        activation: &mut Activation,
        name: &str,
        vector: NodeId,
        index: NodeId,
        value: NodeId,
    ) -> Option<NodeId> {
        let (elements, "-set!") = elements::of_primitive(name)? else {
            return None;
        };
        let value = if elements.kind == ElementKind::Float {
            let number = self.likely_number(activation, value);
            self.block?;
            match self.ty(number) {
                ty if ty.is(Type::FLONUM) => self.float(number),
                ty if ty.is(Type::FIXNUM) => self.pure(Op::FixnumToFloat(number), Type::FLONUM),
                _ => return None,
            }
        } else {
            let number = self.guard(activation, Test::Fixnum, value);
            self.block?;
            self.in_range(activation, elements, number);
            number
        };
        let (vector, index) = self.numeric_place(activation, elements, vector, index)?;
        self.require_mutable(activation, vector);
        self.push(Op::StoreNumber(elements, vector, index, value), Type::NONE);
        Some(self.word(layout::UNSPECIFIED))
    }

    /// Checks that an integer is in the range of elements.
    fn in_range(&mut self, activation: &mut Activation, elements: Elements, number: NodeId) {
        let (least, greatest) = elements.range();
        if let Some(word) = self.constant(number)
            && (least..=greatest).contains(&((word as i64) >> layout::FIXNUM_SHIFT))
        {
            return;
        }
        if elements.kind == ElementKind::Unsigned {
            let limit = self.fixnum(greatest + 1);
            let state = self.state(activation);
            self.pure(Op::RequireIndex(number, limit, state), Type::NONE);
            return;
        }
        for (comparison, bound) in [
            (Comparison::GreaterEqual, least),
            (Comparison::LessEqual, greatest),
        ] {
            let bound = self.fixnum(bound);
            let state = self.state(activation);
            let condition = Condition::Fixnums(comparison, number, bound);
            self.pure(Op::Require(condition, state), Type::NONE);
        }
    }

    fn set_character(
        &mut self,
        activation: &mut Activation,
        string: NodeId,
        index: NodeId,
        character: NodeId,
    ) -> Option<NodeId> {
        let string = self.tagged(string);
        let string = self.guard(activation, Test::Kind(Kind::String), string);
        self.block?;
        let length = self.pure(Op::StringLength(string), Type::FIXNUM);
        self.require_mutable(activation, string);
        let index = self.inside(activation, index, length)?;
        let character = self.guard(activation, Test::Character, character);
        self.block?;
        let state = self.state(activation);
        self.push(Op::StringSet(string, index, character, state), Type::NONE);
        Some(self.word(layout::UNSPECIFIED))
    }
}
