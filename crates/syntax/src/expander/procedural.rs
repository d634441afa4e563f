//! Macros that are procedures: phases, making transformers from expressions, and applying them.
//!
//! A transformer expression is expanded like any other, with the same scopes, but one *phase* later: it
//! runs while the program is expanded, in a machine of its own. So it may use everything that is
//! imported and whatever `begin-for-syntax` defined, but no variable of the program around it, which
//! does not exist yet. [`Expander::in_phase`] sees to that.

use std::collections::HashMap;
use std::sync::Arc;

use crate::binding::MacroName;
use crate::core::{Expr, GlobalName, LibraryKey, TopForm, Unit, UnitKind};
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::macros::{Macro, Transformer};
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::procedural::{
    Hygiene, MacroFailure, MacroIdentifier, MadeTransformer, ProcedureTransformer,
};
use crate::span::Span;
use crate::syntax::{Identifier, Leaf, Syntax};

/// The state to restore at the end of a phase.
struct SavedPhase {
    first_local: u32,
    template_scope: ScopeId,
}

impl Expander<'_> {
    fn enter_phase(&mut self) -> SavedPhase {
        let saved = SavedPhase {
            first_local: self.first_local,
            template_scope: self.template_scope,
        };
        self.phase += 1;
        self.first_local = self.locals.len() as u32;
        saved
    }

    fn leave_phase(&mut self, saved: SavedPhase) {
        self.phase -= 1;
        self.first_local = saved.first_local;
        self.template_scope = saved.template_scope;
    }

    /// The owner of globals that are defined in this phase.
    fn phase_key(&self) -> LibraryKey {
        if self.phase == 0 {
            return self.environment.key().clone();
        }
        LibraryKey::new(&format!("{} for syntax", self.environment.key()))
    }

    /// A global of this unit in this phase.
    pub(crate) fn own_global(&self, name: Name) -> GlobalName {
        GlobalName {
            library: self.phase_key(),
            name,
        }
    }

    /// The meaning of a name in the present phase. Reports variables of a later one.
    pub(crate) fn in_phase(
        &mut self,
        meaning: Denotation,
        identifier: Identifier,
        span: Span,
    ) -> Denotation {
        if self.phase == 0 {
            return meaning;
        }
        let own = match &meaning {
            Denotation::Local(variable) | Denotation::Pattern { variable, .. }
                if variable.0 < self.first_local =>
            {
                None
            }
            Denotation::Global { name, .. } | Denotation::Unbound(name)
                if name.library == *self.environment.key() =>
            {
                Some(name.name)
            }
            _ => return meaning,
        };
        let for_syntax = own.and_then(|name| self.environment.for_syntax.get(&name));
        if let Some(name) = for_syntax {
            return Denotation::Global {
                name: name.clone(),
                home: true,
            };
        }
        if matches!(meaning, Denotation::Unbound(_)) {
            return meaning;
        }
        let message = format!(
            "`{}` has no value yet when macros are expanded",
            identifier.name
        );
        let mut diagnostic = Diagnostic::error("wrong-phase", span, message);
        if own.is_some() {
            diagnostic = diagnostic.note(
                "what a transformer calls is imported from a library, or defined inside of (begin-for-syntax \
                 …)",
            );
        }
        self.report(diagnostic);
        Denotation::Global {
            name: self.own_global(identifier.name),
            home: true,
        }
    }

    /// The meaning of a keyword bound to the value of the expression `spec`. `None` after an error.
    pub(crate) fn procedural_transformer(
        &mut self,
        keyword: Name,
        spec: &Syntax,
        scope: ScopeId,
    ) -> Option<Denotation> {
        if !self.libraries.has_macro_host() {
            let message = format!("the transformer of `{keyword}` must be a syntax-rules form");
            self.error("bad-transformer", spec.span, message);
            return None;
        }
        let errors_before = self.error_count();
        let phase = self.enter_phase();
        self.template_scope = scope;
        let value = self.expand_named(spec, Some(keyword), scope);
        let unit = Unit {
            name: LibraryKey::new(&format!("syntax {keyword}")),
            kind: UnitKind::Toplevel,
            requires: Vec::new(),
            globals: Vec::new(),
            body: vec![TopForm::Expression(value)],
            locals: self.locals.clone(),
        };
        self.leave_phase(phase);
        if self.error_count() > errors_before || self.aborted {
            return None;
        }
        self.note_assignments(spec);
        let made = self
            .libraries
            .with_macro_host(|host, libraries| host.make(libraries, unit));
        match made {
            Ok(made) => Some(Denotation::Macro(Arc::new(Macro {
                name: keyword,
                scope,
                transformer: Transformer::Procedure(made),
                is_hidden: false,
            }))),
            Err(failure) => {
                let what = format!("the transformer of `{keyword}`");
                self.transformer_failed("bad-transformer", &what, spec.span, failure);
                None
            }
        }
    }

    fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|one| one.is_error()).count()
    }

    fn transformer_failed(
        &mut self,
        code: &'static str,
        what: &str,
        span: Span,
        failure: MacroFailure,
    ) {
        let prefix = format!("{what}: ");
        let message = if failure.message.starts_with(&prefix) {
            failure.message
        } else {
            prefix + &failure.message
        };
        let span = failure.span.filter(|span| span.is_some()).unwrap_or(span);
        let diagnostic = Diagnostic::error(code, span, message);
        let diagnostic = failure.notes.into_iter().fold(diagnostic, Diagnostic::note);
        self.report(diagnostic);
    }

    /// A procedure may insert assignments of all globals that its text names.
    fn note_assignments(&mut self, spec: &Syntax) {
        let mut names: Vec<Name> = Vec::new();
        spec.to_datum_with(&mut |leaf| {
            if let Leaf::Identifier(identifier) = leaf {
                names.push(identifier.name);
            }
            crate::datum::Datum::Nil
        });
        // Symbols of its text may be names that it inserts.
        for name in &names {
            self.environment.use_name(*name);
        }
        if names
            .iter()
            .any(|name| name.as_str() == CoreForm::Set.name())
        {
            self.assigned.extend(names);
        }
    }

    /// The transformer of a macro that was made elsewhere. `None` after an error.
    pub(crate) fn load_transformer(
        &mut self,
        name: &MacroName,
        code: &[u8],
    ) -> Option<MadeTransformer> {
        if let Some(made) = self.libraries.transformer(name) {
            return Some(made);
        }
        let interface = self.libraries.interface_by_key(&name.library).cloned();
        let loaded = self.libraries.with_macro_host(|host, libraries| {
            if let Some(interface) = &interface {
                host.define_again(libraries, &interface.for_syntax, &name.library)?;
            }
            host.load(libraries, code)
        });
        match loaded {
            Ok(transformer) => {
                let made = MadeTransformer {
                    transformer,
                    code: code.into(),
                };
                self.libraries.keep_transformer(name.clone(), made.clone());
                Some(made)
            }
            Err(failure) => {
                let what = format!("the macro `{}` of {}", name.name, name.library);
                let span = self.steps[self.step.0 as usize].span;
                self.transformer_failed("bad-transformer", &what, span, failure);
                None
            }
        }
    }

    /// `(begin-for-syntax form …)`
    pub(crate) fn begin_for_syntax(&mut self, forms: &[Syntax], span: Span) {
        let errors_before = self.error_count();
        let phase = self.enter_phase();
        let globals = std::mem::take(&mut self.globals);
        let defined = std::mem::take(&mut self.defined);
        let items = self.scan(forms.to_vec(), ScopeId::TOP);
        let mut body: Vec<TopForm> = Vec::with_capacity(items.len());
        for item in items {
            let form = self.top_form(item);
            body.push(form);
        }
        self.defined = defined;
        let unit = Unit {
            name: self.phase_key(),
            kind: UnitKind::Toplevel,
            requires: Vec::new(),
            globals: std::mem::replace(&mut self.globals, globals),
            body,
            locals: self.locals.clone(),
        };
        self.leave_phase(phase);
        if self.error_count() > errors_before || self.aborted {
            return;
        }
        forms.iter().for_each(|form| self.note_assignments(form));
        let defined = self
            .libraries
            .with_macro_host(|host, libraries| host.define(libraries, unit));
        match defined {
            Ok(code) => self.environment.for_syntax_code.push(code.to_vec()),
            Err(failure) => {
                self.transformer_failed("macro-error", "begin-for-syntax", span, failure)
            }
        }
    }

    /// One step of a macro that is a procedure.
    pub(crate) fn apply_procedure(
        &mut self,
        used: &Macro,
        procedure: &dyn ProcedureTransformer,
        form: &Syntax,
        scope: ScopeId,
    ) -> Option<Syntax> {
        let mut hygiene = StepHygiene {
            definition: used.scope,
            usage: scope,
            made: HashMap::new(),
            expander: self,
        };
        let result = procedure.transform(form, &mut hygiene);
        match result {
            Ok(mut result) => {
                if !result.span.is_some() {
                    result.span = form.span;
                }
                Some(result)
            }
            Err(failure) => {
                self.transformer_failed("macro-error", used.name.as_str(), form.span, failure);
                None
            }
        }
    }

    /// The identifier of a template as it can be looked up later, from another expansion if possible.
    /// It means what it means where the macro is defined; bindings inside of the transformer are of
    /// another phase.
    pub(crate) fn template_identifier(&mut self, identifier: Identifier) -> MacroIdentifier {
        let scope = self.template_scope;
        self.note_mentioned(identifier, scope);
        if !self.scopes.is_local(scope) {
            return MacroIdentifier::Closed(self.close_alias(identifier, scope));
        }
        // A name that a local macro mentions may be bound beside the macro later.
        let next = self.live.len() as u32;
        let number = *self.live_numbers.entry((identifier, scope)).or_insert(next);
        if number == next {
            self.live.push((identifier, scope));
        }
        MacroIdentifier::Live {
            epoch: self.epoch,
            name: identifier.name,
            number,
        }
    }

    /// Whether the macro takes its keyword alone, without parentheses.
    pub(crate) fn is_identifier_macro(used: &Macro) -> bool {
        match &used.transformer {
            Transformer::Procedure(made) => made.transformer.takes_identifier(),
            Transformer::Rules(_) => false,
        }
    }

    /// The expansion of `(set! keyword value)` for a macro that takes assignments.
    pub(crate) fn assignment_macro(
        &mut self,
        keyword: &Syntax,
        form: &Syntax,
        scope: ScopeId,
    ) -> Option<Expr> {
        let identifier = keyword.as_identifier()?;
        let Denotation::Macro(used) = self.resolve(identifier, scope) else {
            return None;
        };
        let Transformer::Procedure(made) = &used.transformer else {
            return None;
        };
        if !made.transformer.takes_assignment() {
            return None;
        }
        let expanded = self.expand_macro(&used, form, scope);
        Some(match expanded {
            Some(expanded) => self.expand(&expanded, scope),
            None => Expr::unspecified(form.span),
        })
    }
}

