//! An expression of `regex_automata` with a text that all of its matches have.
//!
//! Most texts that are searched have no match, and whether one has a certain text in it is found out
//! many times as fast as whether it matches. The engine does that for texts at the start of an
//! expression, and for some others if they are short; here it is the longest text wherever it stands.
//! If no match goes over the end of a line, only the lines that have the text are searched.
//!
//! A part is searched as a span of the whole, so what looks around sees what is around it.

use memchr::{memchr, memmem, memrchr};
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};
use regex_syntax::hir::{Hir, HirKind, Look};

/// An expression may become so large.
const PROGRAM_BYTES_MAX: usize = 32 << 20;
/// Expressions in one another.
const NESTING_MAX: u32 = 200;
/// A shorter text is not worth looking for.
const NEEDLE_MIN: usize = 3;

/// See the module's description.
pub(crate) struct Expression {
    regex: Regex,
    needle: Option<Needle>,
}

/// A text that every match has.
struct Needle {
    finder: memmem::Finder<'static>,
    is_within_lines: bool,
}

/// Why a pattern is no expression.
pub(super) enum Refused {
    Syntax(Box<regex_syntax::Error>),
    TooLarge,
}

impl From<BuildError> for Refused {
    fn from(_: BuildError) -> Refused {
        Refused::TooLarge
    }
}

/// The places of a match in bytes: start and end of the whole and of each group.
pub(super) type Spans = Vec<Option<Span>>;

impl Expression {
    /// Bytes of the compiled expression, without what searches have cached.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.regex.memory_usage() as u64
    }

    /// The expression of a pattern.
    pub(super) fn new(pattern: &str) -> Result<Expression, Refused> {
        let syntax = syntax::Config::new().nest_limit(NESTING_MAX);
        let hir = syntax::parse_with(pattern, &syntax)
            .map_err(|error| Refused::Syntax(Box::new(error)))?;
        let config = Config::new().nfa_size_limit(Some(PROGRAM_BYTES_MAX));
        let regex = Regex::builder().configure(config).build_from_hir(&hir)?;
        let needle = Needle::of(&hir);
        Ok(Expression { regex, needle })
    }

    /// The expression as the engine knows it.
    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Whether there is a match. A search for one that may end early takes slower ways than this.
    pub(super) fn is_match(&self, bytes: &[u8], start: usize) -> bool {
        let found = self.first(bytes, start, |input| self.regex.search_half(input));
        found.is_some()
    }

    /// The first match from `start` on.
    pub(super) fn find(
        &self,
        captures: &mut Captures,
        bytes: &[u8],
        start: usize,
    ) -> Option<Spans> {
        if self.regex.captures_len() == 1 {
            let found = self.first(bytes, start, |input| self.regex.search(input))?;
            return Some(vec![Some(found.span())]);
        }
        self.first(bytes, start, |input| {
            self.regex.search_captures(input, captures);
            captures.is_match().then_some(())
        })?;
        Some(captures.iter().collect())
    }

    /// The first result of `search` among the parts of `bytes[start..]` where a match may be.
    fn first<R>(
        &self,
        bytes: &[u8],
        start: usize,
        mut search: impl FnMut(&Input<'_>) -> Option<R>,
    ) -> Option<R> {
        let mut from = start;
        if let Some(needle) = &self.needle {
            let mut fruitless = 0;
            loop {
                let at = from + needle.finder.find(bytes.get(from..)?)?;
                if !needle.is_within_lines {
                    break;
                }
                let line_start =
                    memrchr(b'\n', &bytes[from..at]).map_or(from, |end| from + end + 1);
                let line_end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
                let line = Input::new(bytes).span(line_start..line_end);
                if let Some(found) = search(&line) {
                    return Some(found);
                }
                from = line_end;
                fruitless += 1;
                if fruitless >= FRUITLESS_MIN && from - start < fruitless * BYTES_WORTH_IT {
                    break;
                }
            }
        }
        search(&Input::new(bytes).span(from..bytes.len()))
    }
}

/// After so many lines that have the text and no match it is asked whether looking for it has been
/// worth it, which it is if so many bytes were passed for each.
const FRUITLESS_MIN: usize = 16;
const BYTES_WORTH_IT: usize = 512;

