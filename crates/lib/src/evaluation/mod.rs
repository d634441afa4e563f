//! From source text to procedures: programs, forms at the prompt, and the libraries they need.
//!
//! [`Evaluation`] holds the library registry, the environments and which libraries are instantiated. It
//! compiles under its lock, without touching the Scheme heap, and loads the compiled units afterwards:
//! a list of thunks to run in order, libraries first, is all that its callers see. No Scheme code runs
//! here.

pub mod analysis;
mod bundle;
mod modules;
mod names;
mod program_files;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_unit};
use canny_compiler::counting::{Counting, rewrite};
use canny_compiler::image;
use canny_compiler::optimize::{self, Switches};
use canny_compiler::unit::CompiledUnit;
use canny_locks::{Mutex, MutexGuard};
use canny_syntax::core::{LibraryKey, LibraryName, Unit};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::environment::{Environment, EnvironmentKind};
use canny_syntax::expander::{Expansion, expand_program, expand_program_in, expand_toplevel_forms};
use canny_syntax::foreign_names;
use canny_syntax::library::Libraries;
use canny_syntax::name::Name;
use canny_syntax::reader::read_source;
use canny_syntax::span::{SourceId, SourceMap, Span};
use canny_syntax::spelling::similar_name;
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::{InterruptState, Raise, Thread, Vm};
use canny_wasm::ValidModules;

pub use analysis::{Analysis, OpenDocuments};
pub use modules::LibraryWords;
pub use names::{NameInfo, NameKind};

use self::analysis::{KnownLibrary, MakeMacroHost};
use crate::cache::libraries::LibraryCache;
use crate::features::FEATURES;
use crate::library_loader::{StandardLoader, standard_library};
use crate::library_units::LibraryUnits;
use crate::macros::MacroBridge;

/// The settings that a host chooses.
#[derive(Clone, Debug, Default)]
pub struct EvaluationConfig {
    /// Directories to search for libraries, in order.
    pub directories: Vec<std::path::PathBuf>,
    /// Libraries of the project's packages.
    pub project: Option<Arc<ProjectLibraries>>,
    /// Features beyond the built-in ones.
    pub features: Vec<String>,
    /// Standard libraries that sources of these names are to replace.
    pub replaced: Vec<LibraryName>,
    /// Where compiled libraries are kept; `None` for nowhere.
    pub cache: Option<std::path::PathBuf>,
    /// People will look into libraries and frames: keep the names that this needs.
    pub is_interactive: bool,
    /// Files that are being edited; for [`Evaluation::analyze`].
    pub documents: Option<Arc<OpenDocuments>>,
    /// Passes of the optimizer that are turned off, and its limit.
    pub optimizer: Switches,
    /// The counters that compiled code gets. The machine must be made with counters
    /// ([`canny_vm::profile::counts`]); compiled libraries are neither read nor kept.
    pub counting: Counting,
}

/// The libraries of the packages that a project uses.
#[derive(Clone, Debug, Default)]
pub struct ProjectLibraries {
    /// How many of the directories are searched before them.
    pub directories_before: usize,
    /// Libraries by their printed names, with their files.
    pub files: HashMap<String, std::path::PathBuf>,
    /// Libraries of packages that cannot be used, by their printed names, with a sentence about each.
    pub unusable: HashMap<String, String>,
    /// Sentences for somebody whose library was not found.
    pub advice: Vec<String>,
}

impl ProjectLibraries {
    pub(crate) fn advice(&self, key: &str) -> Vec<String> {
        match (self.unusable.get(key), self.files.get(key)) {
            (Some(sentence), _) => vec![sentence.clone()],
            (None, Some(path)) => {
                let sentence = format!(
                    "the lockfile says that it is `{}`: `canny lock --check` tells what is missing",
                    path.display()
                );
                vec![sentence]
            }
            (None, None) => self.advice.clone(),
        }
    }
}

/// Whether a library, by its printed name, is one of Canny's own.
pub fn is_standard_library(key: &str) -> bool {
    standard_library(key).is_some()
}

