//! Tables of host objects, and the Scheme objects with numbers that stand for them.
//!
//! A table owns its host objects, by numbers that are never used twice. An object leaves its table when
//! it is taken, or when the collector found its Scheme object dead and the registry sweeps its kind.
//! Lookups give a reference of their own, so that an operation outlasts the removal of what it works
//! on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_locks::{Mutex, MutexGuard};
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread};

use super::registry::{HostKind, Registered, register, sweep_dead, table};

/// The host objects of a kind, by their numbers, which no object of another such table has, in any machine.
pub(crate) struct HostTable<T>(Mutex<HashMap<u64, Arc<T>>>);

/// Environments have numbers of their own, which are below these.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1 << 40);

impl<T> Default for HostTable<T> {
    fn default() -> HostTable<T> {
        HostTable(Mutex::default())
    }
}

impl<T> HostTable<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.lock()
    }

    fn insert(&self, object: T) -> u64 {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, Arc::new(object));
        number
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<T>> {
        self.lock().get(&number).cloned()
    }

    /// Looks at an object without waiting for anybody.
    pub(crate) fn look<R>(&self, number: u64, at: impl FnOnce(&T) -> R) -> Option<R> {
        let objects = self.0.try_lock()?;
        Some(at(objects.get(&number)?))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Takes an object out; it is dropped with its last user.
    pub(crate) fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.lock().remove(&number)
    }

    /// Takes objects out, and drops them once the table is unlocked.
    pub(crate) fn sweep(&self, dead: &[u64]) {
        let removed: Vec<Option<Arc<T>>> = {
            let mut objects = self.lock();
            dead.iter().map(|number| objects.remove(number)).collect()
        };
        drop(removed);
    }
}

/// Payload words of environments and of all these objects.
pub(crate) mod field {
    pub(crate) const ID: usize = 0;
    pub(crate) const NAME: usize = 1;
}

/// The number of an object that [`object_with_number`] made.
pub(crate) fn number_of_object(object: ObjectRef) -> u64 {
    object.field(field::ID).as_index().unwrap_or(0) as u64
}

/// The number of what may be such an object.
pub(crate) fn number_of_value(value: Value) -> Option<u64> {
    value.as_kind(Kind::External).map(number_of_object)
}

/// A Scheme object with a number and a name, whose death is not reported.
pub(crate) fn bare_object<K: HostKind>(
    thread: &mut Thread,
    number: u64,
    name: &str,
) -> Result<Value, Raise> {
    let name = thread.literal_string(name);
    let object = thread.try_object(K::KIND, 0, K::KIND.row().fields.len(), Value::FALSE)?;
    thread.store(object, field::ID, Value::fixnum(number as i64));
    thread.store(object, field::NAME, name);
    Ok(object)
}

/// The Scheme object for the host object with this number.
pub(crate) fn object_with_number<K: Registered>(
    thread: &mut Thread,
    number: u64,
    name: &str,
) -> Result<Value, Raise> {
    let object = bare_object::<K>(thread, number, name)?;
    register::<K>(thread, object, number);
    Ok(object)
}

/// Puts a host object into its table; gives the Scheme object for it, whose name says what it is.
pub(crate) fn keep<K: Registered<Table = HostTable<K>>>(
    thread: &mut Thread,
    object: K,
    name: &str,
) -> Result<Value, Raise> {
    sweep_dead(thread);
    let number = table::<K>(thread).insert(object);
    let made = object_with_number::<K>(thread, number, name);
    if made.is_err() {
        table::<K>(thread).remove(number);
    }
    made
}

/// The host object of a kind that a value stands for, if it does.
pub(crate) fn find<K: Registered<Table = HostTable<K>>>(
    thread: &Thread,
    value: Value,
) -> Option<Arc<K>> {
    table::<K>(thread).find(number_of_value(value)?)
}

/// Takes the host object that a value stands for out of its table.
pub(crate) fn take<K: Registered<Table = HostTable<K>>>(
    thread: &Thread,
    value: Value,
) -> Option<Arc<K>> {
    table::<K>(thread).remove(number_of_value(value)?)
}

/// Implements [`HostKind`] for a kind whose sweeper only drops what the table has. The second argument says
/// what an object holds ([`HostKind::held_bytes`]).
macro_rules! kept_in_table {
    ($kind:ty) => {
        $crate::host::kept_in_table!($kind, |_| None);
    };
    ($kind:ty, $bytes:expr) => {
        impl $crate::host::HostKind for $kind {
            type Table = $crate::host::HostTable<$kind>;

            fn sweep(thread: &mut canny_vm::Thread, dead: &[u64]) {
                $crate::host::table::<$kind>(thread).sweep(dead);
            }

            fn held_bytes(table: &Self::Table, number: u64) -> Option<u64> {
                let bytes: fn(&$kind) -> Option<u64> = $bytes;
                table.look(number, bytes)?
            }
        }
    };
}
pub(crate) use kept_in_table;
