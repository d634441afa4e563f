//! Ending what a connection runs, from any thread.
//!
//! | field | written by | under |
//! |---|---|---|
//! | `running` | the connection, when it begins and ends a statement | the lock |
//! | `handle` | the connection, when it is made and before it is closed | the lock |
//!
//! Interrupts are made under the lock too: a statement of somebody else cannot begin meanwhile.

use std::sync::Arc;

use canny_locks::{Mutex, MutexGuard};

use crate::raw::InterruptHandle;

#[derive(Debug)]
struct State {
    handle: Option<InterruptHandle>,
    running: Option<u64>,
}

/// Ends what a connection runs.
#[derive(Clone, Debug)]
pub struct Interrupter(Arc<Mutex<State>>);

impl Interrupter {
    pub(crate) fn new(handle: InterruptHandle) -> Interrupter {
        let handle = Some(handle);
        Interrupter(Arc::new(Mutex::new(State {
            handle,
            running: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub(crate) fn begin(&self, token: u64) {
        self.lock().running = Some(token);
    }

    pub(crate) fn end(&self) {
        self.lock().running = None;
    }

    /// The connection is about to be closed.
    pub(crate) fn disconnect(&self) {
        self.lock().handle = None;
    }

    /// Ends what the connection runs, if that was begun with this token; with `None` whatever it is.
    /// Whether there was something.
    pub fn interrupt(&self, token: Option<u64>) -> bool {
        let state = self.lock();
        let is_meant = match (state.running, token) {
            (Some(running), Some(token)) => running == token,
            (running, None) => running.is_some(),
            (None, _) => false,
        };
        if let Some(handle) = state.handle.as_ref().filter(|_| is_meant) {
            handle.interrupt();
        }
        is_meant
    }
}
