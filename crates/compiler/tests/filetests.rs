//! Filetests: every `tests/optimize/*.scm` and `tests/bytecode/*.scm` is compiled as a program and
//! compared with the `.expected` file beside it. `CANNY_BLESS=1` writes those files; review the
//! difference.
//!
//! A file that imports nothing gets `(canny syntax)` and `(canny primitives)`; others find their
//! libraries under `lib/`. Expected of `optimize` files are the warnings and the optimized core, of
//! `bytecode` files the listing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_library, compile_unit};
use canny_compiler::disassemble::disassemble_unit;
use canny_compiler::optimize::{self, optimize_unit};
use canny_compiler::verifier::verify_unit;
use canny_syntax::core::{LibraryKey, Unit};
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::{SourceId, SourceMap};
use canny_syntax::unexpand::unexpand;

fn expand(name: &str, bytes: &[u8]) -> (Unit, Libraries) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let map = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![root],
    };
    let mut libraries = Libraries::new(map.clone(), Box::new(loader), &["canny", "r7rs"]);
    let (_, source) = read_source(&map, name, bytes, false);
    assert!(
        source.diagnostics.is_empty(),
        "{name}: {:?}",
        source.diagnostics
    );
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let key = LibraryKey::new("program");
    let expansion = expand_program(&mut libraries, key, &source.forms, &imports);
    for library in libraries.take_units() {
        compile_library(&mut libraries, &library, &Options::default())
            .unwrap_or_else(|errors| panic!("{errors:?}"));
    }
    let errors: Vec<String> = expansion
        .diagnostics
        .iter()
        .map(|one| one.render(&map, false))
        .collect();
    (
        expansion
            .unit
            .unwrap_or_else(|| panic!("{name}: {errors:?}")),
        libraries,
    )
}

fn run_optimize(name: &str, bytes: &[u8]) -> String {
    let (mut unit, libraries) = expand(name, bytes);
    let options = optimize::Options {
        imports: Some(&libraries),
        ..optimize::Options::default()
    };
    let report = optimize_unit(&mut unit, &options);
    let warnings: String = report
        .warnings
        .iter()
        .map(|one| one.render(libraries.sources(), false))
        .collect();
    unit.requires.clear();
    format!("{warnings}{}", unexpand(&unit))
}

fn run_bytecode(name: &str, bytes: &[u8]) -> String {
    let (unit, libraries) = expand(name, bytes);
    let imports = optimize::Options {
        imports: Some(&libraries),
        ..optimize::Options::default()
    };
    let options = Options {
        sources: Some(libraries.sources()),
        optimize: imports,
        ..Options::default()
    };
    let compilation = compile_unit(unit, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    if let Err(error) = verify_unit(&compilation.unit) {
        panic!("{name}: {error}\n{}", disassemble_unit(&compilation.unit));
    }
    disassemble_unit(&compilation.unit)
}

fn run_directory(kind: &str, run: fn(&str, &[u8]) -> String) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(kind);
    let bless = std::env::var_os("CANNY_BLESS").is_some_and(|value| value == "1");
    let mut failures = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "scm"));
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let actual = run(&name, &std::fs::read(&path).unwrap());
        let expected_path = path.with_extension("expected");
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if actual == expected {
            continue;
        }
        if bless {
            std::fs::write(&expected_path, actual).unwrap();
        } else {
            failures.push(format!("{name}: expected\n{expected}\nbut got\n{actual}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn with_large_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(run)
        .unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn optimize_files() {
    with_large_stack(|| run_directory("optimize", run_optimize));
}

#[test]
fn bytecode_files() {
    with_large_stack(|| run_directory("bytecode", run_bytecode));
}
