//! Extracts the documentation of the standard libraries, from their sources and from the pages about them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use canny_documentation::{Document, Extractor, Page, complete};
use canny_syntax::library::{LibraryLoader, Loaded, SearchPath};
use canny_syntax::library_name::LibraryName;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let (libraries, pages) = (root.join("lib"), root.join("docs/reference"));
    println!("cargo:rerun-if-changed={}", libraries.display());
    println!("cargo:rerun-if-changed={}", pages.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut extractor = Extractor::new(Box::new(Tree { root: root.clone() }), &["canny", "r7rs"]);
    let mut documents = Vec::new();
    for name in ["primitives", "syntax"] {
        let name = LibraryName::from_words(&["canny", name]);
        documents.extend(extractor.library(&name).map(|document| (*document).clone()));
    }
    for file in files(&libraries, "sld")? {
        let name = relative(&root, &file);
        let found = extractor.source(&name, &fs::read_to_string(&file)?);
        documents.extend(found.iter().map(|document| Document::clone(document)));
    }
    let mut found = Vec::new();
    for file in files(&pages, "md")? {
        let name = relative(&root, &file);
        found.extend(Page::read(&name, &fs::read_to_string(&file)?));
    }
    let complaints = complete(&mut documents, &found);
    if !complaints.is_empty() {
        return Err(complaints.join("\n").into());
    }
    let bytes = postcard::to_stdvec(&documents)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("documents"), bytes)?;
    let names: Vec<&str> = found.iter().map(|page| page.name.as_str()).collect();
    fs::write(out.join("pages.rs"), format!("&{names:?}"))?;
    Ok(())
}

/// The libraries of the repository, their files named from its root on.
struct Tree {
    root: PathBuf,
}

impl LibraryLoader for Tree {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        let mut search = SearchPath {
            directories: vec![self.root.join("lib")],
        };
        match search.load(name) {
            Loaded::Source { path, bytes } => Loaded::Source {
                path: relative(&self.root, &path).into(),
                bytes,
            },
            other => other,
        }
    }

    fn read_file(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(path))
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

/// The files with that ending below a directory, in the order of their names.
fn files(directory: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
