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
        // SAFETY: the mapping is ours, and all holders of addresses into it are gone with the heap.
        unsafe {
            libc::munmap(self.start as *mut libc::c_void, self.bytes);
        }
    }
}

/// Bytes of memory that this process may use: those of the machine, or less if a control group says so.
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
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    control_group_bytes(&own, |path| std::fs::read_to_string(path).ok())
        .map_or(machine, |bytes| machine.min(bytes))
}

/// The least limit of the process's control group and of those around it, as the second version of
/// control groups has them. `own` is the text of `/proc/self/cgroup`. Inside of a container its own
/// group may be the root.
fn control_group_bytes(own: &str, read: impl Fn(&str) -> Option<String>) -> Option<usize> {
    const ROOT: &str = "/sys/fs/cgroup";
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let mut path = path.unwrap_or("/").trim_end_matches('/');
    let mut least = None;
    loop {
        // A service manager slows a group down above `high`, long before `max`.
        for file in ["memory.max", "memory.high"] {
            let limit = read(&format!("{ROOT}{path}/{file}"))
                .and_then(|text| text.trim().parse::<usize>().ok());
            least = match (least, limit) {
                (Some(before), Some(limit)) => Some(limit.min(before)),
                (before, limit) => before.or(limit),
            };
        }
        match path.rfind('/') {
            Some(end) => path = &path[..end],
            None => return least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::control_group_bytes;

    #[test]
    fn the_least_limit_of_all_groups_around_counts() {
        let read = |path: &str| {
            let text = match path {
                "/sys/fs/cgroup/system.slice/app.service/memory.max" => "max\n",
                "/sys/fs/cgroup/system.slice/app.service/memory.high" => "3000000\n",
                "/sys/fs/cgroup/system.slice/memory.max" => "2000000\n",
                "/sys/fs/cgroup/memory.max" => "5000000\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let bytes = |own| control_group_bytes(own, read);
        assert_eq!(bytes("0::/system.slice/app.service\n"), Some(2_000_000));
        assert_eq!(bytes("0::/\n"), Some(5_000_000));
        assert_eq!(bytes("1:cpu:/x\n"), Some(5_000_000));
        assert_eq!(control_group_bytes("0::/a\n", |_| None), None);
    }
}
