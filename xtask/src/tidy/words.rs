//! Words that hide a term of the field, and sentences whose subject is a clause.
//!
//! The rules are for comments of Rust and Scheme sources and for documents. Each pair says what to write
//! in place of the phrase. The library has some more.
//! Suites that others wrote are left as they are.

use std::path::Path;

use super::{Complaint, relative};
use crate::workspace;

/// Phrases, and what to write in their place.
const PHRASES: &[(&str, &str)] = &[
    ("goes on where", "resume"),
    ("goes on with", "continue"),
    ("given up", "retire, abandon or cancel"),
    ("who asks", "the caller or the client"),
    ("word of the pool", "a queued word"),
    ("errand", "an item of a run queue"),
    ("is told so", "report"),
    ("errors are told", "report"),
    ("come to know", "learn"),
    ("gets to know", "learn"),
];

/// Clauses that no sentence begins with.
const SUBJECTS: &[&str] = &["What ", "Whatever ", "Who ", "Whoever ", "Whose ", "Which "];

/// Phrases that are gone from the library.
const LIBRARY: &str = "lib";
const PHRASES_OF_LIBRARY: &[(&str, &str)] = &[
    ("nobody", "no task, no thread or no caller"),
    ("somebody", "another task, thread or caller"),
    ("whoever", "the task, the thread or the caller"),
    ("gives up", "abandon, cancel or unlock"),
    ("puts away", "park"),
    ("is told", "report"),
    ("tells of", "report or reveal"),
];

/// Code that others wrote, and this list.
const ELSEWHERE: &[&str] = &[
    "tests/srfi/upstream",
    "docs/messages",
    "xtask/src/tidy/words.rs",
];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for extension in ["rs", "sld", "scm", "md"] {
        for path in workspace::files(root, extension) {
            let name = relative(root, &path);
            if ELSEWHERE.iter().any(|other| name.starts_with(other)) {
                continue;
            }
            // Some tests are texts that are not UTF-8.
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            for (index, line) in text.lines().enumerate() {
                let message = complaint(&name, line, extension);
                if let Some(message) = message {
                    complaints.push(Complaint {
                        path: name.clone(),
                        line: Some(index + 1),
                        message,
                    });
                }
            }
        }
    }
    Ok(complaints)
}

/// The prose on a line: all of it in a document, in a source what stands behind the beginning of a comment.
fn prose<'line>(line: &'line str, extension: &str) -> Option<&'line str> {
    let mark = match extension {
        "md" => return Some(line),
        "rs" => "//",
        _ => ";",
    };
    let offset = line.find(mark)?;
    let is_in_literal = line[..offset].matches('"').count() % 2 == 1;
    (!is_in_literal).then(|| line[offset..].trim_start_matches(['/', '!', ';', ' ']))
}

fn complaint(path: &Path, line: &str, extension: &str) -> Option<String> {
    let prose = prose(line, extension)?.trim_start_matches("- ");
    if SUBJECTS
        .iter()
        .any(|clause| begins_a_sentence(prose, clause))
    {
        return Some("a sentence begins with a clause: name its subject".to_owned());
    }
    let complaint = complaint_of(prose, PHRASES);
    if !path.starts_with(LIBRARY) {
        return complaint;
    }
    complaint.or_else(|| complaint_of(prose, PHRASES_OF_LIBRARY))
}

/// Whether a sentence that is no question begins with the clause, at the beginning of the line or later.
fn begins_a_sentence(prose: &str, clause: &str) -> bool {
    let word = clause.trim_end();
    let is_question = |rest: &str| {
        rest.split(['.', ';'])
            .next()
            .is_some_and(|it| it.contains('?'))
    };
    let begins = |rest: &str| (rest == word || rest.starts_with(clause)) && !is_question(rest);
    let later = [". ", ".  ", ": "].iter().any(|end| {
        let mut ends = prose.match_indices(end);
        ends.any(|(offset, _)| begins(&prose[offset + end.len()..]))
    });
    begins(prose) || later
}

fn complaint_of(prose: &str, phrases: &[(&str, &str)]) -> Option<String> {
    let lower = prose.to_lowercase();
    let is_word_at = |offset: usize, phrase: &str| {
        let bytes = lower.as_bytes();
        let before = offset.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(offset + phrase.len()).copied();
        let ends = |byte: Option<u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        ends(before) && (phrase.ends_with(' ') || ends(after))
    };
    let (phrase, better) = phrases.iter().find(|(phrase, _)| {
        let mut found = lower.match_indices(phrase);
        found.any(|(offset, _)| is_word_at(offset, phrase))
    })?;
    Some(format!("`{}`: say {better}", phrase.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_prose_only() {
        let path = Path::new("crates/heap/src/lib.rs");
        let is_found = |line, extension| complaint(path, line, extension).is_some();
        assert!(is_found("/// It goes on where it stopped.", "rs"));
        assert!(is_found("    ;; Whoever waits is woken.", "sld"));
        assert!(is_found("The task is given up.", "md"));
        assert!(is_found("// Who waits is woken.", "rs"));
        assert!(!is_found("let text = \"// given up\";", "rs"));
        assert!(!is_found("(f \"given up; x\")", "scm"));
        assert!(!is_found("// Ferrands, merrands", "rs"));
    }

    #[test]
    fn sentences_name_their_subjects() {
        let path = Path::new("crates/heap/src/lib.rs");
        let is_found = |line| complaint(path, line, "sld").is_some();
        assert!(is_found("    ;; What a task waits for."));
        assert!(is_found(";; It ends. What it has is gone."));
        assert!(is_found(";; It ends. What"));
        assert!(!is_found(";; What if it ends? Then all ends."));
        assert!(!is_found("(error \"What it is\")"));
        assert!(!is_found(";; It says what it has."));
    }

    #[test]
    fn the_library_has_more_phrases() {
        let is_found = |path, line| complaint(Path::new(path), line, "sld").is_some();
        let line = ";; A future that nobody waits for.";
        assert!(is_found("lib/canny/tasks.sld", line));
        assert!(!is_found("crates/io/src/wait.rs", line));
    }
}
