//! Memories: reserved address space that grows in place.
//!
//! A memory with addresses of 32 bits reserves all that an address and an offset can reach, so that an
//! access beyond its end meets a guard page. One with addresses of 64 bits is checked by code.
//!
//! Several stores may have a shared memory. All of them refer to its record, which lives as long as one
//! of them. It only grows, and the new pages are there before its size says so, so that threads need not
//! agree about anything. Its bytes are never borrowed, only copied, since others may change them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_locks::Mutex;
use canny_tables::guest::memory;

use crate::error::Error;
use crate::racing;
use crate::types::MemoryType;
use crate::waits::WaitQueues;

/// Bytes of a page.
pub const PAGE: u64 = 1 << memory::PAGE_SHIFT;

/// Bytes that 32 bits of address and 32 bits of offset can reach, and the widest access.
const REACH: u64 = (1 << 33) + PAGE;

/// Most bytes that a memory with addresses of 64 bits reserves, and may grow to.
const WIDE_MAX: u64 = 1 << 36;

/// A memory, as handlers see it.
#[repr(C)]
#[derive(Debug)]
pub struct MemoryRecord {
    base: *mut u8,
    bytes: AtomicU64,
    reserved: u64,
    pages_max: u64,
    kind: MemoryType,
    /// Held while it grows.
    growth: Mutex<()>,
    /// The runs that wait for one of its addresses, if it is shared.
    pub queues: WaitQueues,
}

const _: () = assert!(std::mem::offset_of!(MemoryRecord, base) == memory::BASE as usize);
const _: () = assert!(std::mem::offset_of!(MemoryRecord, bytes) == memory::BYTES as usize);

// SAFETY: the mapping belongs to this object. A memory that is not shared has one owner, and is reached
// through a borrow of that or by guest code that runs while its store is borrowed. Guest code reaches a
// shared one on several threads, and so do copies that allow for changes meanwhile.
unsafe impl Send for MemoryRecord {}

// SAFETY: as above; size and queues have their own order.
unsafe impl Sync for MemoryRecord {}

/// A memory of a store.
#[derive(Debug)]
pub struct Memory {
    record: Arc<MemoryRecord>,
}

/// A shared memory apart from its stores. Clones are the same one.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    record: Arc<MemoryRecord>,
}

impl MemoryRecord {
    fn new(kind: MemoryType) -> Result<MemoryRecord, Error> {
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
        let record = MemoryRecord {
            base: base.cast(),
            bytes: AtomicU64::new(0),
            reserved,
            pages_max: pages_max.max(kind.initial),
            kind,
            growth: Mutex::default(),
            queues: WaitQueues::default(),
        };
        match record.grow(kind.initial) {
            Some(_) => Ok(record),
            None => Err(too_large()),
        }
    }

    /// How many bytes it has. If it is shared, there may be more the next time.
    pub fn size(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    fn grow(&self, pages: u64) -> Option<u64> {
        let _growth = self.growth.lock();
        let size = self.size();
        let before = size / PAGE;
        let after = before.checked_add(pages)?;
        if after > self.pages_max {
            return None;
        }
        let bytes = after * PAGE;
        if pages > 0 {
            // SAFETY: the range lies in the mapping and was not accessible.
            let done = unsafe {
                libc::mprotect(
                    self.base.add(size as usize).cast(),
                    (bytes - size) as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                )
            };
            if done != 0 {
                return None;
            }
        }
        self.bytes.store(bytes, Ordering::SeqCst);
        Some(before)
    }

    /// Where so many bytes from an address on are, if they lie inside.
    pub fn place(&self, address: u64, count: u64) -> Option<*mut u8> {
        let end = address.checked_add(count)?;
        // SAFETY: the address lies in the mapping, or is its end.
        (end <= self.size()).then(|| unsafe { self.base.add(address as usize) })
    }

    /// Whether stores on several threads may have it.
    pub fn is_shared(&self) -> bool {
        self.kind.is_shared
    }

    /// The number at an address, which is a multiple of its size, and whether such a number is there.
    pub fn atomic_number(&self, address: u64, bytes: u64) -> Option<u64> {
        let place = self.place(address, bytes)?;
        let mut word = [0; 8];
        // SAFETY: so many bytes are at the place.
        unsafe { racing::read(place, &mut word[..bytes as usize]) };
        Some(u64::from_le_bytes(word))
    }
}

impl Memory {
    pub(crate) fn new(kind: MemoryType) -> Result<Memory, Error> {
        let record = Arc::new(MemoryRecord::new(kind)?);
        Ok(Memory { record })
    }

