//! Hash tables: entries in the order of insertion, and an index by hash.
//!
//! ```text
//! index:    | 0 | hash·1 | hash·3 | 0 | hash·2 | …   a bytevector of 64-bit slots, open addressing
//! entries:  | key value | key value | vacant | …     a vector, or weak entries in a weak table
//! ```
//!
//! A slot is zero, or the 32-bit hash of a key above the number of its entry counted from 1, or
//! `DELETED`. A deleted entry is vacant (in a weak table it may also be broken), and its slot is
//! emptied, unless searches for other keys go past it: then it is `DELETED` until the whole index is
//! made anew. An entry's room is not used again before the entries are compacted, except for that of
//! the last entries, which `pop` gives back.
//!
//! Where no key is hashed by address, none is weak and `loose` says no, the slots that are not empty or
//! `DELETED` are one for each association. Elsewhere several slots may lead to one entry, and one of
//! them has its key's hash.
//!
//! A look-up of an object notes the object's address and its entry, so that a change of the same key's
//! value, which often follows, begins there. That is a guess: the entry's key is compared.
//!
//! **Keys hashed by address.** `identity` says that there are any. Collections move objects, so every
//! operation with such a key first brings the index up to date if the heap's epoch has changed:
//!
//! - Each entry was put in when the index was up to date, thus before the last collection. An
//!   object that survives a collection is old, and only a full collection moves old objects.
//! - So if no full collection happened, only keys of entries from `settled` on, those put in since the
//!   collection before, can have moved. They get another slot. The slot that they had stays: it leads
//!   to the entry or to nothing, since a slot is believed only after its key was compared.
//! - After a full collection the index is made anew.
//!
//! Looking up allocates nothing. Inserting makes room first; the addresses that it then reads stay
//! the same until it is done.
//!
//! **Several threads.** Each operation has a part without a safepoint that reads and changes the table,
//! and what it allocates it allocates before. While there are other threads that part has the table's
//! lock (`exclusively`), so that an operation is done as a whole before or after another one. A thread
//! that is alone takes no lock: others come while it stands at a safepoint. The holder of the lock
//! comes to no safepoint and waits for nothing, so waiting for it is short. Code that reads a table
//! without the lock must cope with any contents: lengths are asked of each object as it is.

mod hashing;
mod in_place;
mod room;
#[cfg(test)]
mod tests;
mod writer;

use canny_heap::weak_entries;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::string_length;
use canny_vm::{InPlace, Raise, Thread};

use crate::equality::{is_equal, is_eqv};
use crate::text::{is_symbol, same_text, with_both, with_units};

use writer::Writer;

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

    pub(crate) fn of_symbol(symbol: Value) -> Option<Equivalence> {
        Equivalence::ALL
            .into_iter()
            .find(|equivalence| is_symbol(symbol, equivalence.name()))
    }
}

/// The part of an association that a table does not keep alive.
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

    pub(crate) fn of_symbol(symbol: Value) -> Option<Weakness> {
        Weakness::ALL
            .into_iter()
            .find(|weakness| weakness.name().is_some_and(|name| is_symbol(symbol, name)))
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
    /// Entries that are not deleted; the broken ones of a weak table are included.
    pub(super) use canny_tables::layout::hash_table::COUNT;
    /// Numbers in `Equivalence::ALL` and `Weakness::ALL`.
    pub(super) use canny_tables::layout::hash_table::{EQUIVALENCE, WEAKNESS};
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
    /// 1 if some slot was found by a jump since the index was made; see `Probe`.
    pub(super) const JUMPED: usize = 11;
    /// 1 if a slot may lead to an entry that was given back, since its key has changed meanwhile.
    pub(super) const LOOSE: usize = 12;
    /// Bits of the object that was looked up last, and its entry at that time.
    pub(super) const LAST_KEY: usize = 13;
    pub(super) const LAST: usize = 14;
    /// Not 0 while a thread works on the table that is not alone.
    pub(super) const LOCK: usize = 15;
    pub(super) use canny_tables::layout::hash_table::WORDS as COUNT_OF_FIELDS;
}

