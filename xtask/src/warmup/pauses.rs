//! Reads from the report of `--spesh-report` how long a program waited for the specializer.
//!
//! The report's table is text for people: this parser and the report's title have to agree, and a
//! line that it does not understand is an error.

use std::time::Duration;

const TITLE: &str = "The program waited for the specializer";

/// The longest time that a program was blocked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pauses {
    /// By the clock: the system may have run somebody else meanwhile.
    pub longest: Duration,
    /// For what.
    pub cause: String,
    /// Most processor time of one pause, of those kinds for which it is asked.
    pub longest_processor: Duration,
    pub total: Duration,
}

impl Pauses {
    /// Nothing was waited for if the report has no such table.
    pub fn parse(report: &str) -> Result<Pauses, String> {
        let mut pauses = Pauses::default();
        let mut lines = report.lines().skip_while(|line| *line != TITLE);
        if lines.next().is_none() {
            return if report.contains("Specializer report") {
                Ok(pauses)
            } else {
                Err("it printed no report".to_owned())
            };
        }
        for line in lines.skip(1).take_while(|line| line.starts_with("  ")) {
            let row = Row::parse(line).ok_or_else(|| format!("`{line}` is no pause"))?;
            pauses.total += row.total;
            pauses.longest_processor = pauses.longest_processor.max(row.longest_processor);
            if row.longest > pauses.longest {
                pauses.longest = row.longest;
                pauses.cause = row.cause;
            }
        }
        Ok(pauses)
    }
}

struct Row {
    cause: String,
    total: Duration,
    longest: Duration,
    longest_processor: Duration,
}

impl Row {
    /// `handing logs over   1  2.36 ms  2.36 ms  70.8 us`; the last column may be empty.
    fn parse(line: &str) -> Option<Row> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = words.iter().position(|word| word.parse::<u64>().is_ok())?;
        let mut times = words[count + 1..].chunks(2).map(duration);
        Some(Row {
            cause: words[..count].join(" "),
            total: times.next()??,
            longest: times.next()??,
            longest_processor: match times.next() {
                None => Duration::ZERO,
                Some(time) => time?,
            },
        })
    }
}

fn duration(words: &[&str]) -> Option<Duration> {
    let [number, unit] = words else { return None };
    let scale = match *unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Specializer report

  compiled     1 procedure, 0 loops; 0 calls in them inlined; 0 retired
  waiting      9.50 ms in all, 5.11 ms the longest, of the program for the specializer

The program waited for the specializer
  for                              times   in all  longest  processor
  handing logs over                   13  9.43 ms  1.11 ms    37.5 us
  copying bytecode for the worker      2  58.2 us  39.5 us    39.2 us
  leaving compiled code              101  17.8 us  2.71 ms
";

    #[test]
    fn the_longest_of_all_kinds_is_taken() {
        let pauses = Pauses::parse(REPORT).expect("it is a report");
        assert_eq!(pauses.longest, Duration::from_micros(2710));
        assert_eq!(pauses.cause, "leaving compiled code");
        assert_eq!(pauses.longest_processor, Duration::from_nanos(39_200));
        assert_eq!(pauses.total, Duration::from_nanos(9_506_000));
    }

    #[test]
    fn a_program_that_ended_early_waited_for_nothing() {
        let report = "Specializer report\n\n  The program ended before it had filled a log\n";
        assert_eq!(Pauses::parse(report), Ok(Pauses::default()));
        assert!(Pauses::parse("canny: no such file\n").is_err());
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let report = REPORT.replace("9.43 ms", "9.43 h");
        assert!(Pauses::parse(&report).is_err());
    }
}