impl Needle {
    fn of(hir: &Hir) -> Option<Needle> {
        // An expression that matches at the start of the text only is not looked for elsewhere.
        if hir.properties().look_set_prefix().contains(Look::Start) {
            return None;
        }
        let needle = longest(hir)?;
        if needle.len() < NEEDLE_MIN || starts_with(hir, needle) {
            return None;
        }
        Some(Needle {
            finder: memmem::Finder::new(needle).into_owned(),
            is_within_lines: !has_line_feed(hir),
        })
    }
}

/// The longest text in the expression that every match has.
fn longest(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Capture(capture) => longest(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => longest(&repetition.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .filter_map(longest)
            .max_by_key(|text| text.len()),
        _ => None,
    }
}

/// Whether the expression begins with this very text, for which the engine itself looks.
fn starts_with(hir: &Hir, text: &[u8]) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => *literal.0 == *text,
        HirKind::Capture(capture) => starts_with(&capture.sub, text),
        HirKind::Concat(parts) => parts.first().is_some_and(|part| starts_with(part, text)),
        _ => false,
    }
}

/// Whether a match may have a line feed.
fn has_line_feed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class
            .iter()
            .any(|range| range.start() <= '\n' && '\n' <= range.end()),
        HirKind::Class(regex_syntax::hir::Class::Bytes(class)) => class
            .iter()
            .any(|range| range.start() <= b'\n' && b'\n' <= range.end()),
        HirKind::Repetition(repetition) => has_line_feed(&repetition.sub),
        HirKind::Capture(capture) => has_line_feed(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_line_feed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expression(pattern: &str) -> Expression {
        match Expression::new(pattern) {
            Ok(expression) => expression,
            Err(_) => panic!("{pattern} is an expression"),
        }
    }

    fn needle(pattern: &str) -> Option<(String, bool)> {
        let needle = expression(pattern).needle?;
        let text = String::from_utf8_lossy(needle.finder.needle()).into_owned();
        Some((text, needle.is_within_lines))
    }

    #[test]
    fn the_longest_text_is_found() {
        let some = |text: &str, within| Some((text.to_owned(), within));
        assert_eq!(
            needle(r"\d+ (ERROR|WARN) GET /[a-z]+/sigma\?"),
            some("/sigma?", true)
        );
        assert_eq!(needle(r"\d+\s+(size)+"), some("size", false));
        assert_eq!(needle(r"[^;]*(?:long text)"), some("long text", false));
        assert_eq!(needle("(prefix)[0-9]+ab"), None);
        assert_eq!(needle(r"^[0-9]+abcdef"), None);
        assert_eq!(needle(r"(?m)^[0-9]+abcdef"), some("abcdef", true));
        assert_eq!(needle("[0-9]+(abcdef)?"), None);
        assert_eq!(needle("[0-9]+(?i)abcdef"), None);
        assert_eq!(needle("[0-9]+(abcdef|abcdeg)"), None);
    }

    #[test]
    fn many_lines_without_a_match_do_not_hide_one() {
        let expression = expression("[0-9]+ x abc$");
        let mut text = "z x abc\n".repeat(100);
        let start = text.len();
        text.push_str("17 x abc");
        let mut captures = expression.regex.create_captures();
        let found = expression.find(&mut captures, text.as_bytes(), 0);
        let whole = Span {
            start,
            end: text.len(),
        };
        assert_eq!(found, Some(vec![Some(whole)]));
    }

    const PATTERNS: &[&str] = &[
        "[ab]+xyz",
        r"a*(xyz)b?",
        r"(?m)^[ab]*xyz$",
        r"\b[ab]*xyz\b",
        r"[ab\n]*xyz",
        r"[ab]+?(xyz)+",
        r"(a|b).xyz.*",
        r"(?s)a.xyz.*b",
        r"[ab]*(?:xyz)+\z",
        r"\n[ab]xyz",
    ];

    proptest! {
        #[test]
        fn matches_are_those_of_the_engine(text in
            "(xyz|[abxz]|\n){0,30}", which in 0..PATTERNS.len(), start in 0..40usize) {
            let expression = expression(PATTERNS[which]);
            prop_assert!(expression.needle.is_some());
            let start = start.min(text.len());
            let bytes = text.as_bytes();
            let mut captures = expression.regex.create_captures();
            let found = expression.find(&mut captures, bytes, start);
            let mut expected = expression.regex.create_captures();
            let input = Input::new(bytes).span(start..bytes.len());
            expression.regex.search_captures(&input, &mut expected);
            prop_assert_eq!(expression.is_match(bytes, start), expected.is_match());
            let expected = expected.is_match().then(|| expected.iter().collect());
            prop_assert_eq!(found, expected);
        }
    }
}
