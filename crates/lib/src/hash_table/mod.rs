//! Hash tables: entries in the order of insertion, and an index by hash.
//!
//! ```text
//! index:    | 0 | hash·1 | hash·3 | 0 | hash·2 | …   a bytevector of 64-bit slots, open addressing
//! entries:  | key value | key value | vacant | …     a vector, or weak entries in a weak table
//! ```
//!
//! A slot is zero, or the 32-bit hash of a key above the number of its entry counted from 1. Slots are
//! emptied only when the whole index is made anew: a deleted entry is vacant (in a weak table it may
//! also be broken), and a slot that leads to it is passed over. An entry's room is not used again
//! before the entries are compacted, with a new index.
//!
//! **Keys hashed by address.** `identity` says that there are any. Collections move objects, so every
//! operation with such a key first brings the index up to date if the heap's epoch has changed:
//!
//! - Each entry was put in when the index was up to date, thus before the last collection. What
//!   survives a collection is old, and only a full collection moves old objects.
//! - So if no full collection happened, only keys of entries from `settled` on, those put in since the
//!   collection before, can have moved. They get another slot. The slot that they had stays: it leads
//!   to the entry or to nothing, since a slot is believed only after its key was compared.
//! - After a full collection the index is made anew.
//!
//! Looking up allocates nothing. Inserting makes room first; what it then knows of addresses stays
//! true until it is done.

mod hashing;
#[cfg(test)]
mod tests;

use canny_heap::weak_entries;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{Raise, Thread};

use crate::equality::{is_equal, is_eqv};
use crate::text::{same_text, with_both};

pub(crate) use hashing::{Identity, KeyHasher, hash_of_name, hash_text, mix};

/// When two keys are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equivalence {
    Eq,
    Eqv,
    Equal,
    /// `string=?`; the keys are strings.
    String,
}

impl Equivalence {
    const ALL: [Equivalence; 4] = [
        Equivalence::Eq,
        Equivalence::Eqv,
        Equivalence::Equal,
        Equivalence::String,
    ];

    /// The symbol for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Equivalence::Eq => "eq",
            Equivalence::Eqv => "eqv",
            Equivalence::Equal => "equal",
            Equivalence::String => "string",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Equivalence> {
        Equivalence::ALL
            .into_iter()
            .find(|equivalence| equivalence.name() == name)
    }
}

/// What a table does not keep alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weakness {
    None,
    Key,
    Value,
    /// Weak keys, whose values are kept alive by nothing but the keys.
    Ephemeral,
}

impl Weakness {
    const ALL: [Weakness; 4] = [
        Weakness::None,
        Weakness::Key,
        Weakness::Value,
        Weakness::Ephemeral,
    ];

    /// The symbol for it; `None` for a table that keeps everything alive.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Weakness::None => None,
            Weakness::Key => Some("key"),
            Weakness::Value => Some("value"),
            Weakness::Ephemeral => Some("ephemeral"),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Weakness> {
        Weakness::ALL
            .into_iter()
            .find(|weakness| weakness.name() == Some(name))
    }

    fn flags(self) -> u8 {
        match self {
            Weakness::None => 0,
            Weakness::Key => weak_entries::WEAK_KEYS,
            Weakness::Value => weak_entries::WEAK_VALUES,
            Weakness::Ephemeral => weak_entries::WEAK_KEYS | weak_entries::EPHEMERAL,
        }
    }
}

/// Payload words of a table. All are fixnums but for `INDEX`, `ENTRIES` and `IDENTITY`.
mod field {
    /// Number in `Equivalence::ALL`.
    pub(super) const EQUIVALENCE: usize = 0;
    /// Number in `Weakness::ALL`.
    pub(super) const WEAKNESS: usize = 1;
    /// Entries that are not deleted; the broken ones of a weak table are included.
    pub(super) const COUNT: usize = 2;
    /// Entries that were put in since the entries were made.
    pub(super) const USED: usize = 3;
    /// Slots that are not zero.
    pub(super) const FILLED: usize = 4;
    pub(super) const INDEX: usize = 5;
    pub(super) const ENTRIES: usize = 6;
    /// Whether a key was hashed by address; the next three mean nothing before.
    pub(super) const IDENTITY: usize = 7;
    /// The heap's epoch for which the index is up to date.
    pub(super) const EPOCH: usize = 8;
    /// The number of full collections at that time.
    pub(super) const FULL_COLLECTIONS: usize = 9;
    /// Keys of the entries before this one are old.
    pub(super) const SETTLED: usize = 10;
    pub(super) const COUNT_OF_FIELDS: usize = 11;
}

/// Fewest entries that there is room for.
const CAPACITY_MIN: usize = 8;
/// Most entries: their numbers, counted from 1, fit 32 bits.
const CAPACITY_MAX: usize = 1 << 31;
/// Most entries for which room is made on a mere hint.
const CAPACITY_HINTED_MAX: usize = 1 << 20;

