//! Goes to definitions, and finds references and highlights.
//!
//! Answers come from what the expander recorded about identifiers, so that scopes and macros are
//! respected. Strings in `include` and `load` lead to their files.

use canny_syntax::recording::{Meaning, Occurrence, Role};
use serde_json::{Value, json};

use crate::snapshot::{Place, Snapshot};
use crate::uri;
use crate::view::View;

fn location(place: &Place) -> Value {
    json!({"uri": uri::of_path(&place.path), "range": place.text.range(place.start, place.end)})
}

/// The answer to `textDocument/definition`.
pub fn definition(view: &View, own_uri: &str, offset: usize) -> Value {
    let snapshot = &*view.snapshot;
    let known = view.back(offset);
    if let Some(file) = included_file(snapshot, known) {
        return file;
    }
    let Some(found) = view.occurrence_at(offset) else {
        return Value::Null;
    };
    let one = &found.one;
    let top = snapshot.top_name(known, one.name);
    let imported = top.and_then(|top| top.imported_from.as_ref());
    let places = snapshot.definition(&one.meaning, imported);
    let locations: Vec<Value> = places
        .iter()
        .map(|place| {
            let mut location = location(place);
            if place.path == snapshot.path {
                location["uri"] = own_uri.into();
                location["range"] = view.range(place.start, place.end);
            }
            location
        })
        .collect();
    if locations.is_empty() {
        Value::Null
    } else {
        locations.into()
    }
}

/// The file that a string in an `include` or `load` names.
fn included_file(snapshot: &Snapshot, offset: usize) -> Option<Value> {
    let path = crate::describe::path_to(&snapshot.forms, offset, offset);
    let (string, form) = match path.as_slice() {
        [.., form, string] => (string, form),
        _ => return None,
    };
    let head = form.as_pair()?.car.as_identifier()?;
    if !head.name.as_str().starts_with("include") && head.name.as_str() != "load" {
        return None;
    }
    let canny_syntax::datum::Datum::String(file) = string.as_atom()? else {
        return None;
    };
    let file = snapshot.path.parent()?.join(&**file);
    let zero = json!({"line": 0, "character": 0});
    file.is_file()
        .then(|| json!([{"uri": uri::of_path(&file), "range": {"start": zero, "end": zero}}]))
}

/// References in this text, as offsets.
pub fn references(view: &View, meaning: &Meaning, with_definition: bool) -> Vec<Value> {
    view.snapshot
        .occurrences_of(meaning)
        .filter(|one| with_definition || one.role != Role::Definition)
        .filter_map(|one| view.forward(one.span.start as usize, one.span.end as usize))
        .map(|(start, end)| view.text.range(start, end))
        .collect()
}

/// The answer to `textDocument/documentHighlight`.
pub fn highlights(view: &View, offset: usize) -> Value {
    let Some(found) = view.occurrence_at(offset) else {
        return Value::Null;
    };
    let kind = |one: &Occurrence| match one.role {
        Role::Definition | Role::Assignment => 3,
        _ => 2,
    };
    let same = view.snapshot.occurrences_of(&found.one.meaning);
    let same = same.filter_map(|one| {
        let (start, end) = view.forward(one.span.start as usize, one.span.end as usize)?;
        Some(json!({"range": view.text.range(start, end), "kind": kind(one)}))
    });
    same.collect::<Vec<Value>>().into()
}
