//! Objects with given properties, page by page.
//!
//! A predicate is evaluated for all nodes at once, to a set of bits. So a predicate about the
//! neighbours of a node costs as much as one about the node itself.

use std::cmp::Reverse;

use serde::Deserialize;

use super::{Analysis, Identities};
use crate::file::Fact;

/// The deepest predicate.
const DEPTH_MAX: usize = 100;

/// A property of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// The name of the type, or the family where it has none.
    Type(String),
    Family(String),
    /// Objects with a field of this name.
    HasField(String),
    /// The file of a procedure or frame ends so.
    File(String),
    /// Objects of the standard library's types, or of others.
    IsLibrary(bool),
    SizeAtLeast(u64),
    SizeAtMost(u64),
    RetainedAtLeast(u64),
    RetainedAtMost(u64),
    TextContains(String),
    /// The text begins so.
    TextBegins(String),
    /// Seen first in this snapshot, by index, or later.
    NewSince(usize),
    /// Bytes outside of the heap that it holds.
    OutsideAtLeast(u64),
    OutsideAtMost(u64),
    /// Sampled objects that were allocated at a place: a file and line, or a file, that end so.
    AllocatedAt(String),
    /// Sampled objects that were allocated while labels were in force that contain this text.
    AllocatedWith(String),
    /// An edge from a node with a property leads to it.
    HeldBy(Box<Predicate>),
    /// An edge from it leads to a node with a property.
    Holds(Box<Predicate>),
    /// All paths to it lead through this node.
    DominatedBy(u32),
    /// Roots, frames and the like. Predicates about sizes do not find them.
    IsVirtual,
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Not(Box<Predicate>),
}

/// Why a query has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryError {
    TooDeep,
    /// Nothing is known about which objects are the same as before.
    NoIdentities,
    /// There is no such node.
    NoNode(u32),
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueryError::TooDeep => {
                write!(f, "the query is nested deeper than {DEPTH_MAX} levels")
            }
            QueryError::NoIdentities => write!(
                f,
                "objects of this snapshot cannot be followed from earlier ones"
            ),
            QueryError::NoNode(node) => write!(f, "the snapshot has no node {node}"),
        }
    }
}

impl std::error::Error for QueryError {}

/// By what results are sorted, the largest first; nodes ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SortKey {
    Node,
    Size,
    Retained,
    /// From the root, the nearest first.
    Distance,
}

/// A part of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub nodes: Vec<u32>,
    /// Sums of all results.
    pub count: u64,
    pub bytes: u64,
}

/// A set of nodes.
struct Set(Vec<u64>);

impl Set {
    fn new(count: usize, mut has: impl FnMut(u32) -> bool) -> Set {
        let mut words = vec![0u64; count.div_ceil(64)];
        for node in 0..count {
            words[node / 64] |= u64::from(has(node as u32)) << (node % 64);
        }
        Set(words)
    }

    fn has(&self, node: u32) -> bool {
        self.0[node as usize / 64] >> (node % 64) & 1 != 0
    }

    fn combine(&mut self, other: &Set, with: impl Fn(u64, u64) -> u64) {
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            *one = with(*one, *other);
        }
    }
}

impl Analysis {
    fn by_type(&self, has: impl Fn(&crate::file::TypeRow) -> bool) -> Set {
        let heap = self.heap();
        let types: Vec<bool> = heap.types().iter().map(has).collect();
        Set::new(heap.len(), |node| types[heap.type_number(node) as usize])
    }

    fn by_text(&self, has: impl Fn(&str) -> bool) -> Set {
        let mut set = Set::new(self.heap().len(), |_| false);
        for (node, text) in self.heap().texts().iter() {
            set.0[node as usize / 64] |= u64::from(has(text.preview)) << (node % 64);
        }
        set
    }

    fn of_nodes(&self, nodes: &[u32]) -> Set {
        let mut set = Set::new(self.heap().len(), |_| false);
        for node in nodes {
            set.0[*node as usize / 64] |= 1 << (node % 64);
        }
        set
    }

    /// Objects by the bytes outside of the heap that they hold: none where nothing is known.
    fn by_outside(&self, has: impl Fn(u64) -> bool) -> Set {
        let facts = self.heap().facts();
        if has(0) {
            return self.objects(|node| has(facts.get(node, Fact::Outside).unwrap_or(0)));
        }
        let found = facts
            .iter()
            .filter(|(_, fact, held)| *fact == Fact::Outside && has(*held));
        let nodes: Vec<u32> = found.map(|(node, _, _)| node).collect();
        self.of_nodes(&nodes)
    }

    fn objects(&self, has: impl Fn(u32) -> bool) -> Set {
        let heap = self.heap();
        Set::new(heap.len(), |node| !heap.is_virtual(node) && has(node))
    }

