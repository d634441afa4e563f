//! Looking at programs without running them, for editors.
//!
//! A text is read leniently, expanded with a recording and looked through for warnings; it is not
//! compiled. Libraries are expanded from their sources, once, and anew when a file that they were made
//! from has changed. Files that are open in an editor have the text that they have there
//! ([`OpenDocuments`]).

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use canny_compiler::compile;
use canny_compiler::counting::Counting;
use canny_compiler::image;
use canny_locks::{Mutex, MutexGuard};
use canny_syntax::core::{LibraryKey, LibraryName};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::expander::expand_program;
use canny_syntax::interface::Interface;
use canny_syntax::library::{Libraries, LibraryLoader, Loaded, SearchPath};
use canny_syntax::name::Name;
use canny_syntax::reader::{read_source, read_text_leniently};
use canny_syntax::recording::Recording;
use canny_syntax::span::{SourceId, SourceMap, Span};

use super::{
    Evaluation, EvaluationConfig, Inner, compiler_options, interaction_imports,
    without_consequences,
};
use crate::features::FEATURES;
use crate::library_loader::{StandardLoader, standard_library, standard_library_names};
use crate::macros::MacroBridge;

/// Texts that are being edited, and where to look for libraries. Shared by an editor's server and the
/// evaluation.
#[derive(Debug, Default)]
pub struct OpenDocuments {
    state: Mutex<OpenState>,
}

#[derive(Debug, Default)]
struct OpenState {
    texts: HashMap<PathBuf, (u64, Arc<str>)>,
    directories: Vec<PathBuf>,
    libraries: Arc<HashMap<String, PathBuf>>,
    changes: u64,
}

impl OpenDocuments {
    fn lock(&self) -> MutexGuard<'_, OpenState> {
        self.state.lock()
    }

    /// Gives a file the text that it has in the editor.
    pub fn set(&self, path: &Path, text: Arc<str>) {
        let mut state = self.lock();
        state.changes += 1;
        let change = state.changes;
        state.texts.insert(path.to_owned(), (change, text));
    }

    /// The file has again the text that is on the disk.
    pub fn remove(&self, path: &Path) {
        self.lock().texts.remove(path);
    }

    /// Where libraries are looked for from now on: directories, and the files of what packages have
    /// under other names.
    pub fn set_search(&self, directories: Vec<PathBuf>, libraries: Arc<HashMap<String, PathBuf>>) {
        let mut state = self.lock();
        state.directories = directories;
        state.libraries = libraries;
    }

    fn package_file(&self, name: &LibraryName) -> Option<PathBuf> {
        self.lock().libraries.get(name.key().as_str()).cloned()
    }

    /// Where libraries are looked for.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.lock().directories.clone()
    }

    fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.lock().texts.get(path).map(|(_, text)| text.clone())
    }

    /// Whether the file is open.
    pub fn is_open(&self, path: &Path) -> bool {
        self.text(path).is_some()
    }

    /// The present text of a file.
    pub fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match self.text(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => canny_replay::source(path, || std::fs::read(path)),
        }
    }

    /// Something that changes when the text of a file does.
    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        if let Some((change, _)) = self.lock().texts.get(path) {
            return Some(Stamp::Open(*change));
        }
        let data = std::fs::metadata(path).ok()?;
        Some(Stamp::Stored(data.len(), data.modified().ok()?))
    }
}

/// Tells states of a file from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// In the editor: the number of a change.
    Open(u64),
    /// On the disk: length and time.
    Stored(u64, SystemTime),
}

/// Finds libraries as an editor has them.
pub(super) struct OverlayLoader {
    documents: Arc<OpenDocuments>,
    standard: StandardLoader,
    /// Interfaces of the image, decoded once.
    interfaces: HashMap<LibraryKey, Arc<Interface>>,
}

impl OverlayLoader {
    pub(super) fn new(documents: Arc<OpenDocuments>, standard: StandardLoader) -> OverlayLoader {
        OverlayLoader {
            documents,
            standard,
            interfaces: HashMap::new(),
        }
    }
}

/// The file of a library, if it has one.
fn find_file(documents: &OpenDocuments, name: &LibraryName) -> Result<PathBuf, Vec<PathBuf>> {
    let directories = documents.directories();
    let mut candidates = SearchPath { directories }.candidates(name);
    candidates.extend(documents.package_file(name));
    match candidates
        .iter()
        .find(|path| documents.text(path).is_some() || path.is_file())
    {
        Some(path) => Ok(path.clone()),
        None => Err(candidates),
    }
}

