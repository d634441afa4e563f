//! The questions, with defaults for fields that a question leaves out.
//!
//! Snapshots have numbers from 1; 0 is the last one with objects.

use serde::Deserialize;

use super::sources::LINES_AROUND;
use crate::analysis::{Column, Grouping, SortKey};

/// The most rows of an answer.
pub const ROWS_MAX: usize = 10_000;

fn page_rows() -> usize {
    50
}

fn lines_around() -> usize {
    LINES_AROUND
}

fn few() -> usize {
    5
}

fn yes() -> bool {
    true
}

fn by_type() -> Grouping {
    Grouping::Type
}

fn by_bytes() -> Column {
    Column::Bytes
}

fn by_retained() -> SortKey {
    SortKey::Retained
}

/// A question about a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// The process, the snapshots, and the largest types over them.
    Series,
    /// Sums by group.
    Types {
        #[serde(default)]
        snapshot: usize,
        #[serde(default = "by_type")]
        by: Grouping,
        #[serde(default = "by_bytes")]
        sort: Column,
        /// A part of the name.
        #[serde(default)]
        filter: String,
        /// Whether retained bytes are wanted, which need the dominator tree.
        #[serde(default = "yes")]
        retained: bool,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// The objects of a query.
    Objects {
        #[serde(default)]
        snapshot: usize,
        query: String,
        #[serde(default = "by_retained")]
        sort: SortKey,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// All about one object but its edges.
    Object {
        #[serde(default)]
        snapshot: usize,
        id: u32,
    },
    /// Why an object is alive.
    Why {
        #[serde(default)]
        snapshot: usize,
        id: u32,
    },
    Outgoing {
        #[serde(default)]
        snapshot: usize,
        id: u32,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    Incoming {
        #[serde(default)]
        snapshot: usize,
        id: u32,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// Paths from the root, the shortest first.
    Paths {
        #[serde(default)]
        snapshot: usize,
        id: u32,
        #[serde(default = "few")]
        count: usize,
    },
    /// The children in the dominator tree.
    Dominated {
        #[serde(default)]
        snapshot: usize,
        #[serde(default)]
        id: u32,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// The dominator tree below an object as nested tiles.
    Tiles {
        #[serde(default)]
        snapshot: usize,
        #[serde(default)]
        id: u32,
        #[serde(default = "few")]
        depth: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// Equal strings.
    Duplicates {
        #[serde(default)]
        snapshot: usize,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// Room that is not used.
    Unused {
        #[serde(default)]
        snapshot: usize,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// The difference of two snapshots.
    Compare {
        before: usize,
        after: usize,
        #[serde(default)]
        first: usize,
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// Types and paths that grew over the series.
    Growth {
        #[serde(default = "page_rows")]
        count: usize,
    },
    /// The lines around a place in a source file that the file of snapshots names.
    Source {
        file: String,
        line: u32,
        #[serde(default = "lines_around")]
        around: usize,
    },
    /// The number of an object that stays the same in later snapshots.
    Identity {
        #[serde(default)]
        snapshot: usize,
        id: u32,
    },
}
