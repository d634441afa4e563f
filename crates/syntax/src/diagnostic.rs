//! Errors and warnings about source text, and how they look as plain text.
//!
//! A diagnostic owns its wording; positions stay spans until it is rendered with a [`SourceMap`].
//! The first line is always `file:line:column: severity[code]: message`, which editors understand.
//! The codes are rows of [`crate::messages`].

use std::fmt::Write;

use crate::messages;

use crate::name::Name;
use crate::span::{Location, SourceMap, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the program is accepted.
    Warning,
    /// The program is refused.
    Error,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for the kind of problem, such as `unbound-variable`: a row of the table of messages.
    pub code: &'static str,
    /// One sentence without a full stop; may have further lines.
    pub message: String,
    /// Where it is.
    pub span: Span,
    /// Other places that matter, each with a sentence.
    pub labels: Vec<(Span, String)>,
    /// Sentences that belong to no place.
    pub notes: Vec<String>,
    /// The name that it is about, if that is bound to nothing here; the first one of several.
    pub missing_name: Option<Name>,
    /// A name that may have been meant.
    pub similar: Option<String>,
    /// The macro uses that led here, innermost first: macro and the span of its use.
    pub expansion: Vec<(Name, Span)>,
    /// Whether more input could make it right; a prompt then asks for another line.
    pub incomplete: bool,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        debug_assert!(messages::find(code).is_some(), "no row for {code}");
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            labels: Vec::new(),
            notes: Vec::new(),
            missing_name: None,
            similar: None,
            expansion: Vec::new(),
            incomplete: false,
        }
    }

    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, span, message)
        }
    }

    /// The same with another place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// The same with another sentence.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// The same with the name that is bound to nothing.
    pub fn missing_name(mut self, name: Name) -> Diagnostic {
        self.missing_name = Some(name);
        self
    }

    /// The same with a name that may have been meant.
    pub fn similar(mut self, name: impl Into<String>) -> Diagnostic {
        self.similar = Some(name.into());
        self
    }

    /// The same, marked as curable by more input.
    pub fn incomplete(mut self) -> Diagnostic {
        self.incomplete = true;
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The diagnostic as text, ending with a newline.
    pub fn render(&self, map: &SourceMap, color: bool) -> String {
        let mut out = String::new();
        let word = match self.severity {
            Severity::Error => Word::Error(self.code),
            Severity::Warning => Word::Warning(self.code),
        };
        let labels = self
            .labels
            .iter()
            .map(|(span, text)| (*span, Word::Note, text));
        for (span, word, text) in std::iter::once((self.span, word, &self.message)).chain(labels) {
            let length = span.end.saturating_sub(span.start) as usize;
            out.push_str(&match map.locate(span) {
                Some(at) => render_at(&at, length, None, word, text, color),
                None => render_without_source(None, word, text, color),
            });
        }
        let did_you_mean = self.similar.iter().map(|name| did_you_mean(name));
        for note in self.notes.iter().cloned().chain(did_you_mean) {
            out.push_str(&render_note(&note, color));
        }
        render_expansion(&mut out, map, &self.expansion);
        out
    }
}

/// A sentence that belongs to no place.
pub fn render_note(note: &str, color: bool) -> String {
    format!("  {}: {note}\n", Word::Note.paint(&Paint { color }))
}

/// The sentence about a name that may have been meant.
pub fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// An entry as diagnostics show them: position, word (`error`, `note`), message, and the source line
/// with `length` bytes of it underlined. A part of them, given by its first byte in the line and its
/// length, may have the carets, and the others dashes.
pub fn render_at(
    at: &Location,
    length: usize,
    part: Option<(usize, usize)>,
    word: Word,
    message: &str,
    color: bool,
) -> String {
    let mut out = String::new();
    let paint = Paint { color };
    let place = format!("{}:{}:{}", at.file, at.line, at.column);
    let word = word.paint(&paint);
    let _ = writeln!(out, "{}: {word}: {message}", paint.apply("1", &place));
    render_line(&mut out, at, length, part, &paint);
    out
}

/// The first line of an entry whose source is not at hand.
pub fn render_without_source(
    place: Option<&str>,
    word: Word,
    message: &str,
    color: bool,
) -> String {
    let paint = Paint { color };
    let place = place.map_or_else(String::new, |place| {
        format!("{}: ", paint.apply("1", place))
    });
    format!("{place}{}: {message}\n", word.paint(&paint))
}

