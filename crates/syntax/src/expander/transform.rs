//! Macro steps: applying transformers, making transformers from source, closing macros.
//!
//! A step is recorded with the use it came from, so that messages can blame the macro that people
//! know and not a hidden one. Transformers of `syntax-rules` are compiled once. A macro that is
//! defined at a unit's top level gets a lasting form, closed over what its templates refer to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::LibraryKey;
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::expander::denotation::Denotation;
use crate::expander::macros::{Macro, Transformer};
use crate::expander::matching::match_rule;
use crate::expander::scope::{ScopeId, ScopeKind};
use crate::expander::syntax_rules::{RuleContext, compile_rules};
use crate::expander::transcribe::{TranscribeError, Transcriber};
use crate::expander::{EXPANSION_STEPS_MAX, Expander, STEP_NODES_MAX, Step, StepId};
use crate::library::SYNTAX_LIBRARY;
use crate::macro_definition::{ClosedAlias, MacroDefinition};
use crate::name::Name;
use crate::recording::Role;
use crate::rules::RuleSet;
use crate::syntax::{AliasId, Identifier, Syntax};

impl Expander<'_> {
    /// One step: the expansion of the macro use `form`. The current step becomes this one. `None`
    /// after an error.
    pub(crate) fn expand_macro(
        &mut self,
        used: &Arc<Macro>,
        form: &Syntax,
        scope: ScopeId,
    ) -> Option<Syntax> {
        if self.aborted {
            return None;
        }
        let length = self.steps[self.step.0 as usize].length + 1;
        // As the program writes it, which may have imported it under another name.
        let keyword = form.as_pair().and_then(|pair| pair.car.as_identifier());
        let written = keyword.filter(|keyword| keyword.alias == AliasId::NONE);
        self.steps.push(Step {
            name: written.map_or(used.name, |keyword| keyword.name),
            span: form.span,
            parent: self.step,
            length,
            is_hidden: used.is_hidden,
        });
        self.step = StepId(self.steps.len() as u32 - 1);
        if length > EXPANSION_STEPS_MAX {
            let message = format!(
                "the expansion of `{}` does not end: {length} steps led here",
                self.blamed_macro()
            );
            self.error("endless-expansion", form.span, message);
            self.aborted = true;
            return None;
        }
        if self.is_stopped() {
            return None;
        }
        self.scopes.begin_step();
        let result = match &used.transformer {
            Transformer::Rules(rules) => self.apply_rules(used, rules, form, scope),
            Transformer::Procedure(made) => {
                self.apply_procedure(used, made.transformer.as_ref(), form, scope)
            }
        };
        let result = self.keep_expansion(used, form, scope, result?);
        self.note_use(used, form, &result);
        Some(result)
    }

    /// The macro that is being used, or the one that led to it and that people know.
    fn blamed_macro(&self) -> Name {
        let mut step = self.step;
        loop {
            let entry = &self.steps[step.0 as usize];
            if !entry.is_hidden || entry.parent == StepId::NONE {
                return entry.name;
            }
            step = entry.parent;
        }
    }

    fn apply_rules(
        &mut self,
        used: &Macro,
        rules: &RuleSet,
        form: &Syntax,
        scope: ScopeId,
    ) -> Option<Syntax> {
        let operands = match form.as_pair() {
            Some(pair) => &pair.cdr,
            None => return None,
        };
        let mut matched = None;
        for rule in rules.rules.iter() {
            let mut is_literal = |index: u32, identifier: Identifier| {
                let literal = rules.literals[index as usize];
                // The common case, without a look-up: the very same identifier in the same scope.
                let meant = self.resolve(literal, used.scope);
                self.resolve(identifier, scope).is_same(&meant)
            };
            if let Some(variables) = match_rule(rule, operands, &mut is_literal) {
                matched = Some((rule, variables));
                break;
            }
        }
        let Some((rule, mut variables)) = matched else {
            let name = self.blamed_macro();
            let message = format!("no rule of the macro `{name}` matches this use");
            let mut diagnostic = Diagnostic::error("no-matching-rule", form.span, message);
            if let Some((place, patterns)) = self.rule_patterns(used.name) {
                let text = format!("{} is defined here; it is used as {patterns}", used.name);
                diagnostic = diagnostic.label(place, text);
            }
            self.report(diagnostic);
            return None;
        };
        let mut renamed: Vec<Option<Identifier>> = vec![None; rules.inserted.len()];
        let scopes = &mut self.scopes;
        let mut rename = |index: u32| {
            *renamed[index as usize]
                .get_or_insert_with(|| scopes.add_alias(rules.inserted[index as usize], used.scope))
        };
        let allowed = self.budget.min(STEP_NODES_MAX);
        let mut budget = allowed;
        let mut transcriber = Transcriber {
            span: form.span,
            rename: &mut rename,
            budget: &mut budget,
        };
        let result = transcriber.transcribe(&rule.template, &mut variables);
        self.budget -= allowed - budget;
        match result {
            Ok(mut result) => {
                // The expansion as a whole has the span of the use. If the template is just a
                // variable, its value keeps its own span, which is more precise.
                if !result.span.is_some() {
                    result.span = form.span;
                }
                Some(result)
            }
            Err(TranscribeError::Lengths(left, right)) => {
                let name = self.blamed_macro();
                let message = format!(
                    "`{name}`: variables under one ellipsis matched different numbers of forms ({left} and \
                     {right})"
                );
                self.error("ellipsis-lengths", form.span, message);
                None
            }
            Err(TranscribeError::TooLarge) => {
                let message = format!(
                    "the expansion of `{}` does not end: it has become too large",
                    self.blamed_macro()
                );
                self.error("endless-expansion", form.span, message);
                self.aborted = true;
                None
            }
        }
    }

    /// The meaning of a keyword bound to the transformer expression `spec`. `None` after an error.
    pub(crate) fn transformer(
        &mut self,
        keyword: Name,
        spec: &Syntax,
        scope: ScopeId,
    ) -> Option<Denotation> {
        let saved = self.step;
        let result = self.transformer_inside(keyword, spec, scope);
        self.step = saved;
        result
    }

    fn transformer_inside(
        &mut self,
        keyword: Name,
        spec: &Syntax,
        scope: ScopeId,
    ) -> Option<Denotation> {
        let mut spec = spec.clone();
        loop {
            // A keyword as transformer makes another name for it.
            if let Some(identifier) = spec.as_identifier() {
                let denotation = self.resolve(identifier, scope);
                self.note(identifier, spec.span, Role::Reference, &denotation);
                if matches!(denotation, Denotation::Core(_) | Denotation::Macro(_)) {
                    return Some(denotation);
                }
            }
            let head = spec.as_pair().and_then(|pair| pair.car.as_identifier());
            let meaning = head.map(|head| self.resolve(head, scope));
            if let (Some(head), Some(meaning @ (Denotation::Core(_) | Denotation::Macro(_)))) =
                (head, &meaning)
                && let Some(pair) = spec.as_pair()
            {
                self.note(head, pair.car.span, Role::Reference, meaning);
            }
            match meaning {
                Some(Denotation::Core(CoreForm::SyntaxRules)) => {
                    let is_foreign =
                        head.is_some_and(|head| self.scopes.is_of_another_library(head));
                    return self.rules(keyword, &spec, scope, is_foreign);
                }
                Some(Denotation::Macro(used)) => spec = self.expand_macro(&used, &spec, scope)?,
                _ => return self.procedural_transformer(keyword, &spec, scope),
            }
        }
    }

    /// A macro by `syntax-rules`. That a macro of another library wrote these rules matters to that
    /// library only: its users see of the macro that they know.
    fn rules(
        &mut self,
        keyword: Name,
        spec: &Syntax,
        scope: ScopeId,
        is_foreign: bool,
    ) -> Option<Denotation> {
        let mut errors = Vec::new();
        let mut context = ScopeContext {
            expander: self,
            scope,
        };
        let rules = compile_rules(spec, &mut context, &mut errors);
        if is_foreign {
            // A part of the use that the macro put into its rules does not fit there.
            errors.truncate(1);
            for error in &mut errors {
                let name = self.blamed_macro();
                error.code = "no-matching-rule";
                error.message = format!("no rule of the macro `{name}` matches this use");
            }
        }
        for error in errors {
            self.report(error);
        }
        let rules = rules?;
        for identifier in rules.identifiers() {
            self.note_mentioned(*identifier, scope);
        }
        self.note_rules(spec, scope);
        let transformer = Transformer::Rules(rules);
        Some(Denotation::Macro(Arc::new(Macro {
            name: keyword,
            scope,
            transformer,
            is_hidden: is_foreign,
        })))
    }

    /// The lasting form of a macro that was defined at this unit's top level.
    pub(crate) fn close_macro(&mut self, opened: &Macro) -> MacroDefinition {
        let mut rules = match &opened.transformer {
            Transformer::Rules(rules) => rules.clone(),
            Transformer::Procedure(made) => return MacroDefinition::Procedure(made.code.to_vec()),
        };
        let mut aliases: Vec<ClosedAlias> = Vec::new();
        let mut known: HashMap<Identifier, AliasId> = HashMap::new();
        for identifier in rules.literals.iter_mut().chain(rules.inserted.iter_mut()) {
            if identifier.alias == AliasId::NONE && !self.scopes.is_local(opened.scope) {
                continue;
            }
            let alias = match known.get(identifier) {
                Some(alias) => *alias,
                None => {
                    aliases.push(self.close_alias(*identifier, opened.scope));
                    let alias = AliasId(aliases.len() as u32);
                    known.insert(*identifier, alias);
                    alias
                }
            };
            *identifier = Identifier {
                name: identifier.name,
                alias,
            };
        }
        MacroDefinition::Rules { rules, aliases }
    }

    pub(crate) fn close_alias(&self, identifier: Identifier, scope: ScopeId) -> ClosedAlias {
        let closed = |lookup: Name, library: LibraryKey| ClosedAlias {
            name: identifier.name,
            lookup,
            library,
        };
        let (mut current, mut place) = (identifier, scope);
        loop {
            let outermost = match self.scopes.lookup_local(place, current) {
                Err(outermost) => outermost,
                Ok(Denotation::Core(form)) => {
                    return closed(Name::new(form.name()), LibraryKey::new(SYNTAX_LIBRARY));
                }
                Ok(Denotation::Macro(local)) => {
                    let known = self
                        .opened
                        .iter()
                        .find(|(_, known)| Arc::ptr_eq(known, local));
                    if let Some((key, _)) = known {
                        return closed(key.name, key.library.clone());
                    }
                    self.scopes.outermost(place)
                }
                Ok(_) => self.scopes.outermost(place),
            };
            let is_top = matches!(self.scopes.kind(outermost), ScopeKind::Top);
            let found = if is_top {
                self.table_name(current)
            } else {
                None
            };
            // A plain identifier is looked up where it stands; so is an alias that was defined here.
            match (found, self.scopes.alias(current)) {
                (Some(name), _) => return closed(name, self.library_of(outermost)),
                (None, None) => return closed(current.name, self.library_of(outermost)),
                (None, Some(alias)) => (current, place) = (alias.inner, alias.scope),
            }
        }
    }

    /// The names of this unit's globals that a template of the macro assigns directly.
    pub(crate) fn assigned_by_macro(&mut self, opened: &Macro) -> Vec<Name> {
        let Transformer::Rules(rules) = &opened.transformer else {
            return Vec::new();
        };
        let mut is_set = |index: u32| {
            self.resolve(rules.inserted[index as usize], opened.scope)
                .is_core(CoreForm::Set)
        };
        let targets = rules.assigned(&mut is_set);
        let own: LibraryKey = self.environment.key().clone();
        let mut names = Vec::new();
        for target in targets {
            if let Denotation::Global { name, .. } =
                self.resolve(rules.inserted[target as usize], opened.scope)
                && name.library == own
            {
                names.push(name.name);
            }
        }
        names
    }
}

/// Finds `...` and `_` where rules are compiled.
pub(crate) struct ScopeContext<'e, 'a> {
    pub expander: &'e mut Expander<'a>,
    pub scope: ScopeId,
}

impl RuleContext for ScopeContext<'_, '_> {
    fn is_ellipsis(&mut self, identifier: Identifier) -> bool {
        self.expander
            .resolve(identifier, self.scope)
            .is_auxiliary(CoreForm::Ellipsis)
    }

    fn is_underscore(&mut self, identifier: Identifier) -> bool {
        self.expander
            .resolve(identifier, self.scope)
            .is_auxiliary(CoreForm::Underscore)
    }

    fn outer_depth(&mut self, identifier: Identifier) -> Option<usize> {
        match self.expander.resolve(identifier, self.scope) {
            Denotation::Pattern { depth, .. } => Some(depth as usize),
            _ => None,
        }
    }
}

/// A diagnostic for a `syntax-error` form.
pub(crate) fn user_error(form: &Syntax, message: &str, irritants: &[Syntax]) -> Diagnostic {
    let mut text = message.to_owned();
    for irritant in irritants {
        text.push(' ');
        text.push_str(&irritant.to_string());
    }
    Diagnostic::error("syntax-error", form.span, text)
}
