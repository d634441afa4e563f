//! Prints results for people: a table for each file, notes, failures, and a line of progress.
//!
//! Names and output of programs have no control characters, so that they cannot change the
//! terminal.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::Path;

use unicode_width::UnicodeWidthStr;

use super::measure::{Failure, Found};
use super::statistics::Estimate;
use super::summary::{Kind, Summary, Verdict};
use super::{Measured, noise, units};
use crate::terminal_size::terminal_size;
use crate::tools::test::show::{Style, harmless};

/// Lines of a failed program's output that are shown at most.
const OUTPUT_LINES_MAX: usize = 40;

/// Columns of a name in a table.
const NAME_WIDTH_MAX: usize = 48;

/// Iterations below are mostly the loop around the body.
const SHORT_NS: f64 = 5.0;

/// A name on one line.
fn one_line(text: &str) -> String {
    harmless(&text.replace(['\n', '\t'], " "))
}

/// The beginning of a text that fits some columns.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut beginning = String::new();
    for character in text.chars() {
        let mut longer = beginning.clone();
        longer.push(character);
        if longer.width() >= columns {
            break;
        }
        beginning = longer;
    }
    beginning + "…"
}

/// A cell, and how it is colored.
struct Cell {
    text: String,
    verdict: Option<Verdict>,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell {
            text,
            verdict: None,
        }
    }
}

/// Tables of results, one for each file.
pub fn table(results: &[Measured], style: Style) -> String {
    let mut text = String::new();
    let mut rest = results;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|one| one.file == first.file).count();
        let (of_file, others) = rest.split_at(count);
        rest = others;
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table_of_file(of_file, style));
    }
    text
}

fn table_of_file(results: &[Measured], style: Style) -> String {
    let file = results.first().map(|one| one.file.display().to_string());
    let mut titles = vec![one_line(&file.unwrap_or_default())];
    let compares = results.iter().any(|one| one.baseline.is_some());
    let has_warm_up = results.iter().any(|one| one.kind == Kind::Benchmark);
    let is_fast = |one: &Measured| one.summary.as_ref().is_some_and(has_throughput);
    let has_throughput = !compares && results.iter().any(is_fast);
    if compares {
        titles.extend(["this", "other", "ratio", "95 % interval", ""].map(str::to_owned));
    } else {
        titles.extend(["mean", "95 % interval", "median"].map(str::to_owned));
        if has_warm_up {
            titles.extend(["first", "warm-up"].map(str::to_owned));
        }
        titles.extend(["allocated", "collections"].map(str::to_owned));
        titles.extend(has_throughput.then(|| "throughput".to_owned()));
    }
    let mut rows = vec![titles.into_iter().map(Cell::from).collect::<Vec<Cell>>()];
    for result in results {
        let mut row = vec![Cell::from(cut(&one_line(&result.name), NAME_WIDTH_MAX))];
        row.extend(if compares {
            comparison(result)
        } else {
            figures(result, has_throughput)
        });
        rows.push(row);
    }
    aligned(&rows, style)
}

fn has_throughput(summary: &Summary) -> bool {
    summary.bytes_per_second.is_some() || summary.items_per_second.is_some()
}

fn figures(result: &Measured, has_throughput: bool) -> Vec<Cell> {
    let Some(summary) = &result.summary else {
        return vec![Cell::from("not measured".to_owned())];
    };
    let is_program = result.kind == Kind::Program;
    let collections = match summary.collections {
        0.0 => "0".to_owned(),
        number if is_program => units::digits(number / summary.iterations),
        number => format!("{number:.0} ({})", units::percent(summary.pause_part)),
    };
    let mut texts = vec![
        units::time(summary.mean.value),
        units::times(summary.mean.low, summary.mean.high),
        units::time(summary.median_ns),
    ];
    if !is_program {
        texts.push(units::time(summary.first_ns));
        texts.push(units::time(summary.warm_up_ns));
    }
    texts.push(units::bytes(summary.bytes_per_iteration));
    texts.push(collections);
    if has_throughput {
        let bytes = summary.bytes_per_second.map(units::bytes_per_second);
        let items = summary.items_per_second.map(units::items_per_second);
        let both: Vec<String> = bytes.into_iter().chain(items).collect();
        texts.push(both.join(", "));
    }
    texts.into_iter().map(Cell::from).collect()
}

fn comparison(result: &Measured) -> Vec<Cell> {
    let time = |summary: Option<&Summary>| match summary {
        Some(summary) => units::time(summary.mean.value),
        None => "—".to_owned(),
    };
    let baseline = result.baseline.as_ref();
    let mut cells: Vec<Cell> = vec![
        time(result.summary.as_ref()).into(),
        time(baseline.and_then(|one| one.summary.as_ref())).into(),
    ];
    if let Some((ratio, verdict)) = baseline.and_then(|one| one.ratio) {
        cells.push(format!("{:.3}", ratio.value).into());
        cells.push(format!("{:.3} … {:.3}", ratio.low, ratio.high).into());
        cells.push(Cell {
            text: sentence(&ratio, verdict),
            verdict: Some(verdict),
        });
    }
    cells
}

fn sentence(ratio: &Estimate, verdict: Verdict) -> String {
    let change = match ratio.value {
        value if value >= 2.0 => format!("{value:.1} times the time"),
        value if value > 1.0 => format!("{} more time", units::percent(value - 1.0)),
        value => format!("{} less time", units::percent(1.0 - value)),
    };
    match verdict {
        Verdict::NoDifference => "no difference found".to_owned(),
        Verdict::Slower => format!("slower: {change}"),
        Verdict::Faster => format!("faster: {change}"),
    }
}

