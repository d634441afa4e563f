//! Composable continuations: a part of a chain of sealed frames, put on top of another continuation.
//!
//! A *prompt* is a continuation that was captured where the prompt was installed; every frame above it
//! lies in slices of its own. The part between a continuation and a prompt is copied, slice by slice,
//! with the oldest frame's return address and the depths changed; nothing else in a frame says where
//! the frame is. The original stays as it is, so a part can be put anywhere any number of times, and
//! later capturing, returning and walking see ordinary continuations.
//!
//! The dynamic state in copied frames is old: `(canny machine control)` gives a list of pairs
//! `(old . new)`. Words that are `eq?` to an old one, a pair of a list of winders or parameters,
//! are replaced. Frames of `call-with-escape-continuation` get escape procedures that know the new
//! state. In lists of handlers the part in front of the prompt is put on top of the new handlers.
//!
//! A copy takes its dynamic state's place in a continuation for two other things; it is never called itself:
//!
//! | field | holds |
//! |---|---|
//! | `WINDERS` | the slice that it is a copy of, which is no copy |
//! | `HANDLERS` | its depth minus that one's, a raw word |
//!
//! So what had been captured below a frame can be found again where a copy of the frame is: see
//! `continuation_here`.

use std::collections::HashMap;

use canny_tables::kinds::Kind;
use canny_tables::layout::continuation::{
    CODE, DEPTH, HANDLERS, PARAMETERS, PARENT, RESUME_PC, SLICE, WINDERS,
};
use canny_tables::layout::{escape, frame::LINK_WORDS};
use canny_value::{ObjectRef, Value};

use crate::control::continuation::call_base;
use crate::control::escape::makes_escapes;
use crate::primitive::Raise;
use crate::thread::{Sealed, Thread};

/// How the dynamic state of the copied frames differs from that of the originals.
#[derive(Clone, Copy)]
pub struct NewState {
    /// List of pairs of old words and new ones.
    pub replacements: Value,
    /// The entry of old lists of handlers where the copied part ends.
    pub prompt: Value,
    /// The handlers below it now.
    pub handlers: Value,
}

/// More replacements than this are looked up in a table.
const LINEAR_MAX: usize = 8;

/// Old words and new ones. Lives only while nothing is allocated.
enum Replacements {
    Few(Vec<(Value, Value)>),
    Many(HashMap<u64, Value>),
}

impl Replacements {
    fn of(list: Value) -> Replacements {
        let mut few = Vec::new();
        let mut rest = list;
        while let Some(pair) = rest.as_pair() {
            if let Some(entry) = pair.car().as_pair() {
                few.push((entry.car(), entry.cdr()));
            }
            rest = pair.cdr();
        }
        if few.len() <= LINEAR_MAX {
            return Replacements::Few(few);
        }
        let entries = few.into_iter().map(|(old, new)| (old.bits(), new));
        Replacements::Many(entries.collect())
    }

    fn apply(&self, word: Value) -> Value {
        if !word.is_pair() {
            return word;
        }
        let new = match self {
            Replacements::Few(entries) => entries
                .iter()
                .find(|(old, _)| *old == word)
                .map(|(_, new)| *new),
            Replacements::Many(entries) => entries.get(&word.bits()).copied(),
        };
        new.unwrap_or(word)
    }
}

fn depth_of(continuation: ObjectRef) -> usize {
    continuation.field(DEPTH).bits() as usize
}

fn end_of(continuation: ObjectRef) -> usize {
    depth_of(continuation) + 8 * (continuation.length() - SLICE)
}

impl Thread {
    fn as_continuation(&self, value: Value) -> Option<ObjectRef> {
        value
            .as_kind(Kind::Closure)
            .filter(|object| object.field(CODE) == self.continuation_code)
    }

    fn continuation_argument(
        &mut self,
        who: &str,
        position: usize,
        value: Value,
    ) -> Result<ObjectRef, Raise> {
        match self.as_continuation(value) {
            Some(object) => Ok(object),
            None => Err(self.raise_type(who, position, "continuation", value)),
        }
    }

