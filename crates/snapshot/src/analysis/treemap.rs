//! The dominator tree as nested rectangles: children with most retained bytes, and the rest.

use std::cmp::Reverse;

use super::Analysis;

/// The depth of a picture; deeper rectangles could not be seen.
const DEPTH_MAX: usize = 12;

/// A node with the largest of the nodes that it dominates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub node: u32,
    pub label: String,
    /// The bytes of the object alone.
    pub bytes: u64,
    pub retained: u64,
    pub children: Vec<Tile>,
    /// Number and retained bytes of the other children.
    pub others: u64,
    pub others_retained: u64,
}

impl Analysis {
    /// The immediate children of a node in the dominator tree, those with most retained bytes
    /// first, and the number and retained bytes of those beyond.
    pub fn dominated(&self, node: u32, count_max: usize) -> (Vec<u32>, u64, u64) {
        let dominators = self.dominators();
        let mut children = dominators.children(node).to_vec();
        let key = |node: &u32| (Reverse(dominators.retained(*node)), *node);
        if children.len() > count_max {
            children.select_nth_unstable_by_key(count_max, key);
        }
        let rest = children.split_off(count_max.min(children.len()));
        let rest_bytes = rest.iter().map(|node| dominators.retained(*node)).sum();
        children.sort_unstable_by_key(key);
        (children, rest.len() as u64, rest_bytes)
    }

    /// Tiles below a node, so deep and with so many children each.
    pub fn tiles(&self, node: u32, depth: usize, count_max: usize) -> Tile {
        self.tiles_of(node, depth, count_max, 0)
    }

    /// The same; children with fewer retained bytes than `bytes_min` are among the others.
    pub fn tiles_of(&self, node: u32, depth: usize, count_max: usize, bytes_min: u64) -> Tile {
        let mut tile = Tile {
            node,
            label: self.heap().label(node),
            bytes: self.heap().size(node),
            retained: self.dominators().retained(node),
            children: Vec::new(),
            others: 0,
            others_retained: 0,
        };
        if depth > 0 {
            let depth = depth.min(DEPTH_MAX) - 1;
            let (mut children, others, others_retained) = self.dominated(node, count_max);
            let retained = |child: &u32| self.dominators().retained(*child);
            let seen = children.partition_point(|child| retained(child) >= bytes_min);
            let small = children.split_off(seen);
            tile.others = others + small.len() as u64;
            tile.others_retained = others_retained + small.iter().map(retained).sum::<u64>();
            let of_child = |child| self.tiles_of(child, depth, count_max, bytes_min);
            tile.children = children.into_iter().map(of_child).collect();
        }
        tile
    }
}
