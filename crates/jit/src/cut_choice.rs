//! Chooses where the instructions in the runtime cut the code of a procedure.
//!
//! One does not cut if an unboxed number that has no slot is needed behind it, or if it seldom gets to
//! the runtime.

use canny_spesh::code_map::FastSet;
use canny_spesh::graph::{BlockId, Graph, Op, SlotContent, Terminator};

use crate::JitError;
use crate::cuts::Cuts;
use crate::liveness::{Liveness, RootSet};
use crate::slots::{SlotStore, Slots, operands_tried};
use crate::values::{Values, is_float};

/// Decides for every instruction in the runtime whether it cuts.
pub(crate) fn choose_cuts(graph: &Graph, values: &Values, slots: &Slots) -> Result<Cuts, JitError> {
    let liveness = Liveness::new(graph, values, slots, &Cuts::none_at_runtime());
    let mut nodes = FastSet::default();
    let mut ends = FastSet::default();
    for (index, block) in graph.blocks.iter().enumerate() {
        for &node in &block.nodes {
            let Op::Runtime(state) = graph.node(node).op else {
                continue;
            };
            if operands_tried(graph, state).is_some() {
                nodes.insert(node);
            } else if let Some(live) = liveness.after(node)
                && loses_float(graph, values, &slots.behind(graph, state)?, live)
            {
                nodes.insert(node);
            }
        }
        if let Terminator::RuntimeBranch { state, .. } = block.terminator {
            let behind = slots.behind(graph, state)?;
            let loses = block.terminator.edges().any(|edge| {
                let live = liveness.on_edge(graph, values, edge);
                loses_float(graph, values, &behind, &live)
            });
            if loses {
                ends.insert(BlockId(index as u32));
            }
        }
    }
    Ok(Cuts::except(nodes, ends))
}

fn loses_float(graph: &Graph, values: &Values, behind: &[SlotStore], live: &RootSet) -> bool {
    live.iter().any(|root| {
        let content = SlotContent::Node(values.slot_root(graph, root));
        is_float(graph, root) && !behind.iter().any(|(_, there)| *there == content)
    })
}
