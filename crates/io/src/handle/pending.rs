//! Waits for several handles at once, by a caller that has tried operations which would block.

use std::sync::Arc;
use std::time::Duration;

use canny_sched::{Interest, Seen};

use super::{Backend, DEVICE_SLICE, Handle, Source};
use crate::error::Operation;

/// The things that an operation on a handle waits for if it would block. It is taken before the
/// operation is tried, so that no change is missed.
pub struct Pending {
    handle: Arc<Handle>,
    seen: Seen,
    source: Option<Source>,
    is_device: bool,
}

impl Handle {
    /// The things that reading or writing waits for.
    pub fn pending(self: &Arc<Handle>, operation: Operation) -> Pending {
        let seen = self.changed.look();
        let backend = self.lock();
        Pending {
            handle: Arc::clone(self),
            seen,
            source: backend.awaited(operation),
            is_device: matches!(&*backend, Backend::Device(_)),
        }
    }
}

impl Pending {
    /// The events after which the operation may be tried again.
    pub fn interests(&self) -> impl Iterator<Item = Interest<'_>> {
        let source = self.source.as_ref().map(Source::interest);
        let changed = Interest::Notice(&self.handle.changed, self.seen);
        source.into_iter().chain([changed])
    }

    /// After how long it may be tried again without such an event.
    pub fn slice(&self) -> Option<Duration> {
        (self.is_device && self.source.is_none()).then_some(DEVICE_SLICE)
    }

    /// Whether the operation would not block, if the system can tell; nothing if only a try can.
    pub fn is_ready(&self) -> Option<bool> {
        match &self.source {
            Some(source @ Source::Descriptor(..)) if !self.is_device => {
                Some(canny_sched::is_ready(source.interest()))
            }
            // A device may have bytes of its own.
            _ => None,
        }
    }
}
