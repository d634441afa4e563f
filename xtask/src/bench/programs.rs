//! The benchmark programs: source, versions in other languages, input, and the check of the answer.
//!
//! Sources are plain R7RS; definitions that an engine needs are added around them. Every program
//! has a check, so that no engine is fast by a wrong answer.

use std::path::{Path, PathBuf};

use super::guests::Guest;
use crate::workspace;

/// The program whose time every engine is given credit for.
pub const START_UP: &str = "hello";

/// The same among WebAssembly guests: a call that returns at once.
pub const IDLE_GUEST: &str = "idle";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    Own,
    Suite,
    /// Input and output, beside other languages.
    InputOutput,
    /// WebAssembly, beside other engines for it.
    Guests,
}

#[derive(Clone, Debug)]
pub enum Check {
    /// The whole standard output.
    Output(String),
    /// The output ends with this word. If that is a number with a fraction, the printed one may be rounded,
    /// since not every engine prints all digits.
    LastWord(String),
    /// Some line starts with the first text and none contains the second.
    Lines {
        must_start: &'static str,
        must_not_contain: &'static str,
    },
}

impl Check {
    pub fn accepts(&self, output: &str) -> bool {
        match self {
            Check::Output(expected) => output.trim_end() == expected,
            Check::LastWord(expected) => {
                let word = output.split_whitespace().last().unwrap_or_default();
                word == expected || (expected.contains('.') && is_close(word, expected))
            }
            Check::Lines {
                must_start,
                must_not_contain,
            } => {
                output.lines().any(|line| line.starts_with(must_start))
                    && !output.contains(must_not_contain)
            }
        }
    }
}

/// Whether two texts are numbers that differ in the sixth digit at most.
fn is_close(word: &str, expected: &str) -> bool {
    match (word.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(word), Ok(expected)) => (word - expected).abs() <= 1e-5 * expected.abs(),
        _ => false,
    }
}

#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub group: Group,
    /// R7RS source without anything that is particular to an engine.
    pub scheme: String,
    /// Appended after the program for every engine, with `@ENGINE@` standing for its name.
    pub closing: String,
    /// The same program in other languages: the extension of its file, and its text.
    pub versions: Vec<(&'static str, String)>,
    /// A WebAssembly module in place of the source.
    pub guest: Option<Guest>,
    pub input: Option<PathBuf>,
    /// The directory it runs in, if it opens files by relative names.
    pub directory: Option<PathBuf>,
    pub check: Check,
}

impl Program {
    /// Whether it is there for the start-up of the engines.
    pub fn is_start_up(&self) -> bool {
        is_start_up(self.group, &self.name)
    }

    /// The program in the language whose files have this extension.
    pub fn version(&self, extension: &str) -> Option<&str> {
        let found = self.versions.iter().find(|(known, _)| *known == extension);
        found.map(|(_, text)| text.as_str())
    }
}

/// Whether the program of this name measures the start-up of the engines of a group.
pub fn is_start_up(group: Group, name: &str) -> bool {
    match group {
        Group::Suite => false,
        Group::Guests => name == IDLE_GUEST,
        Group::Own | Group::InputOutput => name == START_UP,
    }
}

/// Reads `benches/*.scm`. The first line of each is `;;; expect: OUTPUT`; `NAME.lua` beside it is the
/// same program in Lua.
pub fn own(directory: &Path) -> Result<Vec<Program>, String> {
    read(directory, Group::Own, &["lua"])
}

/// Reads `benches/io/*.scm` likewise. They run in `place`, which has directories `inputs` and `outputs`.
pub fn input_output(directory: &Path, place: &Path) -> Result<Vec<Program>, String> {
    let extensions = ["js", "lua", "pl", "py", "sh"];
    let mut programs = read(directory, Group::InputOutput, &extensions)?;
    for program in &mut programs {
        program.directory = Some(place.to_path_buf());
    }
    Ok(programs)
}

