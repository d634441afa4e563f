//! `canny test`: finds suites, runs them side by side, and tells what they found.
//!
//! Each suite is a program in a process of its own ([`suite`]); the test libraries tell their results
//! through a file ([`report`]). So a suite that crashes or hangs is a result like another, and what it
//! had told before is kept.

mod find;
mod junit;
mod leaks;
mod report;
pub mod show;
mod suite;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lexopt::{Arg, Parser, ValueExt};

use super::table::{LIBRARY_OPTIONS, Row, joined};
use super::{Tool, files};
use crate::coverage::{self, CoverageOptions};
use crate::environment::Environment;
use crate::exit_code;
use crate::interrupts;
use crate::json::Object;
use crate::options::Options;
pub use leaks::look as look_for_leaks;
use report::{Test, TestResult};
use show::{Progress, Style, Total};
use suite::{Outcome, Setting};

const OWN_OPTIONS: &[Row] = &[
    (
        "--filter TEXT",
        "run the tests with TEXT in their name, FILE: GROUP: NAME; may be given several times",
    ),
    ("--list", "name the tests and run none"),
    (
        "--watch",
        "run again what a changed file affects, until Ctrl-C",
    ),
    (
        "--jobs N",
        "run N files at a time; as many as there are processors unless given",
    ),
    (
        "--timeout SECONDS",
        "end a file that takes longer; 60 unless given, 0 for no limit",
    ),
    ("--fail-fast", "stop at the first file that fails"),
    (
        "--format text|json",
        "write results for people, or as JSON, one object on each line",
    ),
    (
        "--leaks",
        "load each file eleven times more, and fail if objects are left behind",
    ),
    ("--junit FILE", "write results to FILE too, as JUnit XML"),
    ("-v, --verbose", "name the tests that pass, too"),
    (
        "--heap-limit N",
        "let each file use at most N bytes of heap",
    ),
];

const TEST_OPTIONS: &[Row] =
    &joined::<{ OWN_OPTIONS.len() + coverage::ROWS.len() }>(OWN_OPTIONS, coverage::ROWS);

const OPTIONS: &[Row] =
    &joined::<{ LIBRARY_OPTIONS.len() + TEST_OPTIONS.len() }>(LIBRARY_OPTIONS, TEST_OPTIONS);

pub const TOOL: Tool = Tool {
    name: "test",
    operands: "[OPTION…] [FILE|DIRECTORY…]",
    summary: "Runs test suites side by side and tells what failed",
    options: OPTIONS,
    details: "Below a directory, the current one unless given, a program is a suite if it is in a directory \
        'test'\n\
              or 'tests', if it is NAME-test.scm or NAME.test.scm, or if it imports (canny test), (srfi 64) \
              or (srfi 78).\n\
              Each runs in a process of its own. Its output is shown if it fails. Exit code 1: something \
              failed;\n\
              66: nothing was found, or a place cannot be read.",
    run,
};

/// The options and operands of the command line.
struct Wishes {
    options: Options,
    heap_limit: Option<OsString>,
    places: Vec<PathBuf>,
    filters: Vec<String>,
    lists: bool,
    watches: bool,
    jobs: usize,
    time_limit: Option<Duration>,
    fails_fast: bool,
    is_json: bool,
    junit: Option<PathBuf>,
    is_verbose: bool,
    coverage: Option<CoverageOptions>,
    looks_for_leaks: bool,
}

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let wishes = parse(parser, environment)?;
    let stop = interrupts::stop_flag()?;
    let directory = match files::TemporaryDirectory::new("canny-test") {
        Ok(directory) => directory,
        Err(error) => {
            eprintln!("canny test: cannot make a directory for reports: {error}");
            return Ok(exit_code::OS);
        }
    };
    let setting = wishes.setting(directory.path.clone());
    if wishes.watches {
        return Ok(watch::run(&wishes, &setting, &stop));
    }
    let found = find::suites(&wishes.places);
    for problem in &found.problems {
        eprintln!("canny test: {problem}");
    }
    if found.suites.is_empty() && found.problems.is_empty() {
        eprintln!("canny test: there are no suites here; 'canny test --help' tells what is one");
        return Ok(exit_code::NO_INPUT);
    }
    let code = round(&wishes, &setting, &found.suites, &stop);
    let code = match wishes.show_coverage(&setting, &found.suites) {
        Ok(least) if code == 0 => least,
        Ok(_) => code,
        Err(message) => {
            eprintln!("canny test: {message}");
            exit_code::OS
        }
    };
    Ok(match code {
        0 if !found.problems.is_empty() => exit_code::NO_INPUT,
        code => code,
    })
}

