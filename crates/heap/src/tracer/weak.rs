//! Weak pairs, ephemerons and weak hash-table entries.
//!
//! When tracing reaches a special object it follows what the object holds strongly and notes what
//! has to be decided later. Ephemeral parts are a fixpoint: a datum is traced once its key is known
//! to be alive. At the fixpoint, an object that is still undecided is dead, and the slots that name
//! it are broken.

use canny_tables::kinds::Kind;
use canny_tables::layout;
use canny_value::Header;

use super::Tracer;
use crate::shape;

/// Header flags of weak entries: which words do not keep their objects alive.
pub mod weak_entries {
    /// Keys are weak: an entry whose key dies becomes `#!bwp` in both words.
    pub const WEAK_KEYS: u8 = 0x08;
    /// Values are weak: an entry whose value dies becomes `#!bwp` in both words.
    pub const WEAK_VALUES: u8 = 0x10;
    /// With [`WEAK_KEYS`]: values are followed only while their keys are alive, as in ephemerons.
    pub const EPHEMERAL: u8 = 0x20;
}

use weak_entries::{EPHEMERAL, WEAK_KEYS, WEAK_VALUES};

/// Special objects with open decisions, by address.
#[derive(Default)]
pub(crate) struct WeakWork {
    weak_pairs: Vec<usize>,
    ephemerons: Vec<usize>,
    /// Tables whose values may still become alive through their keys.
    ephemeral_tables: Vec<usize>,
    /// Every table, to break and update entries.
    tables: Vec<usize>,
}

/// Addresses of an entry's two words, for all entries of a table.
fn entries(table: usize) -> impl Iterator<Item = (usize, usize)> {
    // SAFETY: a live table, which has not moved since it was noted.
    let words = Header(unsafe { shape::read(table) }).length();
    (0..words / 2).map(move |index| (table + 8 + 16 * index, table + 16 + 16 * index))
}

impl Tracer<'_> {
    /// Follows the strong parts of a special object and notes the others.
    pub(crate) fn trace_special(&mut self, address: usize) {
        // SAFETY: specials on the list are live objects at their final place.
        let header = Header(unsafe { shape::read(address) });
        match header.kind() {
            Kind::WeakPair => {
                self.trace_slot(address + 16);
                self.weak.weak_pairs.push(address);
            }
            Kind::Ephemeron => {
                if !self.try_ephemeron(address) {
                    self.weak.ephemerons.push(address);
                }
            }
            Kind::WeakEntries => {
                let flags = header.flags();
                let ephemeral = flags & EPHEMERAL != 0 && flags & WEAK_KEYS != 0;
                for (key, value) in entries(address) {
                    if flags & WEAK_KEYS == 0 {
                        self.trace_slot(key);
                    }
                    if flags & WEAK_VALUES == 0 && !ephemeral {
                        self.trace_slot(value);
                    }
                }
                if ephemeral && flags & WEAK_VALUES == 0 {
                    self.weak.ephemeral_tables.push(address);
                }
                self.weak.tables.push(address);
            }
            kind => unreachable!("{kind:?} is not a special kind"),
        }
    }

    /// The word in a slot if its object is alive.
    fn alive(&self, slot: usize) -> Option<u64> {
        // SAFETY: a word of a live special object.
        self.forwarded_if_alive(unsafe { shape::read(slot) })
    }

    /// Follows the datum of an ephemeron if its key is alive.
    fn try_ephemeron(&mut self, address: usize) -> bool {
        match self.alive(address + 8) {
            Some(key) => {
                // SAFETY: the key's slot.
                unsafe { shape::write(address + 8, key) };
                self.trace_slot(address + 16);
                true
            }
            None => false,
        }
    }

    /// Traces until neither strong references nor ephemeral ones lead to anything new.
    pub(crate) fn drain_with_ephemerons(&mut self) {
        loop {
            self.drain();
            let mut progress = false;
            // Chains are mostly made in one order; the undecided ones go back in reverse, so that
            // every other round meets a chain in the good order.
            for address in std::mem::take(&mut self.weak.ephemerons).into_iter().rev() {
                if self.try_ephemeron(address) {
                    progress = true;
                    self.drain();
                } else {
                    self.weak.ephemerons.push(address);
                }
            }
            let tables = std::mem::take(&mut self.weak.ephemeral_tables);
            for &table in &tables {
                for (key, value) in entries(table) {
                    // SAFETY: a word of a live table.
                    let word = unsafe { shape::read(value) };
                    if shape::is_reference(word)
                        && self.alive(key).is_some()
                        && self.alive(value) != Some(word)
                    {
                        self.trace_slot(value);
                        self.drain();
                        progress = true;
                    }
                }
            }
            self.weak.ephemeral_tables.extend(tables);
            if !progress {
                return;
            }
        }
    }

    /// Breaks what has died and updates what has moved. Nothing may be traced afterwards.
    pub(crate) fn finish_weak(&mut self) {
        let broken = layout::BROKEN;
        let work = std::mem::take(&mut self.weak);
        for address in work.weak_pairs {
            let word = self.alive(address + 8).unwrap_or(broken);
            // SAFETY: the car of a live weak pair.
            unsafe { shape::write(address + 8, word) };
        }
        for address in work.ephemerons {
            // SAFETY: the two words of a live ephemeron, whose key is dead.
            unsafe {
                shape::write(address + 8, broken);
                shape::write(address + 16, broken);
            }
        }
        for table in work.tables {
            for (key, value) in entries(table) {
                let words = self.alive(key).zip(self.alive(value));
                let (new_key, new_value) = words.unwrap_or((broken, broken));
                // SAFETY: the two words of an entry of a live table.
                unsafe {
                    shape::write(key, new_key);
                    shape::write(value, new_value);
                }
            }
        }
    }
}
