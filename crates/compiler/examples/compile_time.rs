//! Compiles programs and shows how long that takes and how large the code is.
//!
//! `cargo run --release -p canny-compiler --example compile_time -- FILE…`; libraries are found
//! under `lib/`. With `--core` or `--code` before them the result is printed too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use canny_compiler::compile::{Options, compile_library, compile_unit};
use canny_compiler::disassemble::disassemble_unit;
use canny_compiler::optimize::{self, optimize_unit};
use canny_compiler::verifier::verify_unit;
use canny_syntax::core::LibraryKey;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::{SourceId, SourceMap};
use canny_syntax::unexpand::unexpand;

fn main() {
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(|| {
        let mut shown = Shown::default();
        for word in std::env::args().skip(1) {
            match word.as_str() {
                "--core" => shown.core = true,
                "--code" => shown.code = true,
                path => compile(path, shown),
            }
        }
    });
    worker.expect("a thread").join().expect("no panic");
}

/// The texts to print beside the times.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// The optimized core form.
    core: bool,
    /// The bytecode.
    code: bool,
}

fn compile(path: &str, shown: Shown) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let map = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![root],
    };
    let features = ["canny", "r7rs", "full-unicode", "ratios"];
    let mut libraries = Libraries::new(map.clone(), Box::new(loader), &features);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return println!("{path}: {error}"),
    };
    let (_, source) = read_source(&map, path, &bytes, false);
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let start = Instant::now();
    let key = LibraryKey::new("program");
    let expansion = expand_program(&mut libraries, key, &source.forms, &imports);
    let expanded = start.elapsed();
    for one in &expansion.diagnostics {
        println!("{}", one.render(&map, false));
    }
    for library in libraries.take_units() {
        if let Err(errors) = compile_library(&mut libraries, &library, &Options::default()) {
            println!("{}: {errors:?}", library.name);
        }
    }
    let Some(unit) = expansion.unit else { return };
    let passes = optimize::Options {
        imports: Some(&libraries),
        ..optimize::Options::default()
    };
    if shown.core {
        let mut unit = unit.clone();
        optimize_unit(&mut unit, &passes);
        println!("{}", unexpand(&unit));
    }
    let options = Options {
        sources: Some(&map),
        optimize: passes,
        ..Options::default()
    };
    let start = Instant::now();
    match compile_unit(unit, &options) {
        Ok(compilation) => {
            let compiled = start.elapsed();
            for warning in &compilation.warnings {
                println!("{}", warning.render(&map, false));
            }
            let start = Instant::now();
            let verdict = match verify_unit(&compilation.unit) {
                Ok(()) => "verified".to_owned(),
                Err(error) => error.to_string(),
            };
            let words: usize = compilation
                .unit
                .codes
                .iter()
                .map(|code| code.instructions.len())
                .sum();
            println!(
                "{path}: expanded in {expanded:?}, compiled in {compiled:?}, {verdict} in {:?}, {} codes, \
                 {words} words",
                start.elapsed(),
                compilation.unit.codes.len(),
            );
            if shown.code {
                println!("{}", disassemble_unit(&compilation.unit));
            }
        }
        Err(errors) => println!("{path}: {errors:?}"),
    }
}
