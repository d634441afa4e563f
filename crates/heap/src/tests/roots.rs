//! Precise roots, handles and pins.

use std::ptr::NonNull;
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_tables::layout::thread;
use canny_value::Value;

use super::{checked, list, scrub_stack};
use crate::{
    AllocationArea, CollectionMode, Heap, HeapConfig, Mutator, PollingMutator, RootLabel,
    RootListing, RootVisitor, Roots, WeakRoots, WeakVisitor,
};

/// Precise roots of a test: a vector of words.
#[derive(Default)]
pub(super) struct RootArray {
    pub(super) values: Vec<Value>,
}

impl Roots for RootArray {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        assert_eq!(visitor.is_minor(), mode == CollectionMode::Minor);
        // SAFETY: the vector's elements are initialized.
        unsafe { visitor.visit_slice(self.values.as_mut_ptr(), self.values.len()) };
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let node = listing.group(RootLabel::of_family("test"));
        self.values
            .iter()
            .for_each(|value| listing.add(node, *value));
    }
}

/// A mutator with precise roots, both of which it owns.
pub(super) struct Rooted {
    pub(super) mutator: Mutator,
    pub(super) roots: *mut RootArray,
    area: *mut AllocationArea,
}

impl Rooted {
    pub(super) fn new(heap: &Arc<Heap>) -> Rooted {
        let roots = Box::into_raw(Box::<RootArray>::default());
        let area = Box::into_raw(Box::<AllocationArea>::default());
        // SAFETY: both boxes are freed after the mutator only (they are leaked).
        let mutator = unsafe {
            Mutator::attach(
                heap,
                NonNull::new_unchecked(area),
                Some(NonNull::new_unchecked(roots as *mut dyn Roots)),
                Arc::new(PollingMutator),
            )
        };
        Rooted {
            mutator,
            roots,
            area,
        }
    }

    pub(super) fn get(&self, index: usize) -> Value {
        // SAFETY: the array is alive, and only this thread and a collection use it.
        unsafe { (&(*self.roots).values)[index] }
    }

    pub(super) fn set(&mut self, index: usize, value: Value) {
        // SAFETY: as in `get`.
        unsafe {
            let values = &mut (*self.roots).values;
            if values.len() <= index {
                values.resize(index + 1, Value::NIL);
            }
            values[index] = value;
        }
    }

    /// The pair that generated code would make: a bump in the area, or `None` for the slow path.
    pub(super) fn bump_pair(&mut self, car: Value, cdr: Value) -> Option<Value> {
        // SAFETY: the area is alive and this thread's; the words written are the granule just taken.
        unsafe {
            let base = (self.area as *mut u8).sub(thread::SCAN_CURSOR as usize);
            let cursor = base.add(thread::SCAN_CURSOR as usize) as *mut usize;
            let limit = base.add(thread::SCAN_LIMIT as usize) as *mut usize;
            let at = *cursor;
            if at + 16 > *limit {
                return None;
            }
            *cursor = at + 16;
            *(at as *mut Value) = car;
            *((at + 8) as *mut Value) = cdr;
            Some(Value::pair_at(at))
        }
    }
}

#[test]
fn precise_roots_are_updated() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    for index in 0..100 {
        let value = rooted.mutator.pair(Value::fixnum(index as i64), Value::NIL);
        rooted.set(index, value);
    }
    let before: Vec<u64> = (0..100).map(|index| rooted.get(index).bits()).collect();
    scrub_stack();
    let epoch = heap.epoch();
    rooted.mutator.collect(false);
    assert_ne!(heap.epoch(), epoch);
    let moved = (0..100)
        .filter(|&i| rooted.get(i).bits() != before[i])
        .count();
    assert!(moved > 80, "{moved} of 100 moved");
    for index in 0..100 {
        assert_eq!(rooted.get(index).car(), Some(Value::fixnum(index as i64)));
    }
}

#[test]
fn what_a_native_frame_holds_stays_in_place() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    let vector = mutator
        .object(Kind::Vector, 0, 10, Value::fixnum(7))
        .unwrap();
    let element = mutator.pair(Value::fixnum(1), Value::NIL);
    mutator.store(vector, 3, element);
    // Only an interior address is kept for the pair.
    let interior = std::hint::black_box(element.address() + 8);
    let bits = std::hint::black_box(vector.bits());
    for full in [false, true, false, true] {
        list(&mut mutator, 50_000);
        mutator.collect(full);
        assert_eq!(vector.as_object().unwrap().field(4), Value::fixnum(7));
        assert_eq!(
            vector.as_object().unwrap().field(3).address() + 8,
            std::hint::black_box(interior)
        );
    }
    assert_eq!(std::hint::black_box(bits), vector.bits());
    assert!(heap.statistics().pinned_objects >= 1);
}

