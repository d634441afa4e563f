//! Renaming: only the binding that is meant, and only if nothing else changes its meaning.
//!
//! A new name that occurs nowhere can neither be caught by another binding nor catch other names, as
//! long as no macro makes names of names. Otherwise nothing is guessed: the changed text is looked at
//! again, and every name must mean what it meant before.

use std::collections::HashMap;
use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::reader::read_text;
use canny_syntax::recording::{Meaning, Occurrence, Recording};
use canny_syntax::span::SourceId;
use serde_json::{Value, json};

use crate::scan::{Kind, Token};
use crate::snapshot::Snapshot;
use crate::transport::Failure;
use crate::view::View;

/// The name to be changed.
#[derive(Clone, Debug)]
pub struct Target {
    pub meaning: Meaning,
    pub old: String,
    /// Whether other files may use it.
    pub is_exported: bool,
}

/// The name at a place, if it can have another one.
pub fn target(snapshot: &Snapshot, offset: usize) -> Result<(Target, (usize, usize)), Failure> {
    let one = snapshot
        .occurrence_at(offset)
        .ok_or_else(|| Failure::refused("there is no name here"))?;
    let standard = |what: &str| {
        Err(Failure::refused(format!(
            "`{}` is {what} and keeps its name",
            one.name
        )))
    };
    match &one.meaning {
        Meaning::Core(_) => return standard("a standard keyword"),
        Meaning::Primitive(_) => return standard("a standard procedure"),
        Meaning::Library(_) => {
            return Err(Failure::refused("a library has its name from its file"));
        }
        Meaning::Unbound(_) => {
            return Err(Failure::refused(format!("`{}` is not bound", one.name)));
        }
        Meaning::Global(name)
            if snapshot.library_sources.has(name.library.as_str())
                && !snapshot.is_own(&one.meaning) =>
        {
            return standard(&format!("a name of {}", name.library));
        }
        Meaning::Macro(name)
            if snapshot.library_sources.has(name.library.as_str())
                && !snapshot.is_own(&one.meaning) =>
        {
            return standard(&format!("a name of {}", name.library));
        }
        _ => {}
    }
    let span = (one.span.start as usize, one.span.end as usize);
    let own = match &one.meaning {
        Meaning::Global(name) => Some((name.name, &name.library)),
        Meaning::Macro(name) => Some((name.name, &name.library)),
        _ => None,
    };
    // An import may have given it a name of its own, which no other file knows.
    let is_exported =
        own.is_some_and(|(name, library)| name == one.name && library.as_str().starts_with('('));
    let target = Target {
        meaning: one.meaning.clone(),
        old: snapshot.text.content[span.0..span.1].to_owned(),
        is_exported,
    };
    Ok((target, span))
}

/// The answer to `textDocument/prepareRename`.
pub fn prepare(view: &View, offset: usize) -> Result<Value, Failure> {
    let nothing = || Failure::refused("there is no name here");
    let found = view.occurrence_at(offset).ok_or_else(nothing)?;
    let known = found.one.span.start as usize;
    let (target, _) = target(&view.snapshot, known)?;
    let range = view.text.range(found.start, found.end);
    Ok(json!({"range": range, "placeholder": target.old}))
}

/// Refuses what is no symbol.
pub fn check_name(new: &str) -> Result<(), Failure> {
    let read = read_text(new, SourceId::NONE, false);
    let is_symbol = match (read.diagnostics.is_empty(), read.forms.as_slice()) {
        (true, [form]) => {
            matches!(form.to_datum(), Datum::Symbol(_))
                && form.span.start == 0
                && form.span.end as usize == new.len()
        }
        _ => false,
    };
    if is_symbol {
        Ok(())
    } else {
        Err(Failure::refused(format!("`{new}` is not a name")))
    }
}

/// The places in a text that get the new name, in order.
pub fn places(snapshot: &Snapshot, target: &Target) -> Vec<(usize, usize)> {
    snapshot
        .occurrences_of(&target.meaning)
        .map(|one| (one.span.start as usize, one.span.end as usize))
        .filter_map(|(start, end)| {
            let written = &snapshot.text.content[start..end];
            // Another name for the same thing stays; a prefix stays before the name.
            if written == target.old {
                return Some((start, end));
            }
            let is_prefixed = target.is_exported
                && written.ends_with(&target.old)
                && snapshot.text.content.contains("(prefix ");
            is_prefixed.then_some((end - target.old.len(), end))
        })
        .collect()
}

