//! Folding ranges and selection ranges, from parentheses and comments.
//!
//! Only the syntax of the text counts, so that both work in texts with errors. The number of nested
//! selections is limited.

use canny_syntax::syntax::Syntax;
use serde_json::{Value, json};

use crate::scan::Kind;
use crate::text::Text;

/// The answer to `textDocument/foldingRange`: lists and comments of several lines.
pub fn folding(text: &Text) -> Value {
    let content = &*text.content;
    let mut found: Vec<Value> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    // The first and last line of line comments one below the other.
    let mut comment: Option<(usize, usize)> = None;
    let finish_comment = |comment: &mut Option<(usize, usize)>, found: &mut Vec<Value>| {
        if let Some((first, last)) = comment.take().filter(|(first, last)| first < last) {
            found.push(json!({"startLine": first, "endLine": last, "kind": "comment"}));
        }
    };
    let mut line_folded = usize::MAX;
    for token in text.tokens() {
        let line = text.line_of(token.start);
        match token.kind {
            Kind::Comment => {
                let last = text.line_of(token.end.saturating_sub(1).max(token.start));
                let is_alone = content[text.line_start(line)..token.start]
                    .trim()
                    .is_empty();
                if last > line {
                    found.push(json!({"startLine": line, "endLine": last, "kind": "comment"}));
                } else if is_alone {
                    comment = match comment {
                        Some((first, end)) if end + 1 == line => Some((first, line)),
                        mut other => {
                            finish_comment(&mut other, &mut found);
                            Some((line, line))
                        }
                    };
                }
                continue;
            }
            Kind::Open => open.push(token.start),
            Kind::Close => {
                if let Some(start) = open.pop() {
                    let first = text.line_of(start);
                    if first < line && first != line_folded {
                        let is_import = content[start..].starts_with("(import");
                        found.push(if is_import {
                            json!({"startLine": first, "endLine": line, "kind": "imports"})
                        } else {
                            json!({"startLine": first, "endLine": line})
                        });
                        line_folded = first;
                    }
                }
            }
            _ => {}
        }
        finish_comment(&mut comment, &mut found);
    }
    finish_comment(&mut comment, &mut found);
    found.sort_by_key(|one| one["startLine"].as_u64());
    found.into()
}

/// So many forms around a place can be selected; whoever reads nested JSON has a limit too.
const LEVELS_MAX: usize = 40;

/// The answer to `textDocument/selectionRange`: the forms around each place.
pub fn selections(text: &Text, forms: &[Syntax], offsets: &[usize]) -> Value {
    let whole = (0, text.content.len());
    let select = |offset: &usize| {
        let mut ranges = vec![whole];
        let path = crate::describe::path_to(forms, *offset, *offset);
        let deep = path.len().saturating_sub(LEVELS_MAX);
        for form in path.into_iter().skip(deep) {
            let (start, end) = (form.span.start as usize, form.span.end as usize);
            // Inside of the parens comes before the list.
            ranges.push((start, end));
            if form.as_pair().is_some() && end > start + 2 && start < *offset && *offset < end {
                ranges.push((start + 1, end - 1));
            }
        }
        ranges.dedup();
        let mut selected = Value::Null;
        for (start, end) in ranges {
            let range = text.range(start, end);
            selected = match selected {
                Value::Null => json!({"range": range}),
                parent => json!({"range": range, "parent": parent}),
            };
        }
        selected
    };
    offsets.iter().map(select).collect::<Vec<Value>>().into()
}
