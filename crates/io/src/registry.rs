//! The registry of open outputs, so that nothing written is lost however the process ends.
//!
//! An output that is shared is registered by that, weakly: dropping its last reference flushes and
//! forgets it. The code that ends the process calls [`finish_all`] first, which also closes outputs
//! whose data only that completes, such as compressed ones.
//!
//! Files, pipes and terminals are waited for as long as it takes. The other side of a connection may be
//! anybody, or this very process, and take nothing for ever: connections are not waited for, or for a
//! short time when the process ends.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use canny_locks::Mutex;

use crate::error::IoError;
use crate::handle::Handle;
use crate::lending::{Lender, SharedPort};
use crate::port::{BinaryOutput, TextOutput};
use crate::wait::Wait;

/// How long [`flush_all`] waits for an output that another thread is just using.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// How long [`finish_all`] waits for all connections together.
const CONNECTION_PATIENCE: Duration = Duration::from_secs(5);

/// Objects that can hold back bytes.
trait Output: Send {
    /// Writes out what is pending, if the output is open.
    fn write_pending(&mut self, patience: Patience<'_>) -> Result<(), IoError>;

    /// Closes the output, if it is open and its data are complete only then.
    fn complete(&mut self, patience: Patience<'_>) -> Result<(), IoError>;
}

/// How long outputs are waited for, and until when those that are connections; `None` if not at all.
#[derive(Clone, Copy)]
struct Patience<'a> {
    wait: Wait<'a>,
    connections_until: Option<Instant>,
}

impl<'a> Patience<'a> {
    fn with(self, handle: Option<&Arc<Handle>>) -> Wait<'a> {
        match (handle, self.connections_until) {
            (Some(handle), Some(until)) if handle.is_connection() => self.wait.with_deadline(until),
            (Some(handle), None) if handle.is_connection() => Wait::NonBlocking,
            _ => self.wait,
        }
    }
}

impl Output for TextOutput {
    fn write_pending(&mut self, patience: Patience<'_>) -> Result<(), IoError> {
        if self.is_open() && self.pending() > 0 {
            self.flush(patience.with(self.handle()))
        } else {
            Ok(())
        }
    }

    fn complete(&mut self, patience: Patience<'_>) -> Result<(), IoError> {
        let completes = |handle: &Arc<Handle>| handle.completes_when_closed();
        if self.is_open() && self.handle().is_some_and(completes) {
            self.close(patience.with(self.handle()))
        } else {
            Ok(())
        }
    }
}

impl Output for BinaryOutput {
    fn write_pending(&mut self, patience: Patience<'_>) -> Result<(), IoError> {
        if self.is_open() && self.pending() > 0 {
            self.flush(patience.with(self.handle()))
        } else {
            Ok(())
        }
    }

    fn complete(&mut self, patience: Patience<'_>) -> Result<(), IoError> {
        let completes = |handle: &Arc<Handle>| handle.completes_when_closed();
        if self.is_open() && self.handle().is_some_and(completes) {
            self.close(patience.with(self.handle()))
        } else {
            Ok(())
        }
    }
}

/// A shared output of any kind.
trait SharedOutput: Send + Sync {
    /// Writes out what is pending; `None` if another thread holds the output.
    fn try_write_pending(&self, patience: Patience<'_>) -> Option<Result<(), IoError>>;

    /// Completes the output likewise.
    fn try_complete(&self, patience: Patience<'_>) -> Option<Result<(), IoError>>;
}

impl<P: Output + Lender> SharedOutput for SharedPort<P> {
    fn try_write_pending(&self, patience: Patience<'_>) -> Option<Result<(), IoError>> {
        Some(self.try_lock()?.write_pending(patience))
    }

    fn try_complete(&self, patience: Patience<'_>) -> Option<Result<(), IoError>> {
        Some(self.try_lock()?.complete(patience))
    }
}

struct Registry {
    outputs: Vec<Weak<dyn SharedOutput>>,
    /// Dead entries are removed when there are this many entries.
    sweep_at: usize,
}

static OPEN_OUTPUTS: Mutex<Registry> = Mutex::new(Registry {
    outputs: Vec::new(),
    sweep_at: 64,
});

impl TextOutput {
    /// Makes the port shareable and registers it for [`flush_all`].
    pub fn share(self) -> Arc<SharedPort<TextOutput>> {
        // Bytes for a procedure cannot be written from here.
        let has_handle = self.handle().is_some_and(|handle| !handle.is_served());
        let shared = Arc::new(SharedPort::new(self));
        if has_handle {
            let output: Arc<dyn SharedOutput> = shared.clone();
            register(&output);
        }
        shared
    }
}

impl BinaryOutput {
    /// Makes the port shareable and registers it for [`flush_all`].
    pub fn share(self) -> Arc<SharedPort<BinaryOutput>> {
        // Bytes for a procedure cannot be written from here.
        let has_handle = self.handle().is_some_and(|handle| !handle.is_served());
        let shared = Arc::new(SharedPort::new(self));
        if has_handle {
            let output: Arc<dyn SharedOutput> = shared.clone();
            register(&output);
        }
        shared
    }
}

fn register(output: &Arc<dyn SharedOutput>) {
    let mut registry = OPEN_OUTPUTS.lock();
    if registry.outputs.len() >= registry.sweep_at {
        registry.outputs.retain(|output| output.strong_count() > 0);
        registry.sweep_at = 64.max(2 * registry.outputs.len());
    }
    registry.outputs.push(Arc::downgrade(output));
}

/// Flushes every shared output that is still open, in the order in which they were shared, and returns what
/// went wrong. An output that another thread keeps locked is reported as `WouldBlock`; that a connection has
/// no room is nothing to report, since what it is to send is sent later. The caller must not hold the lock of
/// an output.
pub fn flush_all(wait: Wait<'_>) -> Vec<IoError> {
    let patience = Patience {
        wait,
        connections_until: None,
    };
    let outcomes = open_outputs().into_iter().map(|output| {
        patiently(|| {
            let outcome = output.try_write_pending(patience)?;
            Some(match outcome {
                Err(IoError::WouldBlock) => Ok(()),
                outcome => outcome,
            })
        })
    });
    outcomes.filter_map(Result::err).collect()
}

/// The same when the process ends: closes outputs whose data are complete only then, the last ones first,
/// since they may write to earlier ones. Bytes that a connection has not taken after a short time are lost,
/// and reported.
pub fn finish_all(wait: Wait<'_>) -> Vec<IoError> {
    let patience = Patience {
        wait,
        connections_until: Instant::now().checked_add(CONNECTION_PATIENCE),
    };
    let outputs = open_outputs();
    let completed = outputs
        .iter()
        .rev()
        .map(|output| patiently(|| output.try_complete(patience)));
    let mut errors: Vec<IoError> = completed.filter_map(Result::err).collect();
    let flushed = outputs
        .iter()
        .map(|output| patiently(|| output.try_write_pending(patience)));
    errors.extend(flushed.filter_map(Result::err));
    errors
}

fn open_outputs() -> Vec<Arc<dyn SharedOutput>> {
    let registry = OPEN_OUTPUTS.lock();
    registry.outputs.iter().filter_map(Weak::upgrade).collect()
}

/// Repeats an operation while another thread holds the output, for a time.
fn patiently(mut attempt: impl FnMut() -> Option<Result<(), IoError>>) -> Result<(), IoError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match attempt() {
            Some(outcome) => return outcome,
            None if Instant::now() >= deadline => return Err(IoError::WouldBlock),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
