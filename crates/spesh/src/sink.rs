//! Escape analysis: finds new objects that are made at side exits only.
//!
//! An inlined procedure's closure, a rest list or a number in a loop may be needed by nobody but the
//! interpreter, should it have to resume from a state in between: the builder takes all reads of
//! compiled code from the values that they were made of. Such an object is not made where its node
//! stands but in the exits, each of which makes it once however many slots name it. Every other use
//! of an object, be it another object that is made or a state that a call or the runtime leaves in
//! the frame, needs the object itself.

use crate::code_map::FastMap;
use crate::graph::{Escape, Graph, NodeId, Op, SlotContent, StateId, Terminator};

/// Marks those objects in [`Graph::sunk`], and says of the others why in [`Graph::escapes`].
pub fn sink(graph: &mut Graph) {
    let mut sunk: Vec<bool> = graph.nodes.iter().map(|node| is_new(&node.op)).collect();
    let mut escapes = FastMap::default();
    if sunk.contains(&true) {
        for (id, escape) in needed(graph) {
            let id = graph.unchecked(id);
            if is_new(&graph.node(id).op) {
                sunk[id.index()] = false;
                let known = escapes.entry(id).or_insert(escape);
                *known = escape.min(*known);
            }
        }
        keep_parts(graph, &mut sunk, &mut escapes);
    }
    graph.sunk = sunk;
    graph.escapes = escapes;
}

fn is_new(op: &Op) -> bool {
    matches!(op, Op::Cons(..) | Op::Allocate(..))
}

/// The parts of what is made are made.
fn keep_parts(graph: &Graph, sunk: &mut [bool], escapes: &mut FastMap<NodeId, Escape>) {
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
                escapes.insert(part, Escape::Stored);
                pending.push(part);
            }
        });
    }
}

/// The meaning of an object's use by an operation.
fn escape_of(op: &Op) -> Escape {
    match op {
        Op::Call(..) => Escape::Called,
        Op::Store(..) | Op::StoreElement(..) => Escape::Stored,
        Op::Leaf(..) | Op::Number(..) => Escape::Machine,
        _ => Escape::Used,
    }
}

/// Nodes whose value something asks for, besides exits and new objects.
fn needed(graph: &Graph) -> Vec<(NodeId, Escape)> {
    let mut needed = Vec::new();
    let state = |needed: &mut Vec<(NodeId, Escape)>, id: StateId, escape: Escape| {
        needed.extend(
            graph
                .slots(id)
                .iter()
                .filter_map(|(_, content)| match content {
                    SlotContent::Node(node) => Some((*node, escape)),
                    SlotContent::Address(_) => None,
                }),
        );
    };
    for block in &graph.blocks {
        for id in &block.nodes {
            let op = &graph.node(*id).op;
            if !is_new(op) && !matches!(op, Op::Refine(_)) {
                let escape = escape_of(op);
                op.each_input(|input| needed.push((input, escape)));
            }
            if let Some(id) = op.state().filter(|_| op.is_safepoint()) {
                let is_call = matches!(op, Op::Call(..));
                let escape = if is_call {
                    Escape::Kept
                } else {
                    Escape::Machine
                };
                state(&mut needed, id, escape);
            }
        }
        let end = &block.terminator;
        let escape = match end {
            Terminator::Return(..) => Escape::Returned,
            _ if end.edges().next().is_some() => Escape::Joined,
            _ => Escape::Called,
        };
        end.each_input(|input| needed.push((input, escape)));
        if let Some(id) = end.state().filter(|_| end.is_safepoint()) {
            state(&mut needed, id, Escape::Called);
        }
    }
    needed
}
