//! The description of a name: its use, its origin, and the text about it.

use canny_syntax::recording::{Meaning, Occurrence};
use serde_json::{Value, json};

use crate::snapshot::Snapshot;
use crate::view::View;

/// The answer to `textDocument/hover`.
pub fn hover(view: &View, offset: usize) -> Value {
    let Some(found) = view.occurrence_at(offset) else {
        return Value::Null;
    };
    let text = markdown(&view.snapshot, &found.one);
    let range = view.text.range(found.start, found.end);
    json!({"contents": {"kind": "markdown", "value": text}, "range": range})
}

/// A name in Markdown.
fn markdown(snapshot: &Snapshot, one: &Occurrence) -> String {
    let description = snapshot.describe_name(one);
    let mut code = description.signatures.join("\n");
    if code.is_empty() {
        code = match &one.meaning {
            Meaning::Library(name) => name.to_string(),
            _ => one.name.to_string(),
        };
    }
    let mut text = format!("```scheme\n{code}\n```\n{}", description.kind);
    let from = origin(snapshot, one);
    if !from.is_empty() {
        text.push_str(&format!(" {from}"));
    }
    if !description.text.is_empty() {
        text.push_str(&format!("\n\n{}", description.text));
    }
    text
}

/// Where a name comes from.
fn origin(snapshot: &Snapshot, one: &Occurrence) -> String {
    let top = snapshot.top_name(one.span.start as usize, one.name);
    let imported = top
        .filter(|top| top.meaning == one.meaning)
        .and_then(|top| top.imported_from.as_ref());
    let owner = match &one.meaning {
        Meaning::Global(name) => Some((name.library.as_str(), name.name)),
        Meaning::Macro(name) => Some((name.library.as_str(), name.name)),
        _ => None,
    };
    match (imported, owner) {
        (Some(library), Some((home, name))) if library.to_string() != home && name != one.name => {
            format!("from `{library}`, `{name}` of `{home}`")
        }
        (Some(library), Some((home, _))) if library.to_string() != home => {
            format!("from `{library}`, defined in `{home}`")
        }
        (Some(library), Some((_, name))) if name != one.name => {
            format!("from `{library}`, where it is called `{name}`")
        }
        (Some(library), _) => format!("from `{library}`"),
        (None, Some((home, _))) if home.starts_with('(') => format!("of `{home}`"),
        _ => String::new(),
    }
}
