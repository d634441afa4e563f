//! Things of the host's that Scheme holds by an object with a number: processes, watches, sockets, contexts of TLS, readers of
//! JSON, regular expressions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::short_ratio_to_f64;
use canny_vm::{Raise, Thread};

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

/// Payload words of environments and of all these objects.
pub(crate) mod field {
    pub(crate) const ID: usize = 0;
    pub(crate) const NAME: usize = 1;
}

/// The number of an object that [`host_object`] made.
pub(crate) fn number_of_object(object: ObjectRef) -> u64 {
    object.field(field::ID).as_index().unwrap_or(0) as u64
}

/// The object for a host object with this number.
pub(crate) fn host_object(
    thread: &mut Thread,
    kind: Kind,
    space: u64,
    number: u64,
    name: &str,
) -> Result<Value, Raise> {
    let name = thread.literal_string(name);
    let object = thread.try_object(kind, 0, kind.row().fields.len(), Value::FALSE)?;
    thread.store(object, field::ID, Value::fixnum(number as i64));
    thread.store(object, field::NAME, name);
    thread.register_external(object, space | number);
    Ok(object)
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
    Ok(number_of_object(object))
}

/// The number of what may be such an object.
pub(crate) fn number_of_value(value: Value) -> Option<u64> {
    value.as_kind(Kind::External).map(number_of_object)
}

/// When an operation ends at the latest, by its timeout in seconds; `None` for `#f`.
pub(crate) fn deadline(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<Instant>, Raise> {
    let timeout = call.at(position);
    if timeout == Value::FALSE {
        return Ok(None);
    }
    let seconds = match timeout.as_fixnum() {
        Some(seconds) => Some(seconds as f64),
        None => timeout.as_flonum().or_else(|| short_ratio_to_f64(timeout)),
    };
    match seconds {
        // What is longer than a clock can tell is no limit.
        Some(seconds) if seconds >= 0.0 => Ok(Duration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|timeout| Instant::now().checked_add(timeout))),
        _ => Err(call.type_error(thread, position, "number of seconds")),
    }
}
