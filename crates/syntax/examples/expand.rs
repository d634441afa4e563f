//! Expands programs and libraries and reports what is wrong, with times; for work on the expander.
//!
//! `cargo run -p canny-syntax --example expand -- [-A DIRECTORY]… [-p] FILE…`; `-p` prints the core
//! language. A file ending with `.sld` is taken as the library that its path spells.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use canny_syntax::core::LibraryKey;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::{SourceId, SourceMap};
use canny_syntax::unexpand::unexpand;

fn program_text(file: &str, directories: &[PathBuf]) -> Vec<u8> {
    if !file.ends_with(".sld") {
        return std::fs::read(file).unwrap_or_default();
    }
    let relative = directories
        .iter()
        .find_map(|directory| Path::new(file).strip_prefix(directory).ok())
        .unwrap_or(Path::new(file));
    let words: Vec<String> = relative
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    format!("(import ({}))", words.join(" ")).into_bytes()
}

fn run() {
    let mut directories = Vec::new();
    let mut files = Vec::new();
    let mut print = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-A" => directories.extend(arguments.next().map(PathBuf::from)),
            "-p" => print = true,
            _ => files.push(argument),
        }
    }
    let map = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: directories.clone(),
    };
    let features = [
        "r7rs",
        "canny",
        "full-unicode",
        "ratios",
        "exact-closed",
        "exact-complex",
    ];
    let mut libraries = Libraries::new(map.clone(), Box::new(loader), &features);
    for file in &files {
        let bytes = program_text(file, &directories);
        let start = Instant::now();
        let (_, source) = read_source(&map, file, &bytes, false);
        let read = start.elapsed();
        let imports = read_text("(scheme base) (scheme write)", SourceId::NONE, false).forms;
        let key = LibraryKey::new("program");
        let expansion = expand_program(&mut libraries, key, &source.forms, &imports);
        println!(
            "{file}: read {read:?}, expanded {:?}",
            start.elapsed() - read
        );
        for diagnostic in source.diagnostics.iter().chain(&expansion.diagnostics) {
            print!("{}", diagnostic.render(&map, false));
        }
        if print {
            for library in libraries.take_units() {
                print!("{}", unexpand(&library.unit));
            }
            expansion
                .unit
                .iter()
                .for_each(|unit| print!("{}", unexpand(unit)));
        }
    }
}

fn main() {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    thread.expect("a thread").join().expect("no panic");
}
