//! Copying and filling payload words in bulk, with one barrier for each card.

use std::ops::Range;

use canny_tables::layout::CARD_SHIFT;
use canny_value::{ObjectRef, Value};

use crate::block::state;
use crate::mutator::Mutator;
use crate::shape;

impl Mutator {
    /// Copies payload words `range` of `source` to `target`, another object or the same, from word `at`
    /// on; the ranges may overlap.
    ///
    /// # Panics
    /// If an object is not scannable or a range is outside its object.
    pub fn copy_fields(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        check_range(source, &range);
        let written = at..at.saturating_add(range.len());
        check_range(target, &written);
        // SAFETY: both ranges are inside live objects; `copy` allows them to overlap.
        unsafe {
            std::ptr::copy(
                source.slot_address(range.start) as *const u64,
                target.slot_address(at) as *mut u64,
                range.len(),
            );
        }
        self.barrier_for(target, written);
    }

    /// Stores `value` in payload words `range`.
    ///
    /// # Panics
    /// If the object is not scannable or the range is outside it.
    pub fn fill_fields(&mut self, object: ObjectRef, range: Range<usize>, value: Value) {
        check_range(object, &range);
        for index in range.clone() {
            // SAFETY: a payload word of a live object.
            unsafe { shape::write(object.slot_address(index), value.bits()) };
        }
        self.barrier_for(object, range);
    }

    /// Records that references were stored in payload words `range`.
    fn barrier_for(&mut self, object: ObjectRef, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let first = object.slot_address(range.start) >> CARD_SHIFT;
        let last = object.slot_address(range.end - 1) >> CARD_SHIFT;
        for card in first..=last {
            self.barrier(card << CARD_SHIFT);
        }
    }
}

fn check_range(object: ObjectRef, range: &Range<usize>) {
    let header = object.header();
    assert!(
        shape::content_of(header.kind()) == state::SCANNABLE
            && range.start <= range.end
            && range.end <= header.payload_bytes() / 8,
        "field range out of range"
    );
}
