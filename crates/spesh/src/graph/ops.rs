//! The operations: one row for each, from which everything else about them derives.
//!
//! A row says the operands by name and role, how the value is held, and the effects. From it come
//! [`Op`] itself, the visits of operands, [`Op::state`], [`Op::effects`], the text form that
//! [`super::parse`] reads, and what [`crate::verify`] demands. A row without effects does not compile.
//! [`super::terminators`] has the ends of blocks.
//!
//! Roles of operands: `tagged` and `float` are values held so, `number` one that is held as the
//! `elements` of the row are, `any` one that is held in either way, `tagged_list` and `any_list`
//! several. `condition` and `callee` have operands of their own. `exit` is the state to which the
//! operation may leave by a side exit, `maybe_exit` one that may be missing, `published` the state that
//! is in the slots while it runs. Any other role is the type of a constant.

use canny_tables::kinds::Kind;
use canny_tables::leaves::LeafId;

use super::effects::{ALLOCATES, CALLS, EXITS, Effects, LEAF, Memory, NONE, reads, writes};
use super::text::{Field, Reader, Wrong};
use super::{
    Callee, Condition, FixnumOperation, FloatFunction, FloatOperation, NodeId, Representation,
    StateId, Test,
};
use crate::elements::{ElementKind, Elements};

use Representation::{Float as FLOAT, Nothing as NOTHING, Tagged as TAGGED};

/// Requirement of an operation on an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A value that is held so.
    Held(Representation),
    /// A value that is held in either way.
    Any,
}

/// Description of an operation, independent of any node.
#[derive(Debug)]
pub struct Row {
    /// The name, in Rust and in text.
    pub name: &'static str,
    /// Names and roles of the operands.
    pub operands: &'static [(&'static str, &'static str)],
    /// Its documentation.
    pub doc: &'static str,
}

macro_rules! field_type {
    (tagged) => { NodeId };
    (float) => { NodeId };
    (number) => { NodeId };
    (any) => { NodeId };
    (edge) => { Edge };
    (tagged_list) => { Vec<NodeId> };
    (any_list) => { Vec<NodeId> };
    (condition) => { Condition };
    (callee) => { Callee };
    (exit) => { StateId };
    (maybe_exit) => { Option<StateId> };
    (published) => { StateId };
    ($constant:ident) => { $constant };
}

/// Visits the operands of a field.
macro_rules! visit {
    (tagged $field:ident $visit:ident $op:ident) => {
        $visit(*$field, Wanted::Held(TAGGED))
    };
    (float $field:ident $visit:ident $op:ident) => {
        $visit(*$field, Wanted::Held(FLOAT))
    };
    (number $field:ident $visit:ident $op:ident) => {
        $visit(*$field, Wanted::Held($op.elements_held()))
    };
    (any $field:ident $visit:ident $op:ident) => {
        $visit(*$field, Wanted::Any)
    };
    (tagged_list $field:ident $visit:ident $op:ident) => {
        $field
            .iter()
            .for_each(|id| $visit(*id, Wanted::Held(TAGGED)))
    };
    (any_list $field:ident $visit:ident $op:ident) => {
        $field.iter().for_each(|id| $visit(*id, Wanted::Any))
    };
    (condition $field:ident $visit:ident $op:ident) => {
        $field.each_operand(&mut $visit)
    };
    (callee $field:ident $visit:ident $op:ident) => {
        $visit($field.closure(), Wanted::Held(TAGGED))
    };
    ($other:ident $field:ident $visit:ident $op:ident) => {
        let _ = $field;
    };
}

/// Changes the operands of a field.
macro_rules! change {
    (tagged $field:ident $change:ident) => {
        $change($field)
    };
    (float $field:ident $change:ident) => {
        $change($field)
    };
    (number $field:ident $change:ident) => {
        $change($field)
    };
    (any $field:ident $change:ident) => {
        $change($field)
    };
    (tagged_list $field:ident $change:ident) => {
        $field.iter_mut().for_each(&mut $change)
    };
    (any_list $field:ident $change:ident) => {
        $field.iter_mut().for_each(&mut $change)
    };
    (condition $field:ident $change:ident) => {
        $field.map_inputs(&mut $change)
    };
    (callee $field:ident $change:ident) => {
        $field.map_inputs(&mut $change)
    };
    ($other:ident $field:ident $change:ident) => {
        let _ = $field;
    };
}

