//! Bodies: the first pass over a sequence of forms, and bodies as `letrec*`.
//!
//! [`Expander::scan`] expands the macros of a body or top level until every definition is known,
//! and gives a list of [`Item`]s whose expressions are not yet expanded. Definitions and
//! expressions may be mixed.

use crate::core::{Expr, ExprKind, GlobalName, VarId};
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::expander::denotation::Denotation;
use crate::expander::forms::matching_forms::MatchSource;
use crate::expander::forms::records::RecordType;
use crate::expander::forms::values::ValuesFormals;
use crate::expander::scope::ScopeId;
use crate::expander::{Expander, StepId};
use crate::name::Name;
use crate::recording::Role;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// A definition or expression whose parts are still to be expanded.
pub(crate) enum Item {
    Define {
        target: Target,
        value: Deferred,
        span: Span,
    },
    Expression(Deferred),
}

/// The variable that a definition gives a value to.
#[derive(Clone)]
pub(crate) enum Target {
    Local(VarId),
    Global(GlobalName),
    /// A program defines this global a second time, which is an assignment.
    Again(GlobalName),
}

/// Source to be expanded in the second pass, with what must be remembered for that.
pub(crate) struct Deferred {
    pub step: StepId,
    pub scope: ScopeId,
    pub kind: DeferredKind,
}

pub(crate) enum DeferredKind {
    /// An expression, and the name it is given if it is a procedure.
    Expression(Syntax, Option<Name>),
    /// `(define (name . formals) body …)`
    Procedure(ProcedureSource),
    /// Made by the expander, nothing left to do.
    Ready(Expr),
    /// A record type.
    RecordType(RecordType),
    /// A vector of the values of the expression.
    Values(ValuesFormals, Syntax),
    /// A vector of the values of a pattern's variables.
    Match(MatchSource),
}

/// The parts of a procedure definition.
pub(crate) struct ProcedureSource {
    pub name: Name,
    pub formals: Syntax,
    /// The list of body forms.
    pub body: Syntax,
    /// Whether optional and keyword parameters are allowed.
    pub star: bool,
    pub span: Span,
}

/// A form still to be looked at in the first pass.
pub(crate) struct Pending {
    pub syntax: Syntax,
    pub step: StepId,
    pub scope: ScopeId,
}

/// The state of one first pass.
pub(crate) struct Scan {
    /// The scope of the body, which gets the definitions.
    pub scope: ScopeId,
    /// The scope of the form being looked at: that of the body, or one inside it when the form was
    /// spliced out of a `let-syntax`.
    pub current: ScopeId,
    /// The forms still to be looked at, last first.
    pub pending: Vec<Pending>,
    pub items: Vec<Item>,
    /// Keywords from outside the body that were used in it.
    pub keywords: Vec<Identifier>,
}

impl Scan {
    /// Puts forms in front of what is pending.
    pub fn push_forms(&mut self, forms: Vec<Syntax>, step: StepId) {
        self.push_forms_in(forms, step, self.current);
    }

    /// Puts forms in front of what is pending, to be looked at in an inner scope.
    pub fn push_forms_in(&mut self, forms: Vec<Syntax>, step: StepId, scope: ScopeId) {
        let pending = |syntax| Pending {
            syntax,
            step,
            scope,
        };
        self.pending.extend(forms.into_iter().rev().map(pending));
    }
}

