//! The registry of libraries: what is known of each, and how sources are found.
//!
//! [`Libraries`] holds the interface of every library seen so far. It asks a [`LibraryLoader`] for
//! a missing one. The registry expands nothing: `expander::libraries` has the methods that load and
//! import, which expand sources on the spot. Their units wait in [`Libraries::take_units`] for the
//! compiler, in the order in which they must be instantiated. Two pseudo-libraries exist from the
//! beginning: `(canny syntax)`, the core forms, and `(canny primitives)`, the primitives.

mod cond_expand;
mod include;
mod loader;
mod macro_host;
mod r6rs;
mod written_name;

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
use crate::interface::Interface;
use crate::library_name::Family;
use crate::name::Name;
use crate::procedural::{MacroFailure, MadeTransformer};
use crate::recording::Recording;
use crate::span::{SourceId, SourceMap, Span};
use crate::spelling::similar_name;
use crate::syntax::Syntax;

pub(crate) use r6rs::{diagnostic as r6rs_library, is_library as is_r6rs_library};

pub use loader::{LibraryLoader, Loaded, SearchPath};
pub use macro_host::MacroHost;
pub use written_name::library_name as library_name_of;

use written_name::declared_name;

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
    /// The interface that other units see. The registry holds the same one.
    pub interface: Arc<Interface>,
    /// Its sources. The first file is the one with its `define-library` form.
    pub gathered: Gathered,
}

/// The sources of a library or program beyond its text.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The included files.
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

/// The form in which a library that has to be loaded was found.
pub(crate) enum Found {
    /// It was compiled before.
    Compiled(Arc<Interface>),
    /// Its `define-library` form.
    Source(Syntax),
}

/// The facts gathered for an outer library, saved while an inner one is expanded.
pub(crate) struct OuterLibrary {
    gathered: Gathered,
    recording: Option<Recording>,
}

