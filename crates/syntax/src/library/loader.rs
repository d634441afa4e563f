//! The interface through which the expander finds libraries, and a loader that searches
//! directories.
//!
//! The expander touches no file except through a [`LibraryLoader`]. A loader only finds: it gives
//! source text or a compiled interface, and neither expands nor runs it. Its lists of names serve
//! messages only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::interface::Interface;
use crate::library_name::{Family, LibraryName, NamePart};
use crate::name::Name;

/// The answer of a loader.
#[derive(Debug)]
pub enum Loaded {
    /// A file that contains the library's `define-library` form, and perhaps others.
    Source {
        /// Its name, to which relative includes are resolved.
        path: PathBuf,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// A library that was compiled before.
    Interface(Arc<Interface>),
    /// No such library; the places where it could have been.
    NotFound {
        /// Paths or descriptions, in the order searched.
        searched: Vec<String>,
    },
    /// The library exists but could not be read.
    Failed(String),
}

/// Finds libraries for the expander.
pub trait LibraryLoader: Send {
    /// Finds a library.
    fn load(&mut self, name: &LibraryName) -> Loaded;

    /// Whether [`LibraryLoader::load`] would find it; for `cond-expand`.
    fn exists(&mut self, name: &LibraryName) -> bool {
        matches!(
            self.load(name),
            Loaded::Source { .. } | Loaded::Interface(_)
        )
    }

    /// The names of libraries that are known without a search, as text. For messages only.
    fn known_libraries(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The known libraries that export a name. For messages only.
    fn exporters(&mut self, name: Name) -> Vec<String> {
        let _ = name;
        Vec::new()
    }

    /// Sentences for somebody whose library was not found.
    fn advice(&mut self, name: &LibraryName) -> Vec<String> {
        let _ = name;
        Vec::new()
    }

    /// The name under which sources get at a library that another one is to be replaced by: what an
    /// import of that one means in a source.
    fn replacement_of(&mut self, name: &LibraryName) -> Option<LibraryName> {
        let _ = name;
        None
    }

    /// The name that the source of a replacement has in its `define-library` form.
    fn replaced_by(&mut self, name: &LibraryName) -> Option<LibraryName> {
        let _ = name;
        None
    }

    /// Directories in which `include` and its kin look for a file that is not beside the including
    /// source, in order.
    fn include_directories(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Reads a file for `include` and its kin.
    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        canny_replay::source(path, || std::fs::read(path))
    }
}

/// Finds sources in directories: `(a b c)` is `a/b/c.sld` or `a/b/c.sls` in the first directory
/// that has it.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// The directories, in the order to search.
    pub directories: Vec<PathBuf>,
}

/// The endings of library files, in order of preference.
const EXTENSIONS: [&str; 2] = ["sld", "sls"];

impl SearchPath {
    /// The paths at which a library may be, in the order to search.
    pub fn candidates(&self, name: &LibraryName) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for directory in &self.directories {
            for relative in relative_paths(name) {
                for extension in EXTENSIONS {
                    let mut path = directory.join(&relative).into_os_string();
                    path.push(".");
                    path.push(extension);
                    candidates.push(PathBuf::from(path));
                }
            }
        }
        candidates
    }
}

/// The relative paths of a library, without ending: one, or two for a SRFI.
fn relative_paths(name: &LibraryName) -> Vec<PathBuf> {
    if name.guest_file().is_some() {
        return Vec::new();
    }
    let mut paths: Vec<PathBuf> = relative_path(name.parts().iter().map(ToString::to_string))
        .into_iter()
        .collect();
    if let [_, NamePart::Number(number), rest @ ..] = name.parts()
        && name.family() == Family::Srfi
    {
        let parts = ["srfi".to_owned(), format!("srfi-{number}")];
        paths.extend(relative_path(
            parts
                .into_iter()
                .chain(rest.iter().map(ToString::to_string)),
        ));
    }
    paths
}

/// The parts of the name as directories; `None` when a part cannot be a file's name.
fn relative_path(parts: impl Iterator<Item = String>) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in parts {
        if part.is_empty() || part == "." || part == ".." || part.contains(['/', '\\', '\0']) {
            return None;
        }
        path.push(part);
    }
    Some(path)
}

impl LibraryLoader for SearchPath {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        let candidates = self.candidates(name);
        for path in &candidates {
            match canny_replay::source(path, || std::fs::read(path)) {
                Ok(bytes) => {
                    return Loaded::Source {
                        path: path.clone(),
                        bytes,
                    };
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // A directory on the path may be a file or the like; continue searching there too.
                Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
                Err(error) => return Loaded::Failed(format!("{}: {error}", path.display())),
            }
        }
        Loaded::NotFound {
            searched: candidates
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        }
    }

    fn exists(&mut self, name: &LibraryName) -> bool {
        self.candidates(name).iter().any(|path| path.is_file())
    }
}
