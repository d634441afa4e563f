//! The r7rs-benchmarks collection, read from where the caller keeps it.
//!
//! A program is assembled as the collection's `bench` script does it: the source, the common part, a
//! part of the implementation's own (here: its name), and the call that starts it. Inputs are copied to
//! a scratch directory with their iteration count, the first number, divided by `scale`. Another common
//! part may stand in for the collection's own.

use std::fmt::Write as _;
use std::path::Path;

use super::programs::{Check, Group, Program};
use crate::workspace;

/// The programs that the collection's script runs, in its order.
const NAMES: &[&str] = &[
    "browse",
    "deriv",
    "destruc",
    "diviter",
    "divrec",
    "puzzle",
    "triangl",
    "tak",
    "takl",
    "ntakl",
    "cpstak",
    "ctak",
    "fib",
    "fibc",
    "fibfp",
    "sum",
    "sumfp",
    "fft",
    "mbrot",
    "mbrotZ",
    "nucleic",
    "pi",
    "pnpoly",
    "ray",
    "simplex",
    "ack",
    "array1",
    "string",
    "sum1",
    "cat",
    "tail",
    "wc",
    "read1",
    "compiler",
    "conform",
    "dynamic",
    "earley",
    "graphs",
    "lattice",
    "matrix",
    "maze",
    "mazefun",
    "nqueens",
    "paraffins",
    "parsing",
    "peval",
    "primes",
    "quicksort",
    "scheme",
    "slatex",
    "chudnovsky",
    "nboyer",
    "sboyer",
    "gcbench",
    "mperm",
    "equal",
    "bv2string",
];

const CLOSING: &str = "(define (this-scheme-implementation-name) \"@ENGINE@\")\n";

pub fn programs(suite: &Path, scratch: &Path, scale: u64) -> Result<Vec<Program>, String> {
    let common = workspace::read(&suite.join("src").join("common.scm"));
    let common = common
        .map_err(|error| format!("{} is no copy of r7rs-benchmarks: {error}", suite.display()))?;
    programs_with(suite, scratch, scale, &common)
}

/// The programs with this in place of the common part.
pub fn programs_with(
    suite: &Path,
    scratch: &Path,
    scale: u64,
    common: &str,
) -> Result<Vec<Program>, String> {
    let sources = suite.join("src");
    let directory = scratch.join("suite");
    prepare_inputs(&suite.join("inputs"), &directory, scale)?;
    let start = workspace::read(&sources.join("common-postlude.scm"))?;
    NAMES
        .iter()
        .map(|name| {
            Ok(Program {
                name: (*name).to_owned(),
                group: Group::Suite,
                scheme: workspace::read(&sources.join(format!("{name}.scm")))?,
                closing: format!("{common}\n{CLOSING}{start}"),
                versions: Vec::new(),
                guest: None,
                input: Some(directory.join("inputs").join(format!("{name}.input"))),
                directory: Some(directory.clone()),
                check: Check::Lines {
                    must_start: "+!CSVLINE!+",
                    must_not_contain: "INCORRECT",
                },
            })
        })
        .collect()
}

fn prepare_inputs(from: &Path, directory: &Path, scale: u64) -> Result<(), String> {
    let inputs = directory.join("inputs");
    for new in [&inputs, &directory.join("outputs")] {
        std::fs::create_dir_all(new).map_err(|error| format!("{}: {error}", new.display()))?;
    }
    workspace::copy_directory(from, &inputs)?;
    for path in workspace::files(&inputs, "input") {
        let text = workspace::read(&path)?;
        workspace::write(&path, scaled(&text, scale))?;
    }
    let bib = inputs.join("bib");
    if !bib.exists() {
        workspace::write(&bib, stand_in_for_bib(1))?;
    }
    Ok(())
}

/// The input with its first number, which stands before everything but comments, divided by `scale`.
fn scaled(text: &str, scale: u64) -> String {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with(';') {
            start += line.len();
            continue;
        }
        start += line.len() - content.len();
        break;
    }
    let digits = text[start..]
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len() - start);
    match text[start..start + digits].parse::<u64>() {
        Ok(count) => format!(
            "{}{}{}",
            &text[..start],
            (count / scale).max(1),
            &text[start + digits..]
        ),
        Err(_) => text.to_owned(),
    }
}

/// Lines, words and characters of the collection's `bib`.
const BIB: [usize; 3] = [31_102, 851_820, 4_460_056];

/// Lines, words and characters of a part of `bib`.
pub fn size_of_bib(part: usize) -> [usize; 3] {
    BIB.map(|count| count / part)
}

/// A text with the lines, words and characters of a part of the collection's `bib`, which some copies lack.
/// Words and lines are spread evenly; `cat`, `tail` and `wc` care for nothing else.
pub fn stand_in_for_bib(part: usize) -> String {
    let [lines, words, characters] = size_of_bib(part);
    let letters = characters - words;
    let mut text = String::with_capacity(characters);
    let mut word = 0;
    for line in 0..lines {
        let line_end = words * (line + 1) / lines;
        while word < line_end {
            let length = letters * (word + 1) / words - letters * word / words;
            for index in 0..length {
                let letter = b'a' + ((word * 7 + index * 3) % 26) as u8;
                text.push(char::from(letter));
            }
            word += 1;
            let separator = if word == line_end { '\n' } else { ' ' };
            let _ = text.write_char(separator);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_divided_and_comments_kept() {
        assert_eq!(scaled("200\n13\n", 10), "20\n13\n");
        assert_eq!(scaled("5\n40\n", 10), "1\n40\n");
        assert_eq!(
            scaled("; note 9\n\n20 ; M\n10\n", 10),
            "; note 9\n\n2 ; M\n10\n"
        );
        assert_eq!(scaled("(a b)\n", 10), "(a b)\n");
    }

    #[test]
    fn the_stand_in_has_the_size_of_the_original() {
        for part in [1, 20] {
            let text = stand_in_for_bib(part);
            let words = text.split_whitespace().count();
            let size = [text.lines().count(), words, text.len()];
            assert_eq!(size, size_of_bib(part));
        }
    }

    #[test]
    fn there_are_fifty_seven_programs() {
        assert_eq!(NAMES.len(), 57);
    }
}
