//! Escape analysis: finds new objects that are made at side exits only.
//!
//! An inlined procedure's closure, a rest list or a number in a loop may be needed by nobody but the
//! interpreter, should it have to resume from a state in between: the builder takes all reads of
//! compiled code from the values that they were made of. Such an object is not made where its node
//! stands but in the exits, each of which makes it once however many slots name it. Every other use
//! of an object, be it another object that is made or a state that a call or the runtime leaves in
//! the frame, needs the object itself.

use crate::graph::{Graph, NodeId, Op, SlotContent, StateId};

/// Marks those objects in [`Graph::sunk`].
pub fn sink(graph: &mut Graph) {
    let mut sunk: Vec<bool> = graph.nodes.iter().map(|node| is_new(&node.op)).collect();
    if sunk.contains(&true) {
        for id in needed(graph) {
            sunk[graph.unchecked(id).index()] = false;
        }
        keep_parts(graph, &mut sunk);
    }
    graph.sunk = sunk;
}

fn is_new(op: &Op) -> bool {
    matches!(op, Op::Cons(..) | Op::Allocate(..))
}

/// The parts of what is made are made.
fn keep_parts(graph: &Graph, sunk: &mut [bool]) {
    let mut pending: Vec<NodeId> = graph
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .copied()
        .filter(|id| is_new(&graph.node(*id).op) && !sunk[id.index()])
        .collect();
    while let Some(id) = pending.pop() {
        graph.node(id).op.each_input(|part| {
            let part = graph.unchecked(part);
            if std::mem::take(&mut sunk[part.index()]) {
                pending.push(part);
            }
        });
    }
}

/// Nodes whose value something asks for, besides exits and new objects.
fn needed(graph: &Graph) -> Vec<NodeId> {
    let mut needed = Vec::new();
    let state = |needed: &mut Vec<NodeId>, id: StateId| {
        needed.extend(
            graph
                .slots(id)
                .iter()
                .filter_map(|(_, content)| match content {
                    SlotContent::Node(node) => Some(*node),
                    SlotContent::Address(_) => None,
                }),
        );
    };
    for block in &graph.blocks {
        for id in &block.nodes {
            let op = &graph.node(*id).op;
            if !is_new(op) && !matches!(op, Op::Refine(_)) {
                op.each_input(|input| needed.push(input));
            }
            if let Some(id) = op.state().filter(|_| op.is_safepoint()) {
                state(&mut needed, id);
            }
        }
        block.terminator.each_input(|input| needed.push(input));
        let end = &block.terminator;
        if let Some(id) = end.state().filter(|_| end.is_safepoint()) {
            state(&mut needed, id);
        }
    }
    needed
}