impl Expander<'_> {
    /// The first pass over the forms of a body or top level.
    pub(crate) fn scan(&mut self, forms: Vec<Syntax>, scope: ScopeId) -> Vec<Item> {
        let saved = self.step;
        let mut scan = Scan {
            scope,
            current: scope,
            pending: Vec::new(),
            items: Vec::new(),
            keywords: Vec::new(),
        };
        scan.push_forms(forms, self.step);
        while let Some(form) = scan.pending.pop() {
            if self.aborted {
                break;
            }
            self.step = form.step;
            scan.current = form.scope;
            self.scan_form(form.syntax, &mut scan);
        }
        self.step = saved;
        scan.items
    }

    fn scan_form(&mut self, mut syntax: Syntax, scan: &mut Scan) {
        loop {
            let head = syntax.as_pair().and_then(|pair| pair.car.as_identifier());
            let Some(identifier) = head else { break };
            let meaning = self.resolve(identifier, scan.current);
            if let (Denotation::Core(_) | Denotation::Macro(_), Some(pair)) =
                (&meaning, syntax.as_pair())
            {
                self.note(identifier, pair.car.span, Role::Reference, &meaning);
            }
            match meaning {
                Denotation::Macro(used) => {
                    note_keyword(self, identifier, scan);
                    match self.expand_macro(&used, &syntax, scan.current) {
                        Some(result) => syntax = result,
                        None => return,
                    }
                }
                Denotation::Core(form) => {
                    note_keyword(self, identifier, scan);
                    if self.scan_core(form, &syntax, scan) {
                        return;
                    }
                    break;
                }
                Denotation::Unbound(name) if scan.scope == ScopeId::TOP => {
                    // Before anything is imported, these two have a meaning nevertheless.
                    let form = match name.name.as_str() {
                        "import" => CoreForm::Import,
                        "define-library" => CoreForm::DefineLibrary,
                        _ => break,
                    };
                    if let Some(pair) = syntax.as_pair() {
                        self.note_keyword_at(&pair.car, form);
                    }
                    if self.scan_core(form, &syntax, scan) {
                        return;
                    }
                    break;
                }
                _ => break,
            }
        }
        let value = self.deferred(DeferredKind::Expression(syntax, None), scan.current);
        scan.items.push(Item::Expression(value));
    }

    pub(crate) fn deferred(&self, kind: DeferredKind, scope: ScopeId) -> Deferred {
        Deferred {
            step: self.step,
            scope,
            kind,
        }
    }

    /// The second pass over one right-hand side or expression.
    pub(crate) fn force(&mut self, deferred: Deferred) -> Expr {
        let saved = std::mem::replace(&mut self.step, deferred.step);
        let scope = deferred.scope;
        let result = match deferred.kind {
            DeferredKind::Expression(syntax, name) => self.expand_named(&syntax, name, scope),
            DeferredKind::Procedure(source) => self.procedure(&source, scope),
            DeferredKind::Ready(expression) => expression,
            DeferredKind::RecordType(record) => self.record_type(record, scope),
            DeferredKind::Match(source) => self.match_vector(&source, scope),
            DeferredKind::Values(formals, syntax) => self.values_vector(formals, &syntax, scope),
        };
        self.step = saved;
        result
    }

    /// The body of a binding form or procedure: a scope of its own inside `scope`.
    pub(crate) fn body(
        &mut self,
        forms: Vec<Syntax>,
        scope: ScopeId,
        form: &str,
        span: Span,
    ) -> Expr {
        if forms.is_empty() {
            self.error("empty-body", span, format!("{form}: the body is empty"));
            return Expr::unspecified(span);
        }
        if !self.enter(1, span) {
            return Expr::unspecified(span);
        }
        let inner = self.scopes.add_local(scope);
        let errors_before = self.diagnostics.len();
        let items = self.scan(forms, inner);
        let complete = self.diagnostics.len() == errors_before && !self.aborted;
        let result = self.letrec_body(items, complete, form, span);
        self.note_body(span, inner);
        self.leave(1);
        result
    }

    /// `complete` tells whether the items are all of the body, no form having been refused.
    fn letrec_body(
        &mut self,
        mut items: Vec<Item>,
        complete: bool,
        form: &str,
        span: Span,
    ) -> Expr {
        let last_definition = items
            .iter()
            .rposition(|item| matches!(item, Item::Define { .. }));
        let Some(last_definition) = last_definition else {
            if items.is_empty() && complete {
                self.error(
                    "empty-body",
                    span,
                    format!("{form}: the body has no expression"),
                );
            }
            let expressions = items
                .into_iter()
                .map(|item| self.item_expression(item))
                .collect();
            return Expr::sequence(span, expressions);
        };
        let tail = items.split_off(last_definition + 1);
        if tail.is_empty() && complete {
            let message =
                format!("{form}: the body ends with a definition; an expression must follow");
            self.error("empty-body", span, message);
        }
        let mut bindings = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Define {
                    target: Target::Local(variable),
                    value,
                    ..
                } => {
                    let value = self.force(value);
                    bindings.push((variable, value));
                }
                Item::Define { value, .. } => {
                    // Definitions of a body have local targets, except after an error.
                    self.force(value);
                }
                Item::Expression(value) => {
                    let value = self.force(value);
                    let unused = self.locals.add(Name::new("_"), value.span);
                    let whole = value.span;
                    bindings.push((
                        unused,
                        Expr::sequence(whole, vec![value, Expr::unspecified(whole)]),
                    ));
                }
            }
        }
        let expressions = tail
            .into_iter()
            .map(|item| self.item_expression(item))
            .collect();
        let body = Box::new(Expr::sequence(span, expressions));
        Expr::new(
            span,
            ExprKind::Letrec {
                star: true,
                bindings,
                body,
            },
        )
    }

    fn item_expression(&mut self, item: Item) -> Expr {
        match item {
            Item::Expression(value) | Item::Define { value, .. } => self.force(value),
        }
    }

    /// Makes `name` a variable of the scope. `None` after an error.
    pub(crate) fn declare(&mut self, name: &Syntax, form: &str, scan: &Scan) -> Option<Target> {
        let Some(identifier) = name.as_identifier() else {
            self.error(
                "bad-definition",
                name.span,
                format!("{form}: `{name}` is not a name"),
            );
            return None;
        };
        if scan.scope == ScopeId::TOP {
            return self.declare_global(identifier, name.span, form);
        }
        self.check_new_local(identifier, name.span, form, scan)?;
        let variable = self.locals.add(identifier.name, name.span);
        let meaning = Denotation::Local(variable);
        self.note(identifier, name.span, Role::Definition, &meaning);
        self.scopes.bind(scan.scope, identifier, meaning);
        Some(Target::Local(variable))
    }

    /// A definition must not give another meaning to what the body has already used, nor to what
    /// it has already defined.
    fn check_new_local(
        &mut self,
        identifier: Identifier,
        span: Span,
        form: &str,
        scan: &Scan,
    ) -> Option<()> {
        if let Some(existing) = self.scopes.local(scan.scope, identifier).cloned() {
            let message = format!(
                "{form}: `{}` is defined twice in this body",
                identifier.name
            );
            let mut diagnostic = Diagnostic::error("duplicate-definition", span, message);
            if let Denotation::Local(variable) = existing {
                diagnostic =
                    diagnostic.label(self.locals[variable].span, "it is also defined here");
            }
            self.report(diagnostic);
            return None;
        }
        if scan.keywords.contains(&identifier) {
            let message = format!(
                "{form}: `{}` is defined here, but was used with another meaning in this body",
                identifier.name
            );
            self.error("changed-meaning", span, message);
            return None;
        }
        Some(())
    }

    /// Makes `name` a keyword of the scope.
    pub(crate) fn declare_syntax(&mut self, name: &Syntax, spec: &Syntax, form: &str, scan: &Scan) {
        let Some(identifier) = name.as_identifier() else {
            self.error(
                "bad-definition",
                name.span,
                format!("{form}: `{name}` is not a name"),
            );
            return;
        };
        if scan.scope == ScopeId::TOP {
            self.declare_global_syntax(identifier, name.span, spec, scan.current, form);
            return;
        }
        if self
            .check_new_local(identifier, name.span, form, scan)
            .is_none()
        {
            return;
        }
        if let Some(denotation) = self.transformer(identifier.name, spec, scan.current) {
            self.note_local_keyword(identifier, name.span, &denotation);
            self.scopes.bind(scan.scope, identifier, denotation);
        }
    }

    /// A reference to what was declared.
    pub(crate) fn target_reference(target: &Target, span: Span) -> Expr {
        let kind = match target {
            Target::Local(variable) => ExprKind::LocalRef(*variable),
            Target::Global(name) | Target::Again(name) => ExprKind::GlobalRef(name.clone()),
        };
        Expr::new(span, kind)
    }

    /// A variable that only the expander knows, in the scope of the scan.
    pub(crate) fn declare_hidden(&mut self, base: &str, span: Span, scan: &Scan) -> Target {
        let base = Name::new(base);
        if scan.scope == ScopeId::TOP {
            return Target::Global(self.hidden_global(base, span));
        }
        Target::Local(self.locals.add(base, span))
    }
}

/// Remembers that a keyword from outside the body was used in it.
fn note_keyword(expander: &Expander<'_>, identifier: Identifier, scan: &mut Scan) {
    let outside =
        scan.scope != ScopeId::TOP && expander.scopes.local(scan.scope, identifier).is_none();
    if outside && !scan.keywords.contains(&identifier) {
        scan.keywords.push(identifier);
    }
}
