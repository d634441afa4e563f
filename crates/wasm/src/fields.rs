//! The interface for embedders to structs, arrays and exceptions of guests.
//!
//! A word that the embedder has for one of them is of use until a guest runs again. A held one is a root
//! of the search for what is needed, until the embedder releases it.

use crate::casts;
use crate::definitions::Hierarchy;
use crate::heap::Object;
use crate::store::Store;
use crate::types::{FieldType, HeapType, Storage};

impl Store {
    /// Holds a reference until it is released; gives a number for it.
    pub fn hold(&mut self, word: u64) -> u32 {
        self.held.add(word)
    }

    /// The reference that is held by a number.
    pub fn held(&self, number: u32) -> Option<u64> {
        self.held.word(number)
    }

    /// Releases a reference.
    pub fn release(&mut self, number: u32) {
        self.held.remove(number);
    }

    /// Whether a reference to a struct, an array or an exception is of a type.
    pub fn is_of_type(&self, word: u64, heap: HeapType) -> bool {
        let is_exception = self.exceptions.number(word).is_some();
        is_exception == (heap.hierarchy() == Hierarchy::Exception)
            && self.passes(word, casts::pack(heap, false))
    }

    /// How many fields or elements an object has.
    pub fn field_count(&self, word: u64) -> Option<usize> {
        let object = self.heap.get(word)?;
        Some(match object.definition.element() {
            Some(_) => object.length as usize,
            None => object.definition.fields().len(),
        })
    }

    /// The type of a struct's field or of an array's element, if it has that.
    pub fn field_type(&self, word: u64, index: usize) -> Option<FieldType> {
        let object = self.heap.get(word)?;
        match object.definition.element_type() {
            Some(element) => (index < object.length as usize).then_some(element),
            None => object.definition.fields().get(index).copied(),
        }
    }

    /// The bits of a field or an element.
    pub fn field(&self, word: u64, index: usize) -> Option<u128> {
        let kind = self.field_type(word, index)?;
        let object = self.heap.get(word)?;
        if object.definition.element().is_some() {
            return Some(object.element(index));
        }
        let place = object.definition.places[index] as usize;
        let upper = match kind.storage.words() {
            2 => object.words()[place + 1],
            _ => 0,
        };
        let bits = u128::from(object.words()[place]) | u128::from(upper) << 64;
        Some(match kind.storage {
            Storage::I8 => bits & 0xff,
            Storage::I16 => bits & 0xffff,
            Storage::Value(_) => bits,
        })
    }

    /// Sets the bits of a field or an element; whether there is one.
    pub fn set_field(&mut self, word: u64, index: usize, bits: u128) -> bool {
        let Some(kind) = self.field_type(word, index) else {
            return false;
        };
        let Some(object) = self.heap.get_mut(word) else {
            return false;
        };
        set(object, kind.storage, index, bits);
        true
    }
}

fn set(object: &mut Object, storage: Storage, index: usize, bits: u128) {
    if object.definition.element().is_some() {
        object.set_element(index, bits);
        return;
    }
    let place = object.definition.places[index] as usize;
    object.words_mut()[place] = bits as u64;
    if storage.words() == 2 {
        object.words_mut()[place + 1] = (bits >> 64) as u64;
    }
}
