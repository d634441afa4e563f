//! Runs every program on every engine, round by round, and keeps the samples.
//!
//! Rounds interleave engines, so that a slow phase of the machine hits all. Times are CPU time net
//! of the engine's start-up, by medians. A wrong answer counts as failed and has no time.

use std::path::Path;
use std::time::Duration;

use super::engines::{CANNY, Engine, Prepared};
use super::programs::{Group, Program, is_start_up};
use crate::process::{Outcome, Run};
use crate::workspace;

/// Ratios of times below this are noise; shorter net times count as this long.
const SHORTEST_SECONDS: f64 = 0.001;

pub struct Table {
    pub engines: Vec<&'static str>,
    pub rows: Vec<Row>,
}

pub struct Row {
    pub program: String,
    pub group: Group,
    /// One per engine, in the order of [`Table::engines`].
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
pub enum Cell {
    /// The engine has no version of the program.
    Absent,
    Failed(String),
    Measured(Samples),
}

#[derive(Clone, Debug, Default)]
pub struct Samples {
    cpu_seconds: Vec<f64>,
    wall_seconds: Vec<f64>,
    pub peak_bytes: u64,
}

impl Samples {
    fn add(&mut self, outcome: &Outcome) {
        self.cpu_seconds.push(outcome.cpu.as_secs_f64());
        self.wall_seconds.push(outcome.wall.as_secs_f64());
        self.peak_bytes = self.peak_bytes.max(outcome.peak_bytes);
    }

    pub fn rounds(&self) -> usize {
        self.cpu_seconds.len()
    }

    pub fn cpu(&self) -> f64 {
        median(&self.cpu_seconds)
    }

    pub fn wall(&self) -> f64 {
        median(&self.wall_seconds)
    }
}

/// The middle of them, zero of none.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

impl Table {
    /// The engine's median CPU time of the program that does nothing.
    pub fn start_up(&self, engine: usize) -> f64 {
        self.rows
            .iter()
            .find(|row| is_start_up(row.group, &row.program))
            .and_then(|row| row.cells[engine].samples())
            .map_or(0.0, Samples::cpu)
    }

    /// CPU seconds net of the engine's start-up. The start-up program itself is given whole.
    pub fn net(&self, row: &Row, engine: usize) -> Option<f64> {
        let cpu = row.cells[engine].samples()?.cpu();
        if is_start_up(row.group, &row.program) {
            return Some(cpu.max(SHORTEST_SECONDS));
        }
        Some((cpu - self.start_up(engine)).max(SHORTEST_SECONDS))
    }

    /// Canny's net time as a multiple of the engine's; below one, canny is faster.
    pub fn ratio(&self, row: &Row, engine: usize) -> Option<f64> {
        Some(self.net(row, 0)? / self.net(row, engine)?)
    }

    /// Canny's net time as a multiple of the least that one of these engines takes.
    pub fn ratio_to_best(&self, row: &Row, engines: &[usize]) -> Option<f64> {
        let ratios = engines.iter().filter_map(|&engine| self.ratio(row, engine));
        ratios.max_by(f64::total_cmp)
    }

    /// The geometric mean of the ratios to an engine, and how many there were. Start-up is no part.
    pub fn geometric_mean(&self, group: Group, engine: usize) -> Option<(f64, usize)> {
        let ratios: Vec<f64> = self
            .rows
            .iter()
            .filter(|row| row.group == group && !is_start_up(group, &row.program))
            .filter_map(|row| self.ratio(row, engine))
            .collect();
        match ratios.len() {
            0 => None,
            count => {
                let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
                Some(((logarithms / count as f64).exp(), count))
            }
        }
    }

