//! Finds what a file has: its process, types and the directories of its snapshots.
//!
//! With a `TAIL` at the end only directories and types are read. Without one, all chunks are gone
//! through until one is damaged or cut off. Nothing that the bytes say is believed unchecked.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::de::DeserializeOwned;

use super::FORMAT;
use super::chunk::{self, HEADER_BYTES, Header, SIGNATURE, Tag};
use super::error::Error;
use super::rows::{ChunkRow, Directory, Info, TypeRow, TypeRows};
use super::varint;

/// Bytes that can be read at any offset.
pub enum Source {
    File { file: File, length: u64 },
    Bytes(Vec<u8>),
}

impl Source {
    pub fn file(file: File) -> io::Result<Source> {
        let length = file.metadata()?.len();
        Ok(Source::File { file, length })
    }

    pub fn into_file(self) -> Option<File> {
        match self {
            Source::File { file, .. } => Some(file),
            Source::Bytes(_) => None,
        }
    }

    pub fn length(&self) -> u64 {
        match self {
            Source::File { length, .. } => *length,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Source::File { file, .. } => file.read_exact_at(into, offset)?,
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(into.len());
                let found = bytes.get(start..end);
                into.copy_from_slice(found.ok_or_else(|| cut_off(offset))?);
            }
        }
        Ok(())
    }

    /// The header of a chunk whose bytes are all there.
    fn header(&self, offset: u64) -> Result<Header, Error> {
        let left = self.length().saturating_sub(offset);
        if left < HEADER_BYTES as u64 {
            return Err(cut_off(offset));
        }
        let mut bytes = [0; HEADER_BYTES];
        self.read(offset, &mut bytes)?;
        let header = Header::read(&bytes, offset)?;
        if left - (HEADER_BYTES as u64) < u64::from(header.stored_length) {
            return Err(cut_off(offset));
        }
        Ok(header)
    }

    /// The header and the unpacked bytes of a chunk.
    pub fn chunk(&self, offset: u64) -> Result<(Header, Vec<u8>), Error> {
        let header = self.header(offset)?;
        let mut stored = vec![0; header.stored_length as usize];
        self.read(offset + HEADER_BYTES as u64, &mut stored)?;
        let bytes = header.unpack(&stored, offset)?;
        Ok((header, bytes))
    }

    /// The unpacked bytes of a chunk of this kind.
    pub fn chunk_of(&self, tag: Tag, offset: u64) -> Result<Vec<u8>, Error> {
        let (header, bytes) = self.chunk(offset)?;
        if header.tag != tag {
            let tag = String::from_utf8_lossy(&tag).into_owned();
            return Err(Error::damaged(offset, format!("no chunk of {tag}")));
        }
        Ok(bytes)
    }

    /// The unpacked bytes of a chunk that a directory names. A reference says no length.
    pub fn chunk_of_row(&self, tag: Tag, row: &ChunkRow) -> Result<Vec<u8>, Error> {
        let bytes = self.chunk_of(tag, row.offset)?;
        if row.length != 0 && row.length as usize != bytes.len() {
            return Err(Error::damaged(row.offset, "a chunk of another length"));
        }
        Ok(bytes)
    }
}

fn cut_off(offset: u64) -> Error {
    Error::damaged(offset, "the file ends within a chunk")
}

fn json<T: DeserializeOwned>(bytes: &[u8], offset: u64) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::damaged(offset, error.to_string()))
}

