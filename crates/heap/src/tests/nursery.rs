//! The sizes of nurseries, and the memory that freed large objects leave behind.

use canny_tables::kinds::Kind;

use super::{list, scrub_stack};
use crate::{Heap, HeapConfig, Mutator};

const BLOCK_BYTES: usize = crate::block::BLOCK_BYTES;

fn nursery_bytes(heap: &Heap) -> usize {
    heap.lock().nursery_budget * BLOCK_BYTES
}

#[test]
fn a_nursery_grows_while_what_is_in_it_survives_and_shrinks_when_it_dies() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let least = nursery_bytes(&heap);
    let most = HeapConfig::default().nursery_bytes;
    assert!(least < most);
    let mut kept = Vec::new();
    for _ in 0..40 {
        let list = list(&mut mutator, 100_000);
        kept.push(mutator.handle(list));
    }
    assert_eq!(nursery_bytes(&heap), most);
    kept.clear();
    scrub_stack();
    mutator.collect(true);
    for _ in 0..20_000 {
        list(&mut mutator, 1000);
    }
    assert_eq!(nursery_bytes(&heap), least);
}

#[test]
fn a_nursery_is_no_less_than_a_part_of_the_old_objects() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let least = nursery_bytes(&heap);
    let list_kept = list(&mut mutator, 1_000_000);
    let _kept = mutator.handle(list_kept);
    for _ in 0..40 {
        mutator.collect(false);
    }
    let settled = nursery_bytes(&heap);
    assert!(settled > least && settled >= heap.statistics().bytes_live / 8 - BLOCK_BYTES);
}

#[test]
fn blocks_of_what_native_frames_held_once_do_not_pile_up() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for _ in 0..500 {
        let held = list(&mut mutator, 10);
        list(&mut mutator, 10_000);
        mutator.collect(false);
        std::hint::black_box(held);
    }
    assert!(heap.bytes_in_use() < 100 * BLOCK_BYTES);
    assert!(heap.statistics().full_collections > 0);
}

#[inline(never)]
fn make_and_drop(mutator: &mut Mutator, length: usize) {
    let bytes = mutator.leaf(Kind::Bytevector, 0, length).unwrap();
    let start = (bytes.address() + 8) as *mut u8;
    // SAFETY: the payload of a live object of so many bytes.
    unsafe { start.write_bytes(0xff, length) };
}

#[test]
fn a_large_object_takes_the_memory_of_one_that_died_and_reads_as_zero() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let length = 40 * BLOCK_BYTES;
    for _ in 0..4 {
        make_and_drop(&mut mutator, length);
    }
    scrub_stack();
    mutator.collect(true);
    let warm = heap.lock().pool.warm();
    assert!(warm > 41);
    let again = mutator.leaf(Kind::Bytevector, 0, length).unwrap();
    assert_eq!(heap.lock().pool.warm(), warm - 41);
    let start = again.address() + 8;
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn memory_of_large_objects_is_given_back_in_time() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for _ in 0..20 {
        mutator
            .leaf(Kind::Bytevector, 0, 100 * BLOCK_BYTES)
            .unwrap();
    }
    scrub_stack();
    mutator.collect(true);
    let warm = heap.lock().pool.warm();
    assert!(warm > 0);
    for _ in 0..200 {
        mutator.collect(false);
    }
    assert!(heap.lock().pool.warm() < warm / 4);
}
