//! Where the expander finds libraries: the standard ones in the image, others on the search path and in
//! the packages of a project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use canny_compiler::image::{self, ImageEntry};
use canny_syntax::core::LibraryName;
use canny_syntax::interface::Interface;
use canny_syntax::library::{LibraryLoader, Loaded, SearchPath};
use canny_syntax::library_name::{Family, NamePart};
use canny_syntax::name::Name;

use crate::cache::OtherLibraries;
use crate::cache::libraries::LibraryCache;
use crate::evaluation::ProjectLibraries;
use crate::guest_libraries;

static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standard-library.image"));

/// The standard libraries by key.
fn standard_libraries() -> &'static HashMap<&'static str, ImageEntry<'static>> {
    static LIBRARIES: OnceLock<HashMap<&'static str, ImageEntry<'static>>> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        let entries = image::decode_image(IMAGE).unwrap_or_default();
        entries
            .into_iter()
            .map(|entry| (entry.key, entry))
            .collect()
    })
}

/// The keys of the libraries of the image, in no order.
pub(crate) fn standard_library_names() -> impl Iterator<Item = &'static str> {
    standard_libraries().keys().copied()
}

/// A library of the image.
pub(crate) fn standard_library(key: &str) -> Option<&'static ImageEntry<'static>> {
    standard_libraries().get(key)
}

/// The standard libraries that export each name, those of the standard first. Made when a message
/// needs it.
fn exporters() -> &'static HashMap<Name, Vec<&'static str>> {
    static EXPORTERS: OnceLock<HashMap<Name, Vec<&'static str>>> = OnceLock::new();
    EXPORTERS.get_or_init(|| {
        let mut entries: Vec<&ImageEntry> = standard_libraries().values().collect();
        // (scheme r5rs) has names for programs of another time.
        let rank = |key: &str| match Family::of(key) {
            _ if key == "(scheme r5rs)" => 3,
            Family::Scheme => 0,
            Family::Srfi => 1,
            _ => 2,
        };
        entries.sort_by_key(|entry| (rank(entry.key), entry.key.len(), entry.key));
        let mut exporters: HashMap<Name, Vec<&'static str>> = HashMap::new();
        for entry in entries {
            let interface = image::decode_interface(entry.interface);
            for name in interface.iter().flat_map(|one| one.exports.keys()) {
                exporters.entry(*name).or_default().push(entry.key);
            }
        }
        exporters
    })
}

/// Identifies the build, for what it leaves in the user's cache.
pub(crate) fn standard_image_checksum() -> u64 {
    include!(concat!(env!("OUT_DIR"), "/standard-library.checksum"))
}

/// Finds standard libraries in the image and others in the cache or in directories.
#[derive(Debug)]
pub(crate) struct StandardLoader {
    /// Directories that are searched before the packages of the project.
    first: SearchPath,
    project: Option<Arc<ProjectLibraries>>,
    /// Directories that are searched after them.
    last: SearchPath,
    cache: Arc<LibraryCache>,
    /// Libraries of the image that sources replace: the names of the replacements, and theirs.
    replaced: Vec<(LibraryName, LibraryName)>,
}

/// The name of a replacement: other libraries of the image continue using the one that is in it.
fn replacement(name: &LibraryName) -> LibraryName {
    let mut parts = name.parts().to_vec();
    parts.push(NamePart::Symbol(Name::new("replaced")));
    LibraryName::new(parts)
}

impl StandardLoader {
    pub(crate) fn new(
        mut directories: Vec<PathBuf>,
        project: Option<Arc<ProjectLibraries>>,
        cache: Arc<LibraryCache>,
        replaced: &[LibraryName],
    ) -> StandardLoader {
        let before = project
            .as_ref()
            .map_or(directories.len(), |project| project.directories_before);
        let last = directories.split_off(before.min(directories.len()));
        StandardLoader {
            first: SearchPath { directories },
            project,
            last: SearchPath { directories: last },
            cache,
            replaced: replaced
                .iter()
                .map(|name| (replacement(name), name.clone()))
                .collect(),
        }
    }

    /// The name that the source of a library has.
    fn source_name<'a>(&'a self, name: &'a LibraryName) -> &'a LibraryName {
        let found = self.replaced.iter().find(|(known, _)| known == name);
        found.map_or(name, |(_, original)| original)
    }

    /// The file of a library of a package.
    fn package_file(&self, name: &LibraryName) -> Option<&PathBuf> {
        self.project.as_ref()?.files.get(name.key().as_str())
    }

    /// The places at which a library may be, in the order to search.
    fn candidates(&self, name: &LibraryName) -> Vec<PathBuf> {
        let name = self.source_name(name);
        let mut candidates = self.first.candidates(name);
        candidates.extend(self.package_file(name).cloned());
        candidates.extend(self.last.candidates(name));
        candidates
    }

