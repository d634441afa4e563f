//! Every library under `lib/` compiles, optimized and not, and passes the verifier.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_library};
use canny_compiler::disassemble::disassemble_unit;
use canny_compiler::optimize;
use canny_compiler::verifier::verify_unit;
use canny_syntax::core::LibraryName;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::messages::is_off_by_default;
use canny_syntax::span::{SourceMap, Span};

fn library_names(root: &Path) -> Vec<LibraryName> {
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut names = Vec::new();
    for directory in std::fs::read_dir(root).unwrap().flatten() {
        for file in std::fs::read_dir(directory.path()).unwrap().flatten() {
            if file
                .path()
                .extension()
                .is_some_and(|extension| extension == "sld")
            {
                names.push((stem(&directory.path()), stem(&file.path())));
            }
        }
    }
    names.sort();
    names
        .iter()
        .map(|(first, second)| LibraryName::from_words(&[first, second]))
        .collect()
}

fn compile_all(passes: &optimize::Options) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let sources = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![root.clone()],
    };
    let features = ["canny", "r7rs", "full-unicode", "ratios", "exact-complex"];
    let mut libraries = Libraries::new(sources.clone(), Box::new(loader), &features);
    let mut diagnostics = Vec::new();
    for name in library_names(&root) {
        libraries.load(&name, Span::NONE, &mut diagnostics);
    }
    let rendered: Vec<String> = diagnostics
        .iter()
        .map(|one| one.render(&sources, false))
        .collect();
    assert!(
        !diagnostics.iter().any(|one| one.is_error()),
        "{}",
        rendered.join("\n")
    );
    let mut words = 0;
    for library in libraries.take_units() {
        let options = Options {
            sources: Some(&sources),
            optimize: passes.clone(),
            ..Options::default()
        };
        let (compilation, _) = compile_library(&mut libraries, &library, &options)
            .unwrap_or_else(|errors| panic!("{}: {errors:?}", library.name));
        let warnings: Vec<String> = compilation
            .warnings
            .iter()
            .filter(|one| !is_off_by_default(one.code))
            .map(|one| one.render(&sources, false))
            .collect();
        assert!(warnings.is_empty(), "{}", warnings.join("\n"));
        words += compilation
            .unit
            .codes
            .iter()
            .map(|code| code.instructions.len())
            .sum::<usize>();
        if let Err(error) = verify_unit(&compilation.unit) {
            panic!(
                "{}: {error}\n{}",
                library.name,
                disassemble_unit(&compilation.unit)
            );
        }
        if std::env::var("CANNY_SHOW").is_ok_and(|name| name == library.name.to_string()) {
            println!("{}", disassemble_unit(&compilation.unit));
        }
    }
    println!("{words} instruction words");
}

fn with_large_stack(run: fn()) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(run)
        .unwrap();
    thread.join().unwrap();
}

#[test]
fn all_libraries_compile_and_verify() {
    with_large_stack(|| compile_all(&optimize::Options::default()));
}

#[test]
fn all_libraries_compile_without_the_optimizer() {
    with_large_stack(|| compile_all(&optimize::Options::none()));
}
