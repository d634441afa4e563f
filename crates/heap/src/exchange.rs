//! Atomic stores into fields (compare-and-swap, exchange), and write barriers for stores that are
//! made elsewhere.
//!
//! The operations work on a word of a live object or pair and are sequentially consistent. Words
//! are compared, as `eq?` does for anything but numbers. Each successful store runs the write
//! barrier.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_value::Value;

use crate::mutator::Mutator;

/// A word of an object that holds `#t` or `#f`.
#[inline]
fn flag_of<'a>(object: Value, field_index: usize) -> &'a AtomicU64 {
    let object = object.as_object().expect("a flag is in an object");
    assert!(
        field_index * 8 + 8 <= object.header().payload_bytes(),
        "field index out of range"
    );
    let slot = object.slot_address(field_index);
    // SAFETY: an aligned word of a live object, which lives on while this thread is at no safepoint,
    // and the callers in this module let go of it at once; all threads access the words of objects as
    // whole words.
    unsafe { AtomicU64::from_ptr(slot as *mut u64) }
}

impl Mutator {
    /// Stores `new` in a field that holds `old`, as one step; gives what the field held. Words are
    /// compared, as `eq?` does for anything but numbers.
    ///
    /// # Panics
    /// If the value is no object or has no such field.
    pub fn compare_and_swap(
        &mut self,
        object: Value,
        field_index: usize,
        old: Value,
        new: Value,
    ) -> Value {
        let object = object.as_object().expect("a store goes into an object");
        assert!(
            field_index * 8 + 8 <= object.header().payload_bytes(),
            "field index out of range"
        );
        let slot = object.slot_address(field_index);
        // SAFETY: an aligned word of a live object, which lives on while this thread is at no
        // safepoint; all threads access the words of objects as whole words.
        let word = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        let found =
            word.compare_exchange(old.bits(), new.bits(), Ordering::SeqCst, Ordering::SeqCst);
        match found {
            Ok(_) => {
                self.barrier(slot);
                old
            }
            // SAFETY: the word of a field, which the object keeps alive until the next safepoint.
            Err(found) => unsafe { Value::from_bits(found) },
        }
    }

    /// Changes a field from `#f` to `#t`, as one step; whether it was this call that did. There is no
    /// barrier, since neither is a reference.
    ///
    /// # Panics
    /// If the value is no object or has no such field.
    #[inline]
    pub fn raise_flag(&mut self, object: Value, field_index: usize) -> bool {
        let (old, new) = (Value::FALSE.bits(), Value::TRUE.bits());
        flag_of(object, field_index)
            .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Changes a field that holds `#t` to `#f`. A thread that finds it changed sees everything that
    /// this thread wrote before.
    ///
    /// # Panics
    /// If the value is no object or has no such field.
    #[inline]
    pub fn lower_flag(&mut self, object: Value, field_index: usize) {
        flag_of(object, field_index).store(Value::FALSE.bits(), Ordering::Release);
    }

    /// Stores a payload word of a scannable object if it still is the expected one, as a single step
    /// among threads; whether it was.
    ///
    /// # Panics
    /// If the index is out of range or the value is no such object.
    pub fn store_if(
        &mut self,
        object: Value,
        field_index: usize,
        expected: Value,
        value: Value,
    ) -> bool {
        let object = object.as_object().expect("a store goes into an object");
        assert!(
            field_index * 8 + 8 <= object.header().payload_bytes(),
            "field index out of range"
        );
        self.exchange(object.slot_address(field_index), expected, value)
    }

    /// Changes the car of a pair as [`Mutator::store_if`] does.
    ///
    /// # Panics
    /// If the value is no pair.
    pub fn set_car_if(&mut self, pair: Value, expected: Value, value: Value) -> bool {
        let slot = pair.as_pair().expect("a pair").slot_address();
        self.exchange(slot, expected, value)
    }

    /// Callers give the address of a word of a live object or pair.
    fn exchange(&mut self, slot: usize, expected: Value, value: Value) -> bool {
        // SAFETY: a word of a live object, aligned.
        let word = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        let is_done = word
            .compare_exchange(
                expected.bits(),
                value.bits(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok();
        if is_done {
            self.barrier(slot);
        }
        is_done
    }

    /// Records that tagged words of a code object were written without [`Mutator::store_code_pool`].
    pub fn code_changed(&mut self, code_object: Value) {
        self.barrier(code_object.address());
    }
}
