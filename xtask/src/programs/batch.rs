//! Files that hold many programs of the family of flips, and what such a file printed, program by program.

use std::collections::BTreeMap;

use super::flips::{PRELUDE, Program};

/// How programs share a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each runs to its end before the next.
    InTurn,
    /// The first part of each, then the second of each, and so on: one log tells of many programs.
    ByPart,
}

/// The text of a file with these programs.
pub fn file<'p>(programs: impl Iterator<Item = &'p Program> + Clone, order: Order) -> String {
    let mut text = PRELUDE.to_owned();
    match order {
        Order::InTurn => {
            for program in programs {
                text.push_str(&program.definitions);
                for part in &program.parts {
                    text.push_str(part);
                    text.push_str("(pause)\n");
                }
            }
        }
        Order::ByPart => {
            for program in programs.clone() {
                text.push_str(&program.definitions);
            }
            let parts = programs.clone().map(|program| program.parts.len()).max();
            for index in 0..parts.unwrap_or(0) {
                for program in programs.clone() {
                    text.push_str(program.parts.get(index).map_or("", String::as_str));
                }
                text.push_str("(pause)\n");
            }
        }
    }
    text
}

/// The lines that each program printed, by tag: lines begin with a tag or with `(` and a tag.
pub fn lines_by_tag(output: &str) -> BTreeMap<u64, Vec<&str>> {
    let mut by_tag: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut last = 0;
    for line in output.lines() {
        let word = line.trim_start_matches('(').split_whitespace().next();
        if let Some(tag) = word.and_then(|word| word.parse().ok()) {
            last = tag;
        }
        by_tag.entry(last).or_default().push(line);
    }
    by_tag
}

/// Tags of the programs whose lines differ.
pub fn differing(one: &str, two: &str) -> Vec<u64> {
    let (one, two) = (lines_by_tag(one), lines_by_tag(two));
    let mut tags: Vec<u64> = one.keys().chain(two.keys()).copied().collect();
    tags.sort_unstable();
    tags.dedup();
    tags.retain(|tag| one.get(tag) != two.get(tag));
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_program_whose_tag_it_begins_with() {
        let one = "1 #t\n(1 noted 3)\n2 \"a\nb\"\n(2 noted 5)\n";
        assert_eq!(differing(one, one), Vec::<u64>::new());
        assert_eq!(differing(one, &one.replace("b\"", "c\"")), vec![2]);
        assert_eq!(differing(one, "1 #t\n(1 noted 3)\n"), vec![2]);
    }
}
