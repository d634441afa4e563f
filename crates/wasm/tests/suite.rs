//! Scripts of the standard's own suite, and scripts of ours (`tests/scripts`).
//!
//! `WEBASSEMBLY_SUITE` names a directory with scripts; each of them that the machine should run is run,
//! and what is wrong is listed by script and line.

#[path = "suite/script.rs"]
mod script;

use std::path::{Path, PathBuf};

use canny_wasm::{MachineCodePolicy as Policy, set_machine_code_policy};

/// All ways in which functions may become machine code.
const POLICIES: [(&str, Policy); 4] = [
    ("never", Policy::Never),
    ("hot", Policy::Hot),
    ("always", Policy::Always),
    ("loops", Policy::Loops),
];

/// Runs the scripts below a directory; gives what went wrong, and how many directives were carried out.
fn run_all(directory: &Path) -> (Vec<String>, usize) {
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

/// One test, since the policy is that of the process: `CANNY_GUEST_CODE` may name the only one.
#[test]
fn scripts_hold_with_and_without_machine_code() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let official = std::env::var("WEBASSEMBLY_SUITE").ok().map(PathBuf::from);
    let wanted = std::env::var("CANNY_GUEST_CODE").unwrap_or_default();
    for (name, policy) in POLICIES {
        if !wanted.is_empty() && wanted != name {
            continue;
        }
        set_machine_code_policy(policy);
        for directory in [&own].into_iter().chain(&official) {
            let (wrong, done) = run_all(directory);
            eprintln!("machine code {name}: {done} directives");
            assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
            assert!(done > 0);
        }
    }
}
