//! Where the code of a procedure is cut.
//!
//! A cut ends one segment and begins another that takes nothing over in registers. Every call cuts. An
//! instruction left to the runtime cuts too, so that no native frame is needed around its call, unless
//! it was found that it had better not ([`crate::cut_choice`]), or the segments together grew too
//! large.

use canny_spesh::code_map::FastSet;
use canny_spesh::graph::{BlockId, NodeId};

/// Instructions in the runtime that do not cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts {
    whole_nodes: FastSet<NodeId>,
    whole_ends: FastSet<BlockId>,
    all_whole: bool,
}

impl Cuts {
    /// Cuts at calls, and at the instructions in the runtime but for these nodes and ends of blocks.
    pub(crate) fn except(nodes: FastSet<NodeId>, ends: FastSet<BlockId>) -> Cuts {
        Cuts {
            whole_nodes: nodes,
            whole_ends: ends,
            all_whole: false,
        }
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
