//! Results of other threads: the caller waits for one as for anything else, and the wait may be parked.
//!
//! | field | touched by | condition |
//! |---|---|---|
//! | `found` | the other thread fills it, who asked takes it | under its lock |
//! | `notice` | the other thread gives it | after it has filled `found` |

use std::sync::Arc;

use canny_locks::Mutex;
use canny_sched::{Interest, Notice, Wake};

use crate::error::{IoError, Operation};
use crate::wait::Wait;

/// Something that is given and taken once.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    found: Mutex<Option<T>>,
    notice: Arc<Notice>,
}

impl<T> Default for Answer<T> {
    fn default() -> Answer<T> {
        Answer {
            found: Mutex::new(None),
            notice: Arc::default(),
        }
    }
}

impl<T> Answer<T> {
    pub(crate) fn give(&self, found: T) {
        *self.found.lock() = Some(found);
        self.notice.give();
    }

    /// It is given when the answer is there.
    pub(crate) fn notice(&self) -> &Arc<Notice> {
        &self.notice
    }

    /// Takes the answer when it is there. The operation and the name are for errors.
    pub(crate) fn take(
        &self,
        wait: Wait<'_>,
        operation: Operation,
        name: &str,
    ) -> Result<T, IoError> {
        loop {
            let given = Interest::Notice(&self.notice, self.notice.look());
            let found = self.found.lock().take();
            if let Some(found) = found {
                return Ok(found);
            }
            if wait.is_non_blocking() {
                return Err(IoError::WouldBlock);
            }
            match canny_sched::wait(&[given], wait.deadline(), wait.interrupt()) {
                Wake::Ready(_) => {}
                Wake::TimedOut => return Err(IoError::timed_out(operation, name)),
                Wake::Interrupted => return Err(IoError::Interrupted),
                Wake::Parked => return Err(IoError::parked(operation, name)),
            }
        }
    }
}
