//! The tagged words of an object by index, and which of them keep something alive.
//!
//! Kinds of objects are told apart here only; weak words are those that the collector breaks.

use canny_tables::kinds::Kind;
use canny_tables::layout::code;
use canny_value::Header;

use crate::block::{Space, state};
use crate::shape;
use crate::weak_entries::{EPHEMERAL, WEAK_KEYS, WEAK_VALUES};

/// Fields of a code object before its pool that are tagged words.
const CODE_FIELDS: [i32; 3] = [code::NAME, code::DEBUG, code::PARAMETERS];

/// The words of one object.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    address: usize,
    /// Address of the word with index 0, or of a code object's first pool word.
    first: usize,
    count: usize,
    content: u8,
}

/// The effect of a word on the object that it refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// It refers to none.
    None,
    Strong,
    Weak,
}

impl Slots {
    /// The words of the object or pair at an address.
    #[inline]
    pub(super) fn of(space: &Space, address: usize) -> Slots {
        let content = space.state(space.block_of(address)) & state::CONTENT;
        // SAFETY: an object starts here.
        let word = unsafe { shape::read(address) };
        let (first, count) = match content {
            state::SCANNABLE | state::SPECIAL if !Header::is_header(word) => (address, 2),
            state::SCANNABLE | state::SPECIAL => (address + 8, Header(word).payload_bytes() / 8),
            state::CODE => {
                let (pool, length) = shape::pool_of(address);
                (pool, length + CODE_FIELDS.len())
            }
            _ => (address, 0),
        };
        Slots {
            address,
            first,
            count,
            content,
        }
    }

    /// Number of words.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The content of the object's block.
    pub(super) fn content(&self) -> u8 {
        self.content
    }

    /// The word with an index below the count.
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        debug_assert!(index < self.count);
        let at = if self.content != state::CODE {
            self.first + 8 * index
        } else if let Some(offset) = CODE_FIELDS.get(index) {
            (shape::reference_to_object(self.address) as usize)
                .wrapping_add_signed(*offset as isize)
        } else {
            self.first + 8 * (index - CODE_FIELDS.len())
        };
        // SAFETY: a tagged word of a live object.
        unsafe { shape::read(at) }
    }

    /// How the word with an index, which is `word`, holds its object. `is_alive` says of a reference
    /// whether its object is alive otherwise.
    #[inline]
    pub(super) fn hold(&self, index: usize, word: u64, is_alive: impl Fn(u64) -> bool) -> Hold {
        if !shape::is_reference(word) {
            Hold::None
        } else if self.content != state::SPECIAL {
            Hold::Strong
        } else {
            self.hold_of_special(index, is_alive)
        }
    }

    fn hold_of_special(&self, index: usize, is_alive: impl Fn(u64) -> bool) -> Hold {
        // SAFETY: an object with a header: pairs are not special.
        let header = Header(unsafe { shape::read(self.address) });
        let is_key_alive = || {
            let key = self.word(index - 1);
            !shape::is_reference(key) || is_alive(key)
        };
        let (is_key, flags) = (index.is_multiple_of(2), header.flags());
        let is_strong = match header.kind() {
            Kind::WeakPair => !is_key,
            Kind::Ephemeron => !is_key && is_key_alive(),
            _ if is_key => flags & WEAK_KEYS == 0,
            _ if flags & WEAK_VALUES != 0 => false,
            _ => flags & EPHEMERAL == 0 || flags & WEAK_KEYS == 0 || is_key_alive(),
        };
        if is_strong { Hold::Strong } else { Hold::Weak }
    }
}
