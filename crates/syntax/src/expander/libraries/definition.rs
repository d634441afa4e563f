//! `define-library`: its declarations, and from its body to its interface.
//!
//! Declaring a library only notes its form; it is expanded when it is first imported. Declarations
//! are sorted into exports, imports and body first, and exports are resolved after the body, since
//! they may name its definitions. A form for a library that exists replaces it, as a prompt needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::binding::Binding;
use crate::core::LibraryName;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::environment::{Environment, EnvironmentKind};
use crate::expander::applicable::MARKER;
use crate::expander::call_syntax::call_syntax_of;
use crate::expander::observation::unused_imports;
use crate::expander::toplevel::expand_library_body;
use crate::interface::Interface;
use crate::library::{ExpandedLibrary, Gathered, Libraries};
use crate::macro_definition::MacroDefinition;
use crate::name::Name;
use crate::recording::{Meaning, Recording, Role};
use crate::span::Span;
use crate::spelling::similar_name;
use crate::syntax::Syntax;

/// The keywords of library declarations.
const DECLARATIONS: [&str; 7] = [
    "export",
    "import",
    "begin",
    "include",
    "include-ci",
    "include-library-declarations",
    "cond-expand",
];

/// An `(export …)` specification.
struct Export {
    internal: Name,
    external: Name,
    span: Span,
    /// Where the two names stand; the same place if there is one name.
    places: [Span; 2],
}

/// The declarations of a library by kind, each kind in order.
#[derive(Default)]
struct Declarations {
    exports: Vec<Export>,
    imports: Vec<Syntax>,
    body: Vec<Syntax>,
}

impl Libraries {
    /// Expands a declared library, unless that was done before.
    pub(crate) fn ensure_declared(&mut self, form: &Syntax, diagnostics: &mut Vec<Diagnostic>) {
        if let Some(name) = self.declared_name(form) {
            self.load(&name, form.span, diagnostics);
        }
    }

