//! Things of the host's that Scheme holds by an object with a number: processes, watches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use super::evaluation::{field, host_object};
use crate::arguments::Call;
use crate::host::sweep_dead;

/// Things of one sort, by their numbers, which are never used twice.
pub(crate) struct HostTable<T>(Mutex<Things<T>>);

struct Things<T> {
    next: u64,
    by_number: HashMap<u64, Arc<T>>,
}

impl<T> Default for HostTable<T> {
    fn default() -> HostTable<T> {
        HostTable(Mutex::new(Things {
            next: 0,
            by_number: HashMap::new(),
        }))
    }
}

impl<T> HostTable<T> {
    fn lock(&self) -> MutexGuard<'_, Things<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, thing: T) -> u64 {
        let mut things = self.lock();
        things.next += 1;
        let number = things.next;
        things.by_number.insert(number, Arc::new(thing));
        number
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<T>> {
        self.lock().by_number.get(&number).cloned()
    }

    /// Takes a thing out; its end comes with the last who uses it.
    pub(crate) fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.lock().by_number.remove(&number)
    }
}

/// The object for the thing with a number; `name` says what it is.
pub(crate) fn make_object(
    thread: &mut Thread,
    space: u64,
    number: u64,
    name: &str,
) -> Result<Value, Raise> {
    sweep_dead(thread);
    host_object(thread, Kind::External, space, number, name)
}

/// The number of the thing that an argument is.
pub(crate) fn number_of(
    thread: &mut Thread,
    call: Call,
    position: usize,
    expected: &str,
) -> Result<u64, Raise> {
    let object = call.object(thread, position, Kind::External, expected)?;
    let named = canny_vm::string_text(object.field(field::NAME));
    if named.as_deref() != Some(expected) {
        return Err(call.type_error(thread, position, expected));
    }
    Ok(object.field(field::ID).as_index().unwrap_or(0) as u64)
}

/// The point in time that is so many nanoseconds away; `None` for `#f`.
pub(crate) fn deadline(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<Instant>, Raise> {
    if call.at(position) == Value::FALSE {
        return Ok(None);
    }
    let nanoseconds = call.index(thread, position)?;
    Ok(Instant::now().checked_add(Duration::from_nanos(nanoseconds as u64)))
}
