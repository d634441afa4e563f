//! The heap as its hosts see it.

use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::{Heap, HeapConfig, Mutator};

fn checked() -> HeapConfig {
    HeapConfig {
        verify: true,
        poison: true,
        nursery_bytes: 256 << 10,
        ..HeapConfig::default()
    }
}

fn list(mutator: &mut Mutator, n: i64) -> Value {
    let mut list = Value::NIL;
    for i in 0..n {
        list = mutator.pair(Value::fixnum(i), list);
    }
    list
}

fn length(mut list: Value) -> i64 {
    let mut n = 0;
    while let Some(cdr) = list.cdr() {
        n += 1;
        list = cdr;
    }
    n
}

#[test]
fn lists_survive_collections() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let kept = list(&mut mutator, 100_000);
    let handle = mutator.handle(kept);
    for _ in 0..20 {
        list(&mut mutator, 10_000);
    }
    mutator.collect(true);
    assert_eq!(length(handle.get()), 100_000);
    assert_eq!(length(kept), 100_000);
    let statistics = heap.statistics();
    assert!(statistics.collections > 3 && statistics.full_collections == 1);
}

#[test]
fn huge_requests_are_refused() {
    let heap = Heap::new(HeapConfig {
        limit: Some(64 << 20),
        ..checked()
    })
    .unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for length in [1 << 24, 1_000_000_000_000, usize::MAX / 8, usize::MAX] {
        assert!(
            mutator
                .object(Kind::Vector, 0, length, Value::FALSE)
                .is_err()
        );
        assert!(mutator.leaf(Kind::String32, 0, length).is_err());
    }
}
