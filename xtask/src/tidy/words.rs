//! Words that hide a term of the field, and sentences whose subject is a clause.
//!
//! Looked at are comments of Rust and Scheme sources and the documents. Each pair says what to write
//! in place of the phrase. Suites that others wrote are left as they are.

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
];

/// Clauses that no sentence of a comment begins with.
const SUBJECTS: &[&str] = &[
    "Who has ",
    "Who is ",
    "Who waits ",
    "Who reads ",
    "Whoever ",
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
                if let Some(message) = complaint(line, extension) {
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

fn complaint(line: &str, extension: &str) -> Option<String> {
    let prose = prose(line, extension)?;
    if SUBJECTS.iter().any(|clause| prose.starts_with(clause)) {
        return Some("a sentence begins with a clause: name its subject".to_owned());
    }
    let lower = prose.to_lowercase();
    let is_word_at = |offset: usize, phrase: &str| {
        let bytes = lower.as_bytes();
        let before = offset.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(offset + phrase.len()).copied();
        let ends = |byte: Option<u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        ends(before) && (phrase.ends_with(' ') || ends(after))
    };
    let (phrase, better) = PHRASES.iter().find(|(phrase, _)| {
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
        let is_found = |line, extension| complaint(line, extension).is_some();
        assert!(is_found("/// It goes on where it stopped.", "rs"));
        assert!(is_found("    ;; Whoever waits is woken.", "sld"));
        assert!(is_found("The task is given up.", "md"));
        assert!(is_found("// Who waits is woken.", "rs"));
        assert!(!is_found("let text = \"// given up\";", "rs"));
        assert!(!is_found("(f \"given up; x\")", "scm"));
        assert!(!is_found("// Ferrands, merrands", "rs"));
    }
}
