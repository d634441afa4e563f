//! Document symbols (the outline) and the search for definitions in a workspace.
//!
//! Symbols nest as the forms do, with the fields of records below their type. Definitions made by
//! macros are included if the macro use has their name. Answers for large texts are written as JSON
//! directly.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use canny_syntax::recording::{LocalKind, Meaning, Occurrence, Role};
use canny_syntax::syntax::Syntax;
use serde_json::{Value, json};

use crate::describe::describe;
use crate::snapshot::Snapshot;
use crate::uri;
use crate::view::View;

const MODULE: u32 = 2;
const FIELD: u32 = 8;
const FUNCTION: u32 = 12;
const VARIABLE: u32 = 13;
const STRUCT: u32 = 23;
const OPERATOR: u32 = 25;

/// Definitions that are nested more deeply stand side by side.
const LEVELS_MAX: usize = 30;

/// A definition with the form that makes it.
struct Defined<'s> {
    one: &'s Occurrence,
    kind: u32,
    detail: String,
    start: usize,
    end: usize,
}

/// The forms of a text that define something, and the places of the names that they may define.
fn defining_forms(forms: &[Syntax]) -> Vec<(Syntax, Vec<u32>)> {
    let mut found = Vec::new();
    let mut pending: Vec<Syntax> = forms.iter().rev().cloned().collect();
    while let Some(form) = pending.pop() {
        if form.as_pair().is_none() {
            continue;
        }
        let elements = form.parts().elements;
        let head = elements[0]
            .as_identifier()
            .map_or("", |head| head.name.as_str());
        if head == "quote" || head == "quasiquote" || head == "syntax-rules" {
            continue;
        }
        if (head.starts_with("define") || head == "match-define") && elements.len() > 1 {
            let mut places = Vec::new();
            let parts: &[Syntax] = match head {
                "define-record-type" => &elements[1..],
                _ => &elements[1..2],
            };
            let is_curried = !matches!(
                head,
                "define-record-type" | "define-values" | "match-define" | "define-library"
            );
            let mut targets: Vec<Syntax> = parts.to_vec();
            while let Some(target) = targets.pop() {
                places.push(target.span.start);
                if target.as_pair().is_some() && head != "define-library" {
                    let inner = target.parts();
                    if is_curried {
                        targets.extend(inner.elements.first().cloned())
                    } else {
                        targets.extend(inner.elements.into_iter().chain([inner.tail]))
                    }
                }
            }
            found.push((form, places));
        }
        pending.extend(elements.into_iter().rev());
    }
    found
}

/// The kind and the extent of a definition; `None` if it is no part of an outline.
fn definition<'s>(
    snapshot: &Snapshot,
    one: &'s Occurrence,
    form: Option<&Syntax>,
) -> Option<Defined<'s>> {
    let own = (one.span.start as usize, one.span.end as usize);
    let whole = form.map_or(own, |form| {
        (form.span.start as usize, form.span.end as usize)
    });
    let (kind, detail) = match &one.meaning {
        Meaning::Library(_) => (MODULE, "library".to_owned()),
        Meaning::Local {
            kind: LocalKind::Field,
            ..
        } => (FIELD, "field".to_owned()),
        Meaning::Local {
            kind: LocalKind::Pattern,
            ..
        }
        | Meaning::Unbound(_) => return None,
        meaning => value_or_keyword(snapshot, one, meaning),
    };
    let is_record = form.is_some_and(|form| {
        form.as_pair()
            .and_then(|pair| pair.car.as_identifier())
            .is_some_and(|head| head.name.as_str() == "define-record-type")
    });
    // The parts of a record type belong to its name.
    let (start, end) = if is_record && kind != STRUCT {
        own
    } else {
        whole
    };
    Some(Defined {
        one,
        kind,
        detail,
        start,
        end,
    })
}

/// The kind of a variable or macro, and how it is used.
fn value_or_keyword(snapshot: &Snapshot, one: &Occurrence, meaning: &Meaning) -> (u32, String) {
    let name = one.name.as_str();
    let mut description = describe(&snapshot.text.content, &snapshot.forms, one.span, name);
    let is_keyword = match meaning {
        Meaning::Macro(_) | Meaning::Core(_) => true,
        Meaning::Local { kind, .. } => *kind == LocalKind::Keyword,
        _ => false,
    };
    if is_keyword {
        description.kind = "macro";
    } else if description.kind.is_empty() {
        description.kind = "variable";
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

fn defined<'s>(snapshot: &'s Snapshot) -> Vec<Defined<'s>> {
    let definitions: HashMap<u32, &Occurrence> = snapshot
        .occurrences
        .iter()
        .filter(|one| one.role == Role::Definition)
        .map(|one| (one.span.start, one))
        .collect();
    let mut found: Vec<Defined<'_>> = Vec::new();
    let mut seen: HashSet<u32> = HashSet::new();
    let mut add = |one: &'s Occurrence, form: Option<&Syntax>| {
        if seen.insert(one.span.start)
            && let Some(one) = definition(snapshot, one, form)
        {
            found.push(one);
        }
    };
    for (form, mut places) in defining_forms(&snapshot.forms) {
        places.sort_unstable();
        let names = places.iter().filter_map(|place| definitions.get(place));
        names.for_each(|one| add(one, Some(&form)));
    }
    // Definitions that the user's own macros make.
    for one in &snapshot.occurrences {
        let is_top = matches!(one.meaning, Meaning::Global(_) | Meaning::Macro(_));
        if one.role == Role::Definition && is_top {
            add(one, None);
        }
    }
    found
}

fn name_of(one: &Occurrence) -> String {
    match &one.meaning {
        Meaning::Library(name) => name.to_string(),
        _ => one.name.to_string(),
    }
}

/// The answer to `textDocument/documentSymbol`, as JSON: in a large text there are thousands.
pub fn outline(view: &View) -> String {
    let snapshot = &*view.snapshot;
    let mut out = String::from("[");
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut definitions = defined(snapshot);
    definitions.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end), one.one.span.start));
    for one in definitions {
        let (start, end) = (one.one.span.start as usize, one.one.span.end as usize);
        if view.forward(start, end).is_none() {
            // It was changed since.
            continue;
        }
        // Names that one form defines stand side by side.
        while open.len() >= LEVELS_MAX
            || open.last().is_some_and(|(start, end)| {
                one.start >= *end || (one.start, one.end) == (*start, *end)
            })
        {
            open.pop();
            out.push_str("]}");
        }
        if !out.ends_with('[') {
            out.push(',');
        }
        let name = Value::from(name_of(one.one));
        let detail = Value::from(one.detail);
        let kind = one.kind;
        let _ = write!(
            out,
            "{{\"name\":{name},\"detail\":{detail},\"kind\":{kind},\"range\":"
        );
        write_range(&mut out, view, one.start, one.end);
        out.push_str(",\"selectionRange\":");
        write_range(&mut out, view, start, end);
        out.push_str(",\"children\":[");
        open.push((one.start, one.end));
    }
    out.extend(open.iter().map(|_| "]}"));
    out.push(']');
    out
}

fn write_range(out: &mut String, view: &View, start: usize, end: usize) {
    let start = view.place(start);
    let end = view.place(end).max(start);
    let (first, from) = view.text.line_and_character(start);
    let (last, to) = view.text.line_and_character(end);
    let _ = write!(
        out,
        "{{\"start\":{{\"line\":{first},\"character\":{from}}},\"end\":{{\"line\":{last},\"character\":{to}}}}}"
    );
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
        let library = snapshot
            .unit_at(one.start)
            .and_then(|unit| unit.key.clone());
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
