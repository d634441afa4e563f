//! Runs programs of the family of flips, many in a process and in all modes, and minimizes what
//! differs.
//!
//! The interpreter's output is the reference; a program that fails there is no finding. A program
//! depends on seed and number only. A difference is first attributed to the fewest programs of its
//! batch, then reduced and kept.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use canny_locks::Mutex;

use super::batch::{Order, differing, file};
use super::flips::{Pace, Program, program};
use super::reduce::reduce;
use crate::differential::{Mode, difference};
use crate::process::{Outcome, Run};
use crate::workspace;

/// Where the specializer's log goes in modes whose logs are read.
const LOG: &str = "specializer.log";

/// How long making a program smaller may take.
const REDUCTION_MAX: Duration = Duration::from_secs(40);

/// Programs of a batch that did not end that are tried alone.
const SUSPECTS_MAX: usize = 4;

/// A mode in which programs of this family run.
struct FlipMode {
    mode: Mode,
    /// Of which programs.
    pace: Pace,
    /// Every so many batches of them, beginning with this one. A mode with pauses has its turn when
    /// programs run part by part.
    turn: (u64, u64),
    /// Nobody waits for the compiler: the program sleeps so many milliseconds after each part.
    pause: Option<&'static str>,
}

const INTERPRETER: Mode = Mode::new("interpreter", None, &[("CANNY_JIT", "0")]);

const fn mode(
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    pace: Pace,
    turn: (u64, u64),
) -> FlipMode {
    FlipMode {
        mode: Mode::new(name, None, environment),
        pace,
        turn,
        pause: None,
    }
}

/// In this mode each graph is checked, and the specializer's log may tell of no internal error: what
/// fails to compile runs in the interpreter, which no output shows.
const VERIFIED: &str = "blocking-verified";
const VERIFIED_EAGER: &str = "eager-verified";

const MODES: &[FlipMode] = &[
    mode(
        "blocking",
        &[("CANNY_SPESH_BLOCKING", "1")],
        Pace::Hot,
        (1, 0),
    ),
    mode(
        "blocking-exits",
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_STRESS", "20")],
        Pace::Hot,
        (2, 0),
    ),
    FlipMode {
        mode: Mode::new(
            "blocking-collections",
            Some(499),
            &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_GC_POISON", "1")],
        ),
        pace: Pace::Hot,
        turn: (4, 1),
        pause: None,
    },
    mode(
        VERIFIED,
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_VERIFY", "1")],
        Pace::Hot,
        (8, 5),
    ),
    FlipMode {
        pause: Some("25"),
        ..mode("default", &[], Pace::Hot, (4, 3))
    },
    mode(
        "eager",
        &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_BLOCKING", "1")],
        Pace::Eager,
        (2, 0),
    ),
    mode(
        "eager-exits",
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_SPESH_STRESS", "7"),
        ],
        Pace::Eager,
        (2, 1),
    ),
    mode(
        VERIFIED_EAGER,
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_SPESH_VERIFY", "1"),
        ],
        Pace::Eager,
        (8, 6),
    ),
    FlipMode {
        pause: Some("10"),
        ..mode(
            "stitched",
            &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_LIMIT", "0")],
            Pace::Hot,
            (4, 1),
        )
    },
    FlipMode {
        pause: Some("10"),
        ..mode(
            "eager-background",
            &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_STRESS", "7")],
            Pace::Eager,
            (4, 0),
        )
    },
];

/// The options of a campaign.
pub struct Campaign {
    pub canny: PathBuf,
    pub seed: u64,
    pub first: u64,
    pub cases: u64,
    /// Programs in a process.
    pub batch: u64,
    pub end: Option<Instant>,
    pub workers: usize,
    /// Programs that are made smaller, at most.
    pub reductions: usize,
    /// Names of modes; all if empty.
    pub modes: Vec<String>,
    /// Where lines about progress go.
    pub verbose: bool,
}

