//! Resolves identifiers: what a name means in a scope, and references and assignments to variables.
//!
//! A lookup goes from the innermost scope outwards, then to the globals of the outermost one; a
//! name that a macro has inserted is looked up again in the scope of the macro's definition.
//! Meanings are reported to the recording, if there is one, for editors.

use std::sync::Arc;

use crate::binding::{Binding, MacroName};
use crate::core::{Expr, ExprKind, GlobalName, LibraryKey};
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::environment::{EnvironmentKind, Origin};
use crate::expander::Expander;
use crate::expander::denotation::{Denotation, lookup_primitive};
use crate::expander::macros::{Macro, Transformer};
use crate::expander::scope::{ScopeId, ScopeKind};
use crate::foreign_names;
use crate::macro_definition::MacroDefinition;
use crate::name::Name;
use crate::recording::{Meaning, Role};
use crate::span::Span;
use crate::syntax::{AliasId, Identifier, Syntax};

impl Expander<'_> {
    /// The meaning of an identifier in a scope, `syntax-parameterize` left aside.
    pub(crate) fn resolve_plainly(
        &mut self,
        mut identifier: Identifier,
        mut scope: ScopeId,
    ) -> Denotation {
        loop {
            let outermost = match self.scopes.lookup_local(scope, identifier) {
                Ok(denotation) => return denotation.clone(),
                Err(outermost) => outermost,
            };
            if let Some(denotation) = self.resolve_global(identifier, outermost) {
                return denotation;
            }
            match self.scopes.alias(identifier) {
                Some(alias) => {
                    identifier = alias.inner;
                    scope = alias.scope;
                }
                None => {
                    let library = self.library_of(outermost);
                    return Denotation::Unbound(GlobalName {
                        library,
                        name: identifier.name,
                    });
                }
            }
        }
    }

    /// The key of the library or environment whose globals the scope holds.
    pub(crate) fn library_of(&self, outermost: ScopeId) -> LibraryKey {
        match self.scopes.kind(outermost) {
            ScopeKind::Foreign(library) => library.clone(),
            _ => self.environment.key().clone(),
        }
    }

    /// The meaning of exactly this identifier among the globals of a top level.
    fn resolve_global(&mut self, identifier: Identifier, outermost: ScopeId) -> Option<Denotation> {
        match self.scopes.kind(outermost) {
            ScopeKind::Top => {
                let name = self.table_name(identifier)?;
                let binding = self.environment.entry(name)?.binding.clone();
                self.environment.use_name(name);
                let home = self.environment.key().clone();
                self.denotation_of(&binding, &home)
            }
            ScopeKind::Foreign(library) if identifier.alias == AliasId::NONE => {
                let library = library.clone();
                let interface = self.libraries.interface_by_key(&library)?;
                let name = identifier.name;
                let binding = match interface.internal.get(&name) {
                    Some(binding) => binding.clone(),
                    // Another library's macro may stand for a macro that its home never mentions.
                    None if interface.macros.contains_key(&name) => Binding::Macro(MacroName {
                        library: library.clone(),
                        name,
                    }),
                    None => return None,
                };
                self.denotation_of(&binding, &library)
            }
            _ => None,
        }
    }

    /// The name in the environment's table that an identifier would be found under.
    pub(crate) fn table_name(&self, identifier: Identifier) -> Option<Name> {
        if identifier.alias == AliasId::NONE {
            return Some(identifier.name);
        }
        self.hidden.get(&identifier).copied()
    }

    /// A binding as it is during this expansion.
    pub(crate) fn denotation_of(
        &mut self,
        binding: &Binding,
        home: &LibraryKey,
    ) -> Option<Denotation> {
        Some(match binding {
            Binding::Core(form) => Denotation::Core(*form),
            Binding::Primitive(name) => Denotation::Primitive(lookup_primitive(name.as_str())?),
            Binding::Global(name) => Denotation::Global {
                name: name.clone(),
                home: name.library == *home,
            },
            Binding::Macro(name) => Denotation::Macro(self.open_macro(name)?),
        })
    }

    /// The macro in the form it has during this expansion.
    fn open_macro(&mut self, name: &MacroName) -> Option<Arc<Macro>> {
        if let Some(opened) = self.opened.get(name) {
            return Some(opened.clone());
        }
        let own = name.library == *self.environment.key();
        let scope = if own {
            ScopeId::TOP
        } else {
            self.scopes.foreign(&name.library)
        };
        // Those who import the library know the macro by the name under which it is exported, if it is.
        let public_name = if own {
            Some(name.name)
        } else {
            let exports = &self.libraries.interface_by_key(&name.library)?.exports;
            let exported = Binding::Macro(name.clone());
            if exports.get(&name.name) == Some(&exported) {
                Some(name.name)
            } else {
                let names = exports.iter().filter(|(_, binding)| **binding == exported);
                names.map(|(name, _)| *name).min()
            }
        };
        let is_hidden = public_name.is_none();
        let shown_name = public_name.unwrap_or(name.name);
        let definition = if own {
            self.environment.macros.get(&name.name)?.clone()
        } else {
            self.libraries
                .interface_by_key(&name.library)?
                .macros
                .get(&name.name)?
                .clone()
        };
        let (mut rules, closed_aliases) = match definition {
            MacroDefinition::Rules { rules, aliases } => (rules, aliases),
            MacroDefinition::Procedure(code) => {
                let made = self.load_transformer(name, &code)?;
                let opened = Arc::new(Macro {
                    name: shown_name,
                    scope,
                    transformer: Transformer::Procedure(made),
                    is_hidden,
                });
                self.know_macro(&opened, Meaning::Macro(name.clone()));
                self.opened.insert(name.clone(), opened.clone());
                return Some(opened);
            }
        };
        let mut aliases = Vec::with_capacity(closed_aliases.len());
        for closed in &closed_aliases {
            let foreign = *self.environment.key() != closed.library;
            let scope = if foreign {
                self.scopes.foreign(&closed.library)
            } else {
                ScopeId::TOP
            };
            let alias = self
                .scopes
                .add_alias(Identifier::plain(closed.lookup), scope);
            aliases.push(Identifier {
                name: closed.name,
                ..alias
            });
        }
        for identifier in rules.literals.iter_mut().chain(rules.inserted.iter_mut()) {
            if identifier.alias != AliasId::NONE
                && let Some(opened) = aliases.get(identifier.alias.0 as usize - 1)
            {
                *identifier = *opened;
            }
        }
        let opened = Arc::new(Macro {
            name: shown_name,
            scope,
            transformer: Transformer::Rules(rules),
            is_hidden,
        });
        self.know_macro(&opened, Meaning::Macro(name.clone()));
        self.opened.insert(name.clone(), opened.clone());
        Some(opened)
    }

    /// Whether the syntax is an identifier that means that auxiliary keyword.
    pub(crate) fn is_auxiliary(&mut self, syntax: &Syntax, form: CoreForm, scope: ScopeId) -> bool {
        match syntax.as_identifier() {
            Some(identifier) => {
                let meaning = self.resolve(identifier, scope);
                let is_meant = meaning.is_auxiliary(form);
                if is_meant {
                    self.note(identifier, syntax.span, Role::Reference, &meaning);
                }
                is_meant
            }
            None => false,
        }
    }

    /// A variable's value.
    pub(crate) fn reference(&mut self, identifier: Identifier, span: Span, scope: ScopeId) -> Expr {
        let meaning = self.resolve(identifier, scope);
        let meaning = self.in_phase(meaning, identifier, span);
        self.note(identifier, span, Role::Reference, &meaning);
        let kind = match meaning {
            Denotation::Local(variable) => ExprKind::LocalRef(variable),
            Denotation::Primitive(primitive) => ExprKind::PrimitiveRef(primitive),
            Denotation::Global { name, .. } => ExprKind::GlobalRef(name),
            Denotation::Pattern { .. } => {
                let message = format!(
                    "`{}` is a pattern variable: it stands inside of (syntax …) only",
                    identifier.name
                );
                self.error("pattern-variable", span, message);
                return Expr::unspecified(span);
            }
            Denotation::Unbound(name) => {
                self.warn_unbound(identifier.name, &name, span, scope);
                ExprKind::GlobalRef(name)
            }
            Denotation::Core(form) => {
                let message = if form.is_auxiliary() {
                    format!(
                        "`{}` is a keyword that only has a meaning inside other forms",
                        identifier.name
                    )
                } else {
                    format!("`{}` is a keyword, not a variable", identifier.name)
                };
                self.error("keyword-as-variable", span, message);
                return Expr::unspecified(span);
            }
            Denotation::Macro(_) => {
                let message = self.macro_as_variable(&identifier.name.to_string());
                self.error("keyword-as-variable", span, message);
                return Expr::unspecified(span);
            }
        };
        Expr::new(span, kind)
    }

    /// The message about a macro's name where a value is expected. Names that begin with % are a
    /// library's own: there the macro that passed such a name on gets an error.
    fn macro_as_variable(&self, name: &str) -> String {
        let mut macros = self.macro_uses().map(|(name, _)| name.to_string());
        match macros.find(|user| name.starts_with('%') && !user.starts_with('%')) {
            Some(user) => {
                format!("{user}: something stands where the name of another macro is expected")
            }
            None => format!("`{name}` is a macro, not a variable"),
        }
    }

    /// Warns of a variable that is bound to nothing. Programs and libraries know all their
    /// definitions, so a free identifier there is surely unbound; it is an error only when it is
    /// evaluated.
    fn warn_unbound(&mut self, symbol: Name, name: &GlobalName, span: Span, scope: ScopeId) {
        let own = name.library == *self.environment.key();
        if own
            && !matches!(
                self.environment.kind(),
                EnvironmentKind::Library | EnvironmentKind::Program
            )
        {
            return;
        }
        // Once for each name: a program may use it a thousand times.
        if !self.warned.insert(name.clone()) {
            return;
        }
        let message = format!("`{symbol}` is not bound");
        let mut diagnostic =
            Diagnostic::warning("unbound-variable", span, message).missing_name(symbol);
        if CoreForm::ALL
            .iter()
            .any(|form| form.name() == symbol.as_str())
        {
            let note = match self.libraries.exporter(symbol) {
                Some(library) => format!("it is a keyword; write (import {library})"),
                None => "it is a keyword: is an `import` missing?".to_owned(),
            };
            diagnostic = diagnostic.note(note);
        } else if let Some(note) = foreign_names::replacement(symbol.as_str()) {
            diagnostic = diagnostic.note(note);
        } else if let Some(note) = self.libraries.exporters_note(symbol) {
            diagnostic = diagnostic.note(note);
        } else {
            let locals = self.scopes.local_names(scope);
            let names = self.environment.bindings().map(|(name, _)| name);
            let names = names.chain(locals);
            if let Some(similar) = crate::spelling::similar_name(symbol, names) {
                diagnostic = diagnostic.similar(similar.as_str());
                // A program that meant it uses its import.
                self.environment.use_name(similar);
                let meant = self.environment.entry(similar).map(|entry| &entry.binding);
                if matches!(meant, Some(Binding::Core(_) | Binding::Macro(_))) {
                    diagnostic.code = "misspelt-keyword";
                }
            }
        }
        self.report(diagnostic);
    }

    /// `(set! identifier value)`.
    pub(crate) fn assignment(
        &mut self,
        identifier: Identifier,
        at: Span,
        value: Expr,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let meaning = self.resolve(identifier, scope);
        let meaning = self.in_phase(meaning, identifier, at);
        self.note(identifier, at, Role::Assignment, &meaning);
        let kind = match meaning {
            Denotation::Local(variable) => {
                self.locals[variable].assigned = true;
                ExprKind::LocalSet(variable, Box::new(value))
            }
            Denotation::Global { name, home: true } => {
                if !self.may_assign(&name) {
                    let message = format!(
                        "`{}` of {} cannot be assigned from outside",
                        identifier.name, name.library
                    );
                    self.error("immutable-variable", at, message);
                }
                ExprKind::GlobalSet(name, Box::new(value))
            }
            Denotation::Unbound(name) => {
                self.warn_unbound(identifier.name, &name, at, scope);
                self.may_assign(&name);
                ExprKind::GlobalSet(name, Box::new(value))
            }
            Denotation::Global { .. } | Denotation::Primitive(_) => {
                let origin = self
                    .environment
                    .entry(identifier.name)
                    .map(|entry| entry.origin.clone());
                let from = match origin {
                    Some(Origin::Imported(library, _)) => format!(" from {library}"),
                    _ => String::new(),
                };
                let message = format!(
                    "`{}` is imported{from} and cannot be assigned",
                    identifier.name
                );
                let mut diagnostic = Diagnostic::error("immutable-variable", at, message);
                if self.environment.kind() != EnvironmentKind::Library {
                    diagnostic = diagnostic
                        .note("a definition of the name here would make it a variable of its own");
                }
                self.report(diagnostic);
                return Expr::unspecified(span);
            }
            Denotation::Core(_) | Denotation::Macro(_) | Denotation::Pattern { .. } => {
                let message = format!("set!: `{}` is a keyword, not a variable", identifier.name);
                self.error("keyword-as-variable", at, message);
                return Expr::unspecified(span);
            }
        };
        Expr::new(span, kind)
    }

    /// Notes an assignment to a global of this unit. Globals of other libraries can be assigned
    /// through their macros, if those libraries foresaw it when they were compiled.
    fn may_assign(&mut self, name: &GlobalName) -> bool {
        if name.library == *self.environment.key() {
            self.assigned.insert(name.name);
            return true;
        }
        match self.libraries.interface_by_key(&name.library) {
            Some(interface) => interface.assigned.contains(&name.name),
            None => true,
        }
    }

    /// A reference to a primitive that an expansion needs.
    pub(crate) fn primitive(&mut self, name: &str, span: Span) -> Expr {
        match lookup_primitive(name) {
            Some(primitive) => Expr::new(span, ExprKind::PrimitiveRef(primitive)),
            None => {
                self.error(
                    "missing-primitive",
                    span,
                    format!("this system has no primitive `{name}`"),
                );
                Expr::unspecified(span)
            }
        }
    }

    /// A call of a primitive that an expansion needs.
    pub(crate) fn primitive_call(&mut self, name: &str, operands: Vec<Expr>, span: Span) -> Expr {
        let operator = self.primitive(name, span);
        Expr::call(span, operator, operands)
    }
}
