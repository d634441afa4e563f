//! The builder's knowledge at a point of the bytecode: the node in each register, and value numbers
//! of earlier computations.
//!
//! `Environment` maps registers to nodes; `Numbering` finds an equal computation (common
//! subexpressions, loads, guards that have passed). A store invalidates loads of its memory, a
//! safepoint all loads and raises `epoch`. Each forward edge carries a copy of the two to the
//! instruction where it arrives (`Arrival`).

use std::collections::BTreeMap;

use canny_tables::leaves::LeafId;

use crate::code_map::FastMap;
use crate::graph::{BlockId, Comparison, Condition, FixnumOperation, Memory, NodeId, Op, StateId};

/// The node in each register; none where the register is dead or was never written.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    registers: Vec<Option<NodeId>>,
}

impl Environment {
    pub(super) fn new(count: usize) -> Environment {
        Environment {
            registers: vec![None; count],
        }
    }

    pub(super) fn get(&self, register: usize) -> Option<NodeId> {
        self.registers.get(register).copied().flatten()
    }

    pub(super) fn set(&mut self, register: usize, node: NodeId) {
        if register >= self.registers.len() {
            self.registers.resize(register + 1, None);
        }
        self.registers[register] = Some(node);
    }

    /// Puts `new` where `old` is: the same value, better known.
    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        for register in &mut self.registers {
            if *register == Some(old) {
                *register = Some(new);
            }
        }
    }
}

/// One of the ways by which control reaches an instruction.
pub(super) struct Arrival {
    pub(super) block: BlockId,
    pub(super) environment: Environment,
    pub(super) numbering: Numbering,
}

/// Computations whose result is still at hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering {
    values: FastMap<Key, NodeId>,
    /// Conditions that branches have asked, in the form of [`asked`], with their answers. A condition
    /// is about values, so its answer holds for ever.
    answers: FastMap<Condition, bool>,
    /// Contents of boxes that are not made ([`super::boxes`]).
    pub(super) boxes: BTreeMap<NodeId, NodeId>,
    /// Objects as they are with these contents, for states.
    pub(super) copies: FastMap<(NodeId, Vec<NodeId>), NodeId>,
    /// Grows wherever something computed before may be lost.
    pub(super) epoch: u32,
}

/// An operation with its states left out: the first of several equal ones has made the checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Word(u64),
    PoolSlot(u64),
    Float(u64),
    Guard(crate::graph::Test, NodeId),
    Require(Condition),
    Mutable(NodeId),
    Index(NodeId, NodeId),
    Fixnum(FixnumOperation, NodeId, NodeId),
    Number(LeafId, NodeId, NodeId),
    Arithmetic(crate::graph::FloatOperation, NodeId, NodeId),
    Function(crate::graph::FloatFunction, NodeId),
    Convert(u8, NodeId),
    Load(Memory, NodeId, i32),
    Element(NodeId, NodeId),
    Length(u8, NodeId),
    Boolean(Condition),
    ArgumentCount,
    /// The class key of a record; the node is a constant.
    ClassOf(NodeId),
    /// A record is of the type whose records have a class key, or of one derived from it; the node is
    /// the record.
    RecordOf(NodeId, i64),
}

