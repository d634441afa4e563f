//! `cargo xtask layout`: finds out which functions of the command run, for the linker to put them side
//! by side.
//!
//! The system maps a file's pages by 64 kB around each one that is touched, so that functions that
//! run are paid for with their neighbours. The functions that run are taken from callgrind, a
//! program at a time. Those of starting up come first, then those that later programs run besides.
//! The result is the script `crates/cli/layout.ld`, which `crates/cli/build.rs` hands to the linker
//! of release builds; `docs/decisions/layout.md` tells why it looks as it does.

mod functions;
mod patterns;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use functions::Functions;
use patterns::Pattern;

use crate::arguments::Arguments;
use crate::process::Run;
use crate::workspace;

const HELP: &str = "\
usage: cargo xtask layout [OPTION…]

Builds the command, runs programs of xtask/src/layout under callgrind, and writes crates/cli/layout.ld: the \
functions that
ran, for the linker to put them side by side. Needs valgrind. What release builds look like changes with \
that file only.
  --profile NAME   the profile to build with (quick)
";

/// In this order: a function belongs to the first program that runs it.
const PROGRAMS: &[&str] = &["nothing.scm", "lines.scm", "texts.scm"];

const TIME_LIMIT: Duration = Duration::from_secs(600);

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let profile = arguments.option("--profile")?.unwrap_or("quick".to_owned());
    arguments.finish()?;
    if !workspace::installed("valgrind") {
        return Err("valgrind is not installed".to_owned());
    }
    let (canny, map) = build(&profile)?;
    let mut functions = Functions::of_map(&workspace::read(&map)?);
    let scratch = workspace::scratch_directory("layout")?;
    let mut script = String::from(
        "/* Functions that run, for the linker to put them side by side. Written by `cargo xtask layout`. \
         */\n\
         SECTIONS {\n  .text.often : {\n",
    );
    for program in PROGRAMS {
        let profile = callgrind(&canny, program, &scratch)?;
        let ran = functions::ran(&profile);
        let chosen = patterns::choose(&functions, &ran);
        let bytes = |count: fn(&Pattern) -> u64| chosen.iter().map(count).sum::<u64>() / 1024;
        println!(
            "{program}: {} patterns, {} kB of functions that ran in {} kB",
            chosen.len(),
            bytes(|pattern| pattern.bytes_that_ran),
            bytes(|pattern| pattern.bytes),
        );
        functions.leave_out(&chosen);
        patterns::write(&chosen, &mut script);
    }
    script.push_str("  }\n} INSERT BEFORE .text;\n");
    workspace::write(&workspace::root().join("crates/cli/layout.ld"), script)
}

/// The binary, and the linker's map of it.
fn build(profile: &str) -> Result<(PathBuf, PathBuf), String> {
    let target = workspace::target_directory();
    // Cargo links again only if something changed, so the map stays where it is.
    let map = target.join(format!("layout-{profile}.map"));
    let link = format!("link-arg=-Wl,-Map={}", map.display());
    workspace::cargo(
        &[
            "rustc",
            "--profile",
            profile,
            "--package",
            "canny-cli",
            "--bin",
            "canny",
            "--",
            "-C",
            &link,
        ],
        &[],
    )?;
    let directory = match profile {
        "dev" => "debug",
        _ => profile,
    };
    Ok((target.join(directory).join("canny"), map))
}

/// The output of callgrind for a program.
fn callgrind(canny: &Path, program: &str, scratch: &Path) -> Result<String, String> {
    let out = scratch.join(program).with_extension("callgrind");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(canny)
        .arg(workspace::root().join("xtask/src/layout").join(program))
        // Else the program would be over before its code is compiled.
        .env("CANNY_SPESH_BLOCKING", "1")
        .current_dir(scratch);
    let outcome = Run {
        command,
        input: None,
        capture: scratch.join(program),
        time_limit: TIME_LIMIT,
    }
    .run()?;
    if outcome.succeeded() {
        workspace::read(&out)
    } else {
        Err(format!(
            "{program} under callgrind: {}, {}",
            outcome.ending(),
            outcome.complaint()
        ))
    }
}
