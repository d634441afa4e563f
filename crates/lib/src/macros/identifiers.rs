//! The identifiers that objects of the kind `identifier` stand for.
//!
//! An object holds a number; here is what the number means. Equal identifiers have equal numbers, so
//! `bound-identifier=?` compares numbers. Any machine may have identifiers: code that is shared between
//! macros and programs may make some from templates.

use std::collections::HashMap;

use canny_locks::{Mutex, MutexGuard};
use canny_syntax::procedural::MacroIdentifier;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use crate::host;

/// Payload words of identifiers.
pub(crate) mod field {
    pub(crate) const NAME: usize = 0;
    pub(crate) const NUMBER: usize = 1;
}

/// All identifiers of a machine.
#[derive(Default)]
pub(crate) struct Identifiers {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    all: Vec<MacroIdentifier>,
    numbers: HashMap<MacroIdentifier, usize>,
    fresh: u64,
}

impl Identifiers {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// The number of an identifier.
    fn number(&self, identifier: &MacroIdentifier) -> usize {
        let mut inner = self.lock();
        if let Some(number) = inner.numbers.get(identifier) {
            return *number;
        }
        let number = inner.all.len();
        inner.all.push(identifier.clone());
        inner.numbers.insert(identifier.clone(), number);
        number
    }

    /// The identifier with a number.
    fn get(&self, number: usize) -> Option<MacroIdentifier> {
        self.lock().all.get(number).cloned()
    }

    /// A number that no other temporary has.
    fn fresh(&self) -> u64 {
        let mut inner = self.lock();
        inner.fresh += 1;
        inner.fresh
    }
}

/// The identifiers of the thread's machine.
fn identifiers(thread: &Thread) -> &Identifiers {
    host::state(thread.vm())
}

/// A number that no other temporary of the thread's machine has.
pub(crate) fn fresh_number(thread: &Thread) -> u64 {
    identifiers(thread).fresh()
}

/// An object for an identifier.
pub(crate) fn identifier_object(
    thread: &mut Thread,
    identifier: &MacroIdentifier,
) -> Result<Value, Raise> {
    let number = identifiers(thread).number(identifier);
    let name = thread.symbol(identifier.name().as_str());
    let fields = Kind::Identifier.row().fields.len();
    let object = thread.try_object(Kind::Identifier, 0, fields, Value::FALSE)?;
    thread.store(object, field::NAME, name);
    thread.store(object, field::NUMBER, Value::fixnum(number as i64));
    Ok(object)
}

/// The identifier that an object stands for, if it is one.
pub(crate) fn identifier_of(thread: &Thread, object: Value) -> Option<MacroIdentifier> {
    let number = object
        .as_kind(Kind::Identifier)?
        .field(field::NUMBER)
        .as_index()?;
    identifiers(thread).get(number)
}
