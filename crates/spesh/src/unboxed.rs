//! Arguments and results of calls that come as doubles: which of them are better left as the words that
//! they are in slots.

use crate::graph::{Graph, NodeId, Op, Terminator, Test};
use crate::passes::replace_nodes;

/// Keeps flonums as words that nobody computes with: those that are only stored, named by states or returned.
pub fn keep_words(graph: &mut Graph) {
    let mut is_computed_with = vec![false; graph.nodes.len()];
    let mut use_it = |id: NodeId| is_computed_with[id.index()] = true;
    for block in &graph.blocks {
        for id in &block.nodes {
            let op = &graph.node(*id).op;
            if !matches!(op, Op::Box(_)) {
                op.each_input(&mut use_it);
            }
        }
        if !matches!(block.terminator, Terminator::Return(_)) {
            block.terminator.each_input(&mut use_it);
        }
    }
    let mut is_kept = vec![false; graph.nodes.len()];
    let in_blocks = graph.blocks.iter().flat_map(|block| &block.nodes);
    for id in in_blocks.filter(|id| !is_computed_with[id.index()]) {
        let node = &mut graph.nodes[id.index()];
        node.op = match node.op {
            Op::FloatSlot(register) => Op::Slot(register),
            Op::FloatResult(call, state) => Op::Guard(Test::Flonum, call, state),
            _ => continue,
        };
        is_kept[id.index()] = true;
    }
    let word_of: Vec<Option<NodeId>> = graph
        .nodes
        .iter()
        .map(|node| match node.op {
            Op::Box(x) if is_kept[x.index()] => Some(x),
            _ => None,
        })
        .collect();
    replace_nodes(graph, |id| word_of[id.index()].unwrap_or(id));
    for block in &mut graph.blocks {
        block.nodes.retain(|id| word_of[id.index()].is_none());
    }
}
