//! `cargo xtask programs`: random programs must behave the same in every mode of the machine.
//!
//! Each program is generated from a seed and a number ([`generate`]), terminates, catches its own errors and
//! prints what it computes. It runs in the interpreter and in the modes of the specializer; standard output,
//! standard error and exit code are compared byte by byte. A program that differs is kept.

mod generate;
pub mod random;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::differential::{Mode, difference};
use crate::process::{Outcome, Run};
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask programs [OPTION…]

Generates random programs and compares what they do in the interpreter and with the specializer.
  --cases N      programs (200)
  --seconds N    stop after so many seconds, whatever --cases says
  --seed N       seed (1)
  --first N      number of the first program (0)
  --print        print the first program instead of running any
  --timeout N    seconds for one run (60)
  --canny PATH   the binary to test; without it, cargo builds a debug binary
  --release      let cargo build a release binary
";

const INTERPRETER: Mode = Mode {
    name: "interpreter",
    stress: None,
    environment: &[("CANNY_JIT", "0")],
};

/// Each deterministic: the program waits for the specializer.
const MODES: &[Mode] = &[
    Mode {
        name: "specializer",
        stress: None,
        environment: &[("CANNY_SPESH_BLOCKING", "1")],
    },
    Mode {
        name: "specializer, collections",
        stress: Some(499),
        environment: &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_GC_POISON", "1")],
    },
    Mode {
        name: "specializer, leaving at random",
        stress: None,
        environment: &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_STRESS", "20")],
    },
];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let seconds = arguments.number("--seconds", 0)?;
    let cases = match (arguments.number("--cases", 200)?, seconds) {
        (cases, 0) => cases,
        _ => u64::MAX,
    };
    let seed = arguments.number("--seed", 1)?;
    let first = arguments.number("--first", 0)?;
    if arguments.flag("--print") {
        print!("{}", generate::program(seed, first));
        return Ok(());
    }
    let time_limit = Duration::from_secs(arguments.number("--timeout", 60)?);
    let canny = workspace::canny(arguments, Profile::Debug)?;
    arguments.finish()?;
    let end = (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds));
    compare_all(&canny, seed, first, cases, end, time_limit)
}

/// The share that `cargo xtask test` runs: a bounded number of programs.
pub fn share(canny: &Path) -> Result<(), String> {
    compare_all(canny, 1, 0, 30, None, Duration::from_secs(120))
}

fn compare_all(
    canny: &Path,
    seed: u64,
    first: u64,
    cases: u64,
    end: Option<Instant>,
    time_limit: Duration,
) -> Result<(), String> {
    let scratch = workspace::scratch_directory("programs")?;
    let kept = workspace::target_directory().join("programs");
    let next = AtomicU64::new(0);
    let differences = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let place = scratch.join(format!("worker-{worker}"));
            let (next, differences, kept) = (&next, &differences, &kept);
            scope.spawn(move || {
                while end.is_none_or(|end| Instant::now() < end) {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= cases {
                        break;
                    }
                    let found = compare(canny, (seed, first + case), time_limit, &place, kept)
                        .unwrap_or_else(|error| vec![error]);
                    if let Ok(mut differences) = differences.lock() {
                        differences.extend(found);
                    }
                }
            });
        }
    });
    let tried = next.into_inner().min(cases);
    let differences = differences.into_inner().unwrap_or_default();
    for difference in &differences {
        eprintln!("{difference}");
    }
    match differences.len() {
        0 => {
            println!(
                "programs: {tried} random programs in {} modes, no difference",
                MODES.len() + 1
            );
            Ok(())
        }
        count => Err(format!("{count} differences in {tried} random programs")),
    }
}

fn compare(
    canny: &Path,
    (seed, case): (u64, u64),
    time_limit: Duration,
    place: &Path,
    kept: &Path,
) -> Result<Vec<String>, String> {
    std::fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let path = place.join(format!("program-{seed}-{case}.scm"));
    workspace::write(&path, generate::program(seed, case))?;
    let plain = run_in_mode(canny, &path, &INTERPRETER, time_limit, place)?;
    if plain.timed_out || plain.code.is_none() {
        let kept = keep(&path, kept)?;
        return Ok(vec![format!(
            "{} in the interpreter: {}; {}",
            kept.display(),
            plain.ending(),
            plain.complaint()
        )]);
    }
    let mut differences = Vec::new();
    for mode in MODES {
        let other = run_in_mode(canny, &path, mode, time_limit, place)?;
        if let Some(difference) = difference(&plain, &other) {
            let kept = keep(&path, kept)?;
            differences.push(format!(
                "{} in mode {}: {difference}",
                kept.display(),
                mode.name
            ));
        }
    }
    std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(differences)
}

/// Copies a program that found something to where it stays.
fn keep(path: &Path, kept: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    let target = kept.join(path.file_name().unwrap_or_default());
    std::fs::copy(path, &target).map_err(|error| format!("{}: {error}", target.display()))?;
    Ok(target)
}

fn run_in_mode(
    canny: &Path,
    program: &Path,
    mode: &Mode,
    time_limit: Duration,
    place: &Path,
) -> Result<Outcome, String> {
    let mut command = Command::new(canny);
    command
        .arg(program)
        .current_dir(place)
        .env("CANNY_CACHE_DIR", place.join("cache"))
        .envs(mode.environment.iter().copied());
    if let Some(interval) = mode.stress {
        command.env("CANNY_GC_STRESS", interval.to_string());
    }
    Run {
        command,
        input: None,
        capture: place.join("capture"),
        time_limit,
    }
    .run()
}
