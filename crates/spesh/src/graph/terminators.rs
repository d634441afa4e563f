//! The terminators of blocks: one row for each, beside the rows of the operations in [`super::ops`].
//!
//! A row says the fields by name and role, the text, and the effects. The roles are those of the
//! operations, and `edge`, which leads to a block. From the rows come [`Terminator`] itself, the visits
//! of operands and edges, [`Terminator::state`], [`Terminator::effects`], and the text that
//! [`super::parse`] reads. In a row's text a name stands for the field; a state is written at the end
//! of the line. A row without effects does not compile.

use super::effects::{CALLS, EXITS, Effects, NONE};
use super::ops::{Row, Wanted, change, field_type, state, visit};
use super::text::{Reader, Text, Wrong};
use super::{Callee, Condition, Edge, NodeId, Representation, StateId};

use Representation::Tagged as TAGGED;

/// Visits the edge of a field.
macro_rules! edge {
    (edge $field:ident $add:ident) => {
        $add($field)
    };
    ($other:ident $field:ident $add:ident) => {
        let _ = $field;
    };
}

/// Writes a part of the text.
macro_rules! write_part {
    ($word:literal $out:ident) => {
        $out.push_str($word)
    };
    ($field:ident $out:ident) => {
        Text::write($field, $out)
    };
}

/// Reads a part of the text.
macro_rules! read_part {
    ($word:literal $reader:ident) => {
        $reader.expect($word)?
    };
    ($field:ident $reader:ident) => {
        let $field = Text::read($reader)?;
    };
}

/// Takes the state of a field from the end of the line.
macro_rules! read_state {
    (exit $field:ident $reader:ident) => {
        let $field = $reader.its_state()?;
    };
    (published $field:ident $reader:ident) => {
        let $field = $reader.its_state()?;
    };
    ($other:ident $field:ident $reader:ident) => {};
}

macro_rules! terminators {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident
            $(( $($field:ident: $role:ident),* ))?
            $({ $( $(#[doc = $field_doc:literal])* $named:ident: $named_role:ident, )* })?
            => [$head:literal $($part:tt)*], $effects:expr;
    )*) => {
        /// How a block ends.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Terminator {
            $(
                $(#[doc = $doc])*
                $name
                    $(( $(field_type!($role)),* ))?
                    $({ $( $(#[doc = $field_doc])* $named: field_type!($named_role), )* })?,
            )*
        }

        /// Every row.
        pub static TERMINATORS: &[Row] = &[
            $( Row {
                name: stringify!($name),
                operands: &[
                    $($( (stringify!($field), stringify!($role)) ),*)?
                    $($( (stringify!($named), stringify!($named_role)) ),*)?
                ],
                doc: concat!($($doc),*),
            }, )*
        ];

        impl Terminator {
            /// The name, as in [`TERMINATORS`].
            pub fn name(&self) -> &'static str {
                match self { $( Terminator::$name { .. } => stringify!($name), )* }
            }

            /// Returns its effects besides leading to another block.
            pub fn effects(&self) -> Effects {
                match self { $( Terminator::$name { .. } => $effects, )* }
            }

            /// The edges.
            pub fn edges(&self) -> impl Iterator<Item = &Edge> {
                let mut edges = EdgePair::default();
                let mut add = |edge| edges.add(edge);
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        $($( edge!($role $field add); )*)?
                        $($( edge!($named_role $named add); )*)?
                    }
                )* }
                edges.into_iter()
            }

            /// The edges, to change them.
            pub fn edges_mut(&mut self) -> impl Iterator<Item = &mut Edge> {
                let mut edges = EdgePair::default();
                let mut add = |edge| edges.add(edge);
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        $($( edge!($role $field add); )*)?
                        $($( edge!($named_role $named add); )*)?
                    }
                )* }
                edges.into_iter()
            }

            fn state_place(&self) -> Option<&StateId> {
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        $($( state!($role $field); )*)?
                        $($( state!($named_role $named); )*)?
                    }
                )* }
                None
            }

            /// Calls `visit` for each operand of the terminator itself (not for the arguments of
            /// edges, nor for states) with what is wanted of it.
            pub fn each_operand(&self, mut visit: impl FnMut(NodeId, Wanted)) {
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        $($( visit!($role $field visit self); )*)?
                        $($( visit!($named_role $named visit self); )*)?
                    }
                )* }
            }

            fn map_operands(&mut self, mut change: impl FnMut(&mut NodeId)) {
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        $($( change!($role $field change); )*)?
                        $($( change!($named_role $named change); )*)?
                    }
                )* }
            }

            /// Writes it without its state.
            #[allow(unused_variables, reason = "a state is no part of the text")]
            pub(super) fn write(&self, out: &mut String) {
                match self { $(
                    Terminator::$name $(( $($field),* ))? $({ $($named),* })? => {
                        out.push_str($head);
                        $( out.push(' '); write_part!($part out); )*
                    }
                )* }
            }

            /// Reads what [`Terminator::write`] wrote; a state comes from the reader.
            pub(super) fn read(reader: &mut Reader<'_>) -> Result<Terminator, Wrong> {
                $( if reader.take($head) {
                    $( read_part!($part reader); )*
                    $($( read_state!($role $field reader); )*)?
                    $($( read_state!($named_role $named reader); )*)?
                    return Ok(Terminator::$name $(( $($field),* ))? $({ $($named),* })?);
                } )*
                Err(reader.wrong("a node or the end of a block is expected"))
            }
        }
    };
}

