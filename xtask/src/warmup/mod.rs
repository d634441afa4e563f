//! `cargo xtask warmup`: how soon programs are fast, and what that costs those that end before.
//!
//! Each program runs in a harness that reads the clock at every iteration, several times; the figures
//! are medians of the runs. Then it runs with `--spesh-report`, which tells how long it waited for the
//! specializer. Short programs run with the specializer and without it in turns. No time is asserted.

mod cold;
mod pauses;
mod programs;
mod report;
mod samples;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::arguments::Arguments;
use crate::bench::engines::{Engine, Prepared};
use crate::bench::measure::run_once;
use crate::bench::programs::{Group, Program};
use crate::process::Outcome;
use crate::workspace::{self, Profile};
use pauses::Pauses;
use programs::Pace;
use report::{Measured, Row};
use samples::Samples;

const HELP: &str = "\
usage: cargo xtask warmup [OPTION…]

Measures how long each program takes, from the start of its process, until its iterations run at 90 % of \
peak speed;
how long it waits for the specializer at most; and what the specializer costs programs that end after ten \
milliseconds.
  --suite PATH    also measure r7rs-benchmarks checked out at PATH
  --only A,B      only these programs; `cold` for the short ones
  --rounds N      runs of each program of which the medians count (3)
  --seconds N     how long a run lasts; peak speed is that of its last quarter (3)
  --cold N        alternating runs of each short program (200)
  --canny PATH    the binary to measure; without it, cargo builds a release binary
  --csv           print the CSV too

CSV files are written to target/warmup/.
";

/// The name of the short programs for `--only`.
const COLD: &str = "cold";
const SAMPLE_SECONDS: f64 = 0.001;

struct Plan {
    canny: PathBuf,
    rounds: usize,
    limit: Duration,
    scratch: PathBuf,
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let suite = arguments.path("--suite")?;
    let only = arguments.option("--only")?;
    let rounds = arguments.number("--rounds", 3)?.max(1) as usize;
    let seconds = arguments.number("--seconds", 3)?.max(1);
    let cold_rounds = arguments.number("--cold", 200)?.max(1) as usize;
    let print_csv = arguments.flag("--csv");
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());

    let plan = Plan {
        canny,
        rounds,
        // An iteration that began in time is waited for.
        limit: Duration::from_secs(seconds + 60),
        scratch: workspace::scratch_directory("warmup")?,
    };
    let pace = Pace {
        seconds: seconds as f64,
        sample_seconds: SAMPLE_SECONDS,
    };
    let mut all = programs::all(suite.as_deref(), &plan.scratch, pace)?;
    if let Some(names) = &only {
        let is_known = |name: &str| name == COLD || all.iter().any(|it| it.name == name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(format!("there is no program `{unknown}`"));
        }
        all.retain(|program| names.contains(&program.name.as_str()));
    }
    let rows = plan.measure_all(&all)?;
    let cold = if only.is_none_or(|names| names.contains(&COLD)) {
        cold::measure(&plan.canny, cold_rounds, plan.limit, &plan.scratch)?
    } else {
        Vec::new()
    };
    eprintln!("\r{:<60}", "");
    write(&rows, &cold, print_csv)?;
    match rows.iter().filter(|row| row.result.is_err()).count() {
        0 => Ok(()),
        count => Err(format!("{count} programs were not measured")),
    }
}

fn write(rows: &[Row], cold: &[cold::Cold], print_csv: bool) -> Result<(), String> {
    let out = workspace::target_directory().join("warmup");
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    if !rows.is_empty() {
        print!("{}", report::text(rows));
        for (name, why) in programs::WITHOUT_ITERATIONS {
            println!("left out: {name} {why}");
        }
        let csv = report::csv(rows);
        workspace::write(&out.join("results.csv"), &csv)?;
        if print_csv {
            print!("{csv}");
        }
    }
    if !cold.is_empty() {
        print!("{}", report::cold_text(cold));
        let csv = report::cold_csv(cold);
        workspace::write(&out.join("cold.csv"), &csv)?;
        if print_csv {
            print!("{csv}");
        }
    }
    println!("written to {}", out.display());
    Ok(())
}

impl Plan {
    fn measure_all(&self, programs: &[Program]) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for program in programs {
            eprint!("\r{:<60}", program.name);
            let group = match program.group {
                Group::Own => "own",
                Group::Suite => "suite",
                Group::InputOutput => "input and output",
                Group::Guests => "WebAssembly",
            };
            // The two groups share names.
            let place = self.scratch.join(group).join("programs");
            std::fs::create_dir_all(&place)
                .map_err(|error| format!("{}: {error}", place.display()))?;
            rows.push(Row {
                group,
                program: program.name.clone(),
                result: self.measure(program, &place)?,
            });
        }
        Ok(rows)
    }

    /// The inner error is the program's.
    fn measure(&self, program: &Program, place: &Path) -> Result<Result<Measured, String>, String> {
        let prepared = match Engine::canny(&self.canny).prepare(program, place) {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return Ok(Err("canny has no version of it".to_owned())),
            Err(message) => return Ok(Err(message)),
        };
        let mut warm_ups = Vec::new();
        for _ in 0..self.rounds {
            let started = since_epoch()?;
            let outcome = match self.run(program, &prepared)? {
                Ok(outcome) => outcome,
                Err(message) => return Ok(Err(message)),
            };
            let samples = Samples::parse(&outcome.output_text(), started);
            match samples.map(|samples| samples.warm_up()) {
                Ok(Some(warm_up)) => warm_ups.push(warm_up),
                Ok(None) => return Ok(Err("its iterations are too long".to_owned())),
                Err(message) => return Ok(Err(message)),
            }
        }
        let Some(warm_up) = samples::median_warm_up(&warm_ups) else {
            return Ok(Err("it did not run".to_owned()));
        };
        let runs = warm_ups.len();
        Ok(self.pauses(program, prepared)?.map(|pauses| Measured {
            warm_up,
            pauses,
            runs,
        }))
    }

    /// The run whose longest pause is in the middle.
    fn pauses(
        &self,
        program: &Program,
        mut prepared: Prepared,
    ) -> Result<Result<Pauses, String>, String> {
        prepared.add_option("--spesh-report");
        let mut runs = Vec::new();
        for _ in 0..self.rounds {
            let pauses = match self.run(program, &prepared)? {
                Ok(outcome) => Pauses::parse(&outcome.errors_text()),
                Err(message) => Err(message),
            };
            match pauses {
                Ok(pauses) => runs.push(pauses),
                Err(message) => return Ok(Err(message)),
            }
        }
        runs.sort_by_key(|pauses| pauses.longest);
        let middle = runs.len() / 2;
        Ok(Ok(runs.swap_remove(middle)))
    }

    fn run(
        &self,
        program: &Program,
        prepared: &Prepared,
    ) -> Result<Result<Outcome, String>, String> {
        run_once(program, prepared, self.limit, &self.scratch)
    }
}

fn since_epoch() -> Result<Duration, String> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|error| format!("the clock is before 1970: {error}"))
}
