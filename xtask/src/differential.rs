//! `cargo xtask differential`: every test program must behave the same whatever collector and specializer do.
//!
//! Each program runs once plainly and once per stress mode; standard output, standard error and exit
//! code are compared byte by byte. The stress modes are the environment variables that `canny --help`
//! lists. Without `--all` a share that fits a CI run is taken.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use canny_locks::Mutex;

use crate::arguments::Arguments;
use crate::process::{Outcome, Run};
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask differential [OPTION…] [FILE…]

Runs tests/conformance, tests/srfi, tests/torture, tests/regress and examples, or the files given, plainly and
under collector stress, and compares what they do.
  --all          every mode, also collection at very many allocations, and the specializer
                 off, eager, and leaving its code at random; takes minutes
  --debugger     the programs stop everywhere, or are stepped through, also as `canny debug`
                 compiles them; those of crates/cli/tests/run too
  --timeout N    seconds for one run (300)
  --canny PATH   the binary to test; without it, cargo builds a debug binary
  --release      let cargo build a release binary
";

/// Where the programs are.
const DIRECTORIES: &[&str] = &[
    "tests/conformance",
    "tests/srfi",
    "tests/torture",
    "tests/regress",
    "examples",
];

/// Programs of one file whose errors are compared, too.
const RUN_DIRECTORY: &str = "crates/cli/tests/run";

pub struct Mode {
    pub name: &'static str,
    /// A collection at every so many allocations.
    pub stress: Option<u64>,
    pub environment: &'static [(&'static str, &'static str)],
    /// The program is run by `canny debug`. Its backtraces show more, so standard error may differ.
    pub is_debugged: bool,
}

impl Mode {
    /// A mode of programs that nobody debugs.
    pub const fn new(
        name: &'static str,
        stress: Option<u64>,
        environment: &'static [(&'static str, &'static str)],
    ) -> Mode {
        Mode {
            name,
            stress,
            environment,
            is_debugged: false,
        }
    }
}

const PLAIN: Mode = Mode::new("plain", None, &[]);

/// A program under which every collection is expensive.
struct Slow {
    program: &'static str,
    /// Collections under stress come so many times more rarely.
    factor: u64,
    /// For the reader of this table.
    #[expect(
        dead_code,
        reason = "the table must say why, the program does not need to"
    )]
    reason: &'static str,
}

const SLOW: &[Slow] = &[Slow {
    program: "tests/torture/tail-calls.scm",
    factor: 20,
    reason: "recurses a million frames deep, and each collection walks the whole stack",
}];

/// Code is stitched as soon as a log has it, and nothing is compiled.
const STITCHED: Mode = Mode::new(
    "stitched",
    None,
    &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_LIMIT", "0")],
);

/// One program in so many stops everywhere in the CI share.
const DEBUGGED_SHARE: usize = 8;

/// The modes of the CI share.
const SHARE: &[Mode] = &[
    Mode::new(
        "stress",
        Some(997),
        &[("CANNY_GC_POISON", "1"), ("CANNY_NURSERY", "262144")],
    ),
    STITCHED,
];

/// The modes of `--all`.
const ALL: &[Mode] = &[
    Mode::new("stress-often", Some(61), &[("CANNY_GC_POISON", "1")]),
    Mode::new(
        "verify",
        Some(4999),
        &[("CANNY_GC_VERIFY", "1"), ("CANNY_GC_POISON", "1")],
    ),
    Mode::new("small-nursery", None, &[("CANNY_NURSERY", "65536")]),
    Mode::new("stress", Some(997), &[("CANNY_GC_POISON", "1")]),
    Mode::new("interpreter", None, &[("CANNY_JIT", "0")]),
    STITCHED,
    // Everything that runs twice is compiled, before the program continues.
    Mode::new(
        "eager",
        Some(4999),
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_SPESH_VERIFY", "1"),
            ("CANNY_GC_POISON", "1"),
        ],
    ),
    Mode::new(
        "leave-often",
        Some(997),
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_SPESH_STRESS", "20"),
            ("CANNY_GC_POISON", "1"),
        ],
    ),
    Mode::new(
        "leave-always",
        None,
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_SPESH_STRESS", "1"),
        ],
    ),
];

