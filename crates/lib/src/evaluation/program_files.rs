//! Programs that lie in files: their code comes from the cache if it has it, and goes there if not.
//!
//! Only the first program of an evaluation is looked for, since the names of a program's globals
//! contain its number. A prompt has none, because it needs names that a program's code does not keep.

use std::path::Path;
use std::sync::Arc;

use canny_syntax::core::LibraryName;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::{Libraries, Loaded};

use super::{Evaluation, Inner, Prepared};
use crate::cache::OtherLibraries;
use crate::cache::libraries::LibraryCache;
use crate::cache::programs::ProgramFile;

impl Evaluation {
    /// Prepares the program of a file, as [`Evaluation::prepare_program`] does. Its code is kept in
    /// the cache directory for the next run.
    pub fn prepare_program_file(
        &self,
        file: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let cache = inner.units.cache().clone();
        let place = ProgramFile::new(&cache, file, name, bytes)
            .filter(|_| inner.programs == 0 && !inner.is_interactive);
        let Some(place) = place else {
            return inner.prepare_program(&self.sources, name, bytes);
        };
        let mut known = KnownLibraries {
            libraries: &mut inner.libraries,
            cache: &cache,
        };
        if let Some(found) = place.find(&self.sources, &mut known) {
            inner.programs += 1;
            inner.keep_hints(&found.warnings);
            let mut prepared = inner.prepare_unit(Arc::new(found.unit))?;
            prepared.last_digest = Some(found.digest);
            prepared.warnings = found.warnings;
            return Ok(prepared);
        }
        let prepared = inner.prepare_program(&self.sources, name, bytes)?;
        inner.keep_program(&place, &prepared);
        Ok(prepared)
    }
}

impl Inner {
    fn keep_program(&mut self, place: &ProgramFile, prepared: &Prepared) {
        let gathered = self.libraries.take_gathered();
        if let Some((unit, _)) = prepared.units.last() {
            place.keep(unit, &prepared.warnings, &gathered, &self.libraries);
        }
    }
}

/// The libraries of an evaluation, for the cache.
struct KnownLibraries<'a> {
    libraries: &'a mut Libraries,
    cache: &'a LibraryCache,
}

impl OtherLibraries for KnownLibraries<'_> {
    fn stamp(&mut self, key: &str) -> Option<u64> {
        let known = self.cache.stamp(key);
        if known.is_some() {
            return known;
        }
        let words = key.strip_prefix('(')?.strip_suffix(')')?;
        let words: Vec<&str> = words.split(' ').collect();
        let name = LibraryName::from_words(&words);
        match self.libraries.loader().load(&name) {
            Loaded::Interface(interface) => self.libraries.add_interface(interface),
            _ => return None,
        }
        self.cache.stamp(key)
    }

    fn is_there(&mut self, name: &LibraryName) -> bool {
        self.libraries.loader().exists(name)
    }
}
