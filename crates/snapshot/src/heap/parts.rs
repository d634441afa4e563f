//! The parts of a snapshot beside its graph: texts, facts, weak edges, addresses and moves.
//!
//! They are read when they are asked for first. A damaged chunk ends its part; the rest is shown.

use crate::file::{ChunkRow, Directory, Error, Fact, Source, chunk, take, unzigzag};

use super::decode::rows;

/// Reads the entries of all chunks of a tag, as far as they are right.
fn entries(
    source: &Source,
    directory: &Directory,
    tag: chunk::Tag,
    mut entry: impl FnMut(&mut &[u8], &mut u64, &ChunkRow) -> Option<()>,
) -> Result<Option<String>, Error> {
    let name = String::from_utf8_lossy(&tag);
    for row in rows(source, directory, &name)? {
        let bytes = match source.chunk_of_row(tag, &row) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut bytes = &bytes[..];
        let mut last = u64::from(row.first);
        while !bytes.is_empty() {
            if entry(&mut bytes, &mut last, &row).is_none() {
                return Ok(Some(format!("{name} is damaged at byte {}", row.offset)));
            }
        }
    }
    Ok(None)
}

/// The node of an entry; nothing if it is not there or not behind the one before.
fn node(bytes: &mut &[u8], last: &mut u64, nodes: usize) -> Option<u32> {
    *last = last.checked_add(take(bytes)?)?;
    u32::try_from(*last)
        .ok()
        .filter(|node| (*node as usize) < nodes)
}

/// The text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Characters of all of it.
    pub characters: u64,
    pub preview: &'a str,
    pub hash: Option<u64>,
}

impl Text<'_> {
    pub fn is_cut(&self) -> bool {
        (self.preview.chars().count() as u64) < self.characters
    }
}

/// The texts of a snapshot, in order of nodes.
#[derive(Default)]
pub struct Texts {
    nodes: Vec<u32>,
    /// Where a preview ends; the one before ends where it begins.
    ends: Vec<u32>,
    characters: Vec<u32>,
    /// 0 where there is none.
    hashes: Vec<u64>,
    previews: String,
    pub note: Option<String>,
}

impl Texts {
    pub(super) fn damaged(error: &Error) -> Texts {
        Texts {
            note: Some(error.to_string()),
            ..Texts::default()
        }
    }

