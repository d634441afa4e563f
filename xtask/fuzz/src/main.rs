//! The fuzzer: `cargo xtask fuzz`.
//!
//! A *target* is a generator of inputs and an oracle. Generators ([`generate`]) know nothing of the
//! code under test; oracles ([`oracle`]) know nothing of where an input came from. Those of
//! [`formats`], [`encodings`], [`snapshots`], [`web`], [`guests`] and [`components`] stand beside each
//! other. A case is a function of the seed and its number, so that a finding is repeated by `--seed S
//! --first N --cases 1`. A panic, a signal, a broken promise or a case that does not end is a finding;
//! its input is kept in a file, or its number told.
#![forbid(unsafe_code)]

mod components;
mod corpus;
mod encodings;
mod formats;
mod generate;
mod guests;
mod oracle;
mod snapshots;
// The generator of programs, in a crate that may not depend on this one's, draws the same numbers.
#[path = "../../src/programs/random.rs"]
mod random;
mod shrink;
mod supervise;
mod watch;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use random::Random;

const HELP: &str = "\
usage: cargo xtask fuzz [OPTION…] [TARGET|all]

targets: reader, expander, bytecode, number, json, csv, decoder, lines, head, chunks,
         snapshot, guest, guest-smith, guest-alone, component, component-values,
         component-text

  --seconds N   time for each target (20)
  --seed N      where the random numbers start (from the clock)
  --first N     number of the first case (0)
  --cases N     stop after so many cases
  --module F    compare what both engines do with a WebAssembly module, and nothing else
";

/// The expander and the compiler recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

type Generator = fn(&mut Random, &corpus::Corpus) -> Vec<u8>;
type Product = fn(&[u8]) -> Vec<u8>;
type Oracle = fn(&[u8]) -> Result<(), String>;

struct Target {
    name: &'static str,
    generate: Generator,
    check: Oracle,
    /// Gives the thing that the oracle makes of its input, which is kept too; the input is minimized.
    product: Option<Product>,
}

const TARGETS: &[Target] = &[
    Target {
        name: "reader",
        generate: generate::text,
        check: oracle::reader,
        product: None,
    },
    Target {
        name: "expander",
        generate: generate::program,
        check: oracle::expander,
        product: None,
    },
    Target {
        name: "bytecode",
        generate: generate::unit,
        check: oracle::bytecode,
        product: None,
    },
    Target {
        name: "number",
        generate: generate::number,
        check: oracle::number,
        product: None,
    },
    Target {
        name: "json",
        generate: formats::json_text,
        check: formats::json,
        product: None,
    },
    Target {
        name: "csv",
        generate: formats::csv_text,
        check: formats::csv,
        product: None,
    },
    Target {
        name: "decoder",
        generate: encodings::encoded_text,
        check: encodings::decoder,
        product: None,
    },
    Target {
        name: "lines",
        generate: encodings::lines_text,
        check: encodings::lines,
        product: None,
    },
    Target {
        name: "head",
        generate: web::head_text,
        check: web::head,
        product: None,
    },
    Target {
        name: "chunks",
        generate: web::chunked_text,
        check: web::chunked,
        product: None,
    },
    Target {
        name: "snapshot",
        generate: snapshots::file,
        check: snapshots::read,
        product: None,
    },
    Target {
        name: "guest",
        generate: guests::program_bytes,
        check: guests::program,
        product: Some(guests::program_module),
    },
    Target {
        name: "guest-smith",
        generate: guests::smith_bytes,
        check: guests::smith,
        product: Some(guests::smith_module),
    },
    Target {
        name: "guest-alone",
        generate: guests::smith_bytes,
        check: guests::alone,
        product: Some(guests::alone_module),
    },
    Target {
        name: "component",
        generate: components::damaged,
        check: components::component,
        product: None,
    },
    Target {
        name: "component-values",
        generate: components::choice_bytes,
        check: components::passed,
        product: Some(components::passed_text),
    },
    Target {
        name: "component-text",
        generate: components::choice_bytes,
        check: components::text,
        product: Some(components::passed_text),
    },
];

struct Options {
    seconds: u64,
    seed: u64,
    first: u64,
    cases: u64,
    target: String,
    module: Option<String>,
}