/// A place where a state stands, if the field has one.
macro_rules! state {
    (exit $field:ident) => {
        return Some($field)
    };
    (published $field:ident) => {
        return Some($field)
    };
    (maybe_exit $field:ident) => {
        if let Some(state) = $field {
            return Some(state);
        }
    };
    ($other:ident $field:ident) => {
        let _ = $field;
    };
}

pub(super) use {change, field_type, state, visit};

macro_rules! operations {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $(( $($field:ident: $role:ident),* ))? => $held:expr, $effects:expr;
    )*) => {
        /// The operation of a node.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $( $(#[doc = $doc])* $name $(( $(field_type!($role)),* ))?, )*
        }

        /// Every row.
        pub static ROWS: &[Row] = &[
            $( Row {
                name: stringify!($name),
                operands: &[$($( (stringify!($field), stringify!($role)) ),*)?],
                doc: concat!($($doc),*),
            }, )*
        ];

        impl Op {
            /// The name, as in [`ROWS`].
            pub fn name(&self) -> &'static str {
                match self { $( Op::$name { .. } => stringify!($name), )* }
            }

            /// How the value is held.
            #[allow(unused_variables, reason = "few rows say it by an operand")]
            pub fn representation(&self) -> Representation {
                match self { $( Op::$name $(( $($field),* ))? => $held, )* }
            }

            /// Returns its effects besides making its value.
            #[allow(unused_variables, reason = "few rows say it by an operand")]
            pub fn effects(&self) -> Effects {
                match self { $( Op::$name $(( $($field),* ))? => $effects, )* }
            }

            /// Calls `visit` for each operand (those of states not counted) with what is wanted of it.
            pub fn each_operand(&self, mut visit: impl FnMut(NodeId, Wanted)) {
                match self {
                    $( Op::$name $(( $($field),* ))? => { $($( visit!($role $field visit self); )*)? } )*
                }
            }

            /// Replaces each operand (those of states not counted).
            pub fn map_inputs(&mut self, mut map: impl FnMut(NodeId) -> NodeId) {
                #[allow(unused_mut, reason = "some fields borrow it")]
                let mut change = |id: &mut NodeId| *id = map(*id);
                match self {
                    $( Op::$name $(( $($field),* ))? => { $($( change!($role $field change); )*)? } )*
                }
            }

            /// The state to which the node may leave, or that it publishes.
            pub fn state(&self) -> Option<StateId> {
                self.state_place().copied()
            }

            fn state_place(&self) -> Option<&StateId> {
                match self {
                    $( Op::$name $(( $($field),* ))? => { $($( state!($role $field); )*)? } )*
                }
                None
            }

            fn state_place_mut(&mut self) -> Option<&mut StateId> {
                match self {
                    $( Op::$name $(( $($field),* ))? => { $($( state!($role $field); )*)? } )*
                }
                None
            }

            /// Writes name and operands; a state is not among them.
            pub(super) fn write(&self, out: &mut String) {
                out.push_str(self.name());
                match self {
                    $( Op::$name $(( $($field),* ))? => {
                        $( let mut first = true; $( Field::write_next($field, &mut first, out); )* if !first { out.push(')') } )?
                    } )*
                }
            }

            /// Reads what [`Op::write`] wrote; states come from the reader.
            pub(super) fn read(reader: &mut Reader<'_>) -> Result<Op, Wrong> {
                let name = reader.name()?;
                match name {
                    $( stringify!($name) => {
                        #[allow(unused_mut, unused_variables, reason = "not every row has operands")]
                        let mut first = true;
                        let op = Op::$name $(( $( <field_type!($role)>::read_next(&mut first, reader)? ),* ))?;
                        if !first { reader.expect(")")?; }
                        Ok(op)
                    } )*
                    _ => Err(reader.wrong(format!("there is no operation {name}"))),
                }
            }
        }
    };
}