    fn set(&self, predicate: &Predicate, depth: usize) -> Result<Set, QueryError> {
        if depth > DEPTH_MAX {
            return Err(QueryError::TooDeep);
        }
        let heap = self.heap();
        let set = match predicate {
            Predicate::Type(name) => self.by_type(|row| row.title() == name),
            Predicate::Family(name) => self.by_type(|row| row.family == *name),
            Predicate::HasField(name) => self.by_type(|row| row.fields.contains(name)),
            Predicate::File(end) => self.by_type(|row| {
                let file = row.file.as_deref();
                file.is_some_and(|file| file.ends_with(end.as_str()))
            }),
            Predicate::IsLibrary(is) => {
                self.by_type(|row| !row.is_virtual && row.is_library == *is)
            }
            Predicate::IsVirtual => self.by_type(|row| row.is_virtual),
            Predicate::SizeAtLeast(bytes) => self.objects(|node| heap.size(node) >= *bytes),
            Predicate::SizeAtMost(bytes) => self.objects(|node| heap.size(node) <= *bytes),
            Predicate::RetainedAtLeast(bytes) => {
                self.objects(|node| self.dominators().retained(node) >= *bytes)
            }
            Predicate::RetainedAtMost(bytes) => {
                self.objects(|node| self.dominators().retained(node) <= *bytes)
            }
            Predicate::OutsideAtLeast(bytes) => self.by_outside(|held| held >= *bytes),
            Predicate::OutsideAtMost(bytes) => self.by_outside(|held| held <= *bytes),
            Predicate::AllocatedAt(end) => {
                let ends = |file: &str, line: u32| {
                    file.ends_with(end.as_str()) || format!("{file}:{line}").ends_with(end.as_str())
                };
                self.of_nodes(&self.allocated_at(|place| ends(&place.file, place.line)))
            }
            Predicate::AllocatedWith(text) => {
                self.of_nodes(&self.allocated_at(|place| place.label.contains(text.as_str())))
            }
            Predicate::TextContains(text) => self.by_text(|one| one.contains(text.as_str())),
            Predicate::TextBegins(text) => self.by_text(|one| one.starts_with(text.as_str())),
            Predicate::NewSince(index) => {
                let identities = self.identities().ok_or(QueryError::NoIdentities)?;
                let ids = identities.by_node(heap);
                self.objects(|node| {
                    ids[node as usize].is_some_and(|id| Identities::born(id) >= *index)
                })
            }
            Predicate::HeldBy(inner) => {
                let inner = self.set(inner, depth + 1)?;
                let mut set = Set::new(heap.len(), |_| false);
                for node in heap.nodes().filter(|node| inner.has(*node)) {
                    for target in heap.targets(node) {
                        set.0[*target as usize / 64] |= 1 << (target % 64);
                    }
                }
                set
            }
            Predicate::Holds(inner) => {
                let inner = self.set(inner, depth + 1)?;
                Set::new(heap.len(), |node| {
                    heap.targets(node).iter().any(|target| inner.has(*target))
                })
            }
            Predicate::DominatedBy(above) => self.dominated_by(*above)?,
            Predicate::All(parts) => {
                let mut set = Set::new(heap.len(), |_| true);
                for part in parts {
                    set.combine(&self.set(part, depth + 1)?, |one, other| one & other);
                }
                set
            }
            Predicate::Any(parts) => {
                let mut set = Set::new(heap.len(), |_| false);
                for part in parts {
                    set.combine(&self.set(part, depth + 1)?, |one, other| one | other);
                }
                set
            }
            Predicate::Not(inner) => {
                let mut set = self.objects(|_| true);
                set.combine(&self.set(inner, depth + 1)?, |one, other| one & !other);
                set
            }
        };
        Ok(set)
    }

    fn dominated_by(&self, above: u32) -> Result<Set, QueryError> {
        let count = self.heap().len();
        if above as usize >= count {
            return Err(QueryError::NoNode(above));
        }
        let mut set = Set::new(count, |_| false);
        set.0[above as usize / 64] |= 1 << (above % 64);
        // Dominators have lower numbers than what they dominate.
        for node in above + 1..count as u32 {
            let idom = self.dominators().idom(node);
            let is_below = idom.is_some_and(|idom| set.has(idom));
            set.0[node as usize / 64] |= u64::from(is_below) << (node % 64);
        }
        set.0[above as usize / 64] &= !(1 << (above % 64));
        Ok(set)
    }

    /// The nodes with a property: a page of them in the order of a key, and sums of all.
    pub fn query(
        &self,
        predicate: &Predicate,
        key: SortKey,
        first: usize,
        count_max: usize,
    ) -> Result<Page, QueryError> {
        let heap = self.heap();
        let set = self.set(predicate, 0)?;
        let mut page = Page::default();
        let mut found: Vec<(Reverse<u64>, u32)> = Vec::new();
        for node in heap.nodes().filter(|node| set.has(*node)) {
            page.count += 1;
            page.bytes += heap.size(node);
            let key = match key {
                SortKey::Node => 0,
                SortKey::Size => heap.size(node),
                SortKey::Retained => self.dominators().retained(node),
                SortKey::Distance => u64::from(u32::MAX - self.distances().of(node)),
            };
            found.push((Reverse(key), node));
        }
        let end = first.saturating_add(count_max).min(found.len());
        if end < found.len() {
            found.select_nth_unstable(end);
            found.truncate(end);
        }
        found.sort_unstable();
        page.nodes = found
            .get(first..)
            .unwrap_or(&[])
            .iter()
            .map(|one| one.1)
            .collect();
        Ok(page)
    }
}
