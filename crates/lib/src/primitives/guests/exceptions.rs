//! Tags and exceptions of guests.
//!
//! The tags of a store are records, which Scheme code keeps by their numbers in a vector of the store's
//! record. An exception that no guest has caught becomes a condition with its tag and its values; an
//! exception of Scheme becomes one of the guest at the call that the guest has left.

use canny_locks::MutexGuard;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread};
use canny_wasm::{Exception, GuestFrame, RunId, Tag, Trap};

use super::{Guests, ended, field, go_on, names_of, number, store, unknown, values};
use crate::arguments::Call;
use crate::list::Walk;

pub(super) fn make_tag(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let parameters = values::types_of(thread, call, 1)?;
    let tag = guests.lock(thread).store.tag(parameters);
    Ok(Value::fixnum(i64::from(tag.number())))
}

pub(super) fn tag_count(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let count = guests.lock(thread).store.tag_count();
    Ok(Value::fixnum(count as i64))
}

pub(super) fn tag_types(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let found = {
        let guests = guests.lock(thread);
        let tag = guests.store.tag_with_number(number);
        tag.map(|tag| guests.store.tag_type(tag))
    };
    match found {
        Some(kind) => values::type_list(thread, &kind.parameters),
        None => Err(unknown(thread, call, "tag")),
    }
}

pub(super) fn is_outside(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let run = RunId(call.index(thread, 1)? as u64);
    let guests = guests.lock(thread);
    let waits = guests.store.called_type().is_some();
    Ok(Value::boolean(
        waits && guests.store.newest_run() == Some(run),
    ))
}

/// Raises an exception in the call that a run has left, and continues the run.
pub(super) fn raise(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (shared, record) = store(thread, call)?;
    let run = RunId(call.index(thread, 1)? as u64);
    let number = number(thread, call, 2)?;
    call.list_length(thread, 3)?;
    let mut guests = shared.lock(thread);
    let Some(tag) = guests.store.tag_with_number(number) else {
        drop(guests);
        return Err(unknown(thread, call, "tag"));
    };
    let mut words = Vec::new();
    let converted = push_values(thread, &mut guests, record, tag, call.at(3), &mut words);
    let exception = guests.store.exception(tag, &words);
    let exception = match (converted, exception) {
        (Ok(()), Some(exception)) => exception,
        (converted, _) => {
            drop(guests);
            let expected = converted.err().unwrap_or_default();
            let text = format!("a value of the exception is not of type {expected}");
            let condition = thread.condition("type", &text, &[call.at(3)], Some(call.who));
            return Err(thread.raise_object(condition));
        }
    };
    match guests.store.raise(run, exception) {
        Ok(()) => go_on(thread, call, record, (&shared, guests), run, false),
        Err(reason) => Err(ended(thread, call, record, guests, &reason)),
    }
}

/// Adds the words of an exception's values; else says what was expected.
fn push_values(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    tag: Tag,
    given: Value,
    words: &mut Vec<u64>,
) -> Result<(), String> {
    let kind = guests.store.tag_type(tag);
    for (kind, value) in kind.parameters.iter().zip(Walk::new(given)) {
        values::push(thread, guests, record, words, *kind, value)?;
    }
    Ok(())
}

/// Raises an exception that no guest has caught. The irritants are its name, the tag, the list of values,
/// and the names of the functions that it has ended.
pub(super) fn uncaught(
    thread: &mut Thread,
    call: Call,
    record: ObjectRef,
    mut guests: MutexGuard<'_, Guests>,
    exception: &Exception,
    frames: &[GuestFrame],
) -> Raise {
    let kind = guests.store.tag_type(exception.tag());
    let list = values::list(
        thread,
        &mut guests,
        record,
        &kind.parameters,
        exception.words(),
    );
    drop(guests);
    let list = match list {
        Ok(list) => list,
        Err(raise) => return raise,
    };
    let place = exception.tag().number() as usize;
    let tags = record.field(field::TAGS).as_kind(Kind::Vector);
    let tags = tags.filter(|tags| place < tags.length());
    let tag = tags.map_or(Value::FALSE, |tags| tags.field(place));
    let [name, within] = ["exception", "in"].map(|name| thread.symbol(name));
    let functions = names_of(thread, frames);
    let irritants = [name, tag, list, within, functions];
    let count = if functions.is_nil() { 3 } else { 5 };
    let text = Trap::Exception(exception.clone()).to_string();
    let condition = thread.condition("wasm", &text, &irritants[..count], Some(call.who));
    thread.raise_object(condition)
}