/// The work done so far and its findings.
#[derive(Default)]
pub struct Findings {
    pub programs: u64,
    /// Programs run in each mode, in the order of the table.
    by_mode: Vec<(&'static str, u64)>,
    pub differences: Vec<String>,
    /// Processor time of all runs.
    cpu: Duration,
}

impl Findings {
    /// Counts by mode, for people.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} programs, {:.0} s of processor time, {} differences;",
            self.programs,
            self.cpu.as_secs_f64(),
            self.differences.len()
        );
        for (name, count) in &self.by_mode {
            let _ = write!(text, " {name} {count}");
        }
        text
    }
}

impl Campaign {
    pub fn run(&self) -> Result<Findings, String> {
        for name in &self.modes {
            if !MODES.iter().any(|mode| mode.mode.name == name) {
                let known: Vec<&str> = MODES.iter().map(|mode| mode.mode.name).collect();
                return Err(format!(
                    "there is no mode `{name}`; there are {}",
                    known.join(", ")
                ));
            }
        }
        // Two campaigns at once must not read each other's programs.
        let name = format!("flips-{}", std::process::id());
        let scratch = workspace::scratch_directory(&name)?;
        let findings = Mutex::new(Findings {
            by_mode: self.modes().map(|mode| (mode.mode.name, 0)).collect(),
            ..Findings::default()
        });
        let next = AtomicU64::new(0);
        let reductions = AtomicUsize::new(self.reductions);
        let error = Mutex::new(None);
        std::thread::scope(|scope| {
            for worker in 0..self.workers {
                let bench = Bench {
                    campaign: self,
                    place: scratch.join(format!("worker-{worker}")),
                    kept: workspace::target_directory().join("programs"),
                    findings: &findings,
                    reductions: &reductions,
                    reported: Default::default(),
                };
                let (next, error) = (&next, &error);
                scope.spawn(move || {
                    while self.end.is_none_or(|end| Instant::now() < end) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number * self.batch >= self.cases {
                            break;
                        }
                        if let Err(message) = bench.batch(number) {
                            *error.lock() = Some(message);
                            break;
                        }
                    }
                });
            }
        });
        match error.into_inner() {
            Some(message) => Err(message),
            None => Ok(findings.into_inner()),
        }
    }

    fn modes(&self) -> impl Iterator<Item = &'static FlipMode> {
        MODES.iter().filter(|mode| {
            self.modes.is_empty() || self.modes.iter().any(|name| name == mode.mode.name)
        })
    }
}

/// The state of one worker.
struct Bench<'c> {
    campaign: &'c Campaign,
    place: PathBuf,
    kept: PathBuf,
    findings: &'c Mutex<Findings>,
    reductions: &'c AtomicUsize,
    /// Programs that were found to differ in one mode and are not looked at in others.
    reported: std::cell::RefCell<std::collections::BTreeSet<u64>>,
}

/// How a file ended in the interpreter and in a mode.
struct Pair {
    plain: Outcome,
    /// Nothing if the program fails in the interpreter.
    other: Option<Outcome>,
}

impl Pair {
    /// The difference in standard output and exit code; nothing if the program fails in the
    /// interpreter.
    fn difference(&self) -> Option<String> {
        difference(&self.plain, self.other.as_ref()?)
    }

    fn hangs(&self) -> bool {
        self.other.as_ref().is_some_and(|other| other.timed_out)
    }

    /// Whether the lines of a program differ.
    fn differs_at(&self, tag: u64) -> bool {
        self.other.as_ref().is_some_and(|other| {
            differing(&self.plain.output_text(), &other.output_text()).contains(&tag)
        })
    }
}

