//! `canny bench`: measures benchmarks in processes of their own, and compares.
//!
//! `(canny bench)` takes samples in a process ([`process`], [`report`]); [`measure`] starts the
//! processes. [`steady`] finds the end of the warm-up in the samples, [`statistics`] has the
//! intervals, and [`summary`] makes the figures of both, which [`show`] and [`json`] print. The
//! modules of figures are pure and know nothing of processes or clocks.

mod arguments;
mod json;
mod measure;
mod noise;
mod process;
mod report;
mod show;
mod statistics;
mod steady;
mod summary;
mod units;
mod worktree;

use std::path::{Path, PathBuf};

use lexopt::Parser;

use super::table::{LIBRARY_OPTIONS, joined};
use super::test::show::Style;
use super::{Tool, files};
use crate::environment::Environment;
use crate::exit_code;
use crate::interrupts;
use arguments::{OWN_OPTIONS, Wishes};
use measure::{Failure, Found, Series, Setting, Sides};
use process::Launch;
use show::Progress;
use statistics::Estimate;
use summary::{Kind, Summary, Verdict};
use worktree::Worktree;

pub const TOOL: Tool = Tool {
    name: "bench",
    operands: "[OPTION…] FILE…",
    summary: "Measures benchmarks and programs, and compares",
    options: &joined::<{ LIBRARY_OPTIONS.len() + OWN_OPTIONS.len() }>(LIBRARY_OPTIONS, OWN_OPTIONS),
    details: "A FILE has benchmark forms of (canny bench); a program without them is measured as \
              a whole.\n\
              Each benchmark runs in several processes of its own. The mean is that of the steady\n\
              state, with its 95 % confidence interval. Exit code 1: a benchmark failed, or\n\
              --fail-above; 66: a file cannot be read.",
    run,
};

/// `(canny bench)` for builds of Canny that do not have it.
const LIBRARY: &str = include_str!("../../../../../lib/canny/bench.sld");

/// A benchmark and what was found out about it.
pub struct Measured {
    pub file: PathBuf,
    pub name: String,
    pub kind: Kind,
    pub own: Series,
    pub summary: Option<Summary>,
    /// The other side, if there is one.
    pub baseline: Option<Baseline>,
}

/// The side that a benchmark is compared with.
pub struct Baseline {
    pub series: Series,
    pub summary: Option<Summary>,
    pub ratio: Option<(Estimate, Verdict)>,
}

impl Measured {
    fn new(file: &Path, found: &Found, own: Series, baseline: Option<Series>) -> Measured {
        let kind = found.kind;
        let baseline = baseline.map(|series| {
            let ratio = summary::ratio(&own.processes, &series.processes, kind);
            let pairs = own.processes.len().min(series.processes.len());
            Baseline {
                summary: summary::summarize(&series.processes, kind),
                ratio: ratio.map(|ratio| (ratio, summary::verdict(&ratio, pairs))),
                series,
            }
        });
        Measured {
            file: file.to_owned(),
            name: found.name.clone(),
            kind,
            summary: summary::summarize(&own.processes, kind),
            own,
            baseline,
        }
    }

    /// The failures of both sides.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        let baseline = self
            .baseline
            .iter()
            .filter_map(|one| one.series.failure.as_ref());
        self.own.failure.iter().chain(baseline)
    }

    fn is_worse_than(&self, ratio: f64) -> bool {
        let found = self.baseline.as_ref().and_then(|baseline| baseline.ratio);
        found.is_some_and(|(found, verdict)| verdict != Verdict::NoDifference && found.low > ratio)
    }
}

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let wishes = arguments::parse(parser, environment)?;
    let stop = interrupts::stop_flag()?;
    let load = noise::Load::now();
    let scratch = match files::TemporaryDirectory::new("canny-bench") {
        Ok(directory) => directory,
        Err(error) => {
            eprintln!("canny bench: cannot make a directory for reports: {error}");
            return Ok(exit_code::OS);
        }
    };
    let (sides, problems, _worktree) = match sides(&wishes, &scratch.path) {
        Ok(found) => found,
        Err(message) => {
            eprintln!("canny bench: {message}");
            return Ok(exit_code::NO_INPUT);
        }
    };
    for problem in &problems {
        eprintln!("canny bench: {problem}");
    }
    let progress = Progress::new(!wishes.lists);
    let setting = Setting {
        scratch: &scratch.path,
        seconds: wishes.seconds,
        processes: wishes.processes,
        stop: &stop,
        progress: &progress,
    };
    let outcome = measure_all(&wishes, &sides, &setting);
    progress.clear();
    if !wishes.is_json && !outcome.results.is_empty() {
        let style = Style::new(false);
        let notes = load.and_then(noise::Load::note).into_iter();
        let notes: Vec<String> = notes.chain(outcome.notes).collect();
        crate::print_all(&show::table(&outcome.results, style));
        crate::print_all(&show::notes(&outcome.results, &notes, style));
    }
    let results = &outcome.results;
    let is_worse = wishes
        .fail_above
        .is_some_and(|ratio| results.iter().any(|result| result.is_worse_than(ratio)));
    if setting.is_stopped() {
        eprintln!("canny bench: interrupted; this is what was measured");
        return Ok(exit_code::INTERRUPTED);
    }
    let has_failed =
        outcome.has_failed || results.iter().any(|one| one.failures().next().is_some());
    if results.is_empty() && !outcome.has_listed && !has_failed && !sides.is_empty() {
        let texts = wishes.filters.join(" or ");
        eprintln!("canny bench: no benchmark has a name with {texts}");
        return Ok(1);
    }
    if problems.is_empty() {
        Ok(u8::from(is_worse || has_failed))
    } else {
        Ok(exit_code::NO_INPUT)
    }
}