    /// The source of a library outside the image.
    fn load_source(&mut self, name: &LibraryName) -> Loaded {
        let name = &self.source_name(name).clone();
        let mut searched = match self.first.load(name) {
            Loaded::NotFound { searched } => searched,
            other => return other,
        };
        if let Some(path) = self.package_file(name).cloned() {
            match canny_replay::source(&path, || std::fs::read(&path)) {
                Ok(bytes) => return Loaded::Source { path, bytes },
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    searched.push(path.display().to_string());
                }
                Err(error) => return Loaded::Failed(format!("{}: {error}", path.display())),
            }
        }
        match self.last.load(name) {
            Loaded::NotFound { searched: more } => {
                searched.extend(more);
                Loaded::NotFound { searched }
            }
            other => other,
        }
    }

    /// The library of a WebAssembly module.
    fn load_guest(&mut self, name: &LibraryName, file: &Path) -> Loaded {
        let bytes = match canny_replay::source(file, || std::fs::read(file)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let searched = vec![file.display().to_string()];
                return Loaded::NotFound { searched };
            }
            Err(error) => return Loaded::Failed(format!("{}: {error}", file.display())),
        };
        if let Some(interface) = self.find_cached(name, file) {
            return Loaded::Interface(interface);
        }
        match guest_libraries::source(file, bytes) {
            Ok(text) => Loaded::Source {
                path: file.to_owned(),
                bytes: text.into_bytes(),
            },
            Err(message) => Loaded::Failed(message),
        }
    }

    fn find_cached(&mut self, name: &LibraryName, source: &Path) -> Option<Arc<Interface>> {
        let cache = self.cache.clone();
        cache.find(name.key().as_str(), source, self)
    }
}

impl OtherLibraries for StandardLoader {
    /// The stamp of a library outside the image: known already, or that of its cached form.
    fn stamp(&mut self, key: &str) -> Option<u64> {
        if let Some(stamp) = self.cache.stamp(key) {
            return Some(stamp);
        }
        let inner = key.strip_prefix('(')?.strip_suffix(')')?;
        let (name, candidates) = match guest_libraries::file_of_key(key) {
            Some(file) => (LibraryName::of_guest(file), vec![PathBuf::from(file)]),
            None => {
                let words: Vec<&str> = inner.split(' ').collect();
                let name = LibraryName::from_words(&words);
                let candidates = self.candidates(&name);
                (name, candidates)
            }
        };
        let source = candidates.into_iter().find(|path| path.is_file())?;
        self.find_cached(&name, &source)?;
        self.cache.stamp(key)
    }

    fn is_there(&mut self, name: &LibraryName) -> bool {
        self.exists(name)
    }
}

impl LibraryLoader for StandardLoader {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        if let Some(file) = name.guest_file() {
            return self.load_guest(name, Path::new(file));
        }
        match standard_library(name.key().as_str()) {
            Some(entry) => match image::decode_interface(entry.interface) {
                Ok(interface) => Loaded::Interface(Arc::new(interface)),
                Err(error) => Loaded::Failed(error.to_string()),
            },
            None => match self.load_source(name) {
                Loaded::Source { path, bytes } => match self.find_cached(name, &path) {
                    Some(interface) => Loaded::Interface(interface),
                    None => Loaded::Source { path, bytes },
                },
                other => other,
            },
        }
    }

    fn exists(&mut self, name: &LibraryName) -> bool {
        standard_library(name.key().as_str()).is_some()
            || self.candidates(name).iter().any(|path| path.is_file())
            || name
                .guest_file()
                .is_some_and(|file| Path::new(file).is_file())
    }

    fn known_libraries(&mut self) -> Vec<String> {
        let keys = standard_libraries().keys();
        let mut names: Vec<String> = keys.map(|key| (*key).to_owned()).collect();
        if let Some(project) = &self.project {
            names.extend(project.files.keys().cloned());
        }
        names
    }

    fn advice(&mut self, name: &LibraryName) -> Vec<String> {
        let project = self.project.as_ref();
        project.map_or_else(Vec::new, |project| project.advice(name.key().as_str()))
    }

    fn exporters(&mut self, name: Name) -> Vec<String> {
        let keys = exporters().get(&name).into_iter().flatten();
        keys.map(|key| (*key).to_owned()).collect()
    }

    fn replacement_of(&mut self, name: &LibraryName) -> Option<LibraryName> {
        let found = self.replaced.iter().find(|(_, original)| original == name);
        found.map(|(known, _)| known.clone())
    }

    fn replaced_by(&mut self, name: &LibraryName) -> Option<LibraryName> {
        let found = self.replaced.iter().find(|(known, _)| known == name);
        found.map(|(_, original)| original.clone())
    }

    fn include_directories(&mut self) -> Vec<PathBuf> {
        let directories = self.first.directories.iter().chain(&self.last.directories);
        directories.cloned().collect()
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.first.read_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::standard_library;
    use canny_syntax::foreign_libraries::replacements;

    #[test]
    fn what_is_written_in_place_of_libraries_of_elsewhere_exists() {
        for here in replacements() {
            assert!(standard_library(here).is_some(), "{here}");
        }
    }
}
