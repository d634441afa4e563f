//! The heap limit: refusals, the reserve, and resuming afterwards.

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{checked, length, scrub_stack};
use crate::{Heap, HeapConfig, Mutator};

fn limited(megabytes: usize) -> HeapConfig {
    HeapConfig {
        limit: Some(megabytes << 20),
        verify: false,
        nursery_bytes: 1 << 20,
        ..checked()
    }
}

#[test]
fn huge_requests_are_refused() {
    let heap = Heap::new(limited(64)).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for length in [1 << 24, 1_000_000_000_000, usize::MAX / 8, usize::MAX] {
        assert!(
            mutator
                .object(Kind::Vector, 0, length, Value::FALSE)
                .is_err()
        );
        assert!(mutator.leaf(Kind::String32, 0, length).is_err());
        assert!(mutator.code(length.max(1 << 27)).is_err());
    }
    assert!(mutator.leaf(Kind::Bytevector, 0, 40 << 20).is_ok());
}

#[inline(never)]
fn fill_with_pairs(mutator: &mut Mutator) -> (i64, bool) {
    let mut list = Value::NIL;
    let mut told = false;
    for n in 0..100_000_000 {
        match mutator.try_pair(Value::fixnum(n), list) {
            Ok(pair) => list = pair,
            Err(refusal) => {
                assert_eq!(length(list), n);
                assert_eq!(refusal.limit_bytes, mutator.heap().limit_bytes());
                return (n, told);
            }
        }
        told |= mutator.take_exhausted();
    }
    panic!("the limit did not hold");
}

#[test]
fn pairs_fill_the_heap_to_its_limit_and_it_recovers() {
    for megabytes in [8, 48] {
        let heap = Heap::new(limited(megabytes)).unwrap();
        let mut mutator = Mutator::attach_plain(&heap);
        for _ in 0..3 {
            let (count, told) = fill_with_pairs(&mut mutator);
            assert!(told, "the excess is reported before pairs are refused");
            assert!(
                count * 16 > (megabytes as i64) << 19,
                "{count} pairs in {megabytes} MB"
            );
            scrub_stack();
            mutator.collect(true);
            assert!(heap.bytes_in_use() < megabytes << 18);
        }
        assert!(heap.statistics().bytes_in_use_max <= (megabytes << 20) + (8 << 20));
    }
}

#[inline(never)]
fn fill_with_vectors(mutator: &mut Mutator, length: usize) -> usize {
    let mut list = Value::NIL;
    for n in 0.. {
        match mutator.object(Kind::Vector, 0, length, Value::ZERO) {
            Ok(vector) => list = mutator.pair(vector, list),
            Err(_) => {
                std::hint::black_box(list);
                return n;
            }
        }
    }
    unreachable!()
}

#[test]
fn vectors_of_all_sizes_meet_the_limit() {
    for length in [10, 1000, 3000, 100_000] {
        let heap = Heap::new(limited(32)).unwrap();
        let mut mutator = Mutator::attach_plain(&heap);
        for _ in 0..2 {
            let count = fill_with_vectors(&mut mutator, length);
            let bytes = count * (8 * length + 8);
            // Small ones have a reserve beyond the limit, a sixteenth of it.
            let most = if length > 2000 { 32 << 20 } else { 35 << 20 };
            assert!(bytes > 12 << 20 && bytes <= most, "{count} of {length}");
            scrub_stack();
            mutator.collect(true);
            assert!(heap.bytes_in_use() < 8 << 20, "{length}");
        }
    }
}

#[test]
fn churn_below_the_limit_is_never_refused() {
    let heap = Heap::new(limited(32)).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let mut kept = Value::NIL;
    for n in 0..400_000 {
        kept = mutator.pair(Value::fixnum(n), kept);
    }
    for _ in 0..200 {
        for _ in 0..10 {
            mutator.leaf(Kind::Bytevector, 0, 100_000).unwrap();
            mutator.object(Kind::Vector, 0, 5000, Value::NIL).unwrap();
        }
        for n in 0..10_000 {
            mutator.try_pair(Value::fixnum(n), Value::NIL).unwrap();
        }
    }
    assert_eq!(length(kept), 400_000);
    assert!(!mutator.take_exhausted());
}

/// A program that ignores for a while that the heap is full. In a frame of its own, so that no stack
/// word keeps the list.
#[inline(never)]
fn fill_beyond_the_limit(heap: &Heap, mutator: &mut Mutator) {
    let mut list = Value::NIL;
    let mut told = false;
    let mut after = 0;
    while after < 20_000 {
        let data = mutator.small_leaf(Kind::Bytevector, 0, 40);
        let holder = mutator.small_object(Kind::Box, 0, 1, data);
        list = mutator.pair(holder, list);
        told |= mutator.take_exhausted();
        after += usize::from(told);
    }
    assert!(heap.bytes_in_use() > 8 << 20);
    assert!(mutator.object(Kind::Vector, 0, 5000, Value::NIL).is_err());
    assert!(length(list) > 20_000);
}

#[test]
fn small_objects_are_never_refused() {
    let heap = Heap::new(limited(8)).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    fill_beyond_the_limit(&heap, &mut mutator);
    scrub_stack();
    mutator.collect(true);
    assert!(mutator.object(Kind::Vector, 0, 5000, Value::NIL).is_ok());
}