    /// The slice that a continuation is a copy of, or itself, and how much deeper it lies than that.
    fn origin_of(&self, continuation: ObjectRef) -> (Value, usize) {
        match self.as_continuation(continuation.field(WINDERS)) {
            Some(origin) => (origin.value(), continuation.field(HANDLERS).bits() as usize),
            None => (continuation.value(), 0),
        }
    }

    /// `%continuation-here`: of the continuations that the stack rests on, the newest that is the given
    /// one, or that is its copy; the given one if there is none.
    pub fn continuation_here(&mut self, continuation: Value) -> Result<Value, Raise> {
        let given = self.continuation_argument("%continuation-here", 1, continuation)?;
        if !self.vm.has_grafted() {
            return Ok(continuation);
        }
        let (origin, deeper) = self.origin_of(given);
        let end = end_of(given).wrapping_sub(deeper);
        let mut sealed = self.sealed;
        while let Some((object, words)) = sealed.newest() {
            let (own, deeper) = self.origin_of(object);
            if own == origin
                && sealed.bytes == end_of(object)
                && sealed.bytes.wrapping_sub(deeper) == end
            {
                return Ok(object.value());
            }
            sealed = below(object, words, sealed);
        }
        Ok(continuation)
    }

    /// `%graft-continuation`: a continuation of the frames of `newest` above those of `boundary`, which
    /// return to `onto`. The boundary is one of the continuations that `newest` rests on.
    pub fn graft_continuation(
        &mut self,
        newest: Value,
        boundary: Value,
        onto: Value,
        state: NewState,
    ) -> Result<Value, Raise> {
        const WHO: &str = "%graft-continuation";
        let newest = self.continuation_argument(WHO, 1, newest)?;
        let limit = end_of(self.continuation_argument(WHO, 2, boundary)?);
        let base = self.continuation_argument(WHO, 3, onto)?;
        let onto = self.without_empty(Sealed::all_of(base));
        let source = Sealed::all_of(newest);
        let Some(bytes) = source.bytes.checked_sub(limit) else {
            return Err(self.raise_type(WHO, 2, "continuation below the first one", boundary));
        };
        if bytes == 0 {
            return Ok(base.value());
        }
        self.check_depth((onto.bytes + bytes) / 8)?;
        self.vm.note_graft();
        let deeper = onto.bytes.wrapping_sub(limit);
        let (mut first, mut previous) = (Value::FALSE, Value::FALSE);
        let mut rest = source;
        while rest.bytes > limit {
            let Some((object, words)) = rest.newest() else {
                return Err(self.raise_type(WHO, 2, "continuation below the first one", boundary));
            };
            if words == 0 {
                rest = below(object, words, rest);
                continue;
            }
            if depth_of(object) < limit {
                return Err(self.raise_type(WHO, 2, "continuation below the first one", boundary));
            }
            let copy = self.try_object(Kind::Closure, 0, SLICE + words, Value::ZERO)?;
            let (origin, deeper_already) = self.origin_of(object);
            self.store(copy, CODE, self.continuation_code);
            self.store(copy, WINDERS, origin);
            let shift = deeper_already.wrapping_add(deeper);
            self.store(copy, HANDLERS, Value::from_aligned_address(shift));
            self.store(copy, PARAMETERS, Value::FALSE);
            self.store(copy, PARENT, onto.continuation);
            let depth = depth_of(object).wrapping_add(deeper);
            self.store(copy, DEPTH, Value::from_aligned_address(depth));
            self.store(
                copy,
                RESUME_PC,
                Value::from_aligned_address(rest.pc as usize),
            );
            let table = Replacements::of(state.replacements);
            for index in SLICE..SLICE + words {
                self.store(copy, index, table.apply(object.field(index)));
            }
            if first == Value::FALSE {
                first = copy;
            } else {
                self.store(previous, PARENT, copy);
            }
            previous = copy;
            rest = below(object, words, rest);
        }
        // The oldest frame's return address.
        self.store(
            previous,
            SLICE + 1,
            Value::from_aligned_address(onto.pc as usize),
        );
        if let Some(object) = first.as_kind(Kind::Closure) {
            self.renew_escapes(Sealed::all_of(object), onto.bytes, deeper, state);
        }
        Ok(first)
    }

