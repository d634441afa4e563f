//! `cargo xtask paths`: a binary for others names no directory of the machine that built it.
//!
//! `.cargo/rustc` keeps them out of what is compiled with all optimizations, and the image of the
//! standard library names its sources by their places in the repository. This looks at what came of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask paths [OPTION…]

Looks in a release binary for directories of this machine: the repository, cargo's and the user's own.
  --canny PATH   the binary; without it, cargo builds a release binary
";

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    let bytes = std::fs::read(&canny).map_err(|error| format!("{}: {error}", canny.display()))?;
    let found = found(&bytes, &directories());
    if found.is_empty() {
        println!("{}: no directories of this machine", canny.display());
        return Ok(());
    }
    let lines: Vec<String> = found
        .iter()
        .map(|(text, count)| format!("{count:>6} {text}"))
        .collect();
    Err(format!("{} names\n{}", canny.display(), lines.join("\n")))
}

/// Directories that nobody else has a reason to see.
fn directories() -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let mut directories = vec![workspace::root(), workspace::target_directory()];
    directories.extend(cargo);
    directories.extend(home.map(|home| home.join(".cargo")));
    directories
}

/// The texts in which one of the directories stands, and how often; at most some of them.
fn found(bytes: &[u8], directories: &[PathBuf]) -> BTreeMap<String, usize> {
    const SHOWN_MAX: usize = 20;
    let mut found = BTreeMap::new();
    for directory in directories {
        let prefix = directory.as_os_str().as_encoded_bytes();
        let places = bytes
            .windows(prefix.len())
            .enumerate()
            .filter(|(_, window)| *window == prefix);
        for (at, _) in places {
            let rest = &bytes[at..];
            let end = rest.iter().position(|byte| !byte.is_ascii_graphic());
            let text = String::from_utf8_lossy(&rest[..end.unwrap_or(rest.len()).min(200)]);
            if found.len() < SHOWN_MAX || found.contains_key(&*text) {
                *found.entry(text.into_owned()).or_insert(0) += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn directories_are_found() {
        let bytes = b"\0/some/me/canny/crates/a.rs\0x/some/me/canny/crates/a.rs\n/some/you";
        let found = found(bytes, &["/some/me".into(), "/nowhere".into()]);
        let expected = BTreeMap::from([("/some/me/canny/crates/a.rs".to_owned(), 2)]);
        assert_eq!(found, expected);
    }

    /// The command line that the compiler's wrapper runs for some arguments.
    fn wrapped(arguments: &[&str]) -> String {
        let output = Command::new(workspace::root().join(".cargo/rustc"))
            .arg("echo")
            .args(arguments)
            .env("OUT_DIR", "/some/target/release/build/a-1/out")
            .env("CARGO_HOME", "/some/cargo")
            .output()
            .expect("the wrapper can be run");
        String::from_utf8(output.stdout).expect("the arguments are UTF-8")
    }

    #[test]
    fn builds_for_others_are_compiled_without_directories() {
        let text = wrapped(&["--crate-name", "a", "-C", "opt-level=3"]);
        let root = workspace::root();
        for part in [
            "--crate-name a -C opt-level=3 ",
            "--remap-path-prefix=/some/cargo=cargo",
            "--remap-path-prefix=/some/target/release=target",
            &format!("--remap-path-prefix={}=.", root.display()),
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        let text = wrapped(&["--crate-name", "a", "-C", "opt-level=1"]);
        assert_eq!(text, "--crate-name a -C opt-level=1\n");
    }
}
