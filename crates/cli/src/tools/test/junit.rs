//! Writes test results as JUnit XML, which continuous integration services read.
//!
//! A suite that ended abnormally has one case more, an error, so that no service takes it for
//! passed. Text is escaped; characters that XML does not have are written in Scheme's syntax.

use std::fmt::Write;
use std::time::Duration;

use super::report::TestResult;
use super::suite::Outcome;

/// A text inside of XML. Characters that XML cannot have are written as Scheme writes them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\x{:x};", character as u32);
            }
            control if control.is_control() => {
                let _ = write!(out, "\\x{:x};", control as u32);
            }
            other => out.push(other),
        }
    }
    out
}

fn seconds(time: Duration) -> String {
    format!("{:.6}", time.as_secs_f64())
}

/// The whole document.
pub fn document(outcomes: &[Outcome], time: Duration) -> String {
    let count = |of: &dyn Fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"canny\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">",
        count(&|one| cases(one)),
        count(&Outcome::failures),
        count(&errors),
        seconds(time)
    );
    for outcome in outcomes {
        suite(&mut out, outcome);
    }
    out.push_str("</testsuites>\n");
    out
}

fn errors(outcome: &Outcome) -> usize {
    usize::from(!outcome.problems().is_empty())
}

/// A suite with a problem has one case more.
fn cases(outcome: &Outcome) -> usize {
    outcome.report.tests.len() + errors(outcome)
}

fn suite(out: &mut String, outcome: &Outcome) {
    let name = escaped(&outcome.file.display().to_string());
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        cases(outcome),
        outcome.failures(),
        errors(outcome),
        outcome.skipped(),
        seconds(outcome.time)
    );
    for test in &outcome.report.tests {
        let class = if test.groups.is_empty() {
            name.clone()
        } else {
            format!("{name}: {}", escaped(&test.groups.join(": ")))
        };
        let _ = write!(
            out,
            "    <testcase classname=\"{class}\" name=\"{}\" time=\"{}\"",
            escaped(&test.name),
            seconds(test.time)
        );
        match &test.result {
            TestResult::Passed | TestResult::ExpectedFailure | TestResult::Listed => {
                out.push_str("/>\n");
            }
            TestResult::Skipped => out.push_str("><skipped/></testcase>\n"),
            TestResult::Failed(failure) => {
                let place = match &failure.place {
                    Some((file, line)) => format!("{file}:{line}\n"),
                    None => String::new(),
                };
                let text = format!(
                    "{place}{}\nexpected  {}\nactual    {}\n{}",
                    failure.form,
                    failure.expected,
                    failure.actual,
                    failure.differences.join("\n")
                );
                let _ = writeln!(
                    out,
                    "><failure message=\"expected {}, not {}\">{}</failure></testcase>",
                    escaped(&failure.expected),
                    escaped(&failure.actual),
                    escaped(&text)
                );
            }
        }
    }
    let problems = outcome.problems();
    if !problems.is_empty() {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{name}\" name=\"{name}\" time=\"0\"><error \
             message=\"{}\"/></testcase>",
            escaped(&problems.join("; "))
        );
    }
    if outcome.is_wrong() && !outcome.output.is_empty() {
        let _ = writeln!(
            out,
            "    <system-out>{}</system-out>",
            escaped(&outcome.output)
        );
    }
    out.push_str("  </testsuite>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(
            escaped("<a b=\"&\">\n\x01\x1b\u{ffff}é"),
            "&lt;a b=&quot;&amp;&quot;&gt;&#10;\\x1;\\x1b;\\xffff;é"
        );
    }
}