    pub(crate) fn of(shared: SharedMemory) -> Memory {
        Memory {
            record: shared.record,
        }
    }

    pub(crate) fn record(&self) -> &Arc<MemoryRecord> {
        &self.record
    }

    /// The memory apart from its store, if it is shared.
    pub fn shared(&self) -> Option<SharedMemory> {
        let record = Arc::clone(&self.record);
        record.is_shared().then_some(SharedMemory { record })
    }

    /// Its type, with the pages that it has now.
    pub fn kind(&self) -> MemoryType {
        MemoryType {
            initial: self.pages(),
            ..self.record.kind
        }
    }

    /// How many pages it has.
    pub fn pages(&self) -> u64 {
        self.size() / PAGE
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.record.size()
    }

    /// Adds pages; gives how many there were, or nothing if that is too much.
    pub fn grow(&mut self, pages: u64) -> Option<u64> {
        self.record.grow(pages)
    }

    /// Its bytes, unless it is shared.
    pub fn bytes(&self) -> Option<&[u8]> {
        if self.record.is_shared() {
            return None;
        }
        // SAFETY: so many bytes from the base on are readable, and this is the only owner; code that writes
        // them borrows the store.
        let bytes = unsafe { std::slice::from_raw_parts(self.base(), self.size() as usize) };
        Some(bytes)
    }

    /// Its bytes, to be written, unless it is shared.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.record.is_shared() {
            return None;
        }
        // SAFETY: as above, and this borrow is the only one.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.base(), self.size() as usize) };
        Some(bytes)
    }

    /// Copies bytes from an address on; whether they lie inside. Two, four or eight bytes at a multiple of
    /// their number are read at once.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let place = self.record.place(address, bytes.len() as u64);
        // SAFETY: so many bytes are at the place, and nothing here refers to them.
        place
            .map(|place| unsafe { racing::read(place, bytes) })
            .is_some()
    }

    /// A copy of so many bytes from an address on, if they lie inside.
    pub fn copy(&self, address: u64, count: u64) -> Option<Vec<u8>> {
        self.record.place(address, count)?;
        let mut bytes = vec![0; count as usize];
        self.read(address, &mut bytes).then_some(bytes)
    }

    /// Writes bytes from an address on, if there is room for all; whether there is. Two, four or eight
    /// bytes at a multiple of their number are written at once.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let place = self.record.place(address, bytes.len() as u64);
        // SAFETY: as above.
        place
            .map(|place| unsafe { racing::write(place, bytes) })
            .is_some()
    }

    /// Writes the same byte so many times, if there is room; whether there is.
    pub(crate) fn fill(&mut self, address: u64, byte: u8, count: u64) -> bool {
        let Some(place) = self.record.place(address, count) else {
            return false;
        };
        // SAFETY: as above.
        unsafe {
            if self.record.is_shared() {
                racing::fill(place, byte, count as usize);
            } else {
                place.write_bytes(byte, count as usize);
            }
        }
        true
    }

    /// Copies so many bytes from an address of a memory to one of another or the same, if both ranges lie
    /// inside; whether they do. The store is borrowed to be changed.
    pub(crate) fn copy_between(
        (to, target): (&Memory, u64),
        (from, source): (&Memory, u64),
        count: u64,
    ) -> bool {
        let places = (
            to.record.place(target, count),
            from.record.place(source, count),
        );
        let (Some(target), Some(source)) = places else {
            return false;
        };
        // SAFETY: so many bytes are at both places, and nothing here refers to them.
        unsafe {
            if to.record.is_shared() || from.record.is_shared() {
                racing::copy(target, source, count as usize);
            } else {
                target.copy_from(source, count as usize);
            }
        }
        true
    }

    /// Where it begins.
    pub(crate) fn base(&self) -> *mut u8 {
        self.record.base
    }
}

impl SharedMemory {
    /// Whether both are the same one.
    pub fn is(&self, memory: &Memory) -> bool {
        Arc::ptr_eq(&self.record, &memory.record)
    }

    /// How many bytes it has now.
    pub fn size(&self) -> u64 {
        self.record.size()
    }

    /// Wakes those who have waited longest for an address, as many as that at most; gives how many.
    /// Nothing if there is no aligned number of 32 bits at the address.
    pub fn notify(&self, address: u64, count: u32) -> Option<u32> {
        if !address.is_multiple_of(4) {
            return None;
        }
        self.record.place(address, 4)?;
        Some(self.record.queues.notify(address, count))
    }
}

impl Drop for MemoryRecord {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.reserved as usize) };
    }
}
