//! Reports of a full collection to owners outside of the heap: raw addresses that are still held,
//! and dependents of live objects.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::roots::Rooted;
use super::{checked, list, scrub_stack};
use crate::{DependentVisitor, Heap, RawReferences, WeakRoots, WeakVisitor};

const START: usize = 0x1000;
const END: usize = 0x2000;

/// Notes what is passed to it, if it wants to know.
#[derive(Default)]
struct Told {
    is_wanted: bool,
    seen: BTreeSet<usize>,
    ended: usize,
}

struct Owner(Arc<Mutex<Told>>);

impl RawReferences for Owner {
    fn begin(&mut self) -> Option<Range<usize>> {
        let mut told = self.0.lock().unwrap();
        told.seen.clear();
        told.is_wanted.then_some(START..END)
    }

    fn see(&mut self, address: usize) {
        self.0.lock().unwrap().seen.insert(address);
    }

    fn end(&mut self) {
        self.0.lock().unwrap().ended += 1;
    }
}

/// A closure that holds a raw address, in a root or nowhere.
#[inline(never)]
fn hold(rooted: &mut Rooted, root: Option<usize>, address: usize) {
    let closure = rooted.mutator.object(Kind::Closure, 0, 3, Value::ZERO);
    let closure = closure.unwrap();
    let word = Value::from_aligned_address(address);
    rooted.mutator.store(closure, 2, word);
    if let Some(root) = root {
        rooted.set(root, closure);
    }
}

#[test]
fn owners_of_raw_memory_learn_of_live_closures() {
    let heap = Heap::new(checked()).unwrap();
    let told = Arc::new(Mutex::new(Told::default()));
    heap.add_raw_references(Box::new(Owner(told.clone())));
    let mut rooted = Rooted::new(&heap);
    hold(&mut rooted, Some(0), START);
    hold(&mut rooted, Some(1), END - 8);
    hold(&mut rooted, Some(2), END);
    hold(&mut rooted, None, START + 0x800);
    let vector = rooted.mutator.object(Kind::Vector, 0, 3, Value::ZERO);
    let word = Value::from_aligned_address(START + 0x400);
    rooted.mutator.store(vector.unwrap(), 0, word);
    rooted.set(3, vector.unwrap());
    scrub_stack();
    rooted.mutator.collect(true);
    assert_eq!(told.lock().unwrap().ended, 0);
    told.lock().unwrap().is_wanted = true;
    rooted.mutator.collect(false);
    assert_eq!(told.lock().unwrap().ended, 0);
    rooted.mutator.collect(true);
    let seen = told.lock().unwrap().seen.clone();
    assert_eq!(told.lock().unwrap().ended, 1);
    // Native stacks may show anything; the heap's words are these.
    assert!(seen.contains(&START) && seen.contains(&(END - 8)));
    assert!(!seen.contains(&END) && !seen.contains(&(START + 0x800)));
}

#[test]
fn owners_of_raw_memory_learn_of_native_stacks() {
    let heap = Heap::new(checked()).unwrap();
    let told = Arc::new(Mutex::new(Told {
        is_wanted: true,
        ..Told::default()
    }));
    heap.add_raw_references(Box::new(Owner(told.clone())));
    let mut rooted = Rooted::new(&heap);
    let held = std::hint::black_box([START + 0x123, START + 0x456]);
    rooted.mutator.collect(true);
    std::hint::black_box(&held);
    assert!(held.iter().all(|it| told.lock().unwrap().seen.contains(it)));
}

/// Code objects of which each keeps the next one alive.
struct Chain(Arc<Mutex<Vec<Value>>>);

impl WeakRoots for Chain {
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        let is_alive = |code: &Value| visitor.forwarded_if_alive(*code).is_some();
        if !visitor.is_minor() {
            self.0.lock().unwrap().retain(is_alive);
        }
    }

    unsafe fn visit_dependents(&mut self, visitor: &mut DependentVisitor<'_, '_>) -> bool {
        let chain = self.0.lock().unwrap();
        // From the end, so that each round finds one more.
        let mut progress = false;
        for pair in chain.windows(2).rev() {
            if visitor.is_alive(pair[0]) && !visitor.is_alive(pair[1]) {
                visitor.keep(pair[1]);
                progress = true;
            }
        }
        progress
    }
}

#[inline(never)]
fn make_chain(rooted: &mut Rooted, chain: &Mutex<Vec<Value>>) {
    for _ in 0..20 {
        let code = rooted.mutator.code(100).unwrap();
        chain.lock().unwrap().push(code);
    }
    let held = chain.lock().unwrap()[10];
    rooted.set(0, held);
}

#[test]
fn dependents_live_as_long_as_what_they_depend_on() {
    let heap = Heap::new(checked()).unwrap();
    // The values are in memory that nobody scans.
    let chain = Arc::new(Mutex::new(Vec::new()));
    heap.add_weak_roots(Box::new(Chain(chain.clone())));
    let mut rooted = Rooted::new(&heap);
    make_chain(&mut rooted, &chain);
    scrub_stack();
    list(&mut rooted.mutator, 1000);
    rooted.mutator.collect(true);
    let left = chain.lock().unwrap().len();
    // A stale word may keep another one, and those behind it.
    assert!((10..19).contains(&left), "{left}");
    rooted.set(0, Value::NIL);
    scrub_stack();
    rooted.mutator.collect(true);
    assert!(chain.lock().unwrap().len() < 10);
}
