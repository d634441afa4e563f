//! Paths of the workspace, and small functions on files that all verbs use.
//!
//! It also builds the `canny` binary that a verb runs, or takes the one that was given. Errors name
//! the file.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;

/// The root of the working tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the xtask crate is a directory of the workspace")
        .to_path_buf()
}

pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

/// A fresh empty directory `target/xtask/NAME`.
pub fn scratch_directory(name: &str) -> Result<PathBuf, String> {
    let directory = target_directory().join("xtask").join(name);
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Debug,
    Release,
}

/// The binary to test: the one named by `--canny PATH`, else one that cargo builds now.
pub fn canny(arguments: &mut Arguments, profile: Profile) -> Result<PathBuf, String> {
    if let Some(path) = arguments.path("--canny")? {
        return Ok(path);
    }
    let profile = if arguments.flag("--release") {
        Profile::Release
    } else {
        profile
    };
    let mut build = vec!["build", "--package", "canny-cli", "--bin", "canny"];
    if profile == Profile::Release {
        build.push("--release");
    }
    cargo(&build, &[])?;
    let directory = match profile {
        Profile::Debug => "debug",
        Profile::Release => "release",
    };
    Ok(target_directory().join(directory).join("canny"))
}

/// Runs cargo in the workspace with its output shown.
pub fn cargo(words: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(words)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed", words.join(" ")))
    }
}

/// The files below `directory` whose names end with `.extension`, sorted; directories named `target`
/// or `node_modules` and hidden ones are left out.
pub fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if path.is_dir() {
                if name != "target" && name != "node_modules" && !name.starts_with('.') {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether a program of this name is on the search path.
pub fn installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|paths| {
        std::env::split_paths(&paths).any(|directory| directory.join(program).is_file())
    })
}

/// Copies everything below `from` into the existing directory `to`.
pub fn copy_directory(from: &Path, to: &Path) -> Result<(), String> {
    let entries =
        std::fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target)
                .map_err(|error| format!("{}: {error}", target.display()))?;
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)
                .map_err(|error| format!("{}: {error}", target.display()))?;
        }
    }
    Ok(())
}

/// The text cut to at most `characters` characters.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
