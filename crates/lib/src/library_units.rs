//! Keeps the compiled code of libraries that are not in the image, by key.
//!
//! A library is compiled once, after the expander met it, or comes from the cache or a bundle. The
//! code is kept for the life of the evaluation: the machine for macros may need it later than the
//! program's. `,reload` forgets it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_library};
use canny_compiler::counting::Counting;
use canny_compiler::optimize::Switches;
use canny_compiler::unit::CompiledUnit;
use canny_locks::{Mutex, MutexGuard};
use canny_syntax::core::{LibraryKey, LibraryName};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::Libraries;
use canny_syntax::span::SourceMap;

use crate::cache::libraries::LibraryCache;
use crate::evaluation::compiler_options;

/// A library that was compiled, and what it was made from.
#[derive(Debug)]
pub(crate) struct NotedLibrary {
    pub name: LibraryName,
    pub files: Vec<PathBuf>,
    pub requires: Vec<LibraryName>,
}

/// The code of each library. It is kept, since the machine for macros may need it after the program's.
pub(crate) struct LibraryUnits {
    cache: Arc<LibraryCache>,
    compiled: Mutex<HashMap<LibraryKey, Arc<CompiledUnit>>>,
    /// The libraries compiled since the last call of `take_noted`.
    noted: Mutex<Vec<NotedLibrary>>,
    /// People will look into frames.
    is_interactive: bool,
    /// Switches of the optimizer.
    pub(crate) optimizer: Switches,
    /// The counters that compiled code gets.
    pub(crate) counting: Counting,
}

impl LibraryUnits {
    pub(crate) fn new(
        cache: Arc<LibraryCache>,
        is_interactive: bool,
        optimizer: Switches,
        counting: Counting,
    ) -> LibraryUnits {
        LibraryUnits {
            cache,
            is_interactive,
            optimizer,
            counting,
            compiled: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// The libraries that were compiled since the last call.
    pub(crate) fn take_noted(&self) -> Vec<NotedLibrary> {
        std::mem::take(&mut *self.noted.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LibraryKey, Arc<CompiledUnit>>> {
        self.compiled.lock()
    }

    /// How units are compiled.
    pub(crate) fn options<'a>(&self, sources: &'a SourceMap) -> Options<'a> {
        compiler_options(sources, self.is_interactive, &self.optimizer, self.counting)
    }

    /// Where compiled libraries are kept.
    pub(crate) fn cache(&self) -> &Arc<LibraryCache> {
        &self.cache
    }

    /// The code of a library, unless it is a standard one.
    pub(crate) fn get(&self, key: &LibraryKey) -> Option<Arc<CompiledUnit>> {
        let mut compiled = self.lock();
        if let Some(unit) = compiled.get(key) {
            return Some(unit.clone());
        }
        let unit = Arc::new(self.cache.take_unit(key)?);
        compiled.insert(key.clone(), unit.clone());
        Some(unit)
    }

    /// Forgets a library that will be loaded again.
    pub(crate) fn forget(&self, key: &LibraryKey) -> Option<Arc<CompiledUnit>> {
        self.lock().remove(key)
    }

    /// Adds libraries that were compiled elsewhere, unless they are known.
    pub(crate) fn adopt(&self, libraries: Vec<(LibraryKey, Arc<CompiledUnit>)>) {
        let mut compiled = self.lock();
        for (key, unit) in libraries {
            compiled.entry(key).or_insert(unit);
        }
    }

    /// Everything that a unit requires, directly or not, apart from standard libraries.
    pub(crate) fn needed_by(&self, unit: &CompiledUnit) -> Vec<(LibraryKey, Arc<CompiledUnit>)> {
        let mut seen = HashSet::new();
        let mut needed = Vec::new();
        let mut pending = unit.requires.clone();
        while let Some(name) = pending.pop() {
            let key = name.key();
            if !seen.insert(key.clone()) {
                continue;
            }
            if let Some(unit) = self.get(&key) {
                pending.extend(unit.requires.iter().cloned());
                needed.push((key, unit));
            }
        }
        needed
    }

    /// Compiles the libraries that the expander met since the last time.
    pub(crate) fn compile_expanded(
        &self,
        libraries: &mut Libraries,
        sources: &SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for library in libraries.take_units() {
            let noted = NotedLibrary {
                name: library.name.clone(),
                files: library.gathered.files.clone(),
                requires: library.interface.requires.clone(),
            };
            self.noted.lock().push(noted);
            let options = self.options(sources);
            match compile_library(libraries, &library, &options) {
                Ok((compilation, interface)) => {
                    diagnostics.extend(compilation.warnings);
                    self.cache.keep(&library, &interface, &compilation.unit);
                    self.lock()
                        .insert(library.name.key(), Arc::new(compilation.unit));
                }
                Err(errors) => diagnostics.extend(errors),
            }
        }
    }
}
