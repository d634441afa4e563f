//! Every name that people use has a text.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use canny_reference::{documents, is_internal};

/// Libraries whose every export must have a text.
fn must_be_told(name: &str) -> bool {
    name.starts_with("(scheme ") && R7RS_SMALL.contains(&name)
        || name.starts_with("(canny ") && !is_internal(name)
}

const R7RS_SMALL: &[&str] = &[
    "(scheme base)",
    "(scheme case-lambda)",
    "(scheme char)",
    "(scheme complex)",
    "(scheme cxr)",
    "(scheme eval)",
    "(scheme file)",
    "(scheme inexact)",
    "(scheme lazy)",
    "(scheme load)",
    "(scheme process-context)",
    "(scheme r5rs)",
    "(scheme read)",
    "(scheme repl)",
    "(scheme time)",
    "(scheme write)",
];

#[test]
fn every_library_says_what_it_is_for() {
    let silent: Vec<&str> = documents()
        .iter()
        .filter(|document| document.text.is_empty())
        .map(|document| document.name.as_str())
        .collect();
    assert!(silent.is_empty(), "no text: {silent:?}");
}

#[test]
fn every_name_has_a_text() {
    let mut silent = Vec::new();
    let mut count = 0;
    for document in documents().iter().filter(|it| must_be_told(&it.name)) {
        for entry in &document.entries {
            count += 1;
            if entry.text.is_empty() && !entry.name.starts_with('%') {
                silent.push(format!("{} {}", document.name, entry.name));
            }
        }
    }
    assert!(count > 1000, "{count} names");
    assert!(
        silent.is_empty(),
        "{} without a text:\n{}",
        silent.len(),
        silent.join("\n")
    );
}

#[test]
fn every_procedure_says_how_it_is_called() {
    let mut silent = Vec::new();
    for document in documents().iter().filter(|it| must_be_told(&it.name)) {
        for entry in &document.entries {
            if entry.signatures.is_empty() && entry.kind.label() == "procedure" {
                silent.push(format!("{} {}", document.name, entry.name));
            }
        }
    }
    assert!(silent.is_empty(), "no signature: {silent:?}");
}

#[test]
fn every_name_has_a_sentence_of_its_own() {
    let mut repeated = Vec::new();
    let mut count = 0;
    for document in documents().iter().filter(|it| !is_internal(&it.name)) {
        let mut first: HashMap<String, &str> = HashMap::new();
        for entry in document.entries.iter().filter(|it| !it.text.is_empty()) {
            count += 1;
            let words: Vec<&str> = entry.summary().split_whitespace().collect();
            match first.entry(words.join(" ")) {
                Slot::Vacant(slot) => {
                    slot.insert(&entry.name);
                }
                Slot::Occupied(slot) => repeated.push(format!(
                    "{} {} says what {} says: {}",
                    document.name,
                    entry.name,
                    slot.get(),
                    slot.key()
                )),
            }
        }
    }
    assert!(count > 3000, "{count} names");
    assert!(
        repeated.is_empty(),
        "{} without a sentence of their own:\n{}",
        repeated.len(),
        repeated.join("\n")
    );
}

#[test]
fn texts_refer_to_names_of_their_library() {
    let openings = [
        "The same as `",
        "Like `",
        "Another name of `",
        "A short name of `",
        "The older name of `",
    ];
    let mut lost = Vec::new();
    let mut count = 0;
    for document in documents().iter().filter(|it| !is_internal(&it.name)) {
        for entry in &document.entries {
            let rest = openings.iter().find_map(|one| entry.text.strip_prefix(one));
            let Some((other, _)) = rest.and_then(|rest| rest.split_once('`')) else {
                continue;
            };
            count += 1;
            if document.entry(other).is_none() {
                lost.push(format!(
                    "{} {} refers to {other}",
                    document.name, entry.name
                ));
            }
        }
    }
    assert!(count > 50, "{count} texts");
    assert!(
        lost.is_empty(),
        "not in their library:\n{}",
        lost.join("\n")
    );
}
