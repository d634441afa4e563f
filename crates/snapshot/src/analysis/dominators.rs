//! The dominator tree and retained sizes: for each node those that it alone keeps alive.
//!
//! The algorithm is that of Lengauer and Tarjan in the form called SEMI-NCA: semidominators first,
//! then dominators along the tree. The numbers of nodes are those of a depth-first search already.
//! Paths are walked with stacks of their own, so that no graph is too deep.

use std::sync::OnceLock;

use crate::heap::{Heap, ROOT};

/// The dominator tree. A node dominates another one if all paths from the root lead through it.
pub struct Dominators {
    idoms: Vec<u32>,
    retained: Vec<u64>,
    children: OnceLock<Children>,
}

/// The nodes that each node dominates immediately.
struct Children {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

/// Finds semidominators, from the last node to the first.
struct Search {
    /// An ancestor in the tree of the search; nearer to the root the more often it was asked for.
    ancestors: Vec<u32>,
    /// The lowest semidominator on the way to that ancestor.
    lowest: Vec<u32>,
    path: Vec<u32>,
}

impl Search {
    /// The lowest semidominator of a node and those above it, down to `first`.
    #[inline]
    fn lowest(&mut self, node: u32, first: u32) -> u32 {
        let mut at = node;
        let mut above = self.ancestors[at as usize];
        if above < first {
            return self.lowest[at as usize];
        }
        while above >= first {
            self.path.push(at);
            at = above;
            above = self.ancestors[at as usize];
        }
        let mut lowest = self.lowest[at as usize];
        while let Some(below) = self.path.pop() {
            self.ancestors[below as usize] = above;
            lowest = lowest.min(self.lowest[below as usize]);
            self.lowest[below as usize] = lowest;
        }
        lowest
    }
}

impl Dominators {
    pub fn new(heap: &Heap) -> Dominators {
        let idoms = idoms(heap);
        let mut retained: Vec<u64> = heap.nodes().map(|node| heap.size(node)).collect();
        for node in (1..heap.len()).rev() {
            let own = retained[node];
            let above = &mut retained[idoms[node] as usize];
            *above = above.saturating_add(own);
        }
        Dominators {
            idoms,
            retained,
            children: OnceLock::new(),
        }
    }

    /// The immediate dominator of a node; nothing for the root.
    #[inline]
    pub fn idom(&self, node: u32) -> Option<u32> {
        (node != ROOT).then(|| self.idoms[node as usize])
    }

    /// Bytes that would be free if nothing led to the node any more.
    #[inline]
    pub fn retained(&self, node: u32) -> u64 {
        self.retained[node as usize]
    }

    /// Whether all paths from the root to a node lead through another one.
    pub fn dominates(&self, above: u32, node: u32) -> bool {
        // Dominators have lower numbers.
        let mut at = node;
        while at > above {
            at = self.idoms[at as usize];
        }
        at == above
    }

    /// The nodes whose immediate dominator is this one.
    pub fn children(&self, node: u32) -> &[u32] {
        let children = self.children.get_or_init(|| self.all_children());
        let start = children.starts[node as usize] as usize;
        let end = children.starts[node as usize + 1] as usize;
        &children.nodes[start..end]
    }

    fn all_children(&self) -> Children {
        let count = self.idoms.len();
        let mut starts = vec![0u32; count + 1];
        for idom in &self.idoms[1..] {
            starts[*idom as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut nodes = vec![0; count - 1];
        for node in (1..count).rev() {
            let start = &mut starts[self.idoms[node] as usize];
            *start -= 1;
            nodes[*start as usize] = node as u32;
        }
        Children { starts, nodes }
    }
}

/// The immediate dominator of each node.
fn idoms(heap: &Heap) -> Vec<u32> {
    let count = heap.len();
    let parents = heap.parents();
    let incoming = heap.incoming();
    let mut search = Search {
        ancestors: parents.to_vec(),
        lowest: (0..count as u32).collect(),
        path: Vec::new(),
    };
    let mut semi = vec![0u32; count];
    for node in (1..count as u32).rev() {
        let mut lowest = parents[node as usize];
        for &source in incoming.of(node) {
            let found = if source <= node {
                source
            } else {
                search.lowest(source, node + 1)
            };
            lowest = lowest.min(found);
        }
        semi[node as usize] = lowest;
        search.lowest[node as usize] = lowest;
    }
    // The dominator is the nearest ancestor that is not below the semidominator.
    for node in 1..count {
        let mut idom = parents[node];
        while idom > semi[node] {
            idom = semi[idom as usize];
        }
        semi[node] = idom;
    }
    semi
}
