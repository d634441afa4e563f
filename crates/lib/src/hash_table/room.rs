//! Allocates, grows, compacts and clears the storage of hash tables: the entries and the index of
//! them.
//!
//! Entries keep the order of insertion when they are compacted. An allocation may collect, and
//! other threads may change the table meanwhile; so the state is looked at again after it. Filling
//! the new storage allocates nothing.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{InPlace, Raise, Thread};

use super::{CAPACITY_MIN, Table, Weakness, Writer, association_in, field, leads};

/// Most entries: their numbers, counted from 1, fit 32 bits.
const CAPACITY_MAX: usize = 1 << 31;
/// Most entries for which room is made without a collection.
const CAPACITY_IN_PLACE_MAX: usize = 1 << 11;
/// Up to so many entries there are four slots for each, otherwise two.
const CAPACITY_SPARSE_MAX: usize = 1 << 11;

impl Table {
    /// Compacts the entries into as much room as they need, and makes the index anew.
    pub(super) fn make_room(self, thread: &mut Thread) -> Result<(), Raise> {
        let weakness = self.weakness();
        loop {
            let capacity = self.wanted_capacity();
            if capacity > CAPACITY_MAX {
                let message = "a hash table cannot hold more associations";
                return Err(thread.raise(canny_vm::ConditionKind::Memory, message, &[], None));
            }
            if self.is_compacted_in_place(capacity) {
                // Nothing is allocated, so it is as it was unless there are other threads.
                let is_done = self.exclusively(thread, |thread| {
                    let is_right = self.is_compacted_in_place(self.wanted_capacity());
                    let parts = (self.part(field::ENTRIES), self.part(field::INDEX));
                    if is_right && !self.has_room() {
                        self.move_to(thread, parts.0.value(), parts.1.value());
                    }
                    is_right
                });
                if is_done {
                    return Ok(());
                }
                continue;
            }
            let entries = make_entries(thread, weakness, capacity)?;
            let index = make_index(thread, capacity)?;
            let is_done = self.exclusively(thread, |thread| {
                // Others may have made room or used it up; what died meanwhile is no matter.
                let is_right = self.wanted_capacity() <= capacity;
                if is_right && !self.has_room() {
                    self.move_to(thread, entries, index);
                }
                is_right
            });
            if is_done {
                return Ok(());
            }
        }
    }

