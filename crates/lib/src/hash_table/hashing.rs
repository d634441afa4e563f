//! Hash functions that respect the equivalences.
//!
//! Numbers, characters, symbols, strings and structures of them are hashed by content. An object
//! that has nothing but its identity is hashed by its address in tables, which know when addresses
//! change. Where the hash must last, it is hashed by its kind alone. Structures are looked at to a
//! bounded depth and size, so that circular ones are no matter. A hash sees the unfolded structure,
//! which is the same for objects that are `equal?`.
//!
//! Tables mix a seed of the process into their hashes, or, where the hash is a fixnum itself, into the
//! places where it is looked for, so that nobody can prepare keys that collide.

use canny_number::hash_by_eqv;
pub(crate) use canny_tables::hashing::mix;
pub(super) use canny_tables::hashing::process_seed;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::number_of;

use crate::primitives::symbols::field;
use crate::text::{Units, with_units};

/// The hash of a text. Texts of different width with the same characters have the same hash.
pub(crate) fn hash_text(seed: u64, units: Units<'_>) -> u64 {
    let length = units.length() as u64;
    match units {
        Units::Narrow(bytes) => {
            let (words, rest) = bytes.as_chunks::<8>();
            let state = words.iter().fold(mix(seed, length), |state, word| {
                mix(state, u64::from_le_bytes(*word))
            });
            if rest.is_empty() {
                state
            } else {
                mix(state, last_word(rest))
            }
        }
        Units::Wide(units) if units.iter().all(|&unit| unit <= 0xff) => {
            units.chunks(8).fold(mix(seed, length), |state, chunk| {
                let word = chunk
                    .iter()
                    .rev()
                    .fold(0, |word, &unit| word << 8 | u64::from(unit));
                mix(state, word)
            })
        }
        Units::Wide(units) => units.iter().fold(mix(seed, length), |state, &unit| {
            mix(state, u64::from(unit))
        }),
    }
}

/// One to seven bytes as a word, the first of them lowest.
#[inline(always)]
fn last_word(bytes: &[u8]) -> u64 {
    let count = bytes.len();
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two may overlap, with the same bytes where they do.
        (Some(first), Some(last)) => {
            let last = u64::from(u32::from_le_bytes(*last));
            u64::from(u32::from_le_bytes(*first)) | last << (8 * (count - 4))
        }
        _ => {
            let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
            byte(0) | byte(count / 2) | byte(count - 1)
        }
    }
}

/// The property of an object by which its identity is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Its address; good until the next collection.
    Address,
    /// Its kind.
    Kind,
}

/// Computes one hash.
#[derive(Debug)]
pub(crate) struct KeyHasher {
    seed: u64,
    identity: Identity,
    /// Whether an address went into the hash.
    pub(crate) used_address: bool,
    /// Parts of structures that may still be looked at.
    parts_left: u32,
}

/// Most parts of a structure that are looked at.
const PARTS_MAX: u32 = 64;
/// Greatest nesting that is looked into.
const DEPTH_MAX: u32 = 8;

impl KeyHasher {
    #[inline(always)]
    pub(crate) fn new(seed: u64, identity: Identity) -> KeyHasher {
        KeyHasher {
            seed,
            identity,
            used_address: false,
            parts_left: PARTS_MAX,
        }
    }

    /// A hash that respects `eq?`.
    #[inline]
    pub(crate) fn eq(&mut self, value: Value) -> u64 {
        if !value.is_reference() {
            return mix(self.seed, value.bits());
        }
        if let Some(symbol) = value.as_kind(Kind::Symbol) {
            return self.symbol(symbol);
        }
        self.by_identity(value)
    }

    /// A hash that respects `eqv?`.
    #[inline]
    pub(crate) fn eqv(&mut self, value: Value) -> u64 {
        match value.as_object() {
            Some(object) => self.eqv_object(object),
            None => self.eq(value),
        }
    }

    fn eqv_object(&mut self, object: ObjectRef) -> u64 {
        match object.kind() {
            Kind::Flonum | Kind::Bignum | Kind::Ratnum | Kind::Compnum => {
                let number = number_of(object.value());
                mix(self.seed, number.map_or(0, |number| hash_by_eqv(&number)))
            }
            Kind::Symbol => self.symbol(object),
            _ => self.by_identity(object.value()),
        }
    }

    /// A symbol knows a hash that is good in this process.
    #[inline(always)]
    fn symbol(&self, symbol: ObjectRef) -> u64 {
        match self.identity {
            Identity::Address => mix(self.seed, symbol.field(field::HASH).bits()),
            Identity::Kind => hash_of_name(self.seed, symbol),
        }
    }

    fn by_identity(&mut self, value: Value) -> u64 {
        match (self.identity, value.as_object()) {
            (Identity::Address, _) => {
                self.used_address = true;
                mix(self.seed, value.bits())
            }
            (Identity::Kind, Some(object)) => mix(self.seed, object.kind() as u64),
            (Identity::Kind, None) => mix(self.seed, u64::MAX),
        }
    }

    /// A hash that respects `equal?`.
    #[inline]
    pub(crate) fn equal(&mut self, value: Value) -> u64 {
        if value.is_reference() {
            self.structure(value, 0)
        } else {
            mix(self.seed, value.bits())
        }
    }

    fn structure(&mut self, value: Value, depth: u32) -> u64 {
        if value.is_pair() {
            return self.list(value, depth);
        }
        let Some(object) = value.as_object() else {
            return mix(self.seed, value.bits());
        };
        match object.kind() {
            Kind::String => with_units(object, |units| hash_text(self.seed, units)),
            Kind::Bytevector | Kind::NumericVector => {
                object.with_bytes(|bytes| hash_text(!self.seed, Units::Narrow(bytes)))
            }
            Kind::Vector => {
                let mut state = mix(self.seed, object.length() as u64);
                for index in 0..object.length() {
                    match self.part(object.field(index), depth) {
                        Some(hash) => state = mix(state, hash),
                        None => break,
                    }
                }
                state
            }
            _ => self.eqv_object(object),
        }
    }

    fn list(&mut self, list: Value, depth: u32) -> u64 {
        let mut state = !self.seed;
        let mut rest = list;
        while let Some(pair) = rest.as_pair() {
            match self.part(pair.car(), depth) {
                Some(hash) => state = mix(state, hash),
                None => return state,
            }
            rest = pair.cdr();
        }
        match self.part(rest, depth) {
            Some(hash) => mix(state, hash),
            None => state,
        }
    }

    /// The hash of a part; `None` once enough parts were looked at.
    fn part(&mut self, part: Value, depth: u32) -> Option<u64> {
        self.parts_left = self.parts_left.checked_sub(1)?;
        if !part.is_reference() {
            return Some(part.bits());
        }
        Some(if depth < DEPTH_MAX {
            self.structure(part, depth + 1)
        } else {
            0
        })
    }
}

/// The hash of a symbol's name.
pub(crate) fn hash_of_name(seed: u64, symbol: ObjectRef) -> u64 {
    match symbol.field(field::NAME).as_kind(Kind::String) {
        Some(name) => with_units(name, |units| hash_text(seed, units)),
        None => seed,
    }
}
