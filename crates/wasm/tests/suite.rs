//! Scripts of the standard's own suite, and scripts of ours (`tests/scripts`).
//!
//! `WEBASSEMBLY_SUITE` names a directory with scripts; each of them that the machine should run is run,
//! and what is wrong is listed by script and line.

#[path = "suite/script.rs"]
mod script;

use std::path::{Path, PathBuf};

/// Lets `CANNY_GUEST_CODE` say when functions become machine code: `never`, `always` or `loops`.
fn set_policy() {
    use canny_wasm::MachineCodePolicy as Policy;
    let wanted = std::env::var("CANNY_GUEST_CODE").unwrap_or_default();
    canny_wasm::set_machine_code_policy(match wanted.as_str() {
        "never" => Policy::Never,
        "always" => Policy::Always,
        "loops" => Policy::Loops,
        _ => Policy::Hot,
    });
}

/// Runs the scripts below a directory; gives what went wrong, and how many directives were carried out.
fn run_all(directory: &Path) -> (Vec<String>, usize) {
    set_policy();
    let mut files: Vec<PathBuf> = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "wast")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut wrong = Vec::new();
    let mut done = 0;
    for file in files {
        let name = file.strip_prefix(directory).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let report = script::run(&text);
        done += report.done;
        eprintln!(
            "{name}: {} directives, {} wrong, {} not supported",
            report.done,
            report.wrong.len(),
            report.unsupported
        );
        wrong.extend(
            report
                .wrong
                .into_iter()
                .map(|text| format!("{name}:{text}")),
        );
    }
    (wrong, done)
}

#[test]
fn own_scripts_hold() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let (wrong, done) = run_all(&directory);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done > 0);
}

#[test]
fn official_scripts_hold() {
    let Ok(directory) = std::env::var("WEBASSEMBLY_SUITE") else {
        return;
    };
    let (wrong, done) = run_all(Path::new(&directory));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done > 0);
}
