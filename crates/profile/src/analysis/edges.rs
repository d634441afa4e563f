//! Calls: who calls a function at which cost, and whom it calls.
//!
//! With recursion a stack has a function several times. Its callers are those of its oldest frame
//! and its callees those of its newest frame. So the callers' costs add up to the function's total,
//! and the callees' costs and its own do too.

use std::collections::{BTreeMap, HashMap};

use super::weights::Visit;
use super::{Cost, Grain, Place, Weights};
use crate::model::FunctionIndex;

/// A call from a line of a function, or from nowhere, to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub caller: Option<(FunctionIndex, u32)>,
    pub callee: FunctionIndex,
}

/// The cost of each call edge.
///
/// A frame whose function is already on the stack has an edge without a cost, so the costs of all
/// edges to a function add up to its total.
pub fn call_edges(weights: &Weights) -> BTreeMap<Edge, Cost> {
    let mut edges: BTreeMap<Edge, Cost> = BTreeMap::new();
    let mut on_path: HashMap<FunctionIndex, usize> = HashMap::new();
    weights.visit(|visit| match visit {
        Visit::Enter(stack) => {
            let callee = weights.frame(stack).function;
            let caller = weights.parent(stack).map(|parent| {
                let frame = weights.frame(parent);
                (frame.function, frame.line)
            });
            let edge = edges.entry(Edge { caller, callee }).or_default();
            let times = on_path.entry(callee).or_default();
            if *times == 0 {
                *edge += weights.inclusive(stack);
            }
            *times += 1;
        }
        Visit::Leave(stack) => {
            if let Some(times) = on_path.get_mut(&weights.frame(stack).function) {
                *times -= 1;
            }
        }
    });
    edges
}

/// The callers and callees of a function, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    pub own: Cost,
    pub total: Cost,
    /// `None` stands for the beginning of a stack.
    pub callers: Vec<(Option<Place>, Cost)>,
    pub callees: Vec<(Place, Cost)>,
}

/// Sums for one function.
pub fn neighbours(weights: &Weights, function: FunctionIndex) -> Neighbours {
    let focus = Place::Function(function);
    let place = |stack| weights.place(stack, Grain::Function);
    let mut found = Neighbours::default();
    let mut callers: HashMap<Option<Place>, Cost> = HashMap::new();
    let mut callees: HashMap<Place, (Cost, Cost)> = HashMap::new();
    // For each frame of the function on the path, the callee that the path goes through.
    let mut frames: Vec<Place> = Vec::new();
    weights.visit(|visit| match visit {
        Visit::Enter(stack) => {
            let cost = weights.inclusive(stack);
            let parent = weights.parent(stack).map(place);
            if parent == Some(focus)
                && let Some(callee) = frames.last_mut()
            {
                *callee = place(stack);
                callees.entry(*callee).or_default().0 += cost;
            }
            if place(stack) == focus {
                found.own += weights.own(stack);
                match frames.last() {
                    // The frame below is not the newest one of the function any more.
                    Some(callee) => callees.entry(*callee).or_default().1 += cost,
                    None => {
                        found.total += cost;
                        *callers.entry(parent).or_default() += cost;
                    }
                }
                frames.push(focus);
            }
        }
        Visit::Leave(stack) => {
            if place(stack) == focus {
                frames.pop();
            }
        }
    });
    let callees = callees.into_iter();
    let callees = callees.map(|(callee, (cost, inner))| (callee, cost.without(inner)));
    found.callees = callees.filter(|(_, cost)| cost.count > 0).collect();
    found
        .callees
        .sort_by_key(|(place, cost)| (std::cmp::Reverse(*cost), *place));
    found.callers = callers.into_iter().collect();
    found
        .callers
        .sort_by_key(|(place, cost)| (std::cmp::Reverse(*cost), *place));
    found
}
