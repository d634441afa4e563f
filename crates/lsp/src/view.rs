//! A snapshot seen from a newer text, so that answers need not wait for its expansion.
//!
//! Changes lie between the two. A place is carried back over them to be looked up, and the result
//! is carried forward to be shown. The inside of a change is unknown to the snapshot; a name that
//! was typed there means what the names around it say.

use std::sync::Arc;

use canny_syntax::name::Name;
use canny_syntax::recording::{Meaning, Occurrence, Role};
use canny_syntax::span::Span;
use serde_json::Value;

use crate::scan::{Kind, Token};
use crate::snapshot::Snapshot;
use crate::text::Text;

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

/// A name that stands at some place.
pub struct Found {
    /// As the snapshot has it, with its place there.
    pub one: Occurrence,
    /// Where it is in the present text.
    pub start: usize,
    pub end: usize,
}

/// The present text, and the newest analysis that can be used for it.
pub struct View {
    pub snapshot: Arc<Snapshot>,
    pub text: Text,
    /// Whether the snapshot is of this text.
    pub is_current: bool,
    changes: Changes,
}

impl View {
    /// A text, and an analysis of an older one or the same.
    pub fn new(snapshot: Arc<Snapshot>, text: Text, changes: Changes) -> View {
        View {
            is_current: *snapshot.text.content == *text.content,
            changes: if *snapshot.text.content == *text.content {
                Changes::default()
            } else {
                changes
            },
            snapshot,
            text,
        }
    }

    /// Where a place of the present text was when it was looked at.
    pub fn back(&self, offset: usize) -> usize {
        let known = &self.snapshot.text.content;
        known.floor_char_boundary(self.changes.back(offset))
    }

    /// Where a place that was looked at is now; the beginning of a change that it lies in.
    pub fn place(&self, offset: usize) -> usize {
        self.changes.place(offset).min(self.text.content.len())
    }

    /// Where a piece that was looked at is now, if it is still there.
    pub fn forward(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let (first, last) = self.changes.forward(start, end)?;
        let is_there =
            self.text.content.get(first..last) == self.snapshot.text.content.get(start..end);
        is_there.then_some((first, last))
    }

    /// The range of a piece that was looked at.
    pub fn range(&self, start: usize, end: usize) -> Value {
        let start = self.place(start);
        self.text.range(start, self.place(end).max(start))
    }

    /// The word at a place of the present text.
    fn word_at(&self, offset: usize) -> Option<Token> {
        let tokens = self.text.tokens();
        let next = tokens.partition_point(|token| token.start <= offset);
        let around = tokens[..next].iter().rev().take(2);
        let is_word = |token: &&Token| token.kind == Kind::Symbol && offset <= token.end;
        around.copied().find(|token| is_word(&token))
    }

    /// The name at a place of the present text, or right before it.
    pub fn occurrence_at(&self, offset: usize) -> Option<Found> {
        let whole = |one: &Occurrence| (one.span.start as usize, one.span.end as usize);
        let known = self.snapshot.occurrence_at(self.back(offset)).cloned();
        if self.is_current {
            let one = known?;
            let (start, end) = whole(&one);
            return Some(Found { one, start, end });
        }
        let word = self.word_at(offset);
        if let Some(one) = known {
            let (start, end) = whole(&one);
            if let Some((start, end)) = self.forward(start, end)
                && start <= offset
                && offset <= end
                // Text typed at its end makes it another word.
                && word.is_none_or(|word| {
                    (word.start, word.end) == (start, end)
                        || matches!(one.meaning, Meaning::Library(_))
                })
            {
                return Some(Found { one, start, end });
            }
        }
        let word = word?;
        let name = Name::new(&self.text.content[word.start..word.end]);
        let meaning = self.meaning_of(word.start, name)?;
        let start = self.back(word.start) as u32;
        let one = Occurrence {
            span: Span::new(self.snapshot.analysis.source, start, start),
            name,
            role: Role::Reference,
            meaning,
        };
        Some(Found {
            one,
            start: word.start,
            end: word.end,
        })
    }

    /// The meaning of a name at a place of the present text, as far as it was known before.
    pub fn meaning_of(&self, offset: usize, name: Name) -> Option<Meaning> {
        let known = self.back(offset);
        let local = self
            .snapshot
            .locals_at(known)
            .into_iter()
            .find(|(other, _)| *other == name);
        let top = || self.snapshot.top_name(known, name);
        local
            .map(|(_, meaning)| meaning.clone())
            .or_else(|| top().map(|top| top.meaning.clone()))
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
