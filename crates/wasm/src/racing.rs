//! Copies of bytes that other threads may change meanwhile.
//!
//! Numbers of a processor's sizes at aligned places are read and written at once. Other bytes may be old
//! or new, each for itself.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Whether a number of so many bytes at a place can be read at once.
fn is_number(place: *const u8, bytes: usize) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8) && (place as usize).is_multiple_of(bytes)
}

/// Reads bytes at a place.
///
/// # Safety
/// So many bytes are readable there, and nobody has a reference to them.
pub unsafe fn read(place: *const u8, bytes: &mut [u8]) {
    let count = bytes.len();
    if !is_number(place, count) {
        // SAFETY: the caller's promise, and the bytes are ours.
        return unsafe { copy(bytes.as_mut_ptr(), place, count) };
    }
    // SAFETY: the place is aligned for a number of that size, which the caller says is there.
    let number = unsafe {
        match count {
            1 => u64::from((*place.cast::<AtomicU8>()).load(Ordering::SeqCst)),
            2 => u64::from((*place.cast::<AtomicU16>()).load(Ordering::SeqCst)),
            4 => u64::from((*place.cast::<AtomicU32>()).load(Ordering::SeqCst)),
            _ => (*place.cast::<AtomicU64>()).load(Ordering::SeqCst),
        }
    };
    bytes.copy_from_slice(&number.to_le_bytes()[..count]);
}

/// Writes bytes to a place.
///
/// # Safety
/// So many bytes are writable there, and nobody has a reference to them.
pub unsafe fn write(place: *mut u8, bytes: &[u8]) {
    let count = bytes.len();
    if !is_number(place, count) {
        // SAFETY: the caller's promise.
        return unsafe { copy(place, bytes.as_ptr(), count) };
    }
    let mut word = [0; 8];
    word[..count].copy_from_slice(bytes);
    let number = u64::from_le_bytes(word);
    // SAFETY: the place is aligned for a number of that size, which the caller says is there.
    unsafe {
        match count {
            1 => (*place.cast::<AtomicU8>()).store(number as u8, Ordering::SeqCst),
            2 => (*place.cast::<AtomicU16>()).store(number as u16, Ordering::SeqCst),
            4 => (*place.cast::<AtomicU32>()).store(number as u32, Ordering::SeqCst),
            _ => (*place.cast::<AtomicU64>()).store(number, Ordering::SeqCst),
        }
    }
}

/// Copies bytes; the places may overlap.
///
/// The processor's own instruction is used where there is one, since the compiler must not assume that
/// the bytes stay as they are.
///
/// # Safety
/// So many bytes are readable at one place and writable at the other, and nobody has a reference to them.
pub unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    if to.cast_const() == from {
        return;
    }
    let overlaps = (to as usize).wrapping_sub(from as usize) < count;
    // SAFETY: the caller's promise. Bytes behind others that overlap them are copied first.
    unsafe {
        if overlaps {
            copy_down(to, from, count);
        } else {
            copy_up(to, from, count);
        }
    }
}

/// Copies bytes, the first ones first.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_up(to: *mut u8, from: *const u8, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads and writes the bytes that the caller names, and goes upward by the
    // rules of the platform.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") count => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe { copy_byte(to.add(index), from.add(index)) };
    }
}

/// Bytes that are copied at a time where a place lies behind the other one that it overlaps.
const STEP: usize = 4096;

/// Copies bytes, the last ones first.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_down(to: *mut u8, from: *const u8, count: usize) {
    let distance = to as usize - from as usize;
    let mut end = count;
    while end > 0 && distance >= STEP {
        let step = STEP.min(end);
        end -= step;
        // SAFETY: a part of the bytes, which does not overlap its target.
        unsafe { copy_up(to.add(end), from.add(end), step) };
    }
    while end > 0 {
        end -= 1;
        // SAFETY: the caller's promise.
        unsafe { copy_byte(to.add(end), from.add(end)) };
    }
}

/// Copies one byte.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_byte(to: *mut u8, from: *const u8) {
    // SAFETY: the caller's promise.
    unsafe {
        let byte = (*from.cast::<AtomicU8>()).load(Ordering::Relaxed);
        (*to.cast::<AtomicU8>()).store(byte, Ordering::Relaxed);
    }
}

/// Writes the same byte so many times.
///
/// # Safety
/// So many bytes are writable there, and nobody has a reference to them.
pub unsafe fn fill(place: *mut u8, byte: u8, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction writes the bytes that the caller names, and goes upward by the rules of the
    // platform.
    unsafe {
        core::arch::asm!(
            "rep stosb",
            inout("rcx") count => _,
            inout("rdi") place => _,
            in("al") byte,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe { (*place.add(index).cast::<AtomicU8>()).store(byte, Ordering::Relaxed) };
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, fill, read, write};

    #[test]
    fn overlapping_bytes_are_copied_as_if_they_were_not() {
        let start: Vec<u8> = (0..20_000u32).map(|index| (index % 251) as u8).collect();
        for distance in [0usize, 1, 7, 4095, 4096, 4097, 9000] {
            for count in [0, 1, 8, 5000, 10_000] {
                for (to, from) in [(distance, 0), (0, distance)] {
                    let mut wanted = start.clone();
                    wanted.copy_within(from..from + count, to);
                    let mut bytes = start.clone();
                    let base = bytes.as_mut_ptr();
                    // SAFETY: both ranges lie inside.
                    unsafe { copy(base.add(to), base.add(from), count) };
                    assert!(bytes == wanted, "{count} bytes from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_read_and_written_at_all_places() {
        let mut bytes = [0u8; 64];
        let base = bytes.as_mut_ptr();
        for place in 0..16 {
            for count in 0..20 {
                let given: Vec<u8> = (0..count as u8).map(|index| index * 3 + 1).collect();
                let mut found = vec![0; count];
                // SAFETY: the range lies inside.
                unsafe {
                    fill(base, 9, 64);
                    write(base.add(place), &given);
                    read(base.add(place), &mut found);
                    assert_eq!(found, given);
                    assert_eq!(*base.add(place + count), 9);
                }
            }
        }
    }
}