fn parse(mut parser: Parser, environment: &'static Environment) -> Result<Wishes, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut wishes = Wishes {
        options: Options::new(environment),
        heap_limit: None,
        places: Vec::new(),
        filters: Vec::new(),
        lists: false,
        watches: false,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        time_limit: Some(Duration::from_secs(60)),
        fails_fast: false,
        is_json: false,
        junit: None,
        is_verbose: false,
        coverage: None,
        looks_for_leaks: false,
    };
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short(option @ ('A' | 'I' | 'D')) => {
                wishes.options.take_library_option(option, &mut parser)?;
            }
            Arg::Long("replace") => wishes.options.take_replaced(&mut parser)?,
            Arg::Long("no-project") => wishes.options.uses_project = false,
            Arg::Long("filter") => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                if text.is_empty() || text.contains('\n') {
                    return Err("--filter wants a text without line breaks".to_owned());
                }
                wishes.filters.push(text);
            }
            Arg::Long("list") => wishes.lists = true,
            Arg::Long("watch") => wishes.watches = true,
            Arg::Long("jobs") => {
                let text = parser
                    .value()
                    .map_err(text_of)?
                    .to_string_lossy()
                    .into_owned();
                wishes.jobs = text
                    .parse()
                    .ok()
                    .filter(|jobs| (1..=1024).contains(jobs))
                    .ok_or_else(|| format!("--jobs wants a number from 1 to 1024, not '{text}'"))?;
            }
            Arg::Long("timeout") => {
                let text = parser
                    .value()
                    .map_err(text_of)?
                    .to_string_lossy()
                    .into_owned();
                let seconds: f64 = text
                    .parse()
                    .ok()
                    .filter(|seconds| (0.0..1e6).contains(seconds))
                    .ok_or_else(|| format!("--timeout wants a number of seconds, not '{text}'"))?;
                wishes.time_limit = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
            }
            Arg::Long("leaks") => wishes.looks_for_leaks = true,
            Arg::Long("fail-fast") => wishes.fails_fast = true,
            Arg::Long("format") => {
                wishes.is_json = match parser.value().map_err(text_of)?.to_str() {
                    Some("text") => false,
                    Some("json") => true,
                    _ => return Err("--format wants 'text' or 'json'".to_owned()),
                };
            }
            Arg::Long("junit") => wishes.junit = Some(parser.value().map_err(text_of)?.into()),
            Arg::Short('v') | Arg::Long("verbose") => wishes.is_verbose = true,
            Arg::Long("heap-limit") => {
                let value = parser.value().map_err(text_of)?;
                crate::options::size("--heap-limit", value.clone())?;
                wishes.heap_limit = Some(value);
            }
            Arg::Long(option) if option.starts_with("coverage") => {
                let option = option.to_owned();
                if !CoverageOptions::take(&mut wishes.coverage, &option, &mut parser)? {
                    return Err(Arg::Long(&option).unexpected().to_string());
                }
            }
            Arg::Value(place) => wishes.places.push(place.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if wishes.lists && wishes.watches {
        return Err("--list and --watch do not go together".to_owned());
    }
    if wishes.coverage.is_some() && (wishes.lists || wishes.watches) {
        return Err("--coverage goes with neither --list nor --watch".to_owned());
    }
    if wishes.looks_for_leaks && wishes.lists {
        return Err("--leaks and --list do not go together".to_owned());
    }
    if wishes.places.is_empty() {
        wishes.places.push(PathBuf::from("."));
    }
    Ok(wishes)
}

