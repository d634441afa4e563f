//! Top levels: programs, library bodies and forms at the prompt.
//!
//! A program or library becomes one unit; at the prompt each form is one. Libraries that are
//! imported are loaded and expanded first; their units come before those that import them.

use std::sync::Arc;

use crate::binding::{Binding, MacroName};
use crate::core::{GlobalDefinition, GlobalName, LibraryKey, TopForm, Unit};
use crate::diagnostic::Diagnostic;
use crate::environment::{Entry, Environment, EnvironmentKind, Origin};
use crate::expander::body::{Item, Target};
use crate::expander::denotation::Denotation;
use crate::expander::macros::{Macro, Transformer};
use crate::expander::observation::unused_imports;
use crate::expander::scope::ScopeId;
use crate::expander::{Expander, Expansion};
use crate::library::{Libraries, is_r6rs_library, r6rs_library};
use crate::name::Name;
use crate::recording::{Meaning, Role};
use crate::span::Span;
use crate::syntax::{AliasId, Identifier, Syntax};

/// Expands a whole program. `imports` are the import sets that hold when the program begins with
/// no `import` of its own. Libraries that the program needs are loaded and expanded on the way;
/// their units are collected in `libraries`.
pub fn expand_program(
    libraries: &mut Libraries,
    key: LibraryKey,
    forms: &[Syntax],
    imports: &[Syntax],
) -> Expansion {
    let mut environment = Environment::new(key, EnvironmentKind::Program);
    expand_program_in(libraries, &mut environment, forms, imports)
}

/// The same in an environment that is still empty, which has the program's names afterwards.
pub fn expand_program_in(
    libraries: &mut Libraries,
    environment: &mut Environment,
    forms: &[Syntax],
    imports: &[Syntax],
) -> Expansion {
    libraries.begin_operation();
    let mut expander = Expander::new(libraries, environment);
    let head_is = |form: &Syntax, word: &str| {
        form.as_pair()
            .and_then(|pair| pair.car.as_identifier())
            .is_some_and(|head| head.name.as_str() == word)
    };
    // Libraries are declared before anything is imported, wherever they stand in the file.
    let (library_forms, forms): (Vec<Syntax>, Vec<Syntax>) = forms
        .iter()
        .cloned()
        .partition(|form| head_is(form, "define-library"));
    let (foreign, forms): (Vec<Syntax>, Vec<Syntax>) = forms.into_iter().partition(is_r6rs_library);
    for form in &foreign {
        expander.report(r6rs_library(form.span));
    }
    for form in &library_forms {
        expander.declare_library(form);
    }
    for form in &library_forms {
        expander.ensure_declared_library(form);
    }
    if !forms.first().is_some_and(|form| head_is(form, "import")) {
        imports.iter().for_each(|set| expander.import_set(set));
    }
    expander.run(forms)
}

/// Expands one form in an environment that later forms will see.
pub fn expand_toplevel_form(
    libraries: &mut Libraries,
    environment: &mut Environment,
    form: &Syntax,
) -> Expansion {
    expand_toplevel_forms(libraries, environment, std::slice::from_ref(form))
}

/// Expands several forms as one unit in an environment that later forms will see. After an error
/// the environment is as before.
pub fn expand_toplevel_forms(
    libraries: &mut Libraries,
    environment: &mut Environment,
    forms: &[Syntax],
) -> Expansion {
    libraries.begin_operation();
    // Imports made before, outside of any expansion, are not part of this operation.
    environment.commit();
    let expansion = Expander::new(libraries, environment).run(forms.to_vec());
    if expansion.unit.is_some() {
        environment.commit();
    } else {
        environment.roll_back();
    }
    expansion
}

/// Expands the body of a library whose imports are already in the environment.
pub(crate) fn expand_library_body(
    libraries: &mut Libraries,
    environment: &mut Environment,
    forms: Vec<Syntax>,
) -> Expansion {
    Expander::new(libraries, environment).run(forms)
}

