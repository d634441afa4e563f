//! A snapshot in memory: nodes with types and sizes, edges between them.
//!
//! Arrays with an element for each node or edge hold the graph; a node is its number. Texts and
//! other parts are read, and edges reversed, when they are asked for first.

mod decode;
mod edges;
mod parts;
mod series;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::{Arc, OnceLock};

use crate::file::{Directory, Error, Info, Source, TypeRow, UNIT_BYTES};

use decode::Graph;
use series::Shared;

pub use edges::{Edge, EdgeName, Incoming};
pub use parts::{Facts, Moves, Text, Texts, WeakEdge};
pub use series::Series;

/// The root of all.
pub const ROOT: u32 = 0;

/// A snapshot.
pub struct Heap {
    shared: Arc<Shared>,
    directory: Directory,
    index: usize,
    graph: Graph,
    is_whole: bool,
    texts: OnceLock<Texts>,
    facts: OnceLock<Facts>,
    weak: OnceLock<Vec<WeakEdge>>,
    incoming: OnceLock<Incoming>,
}

impl Heap {
    fn read(
        shared: &Arc<Shared>,
        directory: &Directory,
        index: usize,
        is_whole: bool,
    ) -> Result<Heap, Error> {
        if !directory.chunks.contains_key("NODE") {
            let problem = "this snapshot has sums by type only, no objects";
            return Err(Error::damaged(0, problem));
        }
        let graph = Graph::read(&shared.source, directory, shared.types.len())?;
        let is_whole = is_whole && graph.note.is_none();
        Ok(Heap {
            shared: shared.clone(),
            directory: directory.clone(),
            index,
            graph,
            is_whole,
            texts: OnceLock::new(),
            facts: OnceLock::new(),
            weak: OnceLock::new(),
            incoming: OnceLock::new(),
        })
    }

    fn source(&self) -> &Source {
        &self.shared.source
    }

    /// The directory of the snapshot.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The position of the snapshot in its series, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    pub fn info(&self) -> &Info {
        &self.shared.info
    }

    /// Whether all of the graph was there.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Why the graph is not whole.
    pub fn note(&self) -> Option<&str> {
        match &self.graph.note {
            Some(note) => Some(note),
            None if !self.is_whole => Some("the snapshot has no end"),
            None => None,
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.graph.types.len()
    }

    /// Never: there is a root.
    pub fn is_empty(&self) -> bool {
        self.graph.types.is_empty()
    }

    pub fn edges(&self) -> usize {
        self.graph.targets.len()
    }

    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..self.len() as u32
    }

    pub fn types(&self) -> &[TypeRow] {
        &self.shared.types
    }

    pub fn type_number(&self, node: u32) -> u32 {
        self.graph.types[node as usize]
    }

    pub fn type_of(&self, node: u32) -> &TypeRow {
        &self.shared.types[self.type_number(node) as usize]
    }

    /// Whether a node is no object of the heap.
    pub fn is_virtual(&self, node: u32) -> bool {
        self.type_of(node).is_virtual
    }

    /// The bytes of the object alone.
    #[inline]
    pub fn size(&self, node: u32) -> u64 {
        u64::from(self.graph.sizes[node as usize]) * UNIT_BYTES
    }

    /// The node whose edge found a node first.
    pub fn parents(&self) -> &[u32] {
        &self.graph.parents
    }

    /// The nodes to which the edges of a node lead.
    #[inline]
    pub fn targets(&self, node: u32) -> &[u32] {
        let start = self.graph.starts[node as usize] as usize;
        let end = self.graph.starts[node as usize + 1] as usize;
        &self.graph.targets[start..end]
    }

    /// Texts of nodes. Damaged parts are left out, as their note says.
    pub fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| {
            let texts = Texts::read(self.source(), &self.directory, self.len());
            texts.unwrap_or_else(|error| Texts::damaged(&error))
        })
    }

    pub fn text(&self, node: u32) -> Option<Text<'_>> {
        self.texts().get(node)
    }

    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let facts = Facts::read(self.source(), &self.directory, self.len());
            facts.unwrap_or_else(|error| Facts::damaged(&error))
        })
    }

    /// Weak edges, in order of their sources.
    pub fn weak_edges(&self) -> &[WeakEdge] {
        self.weak.get_or_init(|| {
            let edges = parts::weak_edges(self.source(), &self.directory, self.len());
            edges.unwrap_or_default()
        })
    }

    /// The addresses of objects, in order of nodes that are objects, in units relative to the base.
    pub fn addresses(&self) -> Result<Vec<u64>, Error> {
        parts::addresses(self.source(), &self.directory)
    }
}
