//! `cargo xtask bench`: programs × engines × rounds, interleaved, reported as ratios.
//!
//! Every engine runs the same work: our own programs in `benches/` (with a Lua version where there is
//! one) and, given its path, the r7rs-benchmarks collection; or, beside other peers, those in
//! `benches/io`. In a round each engine runs each program once, so that a slow minute of the machine
//! hits all of them. The figure is the median of the process's CPU time; ratios are taken net of the
//! engine's start-up. Answers are checked; a wrong one, an error or a time-out takes the pair out of
//! the tables and is listed. No time is asserted.

mod chart;
pub mod engines;
pub mod guests;
mod inputs;
pub mod measure;
mod operations;
pub mod programs;
mod report;
pub mod suite;

use std::time::Duration;

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask bench [OPTION…]
       cargo xtask bench --operations [OPTION…]   (`--operations --help` has its options)

  --suite PATH    also run the r7rs-benchmarks collection checked out at PATH
  --suite-only    leave out our own programs
  --io            only input and output: the programs of benches/io beside Node, Python, Perl,
                  LuaJIT and the tools of the system; 400 MB of files are made for them
  --wasm          only WebAssembly: the guests of benches/wasm beside wasmi, wasm3, wasmtime and
                  Node; see benches/wasm/README.md
  --keep          leave those files where they are
  --second-runs   canny finds in its cache what a run before left: the compiled program and its
                  profile; otherwise each run has an empty cache
  --rounds N      rounds to take the median of (3)
  --scale N       divide the iteration counts of r7rs-benchmarks by N (10)
  --only A,B      only these programs
  --engines A,B   only these engines besides canny (guile-nojit, chez, luajit-nojit, …)
  --timeout N     seconds after which a program is stopped (300)
  --canny PATH    the binary to measure; without it, cargo builds a release binary
  --baseline PATH another canny to compare with
  --csv           print the CSV too

CSV and SVG files are written to target/bench/.
";

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--operations") {
        return operations::run(arguments);
    }
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let suite = arguments.path("--suite")?;
    let input_output = arguments.flag("--io");
    let wasm = arguments.flag("--wasm");
    let keep = arguments.flag("--keep");
    let second_runs = arguments.flag("--second-runs");
    let suite_only = arguments.flag("--suite-only");
    let rounds = arguments.number("--rounds", 3)?.max(1) as usize;
    let scale = arguments.number("--scale", 10)?.max(1);
    let only = list(arguments.option("--only")?);
    let wanted_engines = list(arguments.option("--engines")?);
    let time_limit = Duration::from_secs(arguments.number("--timeout", 300)?);
    let print_csv = arguments.flag("--csv");
    let baseline = arguments.path("--baseline")?;
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;

    let directory = workspace::scratch_directory("bench")?;
    let benches = workspace::root().join("benches");
    let place = directory.join("io");
    let mut all = if wasm {
        guests::programs(&benches.join("wasm"))?
    } else if input_output {
        programs::input_output(&benches.join("io"), &place)?
    } else {
        programs::own(&benches)?
    };
    if suite_only {
        all.retain(programs::Program::is_start_up);
    }
    if let Some(path) = &suite {
        if input_output || wasm {
            return Err("--io, --wasm and --suite do not go together".to_owned());
        }
        all.extend(suite::programs(path, &directory, scale)?);
    }
    if let Some(names) = &only {
        if let Some(unknown) = names
            .iter()
            .find(|name| !all.iter().any(|program| program.name == **name))
        {
            return Err(format!("there is no program `{unknown}`"));
        }
        // The start-up program stays, since ratios are net of it.
        all.retain(|program| names.contains(&program.name) || program.is_start_up());
    }
    let engines = if wasm {
        let hello = all
            .iter()
            .find(|program| program.name == programs::START_UP);
        let hello = hello.ok_or("there is no guest for the start-up")?;
        let wanted = wanted_engines.as_deref();
        guests::engines(&canny, baseline.as_deref(), wanted, hello, &directory)?
    } else if input_output {
        engines::input_output(&canny, baseline.as_deref(), wanted_engines.as_deref())
    } else {
        engines::all(&canny, baseline.as_deref(), wanted_engines.as_deref())
    };
    if input_output {
        for new in ["inputs", "outputs"] {
            let new = place.join(new);
            std::fs::create_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
        }
        inputs::generate(&place.join("inputs"))?;
    }
    let names: Vec<_> = engines.iter().map(|engine| engine.name).collect();
    eprintln!(
        "{} programs, {rounds} rounds, engines: {}",
        all.len(),
        names.join(", ")
    );
    let table = measure::measure(&all, &engines, second_runs, rounds, time_limit, &directory);
    if input_output && !keep {
        let _ = std::fs::remove_dir_all(&place);
    }
    let table = table?;
    let out = workspace::target_directory().join("bench");
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let csv = report::csv(&table);
    workspace::write(&out.join("results.csv"), &csv)?;
    workspace::write(&out.join("results.svg"), chart::svg(&table))?;
    print!("{}", report::text(&table));
    if print_csv {
        print!("{csv}");
    }
    println!("written: {0}/results.csv, {0}/results.svg", out.display());
    if table.wrong_answers() > 0 {
        return Err("canny gave wrong answers or failed".to_owned());
    }
    Ok(())
}

fn list(words: Option<String>) -> Option<Vec<String>> {
    words.map(|words| words.split(',').map(str::to_owned).collect())
}
