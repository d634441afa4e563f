//! Prints the table of a benchmark run, as text and as CSV.
//!
//! It computes nothing but ratios and their geometric means; [`super::measure`] owns the samples.
//! The columns of the CSV are stable, since older files are compared with it.

use std::fmt::Write as _;

use super::engines::TOOLS;
use super::guests;
use super::measure::{Cell, Table};
use super::programs::{Group, START_UP};

/// Per group: canny's seconds and peak, then canny's time as a multiple of each peer's.
pub fn text(table: &Table) -> String {
    let mut out = String::new();
    for group in [Group::Own, Group::Suite, Group::InputOutput] {
        if table.rows.iter().any(|row| row.group == group) {
            group_text(table, group, &mut out);
        }
    }
    if table.rows.iter().any(|row| row.group == Group::InputOutput) {
        whole_text(table, &mut out);
    }
    if table.rows.iter().any(|row| row.group == Group::Guests) {
        out.push_str(&guests::text(table));
    } else {
        out.push_str(&start_up_text(table));
    }
    let mut failures = String::new();
    for row in &table.rows {
        for (engine, cell) in table.engines.iter().zip(&row.cells) {
            if let Cell::Failed(message) = cell {
                let _ = writeln!(failures, "  {} on {engine}: {message}", row.program);
            }
        }
    }
    if !failures.is_empty() {
        let _ = writeln!(out, "not counted:\n{failures}");
    }
    out
}

/// The cost of printing a line: wall time and peak memory of every engine.
fn start_up_text(table: &Table) -> String {
    let mut out = String::from("start-up (hello world): wall ms / peak MB\n");
    let row = table
        .rows
        .iter()
        .find(|row| row.group != Group::Suite && row.program == START_UP);
    for (engine, cell) in table
        .engines
        .iter()
        .zip(row.map_or(&[][..], |row| &row.cells))
    {
        if let Cell::Measured(samples) = cell {
            let _ = writeln!(
                out,
                "  {engine:<14}{:>8.1} / {:.1}",
                samples.wall() * 1e3,
                samples.peak_bytes as f64 / 1e6
            );
        }
    }
    out.push('\n');
    out
}

/// Seconds of processor time and peak memory of every engine, start-up included, and what canny's net
/// time is to the best of the languages, which the tools of the system are none of.
fn whole_text(table: &Table, out: &mut String) {
    out.push_str(
        "CPU seconds (median) with start-up / peak MB; net of start-up, canny / best language\n\n",
    );
    let _ = write!(out, "{:<16}", "program");
    for engine in &table.engines {
        let _ = write!(out, "{engine:>14}");
    }
    out.push_str("          best\n");
    let languages: Vec<usize> = (1..table.engines.len())
        .filter(|&engine| ![TOOLS, "baseline"].contains(&table.engines[engine]))
        .collect();
    for row in &table.rows {
        let _ = write!(out, "{:<16}", row.program);
        for cell in &row.cells {
            let text = match cell {
                Cell::Measured(samples) => format!(
                    "{:.2} / {:.0}",
                    samples.cpu(),
                    samples.peak_bytes as f64 / 1e6
                ),
                Cell::Failed(_) => "failed".to_owned(),
                Cell::Absent => "–".to_owned(),
            };
            let _ = write!(out, "{text:>14}");
        }
        let _ = match table.ratio_to_best(row, &languages) {
            Some(ratio) => writeln!(out, "{ratio:>14.2}"),
            None => writeln!(out, "{:>14}", "–"),
        };
    }
    out.push('\n');
}

fn group_text(table: &Table, group: Group, out: &mut String) {
    let title = match group {
        Group::Own => "own programs",
        Group::Suite => "r7rs-benchmarks",
        Group::InputOutput => "input and output",
        Group::Guests => "WebAssembly",
    };
    let _ = writeln!(
        out,
        "{title}: canny's CPU seconds (median), and canny's time as a multiple of each peer's,\n\
         net of start-up; below 1.00 canny is faster\n"
    );
    let _ = write!(out, "{:<16}{:>9}{:>9}", "program", "seconds", "peak MB");
    for engine in &table.engines[1..] {
        let _ = write!(out, "{engine:>14}");
    }
    out.push('\n');
    for row in table.rows.iter().filter(|row| row.group == group) {
        let _ = match &row.cells[0] {
            Cell::Measured(samples) => write!(
                out,
                "{:<16}{:>9.3}{:>9.1}",
                row.program,
                samples.cpu(),
                samples.peak_bytes as f64 / 1e6
            ),
            _ => write!(out, "{:<16}{:>9}{:>9}", row.program, "failed", ""),
        };
        for engine in 1..table.engines.len() {
            let _ = match (table.ratio(row, engine), &row.cells[engine]) {
                (Some(ratio), _) => write!(out, "{ratio:>14.2}"),
                (None, Cell::Failed(_)) => write!(out, "{:>14}", "failed"),
                (None, _) => write!(out, "{:>14}", "–"),
            };
        }
        out.push('\n');
    }
    let _ = write!(out, "{:<34}", "geometric mean");
    for engine in 1..table.engines.len() {
        let _ = match table.geometric_mean(group, engine) {
            Some((mean, _)) => write!(out, "{mean:>14.2}"),
            None => write!(out, "{:>14}", "–"),
        };
    }
    let _ = write!(out, "\n{:<34}", "programs in the mean");
    for engine in 1..table.engines.len() {
        let count = table
            .geometric_mean(group, engine)
            .map_or(0, |(_, count)| count);
        let _ = write!(out, "{count:>14}");
    }
    out.push_str("\n\n");
}

pub fn csv(table: &Table) -> String {
    let mut out = String::from(
        "group,program,engine,status,rounds,cpu_seconds,net_cpu_seconds,wall_seconds,peak_bytes\n",
    );
    for row in &table.rows {
        for (index, engine) in table.engines.iter().enumerate() {
            let group = format!("{:?}", row.group).to_lowercase();
            let head = format!("{group},{},{engine}", row.program);
            let _ = match &row.cells[index] {
                Cell::Absent => Ok(()),
                Cell::Failed(message) => {
                    writeln!(out, "{head},\"{}\",0,,,,", message.replace('"', "'"))
                }
                Cell::Measured(samples) => writeln!(
                    out,
                    "{head},ok,{},{:.4},{:.4},{:.4},{}",
                    samples.rounds(),
                    samples.cpu(),
                    table.net(row, index).unwrap_or_default(),
                    samples.wall(),
                    samples.peak_bytes
                ),
            };
        }
    }
    out
}
