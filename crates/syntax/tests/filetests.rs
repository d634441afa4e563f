//! Filetests: every `tests/read/*.scm` and `tests/expand/*.scm` is run and compared with the
//! `.expected` file beside it. `CANNY_BLESS=1` writes those files; review the difference.
//!
//! `read` files are read whole; expected are the data and the diagnostics. `expand` files are
//! expanded as programs with `(canny syntax)` and `(canny primitives)` imported unless they import
//! something themselves; expected are the units in core form and the diagnostics. Libraries are
//! found in `tests/expand/lib`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_syntax::core::LibraryKey;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::{SourceId, SourceMap};
use canny_syntax::unexpand::unexpand;

fn tests_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn render(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    diagnostics
        .iter()
        .map(|one| format!("[{}] {}", one.code, one.render(map, false)))
        .collect()
}

fn run_read(name: &str, bytes: &[u8]) -> String {
    let map = SourceMap::new();
    let (_, result) = read_source(&map, name, bytes, false);
    let mut out: String = result
        .forms
        .iter()
        .map(|form| format!("{form}\n"))
        .collect();
    out.push_str(&render(&result.diagnostics, &map));
    out
}

fn run_expand(name: &str, bytes: &[u8]) -> String {
    let map = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![PathBuf::from("lib")],
    };
    let mut libraries = Libraries::new(
        map.clone(),
        Box::new(loader),
        &["canny", "r7rs", "full-unicode"],
    );
    let (_, source) = read_source(&map, name, bytes, false);
    let mut out = render(&source.diagnostics, &map);
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let expansion = expand_program(
        &mut libraries,
        LibraryKey::new("program"),
        &source.forms,
        &imports,
    );
    out.push_str(&render(&expansion.diagnostics, &map));
    for library in libraries.take_units() {
        out.push_str(&unexpand(&library.unit));
    }
    if let Some(unit) = expansion.unit {
        out.push_str(&unexpand(&unit));
    }
    out
}

fn run_directory(kind: &str, run: fn(&str, &[u8]) -> String) {
    let directory = tests_directory().join(kind);
    // Paths in diagnostics are relative to the directory of the tests.
    std::env::set_current_dir(&directory).expect("the directory exists");
    let bless = std::env::var_os("CANNY_BLESS").is_some_and(|value| value == "1");
    let mut files: Vec<PathBuf> = std::fs::read_dir(".")
        .expect("the directory can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "scm"))
        .collect();
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let actual = run(&name, &std::fs::read(file).expect("the test can be read"));
        let expected_path = file.with_extension("expected");
        if bless {
            std::fs::write(&expected_path, &actual).expect("the expectation can be written");
            continue;
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if actual != expected {
            failures.push(format!(
                "{name}\n--- expected\n{expected}--- actual\n{actual}"
            ));
        }
    }
    assert!(!files.is_empty(), "no tests in {kind}");
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        files.len(),
        failures.join("\n")
    );
}

/// One test, because the working directory is that of the process. Deep recursion needs the stack
/// that the expander's documentation asks for.
#[test]
fn filetests() {
    let run = || {
        run_directory("read", run_read);
        run_directory("expand", run_expand);
    };
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(run)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