terminators! {
    /// Not yet known: only while the graph is built.
    None => ["?"], NONE;
    /// Continues at a block.
    Jump(target: edge) => ["jump" target], NONE;
    /// Continues at one of two blocks.
    Branch {
        /// The question.
        condition: condition,
        /// If it holds.
        then: edge,
        /// If not.
        otherwise: edge,
    } => ["if" condition "then" then "else" otherwise], NONE;
    /// Executes the branch instruction at the state's pc in the runtime and continues where that says.
    RuntimeBranch {
        /// If the instruction branched.
        taken: edge,
        /// If it did not.
        fall: edge,
        /// The state before the instruction.
        state: published,
    } => ["runtime branch" taken "or" fall], CALLS;
    /// Returns from the outermost frame; a float as such where that is expected.
    Return(value: any) => ["return" value], NONE;
    /// Calls in place of the outermost frame. The state is that before the instruction, in the
    /// outermost frame, with the callee and the arguments in the instruction's window: there the
    /// machine resumes when the call is unusual.
    TailCall(callee: callee, arguments: any_list, state: published) => ["tail call" callee arguments], CALLS;
    /// Leaves for the interpreter, which resumes at the state.
    Exit(state: exit) => ["exit"], EXITS;
}

/// At most two edges, which is what a terminator has.
struct EdgePair<E> {
    first: Option<E>,
    second: Option<E>,
}

impl<E> Default for EdgePair<E> {
    fn default() -> EdgePair<E> {
        EdgePair {
            first: None,
            second: None,
        }
    }
}

impl<E> EdgePair<E> {
    fn add(&mut self, edge: E) {
        assert!(self.second.is_none(), "a terminator has two edges at most");
        if self.first.is_none() {
            self.first = Some(edge);
        } else {
            self.second = Some(edge);
        }
    }

    fn into_iter(self) -> impl Iterator<Item = E> {
        self.first.into_iter().chain(self.second)
    }
}

impl Terminator {
    /// The state to which it leaves, or that it publishes.
    pub fn state(&self) -> Option<StateId> {
        self.state_place().copied()
    }

    /// Whether it hands control to a procedure or to the runtime, so that a collection may happen.
    pub fn is_safepoint(&self) -> bool {
        self.effects().calls
    }

    /// Calls `visit` for each operand of the terminator itself, without what edges pass on.
    pub fn each_own_input(&self, mut visit: impl FnMut(NodeId)) {
        self.each_operand(|id, _| visit(id));
    }

    /// The same, and the arguments of edges.
    pub fn each_input(&self, mut visit: impl FnMut(NodeId)) {
        self.each_own_input(&mut visit);
        for edge in self.edges() {
            edge.arguments.iter().copied().for_each(&mut visit);
        }
    }

    /// Replaces each operand, edges included (those of states not counted).
    pub fn map_inputs(&mut self, mut map: impl FnMut(NodeId) -> NodeId) {
        let mut change = |id: &mut NodeId| *id = map(*id);
        self.map_operands(&mut change);
        for edge in self.edges_mut() {
            edge.arguments.iter_mut().for_each(&mut change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each terminator as text, and the terminator that is read from it.
    fn samples() -> Vec<(&'static str, Terminator)> {
        let texts = [
            "?",
            "jump b3(n1, n2)",
            "if Floats(Less, n1, n2) then b3 else b4(n5)",
            "runtime branch b3(n1) or b4",
            "return n1",
            "tail call Known(n1, 0x2005) [n2, n3]",
            "exit",
        ];
        let read = |text: &'static str| {
            let mut reader = Reader::new(text);
            reader.state = Some(StateId(3));
            let end = Terminator::read(&mut reader).map_err(|wrong| wrong.message);
            let end = end.unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!(reader.rest(), "", "{text}");
            (text, end)
        };
        texts.map(read).into()
    }

    #[test]
    fn every_terminator_is_read_as_it_is_written() {
        let samples = samples();
        let names = samples.iter().map(|(_, end)| end.name());
        assert!(names.eq(TERMINATORS.iter().map(|row| row.name)));
        for (text, end) in samples {
            let mut written = String::new();
            end.write(&mut written);
            assert_eq!(written, text);
        }
    }

    #[test]
    fn who_has_a_state_exits_or_calls() {
        for (row, (text, end)) in TERMINATORS.iter().zip(samples()) {
            let effects = end.effects();
            assert_eq!(end.state().is_some(), effects.exits, "{text}");
            let publishes = row.operands.iter().any(|(_, role)| *role == "published");
            assert_eq!(publishes, effects.calls, "{text}");
        }
    }

    #[test]
    fn a_state_that_is_wanted_must_be_there() {
        for (text, end) in samples() {
            let read = Terminator::read(&mut Reader::new(text));
            assert_eq!(read.is_ok(), end.state().is_none(), "{text}");
        }
    }

    #[test]
    fn operands_and_edges_are_visited_and_replaced_in_their_order() {
        for (text, end) in samples() {
            let mut seen = Vec::new();
            end.each_input(|id| seen.push(id.0));
            let operands = text.split(|character: char| !character.is_ascii_alphanumeric());
            let operands = operands.filter_map(|word| word.strip_prefix('n')?.parse::<u32>().ok());
            assert!(operands.eq(seen.iter().copied()), "{text}");
            let mut changed = end.clone();
            changed.map_inputs(|id| NodeId(id.0 + 10));
            let mut after = Vec::new();
            changed.each_input(|id| after.push(id.0 - 10));
            assert_eq!(seen, after, "{text}");
            assert_eq!(
                end.edges().count(),
                text.matches('b').count() - usize::from(text.contains("branch")),
                "{text}"
            );
        }
    }

    #[test]
    fn every_terminator_says_what_it_does() {
        for row in TERMINATORS {
            assert!(row.doc.trim().ends_with('.'), "{}", row.name);
        }
    }
}