/// The hygiene of one step.
struct StepHygiene<'e, 'a> {
    expander: &'e mut Expander<'a>,
    definition: ScopeId,
    usage: ScopeId,
    made: HashMap<MacroIdentifier, Identifier>,
}

impl StepHygiene<'_, '_> {
    fn make(&mut self, identifier: &MacroIdentifier) -> Identifier {
        let scopes = &mut self.expander.scopes;
        match identifier {
            MacroIdentifier::Known { epoch, identifier } if *epoch == self.expander.epoch => {
                *identifier
            }
            MacroIdentifier::Renamed(name) | MacroIdentifier::Fresh(name, _) => {
                scopes.add_alias(Identifier::plain(*name), self.definition)
            }
            MacroIdentifier::Closed(closed) => {
                let scope = if closed.library == *self.expander.environment.key() {
                    ScopeId::TOP
                } else {
                    scopes.foreign(&closed.library)
                };
                Identifier {
                    name: closed.name,
                    ..scopes.add_alias(Identifier::plain(closed.lookup), scope)
                }
            }
            MacroIdentifier::Live {
                epoch,
                number,
                name,
            } => match self.expander.live.get(*number as usize) {
                Some((inner, scope)) if *epoch == self.expander.epoch => {
                    scopes.add_alias(*inner, *scope)
                }
                _ => Identifier::plain(*name),
            },
            MacroIdentifier::Like(context, name) => {
                let context = self.identifier(context);
                self.expander.scopes.alias_like(context, *name)
            }
            MacroIdentifier::Known { identifier, .. } => Identifier::plain(identifier.name),
        }
    }
}

impl Hygiene for StepHygiene<'_, '_> {
    fn epoch(&self) -> u64 {
        self.expander.epoch
    }

    fn identifier(&mut self, identifier: &MacroIdentifier) -> Identifier {
        if let Some(made) = self.made.get(identifier) {
            return *made;
        }
        let made = self.make(identifier);
        self.made.insert(identifier.clone(), made);
        made
    }

    fn compare(&mut self, left: &MacroIdentifier, right: &MacroIdentifier) -> bool {
        let (left, right) = (self.identifier(left), self.identifier(right));
        let left = self.expander.resolve(left, self.usage);
        let right = self.expander.resolve(right, self.usage);
        left.is_same(&right)
    }
}