const _: () = assert!(Weakness::None as usize == 0);
const _: () = assert!(Equivalence::String as usize == canny_tables::layout::hash_table::STRINGS);

/// Fewest entries that there is room for.
const CAPACITY_MIN: usize = 8;
/// Most entries for which room is made on a mere hint.
const CAPACITY_HINTED_MAX: usize = 1 << 20;

/// A slot that leads nowhere and that searches pass. No table has an entry of its number.
const DELETED: u64 = u32::MAX as u64;

/// A table. It must stay in a local variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table(ObjectRef);

/// The places of an index where a hash is looked for, one after the other: a few neighbours from the
/// place that the hash's low bits give, then from other places, which the whole hash and the process's
/// seed give, and at last all others.
///
/// Nobody can prepare keys whose places stay the same throughout. Many keys with the same low bits, or
/// a long row of keys that lies where another one has its places, cost each of them the way to the next
/// place.
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
    /// Places before all slots are looked at one by one; each is found full with a chance of three
    /// quarters at most.
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
        // The greatest number is more than there are slots.
        let is_last = self.jumps >= Probe::JUMPS;
        self.neighbours = if is_last { u32::MAX } else { Probe::NEIGHBOURS };
    }
}

/// The hash of a key, and whether it is an address's.
#[derive(Clone, Copy, Default)]
struct Hashed {
    hash: u32,
    by_address: bool,
}

