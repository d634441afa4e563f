//! The examples of guide pages: a form that a line `; => VALUE` follows has that value, as `write` shows it, and one that
//! `; error: TEXT` follows raises a condition with that text.
//!
//! The blocks of a page are one program. A form that is looked at begins at the start of a line, as do imports, which may
//! stand in any block.

mod support;

use std::fmt::Write as _;

use support::{Canny, root, scratch};

const PAGES: &[&str] = &[
    "macros",
    "match",
    "delimited-continuations",
    "loops",
    "contracts",
    "string-interpolation",
    "testing",
];

/// A program, and what it prints if the page is right.
fn program_of(page: &str) -> (String, Vec<String>) {
    let mut imports = String::from("(import (prefix (canny base) guide-))\n");
    let mut program = String::new();
    let mut expected = Vec::new();
    let mut in_block = false;
    let mut in_import = false;
    // Lines since the last form that was looked at.
    let mut lines: Vec<&str> = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = line == "```scheme";
            continue;
        }
        if !in_block {
            continue;
        }
        in_import = line.starts_with("(import ") || in_import && line.starts_with(' ');
        if in_import {
            imports.push_str(line);
            imports.push('\n');
            continue;
        }
        let (wrap, text) = match (line.strip_prefix("; => "), line.strip_prefix("; error: ")) {
            (Some(value), _) => ("guide-write", value),
            (_, Some(message)) => ("guide-show-error", message),
            _ => {
                lines.push(line);
                continue;
            }
        };
        let starts =
            |line: &&str| line.starts_with(|first: char| !first.is_whitespace() && first != ';');
        let first = lines.iter().rposition(starts).expect("a form comes first");
        for line in &lines[..first] {
            let _ = writeln!(program, "{line}");
        }
        let form = lines[first..].join("\n");
        if wrap == "guide-write" {
            let _ = writeln!(program, "(guide-write {form})\n(guide-newline)");
        } else {
            let _ = writeln!(
                program,
                "(guide-display (guide-call-with-current-continuation (guide-lambda (k) \
                 (guide-with-exception-handler \
                 (guide-lambda (e) (k (guide-condition->string e))) \
                 (guide-lambda () {form})))))\n(guide-newline)"
            );
        }
        expected.push(text.to_owned());
        lines.clear();
    }
    for line in lines {
        let _ = writeln!(program, "{line}");
    }
    (imports + &program, expected)
}

#[test]
fn guides_say_what_is_true() {
    for page in PAGES {
        let path = root().join(format!("docs/guide/{page}.md"));
        let text = std::fs::read_to_string(&path).expect("the page can be read");
        let (program, expected) = program_of(&text);
        assert!(expected.len() >= 5, "{page}: {} examples", expected.len());
        let file = scratch().join("page.scm");
        std::fs::write(&file, &program).expect("the program can be written");
        let arguments = [file.to_str().expect("the path is UTF-8")];
        let outcome = Canny::new(scratch(), &arguments).run();
        let lines: Vec<&str> = outcome.output.lines().collect();
        assert_eq!(lines, expected, "{page}: {}", outcome.errors);
        assert_eq!(outcome.code, Some(0), "{page}: {}", outcome.errors);
    }
}
