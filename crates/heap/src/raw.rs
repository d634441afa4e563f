//! Looking for raw references into memory beside the heap, for its owner ([`RawReferences`]).
//!
//! Native stacks are looked at when the collection begins, closures (continuations among them, which
//! hold the return addresses of frames) when it has ended, and only those that live.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_value::Header;

use crate::heap::{Heap, HeapState};
use crate::shape;
use crate::traversal;

/// One full collection's search: the addresses that each owner asks about.
pub(crate) struct RawSearch {
    /// By owner, the addresses looked for.
    ranges: Vec<Option<Range<usize>>>,
}

impl RawSearch {
    /// Asks the owners, and tells them of native stacks.
    pub(crate) fn begin(state: &mut HeapState) -> RawSearch {
        let HeapState {
            raw_references,
            mutators,
            ..
        } = state;
        let mut ranges = Vec::new();
        for owner in raw_references {
            let range = owner.begin();
            if let Some(range) = &range {
                for entry in &*mutators {
                    entry.context.for_each_word(|word| {
                        if range.contains(&word) {
                            owner.see(word);
                        }
                    });
                }
            }
            ranges.push(range);
        }
        RawSearch { ranges }
    }

    /// Tells the owners of live closures, and that this was all.
    pub(crate) fn finish(&self, heap: &Heap, state: &mut HeapState) {
        let mut owners = std::mem::take(&mut state.raw_references);
        for (owner, range) in owners.iter_mut().zip(&self.ranges) {
            let Some(range) = range else { continue };
            traversal::for_each_object(&heap.space, state, |address, _, _| {
                // SAFETY: an object starts here.
                let header = Header(unsafe { shape::read(address) });
                if !Header::is_header(header.0) || header.kind() != Kind::Closure {
                    return;
                }
                let end = address + 8 + header.payload_bytes();
                for at in (address + 8..end).step_by(8) {
                    // SAFETY: a word of the closure.
                    let word = unsafe { shape::read(at) } as usize;
                    if range.contains(&word) {
                        owner.see(word);
                    }
                }
            });
            owner.end();
        }
        state.raw_references = owners;
    }
}
