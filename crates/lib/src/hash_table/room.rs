//! The room of a table: entries and index are made, compacted and given back.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use super::{CAPACITY_MIN, Table, Weakness, association_in, field, leads};

/// Most entries: their numbers, counted from 1, fit 32 bits.
const CAPACITY_MAX: usize = 1 << 31;
/// Up to so many entries there are four slots for each, otherwise two.
const CAPACITY_SPARSE_MAX: usize = 1 << 11;

impl Table {
    /// Compacts the entries into as much room as they need, and makes the index anew.
    pub(super) fn make_room(self, thread: &mut Thread) -> Result<(), Raise> {
        let live = self.count();
        let capacity = (live + live / 2 + 1).next_power_of_two().max(CAPACITY_MIN);
        if capacity > CAPACITY_MAX {
            let message = "a hash table cannot hold more associations";
            return Err(thread.raise(canny_vm::ConditionKind::Memory, message, &[], None));
        }
        let weakness = self.weakness();
        let (old_entries, old_index) = (self.part(field::ENTRIES), self.part(field::INDEX));
        let in_place = weakness == Weakness::None && old_entries.length() == 2 * capacity;
        let (new_entries, new_index) = if in_place {
            (old_entries.value(), old_index.value())
        } else {
            let entries = make_entries(thread, weakness, capacity)?;
            (entries, make_index(thread, capacity)?)
        };
        // Nothing is allocated from here on, so what lives does not move.
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
        let was_up_to_date = self.number(field::EPOCH) == thread.vm().heap().epoch() as usize;
        let (settled_before, used) = (self.number(field::SETTLED), self.used());
        let mut kept = 0;
        let mut settled = 0;
        let mut new_numbers: Vec<u32> = Vec::with_capacity(if has_hashes { used } else { 0 });
        for entry in 0..used {
            if let Some((key, value)) = association_in(old_entries, entry) {
                if !in_place || kept != entry {
                    thread.store(new_entries, 2 * kept, key);
                    thread.store(new_entries, 2 * kept + 1, value);
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
                thread.store(new_entries, word, Value::VACANT);
            }
            thread.fill_bytes(old_index, 0..8 * old_slots, 0);
        }
        thread.store(self.0.value(), field::ENTRIES, new_entries);
        thread.store(self.0.value(), field::INDEX, new_index);
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
            let heap = thread.vm().heap().clone();
            let full = heap.statistics().full_collections as usize;
            self.set_number(
                thread,
                field::SETTLED,
                if was_up_to_date { settled } else { kept },
            );
            self.set_number(thread, field::EPOCH, heap.epoch() as usize);
            self.set_number(thread, field::FULL_COLLECTIONS, full);
        }
        Ok(())
    }

    /// Removes every association, and gives back the room.
    pub(crate) fn clear(self, thread: &mut Thread) -> Result<(), Raise> {
        let entries = make_entries(thread, self.weakness(), CAPACITY_MIN)?;
        let index = make_index(thread, CAPACITY_MIN)?;
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
    let slots = match capacity <= CAPACITY_SPARSE_MAX {
        true => 4 * capacity,
        false => 2 * capacity,
    };
    thread.try_leaf(Kind::Bytevector, 0, 8 * slots)
}
