//! The roots by reason: a forest of nodes with labels, which lead to objects.
//!
//! Owners of roots fill it for a survey; see `Roots::list_roots`.

use canny_value::Value;

use crate::shape;

/// Names a node for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RootLabel {
    /// The sort of node: `thread`, `frame`, `library` ….
    pub family: &'static str,
    pub name: Option<String>,
    /// Where a frame stands.
    pub file: Option<String>,
    pub line: u32,
    /// Whether it belongs to the standard library.
    pub is_library: bool,
    /// Names of its edges, in order, as far as they have names.
    pub fields: Vec<String>,
}

impl RootLabel {
    /// A label without a name of its own.
    pub fn of_family(family: &'static str) -> RootLabel {
        RootLabel {
            family,
            ..RootLabel::default()
        }
    }

    /// A label with a name.
    pub fn named(family: &'static str, name: impl Into<String>) -> RootLabel {
        RootLabel {
            family,
            name: Some(name.into()),
            ..RootLabel::default()
        }
    }
}

/// An edge of a root node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootEdge {
    /// To the object of a word, or to none if the word is no reference.
    Word(u64),
    /// To another node.
    Node(u32),
}

/// A node of the forest.
#[derive(Clone, Debug, Default)]
pub struct RootNode {
    pub label: RootLabel,
    pub(crate) edges: Vec<RootEdge>,
}

/// Something that lives while something else does, and the node that holds it then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependent {
    pub(crate) node: usize,
    pub(crate) key: u64,
    pub(crate) value: u64,
}

/// All roots. Node 0 is the root of all.
#[derive(Debug)]
pub struct RootListing {
    pub(crate) nodes: Vec<RootNode>,
    pub(crate) dependents: Vec<Dependent>,
    /// Nodes and words that count as roots only where nothing else holds them.
    pub(crate) leftovers: Vec<(usize, u64)>,
}

impl Default for RootListing {
    fn default() -> RootListing {
        let root = RootNode {
            label: RootLabel::of_family("root"),
            edges: Vec::new(),
        };
        RootListing {
            nodes: vec![root],
            dependents: Vec::new(),
            leftovers: Vec::new(),
        }
    }
}

impl RootListing {
    /// A new node below the root; gives its number.
    pub fn group(&mut self, label: RootLabel) -> usize {
        self.group_in(0, label)
    }

    /// A new node below another one.
    pub fn group_in(&mut self, parent: usize, label: RootLabel) -> usize {
        let number = self.nodes.len();
        self.nodes[parent].edges.push(RootEdge::Node(number as u32));
        self.nodes.push(RootNode {
            label,
            edges: Vec::new(),
        });
        number
    }

    /// Adds a value to a node. One that is no reference keeps its place among the names.
    pub fn add(&mut self, node: usize, value: Value) {
        self.add_word(node, value.bits());
    }

    /// Adds a value with a name; all edges of the node before need names, too.
    pub fn add_named(&mut self, node: usize, name: impl Into<String>, value: Value) {
        self.nodes[node].label.fields.push(name.into());
        self.add(node, value);
    }

    pub(crate) fn add_word(&mut self, node: usize, word: u64) {
        self.nodes[node].edges.push(RootEdge::Word(word));
    }

    /// Adds what is alive while `key` is.
    pub fn add_dependent(&mut self, node: usize, key: Value, value: Value) {
        if shape::is_reference(key.bits()) && shape::is_reference(value.bits()) {
            self.dependents.push(Dependent {
                node,
                key: key.bits(),
                value: value.bits(),
            });
        }
    }

    /// Adds a value to a node that tells people something only if nothing else holds it.
    pub fn add_leftover(&mut self, node: usize, value: Value) {
        self.leftovers.push((node, value.bits()));
    }

    /// The nodes, by number.
    pub fn nodes(&self) -> &[RootNode] {
        &self.nodes
    }
}
