//! Finds the benchmarks of files and measures them: one process after the other, in turns if two
//! sides are compared.
//!
//! Two sides run in the order A B B A A B …, so that a machine that becomes slower or faster does
//! so for both. Each benchmark has processes of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::process::{self, Launch, Run, Task};
use super::report::Sample;
use super::show::Progress;
use super::statistics::Timing;
use super::summary::{Kind, Process};

/// The most processes that a program is measured by, beyond what the user asks for.
const PROGRAM_RUNS_MAX: usize = 200;

/// The reason why something could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: String,
    /// The output of the process.
    pub output: String,
}

/// A benchmark and where it is.
#[derive(Clone, Debug)]
pub struct Found {
    pub name: String,
    pub kind: Kind,
    /// Its index in the file of each side.
    pub index: usize,
    pub baseline_index: Option<usize>,
}

/// The processes of a side.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub processes: Vec<Process>,
    pub failure: Option<Failure>,
}

/// A file that is measured, with the side that it is compared with.
pub struct Sides {
    /// The file's name as the user wrote it.
    pub file: PathBuf,
    pub own: Launch,
    pub baseline: Option<Launch>,
}

/// The settings that all measurements of a run share.
pub struct Setting<'a> {
    /// A directory for reports.
    pub scratch: &'a Path,
    pub seconds: f64,
    pub processes: usize,
    pub stop: &'a AtomicBool,
    pub progress: &'a Progress,
}

impl Setting<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The names of the benchmarks of a file; `None` if it is a program without any.
fn names(launch: &Launch, setting: &Setting<'_>) -> Result<Option<Vec<String>>, Failure> {
    let run = process::run(launch, Task::List, setting.scratch, setting.stop);
    if let Some(reason) = run.failure {
        return Err(Failure {
            reason,
            output: run.output,
        });
    }
    Ok(
        match (run.report.names.is_empty(), run.report.has_library) {
            (true, true) => {
                return Err(Failure {
                    reason: "it imports (canny bench) and has no benchmark".to_owned(),
                    output: String::new(),
                });
            }
            (true, false) => None,
            (false, _) => Some(run.report.names),
        },
    )
}

/// The benchmarks of a file, with sentences about those that only one side has. A program without
/// `benchmark` forms runs once meanwhile, which fills the caches.
pub fn find(sides: &Sides, setting: &Setting<'_>) -> Result<(Vec<Found>, Vec<String>), Failure> {
    let shown = sides.file.display().to_string();
    setting
        .progress
        .show(&format!("{shown}: looking for benchmarks"));
    let own = names(&sides.own, setting)?;
    let baseline = match &sides.baseline {
        None => None,
        Some(launch) => Some(names(launch, setting).map_err(|failure| Failure {
            reason: format!(
                "the other side, {}: {}",
                launch.file.display(),
                failure.reason
            ),
            ..failure
        })?),
    };
    let whole = |baseline_index| Found {
        name: shown.clone(),
        kind: Kind::Program,
        index: 0,
        baseline_index,
    };
    match (own, baseline) {
        (None, None) => Ok((vec![whole(None)], Vec::new())),
        (None, Some(None)) => Ok((vec![whole(Some(0))], Vec::new())),
        (Some(own), None) => Ok((pair(own, None).0, Vec::new())),
        (Some(own), Some(Some(baseline))) => Ok(pair(own, Some(baseline))),
        (own, _) => Err(Failure {
            reason: format!(
                "only {} has benchmarks, so the two cannot be compared",
                if own.is_some() {
                    "it"
                } else {
                    "the other side"
                }
            ),
            output: String::new(),
        }),
    }
}

/// Pairs benchmarks of two sides by their names; the second of a name belongs to the second.
fn pair(own: Vec<String>, baseline: Option<Vec<String>>) -> (Vec<Found>, Vec<String>) {
    let mut left: Vec<(usize, String)> = baseline
        .clone()
        .unwrap_or_default()
        .into_iter()
        .enumerate()
        .collect();
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for (index, name) in own.into_iter().enumerate() {
        let at = left.iter().position(|(_, other)| *other == name);
        let baseline_index = at.map(|at| left.remove(at).0);
        if baseline.is_some() && baseline_index.is_none() {
            notes.push(format!("the other side has no benchmark '{name}'"));
        }
        found.push(Found {
            name,
            kind: Kind::Benchmark,
            index,
            baseline_index,
        });
    }
    let only = left.into_iter();
    notes.extend(only.map(|(_, name)| format!("only the other side has a benchmark '{name}'")));
    (found, notes)
}

