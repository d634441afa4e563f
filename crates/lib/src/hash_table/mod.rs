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
//! before the entries are compacted, with a new index, except for that of the last entries, which
//! `pop` gives back: then several slots may lead to one entry, and one of them has its key's hash.
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
use canny_vm::{InPlace, Raise, Thread};

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
    pub(super) use canny_tables::layout::hash_table::{ENTRIES, INDEX};
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

/// Who may change a table's words.
trait Writer {
    fn write(&mut self, object: Value, index: usize, value: Value);
}

impl Writer for Thread {
    #[inline(always)]
    fn write(&mut self, object: Value, index: usize, value: Value) {
        self.store(object, index, value);
    }
}

impl Writer for InPlace {
    #[inline(always)]
    fn write(&mut self, object: Value, index: usize, value: Value) {
        self.store(object, index, value);
    }
}

/// A table. It must stay in a local variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table(ObjectRef);

/// The places of an index where a hash is looked for, one after the other: a few neighbours from the place that the hash's
/// low bits give, then from other places, which the whole hash and the process's seed give, and at last all others.
///
/// Nobody can prepare keys whose places stay the same throughout. Many keys with the same low bits, or a long row of keys that
/// lies where another one has its places, cost each of them the way to the next place.
struct Probe {
    at: usize,
    mask: usize,
    hash: u32,
    /// Neighbours that are still to come.
    neighbours: u32,
    jumps: u32,
}

impl Probe {
    /// Neighbours that are looked at from each place: about a cache line.
    const NEIGHBOURS: u32 = 8;
    /// Places before all slots are looked at one by one; each is found full with a chance of three quarters at most.
    const JUMPS: u32 = 64;

    #[inline(always)]
    fn new(hash: u32, mask: usize) -> Probe {
        Probe {
            at: hash as usize & mask,
            mask,
            hash,
            neighbours: Probe::NEIGHBOURS,
            jumps: 0,
        }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.neighbours = self.neighbours.wrapping_sub(1);
        if self.neighbours == 0 {
            self.jump();
        } else {
            self.at = (self.at + 1) & self.mask;
        }
    }

    #[inline(never)]
    fn jump(&mut self) {
        self.jumps += 1;
        let seed = hashing::process_seed();
        let place = mix(seed, u64::from(self.jumps) << 32 | u64::from(self.hash));
        self.at = place as usize & self.mask;
        self.neighbours = match self.jumps < Probe::JUMPS {
            true => Probe::NEIGHBOURS,
            // More than there are slots.
            false => u32::MAX,
        };
    }
}

/// The hash of a key, and whether it is an address's.
#[derive(Clone, Copy)]
struct Hashed {
    hash: u32,
    by_address: bool,
}

impl Table {
    /// The table that a value is.
    #[inline(always)]
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

    #[inline(always)]
    fn set_number(self, thread: &mut impl Writer, field: usize, number: usize) {
        thread.write(self.0.value(), field, Value::fixnum(number as i64));
    }

    /// The object in a field that holds an object.
    #[inline(always)]
    fn part(self, field: usize) -> ObjectRef {
        let part = self.0.field(field).as_object();
        part.expect("a hash table has an index and entries")
    }

    #[inline(always)]
    pub(crate) fn equivalence(self) -> Equivalence {
        Equivalence::ALL[self.number(field::EQUIVALENCE) & 3]
    }

    #[inline(always)]
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
    #[inline(always)]
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

    /// Fixnums have their low bits for a hash: keys at even distances then have slots at even distances, which the
    /// processor fetches ahead. See [`Probe`] for why that does no harm.
    #[inline(always)]
    fn hash(self, key: Value) -> Hashed {
        if let Some(number) = key.as_fixnum() {
            let high = (number >> 32) as u64;
            let mixed = match high {
                0 => 0,
                _ => mix(hashing::process_seed(), high) as u32,
            };
            return Hashed {
                hash: number as u32 ^ mixed,
                by_address: false,
            };
        }
        self.hash_by_content(key)
    }

    #[inline]
    fn hash_by_content(self, key: Value) -> Hashed {
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
        let mut probe = Probe::new(hash, index.length() / 8 - 1);
        loop {
            let slot = index.raw_word(probe.at);
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
            probe.advance();
        }
    }

    /// Lets a hash lead to an entry, unless it does already.
    fn add_slot(self, thread: &mut impl Writer, hash: u32, entry: usize) {
        let index = self.part(field::INDEX);
        let wanted = u64::from(hash) << 32 | (entry as u64 + 1);
        let mut probe = Probe::new(hash, index.length() / 8 - 1);
        loop {
            match index.raw_word(probe.at) {
                0 => break,
                slot if slot == wanted => return,
                _ => probe.advance(),
            }
        }
        index.set_raw_word(probe.at, wanted);
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
        if !self.has_room() {
            self.make_room(thread)?;
            hashed = self.hash_in_step(thread, key);
        }
        if hashed.by_address && !self.0.field(field::IDENTITY).is_true() {
            self.begin_identity(thread);
        }
        self.append(thread, key, value, hashed.hash);
        Ok(())
    }

