//! Where the code of a procedure is cut.
//!
//! A cut ends one segment and begins another that takes nothing over in registers. Every call cuts. An
//! instruction left to the runtime cuts too, so that no native frame is needed around its call, unless
//! an unboxed number that has no slot is needed behind it, it seldom gets to the runtime, or the
//! segments together grew too large.

use canny_spesh::code_map::FastSet;
use canny_spesh::graph::{BlockId, Graph, NodeId, Op, SlotContent, Terminator};

use crate::JitError;
use crate::liveness::{Liveness, RootSet};
use crate::slots::{SlotStore, Slots, operands_tried};
use crate::values::{Values, is_float};

/// Instructions in the runtime that do not cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts {
    whole_nodes: FastSet<NodeId>,
    whole_ends: FastSet<BlockId>,
    all_whole: bool,
}

impl Cuts {
    /// Decides for every instruction in the runtime.
    pub(crate) fn new(graph: &Graph, values: &Values, slots: &Slots) -> Result<Cuts, JitError> {
        let mut cuts = Cuts::none_at_runtime();
        let liveness = Liveness::new(graph, values, slots, &cuts);
        cuts.all_whole = false;
        for (index, block) in graph.blocks.iter().enumerate() {
            for &node in &block.nodes {
                let Op::Runtime(state) = graph.node(node).op else {
                    continue;
                };
                if operands_tried(graph, state).is_some() {
                    cuts.whole_nodes.insert(node);
                } else if let Some(live) = liveness.after(node)
                    && loses_float(graph, values, &slots.behind(graph, state)?, live)
                {
                    cuts.whole_nodes.insert(node);
                }
            }
            if let Terminator::RuntimeBranch { state, .. } = block.terminator {
                let behind = slots.behind(graph, state)?;
                let loses = block.terminator.edges().any(|edge| {
                    let live = liveness.on_edge(graph, values, edge);
                    loses_float(graph, values, &behind, &live)
                });
                if loses {
                    cuts.whole_ends.insert(BlockId(index as u32));
                }
            }
        }
        Ok(cuts)
    }

    /// Cuts at calls only.
    pub(crate) fn none_at_runtime() -> Cuts {
        Cuts {
            all_whole: true,
            ..Cuts::default()
        }
    }

    /// Whether an instruction in the runtime cuts.
    pub(crate) fn cuts_node(&self, id: NodeId) -> bool {
        !self.all_whole && !self.whole_nodes.contains(&id)
    }

    /// Whether a branch in the runtime cuts.
    pub(crate) fn cuts_end(&self, id: BlockId) -> bool {
        !self.all_whole && !self.whole_ends.contains(&id)
    }
}

fn loses_float(graph: &Graph, values: &Values, behind: &[SlotStore], live: &RootSet) -> bool {
    live.iter().any(|root| {
        let content = SlotContent::Node(values.slot_root(graph, root));
        is_float(graph, root) && !behind.iter().any(|(_, there)| *there == content)
    })
}