    pub(super) fn read(
        source: &Source,
        directory: &Directory,
        nodes: usize,
    ) -> Result<Texts, Error> {
        let mut texts = Texts::default();
        let note = entries(source, directory, chunk::TEXT, |bytes, last, _| {
            let node = node(bytes, last, nodes)?;
            // Later chunks of a damaged file might go back.
            texts
                .nodes
                .last()
                .is_none_or(|last| *last <= node)
                .then_some(())?;
            let flags = take(bytes)?;
            let characters = take(bytes)?;
            let length = usize::try_from(take(bytes)?).ok()?;
            let (preview, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            let mut hash = 0;
            if flags & 1 != 0 {
                let (found, rest) = bytes.split_first_chunk()?;
                hash = u64::from_le_bytes(*found).max(1);
                *bytes = rest;
            }
            let preview = std::str::from_utf8(preview).ok()?;
            let end = u32::try_from(texts.previews.len() + preview.len()).ok()?;
            texts.previews.push_str(preview);
            texts.nodes.push(node);
            texts.ends.push(end);
            texts
                .characters
                .push(u32::try_from(characters).unwrap_or(u32::MAX));
            texts.hashes.push(hash);
            Some(())
        })?;
        texts.note = note;
        Ok(texts)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The text at a position of the list, with its node.
    pub fn at(&self, index: usize) -> (u32, Text<'_>) {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let range = start as usize..self.ends[index] as usize;
        let hash = self.hashes[index];
        let text = Text {
            characters: u64::from(self.characters[index]),
            preview: self.previews.get(range).unwrap_or(""),
            hash: (hash != 0).then_some(hash),
        };
        (self.nodes[index], text)
    }

    pub fn get(&self, node: u32) -> Option<Text<'_>> {
        let index = self.nodes.binary_search(&node).ok()?;
        Some(self.at(index).1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, Text<'_>)> {
        (0..self.nodes.len()).map(|index| self.at(index))
    }
}

/// The facts of a snapshot, in order of nodes.
#[derive(Default)]
pub struct Facts {
    nodes: Vec<u32>,
    facts: Vec<Fact>,
    values: Vec<u64>,
    pub note: Option<String>,
}

impl Facts {
    pub(super) fn damaged(error: &Error) -> Facts {
        Facts {
            note: Some(error.to_string()),
            ..Facts::default()
        }
    }

    pub(super) fn read(
        source: &Source,
        directory: &Directory,
        nodes: usize,
    ) -> Result<Facts, Error> {
        let mut facts = Facts::default();
        let note = entries(source, directory, chunk::FACT, |bytes, last, _| {
            let node = node(bytes, last, nodes)?;
            facts
                .nodes
                .last()
                .is_none_or(|last| *last <= node)
                .then_some(())?;
            let (fact, value) = (take(bytes)?, take(bytes)?);
            // A newer machine may know more.
            if let Some(fact) = Fact::from_number(fact) {
                facts.nodes.push(node);
                facts.facts.push(fact);
                facts.values.push(value);
            }
            Some(())
        })?;
        facts.note = note;
        Ok(facts)
    }

    /// The facts of a node.
    pub fn of(&self, node: u32) -> impl Iterator<Item = (Fact, u64)> {
        let start = self.nodes.partition_point(|one| *one < node);
        let end = self.nodes.partition_point(|one| *one <= node);
        (start..end).map(|index| (self.facts[index], self.values[index]))
    }

    pub fn get(&self, node: u32, fact: Fact) -> Option<u64> {
        self.of(node).find(|one| one.0 == fact).map(|one| one.1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, Fact, u64)> {
        (0..self.nodes.len()).map(|at| (self.nodes[at], self.facts[at], self.values[at]))
    }
}

/// An edge that keeps nothing alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeakEdge {
    pub source: u32,
    pub word: u64,
    pub target: u32,
}

pub(super) fn weak_edges(
    source: &Source,
    directory: &Directory,
    nodes: usize,
) -> Result<Vec<WeakEdge>, Error> {
    let mut edges: Vec<WeakEdge> = Vec::new();
    entries(source, directory, chunk::WEAK, |bytes, last, _| {
        let source = node(bytes, last, nodes)?;
        edges
            .last()
            .is_none_or(|last| last.source <= source)
            .then_some(())?;
        let word = take(bytes)?;
        let target = i64::from(source).checked_add(unzigzag(take(bytes)?))?;
        let target = u32::try_from(target)
            .ok()
            .filter(|node| (*node as usize) < nodes)?;
        edges.push(WeakEdge {
            source,
            word,
            target,
        });
        Some(())
    })?;
    Ok(edges)
}

/// The addresses of objects, in units relative to the base.
pub(super) fn addresses(source: &Source, directory: &Directory) -> Result<Vec<u64>, Error> {
    let mut all = Vec::new();
    let mut chunk_offset = None;
    let mut last_address = 0u64;
    entries(source, directory, chunk::ADDR, |bytes, _, row| {
        // The same chunk may be there twice in a row.
        if chunk_offset != Some((row.offset, row.first)) {
            chunk_offset = Some((row.offset, row.first));
            last_address = 0;
        }
        last_address = last_address.wrapping_add(unzigzag(take(bytes)?) as u64);
        all.push(last_address);
        Some(())
    })?;
    Ok(all)
}

/// Where objects came from since the snapshot before, in units relative to the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Start and end of ranges with new objects.
    new: Vec<(u64, u64)>,
    /// Place now and place before.
    moved: Vec<(u64, u64)>,
}

impl Moves {
    /// The address in the snapshot before; nothing for a new object.
    pub fn before(&self, address: u64) -> Option<u64> {
        let index = self.moved.partition_point(|one| one.0 < address);
        if let Some(&(now, before)) = self.moved.get(index)
            && now == address
        {
            return Some(before);
        }
        let index = self.new.partition_point(|one| one.1 <= address);
        let is_new = self.new.get(index).is_some_and(|one| one.0 <= address);
        (!is_new).then_some(address)
    }
}

pub(super) fn moves(source: &Source, directory: &Directory) -> Result<Option<Moves>, Error> {
    if !directory.chunks.contains_key("MOVE") {
        return Ok(None);
    }
    let mut moves = Moves::default();
    let note = entries(source, directory, chunk::MOVE, |bytes, _, _| {
        let mut end = 0u64;
        for _ in 0..take(bytes)? {
            let start = end.checked_add(take(bytes)?)?;
            end = start.checked_add(take(bytes)?)?;
            moves.new.push((start, end));
        }
        let mut now = 0u64;
        for _ in 0..take(bytes)? {
            now = now.checked_add(take(bytes)?)?;
            let before = now.wrapping_add(unzigzag(take(bytes)?) as u64);
            moves.moved.push((now, before));
        }
        Some(())
    })?;
    moves.new.sort_unstable();
    moves.moved.sort_unstable();
    // With a part of the moves, objects would be taken for others.
    Ok(if note.is_none() { Some(moves) } else { None })
}
