//! The heap's record of a mutator: how to find its areas and roots, and how to stop it.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::native_stack::NativeContext;
use crate::nursery::{AllocationArea, LocalAreas};
use crate::roots::Roots;

/// How the heap tells a running mutator to come to a safepoint soon.
pub trait SafepointRequest: Send + Sync {
    /// Makes the mutator call [`Mutator::safepoint`](crate::Mutator::safepoint) soon, for instance
    /// by zeroing its stack limit.
    /// May be called several times and when the mutator is about to stop anyway.
    ///
    /// A mutator that is notified resets the notice *first* and calls `safepoint` then, so that a
    /// notice which comes in between is not lost.
    fn request(&self);

    /// Says whether the heap has other mutators from now on. That there are some is said while this one
    /// stands at a safepoint; that there are none any more may be said at any time.
    fn set_has_others(&self, _has_others: bool) {}
}

/// For mutators that call [`Mutator::safepoint`](crate::Mutator::safepoint) or allocate often enough
/// by themselves.
#[derive(Debug)]
pub struct PollingMutator;

impl SafepointRequest for PollingMutator {
    fn request(&self) {}
}

/// State of a mutator with regard to safepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    AtSafepoint,
    InNative,
}

/// The heap's record of an attached mutator.
pub(crate) struct MutatorEntry {
    pub(crate) id: u64,
    pub(crate) status: Status,
    pub(crate) context: NativeContext,
    pub(crate) area: NonNull<AllocationArea>,
    pub(crate) local: NonNull<LocalAreas>,
    pub(crate) roots: Option<NonNull<dyn Roots>>,
    pub(crate) request: Arc<dyn SafepointRequest>,
}
