//! Libraries: the registry of interfaces, and everything between `import` and a loaded library.
//!
//! [`Libraries`] holds the interface of every library seen so far. What is missing is asked of a
//! [`LibraryLoader`]; sources are expanded on the spot, and their units wait in
//! [`Libraries::take_units`] for the compiler, in the order in which they must be instantiated.
//! Two pseudo-libraries exist from the beginning: `(canny syntax)`, the core forms, and
//! `(canny primitives)`, the primitives.

mod cond_expand;
mod definition;
mod import_set;
mod include;
mod interface;
mod loader;
mod r6rs;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use canny_tables::primitives;

use crate::binding::{Binding, MacroName};
use crate::core::{GlobalName, LibraryKey, LibraryName, Unit};
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::foreign_libraries;
use crate::name::Name;
use crate::procedural::{MacroFailure, MacroHost, MadeTransformer};
use crate::recording::Recording;
use crate::span::{SourceId, SourceMap, Span};
use crate::syntax::Syntax;

pub(crate) use r6rs::{diagnostic as r6rs_library, is_library as is_r6rs_library};

pub use import_set::FailedImport;
pub use import_set::library_name as library_name_of;
pub use import_set::similar_name;
pub use interface::Interface;
pub use loader::{LibraryLoader, Loaded, SearchPath};

/// The key of the library of core forms.
pub(crate) const SYNTAX_LIBRARY: &str = "(canny syntax)";
const SYNTAX_WORDS: [&str; 2] = ["canny", "syntax"];

/// A library that was expanded from source.
#[derive(Debug)]
pub struct ExpandedLibrary {
    /// Its name.
    pub name: LibraryName,
    /// Its code.
    pub unit: Unit,
    /// What others see of it. The registry holds the same one.
    pub interface: Arc<Interface>,
    /// The files it was made from: the one with its `define-library` form, then the included ones.
    pub files: Vec<PathBuf>,
    /// The libraries of which `cond-expand` asked whether they exist, and what the answer was.
    pub asked: Vec<(LibraryName, bool)>,
    /// Whether an included file was found in a directory that is searched: with other directories it
    /// may be another one.
    pub has_searched: bool,
}

/// A `define-library` form that was seen but not expanded yet.
#[derive(Clone)]
struct Declared {
    form: Syntax,
}

/// A library that is being loaded, and where it was asked for.
struct Loading {
    name: LibraryName,
    at: Span,
}

/// All libraries that are known.
pub struct Libraries {
    sources: Arc<SourceMap>,
    loader: Box<dyn LibraryLoader>,
    features: Vec<Name>,
    interfaces: HashMap<LibraryKey, Arc<Interface>>,
    declared: HashMap<LibraryKey, Declared>,
    loading: Vec<Loading>,
    /// Libraries whose errors were reported in the operation under way.
    failed: HashSet<LibraryKey>,
    expanded: Vec<ExpandedLibrary>,
    /// Transformers that are procedures, as far as they were made.
    transformers: HashMap<MacroName, MadeTransformer>,
    /// The host that runs them; absent while it is at work, and where nobody can.
    macro_host: Option<Box<dyn MacroHost>>,
    /// Which source included which.
    included_from: HashMap<SourceId, SourceId>,
    /// The files included since the innermost library began.
    files: Vec<PathBuf>,
    /// Whether one of them was found in a directory that is searched.
    has_searched: bool,
    /// What the expander sees of the unit under way, if somebody wants to know.
    pub(crate) recording: Option<Recording>,
    /// What it saw of libraries.
    recordings: HashMap<LibraryKey, Arc<Recording>>,
    /// Whether expansions are to end as soon as they can.
    stop: Option<Arc<AtomicBool>>,
    /// The libraries of whose existence was asked since the innermost library began.
    asked: Vec<(LibraryName, bool)>,
    /// Interfaces tell every name of the library's top level, and each global may be defined anew.
    keeps_internals: bool,
}

