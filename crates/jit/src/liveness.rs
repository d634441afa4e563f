//! Values that are needed in registers, by backward data flow over roots.
//!
//! A state needs only what is not in its slots already ([`crate::slots`]), so a value that lies in its
//! slot and is named by states alone is never loaded. Nothing survives a cut in a register: a value
//! that is live behind it is loaded again there.

use canny_spesh::code_map::{FastMap, FastSet};
use canny_spesh::graph::{BlockId, Callee, Edge, Graph, NodeId, Op, SlotContent, Terminator};

use crate::cuts::Cuts;
use crate::slots::{SlotStore, Slots, operands_tried};
use crate::values::{Values, is_constant, is_float};

/// A set of roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RootSet(Vec<u64>);

impl RootSet {
    fn new(nodes: usize) -> RootSet {
        RootSet(vec![0; nodes.div_ceil(64)])
    }

    /// Whether a root is in the set.
    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.0[id.index() / 64] >> (id.index() % 64) & 1 == 1
    }

    fn insert(&mut self, id: NodeId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }

    fn remove(&mut self, id: NodeId) {
        self.0[id.index() / 64] &= !(1 << (id.index() % 64));
    }

    fn join(&mut self, other: &RootSet) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// The roots in the set, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| NodeId((index * 64 + bit) as u32))
        })
    }
}

/// The live roots where they matter.
pub(crate) struct Liveness {
    entries: Vec<RootSet>,
    after_nodes: FastMap<NodeId, RootSet>,
    needed: FastSet<NodeId>,
}

impl Liveness {
    /// Runs the data flow.
    pub(crate) fn new(graph: &Graph, values: &Values, slots: &Slots, cuts: &Cuts) -> Liveness {
        let mut flow = Flow {
            graph,
            values,
            slots,
            cuts,
            liveness: Liveness {
                entries: vec![RootSet::new(graph.nodes.len()); graph.blocks.len()],
                after_nodes: FastMap::default(),
                needed: FastSet::default(),
            },
        };
        loop {
            let mut changed = false;
            for index in (0..graph.blocks.len()).rev() {
                let entry = flow.block(BlockId(index as u32));
                if entry != flow.liveness.entries[index] {
                    flow.liveness.entries[index] = entry;
                    changed = true;
                }
            }
            if !changed {
                return flow.liveness;
            }
        }
    }

    /// Returns the values that are live at the start of a block, parameters included.
    pub(crate) fn at_block(&self, id: BlockId) -> &RootSet {
        &self.entries[id.index()]
    }

    /// Returns the values that are live behind a node that is a call or runs in the runtime, its
    /// own value included.
    pub(crate) fn after(&self, id: NodeId) -> Option<&RootSet> {
        self.after_nodes.get(&id)
    }

    /// Whether a node that only makes a value must be computed.
    pub(crate) fn is_needed(&self, id: NodeId) -> bool {
        self.needed.contains(&id)
    }

    /// Returns the values that are live on an edge.
    pub(crate) fn on_edge(&self, graph: &Graph, values: &Values, edge: &Edge) -> RootSet {
        let parameters = &graph.blocks[edge.target.index()].parameters;
        let there = self.at_block(edge.target);
        let mut live = there.clone();
        for parameter in parameters {
            live.remove(*parameter);
        }
        for (parameter, argument) in parameters.iter().zip(&edge.arguments) {
            let root = values.root(*argument);
            if there.contains(*parameter) && !is_constant(graph, root) {
                live.insert(root);
            }
        }
        live
    }
}

struct Flow<'a> {
    graph: &'a Graph,
    values: &'a Values,
    slots: &'a Slots,
    cuts: &'a Cuts,
    liveness: Liveness,
}

impl Flow<'_> {
    fn block(&mut self, id: BlockId) -> RootSet {
        let block = &self.graph.blocks[id.index()];
        let mut live = RootSet::new(self.graph.nodes.len());
        for edge in block.terminator.edges() {
            live.join(&self.liveness.on_edge(self.graph, self.values, edge));
        }
        self.end(id, &block.terminator, &mut live);
        for &node in block.nodes.iter().rev() {
            self.node(node, &mut live);
        }
        live
    }

    fn end(&mut self, id: BlockId, terminator: &Terminator, live: &mut RootSet) {
        match terminator {
            Terminator::Return(x) => self.add(*x, live),
            Terminator::Branch { condition, .. } => {
                condition.each_operand(&mut |x, _| self.add(x, live));
            }
            Terminator::TailCall(callee, arguments, _) => {
                self.add_callee(callee, live);
                for argument in arguments {
                    self.add(*argument, live);
                }
            }
            Terminator::RuntimeBranch { .. } => self.behind_runtime(self.cuts.cuts_end(id), live),
            Terminator::None | Terminator::Jump(_) | Terminator::Exit(_) => {}
        }
        self.add_stores(self.slots.at_end(id), live);
    }

    fn node(&mut self, id: NodeId, live: &mut RootSet) {
        let op = &self.graph.node(id).op;
        let root = self.values.root(id);
        match op {
            Op::Call(callee, arguments, _) => {
                self.liveness.after_nodes.insert(id, live.clone());
                *live = RootSet::new(self.graph.nodes.len());
                self.add_callee(callee, live);
                for argument in arguments {
                    self.add(*argument, live);
                }
            }
            Op::Runtime(state) if let Some(operands) = operands_tried(self.graph, *state) => {
                self.liveness.after_nodes.insert(id, live.clone());
                live.remove(id);
                for operand in operands {
                    self.add(operand, live);
                }
            }
            Op::Runtime(_) => {
                self.liveness.after_nodes.insert(id, live.clone());
                live.remove(id);
                self.behind_runtime(self.cuts.cuts_node(id), live);
            }
            _ if op.is_removable() => {
                if root != id || !live.contains(id) {
                    return;
                }
                self.liveness.needed.insert(id);
                live.remove(id);
                op.each_input(|x| self.add(x, live));
            }
            _ => {
                live.remove(id);
                op.each_input(|x| self.add(x, live));
            }
        }
        self.add_stores(self.slots.at_node(id), live);
    }

    /// Before an instruction in the runtime only unboxed numbers are live of what is needed behind it, and
    /// nothing if the code is cut there.
    fn behind_runtime(&self, is_cut: bool, live: &mut RootSet) {
        let floats: Vec<NodeId> = live
            .iter()
            .filter(|root| !is_cut && is_float(self.graph, *root))
            .collect();
        *live = RootSet::new(self.graph.nodes.len());
        for root in floats {
            live.insert(root);
        }
    }

    fn add(&self, id: NodeId, live: &mut RootSet) {
        let root = self.values.root(id);
        if !is_constant(self.graph, root) {
            live.insert(root);
        }
    }

    fn add_callee(&self, callee: &Callee, live: &mut RootSet) {
        self.add(callee.closure(), live);
    }

    /// Adds the values that an exit needs for its slots; for an object that it makes itself, the
    /// parts.
    fn add_stores(&self, stores: &[SlotStore], live: &mut RootSet) {
        let mut made = FastSet::default();
        let mut pending: Vec<NodeId> = stores
            .iter()
            .filter_map(|(_, content)| match content {
                SlotContent::Node(id) => Some(*id),
                SlotContent::Address(_) => None,
            })
            .collect();
        while let Some(id) = pending.pop() {
            let root = self.values.root(id);
            if !self.graph.is_sunk(root) {
                self.add(root, live);
            } else if made.insert(root) {
                let op = &self.graph.node(root).op;
                op.each_input(|part| pending.push(part));
            }
        }
    }
}
