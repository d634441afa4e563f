//! The locks of all crates: mutexes, read-write locks and condition variables of the standard library
//! without poisoning.
//!
//! The standard library marks a lock as poisoned if a thread panics while it holds the lock, and fails
//! each later attempt to lock it. Canny ignores this mark. A panic is a bug. Where one is caught (a job
//! of the pool, a statement of a database, a request of the language server), the other threads have to
//! continue and to report it. A poisoned lock would turn one failed piece of work into a failure of
//! everything that shares the lock. So code that holds a lock changes the locked value in steps that
//! each leave it valid.
//!
//! `cargo xtask tidy` keeps the locks of the standard library out of all other crates but their tests.
#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// A lock that one thread holds at a time.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex with this value.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// The value, which nobody else can lock any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no other thread holds the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if no thread holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value without locking, since the reference is the only one.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock that several readers or one writer hold at a time.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// An unlocked lock with this value.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds the lock, and takes it for reading.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread holds the lock, and takes it for writing.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes threads that wait for a change of what a [`Mutex`] protects.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// A condition that no thread waits for.
    pub const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    /// Unlocks the mutex, waits until a thread notifies, and locks it again. It may return early.
    pub fn wait<'lock, T>(&self, guard: MutexGuard<'lock, T>) -> MutexGuard<'lock, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`Condvar::wait`], but waits no longer than `patience`. `true`: that time has passed.
    pub fn wait_timeout<'lock, T>(
        &self,
        guard: MutexGuard<'lock, T>,
        patience: Duration,
    ) -> (MutexGuard<'lock, T>, bool) {
        let waited = self.0.wait_timeout(guard, patience);
        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (guard, timeout.timed_out())
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
