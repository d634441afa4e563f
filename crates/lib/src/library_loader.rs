//! Where the expander finds libraries: the standard ones in the image, others on the search path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use canny_compiler::image::{self, ImageEntry};
use canny_syntax::core::LibraryName;
use canny_syntax::library::{Interface, LibraryLoader, Loaded, SearchPath};
use canny_syntax::name::Name;

use crate::library_cache::LibraryCache;

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

/// Which standard libraries export a name, those of the standard first. Made when a message needs it.
fn exporters() -> &'static HashMap<Name, Vec<&'static str>> {
    static EXPORTERS: OnceLock<HashMap<Name, Vec<&'static str>>> = OnceLock::new();
    EXPORTERS.get_or_init(|| {
        let mut entries: Vec<&ImageEntry> = standard_libraries().values().collect();
        // (scheme r5rs) has names for programs of another time.
        let rank = |key: &str| match key {
            "(scheme r5rs)" => 3,
            _ if key.starts_with("(scheme ") => 0,
            _ if key.starts_with("(srfi ") => 1,
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
    static CHECKSUM: OnceLock<u64> = OnceLock::new();
    *CHECKSUM.get_or_init(|| image::checksum(IMAGE))
}

/// Finds standard libraries in the image and others in the cache or in directories.
#[derive(Debug)]
pub(crate) struct StandardLoader {
    path: SearchPath,
    cache: Arc<LibraryCache>,
}

impl StandardLoader {
    pub(crate) fn new(directories: Vec<PathBuf>, cache: Arc<LibraryCache>) -> StandardLoader {
        StandardLoader {
            path: SearchPath { directories },
            cache,
        }
    }

    /// The stamp of a library outside the image: known already, or that of its cached form.
    fn stamp(&mut self, key: &str) -> Option<u64> {
        if let Some(stamp) = self.cache.stamp(key) {
            return Some(stamp);
        }
        let words: Vec<&str> = key
            .strip_prefix('(')?
            .strip_suffix(')')?
            .split(' ')
            .collect();
        let name = LibraryName::from_words(&words);
        let source = self
            .path
            .candidates(&name)
            .into_iter()
            .find(|path| path.is_file())?;
        self.find_cached(&name, &source)?;
        self.cache.stamp(key)
    }

    fn find_cached(&mut self, name: &LibraryName, source: &Path) -> Option<Arc<Interface>> {
        let cache = self.cache.clone();
        cache.find(name.key().as_str(), source, |import| self.stamp(import))
    }
}

impl LibraryLoader for StandardLoader {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        match standard_library(name.key().as_str()) {
            Some(entry) => match image::decode_interface(entry.interface) {
                Ok(interface) => Loaded::Interface(Arc::new(interface)),
                Err(error) => Loaded::Failed(error.to_string()),
            },
            None => match self.path.load(name) {
                Loaded::Source { path, bytes } => match self.find_cached(name, &path) {
                    Some(interface) => Loaded::Interface(interface),
                    None => Loaded::Source { path, bytes },
                },
                other => other,
            },
        }
    }

    fn exists(&mut self, name: &LibraryName) -> bool {
        standard_library(name.key().as_str()).is_some() || self.path.exists(name)
    }

    fn known_libraries(&mut self) -> Vec<String> {
        let keys = standard_libraries().keys();
        keys.map(|key| (*key).to_owned()).collect()
    }

    fn exporters(&mut self, name: Name) -> Vec<String> {
        let keys = exporters().get(&name).into_iter().flatten();
        keys.map(|key| (*key).to_owned()).collect()
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.path.read_file(path)
    }
}