/// Rows below each other: the first column begins at the left, the others end at the right, but for
/// sentences.
fn aligned(rows: &[Vec<Cell>], style: Style) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.text.width());
            let colored = match cell.verdict {
                Some(Verdict::Slower) => style.bad(&cell.text),
                Some(Verdict::Faster) => style.good(&cell.text),
                _ => cell.text.clone(),
            };
            if column > 0 {
                line.push_str("  ");
            }
            if column == 0 || cell.verdict.is_some() {
                line.push_str(&colored);
                line.push_str(&pad);
            } else {
                line.push_str(&pad);
                line.push_str(&colored);
            }
        }
        let line = line.trim_end();
        let line = if at == 0 {
            style.weak(line)
        } else {
            line.to_owned()
        };
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Sentences that a reader of the table should know.
pub fn notes(results: &[Measured], others: &[String], style: Style) -> String {
    let mut notes: Vec<String> = others.iter().map(|note| one_line(note)).collect();
    for result in results {
        let name = cut(&one_line(&result.name), NAME_WIDTH_MAX);
        let sides = [
            ("", result.summary.as_ref()),
            (
                ", other side",
                result
                    .baseline
                    .as_ref()
                    .and_then(|one| one.summary.as_ref()),
            ),
        ];
        for (side, summary) in sides {
            let found = summary.map(|summary| of_summary(summary, result.kind));
            for note in found.into_iter().flatten() {
                notes.push(format!("{name}{side}: {note}"));
            }
        }
    }
    if notes.is_empty() {
        return String::new();
    }
    let lines = notes
        .iter()
        .map(|note| style.weak(&format!("note: {note}")) + "\n");
    format!("\n{}", lines.collect::<String>())
}

fn of_summary(summary: &Summary, kind: Kind) -> Vec<String> {
    let mut notes = Vec::new();
    let (steady, all) = (summary.steady_processes, summary.processes);
    if steady < all {
        notes.push(match summary.samples {
            samples if samples < 8 * all => {
                "too few samples to find a steady state; --time helps".to_owned()
            }
            _ => format!("no steady state in {} of {all} processes", all - steady),
        });
    }
    if all == 1 {
        notes.push("one process only, so the interval leaves out how starts differ".to_owned());
    }
    if kind == Kind::Benchmark && summary.mean.value < SHORT_NS {
        notes.push("so short that the loop around it counts".to_owned());
    }
    notes.extend(noise::note(summary));
    notes
}

/// A line of `--list`.
pub fn listed(file: &Path, found: &Found) -> String {
    let file = one_line(&file.display().to_string());
    match found.kind {
        Kind::Program => format!("{file}\n"),
        Kind::Benchmark => format!("{file}: {}\n", one_line(&found.name)),
    }
}

/// The reason why something was not measured, with the output of its process.
pub fn failure(title: &str, failure: &Failure, style: Style) -> String {
    let title = one_line(title);
    let mut text = format!(
        "{}  {title}: {}\n",
        style.bad("FAIL"),
        one_line(&failure.reason)
    );
    let output = harmless(&failure.output);
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let left_out = lines.len().saturating_sub(OUTPUT_LINES_MAX);
    if left_out > 0 {
        let _ = writeln!(text, "    | ... {left_out} lines left out ...");
    }
    for line in &lines[left_out..] {
        let _ = writeln!(text, "    | {line}");
    }
    text
}

/// The line on a terminal that tells what is measured.
pub struct Progress {
    is_on: bool,
}

impl Progress {
    pub fn new(is_wanted: bool) -> Progress {
        Progress {
            is_on: is_wanted && std::io::stderr().is_terminal(),
        }
    }

    pub fn show(&self, text: &str) {
        if self.is_on {
            let (columns, _) = terminal_size();
            let line = format!(
                "\r\x1b[K{}",
                cut(&one_line(text), columns.saturating_sub(1))
            );
            // Progress is no result.
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

    const STYLE: Style = Style {
        is_coloured: false,
        is_verbose: false,
    };

    fn cells(texts: &[&str]) -> Vec<Cell> {
        let texts = texts.iter();
        texts.map(|text| Cell::from((*text).to_owned())).collect()
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [cells(&["file", "mean"]), cells(&["a µ λ", "1.00 µs"])];
        assert_eq!(aligned(&rows, STYLE), "file      mean\na µ λ  1.00 µs\n");
        // A row that says why it has no figures is shorter.
        let rows = [cells(&["f", "m", "i"]), cells(&["a", "no"])];
        assert_eq!(aligned(&rows, STYLE), "f   m  i\na  no\n");
    }

    #[test]
    fn names_cannot_change_the_terminal() {
        assert_eq!(one_line("a\n\x1b[2J\tb"), "a \\x1b;[2J b");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abcd", 4), "abcd");
    }

    #[test]
    fn verdicts_are_sentences() {
        let estimate = |value| Estimate {
            value,
            low: value,
            high: value,
        };
        let said = |value, verdict| sentence(&estimate(value), verdict);
        assert_eq!(said(1.05, Verdict::Slower), "slower: 5.0 % more time");
        assert_eq!(said(0.9, Verdict::Faster), "faster: 10.0 % less time");
        assert_eq!(said(3.0, Verdict::Slower), "slower: 3.0 times the time");
        assert_eq!(said(1.3, Verdict::NoDifference), "no difference found");
    }
}
