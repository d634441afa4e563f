//! How primitives are called.

use canny_value::Value;

use crate::thread::Thread;

/// A primitive: gets its arguments, of a number that its row allows, and gives its value or raises.
pub type PrimitiveFunction = fn(&mut Thread, Arguments) -> Result<Value, Raise>;

/// Says that a condition is pending in the thread. Made by the `Thread::raise_…` methods only.
#[derive(Debug)]
#[must_use]
pub struct Raise(pub(crate) ());

/// The arguments of a primitive, read where they lie so that a collection in between does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    first: *const Value,
    count: usize,
}

impl Arguments {
    /// # Safety
    /// The words are precise roots and stay in place while the arguments are used.
    pub(crate) unsafe fn new(first: *const Value, count: usize) -> Arguments {
        Arguments { first, count }
    }

    /// Number of arguments.
    pub fn count(self) -> usize {
        self.count
    }

    /// Argument `index`. Panics when there is none.
    #[inline(always)]
    pub fn at(self, index: usize) -> Value {
        assert!(index < self.count, "argument out of range");
        // SAFETY: in range by the assertion; the words are live by the contract of `new`. The read is
        // volatile since the collector may have updated the word.
        unsafe { self.first.add(index).read_volatile() }
    }

    /// Argument `index`, if it was given.
    #[inline(always)]
    pub fn get(self, index: usize) -> Option<Value> {
        if index < self.count {
            Some(self.at(index))
        } else {
            None
        }
    }

    /// The arguments from `start` on.
    pub fn from(self, start: usize) -> Arguments {
        assert!(start <= self.count);
        // SAFETY: still inside the same words.
        Arguments {
            first: unsafe { self.first.add(start) },
            count: self.count - start,
        }
    }
}
