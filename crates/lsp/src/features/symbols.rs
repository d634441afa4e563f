//! Outlines and searching for definitions.

use canny_syntax::recording::{LocalKind, Meaning, Occurrence, Role};
use serde_json::{Value, json};

use crate::describe::path_to;
use crate::snapshot::Snapshot;
use crate::uri;

const MODULE: u32 = 2;
const FIELD: u32 = 8;
const FUNCTION: u32 = 12;
const VARIABLE: u32 = 13;
const STRUCT: u32 = 23;
const OPERATOR: u32 = 25;

/// A definition with the form that makes it.
struct Defined<'s> {
    one: &'s Occurrence,
    kind: u32,
    detail: String,
    start: usize,
    end: usize,
}

fn defined(snapshot: &Snapshot) -> Vec<Defined<'_>> {
    let mut found = Vec::new();
    for one in &snapshot.occurrences {
        if one.role != Role::Definition {
            continue;
        }
        let (start, end) = (one.span.start as usize, one.span.end as usize);
        let path = path_to(&snapshot.forms, start, end);
        let form = path.iter().rev().find(|form| {
            form.as_pair()
                .and_then(|pair| pair.car.as_identifier())
                .is_some_and(|head| head.name.as_str().starts_with("define") || head.name.as_str() == "match-define")
        });
        let range = form.map(|form| (form.span.start as usize, form.span.end as usize));
        let is_local = matches!(&one.meaning, Meaning::Local { .. });
        let (kind, detail) = match &one.meaning {
            Meaning::Library(_) => (MODULE, "library".to_owned()),
            Meaning::Local { kind: LocalKind::Field, .. } => (FIELD, "field".to_owned()),
            Meaning::Local { kind: LocalKind::Pattern, .. } => continue,
            Meaning::Unbound(_) => continue,
            meaning => {
                let description = snapshot.describe(meaning);
                // Parameters and variables of `let` are no part of an outline.
                let is_definition = form.is_some_and(|form| {
                    let second = form.parts().elements.get(1).cloned();
                    second.is_some_and(|second| {
                        second.span.start == one.span.start
                            || second.as_pair().is_some_and(|pair| pair.car.span.start == one.span.start)
                    })
                });
                if is_local && !is_definition {
                    continue;
                }
                let kind = match description.kind {
                    "procedure" => FUNCTION,
                    "macro" => OPERATOR,
                    "record type" => STRUCT,
                    _ => VARIABLE,
                };
                let first = description.signatures.into_iter().next();
                (kind, first.unwrap_or_else(|| description.kind.to_owned()))
            }
        };
        let (range_start, range_end) = match kind {
            FIELD => (start, end),
            MODULE => path.first().map_or((start, end), |form| (form.span.start as usize, form.span.end as usize)),
            _ => range.unwrap_or((start, end)),
        };
        found.push(Defined {
            one,
            kind,
            detail,
            start: range_start,
            end: range_end,
        });
    }
    found
}

fn name_of(one: &Occurrence) -> String {
    match &one.meaning {
        Meaning::Library(name) => name.to_string(),
        _ => one.name.to_string(),
    }
}

/// The answer to `textDocument/documentSymbol`.
pub fn outline(snapshot: &Snapshot) -> Value {
    let text = &snapshot.text;
    let mut open: Vec<(usize, usize, Value)> = Vec::new();
    let mut roots: Vec<Value> = Vec::new();
    let finish = |open: &mut Vec<(usize, usize, Value)>, roots: &mut Vec<Value>| {
        if let Some((_, _, done)) = open.pop() {
            let siblings = match open.last_mut() {
                Some((_, _, parent)) => parent["children"].as_array_mut(),
                None => Some(&mut *roots),
            };
            if let Some(siblings) = siblings {
                siblings.push(done);
            }
        }
    };
    let mut definitions = defined(snapshot);
    definitions.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end), one.one.span.start));
    for one in definitions {
        while open
            .last()
            .is_some_and(|(start, end, _)| one.start >= *end || (one.start, one.end) == (*start, *end))
        {
            // Names that one form defines stand side by side, except for what belongs to a record type.
            let is_part = open.last().is_some_and(|(start, end, parent)| {
                (one.start, one.end) == (*start, *end) && parent["kind"] == STRUCT
            });
            if is_part {
                break;
            }
            finish(&mut open, &mut roots);
        }
        let (start, end) = (one.one.span.start as usize, one.one.span.end as usize);
        let symbol = json!({
            "name": name_of(one.one),
            "detail": one.detail,
            "kind": one.kind,
            "range": text.range(one.start, one.end),
            "selectionRange": text.range(start, end),
            "children": [],
        });
        open.push((one.start, one.end, symbol));
    }
    while !open.is_empty() {
        finish(&mut open, &mut roots);
    }
    roots.into()
}

/// The definitions of a file whose names contain the letters of a query in their order.
pub fn matching(snapshot: &Snapshot, query: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for one in defined(snapshot) {
        let name = name_of(one.one);
        let is_top = !matches!(one.one.meaning, Meaning::Local { .. });
        if !is_top || !fits(&name, query) {
            continue;
        }
        let range = snapshot
            .text
            .range(one.one.span.start as usize, one.one.span.end as usize);
        let library = snapshot.unit_at(one.start).and_then(|unit| unit.key.clone());
        let container = library.filter(|key| key.as_str().starts_with('('));
        found.push(json!({
            "name": name,
            "kind": one.kind,
            "location": {"uri": uri::of_path(&snapshot.path), "range": range},
            "containerName": container.map_or_else(String::new, |key| key.to_string()),
        }));
    }
    found
}

/// Whether a name contains the letters of a query in their order.
pub fn fits(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query
        .chars()
        .flat_map(char::to_lowercase)
        .all(|wanted| letters.any(|letter| letter == wanted))
}
