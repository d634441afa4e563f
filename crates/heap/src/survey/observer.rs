//! Somebody who looks at the heap at the end of collections, while the world stands still.

use super::Standstill;
use crate::heap::{Heap, HeapState};

/// How a collection ended.
#[derive(Clone, Copy, Debug)]
pub struct Collected {
    /// It was a full one.
    pub is_full: bool,
    /// It found the limit nearly reached: what uses the most memory is going to be notified.
    pub is_near_limit: bool,
    /// Bytes of old objects.
    pub bytes: usize,
}

/// Is told of collections.
pub trait CollectionObserver: Send {
    /// A collection has ended, and nothing runs yet. It must not collect.
    fn collected(&mut self, still: &mut Standstill<'_>, end: Collected);
}

impl Heap {
    /// Tells somebody of all collections from now on, or nobody.
    pub fn set_observer(&self, observer: Option<Box<dyn CollectionObserver>>) {
        self.lock().observer = observer;
    }
}

/// Tells the observer, if there is one.
pub(crate) fn tell(heap: &Heap, state: &mut HeapState, is_full: bool) {
    let Some(mut observer) = state.observer.take() else {
        return;
    };
    let end = Collected {
        is_full,
        is_near_limit: is_full && state.excess_told.is_some(),
        bytes: state.old_bytes,
    };
    observer.collected(&mut Standstill { heap, state }, end);
    state.observer = Some(observer);
}
