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
/// Beginnings of paths that are looked at.
const STEPS_MAX: usize = 50_000;

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
    pub fn paths(&self, heap: &Heap, node: u32, count_max: usize) -> Vec<Vec<u32>> {
        let mut ends = Ends {
            rows: vec![(node, None)],
            queue: BinaryHeap::new(),
            seen: HashSet::new(),
        };
        ends.queue.push(Reverse((self.of(node), 0)));
        let mut found = Vec::new();
        for _ in 0..STEPS_MAX {
            let Some(Reverse((length, index))) = ends.queue.pop() else {
                break;
            };
            let head = ends.rows[index].0;
            if head == ROOT {
                found.push(ends.path(index));
                if found.len() >= count_max {
                    break;
                }
                continue;
            }
            // A second way to a node goes on as the first one, to show where they part.
            if !ends.seen.insert(head) {
                let mut path = self.shortest(head);
                let rest = ends.path(index);
                if !rest[1..].iter().any(|node| path.contains(node)) {
                    path.extend_from_slice(&rest[1..]);
                    found.push(path);
                    if found.len() >= count_max {
                        break;
                    }
                }
                continue;
            }
            let after = length - self.of(head);
            let sources = heap.incoming().of(head);
            let shortest = self.before[head as usize];
            let others = sources.iter().copied().filter(|source| *source != shortest);
            let mut last = None;
            for source in std::iter::once(shortest).chain(others.take(SOURCES_MAX)) {
                if last.replace(source) == Some(source) || ends.is_on_path(index, source) {
                    continue;
                }
                let distance = self.of(source);
                if distance != UNKNOWN {
                    ends.rows.push((source, Some(index)));
                    let row = ends.rows.len() - 1;
                    ends.queue.push(Reverse((distance + after + 1, row)));
                }
            }
        }
        found
    }
}

/// Ends of paths to a node, as a tree.
struct Ends {
    /// The first node of an end, and the end behind it.
    rows: Vec<(u32, Option<usize>)>,
    /// By the length of the shortest path with this end.
    queue: BinaryHeap<Reverse<(u32, usize)>>,
    seen: HashSet<u32>,
}

impl Ends {
    fn path(&self, index: usize) -> Vec<u32> {
        let mut path = Vec::new();
        let mut next = Some(index);
        while let Some(index) = next {
            let (node, after) = self.rows[index];
            path.push(node);
            next = after;
        }
        path
    }

    fn is_on_path(&self, index: usize, node: u32) -> bool {
        let mut next = Some(index);
        // Long paths are those of lists, whose nodes come once.
        for _ in 0..100 {
            let Some(index) = next else {
                return false;
            };
            let (one, after) = self.rows[index];
            if one == node {
                return true;
            }
            next = after;
        }
        false
    }
}
