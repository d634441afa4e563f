//! Code actions: quick fixes for diagnostics, and showing the expansion of a macro.
//!
//! A fix is offered only if the snapshot is of the present text. Actions return edits and change
//! nothing themselves.

use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::recording::MacroUse;
use canny_syntax::syntax::Syntax;
use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::features::completion::Importer;
use crate::features::diagnostics;
use crate::scan::is_constituent;
use crate::snapshot::Snapshot;
use crate::text::Text;
use crate::view::View;

/// The command that shows an expansion.
pub const EXPAND: &str = "canny.expandMacro";

/// So many libraries are proposed for one name.
const LIBRARIES_MAX: usize = 5;

/// The answer to `textDocument/codeAction`.
pub fn actions(
    view: &View,
    own_uri: &str,
    (start, end): (usize, usize),
    context: &Value,
    catalog: &Catalog,
) -> Value {
    let snapshot = &*view.snapshot;
    // A fault in a part that was changed since may be gone by now.
    let range = |one: &Diagnostic| {
        let (first, last) = diagnostics::range(snapshot, one)?;
        view.forward(first, last)
    };
    let mut found: Vec<Value> = Vec::new();
    let edit = |edits: Vec<Value>| json!({"changes": {own_uri: edits}});
    for one in &snapshot.analysis.diagnostics {
        let Some((first, last)) = range(one) else {
            continue;
        };
        if last < start || first > end {
            continue;
        }
        for library in importable(one, catalog) {
            let importer = Importer::new(&view.text, first);
            if let Some(import) = importer.edit(&library) {
                found.push(json!({
                    "title": format!("Import {library}"),
                    "kind": "quickfix",
                    "edit": edit(vec![import]),
                }));
            }
        }
        if let Some(similar) = &one.similar {
            let change = view.text.edit(first, last, similar);
            found.push(json!({
                "title": format!("Change to {similar}"),
                "kind": "quickfix",
                "isPreferred": true,
                "edit": edit(vec![change]),
            }));
        }
        if one.code == "unused-import" {
            found.push(json!({
                "title": "Remove the unused import",
                "kind": "quickfix",
                "isPreferred": true,
                "edit": edit(vec![removal(&view.text, first, last)]),
            }));
        }
    }
    let unused: Vec<(usize, usize)> = snapshot
        .analysis
        .diagnostics
        .iter()
        .filter(|one| one.code == "unused-import")
        .filter_map(range)
        .collect();
    if !unused.is_empty() {
        let edits = unused
            .iter()
            .map(|(first, last)| removal(&view.text, *first, *last));
        found.push(json!({
            "title": "Remove all unused imports",
            "kind": "source.organizeImports",
            "edit": edit(edits.collect()),
        }));
    }
    if let Some(used) = macro_use_at(snapshot, view.back(start)) {
        found.push(json!({
            "title": format!("Show the expansion of {}", used.name),
            "kind": "refactor",
            "command": {
                "title": "Show the expansion",
                "command": EXPAND,
                "arguments": [own_uri, view.text.position(start)],
            },
        }));
    }
    // A client may ask for some kinds only; a kind contains those whose names continue with a dot.
    if let Some(only) = context["only"].as_array() {
        let is_wanted = |action: &Value| {
            let kind = action["kind"].as_str().unwrap_or_default();
            only.iter().filter_map(Value::as_str).any(|only| {
                kind.strip_prefix(only)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        found.retain(is_wanted);
    }
    found.into()
}

/// Libraries that would give an unbound name a meaning.
fn importable(one: &Diagnostic, catalog: &Catalog) -> Vec<String> {
    let Some(name) = one.missing_name else {
        return Vec::new();
    };
    let exporters = catalog.exporters(name.as_str()).iter();
    exporters
        .map(|export| export.library.to_string())
        .take(LIBRARIES_MAX)
        .collect()
}

/// Takes an import set or a name away, with the blanks before it, or those behind it at the beginning
/// of a line's list.
fn removal(text: &Text, first: usize, last: usize) -> Value {
    let content = &*text.content;
    let before = content[..first].trim_end();
    let (mut start, mut end) = (before.len(), last);
    if before.ends_with(['(', '[']) {
        start = first;
        end = last + (content[last..].len() - content[last..].trim_start().len());
    } else if before.ends_with(|c: char| !is_constituent(c))
        || content[last..].starts_with([' ', '\n', '\r', ')'])
    {
        // A comment at the end of the line before must keep its line end.
        let line = before
            .rfind('\n')
            .map_or(before, |newline| &before[newline..]);
        if line.contains(';') {
            start = first;
        }
    }
    text.edit(start, end, "")
}

/// The innermost macro use around a place.
pub fn macro_use_at(snapshot: &Snapshot, offset: usize) -> Option<&MacroUse> {
    let uses = snapshot
        .analysis
        .recordings
        .iter()
        .flat_map(|recording| recording.uses.iter());
    uses.filter(|one| {
        let span = one.span;
        span.source == snapshot.analysis.source
            && span.start as usize <= offset
            && offset <= span.end as usize
    })
    .min_by_key(|one| one.span.end - one.span.start)
}

/// An expansion as text, one step of it.
pub fn expansion(used: &MacroUse) -> String {
    /// Columns of the text.
    const WIDTH: usize = 90;
    let syntax: &Syntax = &used.result.0;
    canny_syntax::pretty::pretty(&syntax.to_datum(), WIDTH)
}
