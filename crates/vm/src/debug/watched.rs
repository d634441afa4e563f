//! Parts of objects that are watched: elements, fields, the halves of pairs, variables in boxes.
//!
//! Every instruction that stores in a part of that kind has a break, and so has every one behind the call
//! of a primitive that changes its arguments. A store to the part itself is met before it happens. A
//! change that came about otherwise is met at the next break, since the part is compared with what it
//! was. Code without such instructions stays as fast as it is.

use std::sync::atomic::{AtomicBool, Ordering};

use canny_tables::kinds::Kind;
use canny_tables::opcodes::{Extension, Opcode, field_a, field_b, field_c};
use canny_tables::primitives;
use canny_value::Value;

use super::kept::Kept;
use super::places::possible_places;
use super::seen::SeenBreak;
use crate::code::CodeRef;
use crate::thread::Thread;

/// Names a part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartName {
    /// The first half of a pair.
    Car,
    /// The second half of a pair.
    Cdr,
    /// A field: an element of a vector, a field of a record behind its type, the content of a box.
    Field(usize),
    /// A byte of a bytevector.
    Byte(usize),
}

/// A change of a part that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The value before.
    pub old: Value,
    /// The value behind it.
    pub new: Value,
    /// It has happened already.
    pub is_done: bool,
}

/// A part that is watched, with what is known of it.
#[derive(Debug)]
pub(super) struct Watched {
    object: Kept,
    part: PartName,
    /// Its value when it was looked at last, and the one before its last change.
    known: Kept,
    before: Kept,
    /// The value that an instruction was about to store.
    expected: Kept,
    is_expected: AtomicBool,
}

impl Watched {
    /// The instructions of a code that get a break, by the kind of the object.
    pub(super) fn places(&self, object: Value, code: CodeRef) -> Vec<u32> {
        let store = store_opcode(object, self.part);
        let words = code.plain_instructions();
        let possible = possible_places(&words);
        let is_possible = |at: usize| possible.binary_search(&(at as u32)).is_ok();
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(opcode) = words
            .get(at)
            .and_then(|word| Opcode::from_byte(*word as u8))
        {
            let next = at + opcode.words();
            if Some(opcode) == store && is_possible(at) {
                found.push(at as u32);
            }
            if changes_arguments(opcode, words.get(at + 1)) && is_possible(next) {
                found.push(next as u32);
            }
            at = next;
        }
        found.dedup();
        found
    }
}

/// The instruction that stores in a part.
fn store_opcode(object: Value, part: PartName) -> Option<Opcode> {
    match part {
        PartName::Car => Some(Opcode::SetCar),
        PartName::Cdr => Some(Opcode::SetCdr),
        PartName::Byte(_) => Some(Opcode::BytevectorSet),
        PartName::Field(_) => match object.as_object()?.kind() {
            Kind::Vector => Some(Opcode::VectorSet),
            Kind::Record => Some(Opcode::RecordSet),
            Kind::Box => Some(Opcode::BoxSet),
            _ => None,
        },
    }
}

/// Whether an instruction calls a primitive that changes an argument.
fn changes_arguments(opcode: Opcode, extension: Option<&u32>) -> bool {
    let is_call = opcode.row().extensions.first() == Some(&Extension::Primitive);
    let number = extension.filter(|_| is_call);
    let row = number.and_then(|number| primitives::all().get(*number as usize));
    row.is_some_and(|row| row.name.ends_with('!'))
}

impl Thread {
    /// The value of a part, if the object has it.
    pub fn debug_part(&self, object: Value, part: PartName) -> Option<Value> {
        match part {
            PartName::Car => object.car(),
            PartName::Cdr => object.cdr(),
            PartName::Field(index) => {
                let object = object.as_object()?;
                let count = match object.kind() {
                    Kind::Vector | Kind::Record => object.length(),
                    Kind::Box => 1,
                    _ => 0,
                };
                (index < count).then(|| object.field(index))
            }
            PartName::Byte(index) => {
                let object = object.as_kind(Kind::Bytevector)?;
                let byte = object.with_bytes(|bytes| bytes.get(index).copied())?;
                Some(Value::fixnum(i64::from(byte)))
            }
        }
    }

