//! The choice of joins that become segments of their own.
//!
//! Without them every block behind a join would stand in each segment that gets there, and code with
//! many calls would grow with the square of their number. A join that is a segment of its own is
//! reached by a jump, with what is live there in the thread block's carried words: nothing can be
//! collected in between. Small ones are rather repeated, and so are loops that are entered from outside
//! and from behind a call inside of them.
//!
//! Every block gets a label: the root of the segment that it belongs to. Where ways with different
//! labels meet, a label begins.

use canny_spesh::code_map::FastSet;
use canny_spesh::graph::{BlockId, Graph, Op, Terminator};
use canny_spesh::passes::reverse_postorder;
use canny_tables::layout::thread;

use crate::cuts::Cuts;
use crate::liveness::Liveness;

/// Nodes that may stand again for the sake of one join, in all segments together.
const REPEATED_MAX: usize = 40;
/// The same for a large loop, and for one with at most [`SMALL_LOOP`] nodes.
const REPEATED_LOOP_MAX: usize = 80;
const REPEATED_SMALL_LOOP_MAX: usize = 160;
const SMALL_LOOP: usize = 64;
/// Number of nodes that a block counts for, besides its own.
const BLOCK_NODES: usize = 3;

/// Blocks that begin segments, besides those behind cuts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joins(FastSet<BlockId>);

/// The root of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Label {
    Entry,
    Join(BlockId),
    /// Behind the last cut inside of a block.
    Behind(BlockId),
    /// On an edge of the branch in the runtime that ends a block.
    Edge(BlockId, usize),
}

impl Joins {
    /// Decides for every block.
    pub(crate) fn new(graph: &Graph, cuts: &Cuts, liveness: &Liveness) -> Joins {
        let mut joins = Joins::default();
        let order = reverse_postorder(graph);
        let predecessors = predecessors(graph);
        let mut labels = vec![None; graph.blocks.len()];
        loop {
            let before = joins.0.len();
            joins.label(graph, cuts, &order, &predecessors, &mut labels);
            if joins.0.len() == before {
                break;
            }
        }
        let ways = ways_in(graph, cuts, &predecessors, &labels);
        // Inner ones first: their repeated nodes count for those around.
        for block in order.into_iter().rev() {
            if !joins.0.contains(&block) {
                continue;
            }
            let nodes = joins.nodes_from(graph, cuts, block);
            let repeated = nodes * ways[block.index()].len().saturating_sub(1);
            let is_loop = graph.blocks[block.index()].is_loop;
            let repeated_max = if !is_loop {
                REPEATED_MAX
            } else if nodes <= SMALL_LOOP {
                REPEATED_SMALL_LOOP_MAX
            } else {
                REPEATED_LOOP_MAX
            };
            let carried = liveness.at_block(block).iter().count();
            if repeated <= repeated_max || carried > thread::CARRIED_WORDS {
                joins.0.remove(&block);
            }
        }
        joins
    }

    /// Whether a block begins a segment.
    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.0.contains(&block)
    }

    /// One round of labelling; new joins are added where labels differ.
    fn label(
        &mut self,
        graph: &Graph,
        cuts: &Cuts,
        order: &[BlockId],
        predecessors: &[Vec<Way>],
        labels: &mut [Option<Label>],
    ) {
        labels.fill(None);
        for &block in order {
            labels[block.index()] = if block == BlockId(0) {
                Some(Label::Entry)
            } else if self.0.contains(&block) {
                Some(Label::Join(block))
            } else {
                let mut ways = predecessors[block.index()]
                    .iter()
                    .filter_map(|(from, edge)| label_out(graph, cuts, labels, *from, *edge));
                let first = ways.next();
                if ways.all(|label| Some(label) == first) {
                    first
                } else {
                    self.0.insert(block);
                    Some(Label::Join(block))
                }
            };
        }
        // Now those that go back to a loop are known too.
        for &block in order {
            let own = labels[block.index()];
            let differs = predecessors[block.index()]
                .iter()
                .any(|(from, edge)| label_out(graph, cuts, labels, *from, *edge) != own);
            if differs && !matches!(own, Some(Label::Join(_)) | None) && block != BlockId(0) {
                self.0.insert(block);
            }
        }
    }

    /// Nodes that a segment contains from a block on.
    fn nodes_from(&self, graph: &Graph, cuts: &Cuts, start: BlockId) -> usize {
        let mut seen = FastSet::from_iter([start]);
        let mut work = vec![start];
        let mut nodes = 0;
        while let Some(id) = work.pop() {
            let block = &graph.blocks[id.index()];
            nodes += BLOCK_NODES;
            let cut = first_cut(graph, cuts, id);
            nodes += cut.unwrap_or(block.nodes.len());
            if cut.is_some() || ends_in_cut(graph, cuts, id) {
                continue;
            }
            for edge in block.terminator.edges() {
                if !self.0.contains(&edge.target) && seen.insert(edge.target) {
                    work.push(edge.target);
                }
            }
        }
        nodes
    }
}

/// The label on an edge out of a block; none as long as the block has none.
fn label_out(
    graph: &Graph,
    cuts: &Cuts,
    labels: &[Option<Label>],
    from: BlockId,
    edge: usize,
) -> Option<Label> {
    let label = labels[from.index()]?;
    Some(if ends_in_cut(graph, cuts, from) {
        Label::Edge(from, edge)
    } else if first_cut(graph, cuts, from).is_some() {
        Label::Behind(from)
    } else {
        label
    })
}

/// Different labels with which each block is reached.
fn ways_in(
    graph: &Graph,
    cuts: &Cuts,
    predecessors: &[Vec<Way>],
    labels: &[Option<Label>],
) -> Vec<FastSet<Label>> {
    predecessors
        .iter()
        .map(|edges| {
            edges
                .iter()
                .filter_map(|(from, edge)| label_out(graph, cuts, labels, *from, *edge))
                .collect()
        })
        .collect()
}

fn first_cut(graph: &Graph, cuts: &Cuts, id: BlockId) -> Option<usize> {
    graph.blocks[id.index()]
        .nodes
        .iter()
        .position(|node| match graph.node(*node).op {
            Op::Call(..) => true,
            Op::Runtime(_) => cuts.cuts_node(*node),
            _ => false,
        })
}

fn ends_in_cut(graph: &Graph, cuts: &Cuts, id: BlockId) -> bool {
    matches!(
        graph.blocks[id.index()].terminator,
        Terminator::RuntimeBranch { .. }
    ) && cuts.cuts_end(id)
}

/// Where an edge comes from, and its number there.
type Way = (BlockId, usize);

/// For each block, the edges to it.
fn predecessors(graph: &Graph) -> Vec<Vec<Way>> {
    let mut predecessors = vec![Vec::new(); graph.blocks.len()];
    for (index, block) in graph.blocks.iter().enumerate() {
        for (number, edge) in block.terminator.edges().enumerate() {
            predecessors[edge.target.index()].push((BlockId(index as u32), number));
        }
    }
    predecessors
}