/// The results of all files.
#[derive(Default)]
struct Outcome {
    results: Vec<Measured>,
    notes: Vec<String>,
    /// A file as a whole could not be measured.
    has_failed: bool,
    has_listed: bool,
}

/// Measures every benchmark of every file; prints failures, and results as JSON, when they are
/// known.
fn measure_all(wishes: &Wishes, sides: &[Sides], setting: &Setting<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let style = Style::new(false);
    for sides in sides {
        let shown = sides.file.display();
        let found = measure::find(sides, setting);
        if setting.is_stopped() {
            break;
        }
        let (found, notes) = match found {
            Ok(found) => found,
            Err(failure) => {
                setting.progress.clear();
                eprint!("{}", show::failure(&shown.to_string(), &failure, style));
                outcome.has_failed = true;
                continue;
            }
        };
        outcome.notes.extend(notes);
        for found in &found {
            let title = format!("{shown}: {}", found.name);
            if setting.is_stopped() || !wishes.wants(&title) {
                continue;
            }
            if wishes.lists {
                outcome.has_listed = true;
                crate::print_all(&show::listed(&sides.file, found));
                continue;
            }
            let (own, baseline) = measure::measure(sides, found, setting);
            let result = Measured::new(&sides.file, found, own, baseline);
            setting.progress.clear();
            for failure in result.failures() {
                eprint!("{}", show::failure(&title, failure, style));
            }
            if wishes.is_json {
                crate::print_all(&json::line(&result));
            }
            outcome.results.push(result);
        }
    }
    outcome
}

type AllSides = (Vec<Sides>, Vec<String>, Option<Worktree>);

/// The files to measure and their other sides; sentences about files that cannot be read. The
/// worktree has to live as long as the sides.
fn sides(wishes: &Wishes, scratch: &Path) -> Result<AllSides, String> {
    let own_canny = crate::executable::own_file()
        .map_err(|error| format!("cannot find the file of canny: {error}"))?;
    let mut problems = Vec::new();
    let mut files: Vec<&PathBuf> = Vec::new();
    for file in &wishes.files {
        match readable(file) {
            Ok(()) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    if let Some(other) = &wishes.against {
        readable(other)?;
    }
    let mut options = wishes.options.clone();
    let canny = match &wishes.canny {
        None => own_canny.clone(),
        Some(path) => {
            let library = scratch.join("lib/canny");
            std::fs::create_dir_all(&library)
                .and_then(|()| std::fs::write(library.join("bench.sld"), LIBRARY))
                .map_err(|error| format!("cannot write {}: {error}", library.display()))?;
            options.extend(["-A".into(), scratch.join("lib").into_os_string()]);
            std::fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    let worktree = match (&wishes.against_commit, files.first()) {
        (Some(revision), Some(file)) => Some(Worktree::new(revision, file)?),
        _ => None,
    };
    let mut all = Vec::new();
    for file in files {
        let own = Launch {
            canny: own_canny.clone(),
            options: wishes.options.clone(),
            file: file.clone(),
            directory: None,
        };
        let mut baseline = wishes.compares().then(|| Launch {
            canny: canny.clone(),
            options: options.clone(),
            file: wishes.against.clone().unwrap_or_else(|| file.clone()),
            directory: None,
        });
        if let (Some(worktree), Some(baseline)) = (&worktree, &mut baseline) {
            match worktree.counterpart(&baseline.file) {
                Some(path) if path.is_file() => baseline.file = path,
                _ => {
                    let (file, commit) = (file.display(), &worktree.commit);
                    problems.push(format!("{file}: it is not in the commit {commit}"));
                    continue;
                }
            }
            baseline.options = worktree.options(&baseline.options);
            let current = std::env::current_dir().ok();
            let current = current.and_then(|current| worktree.counterpart(&current));
            baseline.directory = current.filter(|directory| directory.is_dir());
        }
        all.push(Sides {
            file: file.clone(),
            own,
            baseline,
        });
    }
    Ok((all, problems, worktree))
}

fn readable(file: &Path) -> Result<(), String> {
    let problem = match std::fs::File::open(file) {
        Ok(_) if file.is_dir() => "it is a directory; name the files".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(format!("{}: {problem}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result whose ratio has this interval.
    fn with_ratio(low: f64, high: f64) -> Measured {
        let ratio = Estimate {
            value: (low + high) / 2.0,
            low,
            high,
        };
        Measured {
            file: PathBuf::new(),
            name: String::new(),
            kind: Kind::Benchmark,
            own: Series::default(),
            summary: None,
            baseline: Some(Baseline {
                series: Series::default(),
                summary: None,
                ratio: Some((ratio, summary::verdict(&ratio, 5))),
            }),
        }
    }

    #[test]
    fn only_a_whole_interval_fails() {
        assert!(with_ratio(1.2, 1.4).is_worse_than(1.1));
        assert!(!with_ratio(1.05, 1.4).is_worse_than(1.1));
        assert!(!with_ratio(0.9, 5.0).is_worse_than(1.1));
        assert!(!with_ratio(0.5, 0.6).is_worse_than(1.1));
        assert!(with_ratio(0.8, 0.9).is_worse_than(0.7));
        // A ratio that may be 1 is no difference, whatever the limit.
        assert!(!with_ratio(0.95, 1.2).is_worse_than(0.9));
    }
}