impl Wishes {
    fn setting(&self, directory: PathBuf) -> Setting {
        let mut options = self.options.library_words();
        if let Some(limit) = &self.heap_limit {
            options.extend(["--heap-limit".into(), limit.clone()]);
        }
        Setting {
            options,
            filter: self.filters.join("\n"),
            lists: self.lists,
            time_limit: self.time_limit,
            looks_for_leaks: self.looks_for_leaks,
            coverage: self.coverage.as_ref().map(|_| directory.join("coverage")),
            directory,
        }
    }
}

impl Wishes {
    /// Shows which parts of the project's files the suites ran; gives an exit code. The suites
    /// themselves are left out.
    fn show_coverage(&self, setting: &Setting, suites: &[PathBuf]) -> Result<u8, String> {
        let (Some(wish), Some(directory)) = (&self.coverage, &setting.coverage) else {
            return Ok(0);
        };
        let mut coverage = if directory.exists() {
            coverage::sum_of(directory)?
        } else {
            Default::default()
        };
        let root = coverage::root()?;
        let suites: Vec<PathBuf> = suites
            .iter()
            .filter_map(|suite| std::fs::canonicalize(suite).ok())
            .collect();
        coverage.retain(|path| {
            coverage::is_of_project(path, &root, files::is_skipped)
                && !suites.iter().any(|suite| suite == path)
        });
        coverage::show(&coverage, &root, wish)
    }
}

