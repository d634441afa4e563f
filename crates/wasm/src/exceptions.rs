//! Exceptions and their tags.
//!
//! An exception that is thrown is a value of the runtime. One that a clause has caught with its reference
//! is kept in the store: the reference is a number, which stands in words of frames, tables and global
//! variables. When many were kept, [`crate::collect`] finds those that are not needed.

use std::sync::Arc;

/// A tag, by its number in a store. Each is different from all others, whatever its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(pub(crate) u32);

impl Tag {
    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// An exception: its tag and the words of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exception {
    shared: Arc<Contents>,
    /// The reference to it, once it has one.
    reference: Option<u64>,
}

#[derive(PartialEq, Eq, Debug)]
struct Contents {
    tag: Tag,
    words: Box<[u64]>,
}

impl Exception {
    pub(crate) fn new(tag: Tag, words: Box<[u64]>) -> Exception {
        Exception {
            shared: Arc::new(Contents { tag, words }),
            reference: None,
        }
    }

    /// Its tag.
    pub fn tag(&self) -> Tag {
        self.shared.tag
    }

    /// The words of its values: two for a vector, one for anything else.
    pub fn words(&self) -> &[u64] {
        &self.shared.words
    }
}

/// Upper bits of the words that are references to exceptions.
const REFERENCE: u64 = 0x5cef_0000_0000_0000;
const REFERENCE_MASK: u64 = 0xffff_0000_0000_0000;

/// So many exceptions are kept before any is forgotten.
const FIRST_SEARCH: usize = 256;

/// Tags and exceptions of a store.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Numbers of the types of tags.
    tags: Vec<u32>,
    /// Those that have references, by number.
    kept: Vec<Option<Exception>>,
    free: Vec<u32>,
    search_at: usize,
}

impl Exceptions {
    pub fn add_tag(&mut self, kind: u32) -> Tag {
        self.tags.push(kind);
        Tag(self.tags.len() as u32 - 1)
    }

    pub fn tag_type(&self, tag: Tag) -> u32 {
        self.tags[tag.0 as usize]
    }

    /// The exception that a reference is of.
    pub fn referred(&self, word: u64) -> Option<Exception> {
        self.kept[self.number(word)?].clone()
    }

    /// How many tags there are.
    pub fn tag_count(&self) -> usize {
        self.tags.len()
    }

    /// Whether exceptions without references should be forgotten before another one is kept.
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.kept.len() >= self.search_at.max(FIRST_SEARCH)
    }

    /// The reference to an exception.
    pub fn reference(&mut self, mut exception: Exception) -> u64 {
        if let Some(word) = exception.reference
            && let Some(known) = self.referred(word)
            && Arc::ptr_eq(&known.shared, &exception.shared)
        {
            return word;
        }
        let number = match self.free.pop() {
            Some(number) => number as usize,
            None => {
                self.kept.push(None);
                self.kept.len() - 1
            }
        };
        let word = REFERENCE | number as u64;
        exception.reference = Some(word);
        self.kept[number] = Some(exception);
        word
    }

    /// How many numbers kept exceptions have had.
    pub fn kept_count(&self) -> usize {
        self.kept.len()
    }

    /// The number of the kept exception that a word refers to.
    pub fn number(&self, word: u64) -> Option<usize> {
        let number = (word & !REFERENCE_MASK) as usize;
        (word & REFERENCE_MASK == REFERENCE && number < self.kept.len()).then_some(number)
    }

    /// The words of a kept exception.
    pub fn words(&self, number: usize) -> &[u64] {
        let exception = self.kept.get(number).and_then(Option::as_ref);
        exception.map_or(&[], Exception::words)
    }

    /// Forgets all but the marked ones.
    pub fn forget(&mut self, is_used: &[bool]) {
        for (number, _) in is_used.iter().enumerate().filter(|(_, is_used)| !**is_used) {
            if self.kept[number].take().is_some() {
                self.free.push(number as u32);
            }
        }
        self.search_at = 2 * (self.kept.len() - self.free.len());
    }
}

#[cfg(test)]
mod tests {
    use super::{Exception, Exceptions, FIRST_SEARCH, Tag};

    #[test]
    fn exceptions_without_references_are_forgotten() {
        let mut exceptions = Exceptions::default();
        let made = |number: u64| Exception::new(Tag(0), Box::new([number]));
        let words: Vec<u64> = (0..FIRST_SEARCH as u64)
            .map(|number| exceptions.reference(made(number)))
            .collect();
        assert!(exceptions.is_full());
        let thrown_again = exceptions.referred(words[3]).unwrap();
        assert_eq!(exceptions.reference(thrown_again.clone()), words[3]);
        let is_used: Vec<bool> = words.iter().map(|word| *word == words[7]).collect();
        exceptions.forget(&is_used);
        assert!(!exceptions.is_full());
        assert_eq!(exceptions.referred(words[7]).unwrap().words(), [7]);
        assert!(exceptions.referred(words[8]).is_none());
        // Places are used again, and an exception that was forgotten gets a reference of its own.
        let others: Vec<u64> = (0..200)
            .map(|number| exceptions.reference(made(number)))
            .collect();
        assert!(
            others
                .iter()
                .all(|word| words.contains(word) && *word != words[7])
        );
        let word = exceptions.reference(thrown_again);
        assert!(!others.contains(&word));
        assert_eq!(exceptions.referred(word).unwrap().words(), [3]);
        assert!(exceptions.referred(0).is_none());
    }
}
