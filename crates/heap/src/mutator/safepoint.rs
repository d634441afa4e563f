//! Stopping and resuming the world.
//!
//! | status | meaning | changed by |
//! |---|---|---|
//! | `Running` | may touch the heap | the thread itself (attach, leave a native region), the resumer |
//! | `AtSafepoint` | waits for the end of a collection | the thread itself |
//! | `InNative` | does not touch the heap; needs no notice to be stopped | the thread itself |
//!
//! All of it is guarded by the heap's lock. The collecting mutator counts as `AtSafepoint`. When the
//! collection ends the *resumer* sets every `AtSafepoint` mutator to `Running` before it lets go of
//! the lock, so a second collection cannot start before the woken threads have stopped again.

use std::sync::atomic::Ordering;

use canny_value::Value;

use super::Mutator;
use crate::heap::{Heap, HeapState};
use crate::mutator_entry::Status;

impl Mutator {
    /// Stops here if another thread wants to collect, and makes a collection that this one owes. Cheap
    /// otherwise.
    #[inline]
    pub fn safepoint(&mut self) {
        if self.heap().stop_requested.load(Ordering::Relaxed) {
            self.park();
        }
        if self.owes_collection() {
            self.collect_due();
        }
    }

    #[cold]
    fn park(&mut self) {
        self.show_samples();
        let heap = self.heap().clone();
        let mut state = heap.lock();
        if !state.stopping {
            return;
        }
        state.entry(self.id()).context.record();
        state.stop(self.id(), Status::AtSafepoint, &heap);
        while state.entry(self.id()).status != Status::Running {
            state = heap.wait(&heap.resumed, state);
        }
    }

    /// Stops every other mutator, runs `work` and resumes them. `None`, after waiting, when another
    /// thread came first.
    #[inline(never)]
    pub(crate) fn stop_the_world<R>(
        &mut self,
        work: impl FnOnce(&Heap, &mut HeapState) -> R,
    ) -> Option<R> {
        self.show_samples();
        let heap = self.heap().clone();
        let mut state = heap.lock();
        if state.stopping {
            drop(state);
            self.park();
            return None;
        }
        state.stopping = true;
        heap.stop_requested.store(true, Ordering::Relaxed);
        let id = self.id();
        for entry in &state.mutators {
            if entry.id != id && entry.status == Status::Running {
                entry.request.request();
            }
        }
        state.entry(id).context.record();
        state.stop(id, Status::AtSafepoint, &heap);
        while state.running > 0 {
            state = heap.wait(&heap.stopped, state);
        }
        let result = work(&heap, &mut state);
        state.resume_all();
        heap.stop_requested.store(false, Ordering::Relaxed);
        heap.resumed.notify_all();
        Some(result)
    }

    /// Tells all mutators that they are not alone, if this one is not.
    pub(crate) fn meet_others(&mut self) {
        let heap = self.heap().clone();
        let has_others = heap.lock().mutators.len() > 1;
        let tell = |_: &Heap, state: &mut HeapState| {
            for entry in &state.mutators {
                entry.request.set_has_others(true);
            }
        };
        if has_others {
            while self.stop_the_world(tell).is_none() {}
        }
    }

    /// Waits until every other mutator has come to a safepoint, or is in a native region. Each
    /// stretch of their work between two safepoints is by then either done or not yet begun.
    /// Collections may come first.
    pub fn meet_at_safepoints(&mut self) {
        while self.stop_the_world(|_, _| ()).is_none() {}
    }

    /// Runs `work`, which must not use the heap's functions, while every other mutator is stopped;
    /// `None`, and nothing was done, if another thread stopped this one first.
    pub fn try_alone<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        self.stop_the_world(|_, _| work())
    }

    /// Stores a word that is no reference in a payload word of an object while every other mutator is
    /// stopped.
    ///
    /// # Panics
    /// If the index is out of range or the value is a reference.
    pub fn store_while_alone(&mut self, object: Value, index: usize, value: Value) {
        assert!(!value.is_reference());
        let object = object.as_object().expect("a store goes into an object");
        assert!(index * 8 + 8 <= object.header().payload_bytes());
        // SAFETY: a word of a live object, which this frame holds: it does not move. No reference is
        // stored, so that no barrier is needed.
        let store = || unsafe { crate::shape::write(object.slot_address(index), value.bits()) };
        while self.stop_the_world(|_, _| store()).is_none() {}
    }

    /// Enters a region in which this thread does not touch the heap, so that collections need not
    /// wait for it: blocking system calls, long computations on host data. References in frames that
    /// are already on the stack stay valid (their objects are pinned). Leaves when the guard drops,
    /// which waits for a collection in progress.
    pub fn enter_native(&mut self) -> NativeRegion<'_> {
        self.show_samples();
        let heap = self.heap().clone();
        let mut state = heap.lock();
        let id = self.id();
        state.entry(id).context.record();
        state.stop(id, Status::InNative, &heap);
        NativeRegion { mutator: self }
    }

    fn leave_native(&mut self) {
        let heap = self.heap().clone();
        let mut state = heap.lock();
        while state.stopping {
            state = heap.wait(&heap.resumed, state);
        }
        state.running += 1;
        state.entry(self.id()).status = Status::Running;
    }
}

/// A blocking region; see [`Mutator::enter_native`].
pub struct NativeRegion<'m> {
    mutator: &'m mut Mutator,
}

impl NativeRegion<'_> {
    /// Does something as a running mutator in the middle of the region, and continues in it. `work`
    /// must neither allocate nor come to a safepoint, and the frames between here and the entry have no
    /// references to objects: the frames and registers that were recorded at the entry are those that
    /// are looked at later.
    pub fn interrupted<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.mutator.leave_native();
        let result = work();
        let heap = self.mutator.heap().clone();
        let id = self.mutator.id();
        heap.lock().stop(id, Status::InNative, &heap);
        result
    }
}

impl Drop for NativeRegion<'_> {
    fn drop(&mut self) {
        self.mutator.leave_native();
    }
}