/// A table. It must stay in a local variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table(ObjectRef);

/// The hash of a key, and whether it is an address's.
#[derive(Clone, Copy)]
struct Hashed {
    hash: u32,
    by_address: bool,
}

impl Table {
    /// The table that a value is.
    pub(crate) fn of(value: Value) -> Option<Table> {
        value.as_kind(Kind::HashTable).map(Table)
    }

    /// A new table with room for about so many entries.
    pub(crate) fn make(
        thread: &mut Thread,
        equivalence: Equivalence,
        weakness: Weakness,
        expected: usize,
    ) -> Result<Value, Raise> {
        let capacity = expected
            .min(CAPACITY_HINTED_MAX)
            .next_power_of_two()
            .max(CAPACITY_MIN);
        let entries = make_entries(thread, weakness, capacity)?;
        let index = make_index(thread, capacity)?;
        let table = thread.try_object(Kind::HashTable, 0, field::COUNT_OF_FIELDS, Value::ZERO)?;
        thread.store(table, field::EQUIVALENCE, Value::fixnum(equivalence as i64));
        thread.store(table, field::WEAKNESS, Value::fixnum(weakness as i64));
        thread.store(table, field::IDENTITY, Value::FALSE);
        thread.store(table, field::INDEX, index);
        thread.store(table, field::ENTRIES, entries);
        Ok(table)
    }

    #[inline(always)]
    fn number(self, field: usize) -> usize {
        self.0.field(field).as_index().unwrap_or(0)
    }

    fn set_number(self, thread: &mut Thread, field: usize, number: usize) {
        thread.store(self.0.value(), field, Value::fixnum(number as i64));
    }

    /// The object in a field that holds an object.
    #[inline(always)]
    fn part(self, field: usize) -> ObjectRef {
        let part = self.0.field(field).as_object();
        part.expect("a hash table has an index and entries")
    }

    pub(crate) fn equivalence(self) -> Equivalence {
        Equivalence::ALL[self.number(field::EQUIVALENCE) & 3]
    }

    pub(crate) fn weakness(self) -> Weakness {
        Weakness::ALL[self.number(field::WEAKNESS) & 3]
    }

    /// The number of associations.
    pub(crate) fn count(self) -> usize {
        if self.weakness() == Weakness::None {
            return self.number(field::COUNT);
        }
        (0..self.used())
            .filter(|&entry| self.association(entry).is_some())
            .count()
    }

    /// Associations are numbered, in the order of insertion, below this.
    pub(crate) fn used(self) -> usize {
        self.number(field::USED)
    }

    /// Key and value of an association; `None` when it was removed or has died.
    #[inline]
    pub(crate) fn association(self, entry: usize) -> Option<(Value, Value)> {
        let entries = self.part(field::ENTRIES);
        let key = entries.field(2 * entry);
        let is_weak = entries.header().kind_byte() == Kind::WeakEntries as u8;
        if key == Value::VACANT || is_weak && key == Value::BROKEN {
            return None;
        }
        Some((key, entries.field(2 * entry + 1)))
    }

    #[inline]
    fn hash(self, key: Value) -> Hashed {
        let mut hasher = KeyHasher::new(hashing::process_seed(), Identity::Address);
        let hash = match self.equivalence() {
            Equivalence::Eq => hasher.eq(key),
            Equivalence::Eqv => hasher.eqv(key),
            Equivalence::Equal | Equivalence::String => hasher.equal(key),
        };
        Hashed {
            hash: (hash ^ hash >> 32) as u32,
            by_address: hasher.used_address,
        }
    }

    #[inline]
    fn is_same(self, left: Value, right: Value) -> bool {
        left == right
            || match self.equivalence() {
                Equivalence::Eq => false,
                Equivalence::Eqv => is_eqv(left, right),
                Equivalence::Equal => is_equal(left, right),
                Equivalence::String => {
                    match (left.as_kind(Kind::String), right.as_kind(Kind::String)) {
                        (Some(left), Some(right)) => with_both(left, right, same_text),
                        _ => false,
                    }
                }
            }
    }

