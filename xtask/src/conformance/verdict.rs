//! Reads the output of a suite's program: how many assertions passed, and which failed.
//!
//! A program that does not print its final count has not finished, whatever passed before. Failures
//! keep the suite's own words and order.

use crate::process::Outcome;

/// How a suite reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `FAIL …` lines and a last `NAME: N passed, M failed` or `N passed, M failed`: our libraries
    /// `(chibi test)` and `(canny test)`.
    Counted,
    /// `N. EXPRESSION ..... [PASS]`: chibi's R5RS tests.
    Marked,
    /// `Expression:` blocks and `N tests passed` or `M of N tests failed.`: larceny.
    Larceny,
    /// The output equals a reference: chibi's basic tests.
    Reference,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub passed: usize,
    /// The assertions as printed, in order.
    pub failures: Vec<String>,
    /// The program ran to its end; a failed assertion does not count as stopping.
    pub finished: bool,
}

pub fn read(format: Format, outcome: &Outcome, reference: Option<&str>) -> Verdict {
    let output = outcome.output_text();
    let mut verdict = match format {
        Format::Counted => counted(&output),
        Format::Marked => marked(&output),
        Format::Larceny => larceny(&output),
        Format::Reference => compared(&output, reference.unwrap_or_default()),
    };
    // The test libraries leave with 1 after a failed assertion.
    let failed_only = outcome.code == Some(1) && !verdict.failures.is_empty();
    verdict.finished &= !outcome.timed_out && (outcome.code == Some(0) || failed_only);
    verdict
}

fn counted(output: &str) -> Verdict {
    let failures = output
        .lines()
        .filter_map(|line| line.strip_prefix("FAIL "))
        .map(str::to_owned)
        .collect();
    let summary = output.lines().rev().find_map(|line| {
        let counts = line.rsplit(": ").next()?.strip_suffix(" failed")?;
        let (passed, failed) = counts.split_once(" passed, ")?;
        Some((passed.parse().ok()?, failed.parse::<usize>().ok()?))
    });
    match summary {
        Some((passed, _)) => Verdict {
            passed,
            failures,
            finished: true,
        },
        None => Verdict {
            passed: 0,
            failures,
            finished: false,
        },
    }
}

fn marked(output: &str) -> Verdict {
    let mut verdict = Verdict::default();
    for line in output.lines() {
        if line.ends_with("[PASS]") {
            verdict.passed += 1;
        } else if let Some(line) = line.strip_suffix("[FAIL]") {
            let line = line.trim_end_matches([' ', '.']);
            let assertion = line
                .split_once(". ")
                .map_or(line, |(_, assertion)| assertion);
            verdict.failures.push(assertion.to_owned());
        } else if line.contains(" out of ") && line.contains(" passed (") {
            verdict.finished = true;
        }
    }
    verdict
}

fn larceny(output: &str) -> Verdict {
    let mut verdict = Verdict::default();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if line == "Expression:" {
            let assertion = lines.next().unwrap_or_default().trim();
            verdict.failures.push(assertion.to_owned());
        } else if let Some(count) = line.strip_suffix(" tests passed") {
            verdict.passed = count.parse().unwrap_or(0);
            verdict.finished = true;
        } else if let Some((failed, rest)) = line.split_once(" of ")
            && let Some(count) = rest.strip_suffix(" tests failed.")
        {
            let failed: usize = failed.parse().unwrap_or(0);
            verdict.passed = count.parse::<usize>().unwrap_or(0).saturating_sub(failed);
            verdict.finished = true;
        }
    }
    verdict
}

fn compared(output: &str, reference: &str) -> Verdict {
    let same = output.trim_end() == reference.trim_end();
    Verdict {
        passed: usize::from(same),
        failures: if same {
            Vec::new()
        } else {
            vec!["its output".to_owned()]
        },
        finished: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_reports() {
        let verdict = counted("FAIL g: (f 1)\n  expected 1\nR7RS: 10 passed, 1 failed\n");
        assert_eq!(verdict.passed, 10);
        assert_eq!(verdict.failures, ["g: (f 1)"]);
        assert!(verdict.finished);
        assert!(counted("3 passed, 0 failed\n").finished);
        assert!(!counted("half way\n").finished);
    }

    #[test]
    fn marked_reports() {
        let output = "1. (f) ......... [PASS]\n2. (g 1) .. [FAIL]\n  expected 1\n\
                      1 out of 2 passed (50%)\n";
        let verdict = marked(output);
        assert_eq!((verdict.passed, verdict.finished), (1, true));
        assert_eq!(verdict.failures, ["(g 1)"]);
    }

    #[test]
    fn reports_of_larceny() {
        let verdict = larceny(
            "Running\n1 tests failed:\n\nExpression:\n (f 1)\nResult:\n 1\n\n\
                               1 of 20 tests failed.\n",
        );
        assert_eq!((verdict.passed, verdict.finished), (19, true));
        assert_eq!(verdict.failures, ["(f 1)"]);
        assert_eq!(larceny("5 tests passed\n").passed, 5);
    }
}
