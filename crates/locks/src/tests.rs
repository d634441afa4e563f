//! Locks whose holder panicked, and waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Condvar, Mutex, RwLock};

fn panic_in(work: impl FnOnce()) {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    assert!(outcome.is_err());
}

#[test]
fn a_mutex_can_be_locked_after_a_panic() {
    let mut mutex = Mutex::new(1);
    panic_in(|| {
        let mut value = mutex.lock();
        *value = 2;
        panic!("while the lock is held");
    });
    assert!(mutex.0.is_poisoned());
    assert_eq!(*mutex.lock(), 2);
    assert_eq!(mutex.try_lock().map(|guard| *guard), Some(2));
    assert_eq!(*mutex.get_mut(), 2);
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn a_mutex_is_tried_in_vain_while_it_is_held() {
    let mutex = Mutex::new(());
    let guard = mutex.lock();
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_some());
}

#[test]
fn a_read_write_lock_can_be_locked_after_a_panic() {
    let lock = RwLock::new(1);
    panic_in(|| {
        let mut value = lock.write();
        *value = 2;
        panic!("while the lock is held");
    });
    assert!(lock.0.is_poisoned());
    assert_eq!(*lock.read(), 2);
    *lock.write() = 3;
    assert_eq!(*lock.read(), 3);
}

#[test]
fn a_wait_ends_by_a_notice_also_if_the_notifier_panics() {
    let (mutex, condition) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            panic_in(|| {
                let mut is_done = mutex.lock();
                *is_done = true;
                condition.notify_all();
                panic!("while the lock is held");
            });
        });
        let mut is_done = mutex.lock();
        while !*is_done {
            is_done = condition.wait(is_done);
        }
    });
}

#[test]
fn a_wait_without_a_notice_ends_when_its_time_has_passed() {
    let (mutex, condition) = (Mutex::new(()), Condvar::new());
    let mut guard = mutex.lock();
    loop {
        let (again, has_passed) = condition.wait_timeout(guard, Duration::from_millis(1));
        if has_passed {
            break;
        }
        guard = again;
    }
}