    /// Expands a library.
    pub(super) fn expand_library(
        &mut self,
        name: &LibraryName,
        form: &Syntax,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<ExpandedLibrary> {
        let outer = self.enter_library();
        let mut library = self.expand_library_inside(name, form, diagnostics);
        self.leave_library(outer, name, form, library.as_mut());
        library
    }

    fn expand_library_inside(
        &mut self,
        name: &LibraryName,
        form: &Syntax,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<ExpandedLibrary> {
        let errors_before = diagnostics.iter().filter(|one| one.is_error()).count();
        let mut declarations = Declarations::default();
        let forms = form.elements().unwrap_or_default();
        self.collect(
            forms.get(2..).unwrap_or_default(),
            &mut declarations,
            diagnostics,
        );
        let mut environment = Environment::new(name.key(), EnvironmentKind::Library);
        let mut requires = Vec::new();
        let mut complete = true;
        for set in &declarations.imports {
            match self.import_into(&mut environment, set, diagnostics) {
                Ok(Some(library)) if !requires.contains(&library) => requires.push(library),
                Ok(_) => {}
                Err(_) => complete = false,
            }
        }
        if !complete || diagnostics.iter().filter(|one| one.is_error()).count() > errors_before {
            // Without its imports nothing sensible can be said about the body; but editors want to know
            // its names.
            if self.recording.is_some() {
                expand_library_body(self, &mut environment, declarations.body);
            }
            return None;
        }
        let expansion = expand_library_body(self, &mut environment, declarations.body);
        diagnostics.extend(expansion.diagnostics);
        if let Some(recording) = &mut self.recording {
            record_exports(recording, &declarations.exports, &environment);
            // The name, behind the keyword.
            if let Some(place) = forms.get(1) {
                let meaning = Meaning::Library(name.clone());
                recording.note(place.span, Name::new(""), Role::Definition, meaning);
            }
        }
        let mut unit = expansion.unit?;
        unit.requires = requires;
        let exports = exported(name, &declarations.exports, &environment, diagnostics)?;
        for export in &declarations.exports {
            environment.use_name(export.internal);
        }
        diagnostics.extend(unused_imports(&environment));
        let mut interface = Interface::new(name.clone());
        interface.exports = exports;
        interface.requires.clone_from(&unit.requires);
        fill_internal(&mut interface, &environment);
        if self.keeps_internals() {
            fill_everything(&mut interface, &environment);
        }
        for global in &mut unit.globals {
            // Somebody at a prompt may define it anew.
            global.assigned |= self.keeps_internals();
            global.exported =
                self.keeps_internals() || is_visible(&interface, &environment, global.name);
            if global.assigned {
                interface.assigned.insert(global.name);
            }
        }
        interface.records = environment
            .records
            .iter()
            .map(|(name, fields)| (*name, fields.clone()))
            .collect();
        Some(ExpandedLibrary {
            name: name.clone(),
            unit,
            interface: Arc::new(interface),
            gathered: Gathered::default(),
        })
    }

    /// Sorts declarations into exports, imports and body.
    fn collect(
        &mut self,
        forms: &[Syntax],
        into: &mut Declarations,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut pending: Vec<Syntax> = forms.iter().rev().cloned().collect();
        while let Some(declaration) = pending.pop() {
            let parts = declaration.elements().filter(|parts| !parts.is_empty());
            let head = parts.as_ref().and_then(|parts| parts[0].as_identifier());
            let (Some(parts), Some(head)) = (parts, head) else {
                let message = format!("`{declaration}` is not a library declaration");
                diagnostics.push(Diagnostic::error(
                    "bad-declaration",
                    declaration.span,
                    message,
                ));
                continue;
            };
            let operands = &parts[1..];
            match head.name.as_str() {
                "export" => operands
                    .iter()
                    .for_each(|spec| collect_export(spec, &mut into.exports, diagnostics)),
                "import" => into.imports.extend_from_slice(operands),
                "begin" => into.body.extend_from_slice(operands),
                "include" | "include-ci" => {
                    let fold_case = head.name.as_str() == "include-ci";
                    let forms = self.include_all(operands, fold_case, diagnostics);
                    into.body.extend(forms);
                }
                "include-library-declarations" => {
                    let forms = self.include_all(operands, false, diagnostics);
                    pending.extend(forms.into_iter().rev());
                }
                "cond-expand" => match self.cond_expand(operands) {
                    Ok(forms) => pending.extend(forms.into_iter().rev()),
                    Err(diagnostic) => diagnostics.push(*diagnostic),
                },
                other => {
                    let message = format!("`{other}` is not a library declaration");
                    let mut diagnostic =
                        Diagnostic::error("bad-declaration", declaration.span, message);
                    if other.starts_with("define") {
                        diagnostic =
                            diagnostic.note("definitions of a library stand inside (begin …)");
                    } else if let Some(similar) =
                        similar_name(Name::new(other), DECLARATIONS.map(Name::new).into_iter())
                    {
                        diagnostic = diagnostic.similar(similar.as_str());
                    }
                    diagnostics.push(diagnostic);
                }
            }
        }
    }

    fn include_all(
        &mut self,
        operands: &[Syntax],
        fold_case: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Syntax> {
        let mut forms = Vec::new();
        for operand in operands {
            match operand.as_atom() {
                Some(Datum::String(file)) => {
                    forms.extend(self.include(file, operand.span, fold_case, diagnostics));
                }
                _ => {
                    let message = format!("`{operand}` is not a string, the name of a file");
                    diagnostics.push(Diagnostic::error("bad-declaration", operand.span, message));
                }
            }
        }
        forms
    }
}

fn collect_export(spec: &Syntax, exports: &mut Vec<Export>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(identifier) = spec.as_identifier() {
        exports.push(Export {
            internal: identifier.name,
            external: identifier.name,
            span: spec.span,
            places: [spec.span; 2],
        });
        return;
    }
    let parts = spec.elements().unwrap_or_default();
    let names: Vec<Name> = parts
        .iter()
        .filter_map(|part| part.as_identifier().map(|name| name.name))
        .collect();
    match (names.as_slice(), parts.len()) {
        ([word, internal, external], 3) if word.as_str() == "rename" => {
            exports.push(Export {
                internal: *internal,
                external: *external,
                span: spec.span,
                places: [parts[1].span, parts[2].span],
            });
        }
        _ => {
            let message = format!(
                "`{spec}` is not an export: it must be a name or (rename name external-name)"
            );
            diagnostics.push(Diagnostic::error("bad-export", spec.span, message));
        }
    }
}

/// Notes where exported names stand.
fn record_exports(recording: &mut Recording, exports: &[Export], environment: &Environment) {
    for export in exports {
        let Some(binding) = environment.lookup(export.internal) else {
            continue;
        };
        let meaning = Meaning::of(binding);
        let [internal, external] = export.places;
        recording.note(internal, export.internal, Role::Export, meaning.clone());
        if external != internal {
            recording.note(external, export.external, Role::ExportAs, meaning);
        }
    }
}

/// The exports with their meanings; `None` after an error.
fn exported(
    library: &LibraryName,
    exports: &[Export],
    environment: &Environment,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<BTreeMap<Name, Binding>> {
    let mut result: BTreeMap<Name, Binding> = BTreeMap::new();
    let mut good = true;
    for export in exports {
        let Some(binding) = environment.lookup(export.internal) else {
            let message = format!(
                "{library} exports `{}`, which it neither defines nor imports",
                export.internal
            );
            let mut diagnostic = Diagnostic::error("undefined-export", export.span, message);
            let names = environment.bindings().map(|(name, _)| name);
            if let Some(similar) = similar_name(export.internal, names) {
                diagnostic = diagnostic.similar(similar.as_str());
            }
            diagnostics.push(diagnostic);
            good = false;
            continue;
        };
        let before = result.insert(export.external, binding.clone());
        if before.is_some_and(|before| before != *binding) {
            let message = format!(
                "{library} exports `{}` twice, with different meanings",
                export.external
            );
            diagnostics.push(Diagnostic::error("duplicate-export", export.span, message));
            good = false;
        }
    }
    good.then_some(result)
}

/// Adds the macros that others can reach, and the names that these mention.
fn fill_internal(interface: &mut Interface, environment: &Environment) {
    let own = environment.key().clone();
    let own_macro = |binding: &Binding| match binding {
        Binding::Macro(name) if name.library == own => Some(name.name),
        _ => None,
    };
    // Calls in what the macros insert look for this one.
    let marker = Name::new(MARKER);
    if let Some(binding) = environment.lookup(marker) {
        interface.internal.insert(marker, binding.clone());
    }
    let mut pending: Vec<Name> = interface.exports.values().filter_map(own_macro).collect();
    interface.for_syntax = environment.for_syntax_code.clone();
    let exported: Vec<Binding> = interface.exports.values().cloned().collect();
    for (keyword, binding) in exported
        .iter()
        .filter_map(|it| call_syntax_of(environment, it))
    {
        pending.extend(own_macro(&binding));
        interface.internal.insert(keyword, binding);
    }
    while let Some(name) = pending.pop() {
        if interface.macros.contains_key(&name) {
            continue;
        }
        let Some(definition) = environment.macros.get(&name) else {
            continue;
        };
        if matches!(definition, MacroDefinition::Procedure(_)) {
            // The identifiers that a procedure inserts are not known before it runs.
            for (mentioned, binding) in environment.all_bindings() {
                pending.extend(own_macro(binding));
                interface.internal.insert(mentioned, binding.clone());
            }
        }
        for mentioned in definition.mentioned(&own) {
            if let Some(binding) = environment.lookup(mentioned) {
                pending.extend(own_macro(binding));
                interface.internal.insert(mentioned, binding.clone());
                if let Some((keyword, syntax)) = call_syntax_of(environment, binding) {
                    pending.extend(own_macro(&syntax));
                    interface.internal.insert(keyword, syntax);
                }
            }
        }
        interface.macros.insert(name, definition.clone());
    }
}

/// Adds every name of the library's top level and all its macros.
fn fill_everything(interface: &mut Interface, environment: &Environment) {
    for (name, binding) in environment.bindings() {
        interface.internal.insert(name, binding.clone());
    }
    for (name, definition) in &environment.macros {
        interface.macros.insert(*name, definition.clone());
    }
}

/// Whether others may refer to the library's global.
fn is_visible(interface: &Interface, environment: &Environment, name: Name) -> bool {
    let binding = Binding::Global(environment.global(name));
    interface
        .exports
        .values()
        .chain(interface.internal.values())
        .any(|other| *other == binding)
}
