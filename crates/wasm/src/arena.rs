//! Objects that never move and live as long as their arena, by number.
//!
//! Others keep their addresses: generated code, and records that refer to each other.

use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// Objects by number.
pub struct Arena<T> {
    items: Vec<NonNull<T>>,
}

impl<T> Arena<T> {
    pub fn new() -> Arena<T> {
        Arena { items: Vec::new() }
    }

    /// Adds an object; gives its number.
    pub fn add(&mut self, item: T) -> u32 {
        self.items.push(NonNull::from(Box::leak(Box::new(item))));
        self.items.len() as u32 - 1
    }

    /// How many there are, which is the number of the next.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The address of an object.
    pub fn address(&self, number: u32) -> *mut T {
        self.items[number as usize].as_ptr()
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        // SAFETY: the object was made by `add`; borrows of objects are borrows of the arena.
        unsafe { self.items[number as usize].as_ref() }
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        // SAFETY: as above.
        unsafe { self.items[number as usize].as_mut() }
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        for item in &self.items {
            // SAFETY: each object was a box, and nothing uses it after its arena.
            drop(unsafe { Box::from_raw(item.as_ptr()) });
        }
    }
}