    /// Programs that canny did not run to the right answer.
    pub fn wrong_answers(&self) -> usize {
        let canny = self.engines.iter().position(|name| *name == CANNY);
        self.rows
            .iter()
            .filter(|row| canny.is_some_and(|canny| matches!(row.cells[canny], Cell::Failed(_))))
            .count()
    }
}

impl Cell {
    pub fn samples(&self) -> Option<&Samples> {
        match self {
            Cell::Measured(samples) => Some(samples),
            _ => None,
        }
    }
}

pub fn measure(
    programs: &[Program],
    engines: &[Engine],
    second_runs: bool,
    rounds: usize,
    time_limit: Duration,
    directory: &Path,
) -> Result<Table, String> {
    let mut rows = Vec::new();
    let mut prepared = Vec::new();
    for program in programs {
        eprint!("\rcompiling {:<40}", program.name);
        // The two groups share names, so each has its own directory.
        let place = directory
            .join(format!("{:?}", program.group).to_lowercase())
            .join("programs");
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut row = Row {
            program: program.name.clone(),
            group: program.group,
            cells: Vec::new(),
        };
        let mut commands = Vec::new();
        for engine in engines {
            let (cell, command) = match engine.prepare(program, &place) {
                Ok(Some(mut prepared)) => {
                    if second_runs {
                        prepared.keep_cache();
                        if engine.is_canny() {
                            let _ = run_once(program, &prepared, time_limit, directory)?;
                        }
                    }
                    (Cell::Measured(Samples::default()), Some(prepared))
                }
                Ok(None) => (Cell::Absent, None),
                Err(message) => (Cell::Failed(message), None),
            };
            row.cells.push(cell);
            commands.push(command);
        }
        rows.push(row);
        prepared.push(commands);
    }
    for round in 1..=rounds {
        for (index, program) in programs.iter().enumerate() {
            for (column, engine) in engines.iter().enumerate() {
                let Some(command) = &prepared[index][column] else {
                    continue;
                };
                let Cell::Measured(samples) = &mut rows[index].cells[column] else {
                    continue;
                };
                eprint!("\rround {round}: {:<20} {:<20}", program.name, engine.name);
                match run_once(program, command, time_limit, directory)? {
                    Ok(outcome) => samples.add(&outcome),
                    Err(message) => rows[index].cells[column] = Cell::Failed(message),
                }
            }
        }
    }
    eprintln!("\r{:<60}\r", "");
    let engines = engines.iter().map(|engine| engine.name).collect();
    Ok(Table { engines, rows })
}

/// Runs once; the inner error is the program's, the outer one the runner's.
pub fn run_once(
    program: &Program,
    prepared: &Prepared,
    time_limit: Duration,
    directory: &Path,
) -> Result<Result<Outcome, String>, String> {
    let mut command = prepared.command();
    if let Some(place) = &program.directory {
        command.current_dir(place);
        let outputs = place.join("outputs");
        for stale in std::fs::read_dir(&outputs).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(stale.path());
        }
    }
    let capture = directory.join("capture");
    let outcome = Run {
        command,
        input: program.input.as_deref(),
        capture,
        time_limit,
    }
    .run()?;
    if !outcome.succeeded() {
        return Ok(Err(format!(
            "{}: {}",
            outcome.ending(),
            outcome.complaint()
        )));
    }
    if !program.check.accepts(&outcome.output_text()) {
        let output = workspace::shortened(&outcome.output_text(), 200);
        return Ok(Err(format!(
            "wrong answer: {}",
            output.replace('\n', " | ")
        )));
    }
    Ok(Ok(outcome))
}

#[cfg(test)]
mod tests {
    use super::super::programs::START_UP;
    use super::*;

    fn measured(seconds: &[f64]) -> Cell {
        Cell::Measured(Samples {
            cpu_seconds: seconds.to_vec(),
            wall_seconds: seconds.to_vec(),
            peak_bytes: 1,
        })
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn ratios_are_net_of_start_up() {
        let row = |program: &str, cells| Row {
            program: program.to_owned(),
            group: Group::Own,
            cells,
        };
        let table = Table {
            engines: vec![CANNY, "peer"],
            rows: vec![
                row(START_UP, vec![measured(&[0.1]), measured(&[0.5])]),
                row("a", vec![measured(&[1.1]), measured(&[1.0])]),
                row("b", vec![measured(&[0.6]), measured(&[1.5])]),
                row("c", vec![Cell::Failed("no".to_owned()), measured(&[1.5])]),
            ],
        };
        let close = |ratio: Option<f64>, expected: f64| {
            (ratio.expect("both were measured") - expected).abs() < 1e-9
        };
        assert!(close(table.ratio(&table.rows[1], 1), 2.0));
        assert!(close(table.ratio(&table.rows[2], 1), 0.5));
        assert_eq!(table.ratio(&table.rows[3], 1), None);
        let (mean, count) = table
            .geometric_mean(Group::Own, 1)
            .expect("there are ratios");
        assert!((mean - 1.0).abs() < 1e-9);
        assert_eq!(count, 2);
        assert_eq!(table.wrong_answers(), 1);
    }
}