#[test]
fn handles_are_reused_and_cloned() {
    let heap = Heap::new(checked()).unwrap();
    let mut mutator = Mutator::attach_plain(&heap);
    for round in 0..1000 {
        let pair = mutator.pair(Value::fixnum(round), Value::NIL);
        let one = mutator.handle(pair);
        let two = one.clone();
        one.set(Value::NIL);
        assert_eq!(two.get().car(), Some(Value::fixnum(round)));
        if round % 100 == 0 {
            mutator.collect(false);
            assert_eq!(two.get().car(), Some(Value::fixnum(round)));
        }
    }
    assert_eq!(heap.handles().count(), 0);
}

#[test]
fn stress_reaches_the_slow_path_of_generated_code() {
    let heap = Heap::new(HeapConfig {
        stress_every: 3,
        ..checked()
    })
    .unwrap();
    let mut rooted = Rooted::new(&heap);
    rooted.set(0, Value::NIL);
    for index in 0..300 {
        let value = Value::fixnum(index);
        let tail = rooted.get(0);
        assert!(rooted.bump_pair(value, tail).is_none());
        let pair = rooted.mutator.pair(value, tail);
        rooted.set(0, pair);
    }
    assert_eq!(super::length(rooted.get(0)), 300);
    assert!(heap.statistics().collections >= 100);

    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    rooted.set(0, Value::NIL);
    for index in 0..100_000 {
        let value = Value::fixnum(index);
        let pair = match rooted.bump_pair(value, rooted.get(0)) {
            Some(pair) => pair,
            None => {
                let tail = rooted.get(0);
                rooted.mutator.pair(value, tail)
            }
        };
        rooted.set(0, pair);
    }
    assert_eq!(super::length(rooted.get(0)), 100_000);
}

/// A weak table of words.
struct WeakTable(*mut Vec<Value>);

// SAFETY: the test's table is used while its only thread is stopped.
unsafe impl Send for WeakTable {}

impl WeakRoots for WeakTable {
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        // SAFETY: the test keeps the vector alive.
        let values = unsafe { &mut *self.0 };
        *values = values
            .iter()
            .filter_map(|&value| visitor.forwarded_if_alive(value))
            .collect();
    }
}

#[test]
fn weak_tables_drop_the_dead_and_update_the_living() {
    let heap = Heap::new(checked()).unwrap();
    let table = Box::into_raw(Box::<Vec<Value>>::default());
    heap.add_weak_roots(Box::new(WeakTable(table)));
    let mut rooted = Rooted::new(&heap);
    for index in 0..1000 {
        let pair = rooted.mutator.pair(Value::fixnum(index as i64), Value::NIL);
        // SAFETY: only this thread and its collections use the vector.
        unsafe { (*table).push(pair) };
        if index % 2 == 0 {
            rooted.set(index / 2, pair);
        }
    }
    scrub_stack();
    for full in [false, true] {
        rooted.mutator.collect(full);
        // SAFETY: as above.
        let entries = unsafe { &*table };
        assert!((500..520).contains(&entries.len()), "{}", entries.len());
        for (index, root) in (0..500).map(|i| (i, rooted.get(i))) {
            assert!(entries.contains(&root), "entry {index}");
        }
    }
}

#[test]
fn every_sort_of_object_can_be_pinned() {
    for in_place_above_bytes in [0, usize::MAX] {
        let heap = Heap::new(HeapConfig {
            in_place_above_bytes,
            ..checked()
        })
        .unwrap();
        let mut mutator = Mutator::attach_plain(&heap);
        let key = mutator.pair(Value::fixnum(5), Value::NIL);
        let weak = mutator.object(Kind::WeakPair, 0, 2, key).unwrap();
        let bytes = mutator.leaf(Kind::Bytevector, 0, 100).unwrap();
        let large = mutator.object(Kind::Vector, 0, 9000, key).unwrap();
        let large_bytes = mutator.leaf(Kind::Bytevector, 0, 100_000).unwrap();
        let code = mutator.code(200).unwrap();
        let objects = std::hint::black_box([key, weak, bytes, large, large_bytes, code]);
        bytes.as_object().unwrap().set_byte(99, 7);
        large_bytes.as_object().unwrap().set_byte(99_999, 7);
        for round in 0..6 {
            list(&mut mutator, 20_000);
            mutator.collect(round % 2 == 1);
            assert_eq!(weak.as_object().unwrap().field(0), key);
            assert_eq!(
                weak.as_object().unwrap().field(1).car(),
                Some(Value::fixnum(5))
            );
            assert_eq!(large.as_object().unwrap().field(8999), key);
            bytes
                .as_object()
                .unwrap()
                .with_bytes(|b| assert_eq!(b[99], 7));
            large_bytes
                .as_object()
                .unwrap()
                .with_bytes(|b| assert_eq!(b[99_999], 7));
            assert_eq!(code.as_object().unwrap().kind(), Kind::Code);
            std::hint::black_box(&objects);
        }
    }
}