/// The number of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnvironmentId(pub u64);

/// The environment of the prompt and of programs without import.
pub const INTERACTION: EnvironmentId = EnvironmentId(0);

/// The key of the variables that are defined in an environment of its own.
fn environment_key(number: u64) -> String {
    format!("environment {number}")
}

/// The number of the interaction environment as names are asked for before its first use.
const UNUSED_INTERACTION: u64 = u64::MAX;

/// Library whose exports the interaction environment begins with.
const INTERACTION_LIBRARY: [&str; 2] = ["canny", "base"];

/// Compiled code waiting to be loaded, in the order in which it must run.
#[derive(Debug, Default)]
pub struct Prepared {
    units: Vec<(Arc<CompiledUnit>, bool)>,
    /// The digest of the last unit, if it is known already.
    last_digest: Option<u64>,
    /// Warnings about it.
    pub warnings: Vec<Diagnostic>,
}

impl Prepared {
    /// A digest of the code that is not part of the standard library; none if it cannot be stored.
    pub(crate) fn digest(&self) -> Option<u64> {
        let (last, libraries) = self.units.split_last()?;
        let digest_of = |unit| Some(image::digest(0, &image::encode_unit(unit).ok()?));
        let last = self.last_digest.or_else(|| digest_of(&last.0))?;
        let own = libraries.iter().filter(|(_, is_standard)| !is_standard);
        own.map(|(unit, _)| digest_of(unit))
            .try_fold(last, |digest, unit| {
                Some(image::digest(digest, &unit?.to_le_bytes()))
            })
    }
}

/// The compiler's side of a machine.
pub struct Evaluation {
    sources: Arc<SourceMap>,
    /// How to interrupt a macro that is being expanded.
    macro_interrupts: Arc<Mutex<Option<Arc<InterruptState>>>>,
    /// The WebAssembly modules that the cache knows to be valid.
    valid_modules: Option<ValidModules>,
    inner: Mutex<Inner>,
}

struct Inner {
    libraries: Libraries,
    units: Arc<LibraryUnits>,
    instantiated: HashSet<LibraryKey>,
    environments: HashMap<u64, Environment>,
    next_environment: u64,
    programs: u64,
    /// The environment of the last program, for people who look into its frames.
    program: Option<EnvironmentId>,
    directories: Vec<std::path::PathBuf>,
    project: Option<Arc<ProjectLibraries>>,
    is_interactive: bool,
    documents: Option<Arc<OpenDocuments>>,
    /// Libraries that analyses expanded.
    known_libraries: HashMap<LibraryKey, KnownLibrary>,
    restart_macros: Option<MakeMacroHost>,
    /// The hints given about unbound variables, by their names.
    hints: HashMap<String, (Option<String>, Option<String>)>,
}

impl Evaluation {
    /// The compiler's side of a machine; one with the usual settings, if the machine has none yet.
    pub fn of(vm: &Vm) -> &Evaluation {
        vm.host(|| Evaluation::new(&EvaluationConfig::default()))
    }

    /// The WebAssembly modules that the cache knows to be valid, if there is a cache.
    pub(crate) fn valid_modules(&self) -> Option<&ValidModules> {
        self.valid_modules.as_ref()
    }

