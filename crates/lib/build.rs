//! Compiles the standard library into the image that the binary carries.

#[path = "src/platform_features.rs"]
mod platform_features;

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_library};
use canny_compiler::image::{ImageEntry, encode_image, encode_interface, encode_unit};
use canny_compiler::optimize;
use canny_compiler::unit::CompiledUnit;
use canny_syntax::binding::Binding;
use canny_syntax::core::{GlobalName, LibraryName};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::interface::Interface;
use canny_syntax::library::{Libraries, LibraryLoader, Loaded, SearchPath};
use canny_syntax::messages::is_off_by_default;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceMap, Span};
use canny_tables::protocols::{self, LOCK_FIELD};

/// Stack for the expander and the compiler, which recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../lib");
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/platform_features.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    check_protocols(&root)?;
    let features = features(&root)?;
    let list: String = features
        .iter()
        .map(|name| format!("    {name:?},\n"))
        .collect();
    fs::write(out.join("features.rs"), format!("&[\n{list}]\n"))?;
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || build_image(&root, &features).map_err(|error| error.to_string()))?;
    let (image, names) = worker.join().map_err(|_| "the compiler panicked")??;
    // Computing it at each start would take as long as the start itself.
    // The compiler is in this build script, and what it makes of programs may change when the image does
    // not.
    let compiler = canny_compiler::image::checksum(&fs::read(env::current_exe()?)?);
    let checksum = canny_compiler::image::checksum(&image) ^ compiler;
    let checksum = format!("{checksum}_u64\n");
    fs::write(out.join("standard-library.checksum"), checksum)?;
    fs::write(out.join("standard-library.image"), image)?;
    fs::write(out.join("public-names"), names)?;
    Ok(())
}

/// Fails unless the library of shared numbers is what the rows of `canny_tables` say.
fn check_protocols(root: &Path) -> Result<(), Box<dyn Error>> {
    let source = fs::read_to_string(root.join("canny/machine/protocols.sld"))?;
    if source != protocols::library_source() {
        return Err(
            "lib/canny/machine/protocols.sld is not what crates/tables/src/protocols says: \
             run `cargo xtask protocols`"
                .into(),
        );
    }
    Ok(())
}

/// Fails unless the record types that the machine knows begin with the fields of their rows, and every
/// record type that can be locked with the field of the lock.
fn check_records(interfaces: &HashMap<Vec<String>, Arc<Interface>>) -> Result<(), Box<dyn Error>> {
    for row in protocols::RECORDS {
        let library: Vec<String> = row.library.iter().map(|word| (*word).to_owned()).collect();
        let records = interfaces.get(&library).map(|interface| &interface.records);
        let fields = records.and_then(|records| records.get(&Name::new(row.name)));
        let fields: Vec<&str> = fields
            .into_iter()
            .flatten()
            .map(|name| name.as_str())
            .collect();
        if !fields.starts_with(row.fields) {
            return Err(format!(
                "the record type `{}` of ({}) must begin with the fields {:?}, as its row in \
                 crates/tables/src/protocols/layouts.rs does; it has {fields:?}",
                row.name,
                row.library.join(" "),
                row.fields,
            )
            .into());
        }
    }
    for (library, interface) in interfaces {
        for (name, fields) in &interface.records {
            if fields
                .iter()
                .skip(1)
                .any(|field| field.as_str() == LOCK_FIELD)
            {
                let library = library.join(" ");
                return Err(format!(
                    "`{LOCK_FIELD}` must be the first field of the record type `{name}` of ({library})"
                )
                .into());
            }
        }
    }
    Ok(())
}

/// The sources of the standard library. The image names them as they are in the repository, not where
/// they were built.
struct Tree {
    root: PathBuf,
}

impl Tree {
    fn shown(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        Path::new("lib").join(inside)
    }
}

impl LibraryLoader for Tree {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        let mut search = SearchPath {
            directories: vec![self.root.clone()],
        };
        match search.load(name) {
            Loaded::Source { path, bytes } => Loaded::Source {
                path: self.shown(&path),
                bytes,
            },
            other => other,
        }
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        fs::read(self.root.join(path.strip_prefix("lib").unwrap_or(path)))
    }
}

