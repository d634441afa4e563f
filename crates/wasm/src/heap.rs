//! Structs and arrays of guests.
//!
//! The word for an object is a tag with its number, so that frames can be searched for such words, and a
//! word that only looks like one reaches no memory. Small integers have a tag of their own. All other
//! words are objects of the host.

use crate::definitions::Definition;
use crate::types::Storage;

/// Upper bits of the words that are references to objects.
const OBJECT: u64 = 0x5cf0_0000_0000_0000;

/// Upper bits of the words that are integers of 31 bits.
pub const I31: u64 = 0x5cf1_0000_0000_0000;

const TAG_MASK: u64 = 0xffff_0000_0000_0000;

/// Lower bits that an integer of 31 bits has.
pub const I31_BITS: u64 = 0x7fff_ffff;

/// Bytes that an object takes beside its fields or elements.
const HEADER: u64 = 48;

/// Bytes that are used before it is first looked for objects that nothing refers to.
const FIRST_SEARCH: u64 = 1 << 20;

/// Most bytes of an array.
const ARRAY_MAX: u64 = 1 << 30;

/// An object of a guest.
#[derive(Debug)]
pub struct Object {
    pub definition: &'static Definition,
    /// Elements of an array.
    pub length: u32,
    words: Box<[u64]>,
}

/// Whether a word is an integer of 31 bits.
pub fn is_i31(word: u64) -> bool {
    word & TAG_MASK == I31
}

impl Object {
    /// The words of a struct's fields.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same, to be changed.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Its words that are references.
    pub fn each_reference(&self, mut visit: impl FnMut(u64)) {
        match self.definition.element() {
            Some(element) if element.is_reference() => {
                self.words.iter().copied().for_each(visit);
            }
            Some(_) => {}
            None => {
                let places = self.definition.references.iter();
                places.for_each(|place| visit(self.words[*place as usize]));
            }
        }
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> usize {
        self.definition.element().map_or(8, Storage::bytes)
    }

    /// The bits of an element.
    pub fn element(&self, index: usize) -> u128 {
        let bytes = self.element_bytes();
        let at = index * bytes;
        if bytes == 16 {
            return u128::from(self.words[at / 8]) | u128::from(self.words[at / 8 + 1]) << 64;
        }
        let bits = self.words[at / 8] >> (8 * (at % 8));
        u128::from(bits & (u64::MAX >> (64 - 8 * bytes)))
    }

    /// Sets the bits of an element.
    pub fn set_element(&mut self, index: usize, value: u128) {
        let bytes = self.element_bytes();
        let at = index * bytes;
        let word = &mut self.words[at / 8];
        if bytes == 16 {
            *word = value as u64;
            self.words[at / 8 + 1] = (value >> 64) as u64;
            return;
        }
        let shift = 8 * (at % 8);
        let mask = (u64::MAX >> (64 - 8 * bytes)) << shift;
        *word = *word & !mask | (value as u64) << shift & mask;
    }

    /// Sets the bits of all elements in a range.
    pub fn fill(&mut self, range: std::ops::Range<usize>, value: u128) {
        if self.element_bytes() == 8 {
            self.words[range].fill(value as u64);
            return;
        }
        range.for_each(|index| self.set_element(index, value));
    }

    /// Moves elements within the array.
    pub fn copy_within(&mut self, from: std::ops::Range<usize>, to: usize) {
        let words = self.element_bytes() / 8;
        if words > 0 {
            self.words
                .copy_within(words * from.start..words * from.end, words * to);
        } else if to <= from.start {
            for (place, index) in from.enumerate() {
                self.set_element(to + place, self.element(index));
            }
        } else {
            for (place, index) in from.enumerate().rev() {
                self.set_element(to + place, self.element(index));
            }
        }
    }

    /// Sets elements from bytes, the lower ones first.
    pub fn set_bytes(&mut self, first: usize, bytes: &[u8]) {
        for (place, chunk) in bytes.chunks_exact(self.element_bytes()).enumerate() {
            let mut value = [0; 16];
            value[..chunk.len()].copy_from_slice(chunk);
            self.set_element(first + place, u128::from_le_bytes(value));
        }
    }
}

/// The objects of a store.
pub struct Heap {
    objects: Vec<Option<Object>>,
    free: Vec<u32>,
    bytes: u64,
    search_at: u64,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap {
            objects: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            search_at: FIRST_SEARCH,
        }
    }
}

impl Heap {
    /// Bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many numbers objects have had.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it should be looked for objects that nothing refers to before so many bytes are used.
    pub fn is_full(&self, bytes: u64) -> bool {
        self.bytes + bytes > self.search_at
    }

    /// The number of the object that a word refers to.
    pub fn number(&self, word: u64) -> Option<usize> {
        let number = (word & !TAG_MASK) as usize;
        (word & TAG_MASK == OBJECT && number < self.objects.len()).then_some(number)
    }

