//! Memories: reserved address space that grows in place.
//!
//! A memory with addresses of 32 bits reserves all that an address and an offset can reach, so that an
//! access beyond its end meets a guard page. One with addresses of 64 bits is checked by code.

use canny_tables::guest::memory;

use crate::error::Error;
use crate::types::MemoryType;

/// Bytes of a page.
pub const PAGE: u64 = 1 << memory::PAGE_SHIFT;

/// Bytes that 32 bits of address and 32 bits of offset can reach, and the widest access.
const REACH: u64 = (1 << 33) + PAGE;

/// Most bytes that a memory with addresses of 64 bits reserves, and may grow to.
const WIDE_MAX: u64 = 1 << 36;

/// A memory, as handlers see it.
#[repr(C)]
#[derive(Debug)]
pub struct Memory {
    base: *mut u8,
    bytes: u64,
    reserved: u64,
    pages_max: u64,
    kind: MemoryType,
}

const _: () = assert!(std::mem::offset_of!(Memory, base) == memory::BASE as usize);
const _: () = assert!(std::mem::offset_of!(Memory, bytes) == memory::BYTES as usize);

// SAFETY: the mapping belongs to this object alone, and is reached through a borrow or by guest code that
// runs while its store is borrowed.
unsafe impl Send for Memory {}

impl Memory {
    pub(crate) fn new(kind: MemoryType) -> Result<Memory, Error> {
        let limit = if kind.is_wide {
            WIDE_MAX / PAGE
        } else {
            1 << 16
        };
        let pages_max = kind.maximum.unwrap_or(limit).min(limit);
        let reserved = if kind.is_wide {
            (pages_max * PAGE).max(PAGE)
        } else {
            REACH
        };
        let too_large = || {
            Error::NoMemory(format!(
                "the system gives no address space for a memory of {} pages",
                kind.initial
            ))
        };
        if kind.initial > limit {
            return Err(too_large());
        }
        // SAFETY: a new private mapping, at an address that the system chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                reserved as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(too_large());
        }
        let mut memory = Memory {
            base: base.cast(),
            bytes: 0,
            reserved,
            pages_max: pages_max.max(kind.initial),
            kind,
        };
        match memory.grow(kind.initial) {
            Some(_) => Ok(memory),
            None => Err(too_large()),
        }
    }

    /// Its type, with the pages that it has now.
    pub fn kind(&self) -> MemoryType {
        MemoryType {
            initial: self.pages(),
            ..self.kind
        }
    }

    /// How many pages it has.
    pub fn pages(&self) -> u64 {
        self.bytes / PAGE
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.bytes
    }

    /// Adds pages; gives how many there were, or nothing if that is too much.
    pub fn grow(&mut self, pages: u64) -> Option<u64> {
        let before = self.pages();
        let after = before.checked_add(pages)?;
        if after > self.pages_max {
            return None;
        }
        let bytes = after * PAGE;
        if pages > 0 {
            // SAFETY: the range lies in the mapping and was not accessible.
            let done = unsafe {
                libc::mprotect(
                    self.base.add(self.bytes as usize).cast(),
                    (bytes - self.bytes) as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                )
            };
            if done != 0 {
                return None;
            }
        }
        self.bytes = bytes;
        Some(before)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes from the base on are readable; code that writes them borrows the store.
        unsafe { std::slice::from_raw_parts(self.base, self.bytes as usize) }
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.bytes as usize) }
    }

    /// Where it begins.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.reserved as usize) };
    }
}
