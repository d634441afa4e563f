//! The content of the heap by kind of object, as full collections find it.
//!
//! A full collection takes a census at its end if somebody has asked for one before. It counts large
//! objects one by one, and the objects of at most [`BLOCKS_MAX`] other blocks, spread over the heap; a
//! larger heap is estimated from these.

use canny_tables::kinds::{KINDS, Kind};
use canny_value::Header;

use crate::block::{BLOCK_BYTES, Block, Space, state};
use crate::shape;
use crate::sweep;

/// Blocks of small objects that are looked at: 16 MB.
const BLOCKS_MAX: usize = 512;

/// Kinds of objects, and pairs, which have no header.
const ROWS: usize = KINDS.len() + 1;

/// Objects by kind.
#[derive(Clone, Debug)]
pub struct Census {
    /// Whether every object was counted.
    pub is_exact: bool,
    objects: [u64; ROWS],
    bytes: [u64; ROWS],
}

/// The objects of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CensusRow {
    /// The name of the kind.
    pub name: &'static str,
    pub objects: u64,
    pub bytes: u64,
}

impl Census {
    /// Counts while all threads stand still after a collection; blocks below the frontier exist.
    pub(crate) fn take(space: &Space, frontier: u32) -> Census {
        let is_plain = |number: &u32| {
            let block_state = space.state(Block(*number));
            let content = block_state & state::CONTENT;
            !matches!(content, state::FREE | state::TAIL) && block_state & state::LARGE == 0
        };
        let plain = (0..frontier).filter(is_plain).count();
        let stride = plain.div_ceil(BLOCKS_MAX).max(1);
        let mut census = Census {
            is_exact: stride == 1,
            objects: [0; ROWS],
            bytes: [0; ROWS],
        };
        let mut looked_at = 0;
        for number in (0..frontier).filter(is_plain).step_by(stride) {
            census.count_block(space, Block(number));
            looked_at += 1;
        }
        if stride > 1 {
            census.scale(plain, looked_at);
        }
        for number in 0..frontier {
            let block = Block(number);
            let block_state = space.state(block);
            if block_state & state::LARGE != 0 && block_state & state::CONTENT != state::FREE {
                let bytes = space.info(block).span as usize * BLOCK_BYTES;
                // SAFETY: a large object starts at its first block.
                let word = unsafe { shape::read(space.start_of(block)) };
                census.count(word, bytes);
            }
        }
        census
    }

    fn count_block(&mut self, space: &Space, block: Block) {
        sweep::clean(space, block);
        let (mut at, top) = (space.start_of(block), space.top_of(block));
        while at < top {
            // SAFETY: the block is laid out as objects up to its top.
            let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
            if !shape::is_filler(word) {
                self.count(word, bytes);
            }
            at += bytes.max(canny_tables::layout::GRANULE_BYTES);
        }
    }

    /// Counts an object with this first word.
    fn count(&mut self, word: u64, bytes: usize) {
        let row = if Header::is_header(word) {
            usize::from(Header(word).kind_byte()).min(ROWS - 1)
        } else {
            ROWS - 1
        };
        self.objects[row] += 1;
        self.bytes[row] += bytes as u64;
    }

    fn scale(&mut self, all: usize, some: usize) {
        let factor = all as f64 / some.max(1) as f64;
        for number in self.objects.iter_mut().chain(&mut self.bytes) {
            *number = (*number as f64 * factor) as u64;
        }
    }

    /// The kinds that have objects, the largest first.
    pub fn rows(&self) -> Vec<CensusRow> {
        let name = |row: usize| Kind::ALL.get(row).map_or("pair", |_| KINDS[row].name);
        let rows = (0..ROWS).map(|row| CensusRow {
            name: name(row),
            objects: self.objects[row],
            bytes: self.bytes[row],
        });
        let mut rows: Vec<CensusRow> = rows.filter(|row| row.objects > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        rows
    }
}
