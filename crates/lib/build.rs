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
use canny_syntax::span::{SourceMap, Span};

#[path = "src/features.rs"]
mod features;

/// Stack for the expander and the compiler, which recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../lib");
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/features.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?).join("standard-library.image");
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || build_image(&root).map_err(|error| error.to_string()))?;
    let image = worker.join().map_err(|_| "the compiler panicked")??;
    fs::write(out, image)?;
    Ok(())
}

fn build_image(root: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let sources = Arc::new(SourceMap::new());
    let loader = SearchPath {
        directories: vec![root.to_owned()],
    };
    let mut libraries = Libraries::new(sources.clone(), Box::new(loader), features::FEATURES);
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
        for warning in &compilation.warnings {
            println!(
                "cargo:warning={}",
                warning.render(&sources, false).replace('\n', " ")
            );
        }
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

/// The library of every `.sld` file under the root, by its path.
fn library_names(root: &Path) -> Result<Vec<LibraryName>, Box<dyn Error>> {
    let mut names = Vec::new();
    for directory in fs::read_dir(root)? {
        let directory = directory?.path();
        if !directory.is_dir() {
            continue;
        }
        let first = file_stem(&directory);
        for file in fs::read_dir(&directory)? {
            let file = file?.path();
            if file.extension().is_some_and(|extension| extension == "sld") {
                names.push((first.clone(), file_stem(&file)));
            }
        }
    }
    names.sort();
    Ok(names
        .iter()
        .map(|(first, second)| LibraryName::from_words(&[first, second]))
        .collect())
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
    for warning in diagnostics {
        println!(
            "cargo:warning={}",
            warning.render(sources, false).replace('\n', " ")
        );
    }
    Ok(())
}
