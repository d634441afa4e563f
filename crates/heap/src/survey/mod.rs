//! A survey of everything that is alive, for heap snapshots.
//!
//! A survey is made while the world stands still, in this process or in a child that was forked
//! meanwhile. It changes no object. First it marks what the roots reach ([`reach`]), in bits of its own.
//! Then it goes through the graph depth first and tells a [`SurveySink`] of nodes and edges ([`walk`]).
//! Numbers of nodes are found by rank: the number of marked granules below an object, counted by words
//! of bits, indexes a table with four bytes for each object. So a survey needs a tenth of the heap,
//! beside its stack.
//!
//! Roots come as a forest of nodes with labels ([`RootListing`]), which their owners fill.

mod reach;
mod slots;
mod walk;

use crate::block::BLOCK_BYTES;
use crate::collector;
use crate::heap::Standstill;
use crate::identity::{self, Origins};
use crate::listing::{RootLabel, RootListing};
use crate::mutator::Mutator;
use crate::pin::Candidates;

pub use self::reach::Reached;
pub use self::walk::SurveySink;

impl Standstill<'_> {
    /// Collects everything.
    pub fn collect(&mut self) {
        collector::collect(self.heap, self.state, true);
    }

    /// Bytes of the blocks in use.
    pub fn bytes_in_use(&self) -> usize {
        self.state.pool.used() * BLOCK_BYTES
    }

    /// Bytes outside of the heap that count toward its limit.
    pub fn bytes_outside(&self) -> usize {
        let outside = self.heap.config.outside;
        outside.map_or(0, |outside| (outside.held_bytes)())
    }

    /// The addresses of externals, with the ids that they were registered with. Some may be dead.
    pub fn externals(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.state.finalization.externals.addresses()
    }

    /// The addresses of sampled objects, with their numbers. Some may be dead.
    pub fn samples(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.state.finalization.samples.addresses()
    }

    /// The lowest address of an object.
    pub fn base(&self) -> usize {
        self.heap.space.base()
    }

    /// Shows every object, dead ones that were not reclaimed included: right after a full collection there
    /// are none.
    pub fn each_object(&mut self, mut visit: impl FnMut(&crate::LiveObject)) {
        collector::close_areas(self.heap, self.state);
        let space = &self.heap.space;
        crate::traversal::for_each_object(space, self.state, |address, content, _| {
            visit(&crate::LiveObject::at(address, content));
        });
    }

    /// Where objects came from since tracking began; none if nothing is tracked, or too much happened.
    pub fn origins(&self) -> Option<Origins> {
        identity::origins(self.heap, self.state)
    }

    /// Begins to track where the objects that are there now go, until the next call.
    pub fn track(&mut self) {
        collector::close_areas(self.heap, self.state);
        identity::begin(self.heap, self.state);
    }

    /// Ends tracking.
    pub fn end_tracking(&mut self) {
        identity::end(self.heap, self.state);
    }

    /// Asks all owners of roots what they hold.
    pub fn list_roots(&mut self) -> RootListing {
        let mut listing = RootListing::default();
        for entry in &mut self.state.mutators {
            if let Some(roots) = &mut entry.roots {
                // SAFETY: the mutator is stopped, and its roots outlive its entry.
                unsafe { roots.as_mut().list_roots(&mut listing) };
            }
        }
        for roots in &mut self.state.global_roots {
            // SAFETY: every mutator is stopped.
            unsafe { roots.list_roots(&mut listing) };
        }
        for roots in &mut self.state.weak_roots {
            // SAFETY: as above.
            unsafe { roots.list_dependents(&mut listing) };
        }
        let handles = listing.group(RootLabel::of_family("handles"));
        self.heap
            .handles
            .for_each_slot(|slot| listing.add(handles, *slot));
        let guarded = listing.group(RootLabel::of_family("guardians"));
        for (object, guardian) in self.state.finalization.guarded() {
            listing.add_dependent(guarded, guardian, object);
        }
        listing
    }

    /// Finds out what the roots reach, and what native stacks seem to refer to. Blocks that are being
    /// filled are closed for it.
    pub fn reach(&mut self, mut listing: RootListing) -> Reached<'_> {
        collector::close_areas(self.heap, self.state);
        let space = &self.heap.space;
        let mut candidates = Candidates::default();
        for entry in &self.state.mutators {
            candidates.gather_all(space, &entry.context);
        }
        candidates.prepare(space);
        let native = listing.group(RootLabel::of_family("native stacks"));
        candidates.each_object(space, |_, at, _| {
            // SAFETY: an object starts here, and nothing has been evacuated.
            let word = unsafe { crate::shape::reference_to(at) };
            listing.leftovers.push((native, word));
        });
        Reached::new(space, self.state.pool.frontier(), listing)
    }
}

impl Mutator {
    /// Runs `work` while every other mutator stands still. It must not use the heap's functions but
    /// those of what it is given.
    pub fn stand_still<R>(&mut self, work: impl FnOnce(&mut Standstill<'_>) -> R) -> R {
        let mut work = Some(work);
        loop {
            let result = self.stop_the_world(|heap, state| {
                let work = work.take().expect("the work is done once");
                work(&mut Standstill { heap, state })
            });
            if let Some(result) = result {
                return result;
            }
        }
    }
}