    /// An evaluation with the standard library and nothing instantiated.
    pub fn new(config: &EvaluationConfig) -> Evaluation {
        let sources = Arc::new(SourceMap::new());
        let mut compiled_for = config.features.clone();
        if config.is_interactive {
            // No name of a feature: what is kept for a prompt is a different compilation.
            compiled_for.push("(interactive)".to_owned());
        }
        let replaced = config.replaced.iter();
        compiled_for.extend(replaced.map(|name| format!("(replaced {name})")));
        if config.optimizer != Switches::default() {
            compiled_for.push(format!("({:?})", config.optimizer));
        }
        let directory = config.cache.clone().filter(|_| !config.counting.is_on());
        let valid_modules = directory.as_deref().map(ValidModules::in_cache);
        let cache = Arc::new(LibraryCache::new(directory, compiled_for));
        let loader = StandardLoader::new(
            config.directories.clone(),
            config.project.clone(),
            cache.clone(),
            &config.replaced,
        );
        let loader = analysis::loader_for(config, loader);
        let mut libraries = Libraries::new(sources.clone(), loader, FEATURES);
        for feature in &config.features {
            libraries.add_feature(feature);
        }
        if config.is_interactive {
            libraries.keep_internals();
            libraries.keep_expansions();
        }
        let units = Arc::new(LibraryUnits::new(
            cache,
            config.is_interactive,
            config.optimizer.clone(),
            config.counting,
        ));
        let macro_interrupts = Arc::new(Mutex::new(None));
        let make_host: MakeMacroHost = {
            let (config, sources) = (config.clone(), sources.clone());
            let (units, interrupts) = (units.clone(), macro_interrupts.clone());
            Box::new(move || {
                Box::new(MacroBridge::new(
                    config.clone(),
                    sources.clone(),
                    units.clone(),
                    interrupts.clone(),
                ))
            })
        };
        libraries.set_macro_host(make_host());
        let inner = Inner {
            documents: config.documents.clone(),
            known_libraries: HashMap::new(),
            restart_macros: config.documents.is_some().then_some(make_host),
            directories: config.directories.clone(),
            project: config.project.clone(),
            is_interactive: config.is_interactive,
            libraries,
            units,
            instantiated: HashSet::new(),
            environments: HashMap::new(),
            next_environment: 1,
            programs: 0,
            program: None,
            hints: HashMap::new(),
        };
        Evaluation {
            sources,
            macro_interrupts,
            valid_modules,
            inner: Mutex::new(inner),
        }
    }

    /// The texts of everything read so far.
    pub fn sources(&self) -> &Arc<SourceMap> {
        &self.sources
    }

    /// The newest text that was read under a name.
    pub fn source_text(&self, name: &str) -> Option<String> {
        self.sources.text_of(name).map(|text| text.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Prepares the machine's own library, which must run before anything else.
    pub fn prepare_machine(&self) -> Result<Prepared, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let mut prepared = Prepared::default();
        let mut diagnostics = Vec::new();
        inner.require(
            &LibraryName::from_words(&["canny", "machine", "control"]),
            &mut prepared,
            &mut diagnostics,
        );
        finish(prepared, diagnostics)
    }

    /// Prepares the library that a debugger needs in order to evaluate, which must run before.
    pub fn prepare_debugger(&self) -> Result<Prepared, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let mut prepared = Prepared::default();
        let mut diagnostics = Vec::new();
        inner.require(
            &LibraryName::from_words(&["canny", "machine", "debugging"]),
            &mut prepared,
            &mut diagnostics,
        );
        finish(prepared, diagnostics)
    }

    /// Prepares a program. The bytes are its text, the name is for positions and relative includes.
    pub fn prepare_program(&self, name: &str, bytes: &[u8]) -> Result<Prepared, Vec<Diagnostic>> {
        self.lock().prepare_program(&self.sources, name, bytes)
    }

    /// The environment of the program with a key, or else of the last one, if people look into frames.
    pub(crate) fn program_environment(&self, key: &str) -> Option<EnvironmentId> {
        let inner = self.lock();
        let mut environments = inner.environments.iter();
        let own = environments.find(|(_, environment)| environment.key().as_str() == key);
        own.map_or(inner.program, |(number, _)| Some(EnvironmentId(*number)))
    }

    /// The environment of a program that runs, whose names were not kept: its file is read once more. None
    /// if it is gone or has errors.
    pub(crate) fn read_program_again(&self, key: &str, file: &str) -> Option<EnvironmentId> {
        let bytes = std::fs::read(file).ok()?;
        let (_, forms) = read_source(&self.sources, file, &bytes, false);
        let mut inner = self.lock();
        let mut environment = Environment::new(LibraryKey::new(key), EnvironmentKind::Program);
        let imports = interaction_imports();
        let libraries = &mut inner.libraries;
        let expansion = expand_program_in(libraries, &mut environment, &forms.forms, &imports);
        let mut diagnostics = forms.diagnostics.iter().chain(&expansion.diagnostics);
        if diagnostics.any(Diagnostic::is_error) {
            return None;
        }
        inner.keep_names(environment);
        inner.program
    }