fn read(
    directory: &Path,
    group: Group,
    extensions: &[&'static str],
) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for path in workspace::files(directory, "scm") {
        if path.parent() != Some(directory) {
            continue;
        }
        let scheme = workspace::read(&path)?;
        let expected = scheme
            .lines()
            .next()
            .and_then(|line| line.strip_prefix(";;; expect: "))
            .ok_or_else(|| format!("{}: the first line is not `;;; expect: …`", path.display()))?
            .to_owned();
        let mut versions = Vec::new();
        for &extension in extensions {
            let path = path.with_extension(extension);
            if path.exists() {
                versions.push((extension, workspace::read(&path)?));
            }
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        programs.push(Program {
            name: name.into_owned(),
            group,
            scheme,
            closing: String::new(),
            versions,
            guest: None,
            input: None,
            directory: None,
            check: Check::Output(expected),
        });
    }
    if programs.iter().any(|program| program.name == START_UP) {
        Ok(programs)
    } else {
        Err(format!(
            "{}: there is no {START_UP}.scm",
            directory.display()
        ))
    }
}

/// The names that a program defines at its top level, found by their shape: a definition that starts
/// in the first column, or an indented one within a top-level `begin`. Peers whose programs may not
/// redefine imported names import all but these.
pub fn defined_names(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut inside_begin = false;
    for line in source.lines() {
        if line.starts_with('(') {
            inside_begin = line.starts_with("(begin");
        }
        let line = if inside_begin {
            line.trim_start()
        } else {
            line
        };
        let Some(rest) = ["(define-syntax ", "(define "]
            .iter()
            .find_map(|keyword| line.strip_prefix(keyword))
        else {
            continue;
        };
        let name = rest
            .trim_start_matches([' ', '('])
            .split([' ', ')', '(', '\t', ';'])
            .next()
            .unwrap_or_default();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The source without its top-level `(import …)` forms.
pub fn without_imports(source: &str) -> String {
    let mut rest = source;
    let mut kept = String::new();
    while let Some(start) = find_import(rest) {
        kept.push_str(&rest[..start]);
        rest = skip_form(&rest[start..]);
    }
    kept.push_str(rest);
    kept
}

fn find_import(text: &str) -> Option<usize> {
    if text.starts_with("(import") {
        return Some(0);
    }
    text.find("\n(import").map(|newline| newline + 1)
}

/// The text after the parenthesized form it starts with; imports contain no strings or comments.
fn skip_form(text: &str) -> &str {
    let mut depth = 0usize;
    for (index, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return &text[index + 1..];
                }
            }
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_removed_wherever_they_stand() {
        let source = "(define a 1)\n(import (scheme base)\n  (only (scheme write) display))\n(b)\n";
        assert_eq!(without_imports(source), "(define a 1)\n\n(b)\n");
    }

    #[test]
    fn definitions_are_found_by_their_shape() {
        let source =
            "(define (f x)\n  (define inner 1)\n  x)\n(define g 2)\n(begin\n  (define h 1))\n";
        assert_eq!(defined_names(source), ["f", "g", "h"]);
    }

    #[test]
    fn results_may_be_rounded_if_they_have_a_fraction() {
        let check = |text: &str| Check::LastWord(text.to_owned());
        assert!(check("-0.16909656666616676").accepts("Result: -0.169097\n"));
        assert!(!check("-0.16909656666616676").accepts("-0.1692\n"));
        assert!(!check("4450945346278338076").accepts("4450945346278338077\n"));
        assert!(!check("1").accepts(""));
    }

    #[test]
    fn answers_of_the_suite_are_checked_by_line() {
        let check = Check::Lines {
            must_start: "+!CSVLINE!+",
            must_not_contain: "INCORRECT",
        };
        assert!(check.accepts("Running\n+!CSVLINE!+canny,fib,1.5\n"));
        assert!(!check.accepts("+!CSVLINE!+canny,fib,INCORRECT\n"));
        assert!(!check.accepts("Running\n"));
    }
}
