//! `cargo xtask bless`: lets every test that compares with a checked-in file rewrite that file.
//!
//! The tests do it themselves when `CANNY_BLESS=1` is set; the difference is for a person to review.

use crate::arguments::Arguments;
use crate::workspace;

const HELP: &str = "\
usage: cargo xtask bless [CRATE…]

Runs the filetests of all crates, or of those named, with CANNY_BLESS=1: each writes its expected
output anew. Review the difference.
";

/// Test targets that compare with checked-in files.
const TARGETS: &[&str] = &["filetests", "examples"];

/// Unit tests that do, by crate: they look at what the crate keeps to itself.
const UNIT_TESTS: &[(&str, &str)] = &[("jit", "listings")];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let only = arguments.finish()?;
    let root = workspace::root();
    let mut found = 0;
    for name in crate::tidy::crate_names(&root)? {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        for target in TARGETS {
            let file = root
                .join("crates")
                .join(&name)
                .join("tests")
                .join(format!("{target}.rs"));
            if file.is_file() {
                found += 1;
                let package = format!("canny-{name}");
                let words = ["test", "--package", &package, "--test", target];
                workspace::cargo(&words, &[("CANNY_BLESS", "1")])?;
            }
        }
    }
    for (name, filter) in UNIT_TESTS {
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            found += 1;
            let package = format!("canny-{name}");
            let words = ["test", "--package", &package, "--lib", filter];
            workspace::cargo(&words, &[("CANNY_BLESS", "1")])?;
        }
    }
    match found {
        0 => Err("no such filetests".to_owned()),
        _ => Ok(()),
    }
}
