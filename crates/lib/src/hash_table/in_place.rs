//! Operations on a table for leaf functions. Work that would bring the index up to date, or make
//! room, is left to the primitives.

use canny_value::Value;
use canny_vm::InPlace;

use super::{Hashed, Table, field};

impl Table {
    /// Hashes a key if the index is up to date for it.
    #[inline(always)]
    fn hash_in_place(self, thread: &InPlace, key: Value) -> Option<Hashed> {
        let hashed = self.hash(key);
        let is_late = hashed.by_address
            && self.0.field(field::IDENTITY).is_true()
            && self.number(field::EPOCH) != thread.heap_epoch() as usize;
        (!is_late).then_some(hashed)
    }

    /// The value of a key, or none; nothing if the index is not up to date.
    #[inline]
    pub(crate) fn get_in_place(self, thread: &mut InPlace, key: Value) -> Option<Option<Value>> {
        self.exclusively(thread, |thread| self.get_in_place_alone(thread, key))
    }

    #[inline(always)]
    fn get_in_place_alone(self, thread: &mut InPlace, key: Value) -> Option<Option<Value>> {
        let hashed = self.hash_in_place(thread, key)?;
        let Some(entry) = self.find(key, hashed.hash) else {
            return Some(None);
        };
        self.note_last(thread, key, entry);
        Some(Some(self.part(field::ENTRIES).field(2 * entry + 1)))
    }

    /// Associates a value with a key, and whether it did.
    #[inline]
    pub(crate) fn set_in_place(self, thread: &mut InPlace, key: Value, value: Value) -> bool {
        self.exclusively(thread, |thread| self.set_in_place_alone(thread, key, value))
    }

    #[inline(always)]
    fn set_in_place_alone(self, thread: &mut InPlace, key: Value, value: Value) -> bool {
        let known = self.entry_of_last(key);
        let mut hashed = Hashed::default();
        let found = match known {
            Some(entry) => Ok(entry),
            None => {
                let Some(fresh) = self.hash_in_place(thread, key) else {
                    return false;
                };
                hashed = fresh;
                self.locate(key, hashed.hash).map(|located| located.entry)
            }
        };
        let slot = match found {
            Ok(entry) => {
                let entries = self.part(field::ENTRIES).value();
                thread.store(entries, 2 * entry + 1, value);
                return true;
            }
            Err(slot) => slot,
        };
        let is_first_address = hashed.by_address && !self.0.field(field::IDENTITY).is_true();
        if is_first_address || !self.has_room() {
            return false;
        }
        self.append(thread, key, value, hashed.hash, slot);
        true
    }

    /// Removes a key, and whether it was there; nothing if the index is not up to date.
    #[inline]
    pub(crate) fn delete_in_place(self, thread: &mut InPlace, key: Value) -> Option<bool> {
        self.exclusively(thread, |thread| {
            let hashed = self.hash_in_place(thread, key)?;
            Some(self.remove(thread, key, hashed.hash))
        })
    }
}
