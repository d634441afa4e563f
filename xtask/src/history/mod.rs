//! `cargo xtask history`: how figures came to be, commit by commit.
//!
//! Each commit of a range is built in a worktree of its own and runs each benchmark five times; the
//! least time, allocation and peak memory are a row of a CSV file. Rows that the file has are not
//! measured again, so that an interrupted run resumes where it stopped and a range can grow, unless
//! that is asked for: a second look at another time of day finds what the machine's other work added to
//! the first. The programs are those of the tree that the command runs in, so every commit runs the
//! same ones.

mod build;
mod chart;
mod commits;
mod improvement;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arguments::Arguments;
use crate::bench::engines::Engine;
use crate::bench::guests;
use crate::bench::measure::run_once;
use crate::bench::programs::{self, Program};
use crate::bench::suite;
use crate::workspace;
use build::Worktree;
use commits::Commit;
use table::{Figures, History, Row};

const HELP: &str = "\
usage: cargo xtask history REV..REV BENCH… [OPTION…]
       cargo xtask history --commits REV,REV,… BENCH… [OPTION…]
       cargo xtask history --improvement REV REV [BENCH…] [OPTION…]

Builds each commit of a range, both ends included, runs the programs BENCH on it (names of benches/,
suite:NAME for r7rs-benchmarks, wasm:NAME for the guests of benches/wasm), and keeps the least of time,
allocation and peak memory in a CSV file and a chart. Commits that the file has are not measured again.
  --every N       only every N-th commit, and the two ends
  --commits A,B   these commits in this order instead of a range
  --rounds N      runs of each program, of which the least figures count (5)
  --again         measure also what the file has; the least of both counts
  --suite PATH    where r7rs-benchmarks is checked out
  --scale N       divide the iteration counts of r7rs-benchmarks by N (10)
  --timeout N     seconds after which a program is stopped (300)
  --output DIR    where history.csv and history.svg are (target/history)
  --improvement   measure nothing: print what changed from one commit to another, as Markdown
";

/// The environment variable that asks for a file of statistics.
const STATISTICS_VARIABLE: &str = "CANNY_STATISTICS";

/// The programs to measure, and the place of the result.
struct Plan {
    programs: Vec<(String, Program)>,
    rounds: u64,
    /// Commits that the file has are measured again.
    again: bool,
    time_limit: Duration,
    output: PathBuf,
    scratch: PathBuf,
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let output = match arguments.option("--output")? {
        Some(directory) => PathBuf::from(directory),
        None => workspace::target_directory().join("history"),
    };
    std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    if arguments.flag("--improvement") {
        return print_improvement(&output, &arguments.finish()?);
    }
    let every = arguments.number("--every", 1)?.max(1) as usize;
    let listed = arguments.option("--commits")?;
    let rounds = arguments.number("--rounds", 5)?.max(1);
    let again = arguments.flag("--again");
    let time_limit = Duration::from_secs(arguments.number("--timeout", 300)?);
    let suite = arguments.path("--suite")?;
    let scale = arguments.number("--scale", 10)?.max(1);
    let mut words = arguments.finish()?;
    let commits = match listed {
        Some(list) => commits::listed(&list)?,
        None if words.is_empty() => return Err("which commits? REV..REV or --commits".to_owned()),
        None => commits::thinned(commits::range(&words.remove(0))?, every),
    };
    let scratch = workspace::scratch_directory("history")?;
    let plan = Plan {
        programs: chosen_programs(&words, suite.as_deref(), scale, &scratch)?,
        rounds,
        again,
        time_limit,
        output,
        scratch,
    };
    measure_all(&plan, &commits)
}

fn print_improvement(output: &Path, words: &[String]) -> Result<(), String> {
    let [before, after, names @ ..] = words else {
        return Err("--improvement takes two commits".to_owned());
    };
    let history = History::load(&output.join("history.csv"))?;
    let (before, after) = (commits::resolve(before)?, commits::resolve(after)?);
    print!("{}", improvement::lines(&history, &before, &after, names)?);
    Ok(())
}

/// The programs with these names.
fn chosen_programs(
    names: &[String],
    suite: Option<&Path>,
    scale: u64,
    scratch: &Path,
) -> Result<Vec<(String, Program)>, String> {
    const SUITE_PREFIX: &str = "suite:";
    const GUEST_PREFIX: &str = "wasm:";
    if names.is_empty() {
        return Err("which benchmarks?".to_owned());
    }
    let benches = workspace::root().join("benches");
    let own = programs::own(&benches)?;
    let guests = guests::programs(&benches.join("wasm"))?;
    let of_suite = match suite {
        Some(path) => suite::programs(path, scratch, scale)?,
        None => Vec::new(),
    };
    names
        .iter()
        .map(|name| {
            let (wanted, among) = if let Some(wanted) = name.strip_prefix(SUITE_PREFIX) {
                if suite.is_none() {
                    return Err(format!("{name} needs --suite PATH"));
                }
                (wanted, &of_suite)
            } else if let Some(wanted) = name.strip_prefix(GUEST_PREFIX) {
                (wanted, &guests)
            } else {
                (name.as_str(), &own)
            };
            let found = among.iter().find(|program| program.name == wanted);
            match found {
                Some(program) => Ok((name.clone(), program.clone())),
                None => Err(format!("there is no program `{name}`")),
            }
        })
        .collect()
}

