//! Operations on a table for leaf functions: they collect nothing, bring the index up to date, and make
//! room for a table that is not large. Room for others is left to the primitives.

use canny_value::Value;
use canny_vm::InPlace;

use super::{Table, Writer};

impl Table {
    /// The value of a key.
    #[inline]
    pub(crate) fn get_in_place(self, thread: &mut InPlace, key: Value) -> Option<Value> {
        self.exclusively(thread, |thread| self.get_alone(thread, key))
    }

    /// Associates a value with a key, and whether it did.
    #[inline]
    pub(crate) fn set_in_place(self, thread: &mut InPlace, key: Value, value: Value) -> bool {
        loop {
            if self.exclusively(thread, |thread| self.set_alone(thread, key, value)) {
                return true;
            }
            if !self.make_room_in_place(thread) {
                return false;
            }
        }
    }

    /// Removes a key, and whether it was there.
    #[inline]
    pub(crate) fn delete_in_place(self, thread: &mut InPlace, key: Value) -> bool {
        self.exclusively(thread, |thread| self.delete_alone(thread, key))
    }

    #[inline(always)]
    pub(super) fn delete_alone(self, thread: &mut impl Writer, key: Value) -> bool {
        let hashed = self.hash_in_step(thread, key);
        self.remove(thread, key, hashed.hash)
    }
}
