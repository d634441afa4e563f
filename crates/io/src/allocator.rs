//! Memory that the allocator keeps for later.

#![allow(unsafe_code)]

/// Gives the system back what was freed and is not used, as far as the allocator can. It takes
/// milliseconds: to be called after much was freed that does not come again soon.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(padding: usize) -> i32;
        }
        // SAFETY: `malloc_trim` of the C library takes its own locks and has no conditions; its result
        // only says whether anything was given back.
        unsafe { malloc_trim(0) };
    }
}