    /// Stores in a part; otherwise a sentence says why that was not done.
    pub fn debug_set_part(
        &mut self,
        object: Value,
        part: PartName,
        value: Value,
    ) -> Result<(), &'static str> {
        if self.debug_part(object, part).is_none() {
            return Err("the object has no such part");
        }
        if object.as_object().is_some_and(|one| one.is_immutable()) {
            return Err("the object is a constant");
        }
        match part {
            PartName::Car => self.set_car(object, value),
            PartName::Cdr => self.set_cdr(object, value),
            PartName::Field(index) => self.store(object, index, value),
            PartName::Byte(index) => {
                let byte = value.as_fixnum().and_then(|byte| u8::try_from(byte).ok());
                let byte = byte.ok_or("an element of a bytevector is an integer from 0 to 255")?;
                let object = object.as_object().ok_or("the object has no bytes")?;
                object.set_byte(index, byte);
            }
        }
        Ok(())
    }

    /// Begins to watch a part of an object; none if it has no such part or there is no memory.
    pub(super) fn watch_part(&mut self, object: Kept, part: PartName) -> Option<Watched> {
        let own = self.debug_keep(self.debug_kept(object))?;
        let now = self.debug_part(self.debug_kept(own), part)?;
        let known = self.debug_keep(now)?;
        let before = self.debug_keep(self.debug_kept(known))?;
        let expected = self.debug_keep(Value::FALSE)?;
        Some(Watched {
            object: own,
            part,
            known,
            before,
            expected,
            is_expected: AtomicBool::new(false),
        })
    }

    /// The object of a part that is watched.
    pub(super) fn watched_object(&self, watched: &Watched) -> Value {
        self.debug_kept(watched.object)
    }

    /// Lets go of what was kept for a part.
    pub(super) fn unwatch_part(&mut self, watched: &Watched) {
        for kept in [
            watched.object,
            watched.known,
            watched.before,
            watched.expected,
        ] {
            self.debug_forget(kept);
        }
    }

    /// Whether the part was changed, or is by the instruction with a break at an address.
    pub(super) fn is_changed(&mut self, watched: &Watched, opcode: Opcode, at: *const u32) -> bool {
        let object = self.debug_kept(watched.object);
        let Some(now) = self.debug_part(object, watched.part) else {
            return false;
        };
        let known = self.debug_kept(watched.known);
        // The instruction that was about to store may not have been executed yet.
        let is_pending = watched.is_expected.load(Ordering::Relaxed);
        let expected = is_pending.then(|| self.debug_kept(watched.expected));
        let is_changed = now != known && Some(now) != expected;
        if is_changed {
            self.debug_change(watched.before, expected.unwrap_or(known));
        }
        if now != known {
            self.debug_change(watched.known, now);
            watched.is_expected.store(false, Ordering::Relaxed);
        }
        let is_constant = object.as_object().is_some_and(|one| one.is_immutable());
        let stored = self.stored_by(opcode, at, object, watched.part);
        if let Some(new) = stored.filter(|_| !is_constant) {
            self.debug_change(watched.expected, new);
            watched.is_expected.store(true, Ordering::Relaxed);
            return true;
        }
        is_changed
    }

    /// The value that an instruction stores in a part of an object, if it does.
    fn stored_by(
        &self,
        opcode: Opcode,
        at: *const u32,
        object: Value,
        part: PartName,
    ) -> Option<Value> {
        // SAFETY: the address of an instruction that is about to be executed.
        let word = unsafe { *at };
        let register = |number: u8| {
            // SAFETY: a register that the instruction reads, so it is live.
            unsafe { *self.fp.add(usize::from(number)) }
        };
        let (a, b, c) = (field_a(word), field_b(word), field_c(word));
        let index = || usize::try_from(register(b).as_fixnum()?).ok();
        let (stored, new) = match opcode {
            Opcode::SetCar => (PartName::Car, b),
            Opcode::SetCdr => (PartName::Cdr, b),
            Opcode::BoxSet => (PartName::Field(0), b),
            Opcode::VectorSet => (PartName::Field(index()?), c),
            Opcode::BytevectorSet => (PartName::Byte(index()?), c),
            Opcode::RecordSet => {
                // SAFETY: the instruction has extension words, of which the first is the field.
                let field = unsafe { *at.add(1) };
                (PartName::Field(field as usize + 1), c)
            }
            _ => return None,
        };
        (stored == part && register(a) == object).then(|| register(new))
    }

    /// The change that the breakpoint on a part has met here.
    pub(super) fn change_of(&self, watched: &Watched, seen: &SeenBreak) -> Option<Change> {
        let object = self.debug_kept(watched.object);
        // SAFETY: stubs save pc behind the first word of the instruction.
        let at = unsafe { self.pc.sub(1) };
        match self.stored_by(seen.opcode, at, object, watched.part) {
            Some(new) => Some(Change {
                old: self.debug_part(object, watched.part)?,
                new,
                is_done: false,
            }),
            None => Some(Change {
                old: self.debug_kept(watched.before),
                new: self.debug_kept(watched.known),
                is_done: true,
            }),
        }
    }
}