impl Expander<'_> {
    fn run(mut self, forms: Vec<Syntax>) -> Expansion {
        let items = self.scan(forms, ScopeId::TOP);
        let mut body = Vec::with_capacity(items.len());
        for item in items {
            let form = self.top_form(item);
            body.push(form);
        }
        self.report_missing_keywords();
        if !self.has_errors() {
            self.close_macros();
        }
        self.finish_recording();
        body.splice(0..0, self.definitions_of_call_variables());
        let failed = self.has_errors();
        if failed {
            // An error makes warnings about unbound variables unreliable, but a misspelt keyword may be
            // its cause.
            let is_cause = |one: &Diagnostic| one.code == "misspelt-keyword" && !self.incomplete;
            self.diagnostics
                .retain(|one| one.is_error() || is_cause(one));
        }
        if !failed {
            self.warn_of_shadowed_names();
            // A library's exports are uses too; they are looked at later.
            if self.environment.kind() == EnvironmentKind::Program {
                self.diagnostics.extend(unused_imports(self.environment));
            }
        }
        sort_by_position(&mut self.diagnostics);
        for global in &mut self.globals {
            global.assigned = self.assigned.contains(&global.name);
        }
        let unit = Unit {
            name: self.environment.key().clone(),
            kind: self.environment.unit_kind(),
            requires: self.requires,
            globals: self.globals,
            body,
            locals: self.locals,
        };
        Expansion {
            unit: (!failed).then_some(unit),
            diagnostics: self.diagnostics,
        }
    }

    pub(crate) fn top_form(&mut self, item: Item) -> TopForm {
        match item {
            Item::Expression(value) => TopForm::Expression(self.force(value)),
            Item::Define {
                target,
                value,
                span,
            } => {
                let value = self.force(value);
                match target {
                    Target::Global(name) => TopForm::Define(name, value),
                    Target::Again(name) => {
                        self.assigned.insert(name.name);
                        let kind = crate::core::ExprKind::GlobalSet(name, Box::new(value));
                        TopForm::Expression(crate::core::Expr::new(span, kind))
                    }
                    Target::Local(_) => TopForm::Expression(value),
                }
            }
        }
    }

    /// Tells of local variables that have the name of something imported.
    fn warn_of_shadowed_names(&mut self) {
        let mut found = Vec::new();
        for (_, variable) in self.locals.iter() {
            let Some(Entry {
                origin: Origin::Imported(library, _),
                ..
            }) = self.environment.entry(variable.name)
            else {
                continue;
            };
            // A variable that a macro binds has the position of the macro's use.
            let text = self.libraries.sources().text(variable.span);
            if text.as_deref() == Some(variable.name.as_str()) {
                found.push(shadowed_name(variable.name, variable.span, library));
            }
        }
        self.diagnostics.extend(found);
    }

    /// Brings the macros of this unit into their lasting form.
    fn close_macros(&mut self) {
        let mut names = std::mem::take(&mut self.new_macros);
        names.sort_unstable();
        names.dedup();
        for name in names {
            let key = self.environment.macro_name(name);
            let Some(opened) = self.opened.get(&key).map(Arc::clone) else {
                continue;
            };
            let assigned = self.assigned_by_macro(&opened);
            self.assigned.extend(assigned);
            let definition = self.close_macro(&opened);
            self.libraries.forget_transformer(&key);
            if let Transformer::Procedure(made) = &opened.transformer {
                self.libraries.keep_transformer(key, made.clone());
            }
            self.environment.macros.insert(name, definition);
        }
    }

    /// Makes an identifier a global of this unit. `None` after an error.
    pub(crate) fn declare_global(
        &mut self,
        identifier: Identifier,
        span: Span,
        form: &str,
    ) -> Option<Target> {
        if self.phase > 0 {
            let global = self.own_global(identifier.name);
            self.environment
                .for_syntax
                .insert(identifier.name, global.clone());
            self.add_global(identifier.name, span);
            return Some(Target::Global(global));
        }
        let name = self.global_name(identifier, span, form)?;
        let existing = self.environment.entry(name);
        let again = matches!(
            existing,
            Some(Entry {
                binding: Binding::Global(_),
                origin: Origin::Defined(_)
            })
        ) && self.environment.kind() == EnvironmentKind::Program;
        if again {
            let meaning = self.global_here(name);
            self.note(identifier, span, Role::Definition, &meaning);
            return Some(Target::Again(self.environment.global(name)));
        }
        if let Some(Entry {
            origin: Origin::Imported(library, _),
            ..
        }) = existing
        {
            let warning = shadowed_name(name, span, library);
            self.report(warning);
        }
        let binding = Binding::Global(self.environment.global(name));
        self.environment.bind(
            name,
            Entry {
                binding,
                origin: Origin::Defined(span),
            },
        );
        self.add_global(name, span);
        let meaning = self.global_here(name);
        self.note(identifier, span, Role::Definition, &meaning);
        Some(Target::Global(self.environment.global(name)))
    }

    fn global_here(&self, name: Name) -> Denotation {
        Denotation::Global {
            name: self.environment.global(name),
            home: true,
        }
    }

    /// A global that only the expander knows.
    pub(crate) fn hidden_global(&mut self, base: Name, span: Span) -> GlobalName {
        let name = self.environment.hidden_name(base);
        if self.phase > 0 {
            self.add_global(name, span);
            return self.own_global(name);
        }
        let binding = Binding::Global(self.environment.global(name));
        self.environment.bind(
            name,
            Entry {
                binding,
                origin: Origin::Defined(span),
            },
        );
        self.add_global(name, span);
        self.environment.global(name)
    }

    fn add_global(&mut self, name: Name, span: Span) {
        if self.defined.insert(name) {
            self.globals.push(GlobalDefinition {
                name,
                span,
                assigned: false,
                exported: false,
            });
        }
    }

    /// Makes an identifier a keyword of this unit's top level.
    pub(crate) fn declare_global_syntax(
        &mut self,
        identifier: Identifier,
        span: Span,
        spec: &Syntax,
        scope: ScopeId,
        form: &str,
    ) {
        // The transformer is made first, so that it can be another name of an imported keyword
        // that this definition shadows.
        let transformer = self.transformer(identifier.name, spec, scope);
        let Some(name) = self.global_name(identifier, span, form) else {
            return;
        };
        let defined = transformer.clone();
        let binding = match transformer {
            None => return,
            Some(Denotation::Core(form)) => Binding::Core(form),
            Some(Denotation::Macro(opened)) => {
                let existing = self
                    .opened
                    .iter()
                    .find(|(_, known)| Arc::ptr_eq(known, &opened));
                let key = match existing {
                    Some((key, _)) => key.clone(),
                    None => self.add_macro(name, opened),
                };
                Binding::Macro(key)
            }
            Some(_) => return,
        };
        if let Some(meaning) = defined {
            self.note(identifier, span, Role::Definition, &meaning);
        }
        self.environment.bind(
            name,
            Entry {
                binding,
                origin: Origin::Defined(span),
            },
        );
    }

    /// Notes a macro that this unit defines at its top level.
    pub(crate) fn add_macro(&mut self, name: Name, opened: Arc<Macro>) -> MacroName {
        let key = self.environment.macro_name(name);
        self.know_macro(&opened, Meaning::Macro(key.clone()));
        self.opened.insert(key.clone(), opened);
        self.new_macros.push(name);
        key
    }

    /// Gives a macro of a `let-syntax` around top-level definitions a name of its own, because
    /// macros that are defined there may mention it and outlive this unit.
    pub(crate) fn keep_local_macro(&mut self, opened: &Arc<Macro>, span: Span) {
        if self.opened.values().any(|known| Arc::ptr_eq(known, opened)) {
            return;
        }
        let name = self.environment.hidden_name(opened.name);
        let key = self.add_macro(name, opened.clone());
        let entry = Entry {
            binding: Binding::Macro(key),
            origin: Origin::Defined(span),
        };
        self.environment.bind(name, entry);
    }

    /// The name in the environment's table for a definition of `identifier`, if it may be defined.
    fn global_name(&mut self, identifier: Identifier, span: Span, form: &str) -> Option<Name> {
        let kind = self.environment.kind();
        if kind == EnvironmentKind::Immutable {
            let message = format!(
                "{form}: `{}` cannot be defined, because the environment is immutable",
                identifier.name
            );
            self.error("immutable-environment", span, message);
            return None;
        }
        let name = match self.table_name(identifier) {
            Some(name) => name,
            None => {
                let name = self.environment.hidden_name(identifier.name);
                self.hidden.insert(identifier, name);
                name
            }
        };
        if kind == EnvironmentKind::Library || identifier.alias != AliasId::NONE {
            let problem = match self.environment.entry(name).map(|entry| &entry.origin) {
                None => return Some(name),
                Some(Origin::Imported(library, at)) => {
                    let message = format!(
                        "{form}: `{name}` is imported from {library} and cannot be defined in a library too"
                    );
                    Diagnostic::error("duplicate-definition", span, message)
                        .label(*at, "it is imported here")
                }
                Some(Origin::Defined(at)) if kind == EnvironmentKind::Library => {
                    let message = format!("{form}: `{}` is defined twice", identifier.name);
                    Diagnostic::error("duplicate-definition", span, message)
                        .label(*at, "it is also defined here")
                }
                Some(Origin::Defined(_)) => return Some(name),
            };
            self.report(problem);
            return None;
        }
        Some(name)
    }

    /// Executes the import sets of an `(import …)` form.
    pub(crate) fn import_form(&mut self, form: &Syntax) {
        match form.elements() {
            Some(elements) => elements[1..].iter().for_each(|set| self.import_set(set)),
            None => self.error(
                "bad-import",
                form.span,
                "import: the form is not a proper list",
            ),
        }
    }

    /// Brings the names of one import set into the environment.
    pub(crate) fn import_set(&mut self, set: &Syntax) {
        let mut diagnostics = Vec::new();
        let imported = self
            .libraries
            .import_into(self.environment, set, &mut diagnostics);
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        match imported {
            Ok(Some(library)) if !self.requires.contains(&library) => self.requires.push(library),
            Ok(_) => {}
            Err(_) => self.incomplete = true,
        }
        // Opened macros stay valid: they are found by the place of their definition.
    }

    /// Notes a `define-library` form, so that it can be imported.
    pub(crate) fn declare_library(&mut self, form: &Syntax) {
        if let Err(diagnostic) = self.libraries.declare(form) {
            self.report(*diagnostic);
        }
    }

    /// Expands a declared library even if nobody imports it, so that its errors are found.
    pub(crate) fn ensure_declared_library(&mut self, form: &Syntax) {
        let mut diagnostics = Vec::new();
        self.libraries.ensure_declared(form, &mut diagnostics);
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
    }
}

fn shadowed_name(name: Name, span: Span, library: &impl std::fmt::Display) -> Diagnostic {
    let message = format!("`{name}` hides what is imported from {library}");
    Diagnostic::warning("shadowed-name", span, message)
}

/// Brings diagnostics into the order of the text, since each pass finds errors of its own. Sources
/// keep the order in which they first occur.
fn sort_by_position(diagnostics: &mut [Diagnostic]) {
    let mut sources = Vec::new();
    for diagnostic in diagnostics.iter() {
        if !sources.contains(&diagnostic.span.source) {
            sources.push(diagnostic.span.source);
        }
    }
    diagnostics.sort_by_key(|one| {
        (
            sources.iter().position(|source| *source == one.span.source),
            one.span.start,
        )
    });
}
