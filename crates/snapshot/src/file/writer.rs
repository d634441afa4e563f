//! Writes snapshots, node after node.
//!
//! One chunk of each kind is in memory, so that memory is bounded whatever the size of the heap.
//! The calls for nodes and edges cannot fail: the first error is kept, nothing more is written, and
//! [`Writer::finish_snapshot`] gives it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use super::chunk::{self, Packer, Tag, content_hash};
use super::error::Error;
use super::layout::{Layout, Source};
use super::rows::{
    ChunkRow, Directory, Fact, Info, SnapshotFacts, Summary, TypeRow, TypeRows, TypeSum,
};
use super::varint::{self, push, zigzag};
use super::{FORMAT, UNIT_BYTES};

/// From here on the content decides where a chunk ends.
const CUT_MIN: usize = 32 << 10;
/// The average length beyond `CUT_MIN` is this power of two in places where a cut is possible.
const CUT_BITS: u32 = 12;
/// The longest chunk; not more than a block of Zstandard, which does not look further back.
const CUT_MAX: usize = 127 << 10;
/// The most bytes of a preview.
const PREVIEW_BYTES_MAX: usize = 64 << 10;
const ROWS_MAX: usize = 4000;
/// Ranges and moves of a chunk.
const MOVES_MAX: usize = 8000;

/// An open chunk.
struct Stream {
    tag: Tag,
    bytes: Vec<u8>,
    first: u32,
    /// The next number is relative to this one.
    last: u64,
    rows: Vec<ChunkRow>,
}

impl Stream {
    fn new(tag: Tag) -> Stream {
        Stream {
            tag,
            bytes: Vec::with_capacity(CUT_MAX + (1 << 10)),
            first: 0,
            last: 0,
            rows: Vec::new(),
        }
    }

    /// Whether a chunk should end here. The last bytes decide, so that streams that are equal
    /// behind a difference are cut at the same places again.
    fn is_boundary(&self) -> bool {
        let length = self.bytes.len();
        if length < CUT_MIN {
            return false;
        }
        let tail = self.bytes[length - 8..].try_into().unwrap_or_default();
        let hash = u64::from_le_bytes(tail).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash >> (64 - CUT_BITS) == 0 || length >= CUT_MAX
    }

