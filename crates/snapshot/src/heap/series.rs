//! A file of snapshots: what it has, without the graphs.
//!
//! Opening reads types and directories only. A snapshot that was cut off is the last one of the
//! series, as far as it goes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::Heap;
use super::parts::{Moves, addresses, moves};
use crate::file::{Directory, Error, Info, Layout, Source, TypeRow};

/// The snapshots of a file.
pub struct Series {
    pub(super) shared: Arc<Shared>,
    directories: Vec<Directory>,
    is_last_whole: bool,
    note: Option<String>,
}

/// The part of a series that its heaps need too.
pub(super) struct Shared {
    pub source: Source,
    pub types: Vec<TypeRow>,
    pub info: Info,
}

impl Series {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Series, Error> {
        Series::new(Source::file(File::open(path)?)?)
    }

    /// Opens the bytes of a file.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Series, Error> {
        Series::new(Source::Bytes(bytes))
    }

    fn new(source: Source) -> Result<Series, Error> {
        let layout = Layout::read(&source)?;
        let mut directories: Vec<Directory> = Vec::new();
        directories.extend(layout.directories.into_iter().map(|(_, one)| one));
        let is_last_whole = layout.rest.is_none();
        directories.extend(layout.rest);
        Ok(Series {
            shared: Arc::new(Shared {
                source,
                types: layout.types,
                info: layout.info,
            }),
            directories,
            is_last_whole,
            note: layout.note,
        })
    }

    /// The process whose heap it shows.
    pub fn info(&self) -> &Info {
        &self.shared.info
    }

    /// All types of the file.
    pub fn types(&self) -> &[TypeRow] {
        &self.shared.types
    }

    /// The directories of the snapshots, a cut-off one at the end included.
    pub fn snapshots(&self) -> &[Directory] {
        &self.directories
    }

    /// Whether a snapshot has its end.
    pub fn is_whole(&self, index: usize) -> bool {
        self.is_last_whole || index + 1 < self.directories.len()
    }

    /// Why a part of the file was not read.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Whether a snapshot has a graph, not only sums.
    pub fn has_graph(&self, index: usize) -> bool {
        let directory = self.directories.get(index);
        directory.is_some_and(|one| one.chunks.contains_key("NODE"))
    }

    fn directory(&self, index: usize) -> Result<&Directory, Error> {
        let count = self.directories.len();
        let number = index + 1;
        let directory = self.directories.get(index);
        directory.ok_or(Error::Missing { number, count })
    }

    /// Reads the graph of a snapshot; the first one has index 0.
    pub fn snapshot(&self, index: usize) -> Result<Heap, Error> {
        let directory = self.directory(index)?;
        Heap::read(&self.shared, directory, index, self.is_whole(index))
    }

    /// The addresses of the objects of a snapshot, in units relative to the base.
    pub fn addresses(&self, index: usize) -> Result<Vec<u64>, Error> {
        addresses(&self.shared.source, self.directory(index)?)
    }

    /// Where the objects of a snapshot were in the one before; nothing if that is not known.
    pub fn moves(&self, index: usize) -> Result<Option<Moves>, Error> {
        moves(&self.shared.source, self.directory(index)?)
    }
}
