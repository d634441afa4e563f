//! Counts of a few items: the first ones get a count each, all others share one.
//!
//! The number of items is bounded by the caller, so that a site with many types costs no more
//! memory than one with few. Counts saturate. `fade` makes old counts weigh less than new ones.

/// How often each of a few things was seen; the largest number that is counted apart is the caller's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram<T> {
    counts: Vec<(T, u32)>,
    others: u32,
}

impl<T> Default for Histogram<T> {
    fn default() -> Self {
        Histogram::empty()
    }
}

impl<T> Histogram<T> {
    /// Nothing counted.
    pub const fn empty() -> Histogram<T> {
        Histogram {
            counts: Vec::new(),
            others: 0,
        }
    }
}

impl<T: Copy + PartialEq> Histogram<T> {
    /// One thing, so often.
    pub fn of(item: T, count: u32) -> Histogram<T> {
        Histogram {
            counts: vec![(item, count)],
            others: 0,
        }
    }

    /// Such counts. Items that are equal are counted together.
    pub fn of_counts(counts: impl IntoIterator<Item = (T, u32)>, others: u32) -> Histogram<T> {
        let mut histogram = Histogram {
            counts: Vec::new(),
            others,
        };
        for (item, count) in counts {
            histogram.add_all(&Histogram::of(item, count));
        }
        histogram
    }

    /// Counts one more, among the others if `kinds_max` are counted apart already.
    pub fn add(&mut self, item: T, kinds_max: usize) {
        match self.counts.iter().position(|(known, _)| *known == item) {
            Some(at) => self.counts[at].1 = self.counts[at].1.saturating_add(1),
            None if self.counts.len() < kinds_max => self.counts.push((item, 1)),
            None => self.others = self.others.saturating_add(1),
        }
    }

    /// Adds everything of another.
    pub fn add_all(&mut self, other: &Histogram<T>) {
        for (item, count) in &other.counts {
            match self.counts.iter_mut().find(|(known, _)| known == item) {
                Some((_, own)) => *own = own.saturating_add(*count),
                None => self.counts.push((*item, *count)),
            }
        }
        self.others = self.others.saturating_add(other.others);
    }

    /// The same with other items in place of its own, of which several may be equal.
    pub fn mapped(&self, change: impl Fn(T) -> T) -> Histogram<T> {
        let mut mapped = Histogram {
            counts: Vec::new(),
            others: self.others,
        };
        for (item, count) in &self.counts {
            mapped.add_all(&Histogram::of(change(*item), *count));
        }
        mapped
    }

    /// The values counted apart, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = &(T, u32)> {
        self.counts.iter()
    }

    /// Count of all.
    pub fn total(&self) -> u32 {
        self.counts
            .iter()
            .fold(self.others, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Count of values that were not told apart.
    pub fn others(&self) -> u32 {
        self.others
    }

    /// Returns the most frequent value and its count.
    pub fn most(&self) -> Option<(T, u32)> {
        self.counts.iter().copied().max_by_key(|(_, count)| *count)
    }

    /// The most frequent first.
    pub fn sorted(&self) -> Vec<(T, u32)> {
        let mut sorted = self.counts.clone();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        sorted
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.others == 0
    }

    /// Leaves an eighth of every count.
    pub fn fade(&mut self) {
        self.others /= 8;
        self.counts.retain_mut(|(_, count)| {
            *count /= 8;
            *count > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_a_few_and_the_others_together() {
        let mut histogram = Histogram::default();
        for item in [1, 2, 2, 3, 4] {
            histogram.add(item, 3);
        }
        assert_eq!(histogram.most(), Some((2, 2)));
        assert_eq!((histogram.total(), histogram.others()), (5, 1));
        let mut twice = histogram.clone();
        twice.add_all(&histogram);
        assert_eq!(twice.sorted()[0], (2, 4));
        twice.fade();
        assert!(twice.is_empty());
    }
}