/// The modes of `--debugger`.
const DEBUGGER: &[Mode] = &[
    BREAKS,
    Mode::new(
        "breaks in compiled code",
        None,
        &[
            ("CANNY_DEBUG_BREAKS", "2"),
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
        ],
    ),
    Mode::new(
        "breaks and collections",
        Some(997),
        &[("CANNY_DEBUG_BREAKS", "2"), ("CANNY_GC_POISON", "1")],
    ),
    Mode::new("steps", None, &[("CANNY_DEBUG_STEPS", "3000")]),
    Mode {
        is_debugged: true,
        ..Mode::new("breaks for debugging", None, &[("CANNY_DEBUG_BREAKS", "3")])
    },
    Mode {
        is_debugged: true,
        ..Mode::new(
            "steps for debugging",
            None,
            &[("CANNY_DEBUG_STEPS", "3000")],
        )
    },
];

/// Each place of the program stops a few times.
const BREAKS: Mode = Mode::new("breaks", None, &[("CANNY_DEBUG_BREAKS", "3")]);

/// The variables of these modes.
const DEBUGGING: [&str; 2] = ["CANNY_DEBUG_BREAKS", "CANNY_DEBUG_STEPS"];

/// A program that notices the debugger.
struct Exception {
    program: &'static str,
    /// Only if it is compiled for debugging.
    only_if_debugged: bool,
    #[expect(
        dead_code,
        reason = "the table must say why, the program does not need to"
    )]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        program: "tests/conformance/supplies.scm",
        only_if_debugged: false,
        reason: "counts what an emitter that is being cancelled emits meanwhile",
    },
    Exception {
        program: "tests/conformance/generic-functions.scm",
        only_if_debugged: true,
        reason: "counts call sites, which depend on the optimizer",
    },
    Exception {
        program: "tests/regress/continuations-of-tasks.scm",
        only_if_debugged: false,
        reason: "reports the numbers of tasks, which depend on the order of requests",
    },
];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let all = arguments.flag("--all");
    let debugger = arguments.flag("--debugger");
    let time_limit = Duration::from_secs(arguments.number("--timeout", 300)?);
    let canny = workspace::canny(arguments, Profile::Debug)?;
    let given = arguments.finish()?;
    let programs = if given.is_empty() {
        let mut programs = programs();
        if debugger {
            let directory = workspace::root().join(RUN_DIRECTORY);
            programs.extend(workspace::files(&directory, "scm"));
        }
        programs
    } else {
        given
            .iter()
            .map(|file| std::fs::canonicalize(file).map_err(|error| format!("{file}: {error}")))
            .collect::<Result<_, _>>()?
    };
    let modes = match (debugger, all) {
        (true, _) => DEBUGGER,
        (false, true) => ALL,
        (false, false) => SHARE,
    };
    compare_all(&canny, &programs, modes, time_limit)
}

/// The share that `cargo xtask test` runs.
pub fn share(canny: &Path) -> Result<(), String> {
    let limit = Duration::from_secs(300);
    compare_all(canny, &programs(), SHARE, limit)?;
    let debugged: Vec<PathBuf> = programs().into_iter().step_by(DEBUGGED_SHARE).collect();
    compare_all(canny, &debugged, &[BREAKS], limit)
}

fn programs() -> Vec<PathBuf> {
    let root = workspace::root();
    DIRECTORIES
        .iter()
        .flat_map(|directory| {
            let directory = root.join(directory);
            // Files of subdirectories are inputs of the programs.
            workspace::files(&directory, "scm")
                .into_iter()
                .filter(move |path| path.parent() == Some(directory.as_path()))
        })
        .collect()
}

fn compare_all(
    canny: &Path,
    programs: &[PathBuf],
    modes: &[Mode],
    time_limit: Duration,
) -> Result<(), String> {
    let scratch = workspace::scratch_directory("differential")?;
    let next = AtomicUsize::new(0);
    let differences = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let place = scratch.join(format!("worker-{worker}"));
            let (next, differences) = (&next, &differences);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(program) = programs.get(index) else {
                        break;
                    };
                    let found = compare(canny, program, modes, time_limit, &place)
                        .unwrap_or_else(|error| vec![error]);
                    differences.lock().extend(found);
                }
            });
        }
    });
    let differences = differences.into_inner();
    for difference in &differences {
        eprintln!("{difference}");
    }
    match differences.len() {
        0 => {
            println!(
                "differential: {} programs in {} modes, no difference",
                programs.len(),
                modes.len() + 1
            );
            Ok(())
        }
        count => Err(format!("{count} differences")),
    }
}

