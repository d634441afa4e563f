//! The census of full collections.

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{checked, list};
use crate::{Heap, HeapConfig, Mutator, PAUSE_BOUNDS_NS};

#[test]
fn a_census_counts_what_lives() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let kept = list(&mut mutator, 1000);
    let _handle = mutator.handle(kept);
    let large = mutator
        .object(Kind::Vector, 0, 10_000, Value::FALSE)
        .unwrap();
    let _other = mutator.handle(large);
    mutator.collect(true);
    assert!(heap.census().is_none(), "nobody had asked before");
    mutator.collect(false);
    assert!(
        heap.census().is_none(),
        "the old generation was not looked at"
    );
    mutator.collect(true);
    let census = heap.census().unwrap();
    assert!(census.is_exact);
    let rows = census.rows();
    let row = |name: &str| rows.iter().find(|row| row.name == name).copied();
    let pairs = row("pair").unwrap();
    assert!((1000..1100).contains(&pairs.objects), "{pairs:?}");
    assert_eq!(pairs.bytes, 16 * pairs.objects);
    let vectors = row("vector").unwrap();
    assert_eq!(vectors.objects, 1);
    assert!(vectors.bytes >= 80_000, "{vectors:?}");
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.bytes)));
}

#[test]
fn a_census_of_a_large_heap_is_an_estimate() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let kept = list(&mut mutator, 2_000_000);
    let _handle = mutator.handle(kept);
    heap.census();
    mutator.collect(true);
    let census = heap.census().unwrap();
    assert!(!census.is_exact);
    let pairs = census.rows()[0];
    assert_eq!(pairs.name, "pair");
    assert!((1_900_000..2_100_000).contains(&pairs.objects), "{pairs:?}");
}

#[test]
fn every_collection_has_a_length() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for is_full in [true, false, false] {
        mutator.collect(is_full);
    }
    let statistics = heap.statistics();
    let count = |counts: &[u64]| counts.iter().sum::<u64>();
    assert_eq!(
        count(&statistics.full_pauses.counts),
        statistics.full_collections
    );
    let young = statistics.collections - statistics.full_collections;
    assert_eq!(count(&statistics.young_pauses.counts), young);
    let total_ns = statistics.full_pauses.total_ns + statistics.young_pauses.total_ns;
    assert_eq!(total_ns, statistics.pause_wall_ns_total);
    assert!(PAUSE_BOUNDS_NS.is_sorted());
}