fn measure_all(plan: &Plan, commits: &[Commit]) -> Result<(), String> {
    let path = plan.output.join("history.csv");
    let mut history = History::load(&path)?;
    let mut worktree = None;
    for (number, commit) in commits.iter().enumerate() {
        let missing: Vec<&(String, Program)> = plan
            .programs
            .iter()
            .filter(|(name, _)| {
                if plan.again {
                    history.builds(&commit.hash)
                } else {
                    !history.has(&commit.hash, name)
                }
            })
            .collect();
        eprintln!(
            "{}/{} {} {}: {}",
            number + 1,
            commits.len(),
            commit.short(),
            commit.subject,
            match missing.len() {
                0 => "measured before".to_owned(),
                count => format!("{count} to measure"),
            }
        );
        if missing.is_empty() {
            continue;
        }
        match binary(&commit.hash, &mut worktree)? {
            Err(complaint) => {
                eprintln!("    does not build: {complaint}");
                history.append(&path, Row::does_not_build(&commit.hash, &complaint))?;
            }
            Ok(binary) => {
                for (name, program) in missing {
                    let result = measure(plan, &binary, program)?;
                    let result = with_earlier(result, history.figures(&commit.hash, name));
                    let row = Row::new(&commit.hash, name, result);
                    eprintln!("    {name}: {}", row.for_people());
                    history.append(&path, row)?;
                }
            }
        }
    }
    let names: Vec<&str> = plan
        .programs
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let chart = plan.output.join("history.svg");
    workspace::write(&chart, chart::svg(&history, commits, &names))?;
    if let Some(tree) = worktree {
        tree.remove();
    }
    println!("written: {}, {}", path.display(), chart.display());
    if let [first, .., last] = commits {
        // A commit without figures has no improvement, which the rows tell.
        let lines = improvement::lines(&history, &first.hash, &last.hash, &[]);
        print!("{}", lines.unwrap_or_default());
    }
    Ok(())
}

/// The binary of a commit, built before or now; the inner error is what cargo complains of.
fn binary(
    commit: &str,
    worktree: &mut Option<Worktree>,
) -> Result<Result<PathBuf, String>, String> {
    if let Some(kept) = build::kept(commit) {
        return Ok(Ok(kept));
    }
    let tree = match worktree {
        Some(tree) => tree,
        None => worktree.insert(Worktree::open(commit)?),
    };
    tree.build(commit)
}

/// The result of a second measurement: the least of both. A failure now does not undo earlier
/// figures.
fn with_earlier(
    result: Result<Figures, String>,
    earlier: Option<Figures>,
) -> Result<Figures, String> {
    match (result, earlier) {
        (Ok(now), Some(earlier)) => Ok(now.least(earlier)),
        (Err(_), Some(earlier)) => Ok(earlier),
        (result, None) => result,
    }
}

/// The least figures of several runs; the inner error is the program's.
fn measure(
    plan: &Plan,
    binary: &Path,
    program: &Program,
) -> Result<Result<Figures, String>, String> {
    let engine = Engine::canny(binary);
    let statistics = plan.scratch.join("statistics");
    let programs = plan.scratch.join("programs");
    std::fs::create_dir_all(&programs)
        .map_err(|error| format!("{}: {error}", programs.display()))?;
    let mut prepared = match engine.prepare(program, &programs) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => return Ok(Err("canny has no version of it".to_owned())),
        Err(message) => return Ok(Err(message)),
    };
    prepared.set(STATISTICS_VARIABLE, &statistics.to_string_lossy());
    prepared.set(
        "CANNY_CACHE_DIR",
        &plan.scratch.join("cache").to_string_lossy(),
    );
    let mut least: Option<Figures> = None;
    for _ in 0..plan.rounds {
        let _ = std::fs::remove_file(&statistics);
        let outcome = match run_once(program, &prepared, plan.time_limit, &plan.scratch)? {
            Ok(outcome) => outcome,
            Err(message) => return Ok(Err(message)),
        };
        let figures = Figures {
            seconds: outcome.cpu.as_secs_f64(),
            // Older commits write none.
            allocated_bytes: std::fs::read_to_string(&statistics)
                .ok()
                .and_then(|text| table::allocated_bytes(&text)),
            peak_bytes: outcome.peak_bytes,
        };
        least = Some(least.map_or(figures, |least| least.least(figures)));
    }
    Ok(least.ok_or_else(|| "it did not run".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_look_finds_the_least() {
        let figures = |seconds, peak_bytes| Figures {
            seconds,
            allocated_bytes: None,
            peak_bytes,
        };
        let failure = || Err("timed out".to_owned());
        let (now, earlier) = (figures(1.0, 9), figures(2.0, 7));
        assert_eq!(with_earlier(Ok(now), Some(earlier)), Ok(figures(1.0, 7)));
        assert_eq!(with_earlier(Ok(now), None), Ok(now));
        assert_eq!(with_earlier(failure(), Some(earlier)), Ok(earlier));
        assert_eq!(with_earlier(failure(), None), failure());
    }
}
