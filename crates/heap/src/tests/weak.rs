//! Weak pairs, ephemerons, weak entries, guardians, externals.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};

use super::roots::Rooted;
use super::{checked, list, scrub_stack};
use crate::{Heap, weak_entries};

fn field(value: Value, index: usize) -> Value {
    value
        .as_object()
        .map(|object: ObjectRef| object.field(index))
        .unwrap()
}

/// Makes `count` pairs `(i . i)` in roots `first..`.
#[inline(never)]
fn fill(rooted: &mut Rooted, first: usize, count: usize) {
    for i in 0..count {
        let n = Value::fixnum(i as i64);
        let pair = rooted.mutator.pair(n, n);
        rooted.set(first + i, pair);
    }
}

#[inline(never)]
fn weak_pairs(rooted: &mut Rooted, keys: usize, first: usize, count: usize) {
    for i in 0..count {
        let weak = rooted
            .mutator
            .object(Kind::WeakPair, 0, 2, Value::NIL)
            .unwrap();
        rooted.mutator.store(weak, 0, rooted.get(keys + i));
        let strong = rooted.mutator.pair(Value::fixnum(-1), Value::NIL);
        rooted.mutator.store(weak, 1, strong);
        rooted.set(first + i, weak);
    }
}

fn drop_odd(rooted: &mut Rooted, first: usize, count: usize) {
    for i in (1..count).step_by(2) {
        rooted.set(first + i, Value::NIL);
    }
    scrub_stack();
}

#[test]
fn weak_pairs_break_when_their_car_dies() {
    for full in [false, true] {
        let heap = Heap::new(checked()).unwrap();
        let mut rooted = Rooted::new(&heap);
        fill(&mut rooted, 0, 200);
        weak_pairs(&mut rooted, 0, 200, 200);
        drop_odd(&mut rooted, 0, 200);
        rooted.mutator.collect(full);
        let mut broken = 0;
        for i in 0..200 {
            let weak = rooted.get(200 + i);
            assert_eq!(field(weak, 1).car(), Some(Value::fixnum(-1)));
            if i % 2 == 0 {
                assert_eq!(field(weak, 0), rooted.get(i));
                assert_eq!(field(weak, 0).car(), Some(Value::fixnum(i as i64)));
            } else if field(weak, 0) == Value::BROKEN {
                broken += 1;
            }
        }
        assert!(broken >= 95, "{broken} of 100 broke");
    }
}

#[test]
fn old_weak_pairs_may_refer_to_young_objects() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    fill(&mut rooted, 0, 100);
    weak_pairs(&mut rooted, 0, 100, 100);
    rooted.mutator.collect(true);
    fill(&mut rooted, 0, 100);
    for i in 0..100 {
        rooted.mutator.store(rooted.get(100 + i), 0, rooted.get(i));
    }
    drop_odd(&mut rooted, 0, 100);
    rooted.mutator.collect(false);
    let broken = (0..100)
        .filter(|&i| field(rooted.get(100 + i), 0) == Value::BROKEN)
        .count();
    assert!((45..=50).contains(&broken), "{broken}");
    for i in (0..100).step_by(2) {
        assert_eq!(field(rooted.get(100 + i), 0), rooted.get(i));
    }
}

/// A chain: ephemeron i has pair i as key and pair i + 1 as datum.
#[inline(never)]
fn ephemeron_chain(
    rooted: &mut Rooted,
    keys: usize,
    first: usize,
    count: usize,
    order: fn(usize) -> usize,
) {
    for i in 0..count {
        let i = order(i);
        let ephemeron = rooted
            .mutator
            .object(Kind::Ephemeron, 0, 2, Value::NIL)
            .unwrap();
        rooted.mutator.store(ephemeron, 0, rooted.get(keys + i));
        rooted.mutator.store(ephemeron, 1, rooted.get(keys + i + 1));
        rooted.set(first + i, ephemeron);
    }
}

#[test]
fn ephemerons_keep_their_datum_only_while_the_key_lives() {
    let orders: [fn(usize) -> usize; 3] = [|i| i, |i| 99 - i, |i| i * 37 % 100];
    for (full, order) in [false, true]
        .into_iter()
        .flat_map(|f| orders.map(|o| (f, o)))
    {
        let heap = Heap::new(checked()).unwrap();
        let mut rooted = Rooted::new(&heap);
        fill(&mut rooted, 0, 101);
        ephemeron_chain(&mut rooted, 0, 200, 100, order);
        // Only the first key is held: the whole chain lives through it.
        for i in 1..101 {
            rooted.set(i, Value::NIL);
        }
        scrub_stack();
        rooted.mutator.collect(full);
        for i in 0..100 {
            let ephemeron = rooted.get(200 + i);
            assert_eq!(field(ephemeron, 0).car(), Some(Value::fixnum(i as i64)));
            assert_eq!(field(ephemeron, 1).car(), Some(Value::fixnum(i as i64 + 1)));
        }
        rooted.set(0, Value::NIL);
        scrub_stack();
        rooted.mutator.collect(true);
        let broken = (0..100)
            .filter(|&i| field(rooted.get(200 + i), 0) == Value::BROKEN)
            .inspect(|&i| assert_eq!(field(rooted.get(200 + i), 1), Value::BROKEN))
            .count();
        // A stale word on the stack may keep one key and the data that follow from it.
        assert!(broken >= 1, "{broken}");
    }
}