operations! {
    /// A block's parameter.
    BlockParameter(held: Representation) => *held, NONE;
    /// The value that the slot so many words above the outermost fp has on entry.
    Slot(slot: u32) => TAGGED, NONE;
    /// The double of an argument that is a flonum, as [`super::Graph::required`] says.
    FloatSlot(slot: u32) => FLOAT, NONE;
    /// The value that such a slot has right after an [`Op::Runtime`] whose instruction writes
    /// several registers; only nodes of this kind may stand between.
    Reload(slot: u32) => TAGGED, NONE;
    /// The closure of the outermost frame on entry.
    Closure => TAGGED, NONE;
    /// The number of arguments on entry to code that takes a variable number, a fixnum.
    ArgumentCount => TAGGED, NONE;
    /// A word that is no reference.
    Word(word: u64) => TAGGED, NONE;
    /// The tagged word in a pool slot; the address of the slot.
    PoolSlot(address: u64) => TAGGED, NONE;
    /// A double.
    Float(number: f64) => FLOAT, NONE;

    /// The value, known to pass the test; leaves otherwise.
    Guard(test: Test, value: tagged, state: exit) => TAGGED, EXITS;
    /// Nothing; leaves unless the condition holds.
    Require(condition: condition, state: exit) => NOTHING, EXITS;
    /// Nothing; leaves if somebody asks the thread to come to a safepoint.
    Poll(state: exit) => NOTHING, EXITS;
    /// The value, of a narrower type that its uses may rely on. No code.
    Refine(value: tagged) => TAGGED, NONE;

    /// Fixnum arithmetic on fixnums; leaves when the result is no fixnum.
    Fixnum(operation: FixnumOperation, x: tagged, y: tagged, state: exit) => TAGGED, EXITS;
    /// Float arithmetic on floats.
    FloatArithmetic(operation: FloatOperation, x: float, y: float) => FLOAT, NONE;
    /// A float function; [`FloatFunction::SquareRoot`] alone uses the state.
    FloatFunction(function: FloatFunction, x: float, state: maybe_exit) => FLOAT, if state.is_some() { EXITS } else { NONE };
    /// The double of a fixnum.
    FixnumToFloat(x: tagged) => FLOAT, NONE;
    /// The fixnum of a float that is an integer of fixnum range; leaves otherwise.
    FloatToFixnum(x: float, state: exit) => TAGGED, EXITS;
    /// The double in a tagged flonum.
    Unbox(x: tagged) => FLOAT, reads(Memory::Constant);
    /// The double of a tagged fixnum or flonum.
    NumberToFloat(x: tagged) => FLOAT, reads(Memory::Constant);
    /// The tagged flonum of a double; may allocate.
    Box(x: float) => TAGGED, ALLOCATES;

    /// A word of an object or pair: offset in bytes from the tagged word.
    Load(object: tagged, offset: i32, memory: Memory) => TAGGED, reads(*memory);
    /// Sets a word of an object or pair, and marks its card if the value may be a reference.
    Store(object: tagged, offset: i32, value: tagged, memory: Memory) => NOTHING, writes(*memory);
    /// The element of a vector at a fixnum index inside its bounds.
    LoadElement(vector: tagged, index: tagged) => TAGGED, reads(Memory::Vector);
    /// Sets the element of a vector at a fixnum index inside its bounds.
    StoreElement(vector: tagged, index: tagged, value: tagged) => NOTHING, writes(Memory::Vector);
    /// Nothing; leaves if the object (vector, bytevector) is immutable, or if code relies on the value
    /// of the cell.
    RequireMutable(object: tagged, state: exit) => NOTHING, EXITS | reads(Memory::Mutability);
    /// Length of a vector or bytevector, as a fixnum.
    Length(object: tagged) => TAGGED, reads(Memory::Constant);
    /// Length of a string, as a fixnum.
    StringLength(string: tagged) => TAGGED, reads(Memory::Constant);
    /// Nothing; leaves unless the first, a fixnum, is from 0 to below the second, a fixnum.
    RequireIndex(index: tagged, length: tagged, state: exit) => NOTHING, EXITS;
    /// The character of a string at a fixnum index inside its bounds.
    StringRef(string: tagged, index: tagged) => TAGGED, reads(Memory::String);
    /// The byte of a bytevector, as a fixnum, at a fixnum index inside its bounds.
    LoadByte(bytes: tagged, index: tagged) => TAGGED, reads(Memory::Bytes);
    /// Sets a byte at an index inside the bounds to a fixnum from 0 to 255.
    StoreByte(bytes: tagged, index: tagged, value: tagged) => NOTHING, writes(Memory::Bytes);
    /// The number of elements of a numeric vector of these elements, as a fixnum.
    ElementCount(elements: Elements, vector: tagged) => TAGGED, reads(Memory::Constant);
    /// The element of such a vector at a fixnum index inside its bounds: a float, or a fixnum.
    LoadNumber(elements: Elements, vector: tagged, index: tagged) => held(*elements), reads(Memory::Bytes);
    /// Sets an element at an index inside the bounds to a float, or to a fixnum of the range.
    StoreNumber(elements: Elements, vector: tagged, index: tagged, value: number) => NOTHING, writes(Memory::Bytes);
    /// Sets a character of a mutable string at a fixnum index inside its bounds; leaves if a long
    /// string has to be made wide for it.
    StringSet(string: tagged, index: tagged, character: tagged, state: exit) => NOTHING, EXITS | ALLOCATES | writes(Memory::String);
    /// A register of the dynamic state; its offset in the thread block.
    Dynamic(offset: i32) => TAGGED, reads(Memory::Dynamic);
    /// Sets such a register.
    SetDynamic(offset: i32, value: tagged) => NOTHING, writes(Memory::Dynamic);
    /// The class key of any value, a fixnum.
    ClassKey(value: tagged) => TAGGED, reads(Memory::Constant);
    /// The code point of a character as a fixnum.
    CharacterToFixnum(character: tagged) => TAGGED, NONE;
    /// The character of a fixnum that is a code point; leaves otherwise.
    FixnumToCharacter(number: tagged, state: exit) => TAGGED, EXITS;
    /// `#t` if the condition holds, else `#f`.
    Boolean(condition: condition) => TAGGED, NONE;

    /// A new pair.
    Cons(car: tagged, cdr: tagged) => TAGGED, ALLOCATES;
    /// A new object of a kind with these payload words.
    Allocate(kind: Kind, words: tagged_list) => TAGGED, ALLOCATES;

    /// Arithmetic on numbers of any kinds, or `#t` or `#f` for a comparison of them: the value of a
    /// primitive that is also a leaf function; leaves if it declines.
    Number(leaf: LeafId, x: tagged, y: tagged, state: exit) => TAGGED, ALLOCATES | EXITS | reads(Memory::Constant);
    /// The value of a leaf function; leaves if it declines. Nothing moves meanwhile.
    Leaf(leaf: LeafId, arguments: tagged_list, state: exit) => TAGGED, LEAF;

    /// Adds one to a counter of the thread. It has no state: exits before and behind it are to different
    /// instructions.
    Count(counter: u32) => NOTHING, writes(Memory::Other);
    /// Counts a call of the value, with so many arguments, at a call site: the number of two counters of
    /// the thread. Both are fixnums.
    CountCall(callee: tagged, site: tagged, passed: tagged) => NOTHING, writes(Memory::Other);
    /// The same for a closure over this code.
    CountKnownCall(callee: tagged, code: u64, site: tagged, passed: tagged) => NOTHING, writes(Memory::Other);

    /// Calls; the state's innermost frame makes the call at the state's pc, and the state's registers
    /// are those live across it. The value is the call's. Arguments of a known callee may be floats.
    Call(callee: callee, arguments: any_list, state: published) => TAGGED, CALLS;
    /// The double of the value of a call, which stands right before; leaves if it is no flonum. Nobody
    /// else uses that value.
    FloatResult(call: tagged, state: exit) => FLOAT, EXITS;
    /// Executes the instruction at the state's pc in the runtime, all of its operands being in the
    /// state. The value is that of the instruction's register a afterwards, unspecified if it defines
    /// none.
    Runtime(state: published) => TAGGED, CALLS;
}