    /// The entry of a key. The index is up to date if it must be.
    #[inline]
    fn find(self, key: Value, hash: u32) -> Option<usize> {
        if key == Value::BROKEN && self.weakness() != Weakness::None {
            return None;
        }
        let index = self.part(field::INDEX);
        let entries = self.part(field::ENTRIES);
        let mask = index.length() / 8 - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = index.raw_word(at);
            if slot == 0 {
                return None;
            }
            if (slot >> 32) as u32 == hash {
                let entry = slot as u32 as usize - 1;
                // No key is the same as a vacant or a broken one.
                if self.is_same(key, entries.field(2 * entry)) {
                    return Some(entry);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Lets a hash lead to an entry, unless it does already.
    fn add_slot(self, thread: &mut Thread, hash: u32, entry: usize) {
        let index = self.part(field::INDEX);
        let mask = index.length() / 8 - 1;
        let wanted = u64::from(hash) << 32 | (entry as u64 + 1);
        let mut at = hash as usize & mask;
        loop {
            match index.raw_word(at) {
                0 => break,
                slot if slot == wanted => return,
                _ => at = (at + 1) & mask,
            }
        }
        index.set_raw_word(at, wanted);
        self.set_number(thread, field::FILLED, self.number(field::FILLED) + 1);
    }

    /// Whether so few slots would be left empty that searches become long.
    fn is_crowded(self) -> bool {
        let slots = self.part(field::INDEX).length() / 8;
        self.number(field::FILLED) >= slots / 4 * 3
    }

    /// Hashes a key, and brings the index up to date if the hash is an address's.
    #[inline]
    fn hash_in_step(self, thread: &mut Thread, key: Value) -> Hashed {
        let hashed = self.hash(key);
        if hashed.by_address
            && self.0.field(field::IDENTITY).is_true()
            && self.number(field::EPOCH) != thread.vm().heap().epoch() as usize
        {
            self.catch_up(thread);
        }
        hashed
    }

    /// Brings the index up to date after collections.
    #[cold]
    fn catch_up(self, thread: &mut Thread) {
        let heap = thread.vm().heap().clone();
        let (epoch, full) = (
            heap.epoch() as usize,
            heap.statistics().full_collections as usize,
        );
        if full == self.number(field::FULL_COLLECTIONS) {
            for entry in self.number(field::SETTLED)..self.used() {
                let Some((key, _)) = self.association(entry) else {
                    continue;
                };
                let hashed = self.hash(key);
                if hashed.by_address {
                    if self.is_crowded() {
                        self.reindex(thread);
                        break;
                    }
                    self.add_slot(thread, hashed.hash, entry);
                }
            }
        } else {
            self.reindex(thread);
        }
        self.set_number(thread, field::SETTLED, self.used());
        self.set_number(thread, field::EPOCH, epoch);
        self.set_number(thread, field::FULL_COLLECTIONS, full);
    }

    /// Makes the index anew.
    fn reindex(self, thread: &mut Thread) {
        let index = self.part(field::INDEX);
        thread.fill_bytes(index, 0..index.length(), 0);
        self.set_number(thread, field::FILLED, 0);
        for entry in 0..self.used() {
            if let Some((key, _)) = self.association(entry) {
                let hashed = self.hash(key);
                self.add_slot(thread, hashed.hash, entry);
            }
        }
    }

    /// The value of a key.
    #[inline]
    pub(crate) fn get(self, thread: &mut Thread, key: Value) -> Option<Value> {
        let hashed = self.hash_in_step(thread, key);
        let entry = self.find(key, hashed.hash)?;
        Some(self.part(field::ENTRIES).field(2 * entry + 1))
    }

    /// Associates a value with a key.
    pub(crate) fn set(self, thread: &mut Thread, key: Value, value: Value) -> Result<(), Raise> {
        let hashed = self.hash_in_step(thread, key);
        if let Some(entry) = self.find(key, hashed.hash) {
            let entries = self.part(field::ENTRIES).value();
            thread.store(entries, 2 * entry + 1, value);
            return Ok(());
        }
        self.insert(thread, key, value, hashed)
    }

    fn insert(
        self,
        thread: &mut Thread,
        key: Value,
        value: Value,
        hashed: Hashed,
    ) -> Result<(), Raise> {
        let mut hashed = hashed;
        if 2 * self.used() >= self.part(field::ENTRIES).length() || self.is_crowded() {
            self.make_room(thread)?;
            hashed = self.hash_in_step(thread, key);
        }
        if hashed.by_address && !self.0.field(field::IDENTITY).is_true() {
            self.begin_identity(thread);
        }
        let entry = self.used();
        let entries = self.part(field::ENTRIES).value();
        thread.store(entries, 2 * entry, key);
        thread.store(entries, 2 * entry + 1, value);
        self.add_slot(thread, hashed.hash, entry);
        self.set_number(thread, field::USED, entry + 1);
        self.set_number(thread, field::COUNT, self.number(field::COUNT) + 1);
        Ok(())
    }

    /// Notes that from now on there are keys hashed by address.
    #[cold]
    fn begin_identity(self, thread: &mut Thread) {
        let heap = thread.vm().heap().clone();
        thread.store(self.0.value(), field::IDENTITY, Value::TRUE);
        self.set_number(thread, field::EPOCH, heap.epoch() as usize);
        let full = heap.statistics().full_collections as usize;
        self.set_number(thread, field::FULL_COLLECTIONS, full);
        self.set_number(thread, field::SETTLED, self.used());
    }

    /// Compacts the entries into as much room as they need, with a new index.
    fn make_room(self, thread: &mut Thread) -> Result<(), Raise> {
        let live = self.count();
        let capacity = (live + live / 2 + 1).next_power_of_two().max(CAPACITY_MIN);
        if capacity > CAPACITY_MAX {
            let message = "a hash table cannot hold more associations";
            return Err(thread.raise(canny_vm::ConditionKind::Memory, message, &[], None));
        }
        let weakness = self.weakness();
        let new_entries = make_entries(thread, weakness, capacity)?;
        let new_index = make_index(thread, capacity)?;
        // Nothing is allocated from here on, so what lives does not move.
        let hashes = self.known_hashes();
        let was_up_to_date = self.number(field::EPOCH) == thread.vm().heap().epoch() as usize;
        let (settled_before, used) = (self.number(field::SETTLED), self.used());
        let mut kept = 0;
        let mut settled = 0;
        let mut kept_hashes = Vec::with_capacity(live);
        for entry in 0..used {
            let Some((key, value)) = self.association(entry) else {
                continue;
            };
            thread.store(new_entries, 2 * kept, key);
            thread.store(new_entries, 2 * kept + 1, value);
            let known = hashes.as_ref().map(|hashes| hashes[entry]);
            kept_hashes.push(known.unwrap_or_else(|| self.hash(key).hash));
            kept += 1;
            if entry < settled_before {
                settled = kept;
            }
        }
        thread.store(self.0.value(), field::ENTRIES, new_entries);
        thread.store(self.0.value(), field::INDEX, new_index);
        self.set_number(thread, field::FILLED, 0);
        self.set_number(thread, field::USED, kept);
        self.set_number(thread, field::COUNT, kept);
        for (entry, &hash) in kept_hashes.iter().enumerate() {
            self.add_slot(thread, hash, entry);
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

    /// The hash of each entry as the index has it; `None` when some are addresses'.
    fn known_hashes(self) -> Option<Vec<u32>> {
        if self.0.field(field::IDENTITY).is_true() {
            return None;
        }
        let index = self.part(field::INDEX);
        let mut hashes = vec![0; self.used()];
        for at in 0..index.length() / 8 {
            let slot = index.raw_word(at);
            if slot != 0 {
                hashes[slot as u32 as usize - 1] = (slot >> 32) as u32;
            }
        }
        Some(hashes)
    }

    /// Removes a key; whether it was there.
    pub(crate) fn delete(self, thread: &mut Thread, key: Value) -> bool {
        let hashed = self.hash_in_step(thread, key);
        let Some(entry) = self.find(key, hashed.hash) else {
            return false;
        };
        let entries = self.part(field::ENTRIES).value();
        thread.store(entries, 2 * entry, Value::VACANT);
        thread.store(entries, 2 * entry + 1, Value::VACANT);
        self.set_number(
            thread,
            field::COUNT,
            self.number(field::COUNT).saturating_sub(1),
        );
        true
    }

    /// Removes every association, and gives back the room.
    pub(crate) fn clear(self, thread: &mut Thread) -> Result<(), Raise> {
        let entries = make_entries(thread, self.weakness(), CAPACITY_MIN)?;
        let index = make_index(thread, CAPACITY_MIN)?;
        thread.store(self.0.value(), field::ENTRIES, entries);
        thread.store(self.0.value(), field::INDEX, index);
        thread.store(self.0.value(), field::IDENTITY, Value::FALSE);
        for field in [field::COUNT, field::USED, field::FILLED] {
            self.set_number(thread, field, 0);
        }
        Ok(())
    }

    /// A table of its own with the same associations.
    pub(crate) fn copy(self, thread: &mut Thread) -> Result<Value, Raise> {
        let result = Table::make(thread, self.equivalence(), self.weakness(), self.count())?;
        if let Some(copy) = Table::of(result) {
            for entry in 0..self.used() {
                if let Some((key, value)) = self.association(entry) {
                    copy.set(thread, key, value)?;
                }
            }
        }
        Ok(result)
    }
}

/// Room for so many entries, all of them vacant.
fn make_entries(thread: &mut Thread, weakness: Weakness, capacity: usize) -> Result<Value, Raise> {
    let kind = match weakness {
        Weakness::None => Kind::Vector,
        _ => Kind::WeakEntries,
    };
    thread.try_object(kind, weakness.flags(), 2 * capacity, Value::VACANT)
}

/// An empty index, twice as long as there may be entries.
fn make_index(thread: &mut Thread, capacity: usize) -> Result<Value, Raise> {
    thread.try_leaf(Kind::Bytevector, 0, 8 * 2 * capacity)
}
