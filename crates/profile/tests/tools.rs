//! Opens the exports with the tools that they are for.
//!
//! A tool that is not installed is skipped with a message; `CANNY_PROFILE_TOOLS=required` makes
//! that a failure. The tools are `go tool pprof`, `callgrind_annotate`, and `node` with the
//! packages `speedscope` and `ajv` in the directory `CANNY_PROFILE_NPM` (made by `npm install`).
//! The formats for Firefox and Chrome have no tool in a package; `src/export/tests.rs` checks their
//! shape.

#[path = "tools/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;

use canny_profile::analysis::{Filter, Measure, Weights};
use canny_profile::export;

use sample::sample_profile;

/// A file of this test run.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Says that a tool is missing, or fails if it must not be.
fn missing(tool: &str) {
    let is_required = std::env::var("CANNY_PROFILE_TOOLS").is_ok_and(|value| value == "required");
    assert!(!is_required, "{tool} is not installed");
    eprintln!("skipped: {tool} is not installed");
}

/// The output of a tool, or nothing if it is not there.
fn output(command: &mut Command) -> Option<String> {
    let Ok(output) = command.output() else {
        missing(&command.get_program().to_string_lossy());
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed:\n{text}\n{errors}"
    );
    assert!(!errors.contains("WARNING"), "{command:?}:\n{errors}");
    Some(text)
}

/// Looks in a tool's table for a line with the name and the other words in this order.
#[track_caller]
fn check(table: &str, name: &str, words: &[&str]) {
    let has_all = |line: &str| {
        let mut found = line.split_whitespace();
        words.iter().all(|word| found.any(|other| other == *word))
    };
    let mut lines = table.lines().filter(|line| line.contains(name));
    assert!(
        lines.any(has_all),
        "no line of `{name}` with {words:?} in\n{table}"
    );
}

#[test]
fn pprof_reads_its_format() {
    let path = file("sample.pb.gz", export::pprof(&sample_profile(), false));
    let top = |kind: &str| {
        let index = format!("-sample_index={kind}");
        output(
            Command::new("go")
                .args(["tool", "pprof", "-top", &index])
                .arg(&path),
        )
    };
    let Some(cpu) = top("cpu") else {
        return;
    };
    // Own time, its share, the sum of shares, total time and its share.
    check(&cpu, "Total samples = 100ms", &[]);
    check(
        &cpu,
        " fib",
        &["50ms", "50.00%", "50.00%", "60ms", "60.00%"],
    );
    check(&cpu, " main", &["5ms", "75ms", "75.00%"]);
    check(&cpu, " even", &["20ms", "20ms"]);
    check(&cpu, " odd", &["0", "20ms"]);
    check(&cpu, "a \"b\" 'c';(1) d\\", &["10ms"]);
    check(&cpu, "<e>&é→😀 9", &[]);
    check(&top("samples").unwrap(), " fib", &["3", "4"]);
    check(&top("alloc_space").unwrap(), " fib", &["2MB", "100%"]);
    check(&top("inuse_space").unwrap(), " fib", &["1MB", "100%"]);
    check(&top("waiting").unwrap(), " start-job", &["25ms", "100%"]);
    let tags = Command::new("go")
        .args(["tool", "pprof", "-tags"])
        .arg(&path)
        .output();
    let tags = String::from_utf8_lossy(&tags.unwrap().stdout).into_owned();
    check(&tags, "worker 1", &["80.0ms"]);
    check(&tags, "job; \"4\" (4)", &["20.0ms"]);
    check(&tags, "/a?b=\"c\"", &["20.0ms"]);
}

#[test]
fn callgrind_annotate_reads_its_format() {
    let profile = sample_profile();
    let weights = Weights::new(&profile, Measure::Cpu, &Filter::default());
    let path = file("sample.callgrind", export::callgrind(&weights));
    let annotate = |inclusive: &str| {
        let option = format!("--inclusive={inclusive}");
        output(Command::new("callgrind_annotate").arg(option).arg(&path))
    };
    let Some(own) = annotate("no") else {
        return;
    };
    check(&own, "PROGRAM TOTALS", &["100,000,000"]);
    check(&own, "dir/a b.scm:fib", &["50,000,000"]);
    check(&own, "dir/a b.scm:even", &["20,000,000"]);
    check(&own, "a \"b\" 'c';(1) d\\  <e>&é→😀 9", &["10,000,000"]);
    // Recursion counts once.
    let inclusive = annotate("yes").unwrap();
    check(&inclusive, "???:(root)", &["100,000,000"]);
    check(&inclusive, "dir/a b.scm:main", &["75,000,000"]);
    check(&inclusive, "dir/a b.scm:fib", &["60,000,000"]);
    check(&inclusive, "dir/a b.scm:even", &["20,000,000"]);
    check(&inclusive, "dir/a b.scm:odd", &["20,000,000"]);
}

#[test]
fn speedscope_accepts_its_format() {
    let path = file(
        "sample.speedscope.json",
        export::speedscope(&sample_profile(), true),
    );
    let Some(directory) = std::env::var_os("CANNY_PROFILE_NPM").map(PathBuf::from) else {
        return missing("CANNY_PROFILE_NPM, a directory of npm packages,");
    };
    let schema = directory.join("node_modules/speedscope/dist/release/file-format-schema.json");
    if !schema.exists() {
        return missing("the npm package speedscope");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/validate.js");
    let mut command = Command::new("node");
    if let Some(text) = output(command.arg(script).arg(directory).arg(schema).arg(path)) {
        assert_eq!(text, "valid\n");
    }
}

/// Leaves a file of each format in the target directory, to be opened by hand.
#[test]
fn every_format_is_written() {
    let profile = sample_profile();
    let weights = Weights::new(&profile, Measure::Cpu, &Filter::default());
    file("sample.collapsed", export::collapsed(&weights));
    file("sample.trace.json", export::chrome(&profile, true));
    file("sample.firefox.json", export::firefox(&profile, true));
    let bytes = canny_profile::file::write(Vec::new(), &profile).unwrap();
    file("sample.html", canny_profile::page::page(&bytes));
    file("sample.profile", bytes);
}
