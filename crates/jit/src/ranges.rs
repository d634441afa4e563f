//! Free ranges of a region of memory, first fit.

use std::collections::BTreeMap;

/// Free ranges by start.
#[derive(Debug)]
pub(crate) struct FreeRanges {
    by_start: BTreeMap<usize, usize>,
}

impl FreeRanges {
    /// One free range.
    pub(crate) fn new(start: usize, length: usize) -> FreeRanges {
        FreeRanges {
            by_start: BTreeMap::from([(start, length)]),
        }
    }

    /// Takes `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Option<usize> {
        let (&start, &free) = self.by_start.iter().find(|(_, free)| **free >= length)?;
        self.by_start.remove(&start);
        if free > length {
            self.by_start.insert(start + length, free - length);
        }
        Some(start)
    }

    /// Gives a range back that was taken.
    pub(crate) fn give(&mut self, mut start: usize, mut length: usize) {
        if let Some(after) = self.by_start.remove(&(start + length)) {
            length += after;
        }
        if let Some((&before, &free)) = self.by_start.range(..start).next_back()
            && before + free == start
        {
            self.by_start.remove(&before);
            start = before;
            length += free;
        }
        self.by_start.insert(start, length);
    }

    /// Bytes that are free.
    pub(crate) fn free_bytes(&self) -> usize {
        self.by_start.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::FreeRanges;

    #[test]
    fn neighbours_are_joined() {
        let mut ranges = FreeRanges::new(100, 50);
        let taken: Vec<usize> = (0..5).filter_map(|_| ranges.take(10)).collect();
        assert_eq!(taken, [100, 110, 120, 130, 140]);
        assert_eq!(ranges.take(1), None);
        for start in [110, 130, 120] {
            ranges.give(start, 10);
        }
        assert_eq!(ranges.take(30), Some(110));
        assert_eq!(ranges.free_bytes(), 0);
    }
}