impl Libraries {
    /// A registry with the pseudo-libraries. `features` is what `cond-expand` knows.
    pub fn new(
        sources: Arc<SourceMap>,
        loader: Box<dyn LibraryLoader>,
        features: &[&str],
    ) -> Libraries {
        let mut libraries = Libraries {
            sources,
            loader,
            features: features.iter().map(|feature| Name::new(feature)).collect(),
            interfaces: HashMap::new(),
            declared: HashMap::new(),
            loading: Vec::new(),
            failed: HashSet::new(),
            expanded: Vec::new(),
            transformers: HashMap::new(),
            macro_host: None,
            included_from: HashMap::new(),
            files: Vec::new(),
            has_searched: false,
            recording: None,
            recordings: HashMap::new(),
            stop: None,
            asked: Vec::new(),
            keeps_internals: false,
        };
        for interface in [syntax_library(), primitives_library()] {
            libraries
                .interfaces
                .insert(interface.name.key(), Arc::new(interface));
        }
        libraries
    }

    /// The source texts.
    pub fn sources(&self) -> &Arc<SourceMap> {
        &self.sources
    }

    /// The loader.
    pub fn loader(&mut self) -> &mut dyn LibraryLoader {
        self.loader.as_mut()
    }

    /// What `cond-expand` knows.
    pub fn features(&self) -> &[Name] {
        &self.features
    }

    /// Adds a feature.
    pub fn add_feature(&mut self, feature: &str) {
        self.features.push(Name::new(feature));
    }

    /// Lets libraries that are expanded from now on keep every name of their top level, and look at
    /// their variables each time, so that a prompt can be inside of them and define what is there anew.
    pub fn keep_internals(&mut self) {
        self.keeps_internals = true;
    }

    /// Records what the next program means, and the libraries that are expanded for it.
    pub fn begin_recording(&mut self) {
        self.recording = Some(Recording::default());
    }

    /// Ends recording; gives what was seen of the program.
    pub fn end_recording(&mut self) -> Recording {
        self.recording.take().unwrap_or_default()
    }

