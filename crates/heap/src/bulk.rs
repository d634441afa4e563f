//! Copies and fills ranges of payload words, with one write barrier for each card instead of one
//! for each store.
//!
//! A range is checked against its object before a word is written. Words that another thread may
//! access at the same time are copied one by one as whole words, so that no reader sees half of
//! one; `is_alone` allows the faster copy.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::layout::CARD_SHIFT;
use canny_value::{ObjectRef, Value};

use crate::block::state;
use crate::mutator::Mutator;
use crate::shape;

impl Mutator {
    /// Copies payload words `range` of `source` to `target`, another object or the same, from word `at`
    /// on; the ranges may overlap.
    ///
    /// `is_alone` says that no other thread reads or writes the words at once; if it may, each is
    /// copied as a whole.
    ///
    /// # Panics
    /// If an object is not scannable or a range is outside its object.
    pub fn copy_fields(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
        is_alone: bool,
    ) {
        check_range(source, &range);
        let written = at..at.saturating_add(range.len());
        check_range(target, &written);
        let (from, to) = (source.slot_address(range.start), target.slot_address(at));
        // SAFETY: both ranges are inside live objects; both ways of copying allow them to overlap.
        unsafe {
            if is_alone {
                std::ptr::copy(from as *const u64, to as *mut u64, range.len());
            } else {
                copy_words(from, to, range.len());
            }
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

/// Copies words one by one.
///
/// # Safety
/// Both ranges are words of live objects.
unsafe fn copy_words(from: usize, to: usize, count: usize) {
    // SAFETY: the caller's contract; words are aligned.
    let copy = |index: usize| unsafe {
        let word = AtomicU64::from_ptr((from + 8 * index) as *mut u64).load(Ordering::Relaxed);
        AtomicU64::from_ptr((to + 8 * index) as *mut u64).store(word, Ordering::Relaxed);
    };
    if from < to {
        (0..count).rev().for_each(copy);
    } else {
        (0..count).for_each(copy);
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
