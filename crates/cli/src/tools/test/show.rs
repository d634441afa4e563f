//! Prints test results for people: a line or more for each suite, a progress line and the summary.
//!
//! Output of programs is cut and has no control characters, so that a test cannot change the
//! terminal. Colours are used only where the caller says so.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::report::{Failure, Test, TestResult};
use super::suite::Outcome;

/// Lines of a suite's output that are shown at most.
const OUTPUT_LINES_MAX: usize = 60;

/// How results are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub is_coloured: bool,
    /// Every test has its line.
    pub is_verbose: bool,
}

impl Style {
    pub fn new(is_verbose: bool) -> Style {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            is_coloured: !no_colour && std::io::stdout().is_terminal(),
            is_verbose,
        }
    }

    fn paint(self, colour: &str, text: &str) -> String {
        if self.is_coloured {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn weak(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A line of a difference by its first character.
    fn difference(self, line: &str) -> String {
        match line.as_bytes() {
            [b'-', b' ', ..] => self.good(line),
            [b'+', b' ', ..] => self.bad(line),
            [b'a', b't', b' ', ..] => self.paint("36", line),
            _ => line.to_owned(),
        }
    }
}

/// A text without characters that a terminal takes as commands.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' => {}
            control if control.is_control() => {
                let _ = write!(out, "\\x{:x};", control as u32);
            }
            other => out.push(other),
        }
    }
    out
}

pub fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// The text about a suite.
pub fn outcome(outcome: &Outcome, style: Style) -> String {
    let file = harmless(&outcome.file.display().to_string());
    let (failures, passed) = (outcome.failures(), outcome.passed());
    let problems = outcome.problems();
    let mut counts = match (failures, passed) {
        (0, 0) => "no tests".to_owned(),
        (0, passed) => counted(passed, "test"),
        (failures, passed) => format!(
            "{failures} of {} failed",
            counted(failures + passed, "test")
        ),
    };
    if outcome.skipped() > 0 {
        let _ = write!(counts, ", {} skipped", outcome.skipped());
    }
    let word = if outcome.is_wrong() {
        style.bad("FAIL")
    } else {
        style.good("ok  ")
    };
    let mut text = format!(
        "{word}  {file}  {}\n",
        style.weak(&format!("{counts}, {}", seconds(outcome.time)))
    );
    for test in &outcome.report.tests {
        match &test.result {
            TestResult::Failed(found) => failure(&mut text, test, found, style),
            _ if style.is_verbose => passed_test(&mut text, test, style),
            _ => {}
        }
    }
    for problem in &problems {
        let _ = writeln!(text, "    {}", style.bad(&harmless(problem)));
    }
    if outcome.is_wrong() {
        output(&mut text, &outcome.output, style);
    }
    text
}

fn passed_test(text: &mut String, test: &Test, style: Style) {
    let word = match test.result {
        TestResult::Skipped => "skipped",
        TestResult::ExpectedFailure => "failed as expected",
        _ => "ok",
    };
    let _ = writeln!(
        text,
        "    {}: {word}  {}",
        one_line(&test.title()),
        style.weak(&seconds(test.time))
    );
}

/// A name may have line breaks.
fn one_line(text: &str) -> String {
    harmless(&text.replace('\n', " "))
}

fn indented(text: &mut String, first: &str, rest: &str, lines: &str) {
    for (at, line) in harmless(lines).lines().enumerate() {
        let _ = writeln!(text, "{}{line}", if at == 0 { first } else { rest });
    }
}

fn failure(text: &mut String, test: &Test, failure: &Failure, style: Style) {
    let place = match &failure.place {
        Some((file, line)) => format!("{}:{line}: ", one_line(file)),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "    {place}{}",
        style.paint("1", &one_line(&test.title()))
    );
    if failure.form != test.name {
        indented(text, "      ", "      ", &failure.form);
    }
    indented(
        text,
        "      expected  ",
        "                ",
        &failure.expected,
    );
    indented(
        text,
        "      actual    ",
        "                ",
        &failure.actual,
    );
    for line in &failure.differences {
        let _ = writeln!(text, "        {}", style.difference(&harmless(line)));
    }
}

/// Adds the output of a suite; only its end if it is long.
fn output(text: &mut String, output: &str, style: Style) {
    let output = harmless(output);
    let lines: Vec<&str> = output.trim_end().lines().collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "    {}", style.weak("output"));
    let left_out = lines.len().saturating_sub(OUTPUT_LINES_MAX);
    if left_out > 0 {
        let _ = writeln!(text, "    | ... {left_out} lines left out ...");
    }
    for line in &lines[left_out..] {
        let _ = writeln!(text, "    | {line}");
    }
}

/// Numbers over all suites.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    pub files: usize,
    pub wrong_files: usize,
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Suites that were not run because the run was stopped.
    pub not_run: usize,
}

impl Total {
    pub fn add(&mut self, outcome: &Outcome) {
        self.files += 1;
        self.wrong_files += usize::from(outcome.is_wrong());
        self.passed += outcome.passed();
        self.failed += outcome.failures();
        self.skipped += outcome.skipped();
    }
}

pub fn summary(total: &Total, time: Duration, style: Style) -> String {
    let mut parts = vec![format!("{} passed", total.passed)];
    if total.failed > 0 {
        parts.push(style.bad(&format!("{} failed", total.failed)));
    }
    if total.skipped > 0 {
        parts.push(format!("{} skipped", total.skipped));
    }
    let mut files = counted(total.files, "file");
    if total.wrong_files > 0 {
        files = format!("{files}, of which {} failed", total.wrong_files);
    }
    if total.not_run > 0 {
        files = format!("{files}; {} not run", counted(total.not_run, "file"));
    }
    format!("\n{} in {files} ({})\n", parts.join(", "), seconds(time))
}

/// The line on a terminal that tells how far the run is.
pub struct Progress {
    is_on: bool,
}

impl Progress {
    pub fn new(is_wanted: bool) -> Progress {
        Progress {
            is_on: is_wanted && std::io::stderr().is_terminal() && std::io::stdout().is_terminal(),
        }
    }

    pub fn show(&self, done: usize, all: usize, total: &Total) {
        if self.is_on {
            let failed = match total.failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            let line = format!(
                "\r\x1b[K{done} of {}, {} passed{failed}",
                counted(all, "file"),
                total.passed
            );
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    pub fn clear(&self) {
        if self.is_on {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\r\n\tc\u{9b}"), "a\\x1b;[2Jb\n\tc\\x9b;");
        assert_eq!(one_line("a\nb"), "a b");
    }
}
