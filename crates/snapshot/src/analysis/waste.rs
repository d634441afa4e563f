//! Memory that could be saved: equal strings, and room that is not used.
//!
//! The hash of a text is that of all of it, so strings without previews are compared too.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Analysis;
use crate::file::Fact;

/// Equal strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicates {
    /// One of them.
    pub node: u32,
    pub count: u64,
    /// Bytes that one copy would save, parts of the strings included.
    pub saved: u64,
    /// All of them, in order.
    pub nodes: Vec<u32>,
}

/// Room that an object does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    pub node: u32,
    /// Elements in use and those for which there is room.
    pub used: u64,
    pub room: u64,
    /// Bytes that a fitting object would save, about.
    pub bytes: u64,
}

/// Hash, characters and node of a text.
type Hashed = (u64, u64, u32);

const WORD_BYTES: u64 = 8;

impl Analysis {
    /// Equal strings, those first that waste most; at most so many groups.
    pub fn duplicates(&self, count_max: usize) -> Vec<Duplicates> {
        let heap = self.heap();
        let mut texts: Vec<Hashed> = Vec::new();
        for (node, text) in heap.texts().iter() {
            if let Some(hash) = text.hash {
                texts.push((hash, text.characters, node));
            }
        }
        texts.sort_unstable();
        let mut groups: Vec<(u64, &[Hashed])> = Vec::new();
        for group in texts.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let sizes = group.iter().map(|one| self.dominators().retained(one.2));
            let saved = sizes.clone().sum::<u64>() - sizes.max().unwrap_or(0);
            if group.len() > 1 {
                groups.push((saved, group));
            }
        }
        groups.sort_by_key(|(saved, group)| (Reverse(*saved), group[0].2));
        let of_group = |(saved, group): &(u64, &[Hashed])| Duplicates {
            node: group[0].2,
            count: group.len() as u64,
            saved: *saved,
            nodes: group.iter().map(|one| one.2).collect(),
        };
        groups.iter().take(count_max).map(of_group).collect()
    }

    /// Unused room by type: the type, objects and bytes; the most bytes first.
    pub fn unused_by_type(&self) -> Vec<(u32, u64, u64)> {
        let mut sums: HashMap<u32, (u64, u64)> = HashMap::new();
        for one in self.unused(usize::MAX) {
            let sum = sums.entry(self.heap().type_number(one.node)).or_default();
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(one.bytes);
        }
        let rows = sums
            .into_iter()
            .map(|(number, (objects, bytes))| (number, objects, bytes));
        let mut rows: Vec<(u32, u64, u64)> = rows.collect();
        rows.sort_by_key(|row| (Reverse(row.2), row.0));
        rows
    }

    /// Objects with unused room, those first that waste most.
    pub fn unused(&self, count_max: usize) -> Vec<Unused> {
        let heap = self.heap();
        let mut found = Vec::new();
        let facts: Vec<(u32, Fact, u64)> = heap.facts().iter().collect();
        for facts in facts.chunk_by(|one, other| one.0 == other.0) {
            let node = facts[0].0;
            let get = |fact| facts.iter().find(|one| one.1 == fact).map(|one| one.2);
            let size = heap
                .size(node)
                .saturating_add(get(Fact::Outside).unwrap_or(0));
            if let (Some(used), Some(room)) = (get(Fact::InUse), get(Fact::Room))
                && used < room
            {
                let bytes = u128::from(size) * u128::from(room - used) / u128::from(room);
                found.push(Unused {
                    node,
                    used,
                    room,
                    bytes: bytes as u64,
                });
            } else if let Some(words) = get(Fact::EqualTail) {
                let room = heap.size(node).saturating_sub(WORD_BYTES) / WORD_BYTES;
                found.push(Unused {
                    node,
                    used: room.saturating_sub(words),
                    room,
                    bytes: words.saturating_mul(WORD_BYTES).min(heap.size(node)),
                });
            }
        }
        found.sort_by_key(|one| (Reverse(one.bytes), one.node));
        found.truncate(count_max);
        found
    }
}
