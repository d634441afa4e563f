//! Changes between a text that was analysed and the present one.
//!
//! Places are byte offsets. They are carried over the changes in both directions; what lies inside of
//! a change has no counterpart on the other side but the beginning of the change.

/// So many changes are kept one by one; more become one.
const CHANGES_MAX: usize = 200;

/// A piece of a text that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it began and ended.
    pub start: usize,
    pub end: usize,
    /// Bytes that it has now.
    pub length: usize,
}

impl Change {
    /// The smallest change that makes one text of another.
    pub fn between(old: &str, new: &str) -> Change {
        let same = |(left, right): &(u8, u8)| left == right;
        let before = old.bytes().zip(new.bytes()).take_while(same).count();
        let limit = old.len().min(new.len()) - before;
        let behind = old
            .bytes()
            .rev()
            .zip(new.bytes().rev())
            .take_while(same)
            .count()
            .min(limit);
        Change {
            start: before,
            end: old.len() - behind,
            length: new.len() - behind - before,
        }
    }

    fn back(&self, offset: usize) -> usize {
        if offset <= self.start {
            offset
        } else if offset >= self.start + self.length {
            offset - self.length - self.start + self.end
        } else {
            self.start
        }
    }

    fn forward(&self, offset: usize) -> usize {
        if offset <= self.start {
            offset
        } else if offset >= self.end {
            offset - self.end + self.start + self.length
        } else {
            self.start
        }
    }
}

/// The changes from one text to another, in their order, each with the generation of the text that it led to.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    all: Vec<(u64, Change)>,
    is_whole: bool,
}

impl Changes {
    /// One change that stands for all since the text that was looked at.
    pub fn whole(generation: u64, change: Change) -> Changes {
        Changes {
            all: vec![(generation, change)],
            is_whole: true,
        }
    }

    /// Whether there is a change that stands for several.
    pub fn is_whole(&self) -> bool {
        self.is_whole && !self.all.is_empty()
    }

    /// Adds a change.
    pub fn push(&mut self, generation: u64, change: Change) {
        self.all.push((generation, change));
    }

    /// Whether there are so many that one is better.
    pub fn are_many(&self) -> bool {
        self.all.len() > CHANGES_MAX
    }

    /// Forgets what led to a generation or an earlier one.
    pub fn forget_until(&mut self, generation: u64) {
        self.all.retain(|(one, _)| *one > generation);
    }

    /// Where a place of the new text was in the old one.
    pub fn back(&self, offset: usize) -> usize {
        let changes = self.all.iter().rev();
        changes.fold(offset, |offset, (_, change)| change.back(offset))
    }

    /// Where a place of the old text is in the new one; the beginning of a change that it lies in.
    pub fn place(&self, offset: usize) -> usize {
        let changes = self.all.iter();
        changes.fold(offset, |offset, (_, change)| change.forward(offset))
    }

    /// Where a piece of the old text is in the new one, if nothing in it was changed.
    pub fn forward(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let (mut start, mut end) = (start, end);
        for (_, change) in &self.all {
            if change.start >= end {
                continue;
            }
            if change.end > start {
                return None;
            }
            let moved = |place: usize| place - change.end + change.start + change.length;
            (start, end) = (moved(start), moved(end));
        }
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(all: &[(usize, usize, usize)]) -> Changes {
        let mut changes = Changes::default();
        for (number, (start, end, length)) in all.iter().enumerate() {
            let change = Change {
                start: *start,
                end: *end,
                length: *length,
            };
            changes.push(number as u64 + 1, change);
        }
        changes
    }

    #[test]
    fn places_are_carried_over_changes() {
        // "(a b c)" → "(a xyz b c)" → "a xyz b c)"
        let both = changes(&[(3, 3, 4), (0, 1, 0)]);
        assert_eq!(both.back(0), 0);
        assert_eq!(both.back(7), 4);
        assert_eq!(both.back(4), 3);
        assert_eq!(both.forward(1, 2), Some((0, 1)));
        assert_eq!(both.forward(5, 6), Some((8, 9)));
        assert_eq!(both.forward(0, 2), None);
        assert_eq!(both.place(5), 8);
        let mut later = both.clone();
        later.forget_until(1);
        assert_eq!(later.back(0), 0);
        assert_eq!(later.back(1), 2);
    }

    #[test]
    fn the_smallest_change_is_found() {
        let change = |start, end, length| Change { start, end, length };
        assert_eq!(Change::between("(a b c)", "(a xyz b c)"), change(3, 3, 4));
        assert_eq!(Change::between("aaa", "aa"), change(2, 3, 0));
        assert_eq!(Change::between("", "λ"), change(0, 0, 2));
        assert_eq!(Change::between("same", "same"), change(4, 4, 0));
    }
}
