//! Reads the stream of nodes into arrays.
//!
//! The stack of open records is on the heap and has no record of which all edges are read, so that
//! a long list needs no room. Each edge takes a byte of the stream at least; a record that
//! announces more than there can be is refused before memory is reserved.

use crate::file::chunk;
use crate::file::{ChunkRow, Directory, Error, Source, take};

/// Snapshots may unpack to so many times the length of their file.
const UNPACKED_FACTOR: u64 = 2000;
const UNPACKED_MIN: u64 = 16 << 20;

/// Stands for an edge that was not read.
const MISSING: u32 = u32::MAX;

/// A gap that does not fit into a byte.
pub(super) const WIDE: u8 = u8::MAX;

/// The arrays of a graph.
#[derive(Default)]
pub(super) struct Graph {
    pub types: Vec<u32>,
    /// In units.
    pub sizes: Vec<u32>,
    /// Where the edges of a node begin; one more than nodes.
    pub starts: Vec<u32>,
    pub targets: Vec<u32>,
    /// Words before an edge that are none.
    pub gaps: Vec<u8>,
    /// Gaps that do not fit into a byte, by edge.
    pub wide_gaps: Vec<(u32, u64)>,
    /// The node whose edge found a node first.
    pub parents: Vec<u32>,
    /// Why the graph is not whole.
    pub note: Option<String>,
}

/// The chunks of a tag, refused if they are too much to unpack.
pub(super) fn rows(
    source: &Source,
    directory: &Directory,
    tag: &str,
) -> Result<Vec<ChunkRow>, Error> {
    let rows = directory.chunks.get(tag).cloned().unwrap_or_default();
    let unpacked: u64 = rows.iter().map(|row| u64::from(row.length)).sum();
    let unpacked_max = UNPACKED_MIN.max(source.length().saturating_mul(UNPACKED_FACTOR));
    if unpacked > unpacked_max {
        let problem = format!("{tag} unpacks to {unpacked} bytes, which is not plausible");
        return Err(Error::damaged(0, problem));
    }
    Ok(rows)
}

/// A record with edges that are not read yet.
struct Open {
    node: u32,
    next: u32,
    end: u32,
}

struct Decoder {
    graph: Graph,
    stack: Vec<Open>,
    /// The next bytes are a record, found by this node.
    expected: Option<u32>,
    /// Words before the next edge.
    gap: u64,
    types: usize,
    edges_max: u64,
}

impl Graph {
    /// Reads the graph as far as it is there.
    pub fn read(source: &Source, directory: &Directory, types: usize) -> Result<Graph, Error> {
        let rows = rows(source, directory, "NODE")?;
        // References of a cut-off snapshot do not say how long the chunks are.
        let bytes: u64 = rows.iter().map(|row| u64::from(row.length).max(1)).sum();
        let edges_max = if rows.iter().any(|row| row.length == 0) {
            bytes.max(source.length().saturating_mul(UNPACKED_FACTOR))
        } else {
            bytes
        };
        let nodes = directory.nodes.min(bytes / 3 + 1) as usize;
        let edges = directory.edges.min(bytes) as usize;
        let mut decoder = Decoder {
            graph: Graph::default(),
            stack: Vec::new(),
            expected: Some(0),
            gap: 0,
            types,
            edges_max: edges_max.min(u64::from(u32::MAX)),
        };
        let graph = &mut decoder.graph;
        graph.types.reserve_exact(nodes);
        graph.sizes.reserve_exact(nodes);
        graph.starts.reserve_exact(nodes + 1);
        graph.parents.reserve_exact(nodes);
        graph.targets.reserve_exact(edges);
        graph.gaps.reserve_exact(edges);
        graph.starts.push(0);
        for row in &rows {
            let result = source.chunk_of_row(chunk::NODE, row);
            let result = result.and_then(|bytes| decoder.chunk(&bytes, row));
            if let Err(error) = result {
                decoder.graph.note = Some(error.to_string());
                break;
            }
        }
        let is_whole = decoder.stack.is_empty() && decoder.expected.is_none();
        let mut graph = decoder.graph;
        graph.wide_gaps.sort_unstable();
        if graph.types.is_empty() {
            let problem = graph.note.unwrap_or_else(|| "it has no node".to_owned());
            return Err(Error::damaged(
                rows.first().map_or(0, |row| row.offset),
                problem,
            ));
        }
        if !is_whole {
            graph.drop_missing();
            let note = || "the graph ends before all edges are there".to_owned();
            graph.note.get_or_insert_with(note);
        }
        Ok(graph)
    }

