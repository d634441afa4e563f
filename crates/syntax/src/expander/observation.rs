//! Telling a [`Recording`] what is seen, and remembering which imports are used.
//!
//! Every function here returns at once when nobody records, except for those about imports.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::environment::{Environment, Origin};
use crate::expander::denotation::Denotation;
use crate::expander::macros::Macro;
use crate::expander::scope::{ScopeId, ScopeKind};
use crate::expander::{Expander, StepId};
use crate::name::Name;
use crate::recording::{
    LocalKind, LocalNames, MacroResult, MacroUse, Meaning, Recording, Role, TopName,
};
use crate::span::Span;
use crate::syntax::{AliasId, Identifier, Syntax};

/// Observations of one unit, kept until its scopes are complete.
#[derive(Default)]
pub(super) struct Observed {
    /// The meanings of macros, by their address; they live as long as the expansion.
    macros: HashMap<usize, Meaning>,
    /// Identifiers of templates, which may be bound later.
    templates: Vec<(Identifier, Span, ScopeId)>,
    /// Forms with bodies: their scopes, complete at the end.
    bodies: Vec<(Span, ScopeId)>,
}

fn address(used: &Arc<Macro>) -> usize {
    Arc::as_ptr(used) as usize
}

impl Expander<'_> {
    fn recording(&mut self) -> Option<&mut Recording> {
        self.libraries.recording.as_mut()
    }

    fn is_recording(&self) -> bool {
        self.libraries.recording.is_some()
    }

    fn meaning(&self, denotation: &Denotation) -> Meaning {
        match denotation {
            Denotation::Core(form) => Meaning::Core(*form),
            Denotation::Primitive(primitive) => Meaning::Primitive(Name::new(primitive.row().name)),
            Denotation::Local(variable) => {
                let variable = &self.locals[*variable];
                Meaning::Local {
                    name: variable.name,
                    span: variable.span,
                    kind: LocalKind::Variable,
                }
            }
            Denotation::Pattern { variable, .. } => {
                let variable = &self.locals[*variable];
                Meaning::Local {
                    name: variable.name,
                    span: variable.span,
                    kind: LocalKind::Pattern,
                }
            }
            Denotation::Global { name, .. } => Meaning::Global(name.clone()),
            Denotation::Macro(used) => match self.observed.macros.get(&address(used)) {
                Some(meaning) => meaning.clone(),
                None => Meaning::Local {
                    name: used.name,
                    span: Span::NONE,
                    kind: LocalKind::Keyword,
                },
            },
            Denotation::Unbound(name) => Meaning::Unbound(name.name),
        }
    }

    /// Notes that an identifier stands somewhere and what it means there.
    pub(super) fn note(
        &mut self,
        identifier: Identifier,
        span: Span,
        role: Role,
        denotation: &Denotation,
    ) {
        // An identifier that a macro inserted has the span of the macro's use.
        if !self.is_recording()
            || span.end.saturating_sub(span.start) as usize != identifier.name.as_str().len()
        {
            return;
        }
        let meaning = self.meaning(denotation);
        if let Some(recording) = self.recording() {
            recording.note(span, identifier.name, role, meaning);
        }
    }

    /// Notes that an identifier that is known to mean a core form stands somewhere.
    pub(super) fn note_keyword_at(&mut self, syntax: &Syntax, form: CoreForm) {
        if let Some(identifier) = syntax.as_identifier() {
            self.note(
                identifier,
                syntax.span,
                Role::Reference,
                &Denotation::Core(form),
            );
        }
    }

    /// Notes where a macro of a top level is defined.
    pub(super) fn know_macro(&mut self, used: &Arc<Macro>, meaning: Meaning) {
        if self.is_recording() {
            self.observed.macros.entry(address(used)).or_insert(meaning);
        }
    }

    /// Notes the definition of a local keyword.
    pub(super) fn note_local_keyword(
        &mut self,
        identifier: Identifier,
        span: Span,
        denotation: &Denotation,
    ) {
        if !self.is_recording() {
            return;
        }
        if let Denotation::Macro(used) = denotation {
            self.know_macro(
                used,
                Meaning::Local {
                    name: identifier.name,
                    span,
                    kind: LocalKind::Keyword,
                },
            );
        }
        self.note(identifier, span, Role::Definition, denotation);
    }

    /// Notes the field of a record type, or a mention of it.
    pub(super) fn note_field(&mut self, name: Name, defined_at: Span, span: Span) {
        let Some(recording) = self.recording() else {
            return;
        };
        let role = if defined_at == span {
            Role::Definition
        } else {
            Role::Reference
        };
        let meaning = Meaning::Local {
            name,
            span: defined_at,
            kind: LocalKind::Field,
        };
        recording.note(span, name, role, meaning);
    }

    /// Notes a form with a body, whose names are those of this scope and the ones around it.
    pub(super) fn note_body(&mut self, span: Span, scope: ScopeId) {
        if self.is_recording() && span.is_some() {
            self.observed.bodies.push((span, scope));
        }
    }

    /// Notes a macro use that stands in the text.
    pub(super) fn note_use(&mut self, used: &Macro, form: &Syntax, result: &Syntax) {
        let parent = self.steps[self.step.0 as usize].parent;
        let is_written = parent == StepId::NONE || {
            let outer = self.steps[parent.0 as usize].span;
            // A form that a macro inserts has the span of the macro's use.
            outer.source == form.span.source && outer != form.span
        };
        let written = form
            .as_pair()
            .and_then(|pair| pair.car.as_identifier())
            .is_some_and(|head| head.alias == AliasId::NONE);
        if !is_written || !written || !form.span.is_some() {
            return;
        }
        let name = used.name;
        let span = form.span;
        let result = MacroResult(result.clone());
        if let Some(recording) = self.recording() {
            recording.uses.push(MacroUse { span, name, result });
        }
    }

    /// Notes the variables of a pattern of `syntax-case`, which are bound in `scope`.
    pub(super) fn note_case_pattern(&mut self, pattern: &Syntax, scope: ScopeId) {
        if !self.is_recording() {
            return;
        }
        for (identifier, span) in identifiers(pattern) {
            if let Some(denotation @ Denotation::Pattern { .. }) =
                self.scopes.local(scope, identifier).cloned()
            {
                self.note(identifier, span, Role::Definition, &denotation);
            }
        }
    }

    /// Notes what a template of `syntax` mentions.
    pub(super) fn note_template(&mut self, template: &Syntax, scope: ScopeId) {
        if !self.is_recording() {
            return;
        }
        for (identifier, span) in identifiers(template) {
            self.observed.templates.push((identifier, span, scope));
        }
    }

    /// Notes what the rules of a `syntax-rules` form bind and mention.
    pub(super) fn note_rules(&mut self, spec: &Syntax, scope: ScopeId) {
        if !self.is_recording() {
            return;
        }
        let elements = spec.parts().elements;
        // An ellipsis of its own stands before the literals.
        let custom = elements.get(1).and_then(Syntax::as_identifier);
        let first = if custom.is_some() { 2 } else { 1 };
        let literals: HashSet<Identifier> = elements
            .get(first)
            .map(identifiers)
            .unwrap_or_default()
            .into_iter()
            .map(|(identifier, _)| identifier)
            .collect();
        for rule in elements.iter().skip(first + 1) {
            let parts = rule.parts().elements;
            let [pattern, template] = parts.as_slice() else {
                continue;
            };
            let mut variables: HashMap<Identifier, Meaning> = HashMap::new();
            // The keyword's place binds nothing.
            let keyword = pattern.as_pair().map(|pair| pair.car.span);
            for (identifier, span) in identifiers(pattern) {
                let is_mark = matches!(identifier.name.as_str(), "_" | "...")
                    || custom == Some(identifier)
                    || literals.contains(&identifier)
                    || keyword == Some(span);
                if is_mark || variables.contains_key(&identifier) {
                    continue;
                }
                let meaning = Meaning::Local {
                    name: identifier.name,
                    span,
                    kind: LocalKind::Pattern,
                };
                variables.insert(identifier, meaning.clone());
                if let Some(recording) = self.recording() {
                    recording.note(span, identifier.name, Role::Definition, meaning);
                }
            }
            for (identifier, span) in identifiers(template) {
                match variables.get(&identifier) {
                    Some(meaning) => {
                        let meaning = meaning.clone();
                        if let Some(recording) = self.recording() {
                            recording.note(span, identifier.name, Role::Reference, meaning);
                        }
                    }
                    None => self.observed.templates.push((identifier, span, scope)),
                }
            }
        }
    }

    /// Completes the recording at the end of the unit.
    pub(super) fn finish_recording(&mut self) {
        if !self.is_recording() {
            return;
        }
        let observed = std::mem::take(&mut self.observed);
        self.observed.macros = observed.macros;
        for (identifier, span, scope) in observed.templates {
            // An identifier that the template itself binds is still unbound.
            let denotation = self.resolve(identifier, scope);
            if !matches!(denotation, Denotation::Unbound(_)) {
                self.note(identifier, span, Role::Template, &denotation);
            }
        }
        let mut locals = Vec::with_capacity(observed.bodies.len());
        let inner: HashSet<ScopeId> = observed.bodies.iter().map(|(_, scope)| *scope).collect();
        for (span, scope) in observed.bodies {
            let mut names = Vec::new();
            let mut next = Some(scope);
            while let Some(place) = next {
                if place != scope && inner.contains(&place) {
                    break;
                }
                for (identifier, denotation) in self.scopes.entries(place) {
                    if identifier.alias == AliasId::NONE {
                        names.push((identifier.name, self.meaning(denotation)));
                    }
                }
                next = self.scopes.parent(place);
            }
            if !names.is_empty() {
                locals.push(LocalNames { span, names });
            }
        }
        let names = self
            .environment
            .entries()
            .map(|(name, entry)| TopName {
                name,
                meaning: Meaning::of(&entry.binding),
                imported_from: match &entry.origin {
                    Origin::Imported(library, _) => Some(library.clone()),
                    Origin::Defined(_) => None,
                },
            })
            .collect();
        let key = self.environment.key().clone();
        if let Some(recording) = self.recording() {
            recording.key = Some(key);
            recording.locals = locals;
            recording.names = names;
        }
    }

    /// Notes that the text mentions an identifier that may never be looked up, because it stands in a
    /// template.
    pub(super) fn note_mentioned(&mut self, mut identifier: Identifier, mut scope: ScopeId) {
        loop {
            let Err(outermost) = self.scopes.lookup_local(scope, identifier) else {
                return;
            };
            if matches!(self.scopes.kind(outermost), ScopeKind::Top)
                && let Some(name) = self.table_name(identifier)
            {
                self.environment.use_name(name);
            }
            match self.scopes.alias(identifier) {
                Some(alias) => (identifier, scope) = (alias.inner, alias.scope),
                None => return,
            }
        }
    }
}