    /// Prepares code that was compiled elsewhere, with the libraries that it needs and that are no
    /// standard ones.
    pub(crate) fn prepare_compiled(
        &self,
        libraries: Vec<(LibraryKey, Arc<CompiledUnit>)>,
        unit: Arc<CompiledUnit>,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let mut inner = self.lock();
        inner.units.adopt(libraries);
        inner.prepare_unit(unit)
    }

    /// Interrupts the macro that is being expanded, if there is one.
    pub fn interrupt_macros(&self) {
        let interrupts = self.macro_interrupts.lock();
        if let Some(interrupts) = interrupts.as_ref() {
            interrupts.interrupt();
        }
    }

    /// Prepares forms in an environment that later forms will see. Unless they stand in tail position,
    /// backtraces show where the last of them was.
    pub fn prepare_forms(
        &self,
        id: EnvironmentId,
        forms: &[Syntax],
        position: FormPosition,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let mut diagnostics = Vec::new();
        let mut prepared = Prepared::default();
        if id == INTERACTION {
            inner.ensure_interaction(&self.sources, &mut prepared, &mut diagnostics);
        }
        let inner = &mut *inner;
        let Some(environment) = inner.environments.get_mut(&id.0) else {
            diagnostics.push(Diagnostic::error(
                "environment",
                Span::NONE,
                "the environment no longer exists",
            ));
            return Err(diagnostics);
        };
        let Expansion {
            unit,
            diagnostics: more,
        } = expand_toplevel_forms(&mut inner.libraries, environment, forms);
        diagnostics.extend(more);
        let keeps_last_frame = position == FormPosition::Toplevel;
        inner.compile_unit(
            &self.sources,
            unit,
            keeps_last_frame,
            &mut prepared,
            &mut diagnostics,
        );
        finish(prepared, diagnostics)
    }

    /// Makes a read-only environment of import sets.
    pub fn make_environment(
        &self,
        import_sets: &[Syntax],
    ) -> Result<(EnvironmentId, Prepared), Vec<Diagnostic>> {
        let mut inner = self.lock();
        let number = inner.next_environment;
        inner.next_environment += 1;
        let key = LibraryKey::new(&environment_key(number));
        let mut environment = Environment::new(key, EnvironmentKind::Interaction);
        let mut diagnostics = Vec::new();
        let mut prepared = Prepared::default();
        let import = import_form(import_sets);
        let expansion = expand_toplevel_forms(&mut inner.libraries, &mut environment, &[import]);
        diagnostics.extend(expansion.diagnostics);
        inner.compile(
            &self.sources,
            expansion.unit,
            &mut prepared,
            &mut diagnostics,
        );
        environment.freeze();
        inner.environments.insert(number, environment);
        finish(prepared, diagnostics).map(|prepared| (EnvironmentId(number), prepared))
    }

    /// Hints about a variable without a value: a name that looks like it, and a sentence about the
    /// libraries that export it. Hints given when the code was compiled are given again.
    pub fn hints(&self, name: &str) -> (Option<String>, Option<String>) {
        let mut inner = self.lock();
        if let Some(hints) = inner.hints.get(name) {
            return hints.clone();
        }
        let name = Name::new(name);
        let Some(environment) = inner.environments.get(&INTERACTION.0) else {
            return (None, None);
        };
        let names = environment.bindings().map(|(name, _)| name);
        let similar = similar_name(name, names).map(|similar| similar.as_str().to_owned());
        // A variable that is bound has no value yet.
        if environment.bindings().any(|(bound, _)| bound == name) {
            return (None, None);
        }
        if let Some(note) = foreign_names::replacement(name.as_str()) {
            return (None, Some(note.to_owned()));
        }
        match inner.libraries.exporters_note(name) {
            Some(note) => (None, Some(note)),
            None => (similar, None),
        }
    }