/// The differences between the plain run of a program and its other runs.
fn compare(
    canny: &Path,
    program: &Path,
    modes: &[Mode],
    time_limit: Duration,
    place: &Path,
) -> Result<Vec<String>, String> {
    let plain = run_in_mode(canny, program, &PLAIN, time_limit, place)?;
    let mut differences = Vec::new();
    if plain.timed_out {
        return Ok(vec![format!(
            "{}: the plain run times out",
            program.display()
        )]);
    }
    for mode in modes.iter().filter(|mode| !is_exception(program, mode)) {
        let other = run_in_mode(canny, program, mode, time_limit, place)?;
        let errors = if mode.is_debugged {
            plain.errors.clone()
        } else {
            other.errors.clone()
        };
        let other = Outcome { errors, ..other };
        if let Some(difference) = difference(&plain, &other) {
            differences.push(format!(
                "{} in mode {}: {difference}",
                program.display(),
                mode.name
            ));
        }
    }
    Ok(differences)
}

/// Whether a program is known to behave in another way in a mode of the debugger.
fn is_exception(program: &Path, mode: &Mode) -> bool {
    let is_debugger = |(name, _): &(&str, &str)| DEBUGGING.contains(name);
    mode.environment.iter().any(is_debugger)
        && EXCEPTIONS.iter().any(|exception| {
            program.ends_with(exception.program)
                && (mode.is_debugged || !exception.only_if_debugged)
        })
}

/// The first difference between two runs of a program.
pub fn difference(plain: &Outcome, other: &Outcome) -> Option<String> {
    if plain.code != other.code || other.timed_out {
        return Some(format!(
            "{} instead of {}; {}",
            other.ending(),
            plain.ending(),
            other.complaint()
        ));
    }
    let streams = [
        ("standard output", plain.output_text(), other.output_text()),
        ("standard error", plain.errors_text(), other.errors_text()),
    ];
    streams.iter().find_map(|(name, plain, other)| {
        if plain == other {
            return None;
        }
        let pairs = plain.lines().zip(other.lines()).enumerate();
        let first = pairs.into_iter().find(|(_, (plain, other))| plain != other);
        Some(match first {
            Some((index, (plain, other))) => {
                format!(
                    "line {} of {name} is `{other}` instead of `{plain}`",
                    index + 1
                )
            }
            None => format!(
                "{name} has {} bytes instead of {}",
                other.len(),
                plain.len()
            ),
        })
    })
}

/// Runs a program of the tree. The programs write files into the current directory, so each worker
/// has a place of its own; their input files are found through links there.
fn run_in_mode(
    canny: &Path,
    program: &Path,
    mode: &Mode,
    time_limit: Duration,
    place: &Path,
) -> Result<Outcome, String> {
    std::fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut command = Command::new(canny);
    if mode.is_debugged {
        command.arg("debug");
    }
    command
        .args(options_of(program))
        .arg(program)
        .current_dir(place)
        .env("CANNY_CACHE_DIR", place.join("cache"))
        .envs(mode.environment.iter().copied());
    if let Some(interval) = mode.stress {
        let interval = interval * stress_factor(program);
        command.env("CANNY_GC_STRESS", interval.to_string());
    }
    let input = example_input(program);
    let capture = place.join("capture");
    Run {
        command,
        input: input.as_deref(),
        capture,
        time_limit,
    }
    .run()
}

/// A first line `;;; options: WORD…` gives options that stand before the file name.
fn options_of(program: &Path) -> Vec<String> {
    let text = std::fs::read(program).unwrap_or_default();
    let first = text.split(|byte| *byte == b'\n').next();
    let first = String::from_utf8_lossy(first.unwrap_or_default());
    let options = first.strip_prefix(";;; options: ").unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}

fn stress_factor(program: &Path) -> u64 {
    SLOW.iter()
        .find(|slow| program.ends_with(slow.program))
        .map_or(1, |slow| slow.factor)
}

/// `examples/input/NAME.txt` is the standard input of `examples/NAME.scm`.
fn example_input(program: &Path) -> Option<PathBuf> {
    let name = program.file_stem()?.to_string_lossy().into_owned();
    let path = program.parent()?.join("input").join(format!("{name}.txt"));
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: i32, output: &str) -> Outcome {
        Outcome {
            code: Some(code),
            timed_out: false,
            output: output.as_bytes().to_vec(),
            errors: Vec::new(),
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            peak_bytes: 0,
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(
            difference(&outcome(0, "a\nb\n"), &outcome(0, "a\nb\n")),
            None
        );
        let told = difference(&outcome(0, "a\nb\n"), &outcome(0, "a\nc\n")).unwrap_or_default();
        assert!(told.contains("line 2"), "{told}");
        assert!(difference(&outcome(0, "a"), &outcome(1, "a")).is_some());
        assert!(difference(&outcome(0, "a\n"), &outcome(0, "a\nb\n")).is_some());
    }
}