/// Runs these suites and tells the results; gives the exit code.
fn round(wishes: &Wishes, setting: &Setting, suites: &[PathBuf], interrupted: &AtomicBool) -> u8 {
    let start = Instant::now();
    let stop = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let style = Style::new(wishes.is_verbose);
    let progress = Progress::new(!wishes.is_json && !wishes.lists);
    let mut total = Total::default();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..wishes.jobs.min(suites.len()) {
            let (sender, stop, next) = (sender.clone(), &stop, &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = suites.get(number) else {
                        break;
                    };
                    if stop.load(Ordering::Relaxed)
                        || sender
                            .send(suite::run(file, number, setting, stop))
                            .is_err()
                    {
                        break;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(outcome) => {
                    if outcome.end == suite::End::Stopped {
                        continue;
                    }
                    progress.clear();
                    total.add(&outcome);
                    if outcome.is_wrong() && wishes.fails_fast {
                        stop.store(true, Ordering::Relaxed);
                    }
                    crate::print_all(&wishes.shown(&outcome, style));
                    outcomes.push(outcome);
                    progress.show(outcomes.len(), suites.len(), &total);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if interrupted.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    progress.clear();
    total.not_run = suites.len() - outcomes.len();
    let time = start.elapsed();
    crate::print_all(&wishes.summary(&total, time, style));
    if let Some(path) = &wishes.junit {
        outcomes.sort_by(|one, other| one.file.cmp(&other.file));
        let document = junit::document(&outcomes, time);
        if let Err(error) = files::write(path, document.as_bytes()) {
            eprintln!("canny test: cannot write {}: {error}", path.display());
            return exit_code::OS;
        }
    }
    if interrupted.load(Ordering::Relaxed) {
        return exit_code::INTERRUPTED;
    }
    let tests: usize = outcomes.iter().map(|one| one.report.tests.len()).sum();
    if tests == 0 && !wishes.filters.is_empty() && total.wrong_files == 0 {
        eprintln!(
            "canny test: no test has a name with {}",
            wishes.filters.join(" or ")
        );
        return 1;
    }
    u8::from(total.wrong_files > 0)
}

impl Wishes {
    /// The text that is printed about a suite.
    fn shown(&self, outcome: &Outcome, style: Style) -> String {
        if self.is_json {
            return events(outcome, self.lists);
        }
        if self.lists {
            let file = show::harmless(&outcome.file.display().to_string());
            let tests = outcome.report.tests.iter();
            let mut text: String = tests
                .map(|test| {
                    format!(
                        "{file}: {}\n",
                        show::harmless(&test.title().replace('\n', " "))
                    )
                })
                .collect();
            if outcome.is_wrong() {
                text.push_str(&show::outcome(outcome, style));
            }
            return text;
        }
        // With a filter, files without a test of that name are of no interest.
        if outcome.report.tests.is_empty() && !self.filters.is_empty() && !outcome.is_wrong() {
            return String::new();
        }
        show::outcome(outcome, style)
    }

    fn summary(&self, total: &Total, time: Duration, style: Style) -> String {
        if self.is_json {
            let mut object = Object::new();
            object.string("event", "summary");
            for (name, number) in [
                ("files", total.files),
                ("failed_files", total.wrong_files),
                ("files_not_run", total.not_run),
                ("passed", total.passed),
                ("failed", total.failed),
                ("skipped", total.skipped),
            ] {
                object.json(name, &number.to_string());
            }
            object.json("seconds", &format!("{:.6}", time.as_secs_f64()));
            return object.finish() + "\n";
        }
        if self.lists && total.wrong_files == 0 {
            return String::new();
        }
        show::summary(total, time, style)
    }
}

/// The results of a suite as JSON: a line for each test, then one for the file.
fn events(outcome: &Outcome, lists: bool) -> String {
    let file = outcome.file.display().to_string();
    let mut text = String::new();
    for test in &outcome.report.tests {
        text.push_str(&event(&file, test));
        text.push('\n');
    }
    let mut object = Object::new();
    object.string("event", "file");
    object.string("file", &file);
    if !lists {
        object.string(
            "result",
            if outcome.is_wrong() {
                "failed"
            } else {
                "passed"
            },
        );
    }
    object.json("passed", &outcome.passed().to_string());
    object.json("failed", &outcome.failures().to_string());
    object.json("skipped", &outcome.skipped().to_string());
    let problems = outcome.problems();
    object.array(
        "problems",
        problems.iter().map(|problem| crate::json::string(problem)),
    );
    object.json("seconds", &format!("{:.6}", outcome.time.as_secs_f64()));
    if outcome.is_wrong() {
        object.string("output", &outcome.output);
    }
    text.push_str(&object.finish());
    text.push('\n');
    text
}

fn event(file: &str, test: &Test) -> String {
    let mut object = Object::new();
    object.string("event", "test");
    object.string("file", file);
    object.array(
        "groups",
        test.groups.iter().map(|group| crate::json::string(group)),
    );
    object.string("name", &test.name);
    let result = match &test.result {
        TestResult::Passed => "passed",
        TestResult::ExpectedFailure => "expected-failure",
        TestResult::Skipped => "skipped",
        TestResult::Failed(_) => "failed",
        TestResult::Listed => "listed",
    };
    object.string("result", result);
    object.json("microseconds", &test.time.as_micros().to_string());
    if let TestResult::Failed(failure) = &test.result {
        if let Some((place, line)) = &failure.place {
            object.string("source", place);
            object.json("line", &line.to_string());
        }
        object.string("expression", &failure.form);
        object.string("expected", &failure.expected);
        object.string("actual", &failure.actual);
        let lines = failure.differences.iter();
        object.array("differences", lines.map(|line| crate::json::string(line)));
    }
    object.finish()
}

/// Directories that a suite's libraries are searched in.
fn directories(wishes: &Wishes, file: &Path) -> Vec<PathBuf> {
    crate::session::directories(&wishes.options, Some(file))
}
