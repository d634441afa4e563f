//! The parts of the file that are JSON, and what a machine tells about a snapshot.
//!
//! Unknown fields are ignored and missing ones have defaults, so that formats can grow.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The process whose heap the file shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// Filled in by the writer.
    pub format: u64,
    pub program: String,
    pub arguments: Vec<String>,
    pub pid: u64,
    /// The version of Canny.
    pub version: String,
    /// Milliseconds since 1970.
    pub started: u64,
    /// The lowest address of the heap, in hexadecimal.
    pub base: String,
}

impl Info {
    pub fn is_same_process(&self, other: &Info) -> bool {
        (self.pid, self.started, &self.base) == (other.pid, other.started, &other.base)
    }
}

/// A kind of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TypeRow {
    pub family: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether it belongs to the standard library.
    #[serde(rename = "library", skip_serializing_if = "is_false")]
    pub is_library: bool,
    /// Names of the first words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Whether nodes are no objects of the heap.
    #[serde(rename = "virtual", skip_serializing_if = "is_false")]
    pub is_virtual: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl TypeRow {
    /// The name that people see, with the place of code, of which many have the same name or none.
    pub fn title_and_place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", self.title()),
            _ => self.title().to_owned(),
        }
    }

    /// The name that people see.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.family)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TypeRows {
    pub first: u32,
    pub types: Vec<TypeRow>,
}

/// How a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A copy of the process wrote it.
    Fork,
    /// The process itself wrote it.
    InPlace,
    /// Counts and bytes by type only.
    Summary,
    /// A way that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// A number about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fact {
    /// Elements in use of a table, characters of a string.
    InUse = 1,
    /// Elements for which there is room.
    Room = 2,
    /// Bytes outside of the heap that the object holds.
    Outside = 3,
    /// Words at the end of a vector that have all the same immediate value.
    EqualTail = 4,
    /// Bytes of the object if they are no multiple of 16.
    Bytes = 5,
    /// The number of the place that allocated a sampled object.
    Place = 6,
    /// The allocated bytes for which a sampled object stands.
    Weight = 7,
}

impl Fact {
    pub fn from_number(number: u64) -> Option<Fact> {
        let facts = [
            Fact::InUse,
            Fact::Room,
            Fact::Outside,
            Fact::EqualTail,
            Fact::Bytes,
            Fact::Place,
            Fact::Weight,
        ];
        facts.into_iter().find(|fact| *fact as u64 == number)
    }

    /// The name in answers and exports.
    pub fn name(self) -> &'static str {
        match self {
            Fact::InUse => "in-use",
            Fact::Room => "room",
            Fact::Outside => "outside",
            Fact::EqualTail => "equal-tail",
            Fact::Bytes => "bytes",
            Fact::Place => "place",
            Fact::Weight => "weight",
        }
    }
}

/// Objects and bytes of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u64, u64)", into = "(u32, u64, u64)")]
pub struct TypeSum {
    pub type_number: u32,
    pub objects: u64,
    pub bytes: u64,
}

impl From<(u32, u64, u64)> for TypeSum {
    fn from((type_number, objects, bytes): (u32, u64, u64)) -> TypeSum {
        TypeSum {
            type_number,
            objects,
            bytes,
        }
    }
}

impl From<TypeSum> for (u32, u64, u64) {
    fn from(sum: TypeSum) -> (u32, u64, u64) {
        (sum.type_number, sum.objects, sum.bytes)
    }
}

/// Sampled allocations of a place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// By which facts name it: the same in all snapshots of a process.
    pub number: u32,
    pub file: String,
    pub line: u32,
    pub procedure: String,
    /// The labels that were in force, perhaps none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Sampled objects that live.
    pub samples: u64,
    /// The objects and bytes for which they stand.
    pub objects: u64,
    pub bytes: u64,
}

impl Place {
    /// The procedure with its place.
    pub fn title(&self) -> String {
        format!("{} ({}:{})", self.procedure, self.file, self.line)
    }
}

/// The facts of a snapshot that only the machine knows.
#[derive(Clone, Debug, Default)]
pub struct SnapshotFacts {
    /// Milliseconds since 1970.
    pub time: u64,
    /// Why it was taken: `asked`, `signal`, `collection`, `growth`, `limit` ….
    pub reason: String,
    pub way: Way,
    /// Microseconds for which the program stood still.
    pub stopped: u64,
    /// Milliseconds until it was written.
    pub taken: u64,
    /// Whether strings have previews.
    pub has_previews: bool,
    /// Bytes of the heap's blocks in use.
    pub heap: u64,
    /// Bytes outside of the heap that are known.
    pub outside: u64,
    pub places: Vec<Place>,
    /// Sums by type, for the way [`Way::Summary`] only; else the writer has them.
    pub summary: Vec<TypeSum>,
}

/// A chunk that belongs to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u32, Hash, u32)", into = "(u64, u32, Hash, u32)")]
pub struct ChunkRow {
    pub offset: u64,
    /// Unpacked bytes.
    pub length: u32,
    /// The hash of the unpacked bytes.
    pub hash: u64,
    pub first: u32,
}

impl From<(u64, u32, Hash, u32)> for ChunkRow {
    fn from((offset, length, Hash(hash), first): (u64, u32, Hash, u32)) -> ChunkRow {
        ChunkRow {
            offset,
            length,
            hash,
            first,
        }
    }
}

impl From<ChunkRow> for (u64, u32, Hash, u32) {
    fn from(row: ChunkRow) -> (u64, u32, Hash, u32) {
        (row.offset, row.length, Hash(row.hash), row.first)
    }
}

/// A number of 64 bits in hexadecimal, since readers in JavaScript have 53 bits.
pub struct Hash(u64);

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16);
        number.map(Hash).map_err(serde::de::Error::custom)
    }
}

/// The end of a snapshot: what it has, and where its chunks are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Directory {
    /// From 1.
    pub number: u64,
    pub time: u64,
    pub reason: String,
    pub way: Way,
    pub stopped: u64,
    pub taken: u64,
    #[serde(rename = "previews")]
    pub has_previews: bool,
    pub nodes: u64,
    pub edges: u64,
    pub objects: u64,
    pub bytes: u64,
    pub heap: u64,
    pub outside: u64,
    /// Types in the file so far.
    pub types: u64,
    pub summary: Vec<TypeSum>,
    pub places: Vec<Place>,
    /// By tag; `TYPE` has the chunks that are new with this snapshot.
    pub chunks: BTreeMap<String, Vec<ChunkRow>>,
    /// The offset of the `SNAP` before.
    pub previous: Option<u64>,
}

/// The result of writing a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub number: u64,
    pub nodes: u64,
    pub edges: u64,
    pub objects: u64,
    pub bytes: u64,
    /// By type, the most bytes first.
    pub types: Vec<TypeSum>,
    /// Bytes by which the file grew.
    pub written: u64,
    /// Unpacked bytes of chunks that were in the file already.
    pub shared: u64,
}
