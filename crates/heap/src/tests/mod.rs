//! The heap as its hosts see it.

mod accounts;
mod census;
mod in_place;
mod limit;
mod model;
mod nursery;
mod raw;
mod roots;
mod sampling;
mod survey;
mod threads;
mod weak;

use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::{Heap, HeapConfig, Mutator};

/// A small nursery, with every check on.
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

/// Overwrites what earlier calls left on the native stack, so that conservative scanning does not
/// find it.
#[inline(never)]
fn scrub_stack() {
    let words = [0u64; 4096];
    std::hint::black_box(&words);
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
    assert!(statistics.bytes_live >= 1_600_000 && statistics.bytes_live < 2_000_000);
    assert!(statistics.bytes_allocated >= 16 * 300_000);
}

#[test]
fn objects_of_all_sizes_keep_their_contents() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let mut handles = Vec::new();
    for round in 0..3 {
        for length in (0..70).chain([500, 2000, 2046, 2047, 2048, 5000, 100_000]) {
            let marker = Value::fixnum((length * 3 + round) as i64);
            let vector = mutator.object(Kind::Vector, 0, length, marker).unwrap();
            let bytes = mutator.leaf(Kind::Bytevector, 0, length).unwrap();
            bytes
                .as_object()
                .unwrap()
                .with_bytes(|b| assert!(b.iter().all(|&byte| byte == 0)));
            for index in 0..length {
                bytes
                    .as_object()
                    .unwrap()
                    .set_byte(index, (index + round) as u8);
            }
            let both = mutator.pair(vector, bytes);
            handles.push((length, round, marker, mutator.handle(both)));
        }
        mutator.collect(round == 1);
    }
    mutator.collect(true);
    for (length, round, marker, handle) in handles {
        let vector = handle.get().car().unwrap().as_kind(Kind::Vector).unwrap();
        assert_eq!(vector.length(), length);
        assert!((0..length).all(|index| vector.field(index) == marker));
        let bytes = handle
            .get()
            .cdr()
            .unwrap()
            .as_kind(Kind::Bytevector)
            .unwrap();
        bytes.with_bytes(|b| {
            assert!(
                b.iter()
                    .enumerate()
                    .all(|(i, &byte)| byte == (i + round) as u8)
            );
        });
    }
}

#[test]
fn old_objects_may_refer_to_young_ones() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let small = mutator.object(Kind::Vector, 0, 300, Value::NIL).unwrap();
    let large = mutator.object(Kind::Vector, 0, 50_000, Value::NIL).unwrap();
    let (small, large) = (mutator.handle(small), mutator.handle(large));
    mutator.collect(true);
    for i in 0..50_000 {
        let pair = mutator.pair(Value::fixnum(i as i64), Value::NIL);
        mutator.store(large.get(), i, pair);
        mutator.store(small.get(), i % 300, pair);
    }
    for i in 0..50_000 {
        let pair = large.get().as_object().unwrap().field(i);
        assert_eq!(pair.car(), Some(Value::fixnum(i as i64)));
    }
}

#[test]
fn code_stays_in_place_and_its_pool_is_traced() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let mut codes = Vec::new();
    for payload in [56, 200, 5000, 40_000, 56, 120] {
        let code = mutator.code(payload).unwrap();
        let pool = (payload / 8 - 7).min(4);
        // SAFETY: the pool's length field and pool are inside the payload.
        unsafe { *((code.address() + 8 + 16) as *mut u32) = pool as u32 };
        for index in 0..pool {
            let content = mutator.pair(Value::fixnum(payload as i64), Value::fixnum(index as i64));
            mutator.store_code_pool(code, index, content);
        }
        codes.push((payload, pool, code.bits(), mutator.handle(code)));
    }
    for round in 0..6 {
        list(&mut mutator, 30_000);
        mutator.collect(round % 2 == 0);
        codes.remove(round % codes.len());
        for (payload, pool, bits, handle) in &codes {
            assert_eq!(handle.get().bits(), *bits);
            let object = handle.get().as_object().unwrap();
            for index in 0..*pool {
                // SAFETY: a pool word, which is a tagged value.
                let content = unsafe { Value::from_bits(object.raw_word(7 + index)) };
                assert_eq!(content.car(), Some(Value::fixnum(*payload as i64)));
                assert_eq!(content.cdr(), Some(Value::fixnum(index as i64)));
            }
        }
        let more = mutator.code(100 + 16 * round).unwrap();
        codes.push((100, 0, more.bits(), mutator.handle(more)));
    }
}

#[test]
fn memory_is_given_back() {
    let heap = Heap::new(HeapConfig {
        verify: false,
        ..checked()
    })
    .unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let handle = {
        let list = list(&mut mutator, 2_000_000);
        mutator.handle(list)
    };
    let before = heap.bytes_in_use();
    assert!(before >= 32_000_000);
    handle.set(Value::NIL);
    scrub_stack();
    mutator.collect(true);
    assert!(heap.bytes_in_use() < 8_000_000);
    let large = mutator.leaf(Kind::Bytevector, 0, 50_000_000).unwrap();
    assert!(heap.bytes_in_use() > 50_000_000);
    handle.set(large);
    mutator.collect(true);
    assert!(heap.bytes_in_use() > 50_000_000);
}

#[test]
fn walking_finds_every_object_and_edge_once() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let list = list(&mut mutator, 1000);
    let vector = mutator.object(Kind::Vector, 0, 3000, list).unwrap();
    let root = mutator.object(Kind::Box, 0, 1, vector).unwrap();
    let _root = mutator.handle(root);
    let (mut pairs, mut pair_edges, mut vector_edges, mut boxes) = (0, 0, 0, 0);
    let mut bytes = 0;
    mutator.walk(|object| {
        bytes += object.bytes();
        match object.kind() {
            None => {
                pairs += 1;
                object.for_each_edge(|edge| {
                    assert!(edge.is_pair());
                    pair_edges += 1;
                });
            }
            Some(Kind::Vector) => object.for_each_edge(|_| vector_edges += 1),
            Some(Kind::Box) => boxes += 1,
            Some(kind) => panic!("{kind:?}"),
        }
    });
    // A stale word on the native stack may keep nothing else, since nothing else was made.
    assert_eq!((pairs, pair_edges, boxes), (1000, 999, 1));
    assert_eq!(vector_edges, 3000);
    assert_eq!(bytes, 16 * 1000 + 24_016 + 16);
}

/// A queue whose links all become old before they die, collected in place.
#[test]
fn holes_left_by_in_place_marking_are_filled() {
    let heap = Heap::new(HeapConfig {
        verify: false,
        in_place_above_bytes: 0,
        full_floor_bytes: 4 << 20,
        ..checked()
    })
    .unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let vector = mutator.object(Kind::Vector, 0, 50_000, Value::NIL).unwrap();
    let vector = mutator.handle(vector);
    let mut random = 1u64;
    for i in 0..3_000_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        let value = if random >> 60 == 0 {
            mutator
                .object(
                    Kind::Vector,
                    0,
                    (random >> 50 & 63) as usize,
                    Value::fixnum(i),
                )
                .unwrap()
        } else {
            mutator.pair(Value::fixnum(i), Value::NIL)
        };
        mutator.store(vector.get(), (random >> 33) as usize % 50_000, value);
    }
    let statistics = heap.statistics();
    assert!(statistics.in_place_collections > 5);
    assert!(
        statistics.bytes_in_use_max < 24 << 20,
        "{}",
        statistics.bytes_in_use_max
    );
    mutator.collect(true);
    let object = vector.get().as_object().unwrap();
    assert!((0..50_000).all(|i| object.field(i).is_reference()));
}