    /// Continuations without frames of their own are left out.
    fn without_empty(&self, mut sealed: Sealed) -> Sealed {
        while let Some((object, 0)) = sealed.newest() {
            sealed.continuation = object.field(PARENT);
        }
        sealed
    }

    /// Gives the frames between `sealed` and `limit` that hold an escape procedure one for where they
    /// are now.
    fn renew_escapes(&mut self, mut sealed: Sealed, limit: usize, deeper: usize, state: NewState) {
        let trap = self.vm.stubs.trap();
        while sealed.bytes > limit {
            let Some((object, words)) = sealed.newest() else {
                return;
            };
            let object = object.value();
            let slice = |index: usize| object.as_object().map(|object| object.field(SLICE + index));
            let (mut end, mut pc) = (words, sealed.pc);
            while end > 0 {
                // SAFETY: `pc` is a return address.
                let mut fp = end - unsafe { call_base(pc) };
                if pc == trap {
                    let distance = slice(fp).and_then(Value::as_index);
                    fp -= distance.unwrap_or(0);
                } else if fp + escape::HOLDER < end
                    && let (Some(closure), Some(held)) =
                        (slice(fp - LINK_WORDS), slice(fp + escape::HOLDER))
                    && makes_escapes(closure)
                    && let Some(old) = held.as_kind(Kind::Closure)
                    && old.field(escape::CODE) == self.escape_code
                {
                    let new = self.renewed_escape(old, deeper, state);
                    self.store(object, SLICE + fp + escape::HOLDER, new);
                }
                end = fp - LINK_WORDS;
                let link = slice(fp - 1).map_or(0, Value::bits);
                pc = link as *const u32;
            }
            let Some(object) = object.as_object() else {
                return;
            };
            sealed = Sealed::below(object, pc);
        }
    }

    fn renewed_escape(&mut self, old: ObjectRef, deeper: usize, state: NewState) -> Value {
        let handlers = self.rebased_handlers(old.field(escape::HANDLERS), state);
        let new = self.object(Kind::Closure, 0, escape::WORDS + 1, Value::FALSE);
        let table = Replacements::of(state.replacements);
        self.store(new, escape::CODE, self.escape_code);
        for index in [escape::WINDERS, escape::PARAMETERS] {
            self.store(new, index, table.apply(old.field(index)));
        }
        self.store(new, escape::HANDLERS, handlers);
        let depth = (old.field(escape::DEPTH).bits() as usize).wrapping_add(deeper);
        self.store(new, escape::DEPTH, Value::from_aligned_address(depth));
        self.store(new, escape::WORDS, original_escape(old.value()));
        new
    }

    /// The handlers in front of the prompt on top of the new ones.
    fn rebased_handlers(&mut self, list: Value, state: NewState) -> Value {
        let first = self.protect(list);
        let mut rest = list;
        let mut result = loop {
            match rest.as_pair() {
                None => {
                    self.release(first);
                    return list;
                }
                Some(pair) if pair.car() == state.prompt => break state.handlers,
                Some(pair) => {
                    self.scratch.push(pair.car());
                    rest = pair.cdr();
                }
            }
        };
        for index in (first.index() + 1..self.scratch.len()).rev() {
            let handler = self.scratch[index];
            result = self.cons(handler, result);
        }
        self.release(first);
        result
    }
}

/// The escape procedure that a program has for the one that a frame holds.
pub(crate) fn original_escape(escape: Value) -> Value {
    match escape.as_object() {
        Some(object) if object.length() > escape::WORDS => object.field(escape::WORDS),
        _ => escape,
    }
}

/// The frames below the slice of the newest of sealed frames.
fn below(object: ObjectRef, words: usize, sealed: Sealed) -> Sealed {
    if words == 0 {
        return Sealed {
            continuation: object.field(PARENT),
            ..sealed
        };
    }
    // The oldest frame's return address is where the frames below resume.
    Sealed::below(object, object.field(SLICE + 1).bits() as *const u32)
}
