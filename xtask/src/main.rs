//! `cargo xtask VERB`: everything about the project that is neither building nor running it.
//!
//! Each verb is a module. Of the project's crates it depends on a few small ones only, so that it
//! builds in seconds; what has to run Scheme runs the `canny` binary.
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod bless;
mod charts;
mod conformance;
mod differential;
mod fuzz;
mod history;
mod layout;
mod paths;
mod process;
mod programs;
mod protocols;
mod site;
mod srfis;
mod svg;
mod test;
mod tidy;
mod warmup;
mod web;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask VERB [OPTION…]

verbs
  test           everything that a change has to pass: tidy, all tests, a share of differential
  tidy           rules about the tree that the compiler does not check
  bless          let the filetests write their expected output anew
  differential   the test programs under collector stress must behave as without
  conformance    run suites that others wrote
  srfis          the table of SRFIs, from runs of their tests
  site           the documents and the reference as a static site
  bench          measure our benchmarks, and r7rs-benchmarks, beside the peers that are installed
  charts         draw the charts of docs/measurements from their CSV files
  history        measure commit by commit: a table and a chart of time, allocation and memory
  layout         find out which functions run, for the linker to put them side by side
  warmup         measure how soon programs are fast, and what that costs short ones
  paths          look for directories of this machine in a release binary
  web            measure the web server beside others
  protocols      write the library of the numbers that Rust and Scheme share
  programs       random programs must behave the same with the specializer as without
  fuzz           throw generated input at whatever reads: sources, code, formats, snapshots

`cargo xtask VERB --help` explains a verb's options.
";

/// A verb takes the arguments after its name; its error is printed by [`main`].
type Verb = fn(&mut arguments::Arguments) -> Result<(), String>;

const VERBS: &[(&str, Verb)] = &[
    ("test", test::run),
    ("tidy", tidy::run),
    ("bless", bless::run),
    ("charts", charts::run),
    ("differential", differential::run),
    ("conformance", conformance::run),
    ("srfis", srfis::run),
    ("protocols", protocols::run),
    ("site", site::run),
    ("bench", bench::run),
    ("history", history::run),
    ("layout", layout::run),
    ("warmup", warmup::run),
    ("paths", paths::run),
    ("web", web::run),
    ("programs", programs::run),
    ("fuzz", fuzz::run),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        print!("{HELP}");
        return ExitCode::from(64);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let Some((_, verb)) = VERBS.iter().find(|(known, _)| *known == name) else {
        eprintln!("xtask: there is no verb `{name}`\n\n{HELP}");
        return ExitCode::from(64);
    };
    match verb(&mut arguments::Arguments::new(words.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