/// Measures a benchmark on one side or both; ends early when the run is stopped or a side fails.
pub fn measure(sides: &Sides, found: &Found, setting: &Setting<'_>) -> (Series, Option<Series>) {
    let baseline = sides.baseline.as_ref().zip(found.baseline_index);
    let mut own_series = Series::default();
    let mut baseline_series = baseline.map(|_| Series::default());
    let start = Instant::now();
    let sides_count = 1.0 + f64::from(u8::from(baseline.is_some()));
    let mut round = 0;
    while !setting.is_stopped() && is_wanted(round, found.kind, start, sides_count, setting) {
        let mut run_side = |is_own: bool| {
            let side = if is_own { "" } else { " of the other side" };
            let text = format!("{}: process {}{side}", found.name, round + 1);
            match (is_own, baseline, &mut baseline_series) {
                (true, ..) => {
                    setting.progress.show(&text);
                    add(
                        &mut own_series,
                        &sides.own,
                        found.index,
                        found.kind,
                        setting,
                    )
                }
                (false, Some((launch, index)), Some(series)) => {
                    setting.progress.show(&text);
                    add(series, launch, index, found.kind, setting)
                }
                _ => true,
            }
        };
        let own_first = round % 2 == 0;
        let is_fine = run_side(own_first) && run_side(!own_first);
        if !is_fine {
            break;
        }
        round += 1;
    }
    (own_series, baseline_series)
}

/// Whether another round is due. Programs run until the time is over.
fn is_wanted(round: usize, kind: Kind, start: Instant, sides: f64, setting: &Setting<'_>) -> bool {
    let has_time = || start.elapsed().as_secs_f64() < sides * setting.seconds;
    round < setting.processes || kind == Kind::Program && round < PROGRAM_RUNS_MAX && has_time()
}

/// Runs another process of a side; whether it measured.
fn add(
    series: &mut Series,
    launch: &Launch,
    index: usize,
    kind: Kind,
    setting: &Setting<'_>,
) -> bool {
    let task = match kind {
        Kind::Program => Task::Program,
        Kind::Benchmark => Task::Benchmark {
            index,
            microseconds: (setting.seconds / setting.processes as f64 * 1e6) as u64,
        },
    };
    let run = process::run(launch, task, setting.scratch, setting.stop);
    let reason = match (&run.failure, kind) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Kind::Benchmark) if !run.report.has_end => {
            Some("the program ended before the benchmark did".to_owned())
        }
        _ => None,
    };
    let is_fine = reason.is_none();
    if let Some(reason) = reason
        && !run.was_stopped
    {
        series.failure = Some(Failure {
            reason,
            output: run.output.clone(),
        });
    }
    // The samples of a stopped benchmark are kept; half a run of a program is none.
    if is_fine || run.was_stopped && kind == Kind::Benchmark {
        let process = process_of(run, kind);
        if !process.samples.is_empty() {
            series.processes.push(process);
        }
    }
    is_fine
}

fn process_of(run: Run, kind: Kind) -> Process {
    let samples = match kind {
        Kind::Benchmark => run.report.samples,
        Kind::Program => {
            let (bytes, collections) = run.heap.unwrap_or_default();
            vec![Sample {
                timing: Timing {
                    count: 1.0,
                    time_ns: run.wall.as_nanos() as f64,
                },
                bytes,
                collections,
                pause_ns: 0.0,
            }]
        }
    };
    Process {
        samples,
        bytes: run.report.bytes,
        items: run.report.items,
        waited_ns: run.report.waited_ns,
        switches: run.report.switches,
        processor_ns: run.processor_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_are_paired_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (found, notes) = pair(names(&["a", "b", "a"]), Some(names(&["c", "a", "a"])));
        let indices: Vec<_> = found.iter().map(|one| one.baseline_index).collect();
        assert_eq!(indices, [Some(1), None, Some(2)]);
        assert_eq!(
            notes,
            [
                "the other side has no benchmark 'b'",
                "only the other side has a benchmark 'c'"
            ]
        );
        assert!(pair(names(&["a"]), None).1.is_empty());
    }
}
