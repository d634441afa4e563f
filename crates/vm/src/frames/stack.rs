//! The VM stack: address space reserved at once, memory taken by touch.
//!
//! Sizes are in words of 8 bytes unless a name says otherwise. Above the words for frames lie a
//! reserve, which a handler of the stack condition may use, and a red zone, which every frame may touch
//! without a check. Dropping the stack unmaps it: nothing may run on it then.

use std::io;

use canny_tables::layout::frame::RED_ZONE_WORDS;
use canny_value::Value;

/// The open part of a stack's reserve. Not 0 while a stack condition was raised and not yet left.
#[derive(Debug, Default)]
pub(crate) struct StackReserve {
    /// Words above the limit that frames may use.
    pub(crate) words: usize,
    /// Words of them that were opened for a critical section.
    pub(crate) borrowed_words: usize,
    /// Words that sealed frames may have beyond the limit, for the handlers of a stack condition.
    pub(crate) sealed_words: usize,
}

/// A stack of frames that grows up.
#[derive(Debug)]
pub struct VmStack {
    base: *mut Value,
    reserved_bytes: usize,
    frame_words: usize,
}

impl VmStack {
    /// Words above the limit that a handler of the stack condition gets.
    pub const HANDLER_WORDS: usize = 1 << 17;
    /// Frames that a program gets unless it asks for another limit.
    pub const DEFAULT_FRAME_BYTES: usize = 1 << 30;

    /// Reserves a stack for so many bytes of frames.
    pub fn new(frame_bytes: usize) -> io::Result<VmStack> {
        let frame_words = frame_bytes / 8;
        let words = frame_words + VmStack::reserve_words_for(frame_words);
        let reserved_bytes = 8 * (words + 2 * RED_ZONE_WORDS);
        // SAFETY: an anonymous private mapping at an address of the system's choice touches nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                reserved_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(VmStack {
            base: address.cast(),
            reserved_bytes,
            frame_words,
        })
    }

    /// The first word.
    pub fn base(&self) -> *mut Value {
        self.base
    }

    /// Words above the limit, for handlers whose handlers overflow too.
    pub fn reserve_words(&self) -> usize {
        VmStack::reserve_words_for(self.frame_words)
    }

    fn reserve_words_for(frame_words: usize) -> usize {
        frame_words.max(2 * VmStack::HANDLER_WORDS)
    }

    /// Words of frames below the limit.
    pub fn frame_words(&self) -> usize {
        self.frame_words
    }
}

impl Drop for VmStack {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`, of the same size; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.reserved_bytes) };
    }
}
