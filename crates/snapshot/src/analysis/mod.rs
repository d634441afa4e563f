//! Answers about a heap: who keeps what alive, what is large, what grew.
//!
//! An [`Analysis`] has a heap and keeps what is expensive to find: the dominator tree and the
//! distances from the root. Nothing here recurses along the graph.

mod difference;
mod dominators;
mod growth;
mod identity;
mod matching;
mod names;
mod path_tree;
mod paths;
mod places;
mod query;
mod structure;
mod tables;
mod treemap;
mod waste;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::OnceLock;

use crate::heap::Heap;

pub use difference::{
    Amount, Change, Compared, Difference, difference, difference_of_files, summary_difference,
};
pub use dominators::Dominators;
pub use growth::{PathSums, Suspect, growing_paths, growing_types};
pub use identity::{Identities, identities};
pub use matching::{CommonType, Matching};
pub use names::quoted;
pub use paths::Distances;
pub use places::{growing_places, label_rows, place_rows};
pub use query::{Page, Predicate, QueryError, SortKey};
pub use structure::{PathChange, path_changes};
pub use tables::{Column, Grouping, Row, sort};
pub use treemap::Tile;
pub use waste::{Duplicates, Unused};

/// A heap and what was found out about it.
pub struct Analysis {
    heap: Heap,
    dominators: OnceLock<Dominators>,
    distances: OnceLock<Distances>,
    identities: OnceLock<Identities>,
}

impl Analysis {
    pub fn new(heap: Heap) -> Analysis {
        Analysis {
            heap,
            dominators: OnceLock::new(),
            distances: OnceLock::new(),
            identities: OnceLock::new(),
        }
    }

    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// The dominator tree, made when it is asked for first.
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(&self.heap))
    }

    /// The distances from the root, found when they are asked for first.
    pub fn distances(&self) -> &Distances {
        self.distances.get_or_init(|| Distances::new(&self.heap))
    }

    /// Several paths from the root to a node, the shortest first.
    pub fn paths(&self, node: u32, count_max: usize) -> Vec<Vec<u32>> {
        self.distances().paths(&self.heap, node, count_max)
    }

    /// Adds what [`identities`] found for this heap.
    pub fn set_identities(&self, identities: Identities) {
        let _ = self.identities.set(identities);
    }

    pub fn identities(&self) -> Option<&Identities> {
        self.identities.get()
    }
}