#[inline(never)]
fn weak_table(rooted: &mut Rooted, flags: u8, slot: usize, count: usize) {
    let table = rooted
        .mutator
        .object(Kind::WeakEntries, flags, 2 * count, Value::VACANT)
        .unwrap();
    rooted.set(slot, table);
    for i in 0..count {
        let value = rooted
            .mutator
            .pair(Value::fixnum(1000 + i as i64), rooted.get(i));
        let value = if flags & weak_entries::EPHEMERAL != 0 {
            value
        } else {
            rooted.mutator.pair(value.car().unwrap(), Value::NIL)
        };
        let (key, value) = if flags & weak_entries::WEAK_KEYS != 0 {
            (rooted.get(i), value)
        } else {
            (value, rooted.get(i))
        };
        rooted.mutator.store(rooted.get(slot), 2 * i, key);
        rooted.mutator.store(rooted.get(slot), 2 * i + 1, value);
    }
}

#[test]
fn weak_entries_break_with_their_weak_word() {
    use weak_entries::{EPHEMERAL, WEAK_KEYS, WEAK_VALUES};
    // A small table lives in a special block, a big one has blocks of its own.
    for count in [100, 3000] {
        for flags in [WEAK_KEYS, WEAK_VALUES, WEAK_KEYS | EPHEMERAL] {
            for full in [false, true] {
                let heap = Heap::new(checked()).unwrap();
                let mut rooted = Rooted::new(&heap);
                fill(&mut rooted, 0, count);
                weak_table(&mut rooted, flags, count, count);
                drop_odd(&mut rooted, 0, count);
                rooted.mutator.collect(full);
                rooted.mutator.collect(true);
                let table = rooted.get(count);
                let mut broken = 0;
                for i in 0..count {
                    let (key, value) = (field(table, 2 * i), field(table, 2 * i + 1));
                    let weak = if flags & WEAK_KEYS != 0 { key } else { value };
                    if i % 2 == 0 {
                        assert_eq!(weak, rooted.get(i), "{i} of {count}, flags {flags}");
                        assert!(key.is_pair() && value.is_pair());
                    } else if weak == Value::BROKEN {
                        assert_eq!((key, value), (Value::BROKEN, Value::BROKEN));
                        broken += 1;
                    }
                }
                assert!(broken > count * 2 / 5, "{broken} of {count}, flags {flags}");
            }
        }
    }
}

#[inline(never)]
fn guard_pairs(rooted: &mut Rooted, guardian: usize, count: usize) {
    for i in 0..count {
        let inner = rooted.mutator.pair(Value::fixnum(i as i64), Value::NIL);
        let pair = rooted.mutator.pair(Value::fixnum(i as i64), inner);
        rooted.mutator.register_guardian(pair, rooted.get(guardian));
    }
}

#[test]
fn guardians_deliver_the_dead_in_order() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    for slot in 0..2 {
        let guardian = rooted
            .mutator
            .object(Kind::Guardian, 0, 1, Value::NIL)
            .unwrap();
        rooted.set(slot, guardian);
    }
    guard_pairs(&mut rooted, 0, 50);
    guard_pairs(&mut rooted, 1, 50);
    scrub_stack();
    rooted.mutator.collect(false);
    guard_pairs(&mut rooted, 0, 50);
    scrub_stack();
    rooted.mutator.collect(true);
    rooted.mutator.collect(true);
    for (slot, expected) in [(0, 100), (1, 50)] {
        let mut ready = field(rooted.get(slot), 0);
        let mut seen = Vec::new();
        while let Some(pair) = ready.car() {
            let n = pair.car().and_then(Value::as_fixnum).unwrap();
            assert_eq!(pair.cdr().unwrap().car(), Some(Value::fixnum(n)));
            seen.push(n);
            ready = ready.cdr().unwrap();
        }
        // Objects that a stale word kept come late.
        assert!(
            seen.len() >= expected - 6 && seen.len() <= expected,
            "{}",
            seen.len()
        );
        let descents = seen.windows(2).filter(|w| w[0] >= w[1]).count();
        assert!(descents <= 1 + (expected - 50) / 50 + 3, "{seen:?}");
    }
}

#[test]
fn a_dead_guardian_delivers_nothing_and_dies() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    let guardian = rooted
        .mutator
        .object(Kind::Guardian, 0, 1, Value::NIL)
        .unwrap();
    rooted.set(0, guardian);
    rooted.mutator.register_external(guardian, 9);
    guard_pairs(&mut rooted, 0, 10);
    rooted.set(0, Value::NIL);
    let _ = guardian;
    scrub_stack();
    for _ in 0..3 {
        list(&mut rooted.mutator, 1000);
        rooted.mutator.collect(true);
    }
}

#[inline(never)]
fn externals(rooted: &mut Rooted, count: usize) {
    for i in 0..count {
        let name = Value::fixnum(i as i64);
        let port = rooted.mutator.object(Kind::External, 0, 2, name).unwrap();
        rooted.mutator.register_external(port, i as u64);
        rooted.set(i, port);
    }
}

#[test]
fn dead_externals_are_told_once() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    externals(&mut rooted, 100);
    rooted.mutator.collect(false);
    assert!(heap.take_dead_externals().is_empty());
    drop_odd(&mut rooted, 0, 100);
    rooted.mutator.collect(false);
    assert!(
        heap.take_dead_externals().is_empty(),
        "old ones die in full collections"
    );
    rooted.mutator.collect(true);
    let mut dead = heap.take_dead_externals();
    rooted.mutator.collect(true);
    dead.extend(heap.take_dead_externals());
    assert!(dead.iter().all(|id| id % 2 == 1));
    assert!(dead.len() >= 47, "{}", dead.len());
    dead.sort_unstable();
    dead.dedup();
    assert!(dead.len() >= 47 && dead.len() <= 50);
}
