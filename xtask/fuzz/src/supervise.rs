//! Does the work of each target in another process, since a signal may end it.
//!
//! The process writes its newest case to a file, and whether the other engine runs. So work goes on
//! behind a case that has ended by a signal, and signals of the other engine are no findings.

use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use crate::watch::{self, Newest};
use crate::{Options, TARGETS, WORKER};

/// Most signals in a run of a target: with more, something is wrong with all cases.
const SIGNALS_MAX: usize = 50;

/// Runs the chosen targets.
pub fn run(options: &Options) -> ExitCode {
    let names = TARGETS.iter().map(|target| target.name);
    let chosen = names.filter(|name| [*name, "all"].contains(&options.target.as_str()));
    let mut is_fine = true;
    for name in chosen {
        is_fine &= run_target(name, options);
    }
    if is_fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Whether a target has no findings.
fn run_target(name: &str, options: &Options) -> bool {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (mut first, mut cases) = (options.first, options.cases);
    let mut is_fine = true;
    for _ in 0..SIGNALS_MAX {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || cases == 0 {
            return is_fine;
        }
        let numbers = [
            ("--seconds", left.as_secs().max(1)),
            ("--seed", options.seed),
            ("--first", first),
            ("--cases", cases),
        ];
        let (status, newest) = match work(name, &numbers) {
            Ok(ended) => ended,
            Err(error) => {
                eprintln!("the fuzzer does not start: {error}");
                return false;
            }
        };
        if let Some(code) = status.code() {
            return is_fine && code == 0;
        }
        let Some(newest) = newest else {
            eprintln!("{name}: {status} before the first case");
            return false;
        };
        let again = &newest.words;
        if newest.is_of_others {
            eprintln!("{name}: left out, since the other engine has {status}: {again}");
        } else {
            eprintln!("{name}: a finding: {status}; again: {again}");
            is_fine = false;
        }
        cases = cases.saturating_sub(newest.number + 1 - first);
        first = newest.number + 1;
    }
    eprintln!("{name}: {SIGNALS_MAX} signals");
    false
}

/// Runs a process to its end; gives its newest case too.
fn work(name: &str, numbers: &[(&str, u64)]) -> std::io::Result<(ExitStatus, Option<Newest>)> {
    let own_number = std::process::id();
    let mut command = Command::new(std::env::current_exe()?);
    command.env(WORKER, own_number.to_string()).arg(name);
    for (option, number) in numbers {
        command.args([(*option).to_owned(), number.to_string()]);
    }
    let status = command.status()?;
    Ok((status, watch::take_newest(own_number)))
}
