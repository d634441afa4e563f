//! Functions that compiled code calls: allocation that never collects.

use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::thread::Thread;

/// Room for a scannable object of so many bytes, a multiple of the granule, which the caller fills
/// before anything else happens: its address. Never collects; asks for a safepoint when a collection is
/// due.
///
/// # Safety
/// `thread` is the block of the thread that runs, and nothing else borrows it.
pub unsafe extern "C" fn allocate(thread: *mut u8, bytes: u64) -> u64 {
    // SAFETY: the caller's contract.
    let thread = unsafe { &mut *thread.cast::<Thread>() };
    thread.mutator().allocate_in_place(bytes as usize) as u64
}

/// The tagged flonum of a double, boxed if it has to be. Never collects, as [`allocate`].
///
/// # Safety
/// As for [`allocate`].
pub unsafe extern "C" fn box_flonum(thread: *mut u8, number: f64) -> u64 {
    if let Some(word) = Value::try_inline_flonum(number) {
        return word.bits();
    }
    // SAFETY: the caller's contract.
    let thread = unsafe { &mut *thread.cast::<Thread>() };
    let object = thread.mutator().leaf_in_place(Kind::Flonum, 0, 1);
    // SAFETY: the payload of the fresh flonum is one word behind its header.
    unsafe { *((object.address() + 8) as *mut u64) = number.to_bits() };
    object.bits()
}
