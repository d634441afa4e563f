//! Edges with names, and edges backwards.
//!
//! The word of an edge is not stored: it follows from the words before that are no edges.

use super::Heap;
use super::decode::WIDE;
use crate::file::TypeRow;

/// How an edge is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeName {
    /// A field of a record, a variable, the car or cdr of a pair.
    Field(String),
    /// An element of a vector.
    Element(u64),
    /// A word about which nothing is known.
    Word(u64),
}

impl std::fmt::Display for EdgeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EdgeName::Field(name) => write!(f, "{name}"),
            EdgeName::Element(index) => write!(f, "[{index}]"),
            EdgeName::Word(word) => write!(f, "word {word}"),
        }
    }
}

/// The name of a word of a type.
pub fn edge_name(row: &TypeRow, word: u64) -> EdgeName {
    let index = usize::try_from(word).unwrap_or(usize::MAX);
    if let Some(name) = row.fields.get(index).filter(|name| !name.is_empty()) {
        return EdgeName::Field(name.clone());
    }
    match (row.family.as_str(), word) {
        ("pair", 0) => EdgeName::Field("car".to_owned()),
        ("pair", 1) => EdgeName::Field("cdr".to_owned()),
        ("vector", _) => match word.checked_sub(row.fields.len() as u64) {
            Some(index) => EdgeName::Element(index),
            None => EdgeName::Word(word),
        },
        ("code", _) => match word.checked_sub(row.fields.len() as u64) {
            Some(index) => EdgeName::Field(format!("constant {index}")),
            None => EdgeName::Word(word),
        },
        _ => EdgeName::Word(word),
    }
}

/// An edge between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub source: u32,
    pub target: u32,
    pub word: u64,
    pub is_weak: bool,
}

/// The sources of the strong edges to each node.
pub struct Incoming {
    starts: Vec<u32>,
    sources: Vec<u32>,
}

impl Incoming {
    fn new(heap: &Heap) -> Incoming {
        let graph = &heap.graph;
        let mut starts = vec![0u32; heap.len() + 1];
        for target in &graph.targets {
            starts[*target as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // From behind, so that sources ascend and each start ends up where it belongs.
        let mut sources = vec![0u32; graph.targets.len()];
        for node in (0..heap.len()).rev() {
            for target in heap.targets(node as u32).iter().rev() {
                let start = &mut starts[*target as usize];
                *start -= 1;
                sources[*start as usize] = node as u32;
            }
        }
        Incoming { starts, sources }
    }

    /// The sources of edges to a node, in ascending order; twice where there are two edges.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        let start = self.starts[node as usize] as usize;
        let end = self.starts[node as usize + 1] as usize;
        &self.sources[start..end]
    }
}

impl Heap {
    pub fn incoming(&self) -> &Incoming {
        self.incoming.get_or_init(|| Incoming::new(self))
    }

    /// The words of the edges of a node, with their targets.
    pub fn words(&self, node: u32) -> impl Iterator<Item = (u64, u32)> {
        let start = self.graph.starts[node as usize] as usize;
        let end = self.graph.starts[node as usize + 1] as usize;
        let mut word = 0u64;
        (start..end).map(move |edge| {
            let gap = match self.graph.gaps[edge] {
                WIDE => {
                    let wide = &self.graph.wide_gaps;
                    let found = wide.binary_search_by_key(&(edge as u32), |one| one.0);
                    found.map_or(0, |index| wide[index].1)
                }
                gap => u64::from(gap),
            };
            let found = word.saturating_add(gap);
            word = found.saturating_add(1);
            (found, self.graph.targets[edge])
        })
    }

    /// The edges of a node, weak ones at the end.
    pub fn outgoing_edges(&self, node: u32) -> impl Iterator<Item = Edge> {
        let strong = self.words(node).map(move |(word, target)| Edge {
            source: node,
            target,
            word,
            is_weak: false,
        });
        let weak = self.weak_edges();
        let first = weak.partition_point(|edge| edge.source < node);
        let weak = weak[first..]
            .iter()
            .take_while(move |edge| edge.source == node);
        strong.chain(weak.map(|edge| Edge {
            source: edge.source,
            target: edge.target,
            word: edge.word,
            is_weak: true,
        }))
    }

    /// The edges to a node, at most so many, weak ones at the end.
    pub fn incoming_edges(&self, node: u32, count_max: usize) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut before = None;
        for &source in self.incoming().of(node) {
            if edges.len() >= count_max {
                return edges;
            }
            // All edges of a source come with its first one.
            if before.replace(source) == Some(source) {
                continue;
            }
            let words = self.words(source).filter(|(_, target)| *target == node);
            let rest = count_max - edges.len();
            edges.extend(words.take(rest).map(|(word, target)| Edge {
                source,
                target,
                word,
                is_weak: false,
            }));
        }
        let rest = count_max - edges.len();
        let weak = self.weak_edges().iter().filter(|edge| edge.target == node);
        edges.extend(weak.take(rest).map(|edge| Edge {
            source: edge.source,
            target: edge.target,
            word: edge.word,
            is_weak: true,
        }));
        edges
    }

    /// The name of an edge.
    pub fn edge_name(&self, edge: &Edge) -> EdgeName {
        edge_name(self.type_of(edge.source), edge.word)
    }

    /// The word of the first edge between two nodes.
    pub fn word_between(&self, source: u32, target: u32) -> Option<u64> {
        let mut words = self.words(source);
        words.find(|one| one.1 == target).map(|one| one.0)
    }
}
