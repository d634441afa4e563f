//! Compiled libraries kept in the user's cache directory.
//!
//! A file holds one library, its interface and its code. Whether it counts depends on its source
//! files, on the libraries that it imports, whose *stamps* must be those that it was compiled
//! against, and on the libraries of whose existence its `cond-expand` asked. Code from the cache goes
//! through the verifier.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::image;
use canny_compiler::unit::CompiledUnit;
use canny_locks::Mutex;
use canny_syntax::core::LibraryKey;
use canny_syntax::interface::Interface;
use canny_syntax::library::ExpandedLibrary;
use serde::{Deserialize, Serialize};

use super::{Origins, OtherLibraries, write_whole};

/// The contents of a file of the cache, sealed with a checksum.
#[derive(Serialize, Deserialize)]
struct CachedLibrary {
    key: String,
    origins: Origins,
    interface: Vec<u8>,
    unit: Vec<u8>,
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

    /// The directory of the cache, if there is one.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Features that `cond-expand` knows, and what else code is compiled for.
    pub(super) fn features(&self) -> &[String] {
        &self.features
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
        if cached.key != key || !cached.origins.hold(&self.features, others) {
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

    /// The stamp of a library that has a file of its own, and so can be found again.
    pub(super) fn stamp_of_file(&self, key: &str) -> Option<u64> {
        let state = self.state();
        state.paths.get(key)?;
        state.stamps.get(key).copied()
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
        if library.gathered.has_searched {
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
        write_whole(&file, &image::seal(&bytes));
    }

    fn describe(
        &self,
        key: &str,
        library: &ExpandedLibrary,
        interface: &Interface,
        unit: &CompiledUnit,
    ) -> Option<CachedLibrary> {
        let origins = Origins::new(
            &self.features,
            &library.gathered.files,
            &interface.requires,
            &library.gathered.asked,
            |import| self.stamp(import),
        )?;
        Some(CachedLibrary {
            key: key.to_owned(),
            origins,
            interface: image::encode_interface(interface).ok()?,
            unit: image::encode_unit(unit).ok()?,
        })
    }
}

fn stamp(cached: &CachedLibrary) -> u64 {
    let parts = [
        image::checksum(&cached.interface),
        image::checksum(&cached.unit),
    ];
    let imports = cached.origins.imports.iter().map(|(_, stamp)| *stamp);
    let bytes: Vec<u8> = parts
        .into_iter()
        .chain(imports)
        .flat_map(u64::to_le_bytes)
        .collect();
    image::checksum(&bytes)
}