/// The word that an entry begins with, behind its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `error[code]`
    Error(&'static str),
    /// `warning[code]`
    Warning(&'static str),
    /// `note`
    Note,
}

impl Word {
    fn paint(self, paint: &Paint) -> String {
        match self {
            Word::Error(code) => paint.apply("1;31", &format!("error[{code}]")),
            Word::Warning(code) => paint.apply("1;35", &format!("warning[{code}]")),
            Word::Note => paint.apply("1;36", "note"),
        }
    }
}

/// How many macro uses are shown at either end of a long chain.
const SHOWN_AT_EITHER_END: usize = 5;

fn render_expansion(out: &mut String, map: &SourceMap, chain: &[(Name, Span)]) {
    let hidden = chain.len().saturating_sub(2 * SHOWN_AT_EITHER_END);
    for (index, (name, span)) in chain.iter().enumerate() {
        if hidden > 0 && index == SHOWN_AT_EITHER_END {
            let _ = writeln!(out, "  … {hidden} more macro uses …");
        }
        if hidden > 0 && (SHOWN_AT_EITHER_END..SHOWN_AT_EITHER_END + hidden).contains(&index) {
            continue;
        }
        let place = map
            .describe(*span)
            .map_or_else(String::new, |place| format!(" at {place}"));
        let _ = writeln!(out, "  in the expansion of `{name}`{place}");
    }
}

/// Optional terminal colours.
struct Paint {
    color: bool,
}

impl Paint {
    fn apply(&self, style: &str, text: &str) -> String {
        if self.color {
            format!("\u{1B}[{style}m{text}\u{1B}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Longest part of a source line that is shown, in screen columns.
const LINE_COLUMNS_MAX: usize = 120;

/// The source line and a line of carets under `length` bytes from the position on, or under a part of them.
fn render_line(
    out: &mut String,
    at: &Location,
    length: usize,
    part: Option<(usize, usize)>,
    paint: &Paint,
) {
    let mut line = String::new();
    let mut column = 0;
    let end = at.line_offset.saturating_add(length);
    // The carets, one for each column that a character takes.
    let mut carets = String::new();
    let mark = |offset: usize| match part {
        _ if offset < at.line_offset || offset >= end => ' ',
        Some((first, length)) if offset < first || offset >= first + length => '-',
        _ => '^',
    };
    // A long line is shown from shortly before the position on.
    let first = if at.line_offset > LINE_COLUMNS_MAX / 2 && at.line_text.len() > LINE_COLUMNS_MAX {
        at.line_text
            .floor_char_boundary(at.line_offset - LINE_COLUMNS_MAX / 3)
    } else {
        0
    };
    for (offset, character) in at
        .line_text
        .char_indices()
        .filter(|(offset, _)| *offset >= first)
    {
        if column >= LINE_COLUMNS_MAX {
            line.push('…');
            break;
        }
        let width = match character {
            '\t' => 8 - column % 8,
            other => display_width(other),
        };
        match character {
            '\t' => line.extend(std::iter::repeat_n(' ', width)),
            other if other.is_control() => line.push('\u{FFFD}'),
            other => line.push(other),
        }
        carets.extend(std::iter::repeat_n(mark(offset), width));
        // A place has at least one caret.
        if offset >= at.line_offset && carets.trim_end().is_empty() {
            carets.truncate(column);
            carets.push('^');
        }
        column += width;
    }
    if carets.trim_end().is_empty() {
        carets = " ".repeat(column) + "^";
    }
    let carets = carets.trim_end();
    let blank = carets.len() - carets.trim_start().len();
    let number = at.line.to_string();
    let gutter = " ".repeat(number.len());
    let carets = format!(
        "{}{}",
        " ".repeat(blank),
        paint.apply("1;32", carets.trim_start())
    );
    let _ = writeln!(out, " {number} | {line}\n {gutter} | {carets}");
}

/// How many terminal columns a character takes, nearly.
fn display_width(character: char) -> usize {
    match character as u32 {
        0x0300..=0x036F | 0x200B..=0x200F | 0xFE00..=0xFE0F | 0x20D0..=0x20FF => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::SourceMap;

    #[test]
    fn carets_stand_under_the_text() {
        let map = SourceMap::new();
        let id = map.add("a.scm", "(define x)\n\t(日本 (oops 1)\n)");
        let start = map.get(id).unwrap().text.find("(oops").unwrap() as u32;
        let diagnostic =
            Diagnostic::error("bad-syntax", Span::new(id, start, start + 8), "bad form")
                .label(Span::new(id, 0, 1), "first seen here")
                .note("try harder");
        let expected = "a.scm:2:6: error[bad-syntax]: bad form
 2 |         (日本 (oops 1)
   |               ^^^^^^^^
a.scm:1:1: note: first seen here
 1 | (define x)
   | ^
  note: try harder
";
        assert_eq!(diagnostic.render(&map, false), expected);
    }

    #[test]
    fn long_chains_are_shortened() {
        let map = SourceMap::new();
        let mut diagnostic = Diagnostic::error("bad-syntax", Span::NONE, "too much");
        diagnostic.expansion = (0..30).map(|_| (Name::new("loop"), Span::NONE)).collect();
        let text = diagnostic.render(&map, false);
        assert!(text.contains("… 20 more macro uses …"));
        assert_eq!(text.lines().count(), 12);
    }
}
