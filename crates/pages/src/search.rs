//! The index that the search reads: a script, so that it works from a directory too.
//!
//! ```text
//! canny_search([
//!   [TITLE OF THE PAGE, PATH, GROUP, [[TITLE, ANCHOR, WORDS, BEGINNING], …]],
//!   …
//! ])
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::Finished;

/// Characters of a text that a result shows.
const BEGINNING_MAX: usize = 110;
/// Letters of a word that is worth finding.
const WORD_MIN: usize = 3;

/// The script.
pub(crate) fn index(pages: &[Finished]) -> String {
    let mut text = String::from("canny_search([\n");
    for page in pages {
        let group = page.group.map_or(-1, |group| group as i64);
        let _ = write!(
            text,
            "[{},{},{group},[",
            quoted(&page.rendered.title),
            quoted(&page.target)
        );
        for (number, section) in page.rendered.sections.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let plain: Vec<&str> = section.text.split_whitespace().collect();
            let mut beginning = plain.join(" ");
            if let Some((end, _)) = beginning.char_indices().nth(BEGINNING_MAX) {
                beginning.truncate(end);
                beginning.push('…');
            }
            let rest = section.text.get(beginning.len()..).unwrap_or_default();
            let _ = write!(
                text,
                "{comma}[{},{},{},{}]",
                quoted(&section.title),
                quoted(&section.anchor),
                quoted(&words(rest)),
                quoted(&beginning)
            );
        }
        text.push_str("]],\n");
    }
    text.push_str("]);\n");
    text
}

/// The words of a text, each once.
fn words(text: &str) -> String {
    let words: BTreeSet<String> = text
        .split(|one: char| !one.is_alphanumeric() && !"-!?*/<>=".contains(one))
        .map(|word| word.trim_matches(['-', '=', '>', '<', '/']))
        .filter(|word| {
            word.chars().count() >= WORD_MIN && !word.starts_with(|c: char| c.is_ascii_digit())
        })
        .map(str::to_lowercase)
        .collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// A text as a literal of JavaScript that may stand in a page.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for one in text.chars() {
        match one {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(one);
            }
            '<' => literal.push_str("\\u003c"),
            '\u{2028}' | '\u{2029}' => literal.push(' '),
            one if one.is_control() => literal.push(' '),
            one => literal.push(one),
        }
    }
    literal.push('"');
    literal
}