    /// Forgets an environment whose object died.
    ///
    /// The key under which the machine has its variables, unless it stays.
    pub fn drop_environment(&self, id: EnvironmentId) -> Option<String> {
        if id == INTERACTION {
            return None;
        }
        let environment = self.lock().environments.remove(&id.0);
        environment.map(|_| environment_key(id.0))
    }

    /// Loads prepared code; gives the list of its thunks in the order in which they must be called.
    pub fn load(&self, thread: &mut Thread, prepared: &Prepared) -> Result<Value, Raise> {
        let first = thread.protect(Value::NIL);
        for (unit, is_library) in &prepared.units {
            let thunk = thread.load_unit(unit, *is_library)?;
            thread.protect(thunk);
        }
        let list = thread.list_of_protected(first, Value::NIL);
        thread.release(first);
        // The first protected value was the placeholder.
        Ok(list.cdr().unwrap_or(Value::NIL))
    }

    /// The expanded form of forms in an environment, which does not change by it, as text.
    pub fn expand_forms_text(
        &self,
        id: EnvironmentId,
        forms: &[Syntax],
    ) -> Result<String, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let unit = inner.expand_forms(id, forms)?;
        Ok(canny_syntax::unexpand::unexpand(&unit))
    }

    /// The optimizer's result for forms in an environment, which does not change by it, as text.
    pub fn optimize_forms_text(
        &self,
        id: EnvironmentId,
        forms: &[Syntax],
    ) -> Result<String, Vec<Diagnostic>> {
        let mut inner = self.lock();
        let mut unit = inner.expand_forms(id, forms)?;
        inner.compile_libraries(&self.sources)?;
        let mut options = optimize::Options::with(&inner.units.optimizer);
        options.imports = Some(&inner.libraries);
        optimize::optimize_unit(&mut unit, &options);
        Ok(canny_syntax::unexpand::unexpand(&unit))
    }

    /// A program's unit, compiled as it is before it runs: with the switches of the optimizer, and with
    /// what is known of the libraries that it imports.
    pub fn compile_program(&self, unit: Unit) -> Result<CompiledUnit, Vec<Diagnostic>> {
        let mut inner = self.lock();
        inner.compile_libraries(&self.sources)?;
        let mut options = inner.units.options(&self.sources);
        options.keeps_last_frame = true;
        options.optimize.imports = Some(&inner.libraries);
        compile_unit(unit, &options).map(|compilation| compilation.unit)
    }

    /// The unit of a program, expanded.
    pub fn expand_program_text(&self, name: &str, bytes: &[u8]) -> Result<Unit, Vec<Diagnostic>> {
        let (_, forms) = read_source(&self.sources, name, bytes, false);
        let mut diagnostics = forms.diagnostics;
        let mut inner = self.lock();
        inner.programs += 1;
        let key = LibraryKey::new(&format!("program {}", inner.programs));
        let expansion = expand_program(
            &mut inner.libraries,
            key,
            &forms.forms,
            &interaction_imports(),
        );
        diagnostics.extend(expansion.diagnostics);
        match expansion.unit {
            Some(unit) if !diagnostics.iter().any(Diagnostic::is_error) => Ok(unit),
            _ => Err(without_consequences(diagnostics)),
        }
    }
}

/// Where forms to be evaluated stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormPosition {
    /// Their value goes to the host.
    Toplevel,
    /// Their last call replaces that of `eval`.
    Tail,
}

fn finish(prepared: Prepared, diagnostics: Vec<Diagnostic>) -> Result<Prepared, Vec<Diagnostic>> {
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(without_consequences(diagnostics));
    }
    let mut prepared = prepared;
    prepared.warnings.extend(diagnostics);
    let mut sources: Vec<SourceId> = Vec::new();
    for warning in &prepared.warnings {
        if !sources.contains(&warning.span.source) {
            sources.push(warning.span.source);
        }
    }
    let source = |id: SourceId| sources.iter().position(|other| *other == id);
    prepared
        .warnings
        .sort_by_key(|one| (source(one.span.source), one.span.start));
    Ok(prepared)
}