    /// Removes edges that were announced and not read.
    fn drop_missing(&mut self) {
        let mut kept = 0;
        let mut start = 0;
        let mut wide = 0;
        for node in 0..self.types.len() {
            let end = self.starts[node + 1] as usize;
            for edge in start..end {
                while self
                    .wide_gaps
                    .get(wide)
                    .is_some_and(|one| (one.0 as usize) < edge)
                {
                    wide += 1;
                }
                if self.targets[edge] == MISSING || self.targets[edge] as usize >= self.types.len()
                {
                    continue;
                }
                if let Some(one) = self.wide_gaps.get_mut(wide)
                    && one.0 as usize == edge
                {
                    one.0 = kept as u32;
                    wide += 1;
                }
                self.targets[kept] = self.targets[edge];
                self.gaps[kept] = self.gaps[edge];
                kept += 1;
            }
            start = end;
            self.starts[node + 1] = kept as u32;
        }
        self.targets.truncate(kept);
        self.gaps.truncate(kept);
        self.wide_gaps.retain(|one| (one.0 as usize) < kept);
    }
}

impl Decoder {
    fn chunk(&mut self, bytes: &[u8], row: &ChunkRow) -> Result<(), Error> {
        let wrong = |problem: &str| Error::damaged(row.offset, problem);
        let mut bytes = bytes;
        while !bytes.is_empty() {
            if let Some(parent) = self.expected {
                self.record(&mut bytes, parent).map_err(wrong)?;
                continue;
            }
            if self.stack.is_empty() {
                return Err(wrong("nodes behind the end of the graph"));
            }
            self.edges(&mut bytes).map_err(wrong)?;
        }
        Ok(())
    }

    /// A record up to its edges.
    #[inline]
    fn record(&mut self, bytes: &mut &[u8], parent: u32) -> Result<(), &'static str> {
        const CUT: &str = "a record of a node is cut off";
        let kind = take(bytes).ok_or(CUT)?;
        let size = take(bytes).ok_or(CUT)?;
        let edges = take(bytes).ok_or(CUT)?;
        if kind >= self.types as u64 {
            return Err("a node of an unknown type");
        }
        let graph = &mut self.graph;
        let node = graph.types.len() as u32;
        let start = graph.targets.len() as u64;
        if edges > self.edges_max - start.min(self.edges_max) || node == u32::MAX {
            return Err("a node with more edges than there can be");
        }
        graph.types.push(kind as u32);
        graph.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
        graph.parents.push(parent);
        let end = start + edges;
        graph.starts.push(end as u32);
        graph.targets.resize(end as usize, MISSING);
        graph.gaps.resize(end as usize, 0);
        self.expected = None;
        if edges > 0 {
            self.stack.push(Open {
                node,
                next: start as u32,
                end: end as u32,
            });
        }
        Ok(())
    }

    /// Edges until a record follows or the chunk ends.
    #[inline]
    fn edges(&mut self, bytes: &mut &[u8]) -> Result<(), &'static str> {
        while let Some(open) = self.stack.last_mut() {
            if bytes.is_empty() {
                return Ok(());
            }
            let token = take(bytes).ok_or("an edge is cut off")?;
            if token == 1 {
                let words = take(bytes).ok_or("an edge is cut off")?;
                self.gap = self.gap.saturating_add(words);
                continue;
            }
            let nodes = self.graph.types.len() as u64;
            let target = match token {
                0 => nodes,
                _ if token % 2 == 0 => nodes.wrapping_sub(token / 2),
                _ => (token - 3) / 2,
            };
            if target > nodes || (target == nodes && token != 0) {
                return Err("an edge to a node that is not there");
            }
            let edge = open.next as usize;
            self.graph.targets[edge] = target as u32;
            if self.gap > 0 {
                self.graph.gaps[edge] = u8::try_from(self.gap).unwrap_or(WIDE);
                if self.gap >= u64::from(WIDE) {
                    self.graph.wide_gaps.push((edge as u32, self.gap));
                }
                self.gap = 0;
            }
            open.next += 1;
            let node = open.node;
            if open.next == open.end {
                self.stack.pop();
            }
            if token == 0 {
                self.expected = Some(node);
                return Ok(());
            }
        }
        Ok(())
    }
}
