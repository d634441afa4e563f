//! Semantic tokens: colours of identifiers by what they mean, and of literals by their syntax.
//!
//! The legend's order is the protocol's numbering. Tokens are in order, do not overlap and end with
//! their line.

use canny_syntax::recording::{LocalKind, Meaning, Occurrence, Role};
use serde_json::{Value, json};

use crate::scan::Kind;
use crate::snapshot::Snapshot;
use crate::view::View;

/// The kinds of tokens, by number.
pub const TYPES: [&str; 11] = [
    "keyword",
    "macro",
    "function",
    "variable",
    "parameter",
    "property",
    "namespace",
    "string",
    "number",
    "comment",
    "operator",
];

/// Modifiers of the kind, by bit.
pub const MODIFIERS: [&str; 4] = ["declaration", "defaultLibrary", "modification", "readonly"];

const KEYWORD: usize = 0;
const MACRO: usize = 1;
const FUNCTION: usize = 2;
const VARIABLE: usize = 3;
const PARAMETER: usize = 4;
const PROPERTY: usize = 5;
const STRING: usize = 7;
const NUMBER: usize = 8;
const COMMENT: usize = 9;

/// The types and modifiers of the server's tokens.
pub fn legend() -> Value {
    json!({"tokenTypes": TYPES, "tokenModifiers": MODIFIERS})
}

/// The answer to `textDocument/semanticTokens/full` and `…/range`.
pub fn tokens_between(view: &View, start: usize, end: usize) -> Value {
    let (snapshot, text) = (&*view.snapshot, &view.text);
    let mut found: Vec<(usize, usize, usize, usize)> = Vec::new();
    for one in &snapshot.occurrences {
        let known = (one.span.start as usize, one.span.end as usize);
        let Some((first, last)) = view.forward(known.0, known.1) else {
            continue;
        };
        if last < start || first > end {
            continue;
        }
        if let Some((kind, modifiers)) = kind_of(snapshot, one) {
            found.push((first, last, kind, modifiers));
        }
    }
    for token in text.tokens() {
        let kind = match token.kind {
            Kind::String => STRING,
            Kind::Comment => COMMENT,
            Kind::Number => NUMBER,
            _ => continue,
        };
        found.push((token.start, token.end, kind, 0));
    }
    found.retain(|(first, last, ..)| *last >= start && *first <= end);
    found.sort_unstable();
    let mut data: Vec<usize> = Vec::with_capacity(found.len() * 5);
    let (mut last_line, mut last_character, mut last_end) = (0, 0, 0);
    for (first, last, kind, modifiers) in found {
        // A token that begins inside of the one before is left out.
        if first < last_end {
            continue;
        }
        last_end = last;
        let mut piece_start = first;
        while piece_start < last {
            // A token ends with its line.
            let line = text.line_of(piece_start);
            let line_end = text.line_start(line) + text.line(line).len();
            let piece_end = last.min(line_end);
            if piece_end > piece_start {
                let (line, character) = text.line_and_character(piece_start);
                let delta_character = if line == last_line {
                    character - last_character
                } else {
                    character
                };
                let length = text.units(piece_start, piece_end);
                data.extend([line - last_line, delta_character, length, kind, modifiers]);
                (last_line, last_character) = (line, character);
            }
            if piece_end == last {
                break;
            }
            piece_start = text.line_start(line + 1);
        }
    }
    json!({"data": data})
}

fn kind_of(snapshot: &Snapshot, one: &Occurrence) -> Option<(usize, usize)> {
    let start = one.span.start as usize;
    let is_called = snapshot.text.content[..start].ends_with('(');
    let called = if is_called { FUNCTION } else { VARIABLE };
    let (kind, is_standard) = match &one.meaning {
        Meaning::Core(_) => (KEYWORD, true),
        Meaning::Primitive(_) => (FUNCTION, true),
        Meaning::Macro(name) => (MACRO, snapshot.library_sources.has(name.library.as_str())),
        Meaning::Global(name) => (called, snapshot.library_sources.has(name.library.as_str())),
        Meaning::Local { kind, .. } => (
            match kind {
                LocalKind::Variable => called,
                LocalKind::Keyword => MACRO,
                LocalKind::Pattern => PARAMETER,
                LocalKind::Field => PROPERTY,
            },
            false,
        ),
        Meaning::Library(_) | Meaning::Unbound(_) => return None,
    };
    let declares = usize::from(one.role == Role::Definition);
    let modifies = usize::from(one.role == Role::Assignment) << 2;
    Some((kind, declares | usize::from(is_standard) << 1 | modifies))
}
