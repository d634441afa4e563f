//! Gives pages of executables and libraries back that only starting up needed.
//!
//! The system counts each page of a file that a process touched, and those around it, as memory of the
//! process until somebody says otherwise. A program that runs long enough to have code compiled has
//! done with the reader, the expander and the image of the library for a while, and the code generator
//! is about to touch as much again. A page that is needed after all is mapped again, from the
//! system's cache, some sixteen pages at a time.

/// Gives back pages that are mapped from files and can only be read or executed.
#[cfg(target_os = "linux")]
pub(super) fn give_back() {
    // SAFETY: the callback has the type that is asked for, and needs no data.
    unsafe { libc::dl_iterate_phdr(Some(give_object_back), std::ptr::null_mut()) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn give_back() {}

/// Does it for the segments of one executable or library.
#[cfg(target_os = "linux")]
unsafe extern "C" fn give_object_back(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the linker hands out the description of an object that stays loaded meanwhile, with its
    // table of segments.
    let (base, segments) = unsafe {
        let object = &*object;
        if object.dlpi_phdr.is_null() {
            return 0;
        }
        let count = usize::from(object.dlpi_phnum);
        (
            object.dlpi_addr as usize,
            std::slice::from_raw_parts(object.dlpi_phdr, count),
        )
    };
    // SAFETY: only asks.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    for segment in segments {
        if segment.p_type != libc::PT_LOAD || segment.p_flags & libc::PF_W != 0 {
            continue;
        }
        let start = base + segment.p_vaddr as usize;
        // The system rounds the end up. No page has two protections, so all of these are the segment's.
        let first = start & !(page_bytes - 1);
        let bytes = start + segment.p_memsz as usize - first;
        // SAFETY: nobody writes to these pages, so they hold what the file holds, and come from there
        // when they are touched. The address is that of a mapping, or nothing happens.
        unsafe { libc::madvise(first as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }
    0
}
