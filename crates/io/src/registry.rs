//! The registry of open outputs, so that nothing written is lost however the process ends.
//!
//! An output that is shared is registered by that, weakly: dropping its last reference flushes and
//! forgets it. Whoever ends the process calls [`flush_all`] first.

use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use crate::error::IoError;
use crate::port::{BinaryOutput, TextOutput};
use crate::wait::Wait;

/// How long [`flush_all`] waits for an output that another thread is just using.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// What can hold back bytes.
trait Output: Send {
    /// Writes out what is pending, if the output is open.
    fn write_pending(&mut self, wait: Wait<'_>) -> Result<(), IoError>;
}

impl Output for TextOutput {
    fn write_pending(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        if self.is_open() && self.pending() > 0 {
            self.flush(wait)
        } else {
            Ok(())
        }
    }
}

impl Output for BinaryOutput {
    fn write_pending(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        if self.is_open() && self.pending() > 0 {
            self.flush(wait)
        } else {
            Ok(())
        }
    }
}

struct Registry {
    outputs: Vec<Weak<Mutex<dyn Output>>>,
    /// Dead entries are removed when there are this many entries.
    sweep_at: usize,
}

static OPEN_OUTPUTS: Mutex<Registry> = Mutex::new(Registry {
    outputs: Vec::new(),
    sweep_at: 64,
});

impl TextOutput {
    /// Makes the port shareable and registers it for [`flush_all`].
    pub fn share(self) -> Arc<Mutex<TextOutput>> {
        let has_handle = self.handle().is_some();
        let shared = Arc::new(Mutex::new(self));
        if has_handle {
            let output: Arc<Mutex<dyn Output>> = shared.clone();
            register(&output);
        }
        shared
    }
}

impl BinaryOutput {
    /// Makes the port shareable and registers it for [`flush_all`].
    pub fn share(self) -> Arc<Mutex<BinaryOutput>> {
        let has_handle = self.handle().is_some();
        let shared = Arc::new(Mutex::new(self));
        if has_handle {
            let output: Arc<Mutex<dyn Output>> = shared.clone();
            register(&output);
        }
        shared
    }
}

fn register(output: &Arc<Mutex<dyn Output>>) {
    let mut registry = OPEN_OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    if registry.outputs.len() >= registry.sweep_at {
        registry.outputs.retain(|output| output.strong_count() > 0);
        registry.sweep_at = 64.max(2 * registry.outputs.len());
    }
    registry.outputs.push(Arc::downgrade(output));
}

/// Flushes every shared output that is still open, in the order in which they were shared, and returns
/// what went wrong. An output whose lock another thread does not give up is reported as `WouldBlock`.
/// The caller must not hold the lock of an output.
pub fn flush_all(wait: Wait<'_>) -> Vec<IoError> {
    let outputs: Vec<Arc<Mutex<dyn Output>>> = {
        let registry = OPEN_OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner);
        registry.outputs.iter().filter_map(Weak::upgrade).collect()
    };
    let mut errors = Vec::new();
    for output in outputs {
        if let Err(error) = flush_shared(&*output, wait) {
            errors.push(error);
        }
    }
    errors
}

fn flush_shared(output: &Mutex<dyn Output>, wait: Wait<'_>) -> Result<(), IoError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match output.try_lock() {
            Ok(mut output) => return output.write_pending(wait),
            Err(TryLockError::Poisoned(poisoned)) => {
                return poisoned.into_inner().write_pending(wait);
            }
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(IoError::WouldBlock);
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