/// How an element is held.
fn held(elements: Elements) -> Representation {
    match elements.kind {
        ElementKind::Float => FLOAT,
        ElementKind::Unsigned | ElementKind::Signed => TAGGED,
    }
}

impl Op {
    /// The same with another state to leave to; an operation without one is unchanged.
    pub fn with_state(mut self, new: StateId) -> Op {
        if let Some(state) = self.state_place_mut() {
            *state = new;
        }
        self
    }

    /// Whether a collection may happen while the node runs, so that tagged values have to be loaded again.
    pub fn is_safepoint(&self) -> bool {
        self.effects().calls
    }

    /// Whether the node does nothing but make its value: without a use it can go.
    pub fn is_removable(&self) -> bool {
        !self.effects().must_run()
    }

    /// Whether the value is made anew wherever it is used.
    pub fn is_constant(&self) -> bool {
        matches!(self, Op::Word(_) | Op::PoolSlot(_) | Op::Float(_))
    }

    /// Calls `visit` for each operand (those of states not counted).
    pub fn each_input(&self, mut visit: impl FnMut(NodeId)) {
        self.each_operand(|id, _| visit(id));
    }

    /// How the elements are held that the row names.
    fn elements_held(&self) -> Representation {
        match self {
            Op::StoreNumber(elements, ..) | Op::LoadNumber(elements, ..) => held(*elements),
            _ => TAGGED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of an operand of a role.
    fn sample(role: &str) -> Option<&'static str> {
        Some(match role {
            "tagged" | "float" | "number" => "n1",
            "tagged_list" | "any_list" => "[n1, n2]",
            "condition" => "Floats(Less, n1, n2)",
            "callee" => "Known(n1, 0x2005)",
            "exit" | "maybe_exit" | "published" => return None,
            "Representation" => "Tagged",
            "Test" => "Elements(f64)",
            "Memory" => "Cdr",
            "FixnumOperation" => "Modulo",
            "FloatOperation" => "Divide",
            "FloatFunction" => "SquareRoot",
            "Kind" => "Vector",
            "LeafId" => "memq/2",
            "Elements" => "s16",
            "u32" | "i32" => "17",
            "u64" => "0x1f",
            "f64" => "-0.0",
            _ => panic!("the role {role} needs a sample here"),
        })
    }

    fn samples() -> impl Iterator<Item = (&'static Row, String, Op)> {
        ROWS.iter().map(|row| {
            let operands: Vec<_> = row
                .operands
                .iter()
                .filter_map(|(_, role)| sample(role))
                .collect();
            let text = if operands.is_empty() {
                row.name.to_owned()
            } else {
                format!("{}({})", row.name, operands.join(", "))
            };
            let mut reader = Reader::new(&text);
            reader.state = Some(StateId(3));
            let op = Op::read(&mut reader).map_err(|wrong| wrong.message);
            let op = op.unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!(reader.rest(), "", "{text}");
            (row, text, op)
        })
    }

    #[test]
    fn every_operation_is_read_as_it_is_written() {
        for (row, text, op) in samples() {
            assert_eq!(op.name(), row.name);
            assert_eq!(op.to_string(), text);
        }
    }

    #[test]
    fn who_has_a_state_exits_or_calls() {
        for (row, text, op) in samples() {
            let effects = op.effects();
            assert_eq!(op.state().is_some(), effects.exits, "{text}");
            let publishes = row.operands.iter().any(|(_, role)| *role == "published");
            assert_eq!(publishes, effects.calls, "{text}");
            let other = op.clone().with_state(StateId(4));
            assert_eq!(other.state(), op.state().map(|_| StateId(4)), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_must_run() {
        for (_, text, op) in samples() {
            if op.representation() == Representation::Nothing {
                assert!(!op.is_removable(), "{text}");
            }
        }
    }

    #[test]
    fn operands_are_visited_and_replaced_in_their_order() {
        for (_, text, op) in samples() {
            let mut seen = Vec::new();
            op.each_input(|id| seen.push(id));
            assert_eq!(
                seen.len(),
                text.matches('n').count() - row_letters(&text),
                "{text}"
            );
            let mut changed = op.clone();
            changed.map_inputs(|id| NodeId(id.0 + 10));
            let mut after = Vec::new();
            changed.each_input(|id| after.push(id.0 - 10));
            assert!(seen.iter().map(|id| id.0).eq(after), "{text}");
        }
    }

    /// The letters n of a text that begin no node.
    fn row_letters(text: &str) -> usize {
        let letters: Vec<char> = text.chars().collect();
        let is_node = |at: usize| letters.get(at + 1).is_some_and(char::is_ascii_digit);
        (0..letters.len())
            .filter(|at| letters[*at] == 'n' && !is_node(*at))
            .count()
    }

    #[test]
    fn every_operation_says_what_it_does() {
        for row in ROWS {
            assert!(row.doc.trim().ends_with('.'), "{}", row.name);
        }
    }
}
