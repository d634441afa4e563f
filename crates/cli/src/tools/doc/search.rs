//! Searching the documentation for words.
//!
//! A name or a library is found if each of the words is in its name, in how it is called or in the text
//! about it. A word in the name counts most, one in the first sentence more than one further behind.

use std::collections::HashSet;
use std::sync::Arc;

use canny_documentation::{Document, Entry};

/// How many are shown.
const SHOWN_MAX: usize = 20;
/// A library that is about something comes before the names in it.
const LIBRARY_BONUS: u32 = 20;
/// An alias comes behind the name that it stands for.
const OTHER_NAME_MALUS: u32 = 30;
/// The least length of a stem in bytes; an ending that would leave less is kept.
const STEM_MIN: usize = 3;

/// Results of a search for words, the best first.
pub struct Matches {
    /// The words as they were given.
    pub words: String,
    /// Libraries and names, as many as are shown.
    pub shown: Vec<Match>,
    /// How many more there are.
    pub others: usize,
}

/// A library or a name that was found.
pub struct Match {
    /// Its name, or how it is used.
    pub usage: String,
    /// The library of a name; nothing for a library.
    pub library: Option<String>,
    /// The first sentence about it.
    pub summary: String,
}

/// Looks for words in documents; of the same thing in several ones the first counts. Nothing if nothing
/// matches.
pub fn search(documents: &[Arc<Document>], words: &[&str]) -> Option<Matches> {
    let given = words.join(" ");
    let words: Vec<String> = given.split_whitespace().map(str::to_lowercase).collect();
    let mut found = matches_of(documents, &words);
    if found.is_empty() {
        let stems: Vec<String> = words.iter().map(|word| stem(word).to_owned()).collect();
        found = matches_of(documents, &stems);
    }
    if found.is_empty() {
        return None;
    }
    let others = found.len().saturating_sub(SHOWN_MAX);
    found.truncate(SHOWN_MAX);
    Some(Matches {
        words: given,
        shown: found,
        others,
    })
}

fn matches_of(documents: &[Arc<Document>], words: &[String]) -> Vec<Match> {
    let mut found: Vec<(u32, usize, Match)> = Vec::new();
    let mut seen: HashSet<(&str, &str, &str)> = HashSet::new();
    for document in documents {
        let name = &document.name;
        if let Some(score) = score(words, name, "", &document.text, document.summary()) {
            let one = Match {
                usage: name.clone(),
                library: None,
                summary: document.summary().to_owned(),
            };
            found.push((score + LIBRARY_BONUS, name.len(), one));
        }
        for entry in &document.entries {
            let origin = entry.origin.as_ref();
            let home = origin.map_or((name.as_str(), entry.name.as_str()), |origin| {
                (&origin.library, &origin.name)
            });
            if entry.name.starts_with('%') || !seen.insert((home.0, home.1, &entry.name)) {
                continue;
            }
            let uses = uses(entry);
            if let Some(score) = score(words, &entry.name, &uses, &entry.text, entry.summary()) {
                let usage = entry.signatures.first().map(|one| &one.text);
                let one = Match {
                    usage: usage.unwrap_or(&entry.name).clone(),
                    library: Some(name.clone()),
                    summary: entry.summary().to_owned(),
                };
                // Another name says little.
                let is_other = entry.text.starts_with("The same as ");
                let score = score.saturating_sub(if is_other { OTHER_NAME_MALUS } else { 0 });
                found.push((score, entry.name.len(), one));
            }
        }
    }
    // Of equal ones the shorter name says more; beyond that they stay in the order of the libraries.
    found.sort_by_key(|(score, length, _)| (std::cmp::Reverse(*score), *length));
    found.into_iter().map(|(.., one)| one).collect()
}

fn uses(entry: &Entry) -> String {
    let uses: Vec<&str> = entry.signatures.iter().map(|one| &*one.text).collect();
    uses.join(" ")
}

/// How well a thing fits the words; nothing if one of them is nowhere.
fn score(words: &[String], name: &str, uses: &str, text: &str, summary: &str) -> Option<u32> {
    let (name, uses) = (name.to_lowercase(), uses.to_lowercase());
    let (text, summary) = (text.to_lowercase(), summary.to_lowercase());
    let mut sum = 0;
    for word in words {
        let in_name = match () {
            () if name == *word => 100,
            () if name
                .split(|one: char| !one.is_alphanumeric())
                .any(|part| part == word) =>
            {
                60
            }
            () if begins_in(&name, word) => 40,
            () if name.contains(word.as_str()) => 25,
            () => 0,
        };
        let in_text = match () {
            () if begins_in(&summary, word) => 20,
            () if begins_in(&uses, word) => 10,
            () if begins_in(&text, word) => 5,
            () => 0,
        };
        if in_name + in_text == 0 {
            return None;
        }
        sum += in_name + in_text;
    }
    Some(sum)
}

/// Whether a word of the text begins so.
fn begins_in(text: &str, start: &str) -> bool {
    text.match_indices(start).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric())
    })
}

/// A word without the ending that it may have in a sentence.
fn stem(word: &str) -> &str {
    ["ing", "ed", "es", "s"]
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|stem| stem.len() >= STEM_MIN)
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_begin() {
        assert!(begins_in("read-line", "line"));
        assert!(begins_in("the lines of", "line"));
        assert!(!begins_in("an outline", "line"));
    }

    #[test]
    fn what_stands_in_the_name_comes_first() {
        let words = ["line".to_owned()];
        let of_name = score(&words, "read-line", "", "A text.", "A text.");
        let of_text = score(&words, "read-all", "", "Each line.", "Each line.");
        assert!(of_name > of_text && of_text.is_some());
        assert_eq!(score(&words, "read-all", "", "Each one.", ""), None);
        let two = ["line".to_owned(), "port".to_owned()];
        assert_eq!(score(&two, "read-line", "", "A text.", ""), None);
    }
}