    /// Puts an association in behind the others, where there is room.
    fn append(self, thread: &mut impl Writer, key: Value, value: Value, hash: u32) {
        let entry = self.used();
        let entries = self.part(field::ENTRIES).value();
        thread.write(entries, 2 * entry, key);
        thread.write(entries, 2 * entry + 1, value);
        self.add_slot(thread, hash, entry);
        self.set_number(thread, field::USED, entry + 1);
        self.set_number(thread, field::COUNT, self.number(field::COUNT) + 1);
    }

    /// Whether an association can be put in without more room.
    fn has_room(self) -> bool {
        2 * self.used() < self.part(field::ENTRIES).length() && !self.is_crowded()
    }

    // For leaf functions: what would bring the index up to date, or make room, is left to the others.

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
    pub(crate) fn get_in_place(self, thread: &InPlace, key: Value) -> Option<Option<Value>> {
        let hashed = self.hash_in_place(thread, key)?;
        let entry = self.find(key, hashed.hash);
        Some(entry.map(|entry| self.part(field::ENTRIES).field(2 * entry + 1)))
    }

    /// Associates a value with a key, and whether it did.
    #[inline]
    pub(crate) fn set_in_place(self, thread: &mut InPlace, key: Value, value: Value) -> bool {
        let Some(hashed) = self.hash_in_place(thread, key) else {
            return false;
        };
        if let Some(entry) = self.find(key, hashed.hash) {
            let entries = self.part(field::ENTRIES).value();
            thread.store(entries, 2 * entry + 1, value);
            return true;
        }
        let is_first_address = hashed.by_address && !self.0.field(field::IDENTITY).is_true();
        if is_first_address || !self.has_room() {
            return false;
        }
        self.append(thread, key, value, hashed.hash);
        true
    }

    /// Removes a key, and whether it was there; nothing if the index is not up to date.
    #[inline]
    pub(crate) fn delete_in_place(self, thread: &mut InPlace, key: Value) -> Option<bool> {
        let hashed = self.hash_in_place(thread, key)?;
        let entry = self.find(key, hashed.hash);
        if let Some(entry) = entry {
            self.vacate(thread, entry);
        }
        Some(entry.is_some())
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
            let known = hashes.as_ref().and_then(|hashes| hashes[entry]);
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

    /// The hash of each entry as the index has it, where only one slot leads to it; `None` when some are addresses'.
    fn known_hashes(self) -> Option<Vec<Option<u32>>> {
        if self.0.field(field::IDENTITY).is_true() {
            return None;
        }
        let index = self.part(field::INDEX);
        let mut hashes = vec![None; self.used()];
        let mut has_several = Vec::new();
        for at in 0..index.length() / 8 {
            let slot = index.raw_word(at);
            let Some(entry) = (slot as u32 as usize).checked_sub(1) else {
                continue;
            };
            // Behind the used entries are those that were given back.
            if let Some(hash) = hashes.get_mut(entry)
                && hash.replace((slot >> 32) as u32).is_some()
            {
                has_several.push(entry);
            }
        }
        for entry in has_several {
            hashes[entry] = None;
        }
        Some(hashes)
    }

    /// Removes a key; whether it was there.
    pub(crate) fn delete(self, thread: &mut Thread, key: Value) -> bool {
        let hashed = self.hash_in_step(thread, key);
        let Some(entry) = self.find(key, hashed.hash) else {
            return false;
        };
        self.vacate(thread, entry);
        true
    }

    /// Removes an entry.
    fn vacate(self, thread: &mut impl Writer, entry: usize) {
        let entries = self.part(field::ENTRIES).value();
        thread.write(entries, 2 * entry, Value::VACANT);
        thread.write(entries, 2 * entry + 1, Value::VACANT);
        let count = self.number(field::COUNT).saturating_sub(1);
        self.set_number(thread, field::COUNT, count);
    }

    /// Removes the last association and gives it. The entries behind it are vacant, and their room is used again, so that
    /// a table that is emptied like this takes time for each entry once.
    pub(crate) fn pop(self, thread: &mut Thread) -> Option<(Value, Value)> {
        let mut used = self.used();
        let mut last = None;
        while let Some(entry) = used.checked_sub(1) {
            used = entry;
            last = self.association(entry);
            let is_vacant = self.part(field::ENTRIES).field(2 * entry) == Value::VACANT;
            if !is_vacant {
                self.vacate(thread, entry);
            }
            if last.is_some() {
                break;
            }
        }
        self.set_number(thread, field::USED, used);
        let settled = self.number(field::SETTLED).min(used);
        self.set_number(thread, field::SETTLED, settled);
        last
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
