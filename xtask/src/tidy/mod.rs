//! `cargo xtask tidy`: rules about the tree that the compiler does not check.
//!
//! Each rule is a module with a function from the tree to its [`Complaint`]s; nothing but `--update`
//! changes a file.

mod charts;
mod circles;
mod code_map;
mod dead_files;
mod doc_links;
mod forbidden;
mod layers;
mod library_rooms;
mod missing;
mod module_files;
mod module_headers;
mod places;
mod protocols;
mod ratchet;
mod root_files;
mod rust_source;
mod scheme_layout;
mod sentences;
mod words;

pub use layers::crate_names;

use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::workspace;

const HELP: &str = "\
usage: cargo xtask tidy [--update]

Checks the crate order, circles of modules, dead files, where modules are declared and their folders,
links in documents, sizes of files and functions, where unsafe code may stand, words that must not be
committed, that ARCHITECTURE.md lists the crates and docs/srfis.md the SRFIs, that only
docs/missing.md has the missing features, that the how-tos list the places to touch, that long modules
have headers, that the Scheme sources are laid out by `canny fmt`, that libraries which programs do
not import are in directories of lib/canny, that numbers which Rust and Scheme share come from the rows
in crates/tables, that charts are what their CSV files say, that comments and documents use the
terms of the field for some words that hide them, that sentences in comments of lib are short,
that texts of primitives do not begin with a clause, and that the root has no files left behind.
  --update    record in xtask/ratchet.txt what has become smaller
";

/// One broken rule, with the place to go to.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Relative to the root.
    pub path: PathBuf,
    pub line: Option<usize>,
    pub message: String,
}

/// A file of the project's Rust code.
pub struct RustFile {
    /// Relative to the root.
    pub path: PathBuf,
    pub text: String,
    /// The text with comments and literals replaced by spaces.
    pub code: String,
}

impl RustFile {
    /// The crate it belongs to: the directory's name, `xtask` or `fuzz`.
    pub fn crate_name(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) => name,
            (Some("xtask"), Some("fuzz")) => "fuzz",
            _ => "xtask",
        }
    }

    /// Functions of tests have no limit of size, and their modules need no header.
    pub fn is_test(&self) -> bool {
        self.path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs" || part == "testing.rs")
    }
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let update = arguments.flag("--update");
    arguments.finish()?;
    check(update)
}

pub fn check(update: bool) -> Result<(), String> {
    let root = workspace::root();
    let files = rust_files(&root)?;
    let mut complaints = layers::check(&root)?;
    complaints.extend(dead_files::check(&files));
    complaints.extend(module_files::check(&files));
    complaints.extend(circles::check(&files));
    complaints.extend(module_headers::check(&files));
    complaints.extend(doc_links::check(&root)?);
    complaints.extend(ratchet::check(&root, &files, update)?);
    complaints.extend(forbidden::check(&root, &files)?);
    complaints.extend(code_map::check(&root)?);
    complaints.extend(srfi_table(&root)?);
    complaints.extend(scheme_layout::check(&root)?);
    complaints.extend(library_rooms::check(&root)?);
    complaints.extend(charts::check(&root)?);
    complaints.extend(words::check(&root)?);
    complaints.extend(sentences::check(&root)?);
    complaints.extend(missing::check(&root)?);
    complaints.extend(root_files::check(&root)?);
    complaints.extend(places::check(&root, &files)?);
    complaints.extend(protocols::check(&root, &files)?);
    for complaint in &complaints {
        let place = complaint.path.display();
        match complaint.line {
            Some(line) => eprintln!("{place}:{line}: {}", complaint.message),
            None => eprintln!("{place}: {}", complaint.message),
        }
    }
    match complaints.len() {
        0 => {
            println!(
                "tidy: {} Rust files, nothing to complain about",
                files.len()
            );
            Ok(())
        }
        count => Err(format!("{count} complaints")),
    }
}

/// The table of SRFIs lists the libraries that there are.
fn srfi_table(root: &Path) -> Result<Vec<Complaint>, String> {
    let complaint = |message| Complaint {
        path: PathBuf::from("docs/srfis.md"),
        line: None,
        message,
    };
    Ok(crate::srfis::stale_rows(root)?
        .into_iter()
        .map(complaint)
        .collect())
}

fn rust_files(root: &Path) -> Result<Vec<RustFile>, String> {
    let mut files = Vec::new();
    for directory in ["crates", "xtask"] {
        for path in workspace::files(&root.join(directory), "rs") {
            let text = workspace::read(&path)?;
            let code = rust_source::without_comments_and_literals(&text);
            let path = relative(root, &path);
            files.push(RustFile { path, text, code });
        }
    }
    Ok(files)
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_path_buf()
}

/// The number, from one, of the line that the byte is on.
fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].bytes().filter(|byte| *byte == b'\n').count() + 1
}