/// Leaves out what is only said because of an error: a definition or an import that could not be read makes
/// variables unbound.
fn without_consequences(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.retain(|diagnostic| diagnostic.code != "unbound-variable");
    diagnostics
}

/// The import sets of a program without import.
fn interaction_imports() -> Vec<Syntax> {
    vec![Syntax::list(
        Span::NONE,
        INTERACTION_LIBRARY
            .iter()
            .map(|word| Syntax::symbol(Span::NONE, word))
            .collect(),
    )]
}

fn interaction_environment() -> Environment {
    Environment::new(LibraryKey::new("interaction"), EnvironmentKind::Interaction)
}

fn import_form(sets: &[Syntax]) -> Syntax {
    let mut elements = vec![Syntax::symbol(Span::NONE, "import")];
    elements.extend(sets.iter().cloned());
    Syntax::list(Span::NONE, elements)
}

/// How code is compiled while a program is prepared.
pub(crate) fn compiler_options<'a>(
    sources: &'a SourceMap,
    keeps_variables: bool,
    optimizer: &Switches,
    counting: Counting,
) -> Options<'a> {
    let mut optimize = optimize::Options::with(optimizer);
    if counting.calls {
        // One procedure would be two.
        optimize.disabled.push("split-entries".to_owned());
    }
    Options {
        sources: Some(sources),
        keeps_last_frame: false,
        keeps_variables,
        names_variables: true,
        counting,
        optimize,
    }
}

impl Inner {
    fn prepare_program(
        &mut self,
        sources: &Arc<SourceMap>,
        name: &str,
        bytes: &[u8],
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let (_, forms) = read_source(sources, name, bytes, false);
        let mut diagnostics = forms.diagnostics;
        self.programs += 1;
        let key = LibraryKey::new(&format!("program {}", self.programs));
        let imports = interaction_imports();
        let mut environment = Environment::new(key, EnvironmentKind::Program);
        let libraries = &mut self.libraries;
        let expansion = expand_program_in(libraries, &mut environment, &forms.forms, &imports);
        if self.is_interactive {
            self.keep_names(environment);
        }
        diagnostics.extend(expansion.diagnostics);
        let mut prepared = Prepared::default();
        self.compile(sources, expansion.unit, &mut prepared, &mut diagnostics);
        self.keep_hints(&diagnostics);
        finish(prepared, diagnostics)
    }

    /// Keeps the names of a program for expressions that are evaluated in its frames.
    fn keep_names(&mut self, mut environment: Environment) {
        environment.reopen();
        let number = self.next_environment;
        self.next_environment += 1;
        self.environments.insert(number, environment);
        self.program = Some(EnvironmentId(number));
    }

    /// Prepares a unit that was compiled elsewhere.
    fn prepare_unit(&mut self, unit: Arc<CompiledUnit>) -> Result<Prepared, Vec<Diagnostic>> {
        let mut prepared = Prepared::default();
        let mut diagnostics = Vec::new();
        for library in &unit.requires {
            self.require(library, &mut prepared, &mut diagnostics);
        }
        prepared.units.push((unit, false));
        finish(prepared, diagnostics)
    }

    /// Keeps what is said of unbound variables, for the errors that may follow.
    fn keep_hints(&mut self, diagnostics: &[Diagnostic]) {
        for warning in diagnostics {
            if matches!(warning.code, "unbound-variable" | "misspelt-keyword")
                && let Some(name) = warning.missing_name
            {
                let hints = (warning.similar.clone(), warning.notes.first().cloned());
                self.hints.insert(name.as_str().to_owned(), hints);
            }
        }
    }