impl LibraryLoader for OverlayLoader {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        let key = name.key();
        if let Some(known) = self.interfaces.get(&key) {
            return Loaded::Interface(known.clone());
        }
        if standard_library(key.as_str()).is_some() {
            let loaded = self.standard.load(name);
            if let Loaded::Interface(interface) = &loaded {
                self.interfaces.insert(key, interface.clone());
            }
            return loaded;
        }
        if name.guest_file().is_some() {
            return self.standard.load(name);
        }
        match find_file(&self.documents, name) {
            Ok(path) => match self.documents.read(&path) {
                Ok(bytes) => Loaded::Source { path, bytes },
                Err(error) => Loaded::Failed(format!("{}: {error}", path.display())),
            },
            Err(candidates) => Loaded::NotFound {
                searched: candidates
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect(),
            },
        }
    }

    fn exists(&mut self, name: &LibraryName) -> bool {
        if name.guest_file().is_some() {
            return self.standard.exists(name);
        }
        standard_library(name.key().as_str()).is_some() || find_file(&self.documents, name).is_ok()
    }

    fn known_libraries(&mut self) -> Vec<String> {
        self.standard.known_libraries()
    }

    fn exporters(&mut self, name: Name) -> Vec<String> {
        self.standard.exporters(name)
    }

    fn include_directories(&mut self) -> Vec<PathBuf> {
        self.documents.directories()
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.documents.read(path)
    }
}

/// The result of an analysis.
#[derive(Debug)]
pub struct Analysis {
    /// The text in the map of sources.
    pub source: SourceId,
    /// Errors and warnings, also of libraries that were expanded for it.
    pub diagnostics: Vec<Diagnostic>,
    /// Names of the program, then those of the libraries that are defined in its text.
    pub recordings: Vec<Arc<Recording>>,
    /// Forms that are not complete, so that the findings about them are a guess.
    pub repaired: Vec<Span>,
    /// Files that were included, and those of the libraries that were ever expanded: when one changes,
    /// so may this.
    pub files: Vec<PathBuf>,
    /// It was stopped before it was complete.
    pub is_stopped: bool,
}

/// A user's library that was expanded.
#[derive(Debug)]
pub(super) struct KnownLibrary {
    name: LibraryName,
    files: Vec<(PathBuf, Option<Stamp>)>,
    requires: Vec<LibraryName>,
}

impl Evaluation {
    /// Looks at a text as at a program. `path` is where it lies, for libraries and included files.
    pub fn analyze(&self, path: &Path, text: &str, stop: Arc<AtomicBool>) -> Analysis {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.forget_changed_libraries();
        let name = path.display().to_string();
        let source = self.sources.add(&name, text);
        let forms = read_text_leniently(text, source, false);
        inner.programs += 1;
        let key = LibraryKey::new(&format!("program {}", inner.programs));
        inner.libraries.set_stop(Some(stop.clone()));
        inner.libraries.begin_recording();
        let expansion = expand_program(
            &mut inner.libraries,
            key,
            &forms.forms,
            &interaction_imports(),
        );
        let recording = inner.libraries.end_recording();
        inner.libraries.set_stop(None);
        let included = inner.libraries.take_gathered().files;
        inner.keep_expanded_libraries(&self.sources);
        let known = inner.known_libraries.values();
        let mut files: Vec<PathBuf> = known
            .flat_map(|known| known.files.iter().map(|(file, _)| file.clone()))
            .chain(included)
            .map(|file| without_dots(&file))
            .collect();
        files.sort_unstable();
        files.dedup();
        let mut diagnostics = forms.diagnostics;
        let has_reading_errors = diagnostics.iter().any(Diagnostic::is_error);
        let is_guess = |one: &Diagnostic| {
            let at = one.span;
            forms.repaired.iter().any(|form| {
                form.source == at.source && form.start <= at.start && at.start <= form.end
            })
        };
        diagnostics.extend(
            expansion
                .diagnostics
                .into_iter()
                .filter(|one| !is_guess(one)),
        );
        let stopped = |one: &Diagnostic| one.code == "expansion-stopped";
        let is_stopped = diagnostics.iter().any(stopped);
        diagnostics.retain(|one| !stopped(one));
        match expansion.unit {
            Some(unit) if !has_reading_errors => {
                let options = compiler_options(
                    &self.sources,
                    false,
                    &inner.units.optimizer,
                    Counting::default(),
                );
                let mut options = options;
                options.optimize.imports = Some(&inner.libraries);
                diagnostics.extend(compile::warnings(&unit, &options));
            }
            _ => diagnostics = without_consequences(diagnostics),
        }
        if has_reading_errors {
            diagnostics.retain(Diagnostic::is_error);
        }
        let mut recordings = vec![Arc::new(recording)];
        for form in &forms.forms {
            recordings.extend(declared_recording(&inner.libraries, form));
        }
        files.retain(|file| *file != path);
        // The libraries of this text are made anew with it.
        inner.forget_libraries_of(path);
        Analysis {
            source,
            diagnostics,
            recordings,
            repaired: forms.repaired,
            files,
            is_stopped,
        }
    }

    /// The recording of a library outside of the image, made when it was expanded for an analysis.
    pub fn library_recording(&self, key: &LibraryKey) -> Option<Arc<Recording>> {
        self.lock().libraries.recording_of(key).cloned()
    }

