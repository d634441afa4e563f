//! Visits every live object, for heap snapshots and tests.
//!
//! The walk runs while the world is stopped, after a full collection, so that every object it meets
//! is live. An object shows its kind, its bytes and its outgoing edges, weak references included;
//! it must not be kept beyond the walk, since nothing roots it.

use canny_tables::kinds::Kind;
use canny_value::{Header, Value};

use super::Mutator;
use crate::collector;
use crate::shape;
use crate::traversal::{for_each_object, for_each_slot};

/// A live object or pair, seen while the world is stopped.
#[derive(Clone, Copy, Debug)]
pub struct LiveObject {
    address: usize,
    content: u8,
    bytes: usize,
    kind: Option<Kind>,
}

impl LiveObject {
    /// Its reference.
    pub fn value(&self) -> Value {
        // SAFETY: a live object at this address.
        unsafe { shape::value(shape::reference_to(self.address)) }
    }

    /// The object or pair that starts at an address in a block of this content.
    pub(crate) fn at(address: usize, content: u8) -> LiveObject {
        // SAFETY: a live object starts here; only blocks where pairs may be are asked for one.
        let (first, bytes) = unsafe { (shape::read(address), shape::bytes_at(address)) };
        LiveObject {
            address,
            content,
            bytes,
            kind: Header::is_header(first).then(|| Header(first).kind()),
        }
    }

    /// Where it is.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Its kind, or `None` for a pair.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Bytes that it takes in the heap.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls `visit` for each reference that it holds, weak ones included.
    pub fn for_each_edge(&self, mut visit: impl FnMut(Value)) {
        for_each_slot(self.address, self.content, self.bytes, |slot| {
            // SAFETY: a tagged word of a live object.
            let word = unsafe { shape::read(slot) };
            if shape::is_reference(word) {
                // SAFETY: as above.
                visit(unsafe { shape::value(word) });
            }
        });
    }
}

impl Mutator {
    /// Collects fully, then calls `visit` for every live object while the world is stopped. `visit`
    /// must not use the heap.
    pub fn walk(&mut self, mut visit: impl FnMut(&LiveObject)) {
        while self
            .stop_the_world(|heap, state| {
                collector::collect(heap, state, true);
                for_each_object(&heap.space, state, |address, content, bytes| {
                    debug_assert_eq!(LiveObject::at(address, content).bytes, bytes);
                    visit(&LiveObject::at(address, content));
                });
            })
            .is_none()
        {}
    }
}
