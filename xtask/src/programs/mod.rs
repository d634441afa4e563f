//! `cargo xtask programs`: random programs must behave the same in every mode of the machine.
//!
//! Each program is generated from a seed and a number ([`generate`]), terminates, catches its own errors and
//! prints what it computes. It runs in the interpreter and in the modes of the specializer; standard output,
//! standard error and exit code are compared byte by byte. A program that differs is kept.

mod batch;
mod campaign;
mod flips;
mod generate;
pub mod random;
mod reduce;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canny_locks::Mutex;

use crate::arguments::Arguments;
use crate::differential::{Mode, difference};
use crate::process::{Outcome, Run};
use crate::workspace::{self, Profile};
use campaign::Campaign;

const HELP: &str = "\
usage: cargo xtask programs [OPTION…]

Generates random programs and compares what they do in the interpreter and with the specializer. There are two
families: `mixed` computes with many types, a process for each program; `flips` changes the kind of globals,
fields, elements, captured variables, arguments and results after code is hot, many programs in a process.
  --family NAME  mixed or flips; both unless given
  --cases N      programs of each family (200)
  --seconds N    stop after so many seconds, whatever --cases says
  --seed N       seed (1)
  --first N      number of the first program (0)
  --print        print the first program instead of running any
  --timeout N    seconds for one run of the family mixed (60)
  --batch N      programs of the family flips in a process (100)
  --mode NAME    a mode of the family flips; may be repeated; all unless given
  --workers N    processes at a time; as many as there are processors unless given
  --reductions N programs of the family flips that are made smaller when they differ (10)
  --canny PATH   the binary to test; without it, cargo builds a debug binary
  --release      let cargo build a release binary

A program that differs is kept in target/programs.
";

const INTERPRETER: Mode = Mode::new("interpreter", None, &[("CANNY_JIT", "0")]);

/// All but the last are deterministic: the program waits for the specializer. In the last one the choice
/// of stitched code depends on time, which must not matter.
const MODES: &[Mode] = &[
    Mode::new("specializer", None, &[("CANNY_SPESH_BLOCKING", "1")]),
    Mode::new(
        "specializer, collections",
        Some(499),
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_GC_POISON", "1")],
    ),
    Mode::new(
        "specializer, leaving at random",
        None,
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_STRESS", "20")],
    ),
    Mode::new(
        "stitched",
        None,
        &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_LIMIT", "0")],
    ),
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
    let family = arguments.option("--family")?;
    let (mixed, flips) = match family.as_deref() {
        None => (true, true),
        Some("mixed") => (true, false),
        Some("flips") => (false, true),
        Some(other) => return Err(format!("--family is mixed or flips, not `{other}`")),
    };
    if arguments.flag("--print") {
        if flips && !mixed {
            print!("{}", flips_file(seed, first))
        } else {
            print!("{}", generate::program(seed, first))
        }
        return Ok(());
    }
    let time_limit = Duration::from_secs(arguments.number("--timeout", 60)?);
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let workers = arguments.number("--workers", workers)?.max(1) as usize;
    let batch = arguments.number("--batch", 100)?.max(1);
    let reductions = arguments.number("--reductions", 10)? as usize;
    let mut modes = Vec::new();
    while let Some(mode) = arguments.first_option("--mode")? {
        modes.push(mode);
    }
    let canny = workspace::canny(arguments, Profile::Debug)?;
    arguments.finish()?;
    let end = (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds));
    if mixed {
        compare_all(&canny, seed, first, cases, end, time_limit)?;
    }
    if !flips {
        return Ok(());
    }
    compare_flips(&Campaign {
        canny,
        seed,
        first,
        cases,
        batch,
        end,
        workers,
        reductions,
        modes,
        verbose: true,
    })
}

/// A program of the family of flips, alone in a file.
fn flips_file(seed: u64, case: u64) -> String {
    batch::file([flips::program(seed, case)].iter(), batch::Order::InTurn)
}

fn compare_flips(campaign: &Campaign) -> Result<(), String> {
    let findings = campaign.run()?;
    println!("programs: flips: {}", findings.summary());
    match findings.differences.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} differences in {} programs with flips",
            findings.programs
        )),
    }
}

/// The share that `cargo xtask test` runs: a bounded number of programs.
pub fn share(canny: &Path) -> Result<(), String> {
    compare_all(canny, 1, 0, 30, None, Duration::from_secs(120))?;
    compare_flips(&Campaign {
        canny: canny.to_path_buf(),
        seed: 1,
        first: 0,
        cases: 400,
        batch: 100,
        end: None,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        reductions: 3,
        modes: Vec::new(),
        verbose: false,
    })
}

fn compare_all(
    canny: &Path,
    seed: u64,
    first: u64,
    cases: u64,
    end: Option<Instant>,
    time_limit: Duration,
) -> Result<(), String> {
    let name = format!("programs-{}", std::process::id());
    let scratch = workspace::scratch_directory(&name)?;
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
                    differences.lock().extend(found);
                }
            });
        }
    });
    let tried = next.into_inner().min(cases);
    let differences = differences.into_inner();
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
