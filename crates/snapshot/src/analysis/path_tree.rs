//! Paths of types in the dominator trees of one heap or of two, with sums: a tree of steps.
//!
//! A step stands for all nodes of a type below the same step. A list or tree of one type is one step.
//! Types have numbers of the caller, so that two heaps with different tables of types can share
//! steps. Nothing is counted twice within a step: no node of it dominates another one.

use std::collections::HashMap;

use super::{Amount, Analysis};
use crate::heap::ROOT;

/// The longest path.
const PATH_MAX: usize = 8;
/// The most steps.
const STEPS_MAX: usize = 1 << 20;

/// The step of the root, which is above all others.
pub(super) const TOP: u32 = 0;

/// The nodes at the end of a path. Bytes are retained ones.
pub(super) struct Step {
    pub above: u32,
    pub type_number: u32,
    length: usize,
    /// Of the first heap and of the second.
    pub sums: [Amount; 2],
}

/// The steps of one heap or two. A step comes behind the one above it.
pub(super) struct PathTree {
    pub steps: Vec<Step>,
    known: HashMap<(u32, u32), u32>,
}

impl PathTree {
    pub fn new() -> PathTree {
        PathTree {
            steps: vec![Step {
                above: TOP,
                type_number: u32::MAX,
                length: 0,
                sums: [Amount::default(); 2],
            }],
            known: HashMap::new(),
        }
    }

    /// Adds the nodes of a heap to the sums with an index; `number` gives types their numbers.
    pub fn add(&mut self, analysis: &Analysis, index: usize, number: impl Fn(u32) -> u32) {
        let (heap, dominators) = (analysis.heap(), analysis.dominators());
        self.steps[TOP as usize].sums[index] = Amount {
            objects: 1,
            bytes: dominators.retained(ROOT),
        };
        let mut step_of = vec![TOP; heap.len()];
        // Dominators have lower numbers than what they dominate.
        for node in 1..heap.len() as u32 {
            let above = step_of[dominators.idom(node).unwrap_or(ROOT) as usize];
            step_of[node as usize] = above;
            let type_number = number(heap.type_number(node));
            let Some(step) = self.step_below(above, type_number) else {
                continue;
            };
            step_of[node as usize] = step;
            let sum = &mut self.steps[step as usize].sums[index];
            sum.bytes += dominators.retained(node);
            sum.objects += 1;
        }
    }

    /// The step of a type below another step, unless the node belongs to that one.
    fn step_below(&mut self, above: u32, type_number: u32) -> Option<u32> {
        let parent = &self.steps[above as usize];
        let length = parent.length + 1;
        if (type_number == parent.type_number && above != TOP) || length > PATH_MAX {
            return None;
        }
        if let Some(step) = self.known.get(&(above, type_number)) {
            return Some(*step);
        }
        if self.steps.len() >= STEPS_MAX {
            return None;
        }
        let step = self.steps.len() as u32;
        self.known.insert((above, type_number), step);
        self.steps.push(Step {
            above,
            type_number,
            length,
            sums: [Amount::default(); 2],
        });
        Some(step)
    }

    /// The types on the way to a step, without the root.
    pub fn path(&self, step: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = step;
        while at != TOP {
            path.push(self.steps[at as usize].type_number);
            at = self.steps[at as usize].above;
        }
        path.reverse();
        path
    }
}