/// Every identifier of a form with its place, in the order of the text.
fn identifiers(syntax: &Syntax) -> Vec<(Identifier, Span)> {
    let mut found = Vec::new();
    let mut pending = vec![syntax];
    while let Some(syntax) = pending.pop() {
        let syntax = syntax.unlabelled();
        if let Some(identifier) = syntax.as_identifier() {
            found.push((identifier, syntax.span));
        } else if let Some(pair) = syntax.as_pair() {
            pending.push(&pair.cdr);
            pending.push(&pair.car);
        } else if let Some(elements) = syntax.as_vector() {
            pending.extend(elements.iter().rev());
        }
    }
    found
}

/// Warnings about unused imports: whole import sets, and names that an `only` or `rename` gives one
/// by one.
pub(crate) fn unused_imports(environment: &Environment) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for import in environment.imports() {
        let is_used = |name: &Name| environment.uses(*name);
        if !import.span.is_some() || import.is_special || import.names.is_empty() {
            continue;
        }
        if !import.names.iter().any(is_used) {
            let message = format!("nothing that is imported from {} is used", import.library);
            found.push(Diagnostic::warning("unused-import", import.span, message));
            continue;
        }
        for (name, span) in &import.listed {
            if !is_used(name) && import.names.contains(name) {
                let message = format!("`{name}` is imported from {} but not used", import.library);
                found.push(Diagnostic::warning("unused-import", *span, message));
            }
        }
    }
    found
}