impl Bench<'_> {
    fn findings(&self) -> canny_locks::MutexGuard<'_, Findings> {
        self.findings.lock()
    }

    /// Runs the programs of a batch in all modes.
    fn batch(&self, number: u64) -> Result<(), String> {
        std::fs::create_dir_all(&self.place)
            .map_err(|e| format!("{}: {e}", self.place.display()))?;
        let Campaign {
            seed,
            first,
            batch,
            cases,
            ..
        } = *self.campaign;
        let numbers = first + number * batch..first + ((number + 1) * batch).min(cases);
        let programs: Vec<Program> = numbers.map(|case| program(seed, case)).collect();
        let pace = Pace::of(first + number * batch);
        // Paces alternate from batch to batch: this counts those of one pace.
        let turn = number / 2;
        let order = match turn % 8 {
            1 | 2 | 6 => Order::InTurn,
            _ => Order::ByPart,
        };
        let text = file(programs.iter(), order);
        let plain = self.run_text(&text, &INTERPRETER, None, Duration::from_secs(60))?;
        if plain.timed_out || plain.code != Some(0) {
            self.broken(&programs, &plain)?;
            return Ok(());
        }
        for mode in self.campaign.modes() {
            let (every, from) = mode.turn;
            if mode.pace != pace || turn % every != from {
                continue;
            }
            let other = self.run_text(
                &text,
                &mode.mode,
                mode.pause,
                limit(plain.wall, programs.len()),
            )?;
            self.count(mode, programs.len() as u64);
            self.look_for_internal_errors(mode, &programs, &text)?;
            if difference(&plain, &other).is_some() {
                self.single_out(mode, &programs, order, &plain, &other)?;
            }
        }
        let summary = {
            let mut findings = self.findings();
            findings.programs += programs.len() as u64;
            findings.summary()
        };
        if self.campaign.verbose && number % 5 == 4 {
            eprintln!("{summary}");
        }
        Ok(())
    }

    /// Whether the specializer's log of the last run tells of a plan that failed.
    fn look_for_internal_errors(
        &self,
        mode: &FlipMode,
        programs: &[Program],
        text: &str,
    ) -> Result<(), String> {
        let path = self.place.join(LOG);
        if !path.exists() {
            return Ok(());
        }
        let log = workspace::read(&path)?;
        std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let Some(line) = log.lines().find(|line| line.contains("internal error")) else {
            return Ok(());
        };
        let tag = programs.first().map_or(0, |program| program.tag);
        let kept = self.keep(tag, mode.mode.name, text)?;
        self.found(format!("{}: {line}", kept.display()));
        Ok(())
    }

    fn count(&self, mode: &FlipMode, programs: u64) {
        let mut findings = self.findings();
        for (name, count) in &mut findings.by_mode {
            if *name == mode.mode.name {
                *count += programs;
            }
        }
    }

    /// The interpreter does not run a batch to its end: tells which program it was.
    fn broken(&self, programs: &[Program], outcome: &Outcome) -> Result<(), String> {
        for program in programs {
            let text = file(std::iter::once(program), Order::InTurn);
            let alone = self.run_text(&text, &INTERPRETER, None, Duration::from_secs(20))?;
            if alone.timed_out || alone.code != Some(0) {
                let path = self.keep(program.tag, "interpreter", &text)?;
                self.found(format!(
                    "{}: {}; {}",
                    path.display(),
                    alone.ending(),
                    alone.complaint()
                ));
                return Ok(());
            }
        }
        self.found(format!(
            "programs from {} on, together: {}; {}",
            programs.first().map_or(0, |program| program.tag),
            outcome.ending(),
            outcome.complaint()
        ));
        Ok(())
    }

    fn found(&self, line: String) {
        eprintln!("{line}");
        self.findings().differences.push(line);
    }

    /// Finds out which programs differ, alone or in company.
    fn single_out(
        &self,
        mode: &FlipMode,
        programs: &[Program],
        order: Order,
        plain: &Outcome,
        other: &Outcome,
    ) -> Result<(), String> {
        let ended = !other.timed_out && other.code == Some(0);
        let suspects = if ended {
            suspects(programs, plain, other)
        } else {
            self.first_to_fail(mode, suspects(programs, plain, other), order)?
        };
        if suspects.is_empty() {
            let all = programs.iter().collect();
            let needed = self.company(mode, all, order, |pair| pair.difference().is_some())?;
            return self.report(mode, &needed, order);
        }
        for suspect in suspects {
            if self.reported.borrow().contains(&suspect.tag) {
                self.findings()
                    .differences
                    .push(format!("{} in mode {}", suspect.tag, mode.mode.name));
                continue;
            }
            let alone = vec![suspect];
            let differs = self
                .pair(mode, &file(alone.iter().copied(), order), 1)?
                .difference()
                .is_some();
            if differs {
                self.report(mode, &alone, order)?;
                continue;
            }
            let needed = self.company(mode, programs.iter().collect(), order, |pair| {
                pair.differs_at(suspect.tag)
            })?;
            self.report(mode, &needed, order)?;
        }
        Ok(())
    }

    /// Of a batch that hung or crashed, the first program that does so alone. It is among those whose
    /// lines are missing.
    fn first_to_fail<'p>(
        &self,
        mode: &FlipMode,
        suspects: Vec<&'p Program>,
        order: Order,
    ) -> Result<Vec<&'p Program>, String> {
        for suspect in suspects.into_iter().take(SUSPECTS_MAX) {
            let text = file(std::iter::once(suspect), order);
            if self.pair(mode, &text, 1)?.difference().is_some() {
                return Ok(vec![suspect]);
            }
        }
        Ok(Vec::new())
    }

    /// The fewest programs together of which something still holds.
    fn company<'p>(
        &self,
        mode: &FlipMode,
        mut programs: Vec<&'p Program>,
        order: Order,
        holds: impl Fn(&Pair) -> bool,
    ) -> Result<Vec<&'p Program>, String> {
        let mut tries = 40;
        let mut size = programs.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < programs.len() && tries > 0 {
                tries -= 1;
                let mut fewer = programs.clone();
                fewer.drain(at..(at + size).min(fewer.len()));
                let pair = self.pair(mode, &file(fewer.iter().copied(), order), fewer.len())?;
                if holds(&pair) {
                    programs = fewer
                } else {
                    at += size
                }
            }
            size /= 2;
        }
        Ok(programs)
    }

    /// Keeps what differs, reduced if there is time for it.
    fn report(&self, mode: &FlipMode, programs: &[&Program], order: Order) -> Result<(), String> {
        let mut text = file(programs.iter().copied(), order);
        let tag = programs.last().map_or(0, |program| program.tag);
        self.reported.borrow_mut().insert(tag);
        let pair = self.pair(mode, &text, programs.len())?;
        let Some(what) = pair.difference() else {
            let path = self.keep(tag, mode.mode.name, &text)?;
            self.found(format!(
                "{}: differed in mode {}, but not each time",
                path.display(),
                mode.mode.name
            ));
            return Ok(());
        };
        let mut notes = what;
        let may_reduce = self
            .reductions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok();
        if may_reduce && mode.pause.is_none() {
            let hangs = pair.hangs();
            // A reduced program that takes much longer than the whole does not end any more.
            let limit = Duration::from_secs(1) + pair.plain.wall * 4;
            let end = Instant::now() + REDUCTION_MAX;
            text = reduce(&text, 2000, |text| {
                Instant::now() < end
                    && self
                        .pair_within(mode, text, limit, limit)
                        .is_ok_and(|pair| pair.difference().is_some() && pair.hangs() == hangs)
            });
            let pair = self.pair(mode, &text, 1)?;
            notes = pair.difference().unwrap_or(notes);
            notes.push_str(if hangs { " (hangs)" } else { "" });
            let _ = write!(notes, "; cured without: {}", self.cures(mode, &text)?);
        }
        let environment: Vec<String> = mode
            .mode
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let header = format!(";; {}: {notes}\n", environment.join(" "));
        let path = self.keep(tag, mode.mode.name, &format!("{header}{text}"))?;
        self.found(format!(
            "{} in mode {}: {notes}",
            path.display(),
            mode.mode.name
        ));
        Ok(())
    }

    /// The passes without which a program behaves.
    fn cures(&self, mode: &FlipMode, text: &str) -> Result<String, String> {
        let passes = [
            "inline",
            "number",
            "cold",
            "sink",
            "hoist",
            "boxes",
            "entries",
            "polymorphic",
            "floats",
        ];
        let plain = self.run_text(text, &INTERPRETER, None, Duration::from_secs(20))?;
        let mut cures = Vec::new();
        for pass in passes {
            let mut command = self.command(text, &mode.mode, mode.pause)?;
            command.env("CANNY_SPESH_DISABLE", pass);
            let other = self.run_command(command, limit(plain.wall, 1))?;
            if difference(&plain, &other).is_none() {
                cures.push(pass);
            }
        }
        Ok(cures.join(" "))
    }

    fn keep(&self, tag: u64, mode: &str, text: &str) -> Result<PathBuf, String> {
        std::fs::create_dir_all(&self.kept).map_err(|e| format!("{}: {e}", self.kept.display()))?;
        let path = self
            .kept
            .join(format!("flips-{}-{tag}-{mode}.scm", self.campaign.seed));
        workspace::write(&path, text)?;
        Ok(path)
    }

    fn pair(&self, mode: &FlipMode, text: &str, programs: usize) -> Result<Pair, String> {
        let least = limit(Duration::ZERO, programs);
        self.pair_within(mode, text, Duration::from_secs(20), least)
    }

    /// Runs a file in the interpreter and in a mode. The mode has at least so long, and longer if the
    /// interpreter needs long.
    fn pair_within(
        &self,
        mode: &FlipMode,
        text: &str,
        plain_limit: Duration,
        least: Duration,
    ) -> Result<Pair, String> {
        let plain = self.run_text(text, &INTERPRETER, None, plain_limit)?;
        let other = if plain.timed_out || plain.code != Some(0) {
            None
        } else {
            Some(self.run_text(text, &mode.mode, mode.pause, least + plain.wall * 20)?)
        };
        Ok(Pair { plain, other })
    }

    fn command(&self, text: &str, mode: &Mode, pause: Option<&str>) -> Result<Command, String> {
        let path = self.place.join("programs.scm");
        workspace::write(&path, text)?;
        let mut command = Command::new(&self.campaign.canny);
        command
            .args(["--no-warnings", "--heap-limit", "1G"])
            .arg(Path::new("programs.scm"))
            .current_dir(&self.place)
            .env("CANNY_CACHE_DIR", self.place.join("cache"))
            .envs(mode.environment.iter().copied());
        if let Some(interval) = mode.stress {
            command.env("CANNY_GC_STRESS", interval.to_string());
        }
        if matches!(mode.name, VERIFIED | VERIFIED_EAGER) {
            command.env("CANNY_SPESH_LOG", LOG);
        }
        if let Some(pause) = pause {
            command.env("PROGRAMS_PAUSE", pause);
        }
        Ok(command)
    }

    fn run_text(
        &self,
        text: &str,
        mode: &Mode,
        pause: Option<&str>,
        time_limit: Duration,
    ) -> Result<Outcome, String> {
        self.run_command(self.command(text, mode, pause)?, time_limit)
    }

    fn run_command(&self, command: Command, time_limit: Duration) -> Result<Outcome, String> {
        let outcome = Run {
            command,
            input: None,
            capture: self.place.join("capture"),
            time_limit,
        }
        .run()?;
        self.findings().cpu += outcome.cpu;
        Ok(outcome)
    }
}

/// The programs whose lines differ.
fn suspects<'p>(programs: &'p [Program], plain: &Outcome, other: &Outcome) -> Vec<&'p Program> {
    let tags = differing(&plain.output_text(), &other.output_text());
    let differs = |program: &&Program| tags.contains(&program.tag);
    programs.iter().filter(differs).collect()
}

/// The time limit in a mode for programs that took `plain` in the interpreter, to find those that
/// hang.
fn limit(plain: Duration, programs: usize) -> Duration {
    Duration::from_secs(8) + plain * 20 + Duration::from_millis(100) * programs as u32
}
