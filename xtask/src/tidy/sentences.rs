//! Sentences are short, and texts of primitives name what they are about.
//!
//! In comments of `lib` a sentence has 25 words at most. A piece of code in backquotes is one
//! word. Tables, fenced code and indented lines are no sentences. The text of a primitive begins with
//! a verb or with a noun, not with a clause.

use std::path::Path;

use super::{Complaint, relative};
use crate::workspace;

const LIBRARY: &str = "lib";
const WORDS_MAX: usize = 25;

const PRIMITIVES: &str = "crates/tables/src/primitives";
/// Words that begin a clause.
const CLAUSES: &[&str] = &[
    "How ", "That ", "What ", "When ", "Where ", "Which ", "Who ", "Whose ", "Why ",
];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for extension in ["scm", "sld"] {
        for path in workspace::files(&root.join(LIBRARY), extension) {
            let text = workspace::read(&path)?;
            for (line, words) in long_sentences(&text) {
                complaints.push(Complaint {
                    path: relative(root, &path),
                    line: Some(line),
                    message: format!(
                        "a sentence of this paragraph has {words} words; {WORDS_MAX} are enough"
                    ),
                });
            }
        }
    }
    for path in workspace::files(&root.join(PRIMITIVES), "rs") {
        let text = workspace::read(&path)?;
        for (index, line) in text.lines().enumerate() {
            if begins_with_clause(line) {
                complaints.push(Complaint {
                    path: relative(root, &path),
                    line: Some(index + 1),
                    message: "the text of a primitive begins with a clause: name its result"
                        .to_owned(),
                });
            }
        }
    }
    Ok(complaints)
}

/// Whether a literal on the line begins with a clause.
fn begins_with_clause(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with("//");
    let mut literals = line.split('"').skip(1).step_by(2);
    !is_comment && literals.any(|text| CLAUSES.iter().any(|clause| text.starts_with(clause)))
}

/// The long sentences of a Scheme source: the first line of the paragraph, and the number of words.
fn long_sentences(source: &str) -> Vec<(usize, usize)> {
    let mut long = Vec::new();
    for (line, paragraph) in paragraphs(source) {
        let counts = sentences(&paragraph).into_iter().map(|one| words(&one));
        long.extend(
            counts
                .filter(|count| *count > WORDS_MAX)
                .map(|count| (line, count)),
        );
    }
    long
}

/// The paragraphs of the comments that have lines of their own, with their first lines.
fn paragraphs(source: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut mark_before = "";
    let mut is_open = false;
    let mut is_code = false;
    for (index, line) in source.lines().enumerate() {
        let start = line
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(line.len());
        let text = line[start..].trim_start_matches(';');
        let mark = &line[..line.len() - text.len()];
        if !mark.ends_with(';') || mark != mark_before {
            (is_open, is_code) = (false, false);
        }
        mark_before = mark;
        if !mark.ends_with(';') {
            continue;
        }
        let text = text.strip_prefix(' ').unwrap_or(text);
        if text.starts_with("```") {
            (is_open, is_code) = (false, !is_code);
        } else if is_code
            || text.trim().is_empty()
            || text.starts_with("  ")
            || text.starts_with('|')
        {
            is_open = false;
        } else if is_open && !is_item(text) {
            if let Some((_, paragraph)) = found.last_mut() {
                paragraph.push(' ');
                paragraph.push_str(text);
            }
        } else {
            found.push((index + 1, text.to_owned()));
            is_open = true;
        }
    }
    found
}

/// Whether a line begins an item of a list.
fn is_item(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ")
        || text.starts_with("* ")
        || digits.len() < text.len() && digits.starts_with(". ")
}

/// A paragraph's sentences, pieces of code in them replaced by a word.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for (index, piece) in paragraph.split('`').enumerate() {
        let last = sentences.len() - 1;
        if index % 2 == 1 {
            sentences[last].push('X');
            continue;
        }
        let mut rest = piece;
        while let Some(end) = end_of_sentence(rest) {
            let last = sentences.len() - 1;
            sentences[last].push_str(&rest[..end]);
            sentences.push(String::new());
            rest = &rest[end..];
        }
        let last = sentences.len() - 1;
        sentences[last].push_str(rest);
    }
    sentences
}

/// The place behind a full stop, or what is like one, after which a sentence begins.
fn end_of_sentence(text: &str) -> Option<usize> {
    text.match_indices(['.', '!', '?']).find_map(|(offset, _)| {
        let behind = text[offset + 1..].trim_start_matches([')', '"']);
        let next = behind.trim_start();
        let is_end =
            next.len() < behind.len() && !next.starts_with(|c: char| c.is_lowercase() || c == '…');
        is_end.then(|| text.len() - next.len())
    })
}

fn words(sentence: &str) -> usize {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    sentence.split_whitespace().filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_found_with_their_paragraphs() {
        let long = "word ".repeat(20);
        let source = format!(
            ";;; Short.\n;;;\n;;; {long}\n;;; {long} end.\n(code)\n  ;; `{long}` {long}. Next {long}\n"
        );
        assert_eq!(long_sentences(&source), [(3, 41)]);
    }

    #[test]
    fn tables_code_and_items_are_apart() {
        let long = "word ".repeat(20);
        let source = format!(
            ";; | {long} |\n;; | {long} |\n;;   {long}\n;; - {long}\n;; - {long}\n;; ```\n;; {long} {long}\n"
        );
        assert_eq!(long_sentences(&source), []);
    }

    #[test]
    fn sentences_end_before_a_capital() {
        assert_eq!(
            sentences("One, e.g. two. Three? (Four.) `five` six").len(),
            4
        );
    }

    #[test]
    fn texts_of_primitives_begin_with_nouns_and_verbs() {
        assert!(begins_with_clause(
            "    \"f\" (1) [] \"a -> b\" \"What a thing is.\";"
        ));
        assert!(!begins_with_clause(
            "    \"f\" (1) [] \"a -> b\" \"Whether a thing is.\";"
        ));
    }
}