/// The image, and the names that users know, one on each line and in order.
fn build_image(root: &Path, features: &[String]) -> Result<(Vec<u8>, String), Box<dyn Error>> {
    let sources = Arc::new(SourceMap::new());
    let loader = Tree {
        root: root.to_owned(),
    };
    let (mut names, mut renamed) = (BTreeSet::new(), HashMap::new());
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    let mut libraries = Libraries::new(sources.clone(), Box::new(loader), &features);
    let mut diagnostics = Vec::new();
    for name in library_names(root)? {
        libraries.load(&name, Span::NONE, &mut diagnostics);
    }
    report(&diagnostics, &sources)?;
    let (mut compiled, mut interfaces) = (Vec::new(), HashMap::new());
    for library in libraries.take_units() {
        let options = Options {
            sources: Some(&sources),
            optimize: optimize::Options {
                is_standard: true,
                ..optimize::Options::default()
            },
            ..Options::default()
        };
        let (compilation, interface) = compile_library(&mut libraries, &library, &options)
            .map_err(|errors| render(&errors, &sources))?;
        if is_public(root, &library.name) {
            names.extend(interface.exports.keys().copied());
            note_renamed(&interface, &mut renamed);
        }
        report(&compilation.warnings, &sources)?;
        canny_compiler::verifier::verify_unit(&compilation.unit)
            .map_err(|error| format!("{}: {error}", library.name))?;
        let encoded = encode_interface(&interface)?;
        compiled.push((library.name.key(), encoded, compilation.unit));
        let words = library.name.parts().iter().map(ToString::to_string);
        interfaces.insert(words.collect(), interface);
    }
    check_records(&interfaces)?;
    let mut encoded = Vec::new();
    for (key, interface, mut unit) in compiled {
        rename(&mut unit, &renamed, &names);
        encoded.push((key, interface, encode_unit(&unit)?));
    }
    let entries: Vec<ImageEntry> = encoded
        .iter()
        .map(|(key, interface, unit)| ImageEntry {
            key: key.as_str(),
            interface,
            unit,
        })
        .collect();
    let names = names.iter().map(|name| name.as_str());
    let mut names: Vec<&str> = names
        .filter(|name| !name.starts_with('%') && !name.contains('\n'))
        .collect();
    names.sort_unstable();
    Ok((encode_image(&entries)?, names.join("\n")))
}

/// Whether people import a library: those of Canny that they do have a page in the reference.
fn is_public(root: &Path, name: &LibraryName) -> bool {
    let words: Vec<String> = name.parts().iter().map(ToString::to_string).collect();
    let page = root.join("../docs/reference").join(words.join("/") + ".md");
    words[0] != "canny" || page.exists()
}

/// The names under which people know procedures that are called otherwise where they are defined.
type Renamed = HashMap<GlobalName, Name>;

/// Notes what a library exports under other names; the shortest one counts.
fn note_renamed(interface: &Interface, renamed: &mut Renamed) {
    for (external, binding) in &interface.exports {
        let Binding::Global(global) = binding else {
            continue;
        };
        if global.name == *external {
            continue;
        }
        let rank = |name: &Name| (name.as_str().len(), name.as_str().to_owned());
        let known = renamed.entry(global.clone()).or_insert(*external);
        if rank(external) < rank(known) {
            *known = *external;
        }
    }
}

/// Gives procedures whose own names nobody knows those that people use.
fn rename(unit: &mut CompiledUnit, renamed: &Renamed, names: &BTreeSet<Name>) {
    let codes = unit.codes.iter_mut();
    for code in codes.filter(|code| code.enclosing.is_none()) {
        let Some(name) = code.name.filter(|name| !names.contains(name)) else {
            continue;
        };
        let library = unit.name.clone();
        if let Some(external) = renamed.get(&GlobalName { library, name }) {
            code.name = Some(*external);
        }
    }
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
        .filter(|one| !is_off_by_default(one.code))
        .map(|diagnostic| diagnostic.render(sources, false))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The standard library has neither errors nor warnings: a variable that nothing binds is a fault there
/// that may show only in an error handler.
fn report(diagnostics: &[Diagnostic], sources: &SourceMap) -> Result<(), String> {
    let counts = |one: &Diagnostic| one.is_error() || !is_off_by_default(one.code);
    if diagnostics.iter().any(counts) {
        Err(render(diagnostics, sources))
    } else {
        Ok(())
    }
}
