//! Nodes that are the same value, and nodes that are constants.
//!
//! A guard's or refinement's value is its operand; equal constants are one value. Everything after this
//! looks at *roots* only.

use canny_spesh::code_map::FastMap;
use canny_spesh::graph::{Graph, NodeId, Op, Representation};

/// The roots of all nodes of a graph.
pub(crate) struct Values {
    roots: Vec<NodeId>,
}

#[derive(PartialEq, Eq, Hash)]
enum Constant {
    Word(u64),
    PoolSlot(u64),
    Float(u64),
}

impl Values {
    /// Finds the roots.
    pub(crate) fn new(graph: &Graph) -> Values {
        let mut constants: FastMap<Constant, NodeId> = FastMap::default();
        let roots = (0..graph.nodes.len() as u32)
            .map(|index| {
                let id = graph.unchecked(NodeId(index));
                let constant = match graph.node(id).op {
                    Op::Word(word) => Constant::Word(word),
                    Op::PoolSlot(address) => Constant::PoolSlot(address),
                    Op::Float(number) => Constant::Float(number.to_bits()),
                    _ => return id,
                };
                *constants.entry(constant).or_insert(id)
            })
            .collect();
        Values { roots }
    }

    /// The root of a node.
    pub(crate) fn root(&self, id: NodeId) -> NodeId {
        self.roots[id.index()]
    }

    /// The root that stands for a node as the content of a slot: an unboxed flonum is there as the flonum.
    pub(crate) fn slot_root(&self, graph: &Graph, id: NodeId) -> NodeId {
        let root = self.root(id);
        match graph.node(root).op {
            Op::Unbox(flonum) => self.root(flonum),
            _ => root,
        }
    }
}

/// Whether a root is made anew wherever it is used.
pub(crate) fn is_constant(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op.is_constant()
}

/// Whether a node's value is an unboxed double.
pub(crate) fn is_float(graph: &Graph, id: NodeId) -> bool {
    graph.representation(id) == Representation::Float
}
