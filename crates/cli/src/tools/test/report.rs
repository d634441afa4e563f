//! Reads the report of a suite from the file that `CANNY_TEST_REPORT` names: lines that
//! `(canny test report)` writes, each a datum. The last line may be cut off when the suite was
//! ended.

use std::time::Duration;

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;

/// One test and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The groups, outermost first.
    pub groups: Vec<String>,
    pub name: String,
    pub time: Duration,
    pub result: TestResult,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TestResult {
    Passed,
    /// It failed, and was expected to.
    ExpectedFailure,
    Skipped,
    Failed(Box<Failure>),
    /// It would have been run.
    Listed,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// File and line.
    pub place: Option<(String, u64)>,
    pub form: String,
    pub expected: String,
    pub actual: String,
    /// Lines that say where the two differ.
    pub differences: Vec<String>,
}

impl Test {
    /// Groups and name.
    pub fn title(&self) -> String {
        let mut words = self.groups.clone();
        words.push(self.name.clone());
        words.join(": ")
    }
}

/// The report of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub tests: Vec<Test>,
    /// Problems of the suite itself.
    pub problems: Vec<String>,
    /// Groups that were begun and not ended.
    pub open_groups: Vec<String>,
    /// Whether a test library was loaded.
    pub has_library: bool,
}

/// Reads the report of a suite.
pub fn read(bytes: &[u8]) -> Report {
    let mut report = Report::default();
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(&[][..], |end| &bytes[..=end]);
    let text = String::from_utf8_lossy(whole);
    let read = read_text(&text, SourceId::NONE, false);
    let mut is_damaged = read.has_errors();
    for form in &read.forms {
        is_damaged |= take(form, &mut report).is_none();
    }
    if is_damaged {
        let text = "a part of the suite's report cannot be read";
        report.problems.push(text.to_owned());
    }
    report
}

fn take(form: &Syntax, report: &mut Report) -> Option<()> {
    let elements = form.elements()?;
    let word = elements.first()?.as_identifier()?;
    let result = match word.name.as_str() {
        "suite" => {
            report.has_library = true;
            return Some(());
        }
        "open" => {
            report.open_groups.push(string(elements.get(1)?)?);
            return Some(());
        }
        "close" => {
            report.open_groups.pop();
            return Some(());
        }
        "problem" => {
            report.problems.push(string(elements.get(1)?)?);
            return Some(());
        }
        "pass" => TestResult::Passed,
        "xfail" => TestResult::ExpectedFailure,
        "skip" => TestResult::Skipped,
        "list" => TestResult::Listed,
        "fail" => TestResult::Failed(Box::new(Failure {
            place: place(elements.get(3)?),
            form: string(elements.get(4)?)?,
            expected: string(elements.get(5)?)?,
            actual: string(elements.get(6)?)?,
            differences: strings(elements.get(7)?)?,
        })),
        _ => return None,
    };
    let mut groups = strings(elements.get(1)?)?;
    let name = groups.pop()?;
    report.tests.push(Test {
        groups,
        name,
        time: Duration::from_micros(elements.get(2).and_then(number).unwrap_or_default()),
        result,
    });
    Some(())
}

fn place(form: &Syntax) -> Option<(String, u64)> {
    let elements = form.elements()?;
    Some((string(elements.first()?)?, number(elements.get(1)?)?))
}

fn string(form: &Syntax) -> Option<String> {
    match form.as_atom()? {
        Datum::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn strings(form: &Syntax) -> Option<Vec<String>> {
    form.elements()?.iter().map(string).collect()
}

fn number(form: &Syntax) -> Option<u64> {
    match form.as_atom()? {
        Datum::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_a_half_one_is_not() {
        let text = "(suite)\n(open \"g\")\n(pass (\"g\" \"a\") 12)\n\
            (fail (\"g\" \"b\\n\\x1;\") 3 (\"f.scm\" 7) \"(b)\" \"1\" \"2\" (\"- 1\" \"+ \
            2\"))\n(close)\n(skip (\"c\"))\n(pass (\"d";
        let report = read(text.as_bytes());
        assert!(report.has_library && report.open_groups.is_empty() && report.problems.is_empty());
        assert_eq!(report.tests.len(), 3);
        assert_eq!(report.tests[0].title(), "g: a");
        assert_eq!(report.tests[0].time, Duration::from_micros(12));
        assert_eq!(report.tests[1].name, "b\n\u{1}");
        let TestResult::Failed(failure) = &report.tests[1].result else {
            panic!("{report:?}")
        };
        assert_eq!(failure.place, Some(("f.scm".to_owned(), 7)));
        assert_eq!(failure.differences, ["- 1", "+ 2"]);
        assert_eq!(report.tests[2].result, TestResult::Skipped);
    }

    #[test]
    fn what_is_open_and_what_is_damaged_is_told() {
        let report = read(b"(open \"g\")\n(open \"h\")\n(close)\n");
        assert_eq!(report.open_groups, ["g"]);
        for text in [
            "(pass)\n",
            ")\n",
            "(other 1)\n",
            "(pass (1) 2)\n",
            "\u{1}\n",
        ] {
            assert_eq!(read(text.as_bytes()).problems.len(), 1, "{text}");
        }
        assert_eq!(read(b""), Report::default());
        assert_eq!(read(b"(pass"), Report::default());
    }
}
