//! The file format: chunks, rows and directories.
//!
//! `docs/heap-snapshot-format.md` is its description.

pub(crate) mod chunk;
mod error;
mod layout;
mod matcher;
mod rows;
mod varint;
mod writer;

#[cfg(test)]
mod tests;

pub use error::Error;
pub(crate) use layout::{Layout, Source};
pub use rows::{
    ChunkRow, Directory, Fact, Info, Place, SnapshotFacts, Summary, TypeRow, TypeSum, Way,
};
pub(crate) use varint::{take, unzigzag};
pub use writer::Writer;

/// The version of the format.
pub const FORMAT: u64 = 1;

/// Bytes in a unit of sizes and addresses.
pub const UNIT_BYTES: u64 = 16;
