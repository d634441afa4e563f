//! Source positions: spans of bytes, and the map that turns them into files, lines and columns.
//!
//! A [`Span`] is sixteen bytes and knows nothing of the text it points into. The [`SourceMap`] owns the
//! texts; it is shared behind a reference, may grow at any time and never forgets a source, except that
//! [`SourceMap::release`] drops a text. Lines and columns count from one; columns count characters.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use canny_locks::RwLock;
use serde::{Deserialize, Serialize};

/// A source text in a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The source of what was made by the system itself and has no text.
    pub const NONE: SourceId = SourceId(u32::MAX);
}

/// The bytes `start..end` of one source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The text that the offsets point into.
    pub source: SourceId,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset behind the last byte.
    pub end: u32,
    /// Zero for code where it was written; a copy that the compiler made of it elsewhere has another
    /// number, to which the compiler gives the meaning. Numbers from [`EXPANDED`] on name the place in
    /// the expansion of a macro, if expansions are kept.
    #[serde(skip)]
    pub inlining: u32,
}

/// The first number of [`Span::inlining`] that names a place in an expansion.
pub const EXPANDED: u32 = 1 << 31;

impl Default for Span {
    fn default() -> Span {
        Span::NONE
    }
}

impl Span {
    /// The span of what has no position.
    pub const NONE: Span = Span {
        source: SourceId::NONE,
        start: 0,
        end: 0,
        inlining: 0,
    };

    /// The bytes `start..end` of `source`.
    pub fn new(source: SourceId, start: u32, end: u32) -> Span {
        Span {
            source,
            start,
            end,
            inlining: 0,
        }
    }

    /// The number of the copy, wherever in an expansion it was made.
    fn copy(self) -> u32 {
        if self.inlining < EXPANDED {
            self.inlining
        } else {
            0
        }
    }

    /// Whether the span points into a text.
    pub fn is_some(self) -> bool {
        self.source != SourceId::NONE
    }

    /// The smallest span that covers both; `self` when they lie in different sources or copies.
    pub fn to(self, other: Span) -> Span {
        if (self.source, self.copy()) != (other.source, other.copy()) {
            return self;
        }
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            ..self
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() {
            write!(formatter, "{}:{}..{}", self.source.0, self.start, self.end)
        } else {
            formatter.write_str("nowhere")
        }
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "source {}", self.0)
    }
}

/// One text with its name and the offsets at which its lines begin.
#[derive(Debug)]
pub struct Source {
    /// The name to show: usually the path as the user gave it.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    /// The macro use whose expansion the text is, for a text that nobody wrote.
    pub expansion: Option<Expansion>,
    line_starts: Vec<u32>,
}

/// A macro use that was expanded.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The macro's name.
    pub keyword: String,
    /// The use, which may stand in another expansion.
    pub used: Span,
}

/// A resolved position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The source's name.
    pub file: String,
    /// Line, from one.
    pub line: u32,
    /// Column in characters, from one.
    pub column: u32,
    /// The text of the line, without its terminator.
    pub line_text: String,
    /// Byte offset of the position in `line_text`.
    pub line_offset: usize,
}

/// Parts of a use, and where they are in its expansion.
pub type Parts = Arc<[(Span, Span)]>;

/// Every source text seen so far. `Send` and `Sync`; all methods take a shared reference.
#[derive(Debug, Default)]
pub struct SourceMap {
    sources: RwLock<Vec<Arc<Source>>>,
    /// Places in expansions, by the number of [`Span::inlining`] without [`EXPANDED`].
    expanded: RwLock<Vec<Span>>,
    /// Parts of uses, and where they are in the expansions.
    parts: RwLock<HashMap<SourceId, Parts>>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a text. Texts of 4 GiB and more are cut at the last character that fits.
    pub fn add(&self, name: &str, text: impl Into<Arc<str>>) -> SourceId {
        self.add_source(name.to_owned(), text.into(), None)
    }

    /// Adds the text of an expansion, with a name of its own.
    pub fn add_expansion(&self, expansion: Expansion, text: impl Into<Arc<str>>) -> SourceId {
        let name = format!("expansion of {}", expansion.keyword);
        self.add_source(name, text.into(), Some(expansion))
    }

    /// Adds a place in an expansion; gives its number.
    pub fn add_expanded(&self, place: Span) -> u32 {
        let mut expanded = self.expanded.write();
        expanded.push(place);
        EXPANDED + (expanded.len() as u32 - 1).min(EXPANDED - 1)
    }

    /// The place in an expansion that a number means.
    pub fn expanded(&self, number: u32) -> Option<Span> {
        let index = number.checked_sub(EXPANDED)?;
        self.expanded.read().get(index as usize).copied()
    }

    /// Says where the parts of a use are in its expansion.
    pub fn set_parts(&self, expansion: SourceId, parts: Vec<(Span, Span)>) {
        self.parts.write().insert(expansion, parts.into());
    }

    /// The parts of a use, and where they are in its expansion.
    pub fn parts(&self, expansion: SourceId) -> Parts {
        self.parts
            .read()
            .get(&expansion)
            .cloned()
            .unwrap_or_default()
    }