/// Set for the process that does the work.
const WORKER: &str = "FUZZ_WORKER";

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}\n{HELP}");
            return ExitCode::from(64);
        }
    };
    if options.module.is_none() && std::env::var_os(WORKER).is_none() {
        return supervise::run(&options);
    }
    std::panic::set_hook(Box::new(|panic| {
        if !guests::is_panic_of_others() {
            eprintln!("{panic}");
        }
    }));
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || run(&options));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(0)) => ExitCode::SUCCESS,
        Ok(Ok(findings)) => {
            eprintln!("{findings} findings");
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let mut options = Options {
        seconds: 20,
        seed: clock.as_nanos() as u64,
        first: 0,
        cases: u64::MAX,
        target: "all".to_owned(),
        module: None,
    };
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if word == "--module" {
            options.module = Some(words.next().ok_or("--module needs a file")?);
            continue;
        }
        let mut number = || -> Result<u64, String> {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            value
                .parse()
                .map_err(|_| format!("{word} needs a number, not `{value}`"))
        };
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--first" => options.first = number()?,
            "--cases" => options.cases = number()?,
            name if name == "all" || TARGETS.iter().any(|target| target.name == name) => {
                options.target = word;
            }
            _ => return Err(format!("there is no target `{word}`")),
        }
    }
    Ok(Some(options))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the chosen targets; gives the number of findings.
fn run(options: &Options) -> usize {
    if let Some(file) = &options.module {
        let outcome = std::fs::read(file).map_err(|error| error.to_string());
        return match outcome.and_then(|bytes| guests::module(&bytes)) {
            Ok(()) => 0,
            Err(problem) => {
                eprintln!("{file}: {problem}");
                1
            }
        };
    }
    let corpus = corpus::Corpus::read(&root());
    let mut findings = 0;
    for target in TARGETS {
        if options.target == "all" || options.target == target.name {
            findings += run_target(target, options, &corpus);
        }
    }
    findings
}

/// The problem with an input, if there is one.
fn check(target: &Target, input: &[u8]) -> Option<String> {
    match std::panic::catch_unwind(|| (target.check)(input)) {
        Ok(Ok(())) => None,
        Ok(Err(problem)) => Some(problem),
        Err(_) => Some("panic".to_owned()),
    }
}

fn run_target(target: &Target, options: &Options, corpus: &corpus::Corpus) -> usize {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let watch = watch::Watch::start(target.name);
    let mut findings = 0;
    let mut done = 0;
    while done < options.cases && Instant::now() < end {
        let number = options.first + done;
        let input = (target.generate)(&mut Random::new(options.seed, number), corpus);
        watch.begin(&input, options.seed, number);
        let problem = check(target, &input);
        watch.end();
        if let Some(problem) = problem {
            findings += 1;
            let path = watch::keep(target.name, &input, number);
            eprintln!(
                "{}: {problem}\n  input kept in {path}; again: --seed {} --first {number} --cases 1",
                target.name, options.seed
            );
            if let Some(product) = target.product {
                let (small, problem) = shrink::smallest(input, problem, |it| check(target, it));
                let name = format!("{}-small", target.name);
                let path = watch::keep(&name, &product(&small), number);
                eprintln!("  smallest in {path}: {problem}");
            }
        }
        done += 1;
    }
    println!(
        "{}: {done} cases from seed {}, {findings} findings",
        target.name, options.seed
    );
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed share of what `cargo xtask fuzz` does.
    #[test]
    fn a_few_cases_of_each_target_hold() {
        let worker = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(|| {
                let corpus = corpus::Corpus::read(&root());
                assert!(!corpus.texts.is_empty() && !corpus.units.is_empty());
                assert!(corpus.components.len() > 3);
                for target in TARGETS {
                    for case in 0..300 {
                        let input = (target.generate)(&mut Random::new(1, case), &corpus);
                        if let Err(problem) = (target.check)(&input) {
                            panic!("{} case {case}: {problem}", target.name);
                        }
                    }
                }
            });
        worker
            .expect("a thread starts")
            .join()
            .expect("every case holds");
    }
}
