//! `cargo xtask test`: everything that a change has to pass, in minutes.

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};
use crate::{differential, programs, site, tidy};

const HELP: &str = "\
usage: cargo xtask test

Runs `tidy`, all tests of the workspace (with cargo-nextest if it is installed) and the CI shares of
`differential` and `programs`; builds the site, to find dead links.
";

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    tidy::check(false)?;
    if workspace::installed("cargo-nextest") {
        workspace::cargo(&["nextest", "run", "--workspace", "--no-fail-fast"], &[])?;
        workspace::cargo(&["test", "--workspace", "--doc", "--quiet"], &[])?;
    } else {
        workspace::cargo(&["test", "--workspace", "--no-fail-fast"], &[])?;
    }
    let canny = workspace::canny(arguments, Profile::Debug)?;
    arguments.finish()?;
    site::check(&canny)?;
    differential::share(&canny)?;
    programs::share(&canny)?;
    println!("xtask test: all passed");
    Ok(())
}