    fn add_source(&self, name: String, text: Arc<str>, expansion: Option<Expansion>) -> SourceId {
        let line_starts = line_starts(&text);
        let mut sources = self.sources.write();
        let id = SourceId(u32::try_from(sources.len()).expect("fewer than 2^32 sources"));
        let name = match &expansion {
            // Others of the same macro have other numbers.
            Some(_) => format!("{name} ({})", sources.len()),
            None => name,
        };
        sources.push(Arc::new(Source {
            name,
            text,
            expansion,
            line_starts,
        }));
        id
    }

    /// Lets go of a text that nobody will ask for any more; the number and the name stay.
    pub fn release(&self, id: SourceId) {
        let mut sources = self.sources.write();
        if let Some(source) = sources.get_mut(id.0 as usize) {
            *source = Arc::new(Source {
                name: source.name.clone(),
                text: Arc::from(""),
                expansion: source.expansion.clone(),
                line_starts: vec![0],
            });
        }
    }

    /// The source of that number.
    pub fn get(&self, id: SourceId) -> Option<Arc<Source>> {
        let sources = self.sources.read();
        sources.get(id.0 as usize).cloned()
    }

    /// The newest text of that name.
    pub fn text_of(&self, name: &str) -> Option<Arc<str>> {
        let sources = self.sources.read();
        sources
            .iter()
            .rev()
            .find(|source| source.name == name)
            .map(|source| source.text.clone())
    }

    /// The position of the first byte of `span`; `None` when it points nowhere.
    pub fn locate(&self, span: Span) -> Option<Location> {
        self.get(span.source)
            .map(|source| source.locate(span.start))
    }

    /// `file:line:column` of the first byte of `span`, or `None`.
    pub fn describe(&self, span: Span) -> Option<String> {
        self.locate(span)
            .map(|at| format!("{}:{}:{}", at.file, at.line, at.column))
    }

    /// The text that `span` covers.
    pub fn text(&self, span: Span) -> Option<String> {
        let source = self.get(span.source)?;
        source
            .text
            .get(span.start as usize..span.end as usize)
            .map(str::to_owned)
    }
}

impl Source {
    /// The position of byte `offset`; offsets behind the end count as the end.
    pub fn locate(&self, offset: u32) -> Location {
        let offset = (offset as usize).min(self.text.len());
        let line = match self.line_starts.binary_search(&(offset as u32)) {
            Ok(line) => line,
            Err(next) => next - 1,
        };
        let start = self.line_starts[line] as usize;
        let end = self
            .line_starts
            .get(line + 1)
            .map_or(self.text.len(), |&next| next as usize);
        let line_text = self.text[start..end].trim_end_matches(['\n', '\r']);
        let mut line_offset = (offset - start).min(line_text.len());
        while !line_text.is_char_boundary(line_offset) {
            line_offset -= 1;
        }
        Location {
            file: self.name.clone(),
            line: line as u32 + 1,
            column: line_text[..line_offset].chars().count() as u32 + 1,
            line_text: line_text.to_owned(),
            line_offset,
        }
    }

    /// Line and column of byte `offset`, both from one, without copying the line.
    pub fn line_and_column(&self, offset: u32) -> (u32, u32) {
        let offset = (offset as usize).min(self.text.len());
        let line = match self.line_starts.binary_search(&(offset as u32)) {
            Ok(line) => line,
            Err(next) => next - 1,
        };
        let start = self.line_starts[line] as usize;
        let column = self.text.as_bytes()[start..offset]
            .iter()
            .filter(|&&byte| byte & 0xC0 != 0x80)
            .count();
        (line as u32 + 1, column as u32 + 1)
    }
}

/// The offset of each line's first byte. A line ends with `\n`, `\r\n` or a lone `\r`.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (index, &byte) in bytes.iter().enumerate() {
        let ends_line = byte == b'\n' || (byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
        if ends_line {
            starts.push(index as u32 + 1);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let map = SourceMap::new();
        let id = map.add("a.scm", "(λ x)\r\n  (é y)\rlast");
        let at = |start| map.describe(Span::new(id, start, start)).unwrap();
        assert_eq!(at(0), "a.scm:1:1");
        assert_eq!(at(3), "a.scm:1:3");
        assert_eq!(at(10), "a.scm:2:3");
        assert_eq!(at(13), "a.scm:2:5");
        let location = map.locate(Span::new(id, 17, 17)).unwrap();
        assert_eq!((location.line, location.line_text.as_str()), (3, "last"));
        assert_eq!(map.get(id).unwrap().line_and_column(13), (2, 5));
        assert_eq!(at(400), "a.scm:3:5");
    }

    #[test]
    fn spans_join() {
        let (a, b) = (Span::new(SourceId(0), 4, 6), Span::new(SourceId(0), 1, 5));
        assert_eq!(a.to(b), Span::new(SourceId(0), 1, 6));
        assert_eq!(a.to(Span::NONE), a);
    }
}
