//! Things of the host's that Scheme holds by an object with a number: processes, watches, sockets, contexts of TLS, readers of
//! JSON, regular expressions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use super::evaluation::{field, host_object};
use crate::arguments::Call;
use crate::host::sweep_dead;

/// Things of one sort, by their numbers, which nothing else of any machine has.
pub(crate) struct HostTable<T>(Mutex<HashMap<u64, Arc<T>>>);

/// Environments and loaders have numbers of their own, which are below these.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1 << 40);

impl<T> Default for HostTable<T> {
    fn default() -> HostTable<T> {
        HostTable(Mutex::default())
    }
}

impl<T> HostTable<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, thing: T) -> u64 {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, Arc::new(thing));
        number
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<T>> {
        self.lock().get(&number).cloned()
    }

    /// Takes a thing out; its end comes with the last who uses it.
    pub(crate) fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.lock().remove(&number)
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
