//! The threads that change hash tables: one that may collect, and one that runs a leaf function.

use canny_value::{ObjectRef, Value};
use canny_vm::{InPlace, Thread};

/// The threads that may change a table's words.
pub(super) trait Writer {
    fn write(&mut self, object: Value, index: usize, value: Value);
    /// Sets all bytes of a bytevector to zero.
    fn clear(&mut self, bytes: ObjectRef);
    /// Whether there are other threads.
    fn has_company(&self) -> bool;
    /// The heap's epoch, which a collection changes.
    fn epoch(&self) -> usize;
    /// The number of full collections so far.
    fn full_collections(&self) -> usize;
}

impl Writer for Thread {
    #[inline(always)]
    fn write(&mut self, object: Value, index: usize, value: Value) {
        self.store(object, index, value);
    }

    fn clear(&mut self, bytes: ObjectRef) {
        self.fill_bytes(bytes, 0..bytes.length(), 0);
    }

    #[inline(always)]
    fn has_company(&self) -> bool {
        self.has_others()
    }

    #[inline(always)]
    fn epoch(&self) -> usize {
        self.vm().heap().epoch() as usize
    }

    fn full_collections(&self) -> usize {
        self.vm().heap().statistics().full_collections as usize
    }
}

impl Writer for InPlace {
    #[inline(always)]
    fn write(&mut self, object: Value, index: usize, value: Value) {
        self.store(object, index, value);
    }

    fn clear(&mut self, bytes: ObjectRef) {
        self.fill_bytes(bytes, 0..bytes.length(), 0);
    }

    #[inline(always)]
    fn has_company(&self) -> bool {
        self.has_others()
    }

    #[inline(always)]
    fn epoch(&self) -> usize {
        self.heap_epoch() as usize
    }

    fn full_collections(&self) -> usize {
        InPlace::full_collections(self) as usize
    }
}
