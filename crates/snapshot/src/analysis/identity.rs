//! The identity of objects in a series, although the collector moves them.
//!
//! The identity of an object is the snapshot in which it was seen first, and its position among the
//! objects there. Addresses and moves lead from one snapshot to the next; graphs are not needed.

use crate::file::Error;
use crate::heap::{Heap, Moves, Series};

/// The identities of the objects of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identities {
    /// By the position among the objects: the snapshot of its first sight in the upper half, and
    /// the position there in the lower one.
    ids: Vec<u64>,
    /// The earliest snapshot from which objects could be followed.
    pub followed_from: usize,
}

impl Identities {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The identity of the object at a position.
    pub fn id(&self, position: usize) -> Option<u64> {
        self.ids.get(position).copied()
    }

    /// The snapshot in which an object was seen first.
    pub fn born(id: u64) -> usize {
        (id >> 32) as usize
    }

    /// The identity of each node; nothing for virtual ones.
    pub fn by_node(&self, heap: &Heap) -> Vec<Option<u64>> {
        let mut ids = self.ids.iter().copied();
        let of_node = |node| {
            if heap.is_virtual(node) {
                None
            } else {
                ids.next()
            }
        };
        heap.nodes().map(of_node).collect()
    }
}

/// The objects of the last snapshot with addresses, and the moves since then.
struct Chain {
    /// Addresses and identities, in order of addresses.
    known: Vec<(u64, u64)>,
    /// Moves of the snapshots after it, the last one at the end.
    moves: Vec<Moves>,
    followed_from: usize,
}

impl Chain {
    /// The identity of the object at an address of the present snapshot, if it was there before.
    fn find(&self, address: u64) -> Option<u64> {
        let mut address = address;
        for moves in self.moves.iter().rev() {
            address = moves.before(address)?;
        }
        let index = self
            .known
            .binary_search_by_key(&address, |one| one.0)
            .ok()?;
        Some(self.known[index].1)
    }
}

/// The identities of the objects of some snapshots, given by index in ascending order.
pub fn identities(series: &Series, wanted: &[usize]) -> Result<Vec<Identities>, Error> {
    let mut chain = Chain {
        known: Vec::new(),
        moves: Vec::new(),
        followed_from: 0,
    };
    let mut found = Vec::new();
    let last = wanted.iter().copied().max().unwrap_or(0);
    for index in 0..=last {
        match series.moves(index)? {
            Some(moves) => chain.moves.push(moves),
            None => {
                chain.known.clear();
                chain.moves.clear();
                chain.followed_from = index;
            }
        }
        if !series.has_graph(index) {
            if wanted.contains(&index) {
                found.push(Identities::default());
            }
            continue;
        }
        let addresses = series.addresses(index)?;
        let of_address = |(position, address): (usize, &u64)| {
            let new = (index as u64) << 32 | position as u64;
            chain.find(*address).unwrap_or(new)
        };
        let ids: Vec<u64> = addresses.iter().enumerate().map(of_address).collect();
        if index == last {
            found.push(Identities {
                ids,
                followed_from: chain.followed_from,
            });
            break;
        }
        chain.known = addresses.into_iter().zip(ids.iter().copied()).collect();
        chain.known.sort_unstable();
        chain.moves.clear();
        if wanted.contains(&index) {
            found.push(Identities {
                ids,
                followed_from: chain.followed_from,
            });
        }
    }
    Ok(found)
}
