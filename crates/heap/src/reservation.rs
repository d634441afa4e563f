//! Address space from the operating system.
//!
//! One reservation holds the block tables and the blocks. Pages appear when they are first
//! touched; [`Reservation::decommit`] gives them back and makes them read as zero.

use std::io;

/// A range of private, zeroed, lazily committed memory.
pub(crate) struct Reservation {
    start: usize,
    bytes: usize,
}

impl Reservation {
    /// Reserves so many bytes, page-aligned.
    pub(crate) fn new(bytes: usize) -> io::Result<Reservation> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no other memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Reservation {
            start: start as usize,
            bytes,
        })
    }

    /// First address.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Returns the pages of a page-aligned range to the system; the range reads as zero afterwards.
    pub(crate) fn decommit(&self, start: usize, bytes: usize) {
        assert!(start >= self.start && start + bytes <= self.start + self.bytes);
        // SAFETY: the range lies in this mapping, and the caller has freed the blocks in it.
        unsafe {
            libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED);
        }
    }

    /// Commits the pages of a page-aligned range at once, which is cheaper than faulting them in
    /// one by one. A kernel that cannot leaves them to the faults.
    pub(crate) fn populate(&self, start: usize, bytes: usize) {
        assert!(start >= self.start && start + bytes <= self.start + self.bytes);
        // SAFETY: the range lies in this mapping; populating changes no content.
        unsafe {
            libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_POPULATE_WRITE);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever held addresses into it is gone with the heap.
        unsafe {
            libc::munmap(self.start as *mut libc::c_void, self.bytes);
        }
    }
}

/// Bytes of memory that the machine has, or that the container may use.
pub(crate) fn physical_bytes() -> usize {
    // SAFETY: `sysconf` only reads.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let machine = if pages > 0 && page > 0 {
        pages as usize * page as usize
    } else {
        4 << 30
    };
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok());
    container.map_or(machine, |bytes| machine.min(bytes))
}
