//! Allocation that never collects but asks for a safepoint.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use canny_tables::kinds::Kind;
use canny_tables::layout::TAG_PAIR;
use canny_value::Value;

use super::{checked, length};
use crate::{AllocationArea, Heap, HeapConfig, Mutator, SafepointRequest};

/// Counts the requests for a safepoint.
#[derive(Default)]
struct Requests(AtomicUsize);

impl SafepointRequest for Requests {
    fn request(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A mutator whose requests are counted.
struct Counting {
    mutator: Mutator,
    requests: Arc<Requests>,
    _area: Box<AllocationArea>,
}

fn attach(heap: &Arc<Heap>) -> Counting {
    let mut area = Box::<AllocationArea>::default();
    let requests = Arc::new(Requests::default());
    // SAFETY: the area is boxed and dropped after the mutator; there are no roots.
    let mutator =
        unsafe { Mutator::attach(heap, NonNull::from(&mut *area), None, requests.clone()) };
    Counting {
        mutator,
        requests,
        _area: area,
    }
}

impl Counting {
    fn requests(&self) -> usize {
        self.requests.0.load(Ordering::Relaxed)
    }

    fn pair(&mut self, car: Value, cdr: Value) -> Value {
        let at = self.mutator.allocate_in_place(16);
        // SAFETY: the granule was just taken.
        unsafe {
            *(at as *mut u64) = car.bits();
            *((at + 8) as *mut u64) = cdr.bits();
            Value::from_bits(at as u64 | TAG_PAIR)
        }
    }

    fn list(&mut self, n: i64) -> Value {
        (0..n).fold(Value::NIL, |list, i| self.pair(Value::fixnum(i), list))
    }
}

#[test]
fn the_collection_comes_at_the_next_safepoint() {
    let heap = Heap::new(checked()).unwrap();
    let mut thread = attach(&heap);
    let few = thread.list(100);
    assert_eq!(thread.requests(), 0);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().collections, 0);
    // Several times the nursery.
    let many = thread.list(100_000);
    assert!(thread.requests() > 0);
    assert_eq!(heap.statistics().collections, 0);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().collections, 1);
    assert_eq!((length(few), length(many)), (100, 100_000));
    let before = thread.requests();
    thread.mutator.safepoint();
    thread.list(10);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().collections, 1);
    assert_eq!(thread.requests(), before);
}

#[test]
fn a_collection_for_another_reason_settles_the_request() {
    let heap = Heap::new(checked()).unwrap();
    let mut thread = attach(&heap);
    thread.list(100_000);
    thread.mutator.collect(false);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().collections, 1);
}

#[test]
fn stress_mode_collects_at_every_safepoint_after_an_allocation() {
    let heap = Heap::new(HeapConfig {
        stress_every: 1,
        ..checked()
    })
    .unwrap();
    let mut thread = attach(&heap);
    let mut list = Value::NIL;
    for i in 0..50 {
        list = thread.pair(Value::fixnum(i), list);
        assert_eq!(heap.statistics().collections, i as u64);
        assert_eq!(thread.requests(), i as usize + 1);
        thread.mutator.safepoint();
        assert_eq!(heap.statistics().collections, i as u64 + 1);
    }
    assert_eq!(length(list), 50);
    assert!(heap.statistics().full_collections > 0);
}

#[test]
fn large_objects_and_leaves_do_not_collect_either() {
    let heap = Heap::new(checked()).unwrap();
    let mut thread = attach(&heap);
    let flonums: Vec<Value> = (0..50_000)
        .map(|_| thread.mutator.leaf_in_place(Kind::Flonum, 0, 1))
        .collect();
    assert!(flonums.iter().all(|flonum| flonum.is_kind(Kind::Flonum)));
    for _ in 0..40 {
        let at = thread.mutator.allocate_in_place(64 << 10);
        // SAFETY: the room was just taken; a filler keeps the heap walkable.
        unsafe { *(at as *mut u64) = crate::shape::filler_header(64 << 10) };
    }
    assert_eq!(heap.statistics().collections, 0);
    assert!(thread.requests() > 0);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().collections, 1);
}

#[test]
fn past_the_limit_the_room_comes_from_beyond() {
    let heap = Heap::new(HeapConfig {
        limit: Some(8 << 20),
        ..checked()
    })
    .unwrap();
    let mut thread = attach(&heap);
    let list = thread.list(1 << 20);
    assert_eq!(heap.statistics().collections, 0);
    thread.mutator.safepoint();
    assert_eq!(heap.statistics().full_collections, 1);
    assert!(thread.mutator.take_exhausted());
    assert_eq!(length(list), 1 << 20);
}

/// Lines of all lengths, in rooms of all sizes: the result is the line, padded with zeros, and the
/// memory behind it is not touched.
#[test]
fn lines_end_where_they_end() {
    let heap = Heap::new(checked()).unwrap();
    let mut thread = attach(&heap);
    let text: Vec<u8> = (0..3000).map(|place| b'a' + (place % 23) as u8).collect();
    let mut made = 0;
    for round in 0..6000_usize {
        let length = round * 7 % 2100;
        let mut line = text[..length].to_vec();
        line.extend_from_slice([&b"\nabc"[..], b"\r\n", b"\n", b""][round / 3 % 4]);
        line.extend_from_slice(&text[..round % 40]);
        let expected = line.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        match thread.mutator.line_in_place(0, &line) {
            Some((string, count)) => {
                made += 1;
                assert_eq!(Some(count), expected);
                assert_eq!(line[count], b'\n');
                let string = string.as_object().unwrap();
                assert_eq!((string.kind(), string.length()), (Kind::String8, count));
                string.with_bytes(|bytes| assert_eq!(bytes, &line[..count]));
            }
            // Takes a block where there was no room for it.
            None => drop(thread.mutator.leaf_in_place(Kind::String8, 0, 100)),
        }
        if round % 500 == 0 {
            thread.mutator.collect(false);
        }
    }
    assert!(made > 2000, "{made}");
    thread.mutator.collect(true);
}