    /// The object with a number.
    pub fn object(&self, number: usize) -> Option<&Object> {
        self.objects.get(number)?.as_ref()
    }

    /// The object that a word refers to.
    pub fn get(&self, word: u64) -> Option<&Object> {
        self.object(self.number(word)?)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, word: u64) -> Option<&mut Object> {
        let number = self.number(word)?;
        self.objects[number].as_mut()
    }

    /// Two objects to be changed at once, if they are not the same.
    pub fn two_mut(&mut self, one: u64, other: u64) -> Option<(&mut Object, &mut Object)> {
        let numbers = [self.number(one)?, self.number(other)?];
        let [one, other] = self.objects.get_disjoint_mut(numbers).ok()?;
        Some((one.as_mut()?, other.as_mut()?))
    }

    /// Bytes that an object of a type takes, if it may have so many.
    pub fn bytes_for(definition: &Definition, length: u32) -> Option<u64> {
        let bytes = match definition.element() {
            Some(element) => u64::from(length) * element.bytes() as u64,
            None => 8 * definition.words as u64,
        };
        (bytes <= ARRAY_MAX).then(|| HEADER + bytes.next_multiple_of(8))
    }

    /// Makes an object of zeros; gives its word, or nothing if the system gives no memory.
    pub fn add(&mut self, definition: &'static Definition, length: u32) -> Option<u64> {
        let bytes = Heap::bytes_for(definition, length)?;
        let count = ((bytes - HEADER) / 8) as usize;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        let object = Some(Object {
            definition,
            length,
            words: words.into_boxed_slice(),
        });
        self.bytes += bytes;
        let number = match self.free.pop() {
            Some(number) => {
                self.objects[number as usize] = object;
                u64::from(number)
            }
            None => {
                self.objects.push(object);
                self.objects.len() as u64 - 1
            }
        };
        Some(OBJECT | number)
    }

    /// Frees all objects that are not marked.
    pub fn sweep(&mut self, is_marked: &[bool]) {
        self.free.clear();
        for (number, place) in self.objects.iter_mut().enumerate().rev() {
            match place {
                Some(_) if is_marked[number] => continue,
                Some(object) => self.bytes -= HEADER + 8 * object.words.len() as u64,
                None => {}
            }
            *place = None;
            self.free.push(number as u32);
        }
        self.search_at = (2 * self.bytes).max(FIRST_SEARCH);
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;
    use crate::definitions::{Composite, Definition, SubType, definition, intern};
    use crate::types::{FieldType, Storage, ValueType};

    fn array(storage: Storage) -> &'static Definition {
        definition(intern(vec![SubType {
            is_final: true,
            supertype: None,
            composite: Composite::Array(FieldType {
                storage,
                mutable: true,
            }),
        }]))
    }

    #[test]
    fn elements_of_all_widths_keep_their_neighbours() {
        for storage in [
            Storage::I8,
            Storage::I16,
            Storage::Value(ValueType::I32),
            Storage::Value(ValueType::I64),
            Storage::Value(ValueType::V128),
        ] {
            let mut heap = Heap::default();
            let word = heap.add(array(storage), 9).unwrap();
            let object = heap.get_mut(word).unwrap();
            let mask = u128::MAX >> (128 - 8 * storage.bytes());
            let value = |index: usize| (u128::MAX / 255 * 17 * (index as u128 + 1)) & mask;
            for index in 0..9 {
                object.set_element(index, u128::MAX);
                object.set_element(index, value(index));
            }
            assert!((0..9).all(|index| object.element(index) == value(index)));
            object.copy_within(1..8, 2);
            assert!((2..9).all(|index| object.element(index) == value(index - 1)));
            object.copy_within(2..9, 1);
            assert!((1..8).all(|index| object.element(index) == value(index)));
            object.fill(3..5, 7);
            let elements: Vec<u128> = (2..6).map(|index| object.element(index)).collect();
            assert_eq!(elements, [value(2), 7, 7, value(5)]);
        }
    }

    #[test]
    fn places_of_swept_objects_are_used_again() {
        let mut heap = Heap::default();
        let kind = array(Storage::I8);
        let words: Vec<u64> = (0..4).map(|_| heap.add(kind, 10).unwrap()).collect();
        let bytes = heap.bytes();
        heap.sweep(&[false, true, false, true]);
        assert_eq!(heap.bytes(), bytes / 2);
        assert!(heap.get(words[0]).is_none() && heap.get(words[1]).is_some());
        assert_eq!(heap.add(kind, 1), Some(words[0]));
        assert_eq!(heap.add(kind, 1), Some(words[2]));
        assert!(heap.add(kind, 1) != Some(words[3]));
        assert!(
            heap.add(array(Storage::Value(ValueType::V128)), u32::MAX)
                .is_none()
        );
    }
}