/// Whether a renaming surely leaves what every other name means. Not knowing is no.
pub fn changes_nothing_else(
    snapshot: &Snapshot,
    target: &Target,
    places: &[(usize, usize)],
    new: &str,
) -> bool {
    /// Signs of a program that looks at names, or writes them otherwise.
    const LOOKS: [&str; 5] = [
        "-macro-transformer",
        "syntax->datum",
        "datum->syntax",
        "#!fold-case",
        "include-ci",
    ];
    let content = &*snapshot.text.content;
    let wanted = canny_syntax::name::Name::new(new);
    let is_there = |recording: &Arc<Recording>| -> bool {
        let mut names = recording.names.iter();
        names.any(|top| top.name == wanted)
    };
    let old = target.old.as_str();
    let is_whole = |(start, end): &(usize, usize)| snapshot.occurrence_over(*start, *end).is_some();
    if snapshot
        .analysis
        .diagnostics
        .iter()
        .any(Diagnostic::is_error)
        || !snapshot.analysis.repaired.is_empty()
        || snapshot.analysis.recordings.iter().any(is_there)
        || snapshot.has_invented_names()
        || LOOKS.iter().any(|word| content.contains(word))
        || [old, new]
            .iter()
            .any(|name| name.contains(['|', '\\', '#']))
        || !places.iter().all(is_whole)
    {
        return false;
    }
    let is_harmless = |token: &Token| {
        let written = &content[token.start..token.end];
        let mentions = || written.contains(old) || written.contains(new);
        match token.kind {
            Kind::Comment | Kind::Open | Kind::Close | Kind::Prefix => true,
            Kind::Symbol if !written.contains(['|', '\\']) => {
                // Another thing of the old name is found where it is mentioned; data are not.
                written != new
                    && (written != old
                        || snapshot
                            .occurrence_over(token.start, token.end)
                            .is_some_and(is_bound))
            }
            _ => !mentions(),
        }
    };
    snapshot.text.tokens().iter().all(is_harmless)
}

/// A text with other names at these places.
pub fn renamed(content: &str, places: &[(usize, usize)], new: &str) -> String {
    let mut text = String::with_capacity(content.len());
    let mut last = 0;
    for (start, end) in places {
        text.push_str(&content[last..*start]);
        text.push_str(new);
        last = *end;
    }
    text.push_str(&content[last..]);
    text
}

/// Whether every name means after the renaming what it meant before; the places are those that changed.
pub fn check(
    before: &Snapshot,
    after: &Snapshot,
    places: &[(usize, usize)],
    new: &str,
) -> Result<(), Failure> {
    let clash = || {
        Failure::refused(format!(
            "`{new}` has another meaning in this place; nothing was renamed"
        ))
    };
    let errors = |snapshot: &Snapshot| {
        snapshot
            .analysis
            .diagnostics
            .iter()
            .filter(|one| one.is_error())
            .count()
    };
    if errors(after) > errors(before) {
        return Err(clash());
    }
    // How far a place moves by the changes up to each one.
    let mut shifts: Vec<isize> = vec![0];
    for (start, end) in places {
        let last = shifts[shifts.len() - 1];
        shifts.push(last + new.len() as isize - (*end - *start) as isize);
    }
    let moved = |offset: usize| {
        let changes = places.partition_point(|(_, end)| *end <= offset);
        offset as isize + shifts[changes]
    };
    // A keyword of the same length as what a macro inserted may look like a name.
    let old: Vec<&Occurrence> = before
        .occurrences
        .iter()
        .filter(|one| is_bound(one))
        .collect();
    let now: Vec<&Occurrence> = after
        .occurrences
        .iter()
        .filter(|one| is_bound(one))
        .collect();
    if old.len() != now.len() {
        return Err(clash());
    }
    let mut there: HashMap<&Meaning, &Meaning> = HashMap::new();
    let mut back: HashMap<&Meaning, &Meaning> = HashMap::new();
    for (old, now) in old.iter().zip(&now) {
        if moved(old.span.end as usize) != now.span.end as isize || old.role != now.role {
            return Err(clash());
        }
        let (left, right) = (&old.meaning, &now.meaning);
        let is_same = *there.entry(left).or_insert(right) == right
            && *back.entry(right).or_insert(left) == left;
        if !is_same {
            return Err(clash());
        }
    }
    Ok(())
}

fn is_bound(one: &Occurrence) -> bool {
    !matches!(one.meaning, Meaning::Unbound(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_symbols() {
        for good in ["x", "->y", "λ", "|a b|", "...", "+"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "1", "a b", "(a)", "a;", "'a", "#t", "\"a\"", " a", "a)"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
