//! Values that Rust structures hold for long.
//!
//! A [`Handle`] owns a slot in the heap's [`HandleTable`]; the collector treats the slots as roots
//! and updates them. The table has a lock of its own, so that handles may be dropped anywhere but
//! in callbacks that the collector runs while it visits the table itself.

use std::sync::Arc;

use canny_locks::Mutex;
use canny_value::Value;

/// The slots of all handles.
#[derive(Debug, Default)]
pub struct HandleTable {
    inner: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    values: Vec<Value>,
    free: Vec<usize>,
}

impl HandleTable {
    fn with<R>(&self, work: impl FnOnce(&mut Slots) -> R) -> R {
        work(&mut self.inner.lock())
    }

    /// Makes a handle that holds a value.
    pub(crate) fn create(self: &Arc<Self>, value: Value) -> Handle {
        let index = self.with(|slots| match slots.free.pop() {
            Some(index) => {
                slots.values[index] = value;
                index
            }
            None => {
                slots.values.push(value);
                slots.values.len() - 1
            }
        });
        Handle {
            table: self.clone(),
            index,
        }
    }

    /// Number of handles in existence.
    pub fn count(&self) -> usize {
        self.with(|slots| slots.values.len() - slots.free.len())
    }

    /// Runs `work` on every slot.
    pub(crate) fn for_each_slot(&self, mut work: impl FnMut(&mut Value)) {
        self.with(|slots| slots.values.iter_mut().for_each(&mut work));
    }
}

/// Keeps a value alive and up to date until it is dropped.
///
/// Reading and writing are for threads that run as mutators: elsewhere a value that was read may go
/// stale at once.
#[derive(Debug)]
pub struct Handle {
    table: Arc<HandleTable>,
    index: usize,
}

impl Handle {
    /// The value.
    pub fn get(&self) -> Value {
        self.table.with(|slots| slots.values[self.index])
    }

    /// Replaces the value.
    pub fn set(&self, value: Value) {
        self.table.with(|slots| slots.values[self.index] = value);
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.table.create(self.get())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.table.with(|slots| {
            slots.values[self.index] = Value::FALSE;
            slots.free.push(self.index);
        });
    }
}
