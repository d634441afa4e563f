//! The cost of the specializer for a program that ends before it can gain: short programs run with
//! it and without it in turns, very often.

use std::path::Path;
use std::time::Duration;

use crate::bench::engines::{Engine, Prepared};
use crate::bench::measure::{median, run_once};
use crate::bench::programs::{Check, Group, Program};
use crate::process;

/// The environment variable that turns the specializer off, and its value.
const SWITCH: (&str, &str) = ("CANNY_JIT", "0");

/// Name, source, output; each is done after some ten milliseconds.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("lists", include_str!("cold/lists.scm"), "1844 27"),
    ("tables", include_str!("cold/tables.scm"), "505 48"),
    ("text", include_str!("cold/text.scm"), "285010"),
];

/// Ratios of a program's times with the specializer to those without.
#[derive(Clone, Debug)]
pub struct Cold {
    pub program: &'static str,
    /// Without it.
    pub wall_seconds: f64,
    pub processor_seconds: f64,
    pub wall_ratio: f64,
    pub processor_ratio: f64,
    pub rounds: usize,
}

/// Times of one kind of run.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    processor: Vec<f64>,
}

pub fn measure(
    canny: &Path,
    rounds: usize,
    limit: Duration,
    scratch: &Path,
) -> Result<Vec<Cold>, String> {
    let engine = Engine::canny(canny);
    let mut results = Vec::new();
    for (name, source, output) in PROGRAMS {
        let program = Program {
            name: (*name).to_owned(),
            group: Group::Own,
            scheme: (*source).to_owned(),
            closing: String::new(),
            versions: Vec::new(),
            guest: None,
            input: None,
            directory: None,
            check: Check::Output((*output).to_owned()),
        };
        let prepare = || {
            let prepared = engine.prepare(&program, scratch)?;
            prepared.ok_or_else(|| format!("canny has no version of {name}"))
        };
        let with = prepare()?;
        let mut without = prepare()?;
        without.set(SWITCH.0, SWITCH.1);
        for prepared in [&with, &without] {
            run_once(&program, prepared, limit, scratch)?
                .map_err(|message| format!("{name}: {message}"))?;
        }
        results.push(alternate(name, &with, &without, rounds)?);
    }
    Ok(results)
}

fn alternate(
    program: &'static str,
    with: &Prepared,
    without: &Prepared,
    rounds: usize,
) -> Result<Cold, String> {
    let mut times = [Times::default(), Times::default()];
    for round in 0..rounds {
        eprint!("\rcold {program}: round {round:<20}");
        // The first of them changes, so that neither always follows the other.
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let prepared = [with, without][which];
            let (wall, processor) = process::quiet_times(prepared.command())?;
            times[which].wall.push(wall.as_secs_f64());
            times[which].processor.push(processor.as_secs_f64());
        }
    }
    let [with, without] = &times;
    Ok(Cold {
        program,
        wall_seconds: median(&without.wall),
        processor_seconds: median(&without.processor),
        wall_ratio: median(&with.wall) / median(&without.wall),
        processor_ratio: median(&with.processor) / median(&without.processor),
        rounds,
    })
}
