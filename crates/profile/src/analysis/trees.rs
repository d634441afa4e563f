//! Trees of places: from the oldest frame to the newest, or from each place to its callers.
//!
//! Stacks that differ in lines or tiers only are one branch, as the grain demands. A node comes
//! after its parent in the list, so costs are added up from the last node to the first.

use std::collections::HashMap;

use super::{Cost, Grain, Place, Weights};
use crate::model::{StackIndex, StackKind};

/// A place with the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub place: Place,
    pub parent: Option<usize>,
    /// The largest total first.
    pub children: Vec<usize>,
    /// The cost of stacks that end here; in a bottom-up tree, those that have no further caller.
    pub own: Cost,
    pub total: Cost,
}

/// A tree of places, as a list of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub nodes: Vec<Node>,
    /// The largest total first.
    pub roots: Vec<usize>,
    pub total: Cost,
}

#[derive(Default)]
struct Growing {
    nodes: Vec<Node>,
    by_place: HashMap<(Option<usize>, Place), usize>,
}

impl Growing {
    /// The child of a node for a place.
    fn child(&mut self, parent: Option<usize>, place: Place) -> usize {
        *self.by_place.entry((parent, place)).or_insert_with(|| {
            self.nodes.push(Node {
                place,
                parent,
                children: Vec::new(),
                own: Cost::default(),
                total: Cost::default(),
            });
            self.nodes.len() - 1
        })
    }

    /// Adds totals up from children to parents, which come before them, and links them.
    fn finish(mut self, total: Cost) -> Tree {
        let mut roots = Vec::new();
        for index in (0..self.nodes.len()).rev() {
            let own = self.nodes[index].own;
            self.nodes[index].total += own;
            let total = self.nodes[index].total;
            match self.nodes[index].parent {
                Some(parent) => {
                    self.nodes[parent].total += total;
                    self.nodes[parent].children.push(index);
                }
                None => roots.push(index),
            }
        }
        let totals: Vec<Cost> = self.nodes.iter().map(|node| node.total).collect();
        let largest_first = |list: &mut Vec<usize>| {
            list.sort_by_key(|index| (std::cmp::Reverse(totals[*index]), *index));
        };
        largest_first(&mut roots);
        for node in &mut self.nodes {
            largest_first(&mut node.children);
        }
        Tree {
            nodes: self.nodes,
            roots,
            total,
        }
    }
}

/// The tree whose roots are the oldest frames.
pub fn top_down(weights: &Weights, grain: Grain) -> Tree {
    let mut tree = Growing::default();
    let mut nodes: Vec<Option<usize>> = vec![None; weights.profile.rows.stacks.len()];
    for row in 0..nodes.len() {
        let stack = StackIndex::new(row);
        if weights.inclusive(stack).count == 0 {
            continue;
        }
        let mut parent = weights.parent(stack).and_then(|parent| nodes[parent.row()]);
        if weights.kind(stack) == StackKind::Cut {
            parent = Some(tree.child(parent, Place::Cut));
        }
        let node = tree.child(parent, weights.place(stack, grain));
        tree.nodes[node].own += weights.own(stack);
        nodes[row] = Some(node);
    }
    if weights.unknown.count > 0 {
        let node = tree.child(None, Place::Unknown);
        tree.nodes[node].own += weights.unknown;
    }
    tree.finish(weights.total)
}

/// Nodes of a bottom-up tree. It can have as many as all stacks have frames together.
const NODES_MAX: usize = 4_000_000;

/// The tree whose roots are the newest frames and whose branches are callers, so many at most.
///
/// A tree that would become too large for memory has no callers for some of its stacks.
pub fn bottom_up(weights: &Weights, grain: Grain, depth_max: usize) -> Tree {
    let mut tree = Growing::default();
    for (stack, cost) in weights.stacks() {
        let mut node = None;
        for place in weights.places(stack, grain).take(depth_max.max(1)) {
            if node.is_some() && tree.nodes.len() >= NODES_MAX {
                break;
            }
            node = Some(tree.child(node, place));
        }
        if let Some(node) = node {
            tree.nodes[node].own += cost;
        }
    }
    if weights.unknown.count > 0 {
        let node = tree.child(None, Place::Unknown);
        tree.nodes[node].own += weights.unknown;
    }
    tree.finish(weights.total)
}
