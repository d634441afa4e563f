//! The codes of messages: the examples of the table do what they say, and the page that is made of it
//! is up to date. `CANNY_BLESS=1` writes the page.

mod support;

use std::path::{Path, PathBuf};

use canny_syntax::messages::{self, Message};
use support::{Canny, Outcome, blessing, canny, root, scratch};

/// Runs an example; a first line `;;; options: WORD…` gives options.
fn run(text: &str) -> Outcome {
    let first = text.lines().next().unwrap_or_default();
    let options = first.strip_prefix(";;; options: ").unwrap_or_default();
    let mut words: Vec<&str> = options.split_whitespace().collect();
    words.push("example.scm");
    Canny::new(scratch(), &words)
        .file("example.scm", text)
        .run()
}

fn complaint(row: &Message) -> Option<String> {
    let code = row.code;
    let wrong = run(row.wrong);
    if !wrong.errors.contains(&format!("[{code}]")) {
        return Some(format!("the wrong example of {code} gives {wrong:#?}"));
    }
    let repaired = run(row.repaired);
    if repaired.code != Some(0) || !repaired.errors.is_empty() {
        return Some(format!(
            "the repaired example of {code} gives {repaired:#?}"
        ));
    }
    None
}

#[test]
fn examples_do_what_they_say() {
    let rows = messages::all().filter(|row| !row.wrong.is_empty());
    let complaints: Vec<String> = rows.filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_page_is_up_to_date() {
    let path = root().join("docs/errors.md");
    if blessing() {
        std::fs::write(&path, messages::page()).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == messages::page(),
        "docs/errors.md is not what the table says; CANNY_BLESS=1 writes it"
    );
}

/// Rust sources below a directory.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory)
        .expect("the sources are there")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Codes that a source gives to diagnostics: the first operand of `error(` or `warning(`, if another
/// follows it.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    let calls = ["error(", "warning("].map(|call| text.split(call).skip(1));
    calls.into_iter().flatten().filter_map(|operands| {
        let (code, rest) = operands.trim_start().strip_prefix('"')?.split_once('"')?;
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (rest.starts_with(',') && code.chars().all(is_word)).then_some(code)
    })
}

#[test]
fn every_diagnostic_has_a_code_of_the_table() {
    let mut files = Vec::new();
    for name in ["syntax", "compiler", "lib"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    let mut count = 0;
    let mut complaints = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for code in codes(&text) {
            count += 1;
            if messages::find(code).is_none() {
                complaints.push(format!("{}: {code} has no row", path.display()));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    // The search itself works.
    assert!(count > 50, "only {count} diagnostics were found");
}

#[test]
fn every_kind_of_condition_in_the_library_has_a_code() {
    let mut complaints = Vec::new();
    // SRFIs are left out: conditions of a kind of their own may have the common code.
    for directory in ["canny", "scheme"] {
        let directory = root().join("lib").join(directory);
        for entry in std::fs::read_dir(directory)
            .expect("the library is there")
            .flatten()
        {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            for rest in text.split("(%make-condition '").skip(1) {
                let kind = rest.split(|c: char| c.is_whitespace() || c == ')').next();
                if messages::code_of_raised(kind) == messages::OTHER_CONDITION {
                    complaints.push(format!("{}: {kind:?} has no code", entry.path().display()));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn explain_tells_of_a_code() {
    let outcome = canny(&["explain", "wrong-type"]).run().exits_with(0);
    assert!(
        outcome
            .output
            .starts_with("wrong-type: An argument has the wrong type."),
        "{outcome:#?}"
    );
    assert!(outcome.output.contains("Right:"), "{outcome:#?}");
    let outcome = canny(&["explain", "[wrong-type]"]).run().exits_with(0);
    assert!(outcome.output.starts_with("wrong-type: "), "{outcome:#?}");
}

#[test]
fn explain_lists_all_codes() {
    let outcome = canny(&["explain"]).run().exits_with(0);
    for row in messages::all() {
        let line = format!("  {} ", row.code);
        assert!(
            outcome.output.lines().any(|other| other.starts_with(&line)),
            "{line}"
        );
    }
}

#[test]
fn explain_refuses_what_it_does_not_know() {
    canny(&["explain", "wrong-tpye"])
        .run()
        .exits_with(64)
        .complains("did you mean 'wrong-type'?");
    canny(&["explain", "qqqq"])
        .run()
        .exits_with(64)
        .complains("lists all codes");
    canny(&["explain", "a", "b"]).run().exits_with(64);
}