    /// Appends how far a node is behind the one before.
    fn push_node(&mut self, node: u32) -> Result<(), io::Error> {
        if self.bytes.is_empty() {
            self.first = node;
            self.last = u64::from(node);
        }
        let Some(distance) = u64::from(node).checked_sub(self.last) else {
            let tag = String::from_utf8_lossy(&self.tag);
            return Err(invalid(&format!("nodes of {tag} are not in order")));
        };
        push(&mut self.bytes, distance);
        self.last = u64::from(node);
        Ok(())
    }
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Writes the snapshots of one process into a file.
pub struct Writer<W: Write> {
    out: W,
    offset: u64,
    error: Option<io::Error>,
    packer: Packer,
    types: HashMap<TypeRow, u32>,
    /// Of each type, whether its nodes are no objects.
    is_virtual: Vec<bool>,
    /// Types that are in no chunk yet.
    new_types: Vec<TypeRow>,
    type_rows: Vec<ChunkRow>,
    move_rows: Vec<ChunkRow>,
    /// Where the chunks of the file are, by tag, hash and length.
    known: HashMap<(Tag, u64, u32), u64>,
    /// References that are in no chunk yet.
    same: Vec<u8>,
    node: Stream,
    text: Stream,
    fact: Stream,
    weak: Stream,
    addr: Stream,
    addresses: u32,
    nodes: u32,
    edges: u64,
    edges_announced: u64,
    sums: Vec<(u64, u64)>,
    /// The number of the next snapshot.
    number: u64,
    previous: Option<u64>,
    /// Where the open snapshot begins.
    start: u64,
    shared: u64,
}

impl Writer<File> {
    /// Continues a file of the same process. The part behind its last whole snapshot is cut off.
    pub fn append(file: File, info: &Info) -> Result<Writer<File>, Error> {
        let source = Source::file(file)?;
        let layout = Layout::read(&source)?;
        if !layout.info.is_same_process(info) {
            let pid = layout.info.pid;
            return Err(Error::OtherProcess { pid });
        }
        let Some(mut file) = source.into_file() else {
            return Err(Error::NotASnapshot);
        };
        file.set_len(layout.end)?;
        file.seek(SeekFrom::Start(layout.end))?;
        let mut writer = Writer::empty(file);
        writer.offset = layout.end;
        writer.start = layout.end;
        let types = layout.types_of_whole();
        for row in layout.types.into_iter().take(types) {
            writer.is_virtual.push(row.is_virtual);
            let number = writer.types.len() as u32;
            writer.types.insert(row, number);
        }
        // A file of others may have a type twice; numbers must go on behind all of them.
        if writer.types.len() != writer.is_virtual.len() {
            return Err(Error::damaged(0, "a type is there twice"));
        }
        writer.sums = vec![(0, 0); writer.is_virtual.len()];
        for (offset, directory) in &layout.directories {
            for (tag, rows) in &directory.chunks {
                let Ok(tag) = <Tag>::try_from(tag.as_bytes()) else {
                    continue;
                };
                for row in rows {
                    let key = (tag, row.hash, row.length);
                    writer.known.entry(key).or_insert(row.offset);
                }
            }
            writer.number = directory.number + 1;
            writer.previous = Some(*offset);
        }
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    fn empty(out: W) -> Writer<W> {
        Writer {
            out,
            offset: 0,
            error: None,
            packer: Packer::new(),
            types: HashMap::new(),
            is_virtual: Vec::new(),
            new_types: Vec::new(),
            type_rows: Vec::new(),
            move_rows: Vec::new(),
            known: HashMap::new(),
            same: Vec::new(),
            node: Stream::new(chunk::NODE),
            text: Stream::new(chunk::TEXT),
            fact: Stream::new(chunk::FACT),
            weak: Stream::new(chunk::WEAK),
            addr: Stream::new(chunk::ADDR),
            addresses: 0,
            nodes: 0,
            edges: 0,
            edges_announced: 0,
            sums: Vec::new(),
            number: 1,
            previous: None,
            start: 0,
            shared: 0,
        }
    }

    /// Begins a file.
    pub fn create(out: W, info: &Info) -> io::Result<Writer<W>> {
        let mut writer = Writer::empty(out);
        writer.out.write_all(&chunk::SIGNATURE)?;
        writer.offset = chunk::SIGNATURE.len() as u64;
        let info = Info {
            format: FORMAT,
            ..info.clone()
        };
        writer.write_json(chunk::INFO, &info)?;
        Ok(writer)
    }

    /// The destination. Bytes of the open snapshot may be missing there.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// The number of a type, the same for the whole file.
    pub fn type_number(&mut self, row: &TypeRow) -> u32 {
        if let Some(number) = self.types.get(row) {
            return *number;
        }
        let number = self.types.len() as u32;
        self.types.insert(row.clone(), number);
        self.is_virtual.push(row.is_virtual);
        self.sums.push((0, 0));
        self.new_types.push(row.clone());
        number
    }

    /// The nodes so far, which is the number of the next node.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The first error; from then on nothing is written.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Begins the record of a node and gives its number. So many edges follow. Nodes of the first
    /// edges come in between, as a depth-first search finds them.
    #[inline]
    pub fn node(&mut self, type_number: u32, size: u64, edges: u64) -> u32 {
        if self.node.bytes.len() >= CUT_MIN {
            self.cut_nodes();
        }
        let number = self.nodes;
        self.nodes = self.nodes.wrapping_add(1);
        push(&mut self.node.bytes, u64::from(type_number));
        push(&mut self.node.bytes, size);
        push(&mut self.node.bytes, edges);
        self.edges_announced += edges;
        match self.sums.get_mut(type_number as usize) {
            Some(sum) => {
                sum.0 += 1;
                sum.1 += size * UNIT_BYTES;
            }
            None => self.fail(invalid("a node of an unknown type")),
        }
        number
    }

    /// An edge to a node that was not found before; its record follows.
    #[inline]
    pub fn edge_new(&mut self) {
        self.edges += 1;
        self.node.bytes.push(0);
    }

    /// An edge to a node that was found before.
    #[inline]
    pub fn edge_to(&mut self, target: u32) {
        self.edges += 1;
        if target >= self.nodes {
            self.fail(invalid("an edge to a node that is not there yet"));
            return;
        }
        let near = 2 + 2 * u64::from(self.nodes - target - 1);
        let far = 3 + 2 * u64::from(target);
        // Distances within a chunk stay right where the chunk is used again, and so do numbers of
        // the first nodes.
        let is_far = match varint::length(far).cmp(&varint::length(near)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => target < self.node.first,
            std::cmp::Ordering::Greater => false,
        };
        push(&mut self.node.bytes, if is_far { far } else { near });
        if self.node.bytes.len() >= CUT_MAX {
            self.cut_nodes();
        }
    }

    /// So many words are no edges. An edge has to follow in the record.
    #[inline]
    pub fn skip(&mut self, words: u64) {
        if words > 0 {
            self.node.bytes.push(1);
            push(&mut self.node.bytes, words);
        }
    }

    #[cold]
    fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    fn cut_nodes(&mut self) {
        if !self.node.is_boundary() {
            return;
        }
        if self.nodes == u32::MAX {
            self.fail(invalid("more than four thousand million nodes"));
        }
        self.flush(|writer| &mut writer.node);
        self.node.first = self.nodes;
    }

    /// The text of a node. A string has its beginning, with the hash of all of it.
    pub fn text(&mut self, node: u32, characters: u64, preview: &str, hash: Option<u64>) {
        if let Err(error) = self.text.push_node(node) {
            return self.fail(error);
        }
        let preview = match preview.len() {
            0..=PREVIEW_BYTES_MAX => preview,
            _ => &preview[..preview.floor_char_boundary(PREVIEW_BYTES_MAX)],
        };
        let bytes = &mut self.text.bytes;
        push(bytes, u64::from(hash.is_some()));
        push(bytes, characters);
        push(bytes, preview.len() as u64);
        bytes.extend_from_slice(preview.as_bytes());
        bytes.extend_from_slice(
            hash.map(u64::to_le_bytes)
                .as_ref()
                .map_or(&[], |all| &all[..]),
        );
        if self.text.is_boundary() {
            self.flush(|writer| &mut writer.text);
        }
    }

    /// A number about a node.
    pub fn fact(&mut self, node: u32, fact: Fact, value: u64) {
        if let Err(error) = self.fact.push_node(node) {
            return self.fail(error);
        }
        push(&mut self.fact.bytes, fact as u64);
        push(&mut self.fact.bytes, value);
        if self.fact.is_boundary() {
            self.flush(|writer| &mut writer.fact);
        }
    }

    /// An edge that keeps nothing alive. Sources ascend.
    pub fn weak(&mut self, source: u32, word: u64, target: u32) {
        if let Err(error) = self.weak.push_node(source) {
            return self.fail(error);
        }
        push(&mut self.weak.bytes, word);
        let distance = i64::from(target) - i64::from(source);
        push(&mut self.weak.bytes, zigzag(distance));
        if self.weak.is_boundary() {
            self.flush(|writer| &mut writer.weak);
        }
    }

    /// The address of the next node that is an object, relative to the base, in units.
    #[inline]
    pub fn address(&mut self, units: u64) {
        if self.addr.bytes.is_empty() {
            self.addr.first = self.addresses;
            self.addr.last = 0;
        }
        self.addresses = self.addresses.wrapping_add(1);
        let distance = units.wrapping_sub(self.addr.last) as i64;
        push(&mut self.addr.bytes, zigzag(distance));
        self.addr.last = units;
        if self.addr.bytes.len() >= CUT_MIN && self.addr.is_boundary() {
            self.flush(|writer| &mut writer.addr);
        }
    }

    /// Where objects came from: ranges (start and length) whose objects are new, and moves (place
    /// now, place before), each in ascending order, in units relative to the base.
    pub fn moves(&mut self, ranges: &[(u64, u64)], moves: &[(u64, u64)]) {
        let mut ranges = ranges.chunks(MOVES_MAX);
        let mut moves = moves.chunks(MOVES_MAX);
        let mut is_first = true;
        loop {
            let (ranges, moves) = (ranges.next(), moves.next());
            // A chunk without content says that nothing moved, other than no chunk.
            if ranges.is_none() && moves.is_none() && !is_first {
                return;
            }
            is_first = false;
            let Some(mut bytes) = moves_bytes(ranges.unwrap_or(&[]), moves.unwrap_or(&[])) else {
                return self.fail(invalid("moves are not in order"));
            };
            let row = self.write_chunk(chunk::MOVE, 0, &mut bytes);
            self.move_rows.extend(row);
        }
    }

    /// Ends the open chunk of a stream.
    fn flush(&mut self, stream: impl Fn(&mut Writer<W>) -> &mut Stream) {
        let Stream { tag, first, .. } = *stream(self);
        let mut bytes = std::mem::take(&mut stream(self).bytes);
        if bytes.is_empty() {
            stream(self).bytes = bytes;
            return;
        }
        let row = self.write_chunk(tag, first, &mut bytes);
        bytes.clear();
        let stream = stream(self);
        stream.bytes = bytes;
        stream.rows.extend(row);
    }

    /// Writes a chunk, or refers to an equal one. Nothing is written behind an error.
    fn write_chunk(&mut self, tag: Tag, first: u32, bytes: &mut Vec<u8>) -> Option<ChunkRow> {
        if self.error.is_some() {
            return None;
        }
        let length = bytes.len() as u32;
        let hash = content_hash(bytes);
        let key = (tag, hash, length);
        let mut row = ChunkRow {
            offset: self.offset,
            length,
            hash,
            first,
        };
        if let Some(offset) = self.known.get(&key) {
            row.offset = *offset;
            self.shared += u64::from(length);
            self.same.extend_from_slice(&tag);
            push(&mut self.same, row.offset);
            push(&mut self.same, u64::from(first));
            return Some(row);
        }
        match self.try_write(tag, first, bytes) {
            Ok(offset) => row.offset = offset,
            Err(error) => {
                self.fail(error);
                return None;
            }
        }
        self.known.insert(key, row.offset);
        Some(row)
    }

    /// Writes what has to stand before a chunk, and the chunk. Gives its offset.
    fn try_write(&mut self, tag: Tag, first: u32, bytes: &mut Vec<u8>) -> io::Result<u64> {
        self.write_types()?;
        if !self.same.is_empty() {
            let mut same = std::mem::take(&mut self.same);
            self.write_bytes(chunk::SAME, 0, &mut same)?;
        }
        self.write_bytes(tag, first, bytes)
    }

    fn write_types(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.new_types);
        let mut first = (self.types.len() - rows.len()) as u32;
        for types in rows.chunks(ROWS_MAX) {
            let types = TypeRows {
                first,
                types: types.to_vec(),
            };
            first += types.types.len() as u32;
            let row = self.write_json(chunk::TYPE, &types)?;
            self.type_rows.push(row);
        }
        Ok(())
    }

