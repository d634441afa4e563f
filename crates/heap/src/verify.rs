//! Checking the whole heap, before and after a collection (`HeapConfig::verify`).
//!
//! Every reference in an object, handle or registration names the start of an object of the right
//! sort; before a collection every old object that refers to a young one lies under a dirty card;
//! after one nothing is young. A broken invariant aborts the process with a report: a program cannot
//! continue with a heap that is not one.

use std::collections::HashMap;

use canny_tables::layout::{CARD_SHIFT, TAG_MASK, TAG_PAIR};

use crate::block::{Block, state};
use crate::heap::{Heap, HeapState};
use crate::shape;
use crate::traversal;

/// When the heap is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

/// Aborts unless the heap is well-formed. Areas are closed.
pub(crate) fn verify(heap: &Heap, heap_state: &HeapState, moment: Moment) {
    let mut starts: HashMap<usize, bool> = HashMap::new();
    traversal::for_each_object(&heap.space, heap_state, |address, _, _| {
        // SAFETY: an object starts here.
        starts.insert(address, unsafe { shape::has_header(address) });
    });
    let check = |word: u64, holder: &dyn Fn() -> String| {
        if !shape::is_reference(word) {
            return;
        }
        let header = starts.get(&shape::address_of(word)).copied();
        if header != Some(word & TAG_MASK != TAG_PAIR) {
            report_dangling(heap, moment, word, &holder());
        }
    };
    traversal::for_each_object(&heap.space, heap_state, |address, content, bytes| {
        let block_state = heap.space.state(heap.space.block_of(address));
        let old = block_state & state::YOUNG == 0;
        traversal::for_each_slot(address, content, bytes, |slot| {
            // SAFETY: a tagged word of an object.
            let word = unsafe { shape::read(slot) };
            check(word, &|| {
                // SAFETY: an object starts here.
                let first = unsafe { shape::read(address) };
                format!("slot {slot:#x} of {address:#x} ({first:#x}, block {block_state:#x})")
            });
            if old && shape::is_reference(word) && is_young(heap, word) {
                // Special and code blocks are visited as a whole when any card of theirs is dirty.
                let covered = match content {
                    state::SCANNABLE => is_dirty(heap, slot),
                    _ => (address..address + bytes)
                        .step_by(1 << CARD_SHIFT)
                        .chain([slot])
                        .any(|at| is_dirty(heap, at)),
                };
                if !covered {
                    eprintln!("canny-heap: old slot {slot:#x} holds young {word:#x}, card clean");
                    std::process::abort();
                }
            }
        });
    });
    for word in heap_state.finalization.words() {
        check(word, &|| "a registration".into());
    }
    heap.handles
        .for_each_slot(|slot| check(slot.bits(), &|| "a handle".into()));
    if moment == Moment::After {
        for number in 0..heap_state.pool.frontier() {
            let block_state = heap.space.state(Block(number));
            if block_state & (state::YOUNG | state::CONDEMNED | state::PINNED) != 0 {
                eprintln!("canny-heap: block {number} has state {block_state:#x} after collection");
                std::process::abort();
            }
        }
    }
}

/// Says what holds a word that names nothing, and aborts.
fn report_dangling(heap: &Heap, moment: Moment, word: u64, holder: &str) -> ! {
    eprintln!("canny-heap: {moment:?} collection: {holder} holds {word:#x}, which names nothing");
    let address = shape::address_of(word);
    if heap.space.contains(address) {
        let block = heap.space.block_of(address);
        eprintln!(
            "its block has state {:#x}, {:?}",
            heap.space.state(block),
            heap.space.info(block)
        );
    }
    std::process::abort();
}

fn is_young(heap: &Heap, word: u64) -> bool {
    let block = heap.space.block_of(shape::address_of(word));
    heap.space.state(block) & state::YOUNG != 0
}

fn is_dirty(heap: &Heap, address: usize) -> bool {
    let card = heap
        .space
        .biased_cards()
        .wrapping_add(address >> CARD_SHIFT) as *const u8;
    // SAFETY: the card of an address in the heap.
    unsafe { *card != 0 }
}