/// Where a key was found.
#[derive(Clone, Copy)]
struct Located {
    entry: usize,
    slot: usize,
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
        let entries = room::make_entries(thread, weakness, capacity)?;
        let index = room::make_index(thread, capacity)?;
        let table = thread.try_object(Kind::HashTable, 0, field::COUNT_OF_FIELDS, Value::ZERO)?;
        thread.store(table, field::EQUIVALENCE, Value::fixnum(equivalence as i64));
        thread.store(table, field::WEAKNESS, Value::fixnum(weakness as i64));
        thread.store(table, field::IDENTITY, Value::FALSE);
        thread.store(table, field::INDEX, index);
        thread.store(table, field::ENTRIES, entries);
        Ok(table)
    }

    /// The same of a small table that keeps everything alive, without a collection.
    pub(crate) fn make_in_place(
        thread: &mut InPlace,
        equivalence: Equivalence,
        expected: usize,
    ) -> Option<Value> {
        let capacity = expected
            .min(CAPACITY_HINTED_MAX)
            .next_power_of_two()
            .max(CAPACITY_MIN);
        let (entries, index) = room::make_parts_in_place(thread, capacity)?;
        let mut fields = [Value::ZERO; field::COUNT_OF_FIELDS];
        fields[field::EQUIVALENCE] = Value::fixnum(equivalence as i64);
        fields[field::WEAKNESS] = Value::fixnum(Weakness::None as i64);
        fields[field::IDENTITY] = Value::FALSE;
        fields[field::INDEX] = index;
        fields[field::ENTRIES] = entries;
        Some(thread.hash_table(fields))
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

    /// Does work on the table that no other thread's work comes between. It comes to no safepoint, and
    /// takes no other lock of a table.
    #[inline(always)]
    fn exclusively<W: Writer, R>(self, thread: &mut W, work: impl FnOnce(&mut W) -> R) -> R {
        if !thread.has_company() {
            return work(thread);
        }
        self.lock();
        let result = work(thread);
        self.0.unlock(field::LOCK);
        result
    }

    #[inline(never)]
    fn lock(self) {
        /// Looks at a taken lock before the processor is left to others.
        const LOOKS: u32 = 100;
        let mut looks = 0;
        while !self.0.try_lock(field::LOCK) {
            looks += 1;
            match looks % LOOKS {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// The number of associations.
    pub(crate) fn count(self) -> usize {
        if self.weakness() == Weakness::None {
            return self.number(field::COUNT);
        }
        self.associations().count()
    }

    /// Associations are numbered, in the order of insertion, below this.
    #[inline(always)]
    pub(crate) fn used(self) -> usize {
        self.number(field::USED)
    }

    /// Key and value of an association; `None` when it was removed or has died.
    #[inline]
    pub(crate) fn association(self, entry: usize) -> Option<(Value, Value)> {
        association_in(self.part(field::ENTRIES), entry)
    }

    /// The associations in the order of insertion, as long as the table does not change.
    pub(crate) fn associations(self) -> impl Iterator<Item = (Value, Value)> {
        let entries = self.part(field::ENTRIES);
        (0..self.used()).filter_map(move |entry| association_in(entries, entry))
    }

    /// Fixnums have their low bits for a hash: keys at even distances then have slots at even
    /// distances, which the processor fetches ahead. See [`Probe`] for why that does no harm.
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
        if let Some(string) = key.as_kind(Kind::String)
            && matches!(self.equivalence(), Equivalence::Equal | Equivalence::String)
        {
            let hash = with_units(string, |units| hash_text(hashing::process_seed(), units));
            return Hashed {
                hash: (hash ^ hash >> 32) as u32,
                by_address: false,
            };
        }
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
                Equivalence::Equal | Equivalence::String => {
                    match (left.as_kind(Kind::String), right.as_kind(Kind::String)) {
                        (Some(left), Some(right)) => {
                            string_length(left) == string_length(right)
                                && with_both(left, right, same_text)
                        }
                        (None, None) => is_equal(left, right),
                        _ => false,
                    }
                }
            }
    }

    /// The entry of a key and the slot that leads to it, or else the empty slot that the search ended
    /// at. The index is up to date if it must be.
    #[inline(always)]
    fn locate(self, key: Value, hash: u32) -> Result<Located, usize> {
        let index = self.part(field::INDEX);
        let entries = self.part(field::ENTRIES);
        let is_broken = key == Value::BROKEN && self.weakness() != Weakness::None;
        let mut probe = Probe::new(hash, index.length() / 8 - 1);
        loop {
            let slot = index.raw_word(probe.at);
            if slot == 0 {
                return Err(probe.at);
            }
            if (slot >> 32) as u32 == hash && slot != DELETED {
                let entry = slot as u32 as usize - 1;
                // No key is the same as a vacant or a broken one.
                if self.is_same(key, entries.field(2 * entry)) && !is_broken {
                    return Ok(Located {
                        entry,
                        slot: probe.at,
                    });
                }
            }
            probe.advance();
        }
    }

    /// The entry of a key. The index is up to date if it must be.
    #[inline]
    fn find(self, key: Value, hash: u32) -> Option<usize> {
        self.locate(key, hash).ok().map(|located| located.entry)
    }

    /// Lets a hash lead to an entry, unless it does already.
    fn add_slot(self, thread: &mut impl Writer, hash: u32, entry: usize) {
        let index = self.part(field::INDEX);
        let wanted = slot_word(hash, entry);
        let mut probe = Probe::new(hash, index.length() / 8 - 1);
        loop {
            match index.raw_word(probe.at) {
                0 => break,
                slot if slot == wanted => return,
                _ => probe.advance(),
            }
        }
        self.fill_slot(thread, probe.at, hash, entry);
    }

    /// Fills an empty slot, at which a search for the hash ended.
    #[inline(always)]
    fn fill_slot(self, thread: &mut impl Writer, at: usize, hash: u32, entry: usize) {
        let index = self.part(field::INDEX);
        let mask = index.length() / 8 - 1;
        if distance(hash, at, mask) >= Probe::NEIGHBOURS as usize {
            self.set_number(thread, field::JUMPED, 1);
        }
        index.set_raw_word(at, slot_word(hash, entry));
        self.set_number(thread, field::FILLED, self.number(field::FILLED) + 1);
    }

    /// Lets a slot lead to nothing. It is emptied unless a search for another key may pass it.
    ///
    /// Such a search is either among its first neighbours, and then its key's slot is one of those
    /// behind this one; or it continued by a jump, after as many full slots in a row as there are
    /// neighbours.
    #[inline]
    fn clear_slot(self, thread: &mut impl Writer, at: usize) {
        const NEIGHBOURS: usize = Probe::NEIGHBOURS as usize;
        let index = self.part(field::INDEX);
        let mask = index.length() / 8 - 1;
        let is_passed = |at: usize| {
            let mut row = 1;
            for behind in 1..NEIGHBOURS {
                let place = (at + behind) & mask;
                let slot = index.raw_word(place);
                if slot == 0 {
                    break;
                }
                if slot == DELETED {
                    row += 1;
                    continue;
                }
                let from_home = distance((slot >> 32) as u32, place, mask);
                if from_home >= behind {
                    return true;
                }
                row += 1;
            }
            if self.number(field::JUMPED) == 0 {
                return false;
            }
            for before in 1..NEIGHBOURS {
                if index.raw_word(at.wrapping_sub(before) & mask) == 0 {
                    break;
                }
                row += 1;
            }
            row >= NEIGHBOURS
        };
        if is_passed(at) {
            index.set_raw_word(at, DELETED);
            return;
        }
        let mut at = at;
        loop {
            index.set_raw_word(at, 0);
            self.set_number(thread, field::FILLED, self.number(field::FILLED) - 1);
            at = at.wrapping_sub(1) & mask;
            // The obstacle to emptying the slot before it may be gone.
            if index.raw_word(at) != DELETED || is_passed(at) {
                return;
            }
        }
    }

    /// Whether so few slots would be left empty that searches become long.
    #[inline(always)]
    fn is_crowded(self) -> bool {
        let slots = self.part(field::INDEX).length() / 8;
        self.number(field::FILLED) >= slots / 4 * 3
    }

    /// Notes where an object was found.
    #[inline(always)]
    fn note_last(self, thread: &mut impl Writer, key: Value, entry: usize) {
        if key.is_reference() {
            thread.write(self.0.value(), field::LAST_KEY, address_note(key));
            self.set_number(thread, field::LAST, entry);
        }
    }

    /// The entry of an object that was looked up last.
    #[inline(always)]
    fn entry_of_last(self, key: Value) -> Option<usize> {
        if !key.is_reference() || self.0.field(field::LAST_KEY) != address_note(key) {
            return None;
        }
        let entry = self.number(field::LAST);
        let is_there =
            entry < self.used() && self.is_same(key, self.part(field::ENTRIES).field(2 * entry));
        is_there.then_some(entry)
    }

    /// Hashes a key, and brings the index up to date if the hash is an address's.
    #[inline]
    fn hash_in_step(self, thread: &mut impl Writer, key: Value) -> Hashed {
        let hashed = self.hash(key);
        if hashed.by_address
            && self.0.field(field::IDENTITY).is_true()
            && self.number(field::EPOCH) != thread.epoch()
        {
            self.catch_up(thread);
        }
        hashed
    }

    /// Brings the index up to date after collections.
    #[cold]
    fn catch_up(self, thread: &mut impl Writer) {
        let (epoch, full) = (thread.epoch(), thread.full_collections());
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
    fn reindex(self, thread: &mut impl Writer) {
        let index = self.part(field::INDEX);
        thread.clear(index);
        self.set_number(thread, field::FILLED, 0);
        self.set_number(thread, field::JUMPED, 0);
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
        self.exclusively(thread, |thread| self.get_alone(thread, key))
    }

    #[inline(always)]
    fn get_alone(self, thread: &mut impl Writer, key: Value) -> Option<Value> {
        let hashed = self.hash_in_step(thread, key);
        let entry = self.find(key, hashed.hash)?;
        self.note_last(thread, key, entry);
        Some(self.part(field::ENTRIES).field(2 * entry + 1))
    }

    /// Associates a value with a key.
    pub(crate) fn set(self, thread: &mut Thread, key: Value, value: Value) -> Result<(), Raise> {
        while !self.exclusively(thread, |thread| self.set_alone(thread, key, value)) {
            self.make_room(thread)?;
        }
        Ok(())
    }

    /// The value of a key, which gets this one if it has none.
    pub(crate) fn intern(
        self,
        thread: &mut Thread,
        key: Value,
        value: Value,
    ) -> Result<Value, Raise> {
        let find_or_set = |thread: &mut Thread| match self.get_alone(thread, key) {
            Some(known) => Some(known),
            None => self.set_alone(thread, key, value).then_some(value),
        };
        loop {
            match self.exclusively(thread, find_or_set) {
                Some(value) => return Ok(value),
                None => self.make_room(thread)?,
            }
        }
    }

    /// Associates a value with a key; whether there was room for it.
    #[inline(always)]
    fn set_alone(self, thread: &mut impl Writer, key: Value, value: Value) -> bool {
        let known = self.entry_of_last(key);
        let mut hashed = Hashed::default();
        let found = match known {
            Some(entry) => Ok(entry),
            None => {
                hashed = self.hash_in_step(thread, key);
                self.locate(key, hashed.hash).map(|located| located.entry)
            }
        };
        match found {
            Ok(entry) => {
                let entries = self.part(field::ENTRIES).value();
                thread.write(entries, 2 * entry + 1, value);
                true
            }
            Err(_) if !self.has_room() => false,
            Err(slot) => {
                if hashed.by_address && !self.0.field(field::IDENTITY).is_true() {
                    self.begin_identity(thread);
                }
                self.append(thread, key, value, hashed.hash, slot);
                true
            }
        }
    }

    /// Puts an association in behind the others, where there is room. A search for the key ended at the slot.
    #[inline(always)]
    fn append(self, thread: &mut impl Writer, key: Value, value: Value, hash: u32, slot: usize) {
        let entry = self.used();
        let entries = self.part(field::ENTRIES).value();
        thread.write(entries, 2 * entry, key);
        thread.write(entries, 2 * entry + 1, value);
        self.fill_slot(thread, slot, hash, entry);
        self.set_number(thread, field::USED, entry + 1);
        self.set_number(thread, field::COUNT, self.number(field::COUNT) + 1);
    }

    /// Whether an association can be put in without more room.
    #[inline(always)]
    fn has_room(self) -> bool {
        2 * self.used() < self.part(field::ENTRIES).length() && !self.is_crowded()
    }

    /// Removes a key; whether it was there. The index is up to date if it must be.
    #[inline(always)]
    fn remove(self, thread: &mut impl Writer, key: Value, hash: u32) -> bool {
        let Ok(located) = self.locate(key, hash) else {
            return false;
        };
        self.vacate(thread, located.entry);
        self.clear_slot(thread, located.slot);
        true
    }

    /// Notes that from now on there are keys hashed by address.
    #[cold]
    fn begin_identity(self, thread: &mut impl Writer) {
        let (epoch, full) = (thread.epoch(), thread.full_collections());
        thread.write(self.0.value(), field::IDENTITY, Value::TRUE);
        self.set_number(thread, field::EPOCH, epoch);
        self.set_number(thread, field::FULL_COLLECTIONS, full);
        self.set_number(thread, field::SETTLED, self.used());
    }

    /// Removes a key; whether it was there.
    pub(crate) fn delete(self, thread: &mut Thread, key: Value) -> bool {
        self.exclusively(thread, |thread| self.delete_alone(thread, key))
    }

    /// Removes an entry.
    fn vacate(self, thread: &mut impl Writer, entry: usize) {
        let entries = self.part(field::ENTRIES).value();
        thread.write(entries, 2 * entry, Value::VACANT);
        thread.write(entries, 2 * entry + 1, Value::VACANT);
        let count = self.number(field::COUNT).saturating_sub(1);
        self.set_number(thread, field::COUNT, count);
    }

    /// Removes the last association and gives it. The entries behind it are vacant, and their room is
    /// used again, so that a table that is emptied like this takes time for each entry once.
    pub(crate) fn pop(self, thread: &mut Thread) -> Option<(Value, Value)> {
        self.exclusively(thread, |thread| self.pop_alone(thread))
    }

    fn pop_alone(self, thread: &mut Thread) -> Option<(Value, Value)> {
        let mut used = self.used();
        let mut last = None;
        while let Some(entry) = used.checked_sub(1) {
            used = entry;
            last = self.association(entry);
            if let Some((key, _)) = last {
                let hash = self.hash_in_step(thread, key).hash;
                self.vacate(thread, entry);
                self.forget(thread, hash, entry);
                break;
            }
            let is_vacant = self.part(field::ENTRIES).field(2 * entry) == Value::VACANT;
            if !is_vacant {
                self.vacate(thread, entry);
            }
        }
        self.set_number(thread, field::USED, used);
        let settled = self.number(field::SETTLED).min(used);
        self.set_number(thread, field::SETTLED, settled);
        last
    }

    /// Clears the slot that leads from a hash to an entry.
    fn forget(self, thread: &mut Thread, hash: u32, entry: usize) {
        let index = self.part(field::INDEX);
        let mut probe = Probe::new(hash, index.length() / 8 - 1);
        loop {
            match index.raw_word(probe.at) {
                0 => return self.set_number(thread, field::LOOSE, 1),
                slot if slot == slot_word(hash, entry) => return self.clear_slot(thread, probe.at),
                _ => probe.advance(),
            }
        }
    }

    /// A table of its own with the same associations.
    pub(crate) fn copy(self, thread: &mut Thread) -> Result<Value, Raise> {
        let entries = self.snapshot(thread)?;
        let result = Table::make(thread, self.equivalence(), self.weakness(), self.count())?;
        if let (Some(copy), Some(entries)) = (Table::of(result), entries.as_object()) {
            for entry in 0..entries.field(0).as_index().unwrap_or(0) {
                let (key, value) = (entries.field(1 + 2 * entry), entries.field(2 + 2 * entry));
                copy.set(thread, key, value)?;
            }
        }
        Ok(result)
    }

    /// A vector of the number of associations at one time, and their keys and values, in the order of
    /// insertion.
    pub(crate) fn snapshot(self, thread: &mut Thread) -> Result<Value, Raise> {
        loop {
            let room = self.count();
            let vector = thread.make_vector(1 + 2 * room, Value::FALSE)?;
            // In a weak table some may have died just now, and another thread may have put some in.
            let copied = self.exclusively(thread, |thread| {
                let mut count = 0;
                for (key, value) in self.associations() {
                    if count == room {
                        return None;
                    }
                    thread.store(vector, 1 + 2 * count, key);
                    thread.store(vector, 2 + 2 * count, value);
                    count += 1;
                }
                Some(count)
            });
            if let Some(count) = copied {
                thread.store(vector, 0, Value::fixnum(count as i64));
                return Ok(vector);
            }
        }
    }
}

/// Key and value of an entry; `None` when it was removed or has died.
#[inline(always)]
fn association_in(entries: ObjectRef, entry: usize) -> Option<(Value, Value)> {
    if 2 * entry >= entries.length() {
        // Another thread has exchanged the entries.
        return None;
    }
    let key = entries.field(2 * entry);
    let is_weak = entries.header().kind_byte() == Kind::WeakEntries as u8;
    if key == Value::VACANT || is_weak && key == Value::BROKEN {
        return None;
    }
    Some((key, entries.field(2 * entry + 1)))
}

/// The slot of a hash that leads to an entry.
#[inline(always)]
fn slot_word(hash: u32, entry: usize) -> u64 {
    u64::from(hash) << 32 | (entry as u64 + 1)
}

/// Whether a slot leads to an entry.
fn leads(slot: &u64) -> bool {
    *slot != 0 && *slot != DELETED
}

/// How far behind the first place of its hash a slot is.
#[inline(always)]
fn distance(hash: u32, at: usize, mask: usize) -> usize {
    at.wrapping_sub(hash as usize) & mask
}

/// The note of an object's address. It keeps nothing alive, and means nothing after the object
/// moved.
#[inline(always)]
fn address_note(key: Value) -> Value {
    Value::fixnum((key.bits() >> 3) as i64)
}
