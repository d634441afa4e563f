//! The walk through everything that is alive, depth first, and what it tells.
//!
//! The stack has an entry for each object whose words are not all done. An object leaves it before its
//! last word is followed, so that a list needs no more than one entry, however long it is.

use super::reach::Reached;
use super::slots::{Hold, Slots};
use crate::listing::{RootEdge, RootLabel};
use crate::mutator::LiveObject;
use crate::shape;

/// Is told of the graph. After a node come its edges in the order of its words; a child's node and
/// edges stand between those of its parent.
pub trait SurveySink {
    /// The next node: a root.
    fn root(&mut self, label: &RootLabel, edges: u32);
    /// The next node: an object.
    fn object(&mut self, object: &LiveObject, number: u32, edges: u32);
    /// The next word is the first edge to the node that follows.
    fn child(&mut self);
    /// The next word is an edge to a node that was told before.
    fn back(&mut self, number: u32);
    /// So many words are no edges.
    fn skip(&mut self, words: u32);
    /// A word that does not keep its object alive. These come at the end.
    fn weak(&mut self, source: u32, word: u32, target: u32);
    /// Whether to stop, as there is nobody who listens any more.
    fn is_over(&self) -> bool {
        false
    }
}

/// A node whose words are followed: the next one and the last one that leads anywhere.
#[derive(Clone, Copy)]
struct Entry {
    /// A granule, or the number of a root.
    place: u32,
    next: u32,
    last: u32,
    is_root: bool,
}

/// A weak word: the number of its object, its index, the reference.
type WeakWord = (u32, u32, u64);

struct Walk<'a, 'h, S> {
    reached: &'a Reached<'h>,
    sink: &'a mut S,
    /// Numbers of nodes by rank; 0 if it was not found yet.
    numbers: Vec<u32>,
    next_number: u32,
    stack: Vec<Entry>,
    weak: Vec<WeakWord>,
}

impl Reached<'_> {
    /// Tells a sink of all nodes and edges.
    pub fn walk<S: SurveySink>(&self, sink: &mut S) {
        let mut walk = Walk {
            reached: self,
            sink,
            numbers: vec![0; self.count],
            next_number: 0,
            stack: Vec::new(),
            weak: Vec::new(),
        };
        walk.enter_root(0);
        walk.run();
        walk.tell_weak();
    }
}

impl<S: SurveySink> Walk<'_, '_, S> {
    fn run(&mut self) {
        while let Some(entry) = self.stack.pop() {
            if entry.is_root {
                self.step_root(entry);
            } else {
                self.step(entry);
            }
            if self.sink.is_over() {
                return;
            }
        }
    }

    /// Tells of an object's edges up to the next new node.
    fn step(&mut self, mut entry: Entry) {
        let reached = self.reached;
        let slots = Slots::of(reached.space, reached.address(entry.place));
        let mut skipped = 0;
        while entry.next <= entry.last {
            let index = entry.next as usize;
            entry.next += 1;
            let word = slots.word(index);
            if slots.hold(index, word, |key| reached.is_marked(key)) != Hold::Strong {
                skipped += 1;
                continue;
            }
            self.tell_skipped(&mut skipped);
            if let Some(rank) = self.tell_known(word) {
                if entry.next <= entry.last {
                    self.stack.push(entry);
                }
                self.enter(word, rank);
                return;
            }
        }
    }

    fn step_root(&mut self, mut entry: Entry) {
        let reached = self.reached;
        let edges = &reached.listing.nodes[entry.place as usize].edges;
        let mut skipped = 0;
        while let Some(edge) = edges.get(entry.next as usize) {
            entry.next += 1;
            match *edge {
                RootEdge::Word(word) if !shape::is_reference(word) => skipped += 1,
                RootEdge::Word(word) => {
                    self.tell_skipped(&mut skipped);
                    if let Some(rank) = self.tell_known(word) {
                        self.stack.push(entry);
                        self.enter(word, rank);
                        return;
                    }
                }
                RootEdge::Node(node) => {
                    self.tell_skipped(&mut skipped);
                    self.sink.child();
                    self.stack.push(entry);
                    self.enter_root(node);
                    return;
                }
            }
        }
    }

    fn tell_skipped(&mut self, skipped: &mut u32) {
        if *skipped > 0 {
            self.sink.skip(std::mem::take(skipped));
        }
    }

    /// Tells of an edge to a node that was told before. The rank of the object if it was not: then the
    /// node has to follow.
    #[inline]
    fn tell_known(&mut self, word: u64) -> Option<usize> {
        let rank = self.reached.rank_of(word);
        let number = self.numbers[rank];
        if number != 0 {
            self.sink.back(number);
            return None;
        }
        self.sink.child();
        Some(rank)
    }

    fn enter_root(&mut self, node: u32) {
        let root = &self.reached.listing.nodes[node as usize];
        let is_edge = |edge: &&RootEdge| match edge {
            RootEdge::Word(word) => shape::is_reference(*word),
            RootEdge::Node(_) => true,
        };
        let edges = root.edges.iter().filter(is_edge).count() as u32;
        self.next_number += 1;
        self.sink.root(&root.label, edges);
        self.stack.push(Entry {
            place: node,
            next: 0,
            last: u32::MAX,
            is_root: true,
        });
    }

    fn enter(&mut self, word: u64, rank: usize) {
        let reached = self.reached;
        let address = shape::address_of(word);
        let slots = Slots::of(reached.space, address);
        let number = self.next_number;
        self.numbers[rank] = number;
        self.next_number += 1;
        let (mut edges, mut last) = (0, 0);
        for index in 0..slots.count().min(u32::MAX as usize) {
            let word = slots.word(index);
            match slots.hold(index, word, |key| reached.is_marked(key)) {
                Hold::None => {}
                Hold::Strong => {
                    edges += 1;
                    last = index as u32;
                }
                Hold::Weak => self.weak.push((number, index as u32, word)),
            }
        }
        let object = LiveObject::at(address, slots.content());
        self.sink.object(&object, number, edges);
        if edges > 0 {
            self.stack.push(Entry {
                place: reached.space.granule_of(address) as u32,
                next: 0,
                last,
                is_root: false,
            });
        }
    }

    fn tell_weak(&mut self) {
        for (source, word, reference) in std::mem::take(&mut self.weak) {
            if self.reached.is_marked(reference) {
                let target = self.numbers[self.reached.rank_of(reference)];
                self.sink.weak(source, word, target);
            }
        }
    }
}