/// Parts of all expansions that are kept.
const KEPT_PARTS_MAX: usize = 1 << 20;

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
    /// The including source of each included source.
    included_from: HashMap<SourceId, SourceId>,
    /// Whether the host was asked for something.
    has_run_procedures: bool,
    /// The sources met since the innermost library began.
    gathered: Gathered,
    /// The recording of the unit under way, if somebody asked for one.
    pub(crate) recording: Option<Recording>,
    /// The recordings of libraries.
    recordings: HashMap<LibraryKey, Arc<Recording>>,
    /// Whether expansions are to end as soon as they can.
    stop: Option<Arc<AtomicBool>>,
    /// Interfaces tell every name of the library's top level, and each global may be defined anew.
    keeps_internals: bool,
    /// Parts of expansions that may still be kept, for people who step into them.
    pub(crate) expansions_left: usize,
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
            has_run_procedures: false,
            gathered: Gathered::default(),
            recording: None,
            recordings: HashMap::new(),
            stop: None,
            keeps_internals: false,
            expansions_left: 0,
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

    /// The features that `cond-expand` knows.
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

    /// Keeps the texts of expansions from now on. Code that a macro inserted has a number of its place
    /// there in [`Span::inlining`](crate::span::Span::inlining).
    pub fn keep_expansions(&mut self) {
        self.expansions_left = KEPT_PARTS_MAX;
    }

    /// Records what the next program means, and the libraries that are expanded for it.
    pub fn begin_recording(&mut self) {
        self.recording = Some(Recording::default());
    }

    /// Ends recording; gives what was seen of the program.
    pub fn end_recording(&mut self) -> Recording {
        self.recording.take().unwrap_or_default()
    }

    /// Takes the sources that were met outside of libraries.
    pub fn take_gathered(&mut self) -> Gathered {
        std::mem::take(&mut self.gathered)
    }

    /// Whether transformers that are procedures were made or run, which may depend on anything.
    pub fn has_run_procedures(&self) -> bool {
        self.has_run_procedures
    }

    /// The recording of a library, made when it was expanded.
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

    /// The compiler's notes about a library's global.
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
        self.has_run_procedures = true;
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

    /// Notes a `define-library` form. A form for a library that exists replaces it, as a prompt
    /// needs.
    pub(crate) fn declare(&mut self, form: &Syntax) -> Result<(), Box<Diagnostic>> {
        let name = declared_name(form)?;
        self.interfaces.remove(&name.key());
        self.declared
            .insert(name.key(), Declared { form: form.clone() });
        Ok(())
    }

    /// The name in a `define-library` form, unless that library failed in this operation.
    pub(crate) fn declared_name(&self, form: &Syntax) -> Option<LibraryName> {
        declared_name(form)
            .ok()
            .filter(|name| !self.failed.contains(&name.key()))
    }

    /// Begins to load a library. Refuses one that failed in this operation, whose errors were
    /// reported, and with an error one that is being loaded.
    pub(crate) fn begin_loading(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> bool {
        let is_same = |loading: &Loading| loading.name == *name;
        if let Some(position) = self.loading.iter().position(is_same) {
            diagnostics.push(self.cyclic_import(position, at));
            return false;
        }
        if self.failed.contains(&name.key()) {
            return false;
        }
        let name = name.clone();
        self.loading.push(Loading { name, at });
        true
    }

    /// Ends what [`Libraries::begin_loading`] began.
    pub(crate) fn end_loading(&mut self, is_loaded: bool) {
        if let Some(loading) = self.loading.pop()
            && !is_loaded
        {
            self.failed.insert(loading.name.key());
        }
    }

    /// Finds a library that has no interface here. `None` after an error.
    pub(crate) fn find(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Found> {
        let key = name.key();
        if let Some(declared) = self.declared.remove(&key) {
            return Some(Found::Source(declared.form));
        }
        let defined = self.loader.replaced_by(name);
        match self.loader.load(name) {
            Loaded::Interface(interface) => return Some(Found::Compiled(interface)),
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
        let declared = self.declared.remove(&key);
        if declared.is_none() && !diagnostics.iter().any(Diagnostic::is_error) {
            let message = format!("the file found for the library {name} does not define it");
            diagnostics.push(Diagnostic::error("library-not-defined", at, message));
        }
        declared.map(|declared| Found::Source(declared.form))
    }

    /// Begins the expansion of a library, inside of that of another one perhaps.
    pub(crate) fn enter_library(&mut self) -> OuterLibrary {
        let outer = OuterLibrary {
            gathered: std::mem::take(&mut self.gathered),
            recording: self.recording.take(),
        };
        if outer.recording.is_some() {
            self.begin_recording();
        }
        outer
    }

    /// Ends the expansion of the library `name` from `form`, and gives it what was gathered.
    pub(crate) fn leave_library(
        &mut self,
        outer: OuterLibrary,
        name: &LibraryName,
        form: &Syntax,
        library: Option<&mut ExpandedLibrary>,
    ) {
        if let Some(mut recording) = std::mem::replace(&mut self.recording, outer.recording) {
            recording.key = Some(name.key());
            recording.span = form.span;
            self.recordings.insert(name.key(), Arc::new(recording));
        }
        let mut gathered = std::mem::replace(&mut self.gathered, outer.gathered);
        if let Some(library) = library {
            if let Some(source) = self.sources.get(form.span.source) {
                gathered.files.insert(0, PathBuf::from(&source.name));
            }
            library.gathered = gathered;
        }
    }

    /// Adds a library that was expanded from source.
    pub(crate) fn add_expanded(&mut self, library: ExpandedLibrary) -> Arc<Interface> {
        let interface = library.interface.clone();
        self.add_interface(interface.clone());
        self.expanded.push(library);
        interface
    }

    /// Whether interfaces tell every name of the library's top level.
    pub(crate) fn keeps_internals(&self) -> bool {
        self.keeps_internals
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
        let of_family = |family| exporters.iter().find(|key| Family::of(key) == family);
        let base = exporters.iter().find(|key| *key == "(scheme base)");
        let found = base
            .or_else(|| of_family(Family::Scheme))
            .or_else(|| of_family(Family::Canny));
        found.or(exporters.first()).cloned()
    }

    /// Whether a library exists, for `cond-expand`.
    pub(crate) fn exists(&mut self, name: &LibraryName) -> bool {
        let key = name.key();
        let exists = self.interfaces.contains_key(&key)
            || self.declared.contains_key(&key)
            || self.loading.iter().any(|loading| loading.name == *name)
            || self.loader.exists(name);
        self.gathered.asked.push((name.clone(), exists));
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
