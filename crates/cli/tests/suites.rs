//! The suites in Scheme: `tests/conformance`, `tests/srfi`, `tests/torture` and `tests/regress`.
//! Each file is a program that leaves with 0 if all its tests pass.

mod support;

use std::path::Path;

use support::{Canny, programs, root, scratch};

/// Loads the file that the command line names. Its variables may be redefined, so that other code is
/// made of it than of a program.
const LOADER: &str = "(import (scheme base) (scheme load) (scheme process-context))\n\
                      (load (cadr (command-line)))\n";

/// Runs every program of a directory, with these words before its name; gives the reports of those that
/// fail.
fn failures(directory: &Path, words: &[&str]) -> Vec<String> {
    programs(directory)
        .iter()
        .filter_map(|path| {
            let word = path.to_str().expect("paths of the project are UTF-8");
            let words = [words, &[word]].concat();
            let outcome = Canny::new(scratch(), &words).file("load.scm", LOADER).run();
            (outcome.code != Some(0)).then(|| {
                format!(
                    "{word}: {:?}\n{}{}",
                    outcome.code, outcome.output, outcome.errors
                )
            })
        })
        .collect()
}

#[track_caller]
fn all_pass(directory: &str) {
    let directory = root().join("tests").join(directory);
    let failures = failures(&directory, &[]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn regressions_that_are_loaded() {
    let failures = failures(&root().join("tests/regress"), &["load.scm"]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn conformance() {
    all_pass("conformance");
}

#[test]
fn torture() {
    all_pass("torture");
}

#[test]
fn regressions() {
    all_pass("regress");
}

#[test]
fn srfis() {
    all_pass("srfi");
}
