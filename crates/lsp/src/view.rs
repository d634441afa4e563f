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

use crate::changes::Changes;
use crate::scan::{Kind, Token};
use crate::snapshot::Snapshot;
use crate::text::Text;

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
