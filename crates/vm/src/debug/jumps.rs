//! Other ways on from where the newest frame stands: into one of the calls of its line, and to another
//! line of its procedure.
//!
//! A frame may continue elsewhere only where every live register belongs to a variable that is in scope
//! in both places and has a value now. So no instruction ever reads what another one was to compute.

use std::sync::Arc;

use canny_compiler::unit::{VariablePlace, VariableScope};
use canny_tables::opcodes::{Opcode, OpcodeFlags};

use super::places::{Place, Places};
use crate::code::{CodeRef, UnitMetadata};
use crate::frames::Position;
use crate::thread::Thread;

/// An instruction of the newest frame's code, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Word index.
    pub index: u32,
    /// Its expression.
    pub position: Position,
}

/// The code of the newest frame.
pub(super) struct Own {
    code: CodeRef,
    pub(super) unit: Arc<UnitMetadata>,
    number: usize,
    /// Word index of the instruction at hand.
    pub(super) index: u32,
    pub(super) places: Places,
}

impl Own {
    fn ahead(&self, index: u32, place: Place) -> Option<Ahead> {
        let position = self.unit.position(place.span)?;
        Some(Ahead { index, position })
    }

    fn scopes(&self) -> &[VariableScope] {
        &self.unit.codes[self.number].variables
    }
}

impl Thread {
    pub(super) fn own_code(&self) -> Option<Own> {
        // SAFETY: a task stands still in a live frame.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) })?;
        let (unit, number) = self.vm.metadata(code)?;
        let behind = (self.pc as usize).checked_sub(code.start() as usize)? / 4;
        let index = u32::try_from(behind.checked_sub(1)?).ok()?;
        let places = Places::of(&unit, number, code);
        Some(Own {
            code,
            unit,
            number,
            index,
            places,
        })
    }

    /// The calls of procedures that are still to come on the line at hand.
    pub(super) fn debug_calls(&self) -> Vec<Ahead> {
        let Some(own) = self.own_code() else {
            return Vec::new();
        };
        let Some(here) = own.places.in_force(own.index) else {
            return Vec::new();
        };
        let words = own.code.plain_instructions();
        let is_call = |index: u32| {
            let word = words.get(index as usize).copied();
            let opcode = word.and_then(|word| Opcode::from_byte(word as u8));
            opcode.is_some_and(|opcode| opcode.has(OpcodeFlags::CALLS))
        };
        let ahead = own.places.by_index.range(own.index..);
        let calls = ahead.filter(|(index, place)| {
            let is_same = (place.span.source, place.line) == (here.span.source, here.line);
            is_same && place.inlined == here.inlined && is_call(**index)
        });
        calls
            .filter_map(|(index, place)| own.ahead(*index, *place))
            .collect()
    }

    /// Where on a line the newest frame can continue.
    pub(super) fn debug_jumps(&self, line: u32) -> Vec<Ahead> {
        let Some(own) = self.own_code() else {
            return Vec::new();
        };
        let of_line = own
            .places
            .by_index
            .iter()
            .filter(|(index, place)| {
                place.line == line && place.inlined == 0 && self.can_jump(&own, **index)
            })
            .filter_map(|(index, place)| own.ahead(*index, *place));
        of_line.collect()
    }

    fn can_jump(&self, own: &Own, target: u32) -> bool {
        let behind = |index: u32| {
            // SAFETY: the instruction is one of the code's.
            unsafe { own.code.start().add(index as usize + 1) }
        };
        let mut has_value = vec![false; own.code.frame_words() + 1];
        let here = own.code.live_at(self.pc, 0, &self.vm.liveness);
        here.each(|register| {
            if let Some(place) = has_value.get_mut(register) {
                *place = true;
            }
        });
        let is_in = |scope: &VariableScope, index: u32| (scope.start..scope.end).contains(&index);
        let is_variable = |register: usize| {
            let place = u8::try_from(register).map(VariablePlace::Register);
            own.scopes().iter().any(|scope| {
                Ok(scope.place) == place && is_in(scope, own.index) && is_in(scope, target)
            })
        };
        let mut can = true;
        let there = own.code.live_at(behind(target), 0, &self.vm.liveness);
        there.each(|register| {
            let is_there = has_value.get(register).copied().unwrap_or(false);
            can &= is_there && is_variable(register);
        });
        can
    }

    /// The address at which the newest frame continues at another instruction, if it can.
    pub(super) fn jump(&mut self, target: u32) -> Option<*const u32> {
        let own = self.own_code()?;
        let is_place = own.places.by_index.contains_key(&target);
        if !is_place || !self.can_jump(&own, target) {
            return None;
        }
        // SAFETY: the instruction is one of the code's.
        Some(unsafe { own.code.start().add(target as usize) })
    }
}
