//! What threads share memory by. Everything in the pool takes it from here, so that the tests can compile the same sources
//! a second time over the types of `shuttle`.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Locks; whoever panicked with the lock left the value in order, since nothing in here panics half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Starts a thread that nobody joins.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(body).map(drop)
}

/// The processor time that the process has used.
pub(crate) fn processor_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
