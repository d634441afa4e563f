//! Definitions, references and highlights.

use canny_syntax::recording::{Meaning, Occurrence, Role};
use serde_json::{Value, json};

use crate::snapshot::{Place, Snapshot};
use crate::uri;

fn location(place: &Place) -> Value {
    json!({"uri": uri::of_path(&place.path), "range": place.text.range(place.start, place.end)})
}

/// The answer to `textDocument/definition`.
pub fn definition(snapshot: &Snapshot, own_uri: &str, offset: usize) -> Value {
    if let Some(file) = included_file(snapshot, offset) {
        return file;
    }
    let Some(one) = snapshot.occurrence_at(offset) else {
        return Value::Null;
    };
    let top = snapshot.top_name(offset, one.name);
    let imported = top.and_then(|top| top.imported_from.as_ref());
    let places = snapshot.definition(&one.meaning, imported);
    let locations: Vec<Value> = places
        .iter()
        .map(|place| {
            let mut location = location(place);
            if place.path == snapshot.path {
                location["uri"] = own_uri.into();
            }
            location
        })
        .collect();
    match locations.is_empty() {
        true => Value::Null,
        false => locations.into(),
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
pub fn references(snapshot: &Snapshot, meaning: &Meaning, with_definition: bool) -> Vec<Value> {
    snapshot
        .occurrences_of(meaning)
        .filter(|one| with_definition || one.role != Role::Definition)
        .map(|one| {
            snapshot
                .text
                .range(one.span.start as usize, one.span.end as usize)
        })
        .collect()
}

/// The answer to `textDocument/documentHighlight`.
pub fn highlights(snapshot: &Snapshot, offset: usize) -> Value {
    let Some(one) = snapshot.occurrence_at(offset) else {
        return Value::Null;
    };
    let kind = |one: &Occurrence| match one.role {
        Role::Definition | Role::Assignment => 3,
        _ => 2,
    };
    let same = snapshot.occurrences_of(&one.meaning).map(|one| {
        let range = snapshot
            .text
            .range(one.span.start as usize, one.span.end as usize);
        json!({"range": range, "kind": kind(one)})
    });
    same.collect::<Vec<Value>>().into()
}
