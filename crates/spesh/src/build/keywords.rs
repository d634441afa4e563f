//! Binds the keyword arguments of inlined calls while the graph is built.
//!
//! This works only where every keyword is a literal; `takes_keywords` tells the inliner so before
//! it decides. The parameters get exactly what the runtime's `keyword-entry` would give them. Where
//! the runtime would raise an error, the call is not inlined.

use canny_compiler::instruction::Instruction;
use canny_tables::layout;
use canny_tables::opcodes::Opcode;

use super::{Activation, BuildError, Builder};
use crate::graph::NodeId;
use crate::snapshot::{CodeSnapshot, KeywordParameters, PoolItem};
use crate::types::Type;

/// The value that a parameter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The argument of that number.
    Argument(usize),
    /// Nothing.
    Absent,
    /// A list of the arguments from that number on.
    Rest(usize),
}

impl Builder<'_> {
    /// Whether code that begins with `keyword-entry` takes these arguments, and it is certain how.
    pub(super) fn takes_keywords(&self, code: &CodeSnapshot, arguments: &[NodeId]) -> bool {
        let entry = Instruction::decode(&code.instructions, 0).ok();
        entry
            .filter(|entry| entry.opcode == Opcode::KeywordEntry)
            .is_some_and(|entry| self.places(code, &entry, arguments).is_some())
    }

    /// `keyword-entry` of an inlined procedure, whose arguments are in the first registers.
    pub(super) fn keyword_entry(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        count: usize,
    ) -> Result<(), BuildError> {
        let mut arguments = Vec::with_capacity(count);
        for register in 0..count {
            arguments.push(self.register(activation, register)?);
        }
        let places = self
            .places(&activation.code, instruction, &arguments)
            .ok_or(BuildError::Unsupported("keywords that are not known"))?;
        for (register, place) in places.into_iter().enumerate() {
            let value = match place {
                Place::Argument(index) => arguments[index],
                Place::Absent => self.word(layout::ABSENT),
                Place::Rest(first) => self.rest_list(&arguments[first..]),
            };
            activation.environment.set(register, value);
        }
        Ok(())
    }

    /// A list of arguments.
    pub(super) fn rest_list(&mut self, arguments: &[NodeId]) -> NodeId {
        let end = self.word(layout::NIL);
        arguments.iter().rev().fold(end, |list, argument| {
            let argument = self.tagged(*argument);
            self.cons(argument, list)
        })
    }

    /// Returns the value that each parameter gets, as the runtime would find out.
    fn places(
        &self,
        code: &CodeSnapshot,
        entry: &Instruction,
        arguments: &[NodeId],
    ) -> Option<Vec<Place>> {
        let slot = entry.pool_index(code.pool.len())?;
        let PoolItem::Keywords(parameters) = code.pool.get(slot)? else {
            return None;
        };
        let (required, has_rest) = (entry.a(), entry.c() == 1);
        if arguments.len() < required {
            return None;
        }
        let mut positional = required;
        for argument in arguments.iter().skip(required).take(parameters.optional) {
            if self.keywords.contains_key(argument) {
                break;
            }
            if self.ty(*argument).may_be(Type::OTHER_OBJECT) {
                return None;
            }
            positional += 1;
        }
        let mut places: Vec<Place> = (0..positional).map(Place::Argument).collect();
        places.resize(
            required + parameters.optional + parameters.names.len(),
            Place::Absent,
        );
        let first = required + parameters.optional;
        self.place_keywords(parameters, arguments, positional, &mut places[first..])?;
        if has_rest {
            places.push(Place::Rest(positional));
        }
        Some(places)
    }

    /// Finds the places of the arguments behind the positional ones, which have to be pairs of a
    /// keyword and a value.
    fn place_keywords(
        &self,
        parameters: &KeywordParameters,
        arguments: &[NodeId],
        from: usize,
        places: &mut [Place],
    ) -> Option<()> {
        for at in (from..arguments.len()).step_by(2) {
            let keyword = self.keywords.get(&arguments[at])?;
            arguments.get(at + 1)?;
            match parameters.names.iter().position(|name| name == keyword) {
                Some(index) => places[index] = Place::Argument(at + 1),
                None if parameters.allow_other_keys => {}
                None => return None,
            }
        }
        Some(())
    }
}
