//! The example `examples/wiki`: its suites in Scheme, which start it as a process, and the same program
//! in one file.
//!
//! The suite that drives a browser skips its tests where there is no Chromium, unless `CANNY_BROWSER`
//! is `required`.

mod support;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use support::{Canny, canny, root, scratch};

fn wiki(name: &str) -> PathBuf {
    root().join("examples/wiki").join(name)
}

/// A browser takes its time on a machine that is busy.
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Runs a suite to its end, and gives its standard error.
#[track_caller]
fn passes(run: Canny) -> String {
    run.start().wait_within(TIME_LIMIT).exits_with(0).errors
}

fn suite(name: &str) -> Canny {
    let path = wiki("tests").join(name);
    Canny::new(scratch(), &[path.to_str().expect("the path is UTF-8")])
}

#[test]
fn its_libraries_do_what_they_say() {
    for name in [
        "markup.scm",
        "differences.scm",
        "store.scm",
        "application.scm",
    ] {
        passes(suite(name));
    }
}

#[test]
fn the_whole_story_over_http() {
    passes(suite("http.scm"));
}

#[test]
fn what_was_acknowledged_outlasts_the_process() {
    passes(suite("durability.scm"));
}

#[test]
fn the_whole_story_in_a_browser() {
    let errors = passes(suite("browser.scm"));
    if errors.contains("SKIPPED") {
        // Not by `eprintln`, which tests keep to themselves.
        let _ = writeln!(std::io::stderr(), "{errors}");
    }
}

#[test]
fn one_file_does_the_same() {
    let program = wiki("wiki.scm");
    let words = ["compile", program.to_str().expect("the path is UTF-8")];
    let run = canny(&[words[0], words[1], "-o", "commonplace"]);
    let compiled = run.directory.join("commonplace");
    run.run().exits_with(0);
    passes(suite("http.scm").environment("WIKI", compiled));
}

#[test]
fn its_command_line_is_checked() {
    let program = wiki("wiki.scm");
    let program = program.to_str().expect("the path is UTF-8");
    let help = canny(&[program, "--help"]).run().exits_with(0);
    assert!(help.output.starts_with("usage: "), "{help:#?}");
    for (words, message) in [
        (&["--prot", "1"][..], "there is no option --prot"),
        (&["--port", "many"], "no port: many"),
        (&["extra"], "what is extra?"),
        (&["--port"], "--port needs an argument"),
    ] {
        let words: Vec<&str> = std::iter::once(program)
            .chain(words.iter().copied())
            .collect();
        canny(&words).run().exits_with(64).complains(message);
    }
    let run = canny(&[program, "--database", "missing/wiki.db"]).run();
    run.exits_with(71).complains("missing/wiki.db");
}