/// A directory whose numbers are possible ones, so that sums of them are too.
fn directory(bytes: &[u8], offset: u64) -> Result<Directory, Error> {
    const NUMBER_MAX: u64 = 1 << 53;
    let directory: Directory = json(bytes, offset)?;
    let mut numbers = vec![
        directory.number,
        directory.time,
        directory.stopped,
        directory.taken,
        directory.nodes,
        directory.edges,
        directory.objects,
        directory.bytes,
        directory.heap,
        directory.outside,
        directory.types,
    ];
    numbers.extend(
        directory
            .summary
            .iter()
            .flat_map(|sum| [sum.objects, sum.bytes]),
    );
    numbers.extend(
        directory
            .places
            .iter()
            .flat_map(|place| [place.samples, place.objects, place.bytes]),
    );
    if numbers.iter().any(|number| *number > NUMBER_MAX) {
        return Err(Error::damaged(offset, "a sum that is not possible"));
    }
    Ok(directory)
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct Layout {
    pub info: Info,
    pub types: Vec<TypeRow>,
    /// Directories with their offsets, in order.
    pub directories: Vec<(u64, Directory)>,
    /// The chunks behind the last directory, if there are any.
    pub rest: Option<Directory>,
    /// The end of the last whole snapshot.
    pub end: u64,
    /// Why not all was read.
    pub note: Option<String>,
}

impl Layout {
    pub fn read(source: &Source) -> Result<Layout, Error> {
        let mut signature = [0; SIGNATURE.len()];
        if source.length() < SIGNATURE.len() as u64 {
            return Err(Error::NotASnapshot);
        }
        source.read(0, &mut signature)?;
        if signature != SIGNATURE {
            return Err(Error::NotASnapshot);
        }
        let start = SIGNATURE.len() as u64;
        let info: Info = json(&source.chunk_of(chunk::INFO, start)?, start)?;
        if info.format != FORMAT {
            return Err(Error::Version(info.format));
        }
        let after = start + HEADER_BYTES as u64 + u64::from(source.header(start)?.stored_length);
        match Layout::by_tail(source, info.clone(), after) {
            Some(layout) => Ok(layout),
            None => Ok(Layout::by_scan(source, info, after)),
        }
    }

    /// Follows the directories from the last one; nothing if one is not right.
    fn by_tail(source: &Source, info: Info, start: u64) -> Option<Layout> {
        let tail_bytes = HEADER_BYTES as u64 + 8;
        let tail = source.length().checked_sub(tail_bytes)?;
        let bytes = source.chunk_of(chunk::TAIL, tail).ok()?;
        let mut next = Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let mut layout = Layout {
            info,
            end: source.length(),
            ..Layout::default()
        };
        let mut before = tail;
        while let Some(offset) = next {
            // Offsets descend, so that this ends.
            if offset >= before || offset < start {
                return None;
            }
            before = offset;
            let bytes = source.chunk_of(chunk::SNAP, offset).ok()?;
            let directory = directory(&bytes, offset).ok()?;
            next = directory.previous;
            layout.directories.push((offset, directory));
        }
        layout.directories.reverse();
        let mut types = Vec::new();
        for (_, directory) in &layout.directories {
            for row in directory.chunks.get("TYPE").into_iter().flatten() {
                let bytes = source.chunk_of(chunk::TYPE, row.offset).ok()?;
                add_types(&mut types, &bytes, row.offset).ok()?;
            }
            if directory.types != types.len() as u64 {
                return None;
            }
        }
        layout.types = types;
        Some(layout)
    }

    /// Goes through all chunks.
    fn by_scan(source: &Source, info: Info, start: u64) -> Layout {
        let mut layout = Layout {
            info,
            end: start,
            ..Layout::default()
        };
        let mut scan = Scan {
            types: Vec::new(),
            rest: Directory::default(),
        };
        let mut offset = start;
        while offset < source.length() {
            match scan.chunk(source, offset, &mut layout) {
                Ok(next) => offset = next,
                Err(error) => {
                    layout.note = Some(error.to_string());
                    break;
                }
            }
        }
        if scan.rest.chunks.contains_key("NODE") {
            scan.rest.number = layout.directories.len() as u64 + 1;
            scan.rest.reason = "cut off".to_owned();
            scan.rest.types = scan.types.len() as u64;
            layout.rest = Some(scan.rest);
        }
        if layout.note.is_none() && offset != layout.end {
            layout.note = Some("the last snapshot is not whole".to_owned());
        }
        // The rest may have types; who continues the file cuts them off together with it.
        let types = layout.directories.last().map_or(0, |(_, last)| last.types);
        if layout.rest.is_none() {
            scan.types.truncate(types as usize);
        }
        layout.types = scan.types;
        layout
    }

    /// The number of types that whole snapshots have.
    pub fn types_of_whole(&self) -> usize {
        let last = self.directories.last();
        last.map_or(0, |(_, last)| last.types as usize)
    }
}

fn add_types(types: &mut Vec<TypeRow>, bytes: &[u8], offset: u64) -> Result<(), Error> {
    let rows: TypeRows = json(bytes, offset)?;
    if rows.first as usize != types.len() {
        return Err(Error::damaged(offset, "types are missing"));
    }
    types.extend(rows.types);
    Ok(())
}

/// The chunks found behind the last directory.
struct Scan {
    types: Vec<TypeRow>,
    rest: Directory,
}

impl Scan {
    /// Takes one chunk; gives the offset of the next one.
    fn chunk(&mut self, source: &Source, offset: u64, layout: &mut Layout) -> Result<u64, Error> {
        let (header, bytes) = source.chunk(offset)?;
        let next = offset + HEADER_BYTES as u64 + u64::from(header.stored_length);
        match header.tag {
            chunk::TYPE => add_types(&mut self.types, &bytes, offset)?,
            chunk::SNAP => {
                let directory = directory(&bytes, offset)?;
                if directory.types != self.types.len() as u64 {
                    return Err(Error::damaged(offset, "types are missing"));
                }
                layout.directories.push((offset, directory));
                layout.end = next;
                self.rest = Directory::default();
            }
            chunk::TAIL => layout.end = next,
            chunk::SAME => self.add_same(&bytes, offset)?,
            chunk::NODE | chunk::TEXT | chunk::FACT | chunk::WEAK | chunk::ADDR | chunk::MOVE => {
                self.add(header.tag, offset, header.first, header.length);
            }
            _ => {}
        }
        Ok(next)
    }

    fn add(&mut self, tag: Tag, offset: u64, first: u32, length: u32) {
        let tag = String::from_utf8_lossy(&tag).into_owned();
        self.rest.chunks.entry(tag).or_default().push(ChunkRow {
            offset,
            length,
            hash: 0,
            first,
        });
    }

    fn add_same(&mut self, mut bytes: &[u8], chunk: u64) -> Result<(), Error> {
        while let Some((tag, rest)) = bytes.split_first_chunk::<4>() {
            bytes = rest;
            let mut number = || {
                varint::take(&mut bytes).ok_or_else(|| Error::damaged(chunk, "a wrong reference"))
            };
            let (offset, first) = (number()?, number()?);
            if offset >= chunk {
                return Err(Error::damaged(chunk, "a reference to a later chunk"));
            }
            self.add(*tag, offset, first as u32, 0);
        }
        Ok(())
    }
}
