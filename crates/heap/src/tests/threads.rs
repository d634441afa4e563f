//! Several mutators at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::checked;
use crate::{Handle, Heap, HeapConfig, Mutator};

const SLOTS: usize = 64;

/// A vector of the sum and the list of random numbers it sums up.
fn summed_list(mutator: &mut Mutator, random: &mut u64) -> Value {
    let mut list = Value::NIL;
    let mut sum = 0;
    for _ in 0..*random % 50 {
        *random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let n = (*random >> 40) as i64;
        sum += n;
        list = mutator.pair(Value::fixnum(n), list);
    }
    let record = mutator.object(Kind::Vector, 0, 2, Value::NIL).unwrap();
    mutator.store(record, 0, Value::fixnum(sum));
    mutator.store(record, 1, list);
    record
}

fn check(record: Value) {
    let Some(record) = record.as_kind(Kind::Vector) else {
        return;
    };
    let mut sum = 0;
    let mut list = record.field(1);
    while let Some(n) = list.car() {
        sum += n.as_fixnum().unwrap();
        list = list.cdr().unwrap();
    }
    assert_eq!(record.field(0), Value::fixnum(sum));
}

/// Allocates, links into the shared vector, and checks what others have linked.
fn work(heap: &Arc<Heap>, shared: &Handle, seed: u64, rounds: usize, alive: &AtomicUsize) {
    alive.fetch_add(1, Ordering::SeqCst);
    let mut mutator = Mutator::attach_plain(heap);
    let mut random = seed;
    for round in 0..rounds {
        let record = summed_list(&mut mutator, &mut random);
        let slot = (random >> 33) as usize % SLOTS;
        mutator.store(shared.get(), slot, record);
        check(
            shared
                .get()
                .as_object()
                .unwrap()
                .field((slot * 7 + 1) % SLOTS),
        );
        if round % 97 == 0 {
            let kept = record;
            {
                let _native = mutator.enter_native();
                thread::sleep(Duration::from_micros(200));
            }
            check(kept);
        }
        if round % 501 == 0 {
            mutator.collect(round % 2 == 0);
        }
        check(record);
    }
    drop(mutator);
    alive.fetch_sub(1, Ordering::SeqCst);
}

fn run(config: HeapConfig, threads: usize, rounds: usize) {
    let heap = Heap::new(config).unwrap();
    let alive = AtomicUsize::new(0);
    let mut mutator = Mutator::attach_plain(&heap);
    let vector = mutator.object(Kind::Vector, 0, SLOTS, Value::NIL).unwrap();
    let shared = mutator.handle(vector);
    thread::scope(|scope| {
        for index in 0..threads {
            let (heap, shared, alive) = (&heap, &shared, &alive);
            scope.spawn(move || work(heap, shared, index as u64 + 1, rounds, alive));
        }
        // This thread holds a mutator and waits, which is what native regions are for. It also
        // collects from time to time.
        for _ in 0..20 {
            {
                let _native = mutator.enter_native();
                thread::sleep(Duration::from_millis(1));
            }
            mutator.collect(false);
            for index in 0..SLOTS {
                check(shared.get().as_object().unwrap().field(index));
            }
        }
        let _native = mutator.enter_native();
        while alive.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    });
    mutator.collect(true);
    for index in 0..SLOTS {
        check(shared.get().as_object().unwrap().field(index));
    }
    assert!(heap.statistics().collections > 20);
}

#[test]
fn threads_share_and_collect() {
    run(
        HeapConfig {
            verify: false,
            ..checked()
        },
        4,
        20_000,
    );
}

#[test]
fn threads_share_and_collect_verified() {
    run(checked(), 3, 3_000);
}

#[test]
fn threads_share_and_collect_under_stress() {
    run(
        HeapConfig {
            stress_every: 200,
            ..checked()
        },
        3,
        500,
    );
}

#[test]
fn attaching_and_detaching_during_collections() {
    let heap = Heap::new(HeapConfig {
        verify: false,
        ..checked()
    })
    .unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..200 {
                    let mut mutator = Mutator::attach_plain(&heap);
                    let list = super::list(&mut mutator, 100);
                    if round % 3 == 0 {
                        mutator.collect(round % 2 == 0);
                    }
                    assert_eq!(super::length(list), 100);
                }
            });
        }
    });
}
