//! The primitives by which threads share memory. Everything in the pool takes it from here, so that the tests
//! can compile the same sources a second time over the types of `shuttle`.

pub(crate) use canny_locks::{Condvar, Mutex};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

pub(crate) fn now() -> std::time::Instant {
    canny_replay::now()
}

/// Starts a detached thread.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(body).map(drop)
}

/// The processor time that the process has used.
pub(crate) fn processor_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The system's number of the calling thread; nought if there are none.
pub(crate) fn thread_number() -> u32 {
    #[cfg(target_os = "linux")]
    return rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs();
    #[cfg(not(target_os = "linux"))]
    0
}

/// Whether a thread of this process sleeps or waits for a device, so that no core would make it run. It
/// allocates nothing.
pub(crate) fn is_blocked(thread: u32) -> Option<bool> {
    use std::io::{Cursor, Read, Write};
    use std::os::unix::ffi::OsStrExt;

    let mut name = Cursor::new([0u8; 48]);
    write!(name, "/proc/self/task/{thread}/stat").ok()?;
    let length = usize::try_from(name.position()).ok()?;
    let path = std::ffi::OsStr::from_bytes(&name.get_ref()[..length]);
    let mut buffer = [0u8; 128];
    let length = std::fs::File::open(path).ok()?.read(&mut buffer).ok()?;
    // The number, the name in parentheses, which may have such itself, and the state.
    let line = &buffer[..length];
    let end = line.iter().rposition(|byte| *byte == b')')?;
    Some(line.get(end + 2)? != &b'R')
}
