//! Filetests of the whole command: every `tests/run/*.scm` is run, and exit code, standard output and
//! standard error are compared with the `.expected` file beside it. `CANNY_BLESS=1` writes those files;
//! review the difference.
//!
//! A first line `;;; options: WORD…` gives options that stand before the file name.

mod support;

use std::path::Path;

use support::{Canny, blessing, programs, scratch};

fn report(path: &Path) -> String {
    let text = std::fs::read(path).expect("the test can be read");
    let name = path
        .file_name()
        .expect("a file has a name")
        .to_string_lossy()
        .into_owned();
    let first =
        String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next().unwrap_or_default())
            .into_owned();
    let mut words: Vec<&str> = first
        .strip_prefix(";;; options: ")
        .map(|options| options.split_whitespace().collect())
        .unwrap_or_default();
    words.push(&name);
    // A copy in a scratch directory: messages show the name as it was given.
    let outcome = Canny::new(scratch(), &words).file(&name, &text).run();
    let code = outcome
        .code
        .map_or("none".to_owned(), |code| code.to_string());
    format!(
        "exit code: {code}\n--- standard output\n{}\n--- standard error\n{}",
        outcome.output, outcome.errors
    )
}

#[test]
fn run() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run");
    let mut wrong = Vec::new();
    for path in programs(&directory) {
        let report = report(&path);
        let expectation = path.with_extension("expected");
        if blessing() {
            std::fs::write(&expectation, &report).expect("the expectation can be written");
        }
        let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
        if report != expected {
            wrong.push(format!(
                "== {}\n{report}\n== expected\n{expected}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
