//! Asking a running thread to come to a safepoint.
//!
//! | bit | set by | cleared by | meaning |
//! |---|---|---|---|
//! | `STOP` | the collector | the thread at its safepoint | come to a safepoint |
//! | `INTERRUPT` | Ctrl-C, a watchdog | the thread when it calls the interrupt handler | run `%interrupt-handler` |
//! | `HEAP` | the thread itself, at the end of a critical section and when it takes up a task | the thread at its safepoint | the account in use may have used up the memory |
//! | `LOG` | the specializer's worker | the thread at its safepoint | the log may be written again |
//! | `PREEMPT` | the scheduler | the thread at its safepoint | run `%preempt-handler`, unless that must wait |
//! | `PROFILE` | the profiler's signal handler | the thread at its safepoint | read the samples |
//! | `DEBUG` | a debugger | the thread at its safepoint | look whether the task is stepped through |
//! | `QUIT` | a worker | the thread at its safepoint | a task has ended the program |
//!
//! The request makes the generated code's own checks fail: the stack limit is zeroed, and the slow
//! stub of `loop` takes the place of its handler in the thread's dispatch table. Both are undone by the
//! thread itself, before it looks at the bits, so that a request that comes in between is not lost.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use canny_heap::SafepointRequest;
use canny_locks::Mutex;
use canny_tables::opcodes::Opcode;

/// Come to a safepoint.
pub(crate) const STOP: u32 = 1;
/// Run the interrupt handler.
pub(crate) const INTERRUPT: u32 = 2;
/// The heap limit was reached.
pub(crate) const HEAP: u32 = 4;
/// There is quota for the specializer's log again.
pub(crate) const LOG: u32 = 8;
/// Let another task run.
pub(crate) const PREEMPT: u32 = 16;
/// Leave the machine, since a task on another thread ended the program.
pub(crate) const QUIT: u32 = 32;
/// Read the samples of the profiler.
pub(crate) const PROFILE: u32 = 64;
/// See what the debugger wants of the task.
pub(crate) const DEBUG: u32 = 128;

/// The requests of other threads, and of signal handlers, to a thread.
#[derive(Debug, Default)]
pub struct InterruptState {
    bits: AtomicU32,
    limit: AtomicPtr<AtomicU64>,
    loop_entry: AtomicPtr<AtomicUsize>,
    loop_stub: AtomicUsize,
    has_others: AtomicPtr<AtomicU64>,
    /// Set while an interrupt waits, for system calls that should return.
    waiting: AtomicBool,
    /// Written to when `waiting` is set, so that nobody who sleeps has to look at it now and then. Set once.
    alarm: OnceLock<File>,
    lock: Mutex<()>,
}

impl InterruptState {
    pub(crate) fn connect(
        &self,
        limit: *const AtomicU64,
        loop_entry: *const AtomicUsize,
        has_others: *const AtomicU64,
    ) {
        self.has_others
            .store(has_others.cast_mut(), Ordering::Release);
        self.loop_stub
            .store(canny_llint::slow_stub(Opcode::Loop), Ordering::Relaxed);
        self.limit.store(limit.cast_mut(), Ordering::Release);
        self.loop_entry
            .store(loop_entry.cast_mut(), Ordering::Release);
    }

    /// The thread block is about to go.
    pub(crate) fn disconnect(&self) {
        let _guard = self.lock.lock();
        self.limit.store(std::ptr::null_mut(), Ordering::Release);
        self.loop_entry
            .store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Asks the thread to run the interrupt handler. Only atomic stores and a write: a signal handler
    /// may call it on the thread itself; from other threads the thread must be kept alive.
    pub fn interrupt(&self) {
        self.waiting.store(true, Ordering::SeqCst);
        self.notify(INTERRUPT);
        self.sound_alarm();
    }

    /// Has eight bytes written to a descriptor whenever an interrupt waits. Only the first call has an
    /// effect.
    pub(crate) fn set_alarm(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let file = File::from(descriptor.try_clone_to_owned()?);
        let _ = self.alarm.set(file);
        if self.waiting.load(Ordering::SeqCst) {
            self.sound_alarm();
        }
        Ok(())
    }

    fn sound_alarm(&self) {
        if let Some(mut alarm) = self.alarm.get() {
            // It cannot be refused: a thread that is asked too often has not looked yet.
            let _ = alarm.write(&1_u64.to_ne_bytes());
        }
    }

    /// Whether an interrupt waits to be taken, for blocking calls to look at.
    pub fn interrupt_waiting(&self) -> &AtomicBool {
        &self.waiting
    }

    /// Asks the thread to let another task run. From threads that do not keep it alive, too.
    pub fn preempt(&self) {
        self.notify_if_alive(PREEMPT);
    }

    /// Asks the thread to leave the machine.
    pub(crate) fn ask_to_leave(&self) {
        self.waiting.store(true, Ordering::SeqCst);
        self.notify_if_alive(QUIT);
        self.sound_alarm();
    }

    pub(crate) fn notify(&self, bit: u32) {
        self.bits.fetch_or(bit, Ordering::AcqRel);
        let limit = self.limit.load(Ordering::Acquire);
        let entry = self.loop_entry.load(Ordering::Acquire);
        if limit.is_null() || entry.is_null() {
            return;
        }
        // SAFETY: both point into the thread block, which disconnects before it goes; every caller
        // holds the thread alive (the heap's lock for the collector, the signal runs on the
        // thread).
        unsafe {
            (*limit).store(0, Ordering::Relaxed);
            (*entry).store(self.loop_stub.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Notifies from a thread that does not keep this one alive.
    pub(crate) fn notify_if_alive(&self, bit: u32) {
        // Held, the block stays: it disconnects before it goes.
        let _guard = self.lock.lock();
        self.notify(bit);
    }

    /// Whether an interrupt waits or another task had better run.
    pub(crate) fn asks_for_attention(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) || self.bits.load(Ordering::Relaxed) & PREEMPT != 0
    }

    /// Clears the wish that another task run; whether there was one.
    pub(crate) fn take_preemption(&self) -> bool {
        self.bits.fetch_and(!PREEMPT, Ordering::AcqRel) & PREEMPT != 0
    }

    /// Clears a bit that is of no interest any more.
    pub(crate) fn forget(&self, bit: u32) {
        self.bits.fetch_and(!bit, Ordering::AcqRel);
    }

    /// Takes and clears the bits.
    pub(crate) fn take(&self) -> u32 {
        let bits = self.bits.swap(0, Ordering::AcqRel);
        if bits & INTERRUPT != 0 {
            self.waiting.store(false, Ordering::Relaxed);
        }
        bits
    }

    /// Whether an interrupt waits; takes note of it.
    pub fn take_interrupt(&self) -> bool {
        let taken = self.bits.fetch_and(!INTERRUPT, Ordering::AcqRel) & INTERRUPT != 0;
        if taken {
            self.waiting.store(false, Ordering::Relaxed);
        }
        taken
    }
}

impl SafepointRequest for InterruptState {
    fn request(&self) {
        self.notify(STOP);
    }

    fn set_has_others(&self, has_others: bool) {
        let word = self.has_others.load(Ordering::Acquire);
        if word.is_null() {
            return;
        }
        // SAFETY: it points into the thread block, which is there until its mutator is dropped; the
        // heap calls this under its lock, with which the mutator leaves the list.
        unsafe { (*word).store(u64::from(has_others), Ordering::Relaxed) };
    }
}
