//! Samples of allocations.

use std::cell::RefCell;
use std::rc::Rc;

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{checked, list, scrub_stack};
use crate::{AllocationObserver, AllocationSample, Handle, Heap, HeapConfig, Mutator};

/// Samples as they come.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Vec<AllocationSample>>>);

impl AllocationObserver for Seen {
    fn allocating(&mut self) -> usize {
        7
    }

    fn made(&mut self, noted: usize, sample: AllocationSample) {
        assert_eq!(noted, 7);
        self.0.borrow_mut().push(sample);
    }
}

impl Seen {
    fn weight(&self) -> f64 {
        self.0.borrow().iter().map(|one| one.weight_bytes).sum()
    }
}

/// Objects of all areas and sizes; gives the bytes of each kind: pairs, vectors, strings, large vectors.
fn work(mutator: &mut Mutator, rounds: usize) -> [usize; 4] {
    let mut bytes = [0; 4];
    for round in 0..rounds {
        std::hint::black_box(list(mutator, 20));
        bytes[0] += 20 * 16;
        mutator.small_object(Kind::Vector, 0, 5, Value::ZERO);
        mutator.object_in_place(Kind::Vector, 0, 6, Value::ZERO);
        bytes[1] += 48 + 64;
        mutator.small_leaf(Kind::String8, 0, 40);
        mutator.copy_in_place(Kind::String8, 0, &[b'x'; 100]);
        bytes[2] += 48 + 112;
        if round % 50 == 0 {
            mutator.object(Kind::Vector, 0, 4000, Value::ZERO).unwrap();
            bytes[3] += 32016;
        }
        if round % 64 == 0 {
            mutator.safepoint();
        }
    }
    bytes
}

fn configurations() -> [HeapConfig; 2] {
    [
        checked(),
        HeapConfig {
            stress_every: 97,
            ..checked()
        },
    ]
}

#[test]
fn each_object_is_a_sample_with_an_interval_of_one_byte() {
    for config in configurations() {
        let heap = Heap::new(config).unwrap();
        let mut mutator = Mutator::attach_plain(&heap);
        work(&mut mutator, 100);
        let seen = Seen::default();
        mutator.start_sampling(1, 1, Box::new(seen.clone()));
        let bytes = work(&mut mutator, 1000);
        mutator.stop_sampling();
        assert_eq!(seen.weight(), bytes.iter().sum::<usize>() as f64);
        assert_eq!(seen.0.borrow().len(), 1000 * (20 + 2 + 2) + 20);
        work(&mut mutator, 100);
        assert_eq!(seen.0.borrow().len(), 1000 * (20 + 2 + 2) + 20);
    }
}

#[test]
fn weights_stand_for_all_bytes() {
    for config in configurations() {
        let heap = Heap::new(config).unwrap();
        let mut mutator = Mutator::attach_plain(&heap);
        let seen = Seen::default();
        mutator.start_sampling(4096, 12345, Box::new(seen.clone()));
        let bytes = work(&mut mutator, 20_000);
        mutator.stop_sampling();
        let mut found = [0.0; 4];
        for sample in &*seen.0.borrow() {
            let index = match sample.bytes {
                16 => 0,
                48 | 64 | 112 => 1,
                _ => 3,
            };
            found[index] += sample.weight_bytes;
        }
        // Some thousand samples each, so that five standard errors are less than a tenth.
        for (found, expected) in [
            (found[0], bytes[0]),
            (found[1], bytes[1] + bytes[2]),
            (found[3], bytes[3]),
        ] {
            let ratio = found / expected as f64;
            assert!((0.9..1.1).contains(&ratio), "{found} of {expected}");
        }
    }
}

/// Frames of their own, which an unoptimized build leaves no references in.
#[inline(never)]
fn kept(mutator: &mut Mutator) -> Handle {
    let kept = list(mutator, 1000);
    mutator.handle(kept)
}

#[inline(never)]
fn dropped(mutator: &mut Mutator) {
    std::hint::black_box(list(mutator, 5000));
}

#[test]
fn dead_samples_are_told() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let seen = Seen::default();
    mutator.start_sampling(1, 1, Box::new(seen.clone()));
    let handle = kept(&mut mutator);
    dropped(&mut mutator);
    scrub_stack();
    mutator.stop_sampling();
    assert_eq!(seen.0.borrow().len(), 6000);
    mutator.collect(true);
    let dead = heap.take_dead_samples();
    // Some may seem to be referred to from the native stack.
    assert!((4000..=5000).contains(&dead.len()), "{}", dead.len());
    assert!(dead.iter().all(|id| (1000..6000).contains(id)));
    drop(handle);
    scrub_stack();
    mutator.collect(true);
    assert!(heap.take_dead_samples().len() > 500);
    heap.forget_samples();
    mutator.collect(true);
    assert!(heap.take_dead_samples().is_empty());
}
