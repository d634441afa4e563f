//! Surveys: the same objects as the collector finds, and their edges.

use std::collections::{HashMap, HashSet};

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::roots::Rooted;
use super::{checked, list, scrub_stack};
use crate::shape;
use crate::{Heap, HeapConfig, LiveObject, Mutator, RootLabel, SurveySink};

/// A graph as a survey tells it.
#[derive(Default)]
pub(super) struct Graph {
    /// Addresses of objects, 0 for roots, in the order of their numbers.
    nodes: Vec<usize>,
    objects: Vec<Option<LiveObject>>,
    bytes: usize,
    families: Vec<&'static str>,
    /// Source and target.
    edges: Vec<(u32, u32)>,
    weak: Vec<(u32, u32, u32)>,
    /// Nodes whose edges are being told, and how many are left.
    open: Vec<(u32, u32)>,
    deepest: usize,
}

impl Graph {
    fn node(&mut self, address: usize, edges: u32) {
        let number = self.nodes.len() as u32;
        self.nodes.push(address);
        self.open.push((number, edges));
        self.close();
        self.deepest = self.deepest.max(self.open.len());
    }

    fn edge(&mut self, target: u32) {
        let (source, left) = self.open.last_mut().expect("an edge has a source");
        *left -= 1;
        self.edges.push((*source, target));
    }

    fn close(&mut self) {
        while self.open.last().is_some_and(|(_, left)| *left == 0) {
            self.open.pop();
        }
    }
}

impl SurveySink for Graph {
    fn root(&mut self, label: &RootLabel, edges: u32) {
        self.families.push(label.family);
        self.objects.push(None);
        self.node(0, edges);
    }

    fn object(&mut self, object: &LiveObject, number: u32, edges: u32) {
        assert_eq!(number as usize, self.nodes.len());
        self.bytes += object.bytes();
        self.objects.push(Some(*object));
        self.node(object.address(), edges);
    }

    fn child(&mut self) {
        let target = self.nodes.len() as u32;
        self.edge(target);
        // Its parent may have no edge left: then it is no longer open.
        self.close();
    }

    fn back(&mut self, number: u32) {
        assert!((number as usize) < self.nodes.len());
        self.edge(number);
        self.close();
    }

    fn skip(&mut self, words: u32) {
        assert!(words > 0);
        assert!(!self.open.is_empty());
    }

    fn weak(&mut self, source: u32, word: u32, target: u32) {
        self.weak.push((source, word, target));
    }
}

/// Surveys the heap after a full collection, and compares with the objects that are there then.
pub(super) fn survey(mutator: &mut Mutator) -> Graph {
    mutator.stand_still(|still| {
        still.collect();
        let pinned = still.state.statistics.pinned_objects;
        let mut live = HashMap::new();
        still.each_object(|object| {
            live.insert(object.address(), object.bytes());
        });
        let listing = still.list_roots();
        let reached = still.reach(listing);
        let mut graph = Graph::default();
        reached.walk(&mut graph);
        let found: HashSet<usize> = graph.nodes.iter().copied().filter(|at| *at != 0).collect();
        assert_eq!(reached.count(), found.len());
        // The end of the native stack that was recorded is in use again by the time that a collection
        // looks at it, and a word of the collector's own may pin an object that nothing refers to.
        let lost = live.iter().filter(|(at, _)| !found.contains(at));
        let (lost, lost_bytes) = lost.fold((0, 0), |(n, sum), (_, bytes)| (n + 1, sum + bytes));
        assert!(lost == 0 || pinned > 0, "{lost} of {} objects", live.len());
        assert!(found.iter().all(|at| live.contains_key(at)));
        assert_eq!(graph.bytes + lost_bytes, live.values().sum::<usize>());
        assert!(graph.open.is_empty());
        check_edges(&graph);
        graph
    })
}

