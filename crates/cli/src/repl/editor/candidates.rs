//! Candidates for completion, and the lines that list them below the input.
//!
//! A few candidates get a line each with their use; many are listed in columns. The module knows
//! texts and columns only, neither Scheme nor the terminal.

use super::screen::text_width;

/// Candidates that are listed.
const CANDIDATES_MAX: usize = 200;
/// Candidates that are listed with a line about each.
const TOLD_MAX: usize = 10;
/// Columns that the use of a candidate may take at most before the sentence about it.
const USE_COLUMNS_MAX: usize = 36;

/// The kind of thing that is completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    #[default]
    Name,
    Library,
    Command,
    File,
}

/// Completions of what stands before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Where what they complete begins.
    pub start: usize,
    pub what: What,
    pub candidates: Vec<String>,
}

/// The lines below the text that tell of the candidates, `word` being what is there now. A single one
/// and a few have a line each; of many only the one that is there already has one.
pub fn told(
    found: &Completions,
    word: &str,
    (columns, rows): (usize, usize),
    about: impl Fn(&str) -> Option<(String, String)>,
) -> Vec<String> {
    let candidates = &found.candidates;
    let lines_max = TOLD_MAX.min(rows / 2);
    let is_few = candidates.len() <= lines_max && found.what != What::File;
    let chosen: Vec<&String> = candidates
        .iter()
        .filter(|candidate| is_few || *candidate == word)
        .collect();
    let told: Vec<Option<(String, String)>> = chosen.iter().map(|one| about(one)).collect();
    let nothing = told.iter().all(Option::is_none);
    let mut lines = if nothing {
        Vec::new()
    } else {
        beside_each_other(&chosen, told)
    };
    if candidates.len() > 1 && (!is_few || nothing) {
        lines.extend(listed(candidates, columns));
    }
    lines
}

/// The use of each candidate with the sentence about it.
fn beside_each_other(chosen: &[&String], told: Vec<Option<(String, String)>>) -> Vec<String> {
    let parts: Vec<(String, String)> = chosen
        .iter()
        .zip(told)
        .map(|(candidate, told)| told.unwrap_or_else(|| ((*candidate).clone(), String::new())))
        .collect();
    let widths = parts.iter().map(|(usage, _)| text_width(usage));
    let widest = widths.max().unwrap_or(0).min(USE_COLUMNS_MAX);
    let line = |(usage, sentence): &(String, String)| {
        let blanks = widest.saturating_sub(text_width(usage)) + 2;
        let line = format!("{usage}{}{sentence}", " ".repeat(blanks));
        line.trim_end().to_owned()
    };
    parts.iter().map(line).collect()
}

/// The longest beginning that all candidates share.
pub fn shared_start(candidates: &[String]) -> Option<&str> {
    let (first, rest) = candidates.split_first()?;
    let mut length = first.len();
    for candidate in rest {
        let same = first
            .char_indices()
            .zip(candidate.chars())
            .find(|((_, left), right)| left != right);
        let shorter = first.len().min(candidate.len());
        length = length.min(same.map_or(shorter, |((at, _), _)| at));
    }
    Some(&first[..first.floor_char_boundary(length)])
}

/// Candidates in columns.
fn listed(candidates: &[String], columns: usize) -> Vec<String> {
    let shown = &candidates[..candidates.len().min(CANDIDATES_MAX)];
    let widest = shown.iter().map(|one| text_width(one)).max().unwrap_or(0) + 2;
    let across = (columns.saturating_sub(1) / widest).max(1);
    let down = shown.len().div_ceil(across);
    let mut lines: Vec<String> = (0..down)
        .map(|row| {
            let cells = shown.iter().skip(row).step_by(down);
            let padded = cells.map(|cell| {
                let blanks = widest.saturating_sub(text_width(cell));
                format!("{cell}{}", " ".repeat(blanks))
            });
            padded.collect::<String>().trim_end().to_owned()
        })
        .collect();
    if candidates.len() > shown.len() {
        lines.push(format!("… and {} more", candidates.len() - shown.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_share_their_start() {
        let words = |list: &[&str]| {
            list.iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shared_start(&words(&["string-a", "string-b"])),
            Some("string-")
        );
        assert_eq!(shared_start(&words(&["αβ", "αγ"])), Some("α"));
        assert_eq!(shared_start(&words(&["a", "ab"])), Some("a"));
        assert_eq!(shared_start(&[]), None);
    }

    #[test]
    fn candidates_are_listed_in_columns() {
        let words: Vec<String> = ["a", "bb", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(listed(&words, 13), ["a   c   e", "bb  d"]);
        assert_eq!(listed(&words, 1).len(), 5);
    }

    #[test]
    fn a_few_candidates_are_told_of_and_many_are_listed() {
        let found = |count: usize| Completions {
            candidates: (0..count).map(|number| format!("n{number}")).collect(),
            ..Completions::default()
        };
        let about = |name: &str| Some((format!("({name})"), format!("About {name}.")));
        let size = (80, 24);
        assert_eq!(told(&found(1), "n0", size, about), ["(n0)  About n0."]);
        assert_eq!(
            told(&found(2), "n", size, about),
            ["(n0)  About n0.", "(n1)  About n1."]
        );
        let many = told(&found(12), "n1", size, about);
        assert_eq!(many[0], "(n1)  About n1.");
        assert!(many[1].starts_with("n0   n1"), "{many:?}");
        // Where nothing is known there are names only, and no line for a single one.
        assert_eq!(told(&found(2), "n", size, |_| None), ["n0  n1"]);
        assert_eq!(told(&found(1), "n0", size, |_| None), [""; 0]);
        // A low window has no room for lines.
        assert!(told(&found(3), "n", (80, 5), about)[0].starts_with("n0  n1"));
    }
}
