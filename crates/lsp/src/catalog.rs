//! The catalog of what can be imported: libraries and their exports, by name.
//!
//! It begins with the image's libraries, and a copy adds those of the user's directories and
//! packages. Files are read, never expanded, and their number, depth and size are limited. A
//! library counts only if its path fits its name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use canny_lib::evaluation::analysis::standard_interfaces;
use canny_syntax::library_name::Family;
use canny_syntax::reader::read_text;
use canny_syntax::recording::Meaning;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;

use crate::places::Search;

/// An exported name.
#[derive(Clone, Debug)]
pub struct Export {
    /// The library.
    pub library: Arc<str>,
    /// The meaning of the name; unknown for a user's library.
    pub meaning: Option<Meaning>,
}

/// The exports of the standard libraries.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Libraries by exported name, the most usual first.
    exports: HashMap<String, Vec<Export>>,
    /// Libraries and what they export.
    libraries: Vec<(Arc<str>, Vec<String>)>,
}

/// The order in which libraries are proposed.
fn rank(key: &str) -> (u32, usize) {
    let class = match Family::of(key) {
        _ if key == "(scheme base)" => 0,
        Family::Scheme => 1,
        Family::Srfi => 2,
        _ => 3,
    };
    (class, key.len())
}

impl Catalog {
    /// The catalog of the image.
    pub fn of_image() -> Catalog {
        let mut catalog = Catalog::default();
        let mut interfaces = standard_interfaces();
        interfaces.sort_by_cached_key(|one| {
            let key = one.name.to_string();
            (rank(&key), key)
        });
        for interface in interfaces {
            let key: Arc<str> = interface.name.to_string().into();
            if canny_reference::is_internal(&key) {
                continue;
            }
            let names = interface.exports.keys().map(|name| name.to_string());
            let names: Vec<String> = names.filter(|name| !name.starts_with('%')).collect();
            for name in &names {
                let binding = &interface.exports[&canny_syntax::name::Name::new(name)];
                catalog
                    .exports
                    .entry(name.clone())
                    .or_default()
                    .push(Export {
                        library: key.clone(),
                        meaning: Some(Meaning::of(binding)),
                    });
            }
            catalog.libraries.push((key, names));
        }
        catalog
    }

    /// Adds the libraries below directories, and those of packages.
    pub fn with_search(&self, search: &Search) -> Catalog {
        let mut catalog = Catalog {
            exports: self.exports.clone(),
            libraries: self.libraries.clone(),
        };
        let mut left = ENTRIES_MAX;
        for directory in &search.directories {
            catalog.add_directory(directory, directory, 0, &mut left);
        }
        for (key, file) in search.libraries.iter() {
            catalog.add_file(key, file);
        }
        catalog
    }

    fn add_directory(&mut self, root: &Path, directory: &Path, depth: usize, left: &mut usize) {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || ["target", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < DEPTH_MAX {
                    self.add_directory(root, &path, depth + 1, left);
                }
            } else if path
                .extension()
                .is_some_and(|ending| ending == "sld" || ending == "sls")
            {
                // A library is found by its path only.
                let relative = path.with_extension("");
                let relative = relative.strip_prefix(root).unwrap_or(&relative);
                let key = format!("({})", relative.to_string_lossy().replace('/', " "));
                self.add_file(&key, &path);
            }
        }
    }

    /// Adds the library with this name that a file defines.
    fn add_file(&mut self, expected: &str, path: &Path) {
        let small = std::fs::metadata(path).is_ok_and(|data| data.len() <= FILE_BYTES_MAX);
        let Some(text) = small.then(|| std::fs::read_to_string(path).ok()).flatten() else {
            return;
        };
        for form in read_text(&text, SourceId::NONE, false).forms {
            let Some((key, names)) = declared(&form) else {
                continue;
            };
            if key != expected || self.libraries.iter().any(|(known, _)| **known == *key) {
                continue;
            }
            let key: Arc<str> = key.into();
            for name in &names {
                self.exports.entry(name.clone()).or_default().push(Export {
                    library: key.clone(),
                    meaning: None,
                });
            }
            self.libraries.push((key, names));
        }
    }

    /// The libraries that export a name.
    pub fn exporters(&self, name: &str) -> &[Export] {
        self.exports.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every exported name.
    pub fn names(&self) -> impl Iterator<Item = (&str, &[Export])> {
        self.exports
            .iter()
            .map(|(name, exports)| (name.as_str(), exports.as_slice()))
    }

    /// Every library.
    pub fn libraries(&self) -> impl Iterator<Item = &str> {
        self.libraries.iter().map(|(key, _)| &**key)
    }

    /// The names that a library exports.
    pub fn exports_of(&self, library: &str) -> &[String] {
        let found = self.libraries.iter().find(|(key, _)| **key == *library);
        found.map_or(&[], |(_, names)| names.as_slice())
    }
}

/// So many entries of directories are looked at.
const ENTRIES_MAX: usize = 5_000;

/// So deep.
const DEPTH_MAX: usize = 6;

/// Larger files are no libraries that people write.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The name of a library and what it exports, as its text says.
fn declared(form: &Syntax) -> Option<(String, Vec<String>)> {
    let parts = form.elements()?;
    if parts.first()?.as_identifier()?.name.as_str() != "define-library" {
        return None;
    }
    let key = canny_syntax::library::library_name_of(parts.get(1)?)
        .ok()?
        .to_string();
    let mut names = Vec::new();
    for declaration in &parts[2..] {
        let elements = declaration.parts().elements;
        let is_export = elements
            .first()
            .and_then(Syntax::as_identifier)
            .is_some_and(|head| head.name.as_str() == "export");
        if !is_export {
            continue;
        }
        for spec in &elements[1..] {
            let name = match spec.as_identifier() {
                Some(name) => Some(name),
                None => spec.parts().elements.get(2).and_then(Syntax::as_identifier),
            };
            names.extend(name.map(|name| name.name.to_string()));
        }
    }
    Some((key, names))
}
