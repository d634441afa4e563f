//! Reads the files of `include` and its variants, and files that declare libraries.
//!
//! A relative name is resolved beside the including source first, then in the loader's directories.
//! Inclusion nests at most `INCLUDE_DEPTH_MAX` deep. Each file that was read is recorded, so that a
//! cache knows when to compile again.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::library::{Declared, Libraries};
use crate::library_name::LibraryName;
use crate::reader;
use crate::span::{SourceId, Span};
use crate::syntax::Syntax;

/// Files that include each other more deeply than this surely do so in a circle.
const INCLUDE_DEPTH_MAX: usize = 64;

impl Libraries {
    /// The forms of a file that the source at `at` includes. Relative names are relative to the
    /// directory of that source, and else to those that the loader searches for includes.
    pub(crate) fn include(
        &mut self,
        file: &str,
        at: Span,
        fold_case: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Syntax> {
        let mut depth = 0;
        let mut source = at.source;
        while let Some(parent) = self.included_from.get(&source) {
            depth += 1;
            source = *parent;
        }
        if depth >= INCLUDE_DEPTH_MAX {
            let message =
                format!("`{file}` is included in a circle: {depth} files include each other");
            diagnostics.push(Diagnostic::error("endless-include", at, message));
            return Vec::new();
        }
        let (path, bytes) = match self.read_included(file, at.source) {
            Ok(read) => read,
            Err((path, searched, error)) => {
                let message = format!("the file `{}` cannot be included: {error}", path.display());
                let diagnostic = Diagnostic::error("unreadable-file", at, message);
                let notes = searched
                    .iter()
                    .map(|path| format!("searched {}", path.display()));
                diagnostics.push(notes.fold(diagnostic, Diagnostic::note));
                return Vec::new();
            }
        };
        let (id, result) = reader::read_source(
            &self.sources,
            &path.display().to_string(),
            &bytes,
            fold_case,
        );
        self.included_from.insert(id, at.source);
        self.gathered.files.push(path);
        diagnostics.extend(result.diagnostics);
        result.forms
    }

    /// Reads the first file of that name that there is. An error is about the one beside the including
    /// source; with it come the other places.
    #[allow(clippy::type_complexity)]
    fn read_included(
        &mut self,
        file: &str,
        including: SourceId,
    ) -> Result<(PathBuf, Vec<u8>), (PathBuf, Vec<PathBuf>, std::io::Error)> {
        let beside = self.resolve_include(file, including);
        let error = match self.loader.read_file(&beside) {
            Ok(bytes) => return Ok((beside, bytes)),
            Err(error) => error,
        };
        if error.kind() != std::io::ErrorKind::NotFound || Path::new(file).is_absolute() {
            return Err((beside, Vec::new(), error));
        }
        let directories = self.loader.include_directories();
        let others: Vec<PathBuf> = directories
            .iter()
            .map(|directory| directory.join(file))
            .filter(|path| *path != beside)
            .collect();
        for path in &others {
            if let Ok(bytes) = self.loader.read_file(path) {
                self.gathered.has_searched = true;
                return Ok((path.clone(), bytes));
            }
        }
        Err((beside, others, error))
    }

    /// The library that an import in a source means: files of guests are relative to the source.
    pub(crate) fn located(&self, name: LibraryName, importing: SourceId) -> LibraryName {
        let Some(file) = name.guest_file() else {
            return name;
        };
        let path = self.resolve_include(file, importing);
        let path = std::path::absolute(&path).unwrap_or(path);
        LibraryName::of_guest(&path.display().to_string())
    }

    fn resolve_include(&self, file: &str, including: SourceId) -> PathBuf {
        let directory = self.sources.get(including).and_then(|source| {
            let parent = Path::new(&source.name).parent()?;
            Some(parent.to_owned())
        });
        match directory {
            Some(directory) => directory.join(file),
            None => PathBuf::from(file),
        }
    }

    /// Reads a file of libraries and notes them. The first of two names, as a form there has it, is
    /// known by the second one.
    pub(crate) fn declare_file(
        &mut self,
        path: &Path,
        bytes: &[u8],
        known_as: Option<(&LibraryName, &LibraryName)>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let (_, result) =
            reader::read_source(&self.sources, &path.display().to_string(), bytes, false);
        diagnostics.extend(result.diagnostics);
        for form in &result.forms {
            let head = form.as_pair().and_then(|pair| pair.car.as_identifier());
            let is_headed = |word: &str| head.is_some_and(|head| head.name.as_str() == word);
            if is_headed("library") {
                diagnostics.push(super::r6rs::diagnostic(form.span));
                continue;
            }
            if !is_headed("define-library") {
                let message = "a library file contains only define-library forms";
                diagnostics.push(Diagnostic::error("not-a-library", form.span, message));
                continue;
            }
            let name = super::declared_name(form);
            let name = name.map(|name| match known_as {
                Some((defined, known)) if *defined == name => known.clone(),
                _ => name,
            });
            match name {
                // A library that is known already, from another file or the running system, stays.
                Ok(name) if self.interfaces.contains_key(&name.key()) => {}
                Ok(name) => {
                    self.declared
                        .entry(name.key())
                        .or_insert_with(|| Declared { form: form.clone() });
                }
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
    }
}