impl Key {
    fn of(op: &Op) -> Option<Key> {
        Some(match op {
            Op::Word(bits) => Key::Word(*bits),
            Op::PoolSlot(address) => Key::PoolSlot(*address),
            Op::Float(value) => Key::Float(value.to_bits()),
            Op::Guard(test, x, _) => Key::Guard(*test, *x),
            Op::Require(condition, _) => Key::Require(*condition),
            Op::RequireMutable(x, _) => Key::Mutable(*x),
            Op::RequireIndex(index, length, _) => Key::Index(*index, *length),
            Op::Fixnum(operation, x, y, _) => Key::Fixnum(*operation, *x, *y),
            Op::Number(leaf, x, y, _) => Key::Number(*leaf, *x, *y),
            Op::FloatArithmetic(operation, x, y) => Key::Arithmetic(*operation, *x, *y),
            Op::FloatFunction(function, x, _) => Key::Function(*function, *x),
            Op::FixnumToFloat(x) => Key::Convert(0, *x),
            Op::FloatToFixnum(x, _) => Key::Convert(1, *x),
            Op::Unbox(x) => Key::Convert(2, *x),
            Op::NumberToFloat(x) => Key::Convert(3, *x),
            Op::Box(x) => Key::Convert(4, *x),
            Op::CharacterToFixnum(x) => Key::Convert(5, *x),
            Op::FixnumToCharacter(x, _) => Key::Convert(6, *x),
            Op::Load(object, offset, memory) => Key::Load(*memory, *object, *offset),
            Op::LoadElement(x, index) => Key::Element(*x, *index),
            Op::Length(x) => Key::Length(0, *x),
            Op::StringLength(x) => Key::Length(1, *x),
            Op::ClassKey(x) => Key::Length(2, *x),
            // The vector is known to have these elements.
            Op::ElementCount(_, x) => Key::Length(3, *x),
            Op::ArgumentCount => Key::ArgumentCount,
            Op::Boolean(condition) => Key::Boolean(*condition),
            _ => return None,
        })
    }

    /// Whether the result stays right, and at hand, when anything may have happened.
    fn survives_safepoint(&self) -> bool {
        let is_for_ever = matches!(self, Key::RecordOf(..));
        is_for_ever || matches!(self, Key::Word(_) | Key::PoolSlot(_) | Key::Float(_))
    }

    fn memory(&self) -> Option<Memory> {
        match self {
            Key::Load(memory, ..) => Some(*memory),
            Key::Element(..) => Some(Memory::Vector),
            _ => None,
        }
    }
}

/// A condition without the checks that its values passed, and in one of the forms that mean the same,
/// with whether its answer is the opposite.
pub(super) fn asked(condition: Condition, value: impl Fn(NodeId) -> NodeId) -> (Condition, bool) {
    use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual};
    let ordered = |a: NodeId, b: NodeId| (value(a).min(value(b)), value(a).max(value(b)));
    // Two fixnums or characters are ordered or equal; a float may be neither.
    let total = |comparison, a, b| match comparison {
        Less => (Less, value(a), value(b), false),
        Greater => (Less, value(b), value(a), false),
        LessEqual => (Less, value(b), value(a), true),
        GreaterEqual => (Less, value(a), value(b), true),
        Equal => (Equal, ordered(a, b).0, ordered(a, b).1, false),
    };
    match condition {
        Condition::Fixnums(comparison, a, b) => {
            let (comparison, a, b, is_opposite) = total(comparison, a, b);
            (Condition::Fixnums(comparison, a, b), is_opposite)
        }
        Condition::Characters(comparison, a, b) => {
            let (comparison, a, b, is_opposite) = total(comparison, a, b);
            (Condition::Characters(comparison, a, b), is_opposite)
        }
        Condition::Floats(comparison, a, b) => {
            let (comparison, a, b) = match comparison {
                Less | LessEqual => (comparison, value(a), value(b)),
                Greater => (Less, value(b), value(a)),
                GreaterEqual => (LessEqual, value(b), value(a)),
                Equal => (Equal, ordered(a, b).0, ordered(a, b).1),
            };
            (Condition::Floats(comparison, a, b), false)
        }
        Condition::Same(a, b) => {
            let (a, b) = ordered(a, b);
            (Condition::Same(a, b), false)
        }
        Condition::Test(test, x) => (Condition::Test(test, value(x)), false),
        Condition::RecordOf(x, ty) => (Condition::RecordOf(value(x), value(ty)), false),
    }
}