    /// The same of a table that keeps everything alive and is not large, without a collection; whether it
    /// did.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_in_place(self, thread: &mut InPlace) -> bool {
        if self.weakness() != Weakness::None {
            return false;
        }
        let capacity = self.wanted_capacity();
        let parts = if self.is_compacted_in_place(capacity) {
            None
        } else if let Some(parts) = make_parts_in_place(thread, capacity) {
            Some(parts)
        } else {
            return false;
        };
        self.exclusively(thread, |thread| {
            let now = self.wanted_capacity();
            let (is_right, (entries, index)) = match parts {
                Some(parts) => (now <= capacity, parts),
                None => {
                    let parts = [field::ENTRIES, field::INDEX].map(|part| self.part(part).value());
                    (self.is_compacted_in_place(now), (parts[0], parts[1]))
                }
            };
            // Another thread may have made room or used it up: then the caller tries again.
            if is_right && !self.has_room() {
                self.move_to(thread, entries, index);
            }
        });
        true
    }

    /// Entries for which there should be room.
    fn wanted_capacity(self) -> usize {
        let live = self.count();
        (live + live / 2 + 1).next_power_of_two().max(CAPACITY_MIN)
    }

    /// Whether the entries that there are have room for so many as it is.
    fn is_compacted_in_place(self, capacity: usize) -> bool {
        self.weakness() == Weakness::None && self.part(field::ENTRIES).length() == 2 * capacity
    }

    /// Compacts the entries into these, which may be the same, and makes this index of them. Nothing is
    /// allocated, so what lives does not move.
    fn move_to(self, thread: &mut impl Writer, new_entries: Value, new_index: Value) {
        let weakness = self.weakness();
        let (old_entries, old_index) = (self.part(field::ENTRIES), self.part(field::INDEX));
        let in_place = old_entries.value() == new_entries;
        let has_hashes = weakness == Weakness::None
            && !self.0.field(field::IDENTITY).is_true()
            && self.number(field::LOOSE) == 0;
        // Slots are put in in the order of the old ones, which are in much the same order in the new index.
        let old_slots = old_index.length() / 8;
        let mut saved = Vec::new();
        if has_hashes && in_place {
            saved.extend(
                (0..old_slots)
                    .map(|at| old_index.raw_word(at))
                    .filter(leads),
            );
        }
        let was_up_to_date = self.number(field::EPOCH) == thread.epoch();
        let (settled_before, used) = (self.number(field::SETTLED), self.used());
        let mut kept = 0;
        let mut settled = 0;
        let mut new_numbers: Vec<u32> = Vec::with_capacity(if has_hashes { used } else { 0 });
        for entry in 0..used {
            if let Some((key, value)) = association_in(old_entries, entry) {
                if !in_place || kept != entry {
                    thread.write(new_entries, 2 * kept, key);
                    thread.write(new_entries, 2 * kept + 1, value);
                }
                kept += 1;
                if entry < settled_before {
                    settled = kept;
                }
            }
            if has_hashes {
                new_numbers.push(kept.saturating_sub(1) as u32);
            }
        }
        if in_place {
            for word in 2 * kept..2 * used {
                thread.write(new_entries, word, Value::VACANT);
            }
            thread.clear(old_index);
        }
        thread.write(self.0.value(), field::ENTRIES, new_entries);
        thread.write(self.0.value(), field::INDEX, new_index);
        for field in [field::FILLED, field::JUMPED, field::LOOSE] {
            self.set_number(thread, field, 0);
        }
        self.set_number(thread, field::USED, kept);
        self.set_number(thread, field::COUNT, kept);
        let mut add = |slot: u64| {
            let entry = slot as u32 as usize - 1;
            self.add_slot(thread, (slot >> 32) as u32, new_numbers[entry] as usize);
        };
        if !has_hashes {
            let entries = self.part(field::ENTRIES);
            for entry in 0..kept {
                let hashed = self.hash(entries.field(2 * entry));
                self.add_slot(thread, hashed.hash, entry);
            }
        } else if in_place {
            saved.into_iter().for_each(add);
        } else {
            for at in 0..old_slots {
                let slot = old_index.raw_word(at);
                if leads(&slot) {
                    add(slot);
                }
            }
        }
        if self.0.field(field::IDENTITY).is_true() {
            let (epoch, full) = (thread.epoch(), thread.full_collections());
            self.set_number(
                thread,
                field::SETTLED,
                if was_up_to_date { settled } else { kept },
            );
            self.set_number(thread, field::EPOCH, epoch);
            self.set_number(thread, field::FULL_COLLECTIONS, full);
        }
    }

    /// Removes every association, and gives back the room.
    pub(crate) fn clear(self, thread: &mut Thread) -> Result<(), Raise> {
        let entries = make_entries(thread, self.weakness(), CAPACITY_MIN)?;
        let index = make_index(thread, CAPACITY_MIN)?;
        self.exclusively(thread, |thread| {
            thread.store(self.0.value(), field::ENTRIES, entries);
            thread.store(self.0.value(), field::INDEX, index);
            thread.store(self.0.value(), field::IDENTITY, Value::FALSE);
            for field in [
                field::COUNT,
                field::USED,
                field::FILLED,
                field::JUMPED,
                field::LOOSE,
            ] {
                self.set_number(thread, field, 0);
            }
        });
        Ok(())
    }
}

/// Room for so many entries, all of them vacant.
pub(super) fn make_entries(
    thread: &mut Thread,
    weakness: Weakness,
    capacity: usize,
) -> Result<Value, Raise> {
    let kind = match weakness {
        Weakness::None => Kind::Vector,
        _ => Kind::WeakEntries,
    };
    thread.try_object(kind, weakness.flags(), 2 * capacity, Value::VACANT)
}

/// An empty index for so many entries.
pub(super) fn make_index(thread: &mut Thread, capacity: usize) -> Result<Value, Raise> {
    thread.try_leaf(Kind::Bytevector, 0, index_bytes(capacity))
}

fn index_bytes(capacity: usize) -> usize {
    let slots = if capacity <= CAPACITY_SPARSE_MAX {
        4 * capacity
    } else {
        2 * capacity
    };
    8 * slots
}

/// Vacant entries and an empty index for so many of them, without a collection; none if there are many.
pub(super) fn make_parts_in_place(thread: &mut InPlace, capacity: usize) -> Option<(Value, Value)> {
    if capacity > CAPACITY_IN_PLACE_MAX {
        return None;
    }
    let entries = thread.long_vector(2 * capacity, Value::VACANT)?;
    Some((entries, thread.long_bytevector(index_bytes(capacity))?))
}
