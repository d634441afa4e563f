//! The ways from the root to a node.
//!
//! A breadth-first search along strong edges gives each node its distance once. Paths are then
//! found backwards, the shortest first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use crate::heap::{Heap, ROOT};

/// No edge leads from the root to the node; such nodes are not in files.
const UNKNOWN: u32 = u32::MAX;

/// Sources that are looked at for a node with more of them.
const SOURCES_MAX: usize = 200;
/// Nodes of a path, from its end, at which another one may leave it.
const STEPS_MAX: usize = 1000;
/// Ends that are looked at.
const ROWS_MAX: usize = 20_000;

/// Circles up to this length are left out early.
const CIRCLE_MAX: usize = 32;

/// How far nodes are from the root.
pub struct Distances {
    distances: Vec<u32>,
    /// The node before on a shortest path.
    before: Vec<u32>,
}

impl Distances {
    pub fn new(heap: &Heap) -> Distances {
        let mut distances = vec![UNKNOWN; heap.len()];
        let mut before = vec![ROOT; heap.len()];
        let mut queue = Vec::with_capacity(heap.len());
        distances[ROOT as usize] = 0;
        queue.push(ROOT);
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            let distance = distances[node as usize] + 1;
            for &target in heap.targets(node) {
                if distances[target as usize] == UNKNOWN {
                    distances[target as usize] = distance;
                    before[target as usize] = node;
                    queue.push(target);
                }
            }
        }
        Distances { distances, before }
    }

    /// The edges of a shortest path.
    pub fn of(&self, node: u32) -> u32 {
        self.distances[node as usize]
    }

    /// The nodes of a shortest path, the root first.
    pub fn shortest(&self, node: u32) -> Vec<u32> {
        let mut path = vec![node];
        let mut at = node;
        while at != ROOT {
            at = self.before[at as usize];
            path.push(at);
        }
        path.reverse();
        path
    }

    /// Several paths, the shortest first; each differs from the others in an edge at least.
    ///
    /// A path leaves a shortest one at some places. Those places are looked for near the node.
    pub fn paths(&self, heap: &Heap, node: u32, count_max: usize) -> Vec<Vec<u32>> {
        let mut ends = Ends {
            rows: vec![(node, None)],
            queue: BinaryHeap::new(),
        };
        ends.queue.push(Reverse((self.of(node), 0)));
        let mut found = Vec::new();
        while let Some(Reverse((length, index))) = ends.queue.pop() {
            if let Some(path) = self.path(&ends, index) {
                found.push(path);
            }
            if found.len() >= count_max || ends.rows.len() >= ROWS_MAX {
                break;
            }
            self.leave(heap, &mut ends, index, length);
        }
        found
    }

    /// The path with an end; nothing if it is a circle.
    fn path(&self, ends: &Ends, index: usize) -> Option<Vec<u32>> {
        let mut path = self.shortest(ends.rows[index].0);
        let mut seen = HashSet::new();
        let mut next = ends.rows[index].1;
        while let Some(index) = next {
            let (node, after) = ends.rows[index];
            // A node of the shortest path stands at its distance.
            if path.get(self.of(node) as usize) == Some(&node) || !seen.insert(node) {
                return None;
            }
            path.push(node);
            next = after;
        }
        Some(path)
    }

    /// Adds the ends that leave the shortest path to the beginning of an end.
    fn leave(&self, heap: &Heap, ends: &mut Ends, index: usize, length: u32) {
        let mut index = index;
        for _ in 0..STEPS_MAX {
            let node = ends.rows[index].0;
            if node == ROOT {
                return;
            }
            let after = length - self.of(node);
            let shortest = self.before[node as usize];
            let sources = heap.incoming().of(node);
            let others = sources.iter().filter(|source| **source != shortest);
            let mut last = None;
            for &source in others.take(SOURCES_MAX) {
                let distance = self.of(source);
                let is_new = last.replace(source) != Some(source) && !ends.has(index, source);
                if is_new && distance != UNKNOWN {
                    ends.rows.push((source, Some(index)));
                    let row = ends.rows.len() - 1;
                    ends.queue.push(Reverse((distance + after + 1, row)));
                }
            }
            ends.rows.push((shortest, Some(index)));
            index = ends.rows.len() - 1;
        }
    }
}

/// Ends of paths to a node, as a tree.
struct Ends {
    /// The first node of an end, and the end behind it.
    rows: Vec<(u32, Option<usize>)>,
    /// By the length of the shortest path with this end.
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

impl Ends {
    /// Whether a node is at the beginning of an end, where circles mostly close.
    fn has(&self, index: usize, node: u32) -> bool {
        let mut next = Some(index);
        for _ in 0..CIRCLE_MAX {
            let Some(index) = next else {
                return false;
            };
            if self.rows[index].0 == node {
                return true;
            }
            next = self.rows[index].1;
        }
        false
    }
}
