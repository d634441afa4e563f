//! `cargo xtask conformance`: suites that others wrote, run with our binary.
//!
//! The suites are read from where the caller keeps them; nothing of them is in this repository. Every
//! assertion that fails, and every program of a suite that does not run to its end, is listed with a
//! reason in `xtask/conformance/expected.txt`; one that is listed and passes is a failure too.

mod expected;
mod suites;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arguments::Arguments;
use crate::process::Run;
use crate::workspace::{self, Profile};

use expected::Expected;
use suites::Job;

const HELP: &str = "\
usage: cargo xtask conformance [OPTION…]

  --suite PATH    a suite, recognized by what it contains; may be given several times
  --chibi PATH    a copy of chibi-scheme: its R7RS, R5RS, division, basic and library tests
  --larceny PATH  a copy of larceny, for test/R7RS/Lib
  --numbers PATH  a copy of parse-number-fxx-test-data
  --json PATH     a copy of JSONTestSuite
  --unicode PATH  test files of the Unicode Character Database, version 17, unpacked
  --only TEXT     only programs whose name contains TEXT
  --verbose       print every failing assertion, also the expected ones
  --timeout N     seconds for one program (300)
  --canny PATH    the binary to test; without it, cargo builds a release binary
";

const EXPECTED: &str = "xtask/conformance/expected.txt";

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let verbose = arguments.flag("--verbose");
    let only = arguments.option("--only")?;
    let time_limit = Duration::from_secs(arguments.number("--timeout", 300)?);
    let scratch = workspace::scratch_directory("conformance")?;
    let mut jobs = Vec::new();
    for option in [
        "--suite",
        "--chibi",
        "--larceny",
        "--numbers",
        "--json",
        "--unicode",
    ] {
        while let Some(path) = arguments.first_path(option)? {
            jobs.extend(suites::jobs(&path, &scratch)?);
        }
    }
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    if jobs.is_empty() {
        return Err("no suite was given; see --help".to_owned());
    }
    if let Some(text) = only {
        jobs.retain(|job| job.name.contains(&text));
    }
    let root = workspace::root();
    let mut expected = Expected::parse(&workspace::read(&root.join(EXPECTED))?)?;
    let mut tally = Tally::default();
    for job in &jobs {
        run_job(
            job,
            &canny,
            &scratch,
            time_limit,
            &mut expected,
            verbose,
            &mut tally,
        )?;
    }
    println!(
        "conformance: {} programs; {} assertions passed, {} failed ({} of them expected); \
         {} programs do not run ({} of them expected)",
        jobs.len(),
        tally.passed,
        tally.failed,
        tally.failed_as_expected,
        tally.stopped,
        tally.stopped_as_expected
    );
    match tally.surprises {
        0 => Ok(()),
        count => Err(format!(
            "{count} surprises; {EXPECTED} lists what is expected"
        )),
    }
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    failed_as_expected: usize,
    stopped: usize,
    stopped_as_expected: usize,
    surprises: usize,
}

fn run_job(
    job: &Job,
    canny: &Path,
    scratch: &Path,
    time_limit: Duration,
    expected: &mut Expected,
    verbose: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut command = std::process::Command::new(canny);
    for directory in &job.library_directories {
        command.arg("-A").arg(directory);
    }
    command
        .arg("--no-warnings")
        .arg(&job.program)
        .args(&job.arguments)
        .current_dir(&job.directory)
        .env("CANNY_CACHE_DIR", scratch.join("cache"));
    let capture = scratch.join("capture");
    let outcome = Run {
        command,
        input: None,
        capture,
        time_limit,
    }
    .run()?;
    let verdict = verdict::read(job.format, &outcome, job.reference.as_deref());
    tally.passed += verdict.passed;
    tally.failed += verdict.failures.len();
    let mut surprises = Vec::new();
    for failure in &verdict.failures {
        let listed = expected.failure(&job.name, failure);
        tally.failed_as_expected += usize::from(listed);
        if !listed {
            surprises.push(format!("  fails: {failure}"));
        } else if verbose {
            println!("  fails as expected: {failure}");
        }
    }
    if !verdict.finished {
        let listed = expected.stop(&job.name);
        tally.stopped += 1;
        tally.stopped_as_expected += usize::from(listed);
        if !listed {
            surprises.push(format!(
                "  does not run to its end: {}; {}",
                outcome.ending(),
                outcome.complaint()
            ));
        }
    }
    // A program that stopped early did not come to all of its assertions.
    for entry in expected.unmet(&job.name, verdict.finished) {
        surprises.push(format!("  unexpectedly passes: {entry}"));
    }
    let state = if verdict.finished { "" } else { ", stopped" };
    println!(
        "{}: {} passed, {} failed{state}",
        job.name,
        verdict.passed,
        verdict.failures.len()
    );
    tally.surprises += surprises.len();
    for surprise in surprises {
        println!("{surprise}");
    }
    Ok(())
}

/// Joins paths that are known to exist from here on.
fn below(base: &Path, parts: &str) -> PathBuf {
    base.join(parts)
}