    fn write_json(&mut self, tag: Tag, value: &impl serde::Serialize) -> io::Result<ChunkRow> {
        let mut bytes = serde_json::to_vec(value)?;
        let (length, hash) = (bytes.len() as u32, content_hash(&bytes));
        let offset = self.write_bytes(tag, 0, &mut bytes)?;
        Ok(ChunkRow {
            offset,
            length,
            hash,
            first: 0,
        })
    }

    fn write_bytes(&mut self, tag: Tag, first: u32, bytes: &mut Vec<u8>) -> io::Result<u64> {
        if bytes.len() > chunk::CHUNK_BYTES_MAX {
            let tag = String::from_utf8_lossy(&tag);
            return Err(invalid(&format!("too much for a chunk of {tag}")));
        }
        let offset = self.offset;
        let chunk = self.packer.chunk(tag, first, bytes);
        self.out.write_all(&chunk)?;
        self.offset += chunk.len() as u64;
        Ok(offset)
    }

    /// Ends a snapshot. The next node is node 0 of another one. After an error the writer is of no
    /// use; [`Writer::append`] cuts off what it has written of the snapshot.
    pub fn finish_snapshot(&mut self, facts: SnapshotFacts) -> io::Result<Summary> {
        self.flush(|writer| &mut writer.node);
        self.flush(|writer| &mut writer.text);
        self.flush(|writer| &mut writer.fact);
        self.flush(|writer| &mut writer.weak);
        self.flush(|writer| &mut writer.addr);
        if self.edges != self.edges_announced || u64::from(self.nodes) > self.edges + 1 {
            self.fail(invalid("the records of nodes do not fit together"));
        }
        if let Some(error) = &self.error {
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        self.write_types()?;
        let directory = self.directory(facts);
        let offset = self.write_json(chunk::SNAP, &directory)?.offset;
        self.write_bytes(chunk::TAIL, 0, &mut offset.to_le_bytes().to_vec())?;
        self.out.flush()?;
        let summary = Summary {
            number: directory.number,
            nodes: directory.nodes,
            edges: directory.edges,
            objects: directory.objects,
            bytes: directory.bytes,
            types: directory.summary,
            written: self.offset - self.start,
            shared: self.shared,
        };
        self.previous = Some(offset);
        self.number += 1;
        self.start = self.offset;
        (self.nodes, self.edges, self.edges_announced) = (0, 0, 0);
        (self.addresses, self.shared) = (0, 0);
        self.node.first = 0;
        self.sums.fill((0, 0));
        self.same.clear();
        Ok(summary)
    }

    fn directory(&mut self, facts: SnapshotFacts) -> Directory {
        let mut summary = facts.summary;
        if self.nodes > 0 {
            let sums = self.sums.iter().zip(&self.is_virtual).enumerate();
            let of_type =
                |(number, ((objects, bytes), is_virtual)): (usize, (&(u64, u64), &bool))| {
                    (!is_virtual && *objects > 0).then_some(TypeSum {
                        type_number: number as u32,
                        objects: *objects,
                        bytes: *bytes,
                    })
                };
            summary = sums.filter_map(of_type).collect();
        }
        summary.sort_by_key(|sum| (std::cmp::Reverse(sum.bytes), sum.type_number));
        let mut chunks = BTreeMap::new();
        let streams = [
            (chunk::TYPE, &mut self.type_rows),
            (chunk::MOVE, &mut self.move_rows),
            (chunk::NODE, &mut self.node.rows),
            (chunk::TEXT, &mut self.text.rows),
            (chunk::FACT, &mut self.fact.rows),
            (chunk::WEAK, &mut self.weak.rows),
            (chunk::ADDR, &mut self.addr.rows),
        ];
        for (tag, rows) in streams {
            if !rows.is_empty() {
                let tag = String::from_utf8_lossy(&tag).into_owned();
                chunks.insert(tag, std::mem::take(rows));
            }
        }
        Directory {
            number: self.number,
            time: facts.time,
            reason: facts.reason,
            way: facts.way,
            stopped: facts.stopped,
            taken: facts.taken,
            has_previews: facts.has_previews,
            nodes: u64::from(self.nodes),
            edges: self.edges,
            objects: summary.iter().map(|sum| sum.objects).sum(),
            bytes: summary.iter().map(|sum| sum.bytes).sum(),
            heap: facts.heap,
            outside: facts.outside,
            types: self.types.len() as u64,
            summary,
            places: facts.places,
            chunks,
            previous: self.previous,
        }
    }
}

/// The content of a `MOVE` chunk; nothing if its parts are not in order.
fn moves_bytes(ranges: &[(u64, u64)], moves: &[(u64, u64)]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    push(&mut bytes, ranges.len() as u64);
    let mut end = 0;
    for &(start, length) in ranges {
        push(&mut bytes, start.checked_sub(end)?);
        push(&mut bytes, length);
        end = start.checked_add(length)?;
    }
    push(&mut bytes, moves.len() as u64);
    let mut last = 0;
    for &(now, before) in moves {
        push(&mut bytes, now.checked_sub(last)?);
        push(&mut bytes, zigzag(before.wrapping_sub(now) as i64));
        last = now;
    }
    Some(bytes)
}
