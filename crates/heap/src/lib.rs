//! Allocation, collection, barriers and safepoints.
//!
//! A generational, stop-the-world, mostly-copying collector. Mutators bump-allocate in 32 KB blocks of
//! a nursery; a minor collection moves what is reachable to the old generation at once and frees the
//! rest; a full collection copies a small old generation and marks a large one in place.
//!
//! Rules for a host:
//!
//! - **Roots.** References in native stacks and registers are found conservatively and *pin* their
//!   objects, so a [`Value`](canny_value::Value) in a local variable survives any allocation.
//!   References anywhere else outside the heap (a `Vec`, a struct on the Rust heap, the VM stack) must
//!   be shown through [`Roots`] or held by a [`Handle`].
//! - **Barrier.** Every store of a reference into an object sets the card *of the slot*:
//!   `cards[slot >> CARD_SHIFT] = 1` with the biased base in [`AllocationArea::cards`]. Initializing
//!   stores into an object that was just allocated, before the next allocation, need none.
//! - **Generated code** allocates by `next = cursor + size; if next > limit → slow path; cursor = next`
//!   (the cursor is stored only when the room is there), then writes header and all fields before
//!   anything else can happen. Sizes are multiples of 16 and at most half a block; an odd word of
//!   padding of a scannable object must not look like a reference.
//! - **Safepoints.** A running mutator comes to one when it allocates or calls
//!   [`Mutator::safepoint`]; blocking code is wrapped in [`Mutator::enter_native`].
//!
//! Decided by measurement (`examples/gc_bench.rs`):
//!
//! - *No aging.* Survivors of one collection are promoted. Of programs that make short-lived data a
//!   16 MB nursery promotes 2 % or less, which is all that an aging step could save; of programs whose
//!   data lives longer than a nursery it would copy everything twice.
//! - *In place above 64 MB*, which includes every full collection that growth sets off by default:
//!   marking in place took at most the time of copying on all workloads and halves the peak. Smaller
//!   heaps are copied (when a program asks for a full collection), which compacts them; blocks that an
//!   in-place collection found nearly empty are evacuated by the next one.
//! - *Batched commits, no huge pages.* Page faults were the greater half of the time of promoting
//!   programs; one system call for up to 2 MB removes them. Huge pages made pauses up to four times
//!   longer, since clearing one is a pause of its own.
//!
//! The crate knows headers, kinds and which words are references. It knows nothing of Scheme, frames
//! or symbols.

mod account;
mod accounts;
mod area;
mod block;
mod block_pool;
mod bulk;
mod census;
mod code_space;
mod collector;
mod config;
mod exchange;
mod guardian;
mod handles;
mod heap;
mod identity;
mod line;
mod listing;
mod mutator;
mod mutator_entry;
mod native_stack;
mod notices;
mod nursery;
mod pin;
mod raw;
mod reservation;
mod roots;
mod sampling;
mod shape;
mod statistics;
mod survey;
mod sweep;
#[cfg(test)]
mod tests;
mod tracer;
mod tracking;
mod traversal;
mod verify;

pub use account::Account;
pub use census::{Census, CensusRow};
pub use config::{HeapConfig, OutsideMemory};
pub use handles::{Handle, HandleTable};
pub use heap::{Collected, CollectionObserver, Heap, HeapExhausted, Standstill};
pub use identity::Origins;
pub use listing::{RootEdge, RootLabel, RootListing, RootNode};
pub use mutator::{LiveObject, Mutator, NativeRegion};
pub use mutator_entry::{PollingMutator, SafepointRequest};
pub use nursery::AllocationArea;
pub use roots::{DependentVisitor, RawReferences, RootVisitor, Roots, WeakRoots, WeakVisitor};
pub use sampling::{AllocationObserver, AllocationSample};
pub use statistics::{PAUSE_BOUNDS_NS, Pause, PauseLengths, Statistics};
pub use survey::{Reached, SurveySink};
pub use tracer::CollectionMode;
pub use tracer::weak::weak_entries;