    /// Takes the files that were included outside of libraries.
    pub fn take_files(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.files)
    }

    /// What was seen of a library when it was expanded.
    pub fn recording_of(&self, key: &LibraryKey) -> Option<&Arc<Recording>> {
        self.recordings.get(key)
    }

    /// Lets expansions end as soon as they can once this is true.
    pub fn set_stop(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop
            .as_ref()
            .is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Forgets every transformer that is a procedure; they are made again where they are needed.
    pub fn forget_transformers(&mut self) {
        self.transformers.clear();
    }

    /// Forgets a library, so that it is loaded anew when it is asked for; gives its interface, to be
    /// put back with [`Libraries::add_interface`] if that fails.
    pub fn forget(&mut self, key: &LibraryKey) -> Option<Arc<Interface>> {
        self.interfaces.remove(key)
    }

    /// The interfaces of every library that is known so far, in no order.
    pub fn interfaces(&self) -> impl Iterator<Item = &Arc<Interface>> {
        self.interfaces.values()
    }

    /// Adds a library that was compiled elsewhere.
    pub fn add_interface(&mut self, interface: Arc<Interface>) {
        self.interfaces.insert(interface.name.key(), interface);
    }

    /// The interface of a library that was loaded before.
    pub fn interface_by_key(&self, key: &LibraryKey) -> Option<&Arc<Interface>> {
        self.interfaces.get(key)
    }

    /// What the compiler noted about a library's global.
    pub fn inline_information(&self, global: &GlobalName) -> Option<&[u8]> {
        self.interfaces
            .get(&global.library)?
            .inline
            .get(&global.name)
            .map(Vec::as_slice)
    }

    /// Notes something about a library's global for the compilation of others. Nothing happens if
    /// the library is not known.
    pub fn set_inline_information(&mut self, global: &GlobalName, bytes: Vec<u8>) {
        if let Some(interface) = self.interfaces.get_mut(&global.library) {
            Arc::make_mut(interface).inline.insert(global.name, bytes);
        }
    }

    /// Takes the libraries that were expanded since the last call, in the order in which they must
    /// be instantiated.
    pub fn take_units(&mut self) -> Vec<ExpandedLibrary> {
        let mut expanded = std::mem::take(&mut self.expanded);
        for library in &mut expanded {
            // Inline information may have been added since.
            if let Some(interface) = self.interfaces.get(&library.name.key()) {
                library.interface = interface.clone();
            }
        }
        expanded
    }

    /// Lets transformers that are procedures be run.
    pub fn set_macro_host(&mut self, host: Box<dyn MacroHost>) {
        self.macro_host = Some(host);
    }

    /// Whether transformers that are procedures can be run.
    pub(crate) fn has_macro_host(&self) -> bool {
        self.macro_host.is_some()
    }

    /// Asks the host for something; fails where there is none.
    pub(crate) fn with_macro_host<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn MacroHost, &mut Libraries) -> Result<R, MacroFailure>,
    ) -> Result<R, MacroFailure> {
        let Some(mut host) = self.macro_host.take() else {
            return Err(MacroFailure {
                message: "macros that are procedures cannot be run here".to_owned(),
                ..MacroFailure::default()
            });
        };
        let result = ask(host.as_mut(), self);
        self.macro_host = Some(host);
        result
    }

    /// The transformer of a macro, if it is a procedure and was made before.
    pub(crate) fn transformer(&self, name: &MacroName) -> Option<MadeTransformer> {
        self.transformers.get(name).cloned()
    }

    /// Keeps the transformer of a macro.
    pub(crate) fn keep_transformer(&mut self, name: MacroName, made: MadeTransformer) {
        self.transformers.insert(name, made);
    }

    /// Forgets the transformer of a macro, because it was defined anew.
    pub(crate) fn forget_transformer(&mut self, name: &MacroName) {
        self.transformers.remove(name);
    }

    /// Forgets what failed before, so that it is tried and reported anew.
    pub(crate) fn begin_operation(&mut self) {
        self.failed.clear();
        self.loading.clear();
    }

    /// The interface of a library, loading it if needed. `None` after an error, which is in
    /// `diagnostics` unless it was reported before.
    pub fn load(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Interface>> {
        let key = name.key();
        if let Some(interface) = self.interfaces.get(&key) {
            return Some(interface.clone());
        }
        if let Some(position) = self
            .loading
            .iter()
            .position(|loading| loading.name == *name)
        {
            diagnostics.push(self.cyclic_import(position, at));
            return None;
        }
        if self.failed.contains(&key) {
            // Its errors were reported in this operation.
            return None;
        }
        self.loading.push(Loading {
            name: name.clone(),
            at,
        });
        let errors_before = diagnostics.len();
        let interface = self.load_missing(name, at, diagnostics);
        self.loading.pop();
        if interface.is_none() {
            self.failed.insert(key);
            if !diagnostics[errors_before..]
                .iter()
                .any(Diagnostic::is_error)
            {
                diagnostics.push(Diagnostic::error(
                    "failed-import",
                    at,
                    format!("the library {name} has errors"),
                ));
            }
        }
        interface
    }

    fn load_missing(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Interface>> {
        let key = name.key();
        if !self.declared.contains_key(&key) {
            let defined = self.loader.replaced_by(name);
            match self.loader.load(name) {
                Loaded::Interface(interface) => return self.adopt(interface, at, diagnostics),
                Loaded::Source { path, bytes } => {
                    let defined = defined.as_ref().map(|defined| (defined, name));
                    self.declare_file(&path, &bytes, defined, diagnostics);
                }
                Loaded::NotFound { searched } => {
                    let known = self.loader.known_libraries();
                    let known = known.iter().map(|name| Name::new(name));
                    let diagnostic = not_found(name, at, &searched, known);
                    let advice = self.loader.advice(name).into_iter();
                    diagnostics.push(advice.fold(diagnostic, Diagnostic::note));
                    return None;
                }
                Loaded::Failed(message) => {
                    let message = format!("the library {name} cannot be read: {message}");
                    diagnostics.push(Diagnostic::error("unreadable-library", at, message));
                    return None;
                }
            }
            if !self.declared.contains_key(&key) {
                if !diagnostics.iter().any(Diagnostic::is_error) {
                    let message =
                        format!("the file found for the library {name} does not define it");
                    diagnostics.push(Diagnostic::error("library-not-defined", at, message));
                }
                return None;
            }
        }
        let declared = self.declared.remove(&key)?;
        let expanded = self.expand_library(name, &declared.form, diagnostics)?;
        let interface = expanded.interface.clone();
        self.interfaces.insert(key, interface.clone());
        self.expanded.push(expanded);
        Some(interface)
    }

    /// Takes a compiled interface, after loading the libraries it refers to.
    fn adopt(
        &mut self,
        interface: Arc<Interface>,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Interface>> {
        for required in &interface.requires {
            self.load(required, at, diagnostics)?;
        }
        self.interfaces
            .insert(interface.name.key(), interface.clone());
        Some(interface)
    }

    fn cyclic_import(&self, position: usize, at: Span) -> Diagnostic {
        let cycle = &self.loading[position..];
        let mut chain: Vec<String> = cycle
            .iter()
            .map(|loading| loading.name.to_string())
            .collect();
        chain.push(chain[0].clone());
        let message = format!("libraries import each other: {}", chain.join(" → "));
        cycle.iter().fold(
            Diagnostic::error("cyclic-import", at, message),
            |diagnostic, loading| {
                diagnostic.label(loading.at, format!("{} is imported here", loading.name))
            },
        )
    }

    /// A sentence about the libraries that export a name, if there are any.
    pub fn exporters_note(&mut self, name: Name) -> Option<String> {
        const SHOWN_MAX: usize = 3;
        let exporters = self.loader.exporters(name);
        let shown = exporters.get(..SHOWN_MAX).unwrap_or(&exporters);
        (!shown.is_empty()).then(|| format!("it is exported by {}: import that", shown.join(", ")))
    }

    /// The library to import for a keyword: that of the standard which has it, if there is one.
    pub(crate) fn exporter(&mut self, name: Name) -> Option<String> {
        let exporters = self.loader.exporters(name);
        let wanted = ["(scheme base)", "(scheme ", "(canny "];
        let found = wanted
            .iter()
            .find_map(|start| exporters.iter().find(|library| library.starts_with(start)));
        found.or(exporters.first()).cloned()
    }

    /// Whether a library exists, for `cond-expand`.
    pub(crate) fn exists(&mut self, name: &LibraryName) -> bool {
        let key = name.key();
        let exists = self.interfaces.contains_key(&key)
            || self.declared.contains_key(&key)
            || self.loading.iter().any(|loading| loading.name == *name)
            || self.loader.exists(name);
        self.asked.push((name.clone(), exists));
        exists
    }
}

impl fmt::Debug for Libraries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Libraries")
            .field("interfaces", &self.interfaces.keys())
            .finish_non_exhaustive()
    }
}

