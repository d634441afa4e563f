//! Compiled libraries kept in the user's cache directory.
//!
//! A file of the cache holds one library. It counts only if it was written by this very build, if every
//! source file that it was made from still has the content it had, if every library it imports is the
//! one that it was compiled against (its *stamp* is the same), and if the libraries of whose existence
//! its `cond-expand` asked still exist or do not. A file that does not count is treated as absent:
//! the library is compiled anew and the file replaced. Code from the cache goes through the
//! verifier.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::image;
use canny_compiler::unit::CompiledUnit;
use canny_locks::Mutex;
use canny_syntax::core::{LibraryKey, LibraryName};
use canny_syntax::interface::Interface;
use canny_syntax::library::ExpandedLibrary;
use serde::{Deserialize, Serialize};

use crate::library_loader::{standard_image_checksum, standard_library};

/// The contents of a file of the cache, sealed with a checksum.
#[derive(Serialize, Deserialize)]
struct CachedLibrary {
    build: u64,
    key: String,
    /// Features that `cond-expand` knew.
    features: Vec<String>,
    /// Source files and the checksums of their contents.
    files: Vec<(PathBuf, u64)>,
    /// Imported libraries outside the standard ones, and their stamps.
    imports: Vec<(String, u64)>,
    /// Libraries of whose existence was asked, and the answers.
    asked: Vec<(LibraryName, bool)>,
    interface: Vec<u8>,
    unit: Vec<u8>,
}

/// The questions that the cache asks about other libraries.
pub(crate) trait OtherLibraries {
    /// The stamp of a library outside the image.
    fn stamp(&mut self, key: &str) -> Option<u64>;

    /// Whether there is such a library.
    fn is_there(&mut self, name: &LibraryName) -> bool;
}

/// The cache, shared by the loader and the evaluation.
#[derive(Debug, Default)]
pub(crate) struct LibraryCache {
    directory: Option<PathBuf>,
    features: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Stamps of the libraries loaded or compiled so far.
    stamps: HashMap<String, u64>,
    /// Units found in the cache and not taken yet.
    units: HashMap<String, CompiledUnit>,
    /// Where the source of a library was found.
    paths: HashMap<String, PathBuf>,
}

impl LibraryCache {
    pub(crate) fn new(directory: Option<PathBuf>, features: Vec<String>) -> LibraryCache {
        LibraryCache {
            directory,
            features,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> canny_locks::MutexGuard<'_, State> {
        self.state.lock()
    }

    fn file(&self, key: &str, source: &Path) -> Option<PathBuf> {
        let absolute = fs::canonicalize(source).ok()?;
        // The same library compiled for other features is another file.
        let features = self.features.join(" ");
        let text = format!("{key}\0{}\0{features}", absolute.display());
        let name = image::checksum(text.as_bytes());
        Some(self.directory.as_ref()?.join(format!("{name:016x}.canny")))
    }

    /// The interface of a library whose source is at `source`, if the cache has it in its present state.
    /// `others` knows the stamp of another library, loading it if need be, and whether there is one.
    pub(crate) fn find(
        &self,
        key: &str,
        source: &Path,
        others: &mut dyn OtherLibraries,
    ) -> Option<Arc<Interface>> {
        self.state().paths.insert(key.to_owned(), source.to_owned());
        let bytes = fs::read(self.file(key, source)?).ok()?;
        let cached: CachedLibrary = postcard::from_bytes(image::unseal(&bytes).ok()?).ok()?;
        let fresh = cached.build == standard_image_checksum()
            && cached.key == key
            && cached.features == self.features
            && cached
                .files
                .iter()
                .all(|(path, sum)| file_checksum(path) == Some(*sum))
            && cached
                .imports
                .iter()
                .all(|(import, stamp)| others.stamp(import) == Some(*stamp))
            && cached
                .asked
                .iter()
                .all(|(name, answer)| others.is_there(name) == *answer);
        if !fresh {
            return None;
        }
        let interface = image::decode_interface(&cached.interface).ok()?;
        let unit = image::decode_unit(&cached.unit).ok()?;
        let stamp = stamp(&cached);
        let mut state = self.state();
        state.stamps.insert(key.to_owned(), stamp);
        state.units.insert(key.to_owned(), unit);
        Some(Arc::new(interface))
    }

    /// The stamp of a library that was loaded or compiled.
    pub(crate) fn stamp(&self, key: &str) -> Option<u64> {
        self.state().stamps.get(key).copied()
    }

    /// Takes the unit of a library found in the cache.
    pub(crate) fn take_unit(&self, key: &LibraryKey) -> Option<CompiledUnit> {
        self.state().units.remove(key.as_str())
    }

    /// Keeps a library that was just compiled, unless it cannot be written.
    pub(crate) fn keep(
        &self,
        library: &ExpandedLibrary,
        interface: &Interface,
        unit: &CompiledUnit,
    ) {
        if library.has_searched {
            // Its source files depend on the directories of this run.
            return;
        }
        let key = library.name.key();
        let Some(cached) = self.describe(key.as_str(), library, interface, unit) else {
            return;
        };
        let path = self.state().paths.get(key.as_str()).cloned();
        self.state()
            .stamps
            .insert(key.as_str().to_owned(), stamp(&cached));
        let Some(file) = path.and_then(|path| self.file(key.as_str(), &path)) else {
            return;
        };
        let Ok(bytes) = postcard::to_stdvec(&cached) else {
            return;
        };
        // A reader sees the old file or the new one, never half of one.
        let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
        let written = self
            .directory
            .as_ref()
            .map(fs::create_dir_all)
            .is_some_and(|made| made.is_ok())
            && fs::write(&temporary, image::seal(&bytes)).is_ok();
        if written && fs::rename(&temporary, &file).is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }

    fn describe(
        &self,
        key: &str,
        library: &ExpandedLibrary,
        interface: &Interface,
        unit: &CompiledUnit,
    ) -> Option<CachedLibrary> {
        let files = library
            .files
            .iter()
            .map(|path| Some((path.clone(), file_checksum(path)?)))
            .collect::<Option<_>>()?;
        let imports = interface
            .requires
            .iter()
            .map(|name| name.key())
            .filter(|import| {
                standard_library(import.as_str()).is_none() && !is_built_in(import.as_str())
            })
            .map(|import| Some((import.as_str().to_owned(), self.stamp(import.as_str())?)))
            .collect::<Option<_>>()?;
        Some(CachedLibrary {
            build: standard_image_checksum(),
            key: key.to_owned(),
            features: self.features.clone(),
            files,
            imports,
            asked: library.asked.clone(),
            interface: image::encode_interface(interface).ok()?,
            unit: image::encode_unit(unit).ok()?,
        })
    }
}

/// The pseudo-libraries, which are part of the build.
fn is_built_in(key: &str) -> bool {
    key == "(canny syntax)" || key == "(canny primitives)"
}

fn file_checksum(path: &Path) -> Option<u64> {
    fs::read(path).ok().map(|bytes| image::checksum(&bytes))
}

fn stamp(cached: &CachedLibrary) -> u64 {
    let parts = [
        image::checksum(&cached.interface),
        image::checksum(&cached.unit),
    ];
    let imports = cached.imports.iter().map(|(_, stamp)| *stamp);
    let bytes: Vec<u8> = parts
        .into_iter()
        .chain(imports)
        .flat_map(u64::to_le_bytes)
        .collect();
    image::checksum(&bytes)
}