    /// Lets go of the text of an analysis that nobody needs any more.
    pub fn release(&self, source: SourceId) {
        self.sources.release(source);
    }
}

/// A path without `.` and `..`, as editors write it.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The interfaces of the standard libraries, in no order.
pub fn standard_interfaces() -> Vec<Interface> {
    standard_library_names()
        .filter_map(standard_library)
        .filter_map(|entry| image::decode_interface(entry.interface).ok())
        .collect()
}

/// The recording of the library that a form defines.
fn declared_recording(
    libraries: &Libraries,
    form: &canny_syntax::syntax::Syntax,
) -> Option<Arc<Recording>> {
    let parts = form.elements()?;
    if parts.first()?.as_identifier()?.name.as_str() != "define-library" {
        return None;
    }
    let name = canny_syntax::library::library_name_of(parts.get(1)?).ok()?;
    libraries.recording_of(&name.key()).cloned()
}

impl Inner {
    /// Compiles the libraries that were expanded, since macros may run their code, and remembers their files.
    fn keep_expanded_libraries(&mut self, sources: &SourceMap) {
        let Some(documents) = self.documents.clone() else {
            return;
        };
        // Warnings about them are reported where they are edited.
        let units = self.units.clone();
        units.compile_expanded(&mut self.libraries, sources, &mut Vec::new());
        for library in units.take_noted() {
            let stamped = library.files.iter();
            let known = KnownLibrary {
                name: library.name.clone(),
                files: stamped
                    .map(|file| (file.clone(), documents.stamp(file)))
                    .collect(),
                requires: library.requires,
            };
            self.known_libraries.insert(library.name.key(), known);
        }
    }

    fn forget_changed_libraries(&mut self) {
        let Some(documents) = self.documents.clone() else {
            return;
        };
        let mut stale: HashSet<LibraryName> = HashSet::new();
        for known in self.known_libraries.values() {
            let moved = || {
                let found = find_file(&documents, &known.name).ok();
                found.as_ref() != known.files.first().map(|(file, _)| file)
            };
            let changed =
                |(file, stamp): &(PathBuf, Option<Stamp>)| documents.stamp(file) != *stamp;
            if moved() || known.files.iter().any(changed) {
                stale.insert(known.name.clone());
            }
        }
        self.forget_with_dependents(stale);
    }

    fn forget_libraries_of(&mut self, path: &Path) {
        let of_path = self
            .known_libraries
            .values()
            .filter(|known| known.files.first().is_some_and(|(file, _)| file == path))
            .map(|known| known.name.clone());
        let stale = of_path.collect();
        self.forget_with_dependents(stale);
    }

    fn forget_with_dependents(&mut self, mut stale: HashSet<LibraryName>) {
        if stale.is_empty() {
            return;
        }
        loop {
            let before = stale.len();
            for known in self.known_libraries.values() {
                if known.requires.iter().any(|name| stale.contains(name)) {
                    stale.insert(known.name.clone());
                }
            }
            if stale.len() == before {
                break;
            }
        }
        for name in &stale {
            let key = name.key();
            self.libraries.forget(&key);
            self.units.forget(&key);
            self.known_libraries.remove(&key);
        }
        // The machine for macros has the old code.
        if let Some(restart) = &self.restart_macros {
            self.libraries.forget_transformers();
            self.libraries.set_macro_host(restart());
        }
    }
}

/// An evaluation for editors: libraries come from their sources and from open documents.
pub(super) fn loader_for(
    config: &EvaluationConfig,
    standard: StandardLoader,
) -> Box<dyn LibraryLoader> {
    match &config.documents {
        Some(documents) => Box::new(OverlayLoader::new(documents.clone(), standard)),
        None => Box::new(standard),
    }
}

/// Makes a machine for macros when the old one has old code.
pub(super) type MakeMacroHost = Box<dyn Fn() -> Box<MacroBridge> + Send>;

/// Looks at the source of a standard library: its text is expanded while everything that it imports
/// comes from the image. Gives what was seen of it, and the text as a source of the map.
pub fn analyze_standard_library(
    name: &str,
    path: &Path,
    text: &str,
) -> (Option<Arc<Recording>>, SourceId, Arc<SourceMap>) {
    struct ImageOnly(StandardLoader);
    impl LibraryLoader for ImageOnly {
        fn load(&mut self, name: &LibraryName) -> Loaded {
            self.0.load(name)
        }
    }
    let sources = Arc::new(SourceMap::new());
    let standard = StandardLoader::new(Vec::new(), None, Arc::default(), &[]);
    let mut libraries = Libraries::new(sources.clone(), Box::new(ImageOnly(standard)), FEATURES);
    let shown = path.display().to_string();
    let (source, forms) = read_source(&sources, &shown, text.as_bytes(), false);
    libraries.begin_recording();
    let key = LibraryKey::new("program 0");
    expand_program(&mut libraries, key, &forms.forms, &[]);
    let recording = libraries.recording_of(&LibraryKey::new(name)).cloned();
    (recording, source, sources)
}