/// Every reference of an object is an edge or a weak one.
fn check_edges(graph: &Graph) {
    let known: HashSet<usize> = graph.nodes.iter().copied().collect();
    let mut targets: HashMap<u32, Vec<usize>> = HashMap::new();
    for (source, target) in &graph.edges {
        let target = graph.nodes[*target as usize];
        targets.entry(*source).or_default().push(target);
    }
    for (source, _, target) in &graph.weak {
        let target = graph.nodes[*target as usize];
        targets.entry(*source).or_default().push(target);
    }
    for (number, object) in graph.objects.iter().enumerate() {
        let Some(object) = object else { continue };
        let is_special = matches!(
            object.kind(),
            Some(Kind::WeakPair | Kind::Ephemeron | Kind::WeakEntries)
        );
        let mut wanted = Vec::new();
        object.for_each_edge(|value| wanted.push(shape::address_of(value.bits())));
        let mut found = targets.remove(&(number as u32)).unwrap_or_default();
        if is_special {
            // Those of weak references come last, and lead to what is alive otherwise.
            wanted.retain(|at| known.contains(at));
            wanted.sort_unstable();
            found.sort_unstable();
        }
        assert_eq!(found, wanted, "of node {number}");
    }
}

#[test]
fn a_long_list_needs_no_stack() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut rooted = Rooted::new(&heap);
    let long = list(&mut rooted.mutator, 300_000);
    rooted.set(0, long);
    let graph = survey(&mut rooted.mutator);
    assert!(graph.nodes.len() > 300_000);
    assert!(graph.deepest < 10, "{}", graph.deepest);
    assert_eq!(graph.families[0], "root");
    assert!(graph.families.contains(&"test"));
}

#[test]
fn a_deep_tree_and_a_wide_vector_are_surveyed() {
    let heap = Heap::new(HeapConfig::default()).unwrap();
    let mut rooted = Rooted::new(&heap);
    let mut tree = Value::NIL;
    for _ in 0..200_000 {
        tree = rooted.mutator.pair(tree, Value::TRUE);
    }
    rooted.set(0, tree);
    let vector = rooted.mutator.object(Kind::Vector, 0, 50_000, Value::NIL);
    rooted.set(1, vector.unwrap());
    for index in (0..50_000).step_by(3) {
        let pair = rooted.mutator.pair(Value::TRUE, Value::NIL);
        let vector = rooted.get(1);
        rooted.mutator.store(vector, index, pair);
    }
    let graph = survey(&mut rooted.mutator);
    assert!(graph.nodes.len() > 216_000);
}

#[inline(never)]
fn leave_garbage(mutator: &mut Mutator) {
    for _ in 0..50 {
        list(mutator, 1000);
    }
}

#[test]
fn a_survey_leaves_out_what_is_dead_and_needs_no_collection() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    let kept = list(&mut rooted.mutator, 1000);
    rooted.set(0, kept);
    rooted.set(1, Value::NIL);
    leave_garbage(&mut rooted.mutator);
    scrub_stack();
    let count = rooted.mutator.stand_still(|still| {
        let listing = still.list_roots();
        still.reach(listing).count()
    });
    assert!((1000..3100).contains(&count), "{count}");
    // Areas were closed; the program goes on.
    assert_eq!(super::length(list(&mut rooted.mutator, 100)), 100);
    rooted.mutator.collect(true);
}

#[test]
fn weak_references_hold_nothing() {
    let heap = Heap::new(checked()).unwrap();
    let mut rooted = Rooted::new(&heap);
    let key = list(&mut rooted.mutator, 1);
    rooted.set(0, key);
    for (index, kind) in [Kind::WeakPair, Kind::Ephemeron].into_iter().enumerate() {
        let datum = list(&mut rooted.mutator, 2);
        rooted.set(2, datum);
        let object = rooted.mutator.object(kind, 0, 2, Value::NIL).unwrap();
        rooted.set(3 + index, object);
        let (key, datum) = (rooted.get(0), rooted.get(2));
        rooted.mutator.store(object, 0, key);
        rooted.mutator.store(object, 1, datum);
    }
    rooted.set(2, Value::NIL);
    let graph = survey(&mut rooted.mutator);
    assert_eq!(graph.weak.len(), 2, "two keys");
    assert!(graph.weak.iter().all(|(_, word, _)| *word == 0));
}