    /// Compiles the libraries that were expanded, so that what they export is known.
    fn compile_libraries(&mut self, sources: &SourceMap) -> Result<(), Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        self.units
            .compile_expanded(&mut self.libraries, sources, &mut diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(diagnostics);
        }
        Ok(())
    }

    /// Compiles a unit, and before it every library that it needs and that is not instantiated.
    fn compile(
        &mut self,
        sources: &SourceMap,
        unit: Option<Unit>,
        prepared: &mut Prepared,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        self.compile_unit(sources, unit, true, prepared, diagnostics);
    }

    fn compile_unit(
        &mut self,
        sources: &SourceMap,
        unit: Option<Unit>,
        keeps_last_frame: bool,
        prepared: &mut Prepared,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        self.units
            .compile_expanded(&mut self.libraries, sources, diagnostics);
        let Some(unit) = unit else { return };
        if diagnostics.iter().any(Diagnostic::is_error) {
            return;
        }
        for library in unit.requires.clone() {
            self.require(&library, prepared, diagnostics);
        }
        let mut options = self.units.options(sources);
        options.keeps_last_frame = keeps_last_frame;
        options.optimize.imports = Some(&self.libraries);
        match compile_unit(unit, &options) {
            Ok(compilation) => {
                prepared.warnings.extend(compilation.warnings);
                prepared.units.push((Arc::new(compilation.unit), false));
            }
            Err(errors) => diagnostics.extend(errors),
        }
    }

    /// Expands forms in an environment, which does not change by it.
    fn expand_forms(
        &mut self,
        id: EnvironmentId,
        forms: &[Syntax],
    ) -> Result<Unit, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let mut environment = match self.environments.get(&id.0) {
            Some(environment) => environment.clone(),
            None if id == INTERACTION => {
                let mut environment = interaction_environment();
                let import = import_form(&interaction_imports());
                expand_toplevel_forms(&mut self.libraries, &mut environment, &[import]);
                environment
            }
            None => {
                diagnostics.push(Diagnostic::error(
                    "environment",
                    Span::NONE,
                    "the environment no longer exists",
                ));
                return Err(diagnostics);
            }
        };
        let expansion = expand_toplevel_forms(&mut self.libraries, &mut environment, forms);
        diagnostics.extend(expansion.diagnostics);
        match expansion.unit {
            Some(unit) if !diagnostics.iter().any(Diagnostic::is_error) => Ok(unit),
            _ => Err(diagnostics),
        }
    }

    /// Prepares a library and what it needs, unless that was done before.
    fn require(
        &mut self,
        name: &LibraryName,
        prepared: &mut Prepared,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let key = name.key();
        if !self.instantiated.insert(key.clone()) {
            return;
        }
        let (unit, is_standard) = if let Some(unit) = self.units.get(&key) {
            (unit, false)
        } else if let Some(entry) = standard_library(key.as_str()) {
            match image::decode_trusted_unit(entry.unit) {
                Ok(mut unit) => {
                    if self.units.counting.calls {
                        rewrite::count_calls(&mut unit);
                    }
                    (Arc::new(unit), true)
                }
                Err(error) => {
                    diagnostics.push(Diagnostic::error(
                        "image",
                        Span::NONE,
                        format!("{name}: {error}"),
                    ));
                    return;
                }
            }
        } else {
            // Pseudo-libraries have no code.
            return;
        };
        for library in unit.requires.clone() {
            self.require(&library, prepared, diagnostics);
        }
        prepared.units.push((unit, is_standard));
    }

    /// Makes the interaction environment at its first use.
    fn ensure_interaction(
        &mut self,
        sources: &SourceMap,
        prepared: &mut Prepared,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if self.environments.contains_key(&INTERACTION.0) {
            return;
        }
        let mut environment = interaction_environment();
        let import = import_form(&interaction_imports());
        let expansion = expand_toplevel_forms(&mut self.libraries, &mut environment, &[import]);
        diagnostics.extend(expansion.diagnostics);
        self.compile(sources, expansion.unit, prepared, diagnostics);
        self.environments.insert(INTERACTION.0, environment);
    }
}

/// The name by which messages call a path.
pub fn source_name(path: &Path) -> String {
    path.display().to_string()
}