impl Numbering {
    /// Notes the answer to a condition in the form of [`asked`], and what follows if one of two values
    /// is less than the other, or equal to it.
    pub(super) fn add_answer(&mut self, condition: Condition, answer: bool) {
        use Comparison::{Equal, Less, LessEqual};
        self.answers.insert(condition, answer);
        let (order, comparison, a, b): (fn(Comparison, NodeId, NodeId) -> Condition, _, _, _) =
            match condition {
                Condition::Fixnums(comparison, a, b) => (Condition::Fixnums, comparison, a, b),
                Condition::Characters(comparison, a, b) => {
                    (Condition::Characters, comparison, a, b)
                }
                Condition::Floats(comparison, a, b) => (Condition::Floats, comparison, a, b),
                _ => return,
            };
        if !answer || !matches!(comparison, Less | Equal) {
            return;
        }
        let is_equal = comparison == Equal;
        let implied = [
            (Less, a, b, !is_equal),
            (Less, b, a, false),
            (Equal, a.min(b), a.max(b), is_equal),
            (LessEqual, a, b, true),
            (LessEqual, b, a, is_equal),
        ];
        for (comparison, a, b, answer) in implied {
            self.answers.insert(order(comparison, a, b), answer);
        }
    }

    /// The answer to a condition in the form of [`asked`], if it is known.
    pub(super) fn answer(&self, condition: &Condition) -> Option<bool> {
        self.answers.get(condition).copied()
    }

    pub(super) fn find(&self, op: &Op) -> Option<NodeId> {
        self.values.get(&Key::of(op)?).copied()
    }

    pub(super) fn add(&mut self, op: Op, node: NodeId) {
        if let Some(key) = Key::of(&op) {
            self.values.insert(key, node);
        }
    }

    /// Notes that a record has a class key, which is a constant.
    pub(super) fn add_class_key(&mut self, record: NodeId, key: NodeId) {
        self.values.insert(Key::ClassOf(record), key);
    }

    /// Notes that a record is of a type, which its class key names, or of one derived from that.
    pub(super) fn add_record_of(&mut self, record: NodeId, class_key: i64) {
        self.values.insert(Key::RecordOf(record, class_key), record);
    }

    /// Whether that was noted.
    pub(super) fn is_record_of(&self, record: NodeId, class_key: i64) -> bool {
        self.values.contains_key(&Key::RecordOf(record, class_key))
    }

    /// The class key that a record is known to have.
    pub(super) fn class_key(&self, record: NodeId) -> Option<NodeId> {
        self.values.get(&Key::ClassOf(record)).copied()
    }

    /// A store to this memory: values loaded from it may be old.
    pub(super) fn store(&mut self, memory: Memory) {
        self.values.retain(|key, _| key.memory() != Some(memory));
    }

    /// A call or another point where anything may happen and values have to be loaded again.
    pub(super) fn safepoint(&mut self, epoch: u32) {
        self.values.retain(|key, _| key.survives_safepoint());
        self.boxes.clear();
        self.copies.clear();
        self.epoch = epoch;
    }

    /// The head of a loop without such points: values that do not depend on memory that the loop
    /// may change are known in it.
    pub(super) fn enter_quiet_loop(&mut self) {
        self.values
            .retain(|key, _| matches!(key.memory(), None | Some(Memory::Constant)));
        self.copies.clear();
    }

    /// Puts `new` where `old` is in boxes that are not made: the same value, better known.
    pub(super) fn replace_content(&mut self, old: NodeId, new: NodeId) {
        for content in self.boxes.values_mut() {
            if *content == old {
                *content = new;
            }
        }
    }

    /// Keeps what both know. Where they learned different things of one value that was loaded, it
    /// keeps the value `before` that. Boxes are not looked at.
    pub(super) fn intersect(&mut self, other: &Numbering, before: impl Fn(NodeId) -> NodeId) {
        self.epoch = self.epoch.max(other.epoch);
        self.copies.clear();
        self.answers
            .retain(|condition, answer| other.answers.get(condition) == Some(answer));
        self.values.retain(|key, node| {
            let Some(there) = other.values.get(key) else {
                return false;
            };
            if there != node {
                let is_one = key.memory().is_some() && before(*there) == before(*node);
                *node = before(*node);
                return is_one;
            }
            true
        });
    }
}

/// A placeholder for states in keys.
pub(super) const NO_STATE: StateId = StateId(0);