/// Makes an object or pair that says its number.
fn numbered(mutator: &mut Mutator, number: i64) -> Value {
    let tail = mutator.pair(Value::fixnum(-1), Value::NIL);
    match number % 3 {
        0 => mutator.pair(Value::fixnum(number), tail),
        1 => {
            let length = 1 + number as usize % 50;
            let vector = mutator.object(Kind::Vector, 0, length, Value::fixnum(number));
            vector.unwrap()
        }
        _ => {
            let length = if number % 64 == 2 { 9000 } else { 2 };
            let vector = mutator.object(Kind::Vector, 0, length, Value::NIL).unwrap();
            mutator.store(vector, 0, Value::fixnum(number));
            mutator.store(vector, 1, tail);
            vector
        }
    }
}

/// The numbers of objects by their granule.
fn numbers(mutator: &mut Mutator) -> (HashMap<u64, i64>, Option<crate::Origins>) {
    mutator.stand_still(|still| {
        let origins = still.origins();
        let base = still.base();
        let listing = still.list_roots();
        let mut graph = Graph::default();
        still.reach(listing).walk(&mut graph);
        let mut found = HashMap::new();
        for object in graph.objects.iter().flatten() {
            let value = object.value();
            let first = match object.kind() {
                None => value.car(),
                Some(Kind::Vector) => value.as_object().map(|vector| vector.field(0)),
                _ => None,
            };
            if let Some(number) = first.and_then(Value::as_fixnum).filter(|it| *it > 0) {
                found.insert(((object.address() - base) / 16) as u64, number);
            }
        }
        still.track();
        (found, origins)
    })
}

/// Where an object was at the snapshot before, by the rule of the format.
fn origin(origins: &crate::Origins, place: u64) -> Option<u64> {
    if let Some((_, before)) = origins.moves.iter().find(|(now, _)| *now == place) {
        return Some(*before);
    }
    let is_new = |(start, length): &(u64, u64)| (*start..start + length).contains(&place);
    (!origins.new.iter().any(is_new)).then_some(place)
}

#[test]
fn objects_keep_their_identity_when_they_move() {
    for (in_place_above_bytes, stress_every) in [(64 << 20, 0), (0, 0), (64 << 20, 97), (0, 53)] {
        let heap = Heap::new(HeapConfig {
            in_place_above_bytes,
            stress_every,
            ..checked()
        });
        let mut rooted = Rooted::new(&heap.unwrap());
        const ROOTS: usize = 600;
        rooted.set(ROOTS - 1, Value::NIL);
        let mut random = 88_172_645_463_325_252_u64;
        let mut below = |limit: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as usize % limit
        };
        let mut next = 1;
        let (mut before, none) = numbers(&mut rooted.mutator);
        assert!(none.is_none());
        let (mut kept, mut fresh) = (0, 0);
        for round in 0..12 {
            for _ in 0..below(3000) {
                let value = numbered(&mut rooted.mutator, next);
                next += 1;
                rooted.set(below(ROOTS), value);
            }
            for _ in 0..round % 4 {
                rooted.mutator.collect(below(2) == 0);
                for _ in 0..below(300) {
                    rooted.set(below(ROOTS), Value::NIL);
                }
            }
            let (now, origins) = numbers(&mut rooted.mutator);
            let origins = origins.expect("little has happened");
            let old: HashSet<i64> = before.values().copied().collect();
            for (place, number) in &now {
                let was = origin(&origins, *place).and_then(|place| before.get(&place));
                if old.contains(number) {
                    assert_eq!(was, Some(number), "in round {round}");
                    kept += 1;
                } else {
                    assert_eq!(was, None, "{number} in round {round}");
                    fresh += 1;
                }
            }
            before = now;
        }
        assert!(kept > 500 && fresh > 500, "{kept} {fresh}");
    }
}
