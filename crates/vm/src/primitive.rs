//! The calling convention of primitives: arguments on the VM stack, and a value or a pending
//! condition.
//!
//! A primitive reads its arguments where they lie, since a collection updates them there. It never
//! calls a Scheme procedure. [`Raise`] is only a token; the condition is in the thread, and only
//! `Thread::raise_…` methods make the token.

use canny_tables::primitives::PrimitiveId;
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
        let first = unsafe { self.first.add(start) };
        Arguments {
            first,
            count: self.count - start,
        }
    }
}

impl Thread {
    /// Calls a primitive from Rust, for tests and hosts: only while no Scheme code of the thread runs.
    /// Panics when the row does not take so many arguments.
    pub fn apply_primitive<const COUNT: usize>(
        &mut self,
        id: PrimitiveId,
        arguments: [Value; COUNT],
    ) -> Result<Value, Raise> {
        assert!(id.row().accepts(COUNT), "wrong number of arguments");
        let function = self.primitives[id.0 as usize];
        // The native stack, where the array lies, keeps its objects alive and in place.
        let words = std::hint::black_box(&arguments);
        // SAFETY: the words stay in place during the call, and objects that they refer to do not
        // move.
        let arguments = unsafe { Arguments::new(words.as_ptr(), COUNT) };
        function(self, arguments)
    }

    /// The object that a primitive raised, which is pending no longer.
    pub fn take_raised(&mut self, _: Raise) -> Value {
        std::mem::replace(&mut self.pending, Value::FALSE)
    }
}
