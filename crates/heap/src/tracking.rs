//! Notes about objects that move, since the last snapshot of the heap.
//!
//! `identity` says how it comes about and what it is for.

/// Notes since the last snapshot.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    /// Granules: where an object is, and where it was. Sorted.
    pub(crate) moves: Vec<(u32, u32)>,
    /// Addresses of holes in known blocks that may have new objects: start and end.
    pub(crate) filled: Vec<(usize, usize)>,
}

impl Tracking {
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.moves[..]) + size_of_val(&self.filled[..])
    }

    /// Whether the object that starts at an address in a known block came there after the snapshot.
    pub(crate) fn is_filled(&self, sorted: &[(usize, usize)], address: usize) -> bool {
        let index = sorted.partition_point(|(start, _)| *start <= address);
        index > 0 && address < sorted[index - 1].1
    }

    pub(crate) fn filled_sorted(&self) -> Vec<(usize, usize)> {
        let mut sorted = self.filled.clone();
        sorted.sort_unstable();
        sorted
    }
}
