//! Compiles the standard library into the image that the binary carries.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_library};
use canny_compiler::image::{ImageEntry, encode_image, encode_interface, encode_unit};
use canny_syntax::core::LibraryName;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::messages::is_off_by_default;
use canny_syntax::span::{SourceMap, Span};

#[path = "src/platform_features.rs"]
mod platform_features;

/// Stack for the expander and the compiler, which recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../lib");
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/platform_features.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let features = features(&root)?;
    let list: String = features
        .iter()
        .map(|name| format!("    {name:?},\n"))
        .collect();
    fs::write(out.join("features.rs"), format!("&[\n{list}]\n"))?;
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || build_image(&root, &features).map_err(|error| error.to_string()))?;
    let image = worker.join().map_err(|_| "the compiler panicked")??;
    fs::write(out.join("standard-library.image"), image)?;
    Ok(())
}

fn build_image(root: &Path, features: &[String]) -> Result<Vec<u8>, Box<dyn Error>> {
    let sources = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![root.to_owned()],
    };
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    let mut libraries = Libraries::new(sources.clone(), Box::new(loader), &features);
    let mut diagnostics = Vec::new();
    for name in library_names(root)? {
        libraries.load(&name, Span::NONE, &mut diagnostics);
    }
    report(&diagnostics, &sources)?;
    let mut encoded = Vec::new();
    for library in libraries.take_units() {
        let options = Options {
            sources: Some(&sources),
            omits_inlinings: true,
            ..Options::default()
        };
        let (compilation, interface) = compile_library(&mut libraries, &library, &options)
            .map_err(|errors| render(&errors, &sources))?;
        print_warnings(&compilation.warnings, &sources);
        canny_compiler::verifier::verify_unit(&compilation.unit)
            .map_err(|error| format!("{}: {error}", library.name))?;
        let interface = encode_interface(&interface)?;
        encoded.push((
            library.name.key(),
            interface,
            encode_unit(&compilation.unit)?,
        ));
    }
    let entries: Vec<ImageEntry> = encoded
        .iter()
        .map(|(key, interface, unit)| ImageEntry {
            key: key.as_str(),
            interface,
            unit,
        })
        .collect();
    Ok(encode_image(&entries)?)
}

/// The features of the platform, and one for each SRFI that has a file.
fn features(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut numbers = Vec::new();
    for file in fs::read_dir(root.join("srfi"))? {
        let file = file?.path();
        if is_library(&file) {
            numbers.push(file_stem(&file).parse::<u32>()?);
        }
    }
    numbers.sort_unstable();
    let platform = platform_features::PLATFORM_FEATURES.iter().copied();
    let srfis = numbers.iter().map(|number| format!("srfi-{number}"));
    Ok(platform.map(str::to_owned).chain(srfis).collect())
}

/// The library of every `.sld` file below a directory of the root, by its path.
fn library_names(root: &Path) -> Result<Vec<LibraryName>, Box<dyn Error>> {
    let mut names = Vec::new();
    for directory in fs::read_dir(root)? {
        let directory = directory?.path();
        if directory.is_dir() {
            collect_names(&directory, &[], &mut names)?;
        }
    }
    names.sort();
    Ok(names
        .iter()
        .map(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            LibraryName::from_words(&words)
        })
        .collect())
}

/// Adds the names of the libraries in a directory, whose own name follows the words `above`.
fn collect_names(
    directory: &Path,
    above: &[String],
    names: &mut Vec<Vec<String>>,
) -> Result<(), Box<dyn Error>> {
    let mut words = above.to_vec();
    words.push(file_stem(directory));
    for file in fs::read_dir(directory)? {
        let file = file?.path();
        if file.is_dir() {
            collect_names(&file, &words, names)?;
        } else if is_library(&file) {
            let mut name = words.clone();
            name.push(file_stem(&file));
            names.push(name);
        }
    }
    Ok(())
}

fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "sld")
}

fn file_stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn render(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    diagnostics
        .iter()
        .map(|diagnostic| diagnostic.render(sources, false))
        .collect::<Vec<_>>()
        .join("\n")
}

fn report(diagnostics: &[Diagnostic], sources: &SourceMap) -> Result<(), String> {
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(render(diagnostics, sources));
    }
    print_warnings(diagnostics, sources);
    Ok(())
}

fn print_warnings(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let shown = diagnostics
        .iter()
        .filter(|one| !is_off_by_default(one.code));
    for warning in shown {
        let text = warning.render(sources, false);
        println!("cargo:warning={}", text.replace('\n', " "));
    }
}