fn not_found(
    name: &LibraryName,
    at: Span,
    searched: &[String],
    known: impl Iterator<Item = Name>,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        "library-not-found",
        at,
        format!("the library {name} was not found"),
    );
    // Another number is another library, not the same misspelt.
    let words = |key: &str| key.replace(|c: char| c.is_ascii_digit(), "");
    let key = name.key();
    let known = known.filter(|other| words(other.as_str()) != words(key.as_str()));
    if let Some(similar) = similar_name(Name::new(key.as_str()), known) {
        diagnostic = diagnostic.similar(similar.as_str());
    }
    if let Some(others) = r6rs::replacement(key.as_str()) {
        let note = format!("it is a library of R6RS, which is not here: {others}");
        return diagnostic.note(note);
    }
    if let Some(here) = foreign_libraries::replacement(key.as_str()) {
        let note = format!("it is a library of another Scheme; write (import {here})");
        return diagnostic.note(note);
    }
    if searched.is_empty() {
        return diagnostic.note("no place to search for it is known");
    }
    searched.iter().fold(diagnostic, |diagnostic, place| {
        diagnostic.note(format!("searched {place}"))
    })
}

/// `(canny syntax)`: the core forms.
fn syntax_library() -> Interface {
    let mut interface = Interface::new(LibraryName::from_words(&SYNTAX_WORDS));
    interface.exports = CoreForm::ALL
        .iter()
        .map(|form| (Name::new(form.name()), Binding::Core(*form)))
        .collect::<BTreeMap<_, _>>();
    // A procedural macro may call this library its home.
    interface.internal.clone_from(&interface.exports);
    interface
}

/// `(canny primitives)`: every primitive under its name.
fn primitives_library() -> Interface {
    let mut interface = Interface::new(LibraryName::from_words(&["canny", "primitives"]));
    let binding = |row: &&primitives::Primitive| {
        let name = Name::new(row.name);
        (name, Binding::Primitive(name))
    };
    interface.exports = primitives::all().iter().map(binding).collect();
    interface
}
