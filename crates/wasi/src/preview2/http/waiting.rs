//! Waits of the embedder, and results that are given once.
//!
//! The embedder waits as it does for handles: it says how by a [`Wait`], and its task may be parked.

use std::sync::Arc;

use canny_io::{IoError, Operation, Wait};
use canny_locks::Mutex;
use canny_sched::{Interest, Notice, Wake};

use super::super::poll::Ready;
use super::super::waits::Waits;

/// Waits for a notice until a look finds something.
pub fn wait_for<T>(
    notice: &Notice,
    wait: Wait<'_>,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, IoError> {
    const NAME: &str = "a guest";
    loop {
        let given = Interest::Notice(notice, notice.look());
        if let Some(found) = look() {
            return Ok(found);
        }
        if matches!(wait, Wait::NonBlocking) {
            return Err(IoError::WouldBlock);
        }
        match canny_sched::wait(&[given], wait.deadline(), wait.interrupt()) {
            Wake::Ready(_) => {}
            Wake::TimedOut => return Err(IoError::timed_out(Operation::Read, NAME)),
            Wake::Interrupted => return Err(IoError::Interrupted),
            Wake::Parked => return Err(IoError::parked(Operation::Read, NAME)),
        }
    }
}

enum Slot<T> {
    Empty,
    Full(T),
    Taken,
}

/// A result that one side gives and the other one takes.
pub struct Promise<T> {
    slot: Mutex<Slot<T>>,
    changed: Arc<Notice>,
}

impl<T> Default for Promise<T> {
    fn default() -> Promise<T> {
        Promise {
            slot: Mutex::new(Slot::Empty),
            changed: Arc::default(),
        }
    }
}

impl<T> Promise<T> {
    /// Gives the result, unless there is one already.
    pub fn give(&self, result: T) {
        let mut slot = self.slot.lock();
        if matches!(*slot, Slot::Empty) {
            *slot = Slot::Full(result);
            drop(slot);
            self.changed.give();
        }
    }

    /// Takes the result: nothing while there is none, and nothing inside when it was taken before.
    pub fn take(&self) -> Option<Option<T>> {
        let mut slot = self.slot.lock();
        match std::mem::replace(&mut *slot, Slot::Taken) {
            Slot::Empty => {
                *slot = Slot::Empty;
                None
            }
            Slot::Full(result) => Some(Some(result)),
            Slot::Taken => Some(None),
        }
    }

    /// Waits for the result.
    pub fn wait(&self, wait: Wait<'_>) -> Result<Option<T>, IoError> {
        wait_for(&self.changed, wait, || self.take())
    }
}

impl<T: Send> Ready for Promise<T> {
    fn is_ready(&self) -> bool {
        !matches!(*self.slot.lock(), Slot::Empty)
    }

    fn await_ready(&self, waits: &mut Waits) {
        waits.notice(&self.changed);
    }
}
