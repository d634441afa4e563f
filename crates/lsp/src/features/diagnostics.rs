//! Converts errors and warnings to diagnostics of the protocol.
//!
//! An error in another file is shown at the import or include that led there. Warnings about unused
//! names become hints. Warnings that the command line shows only on request are left out.

use canny_syntax::diagnostic::{Diagnostic, Severity};
use canny_syntax::recording::Meaning;
use serde_json::{Value, json};

use crate::snapshot::Snapshot;
use crate::uri;

/// Warnings that are hints only: what is greyed out.
const UNNECESSARY: [&str; 4] = [
    "unused-import",
    "unused-variable",
    "unused-definition",
    "unreachable-code",
];

/// Warnings that the command line gives only when it is asked, and an editor too.
const NOT_SHOWN: [&str; 2] = ["shadowed-name", "unused-parameter"];

/// The diagnostics of a text.
pub fn of(snapshot: &Snapshot, own_uri: &str) -> Vec<Value> {
    let shown = snapshot.analysis.diagnostics.iter();
    shown
        .filter(|one| !NOT_SHOWN.contains(&one.code))
        .filter_map(|one| shown_at(snapshot, own_uri, one))
        .collect()
}

/// Where a diagnostic is in this text.
pub fn range(snapshot: &Snapshot, one: &Diagnostic) -> Option<(usize, usize)> {
    if one.span.source == snapshot.analysis.source {
        let (start, end) = (one.span.start as usize, one.span.end as usize);
        return Some((start, end.min(snapshot.text.content.len())));
    }
    None
}

fn shown_at(snapshot: &Snapshot, own_uri: &str, one: &Diagnostic) -> Option<Value> {
    let mut message = one.message.clone();
    for note in &one.notes {
        message.push_str(&format!("\n{note}"));
    }
    if let Some(similar) = &one.similar {
        message.push_str(&format!(
            "\n{}",
            canny_syntax::diagnostic::did_you_mean(similar)
        ));
    }
    let mut related: Vec<(Value, String)> = Vec::new();
    let place_of = |span| {
        let place = snapshot.place(span)?;
        let address = if place.path == snapshot.path {
            own_uri.to_owned()
        } else {
            uri::of_path(&place.path)
        };
        Some(json!({"uri": address, "range": place.text.range(place.start, place.end)}))
    };
    let span = match range(snapshot, one) {
        Some(span) => span,
        None if one.severity == Severity::Warning => return None,
        None => {
            // A file that this one imports or includes has an error.
            if let Some(place) = snapshot.place(one.span) {
                let (line, _) = place.text.line_and_character(place.start);
                message = format!("{}:{}: {message}", place.path.display(), line + 1);
            }
            related.extend(place_of(one.span).map(|place| (place, one.message.clone())));
            import_of(snapshot, one).unwrap_or((0, 0))
        }
    };
    for (span, text) in &one.labels {
        related.extend(place_of(*span).map(|place| (place, text.clone())));
    }
    for (name, span) in one.expansion.iter().take(5) {
        let text = format!("in the expansion of `{name}`");
        related.extend(place_of(*span).map(|place| (place, text)));
    }
    let severity = match one.severity {
        Severity::Error => 1,
        Severity::Warning if one.code == "unused-import" => 4,
        Severity::Warning => 2,
    };
    let mut shown = json!({
        "range": snapshot.text.range(span.0, span.1),
        "severity": severity,
        "code": one.code,
        "source": "canny",
        "message": message,
    });
    if !related.is_empty() {
        let related: Vec<Value> = related
            .into_iter()
            .map(|(location, message)| json!({"location": location, "message": message}))
            .collect();
        shown["relatedInformation"] = related.into();
    }
    if UNNECESSARY.contains(&one.code) {
        shown["tags"] = json!([1]);
    }
    Some(shown)
}

/// The import set of the library in whose file an error is.
fn import_of(snapshot: &Snapshot, one: &Diagnostic) -> Option<(usize, usize)> {
    let file = snapshot.sources.get(one.span.source)?.name.clone();
    let imports = snapshot.occurrences.iter();
    let mut imports = imports.filter_map(|occurrence| match &occurrence.meaning {
        Meaning::Library(name) => Some((occurrence.span, name)),
        _ => None,
    });
    let found = imports.find(|(_, name)| {
        let foreign = snapshot.foreign.get(&name.key());
        let source =
            foreign.and_then(|foreign| snapshot.sources.get(foreign.recording.span.source));
        source.is_some_and(|source| source.name == file)
    });
    found.map(|(span, _)| (span.start as usize, span.end as usize))
}
