//! Words that hide a term of the field, and sentences whose subject is a clause.
//!
//! The rules are for comments of Rust and Scheme sources and for documents. Each pair says what to write
//! in place of the phrase. Some directories have stricter rules, until all of the tree follows them.
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

/// Clauses that no sentence of a comment begins with.
const SUBJECTS: &[&str] = &[
    "Who has ",
    "Who is ",
    "Who waits ",
    "Who reads ",
    "Whoever ",
];

/// Directories with stricter rules.
const STRICT: &[&str] = &["lib", "crates/io/src", "crates/sched/src"];

/// Clauses that no sentence of their comments begins with, in the middle of a line as well.
const SUBJECTS_OF_STRICT: &[&str] = &["What ", "Whatever ", "Who ", "Whoever ", "Whose ", "Which "];

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
                let message = complaint(line, extension)
                    .or_else(|| complaint_of_strict(&name, line, extension));
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

fn complaint(line: &str, extension: &str) -> Option<String> {
    let prose = prose(line, extension)?;
    if SUBJECTS.iter().any(|clause| prose.starts_with(clause)) {
        return Some("a sentence begins with a clause: name its subject".to_owned());
    }
    complaint_of(prose, PHRASES)
}

/// A complaint of the stricter rules about a line.
fn complaint_of_strict(path: &Path, line: &str, extension: &str) -> Option<String> {
    if !STRICT.iter().any(|directory| path.starts_with(directory)) {
        return None;
    }
    let prose = prose(line, extension)?.trim_start_matches("- ");
    let begins = |clause: &&str| {
        prose.starts_with(*clause)
            || [". ", ".  ", ": "]
                .iter()
                .any(|end| prose.contains(&format!("{end}{clause}")))
    };
    if SUBJECTS_OF_STRICT.iter().any(begins) {
        return Some("a sentence begins with a clause: name its subject".to_owned());
    }
    if !path.starts_with(LIBRARY) {
        return None;
    }
    complaint_of(prose, PHRASES_OF_LIBRARY)
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
        let is_found = |line, extension| complaint(line, extension).is_some();
        assert!(is_found("/// It goes on where it stopped.", "rs"));
        assert!(is_found("    ;; Whoever waits is woken.", "sld"));
        assert!(is_found("The task is given up.", "md"));
        assert!(is_found("// Who waits is woken.", "rs"));
        assert!(!is_found("let text = \"// given up\";", "rs"));
        assert!(!is_found("(f \"given up; x\")", "scm"));
        assert!(!is_found("// Ferrands, merrands", "rs"));
    }

    #[test]
    fn some_directories_have_stricter_rules() {
        let is_found = |path, line| complaint_of_strict(Path::new(path), line, "sld").is_some();
        assert!(is_found(
            "lib/canny/tasks.sld",
            "    ;; What a task waits for."
        ));
        assert!(is_found(
            "lib/canny/tasks.sld",
            ";; It ends. What it has is gone."
        ));
        assert!(is_found(
            "lib/canny/tasks.sld",
            ";; A future that nobody waits for."
        ));
        assert!(is_found("crates/io/src/wait.rs", ";; Which side ends."));
        assert!(!is_found(
            "crates/io/src/wait.rs",
            ";; A port that nobody has."
        ));
        assert!(!is_found("crates/heap/src/lib.rs", ";; What a root is."));
        assert!(!is_found("lib/canny/tasks.sld", "(error \"What it is\")"));
        assert!(!is_found("lib/canny/tasks.sld", ";; It says what it has."));
    }
}
