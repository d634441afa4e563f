//! Expands `let`, `let*`, `letrec`, `letrec*`, named `let`, `let-syntax` and `letrec-syntax`.
//!
//! Each form makes the scopes that R7RS gives it: initial values of `let` are expanded outside,
//! those of `letrec` inside. Bad and duplicate bindings are reported and left out.

use crate::core::{Expr, ExprKind, Lambda, VarId};
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// One `(name expression)`.
pub(super) struct Binding {
    pub(super) name: Identifier,
    pub(super) span: Span,
    pub(super) value: Syntax,
}

impl Expander<'_> {
    /// Takes `((name expression) …)` apart. Bad bindings are reported and left out.
    pub(super) fn bindings(
        &mut self,
        form: CoreForm,
        syntax: &Syntax,
        what: &str,
        distinct: bool,
    ) -> Vec<Binding> {
        let Some(elements) = syntax.elements() else {
            let message =
                format!("the bindings must be a list of ({what}), but this is `{syntax}`");
            self.bad_form(form, syntax.span, message);
            return Vec::new();
        };
        let mut bindings: Vec<Binding> = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let parts = element.elements().filter(|parts| parts.len() == 2);
            let name = parts.as_ref().and_then(|parts| parts[0].as_identifier());
            let (Some(parts), Some(name)) = (parts, name) else {
                let message = format!("binding {} is not ({what}): `{element}`", index + 1);
                self.bad_form(form, element.span, message);
                continue;
            };
            bindings.push(Binding {
                name,
                span: parts[0].span,
                value: parts[1].clone(),
            });
        }
        if distinct {
            let names: Vec<(Identifier, Span)> = bindings
                .iter()
                .map(|binding| (binding.name, binding.span))
                .collect();
            self.check_distinct(form, &names);
        }
        bindings
    }

    /// Reports names that occur more than once.
    pub(crate) fn check_distinct(&mut self, form: CoreForm, names: &[(Identifier, Span)]) {
        let mut first = std::collections::HashMap::new();
        for (name, span) in names {
            if let Some(earlier) = first.insert(*name, *span) {
                let message = format!("{}: `{}` is bound twice", form.name(), name.name);
                let diagnostic = Diagnostic::error("duplicate-binding", *span, message)
                    .label(earlier, "it is also bound here");
                self.report(diagnostic);
            }
        }
    }

    /// `(let bindings body …)` or `(let name bindings body …)`
    pub(crate) fn let_form(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::Let;
        match operands {
            [name, bindings, body @ ..] if name.as_identifier().is_some() => {
                self.named_let(name, bindings, body, scope, span)
            }
            [bindings, body @ ..] => {
                let bindings = self.bindings(form, bindings, "name expression", true);
                let inner = self.scopes.add_local(scope);
                let mut variables: Vec<(VarId, Expr)> = Vec::with_capacity(bindings.len());
                for binding in &bindings {
                    let value = self.expand_named(&binding.value, Some(binding.name.name), scope);
                    variables.push((self.bind_variable(binding.name, binding.span, inner), value));
                }
                let body = self.body(body.to_vec(), inner, form.name(), span);
                if variables.is_empty() {
                    return body;
                }
                Expr::new(
                    span,
                    ExprKind::Let {
                        bindings: variables,
                        body: Box::new(body),
                    },
                )
            }
            [] => self.bad_expression(form, span, "expected bindings and a body"),
        }
    }

    /// A loop: the procedure is bound around the call only, so its name is not seen by the initial
    /// values, which are expanded in the outer scope.
    fn named_let(
        &mut self,
        name: &Syntax,
        bindings: &Syntax,
        body: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = CoreForm::Let;
        let Some(identifier) = name.as_identifier() else {
            return Expr::unspecified(span);
        };
        let bindings = self.bindings(form, bindings, "name expression", true);
        let operands: Vec<Expr> = bindings
            .iter()
            .map(|binding| self.expand_named(&binding.value, Some(binding.name.name), scope))
            .collect();
        let around = self.scopes.add_local(scope);
        let procedure = self.bind_variable(identifier, name.span, around);
        let inner = self.scopes.add_local(around);
        let required = bindings
            .iter()
            .map(|binding| self.bind_variable(binding.name, binding.span, inner))
            .collect();
        let body = self.body(body.to_vec(), inner, form.name(), span);
        self.loop_expression(procedure, required, body, operands, name.span, span)
    }

    /// `((letrec ((procedure (lambda required body))) procedure) operand …)`, with the call moved
    /// inside, which resolved variables allow.
    pub(crate) fn loop_expression(
        &mut self,
        procedure: VarId,
        required: Vec<VarId>,
        body: Expr,
        operands: Vec<Expr>,
        at: Span,
        span: Span,
    ) -> Expr {
        let lambda = Lambda {
            name: Some(self.locals[procedure].name),
            required,
            optional: Vec::new(),
            keywords: Vec::new(),
            rest: None,
            allow_other_keys: false,
            body,
            span,
        };
        let lambda = Expr::new(span, ExprKind::Lambda(Box::new(lambda)));
        let call = Expr::call(span, Expr::new(at, ExprKind::LocalRef(procedure)), operands);
        Expr::new(
            span,
            ExprKind::Letrec {
                star: false,
                bindings: vec![(procedure, lambda)],
                body: Box::new(call),
            },
        )
    }

    /// `(let* bindings body …)`: one scope and one `Let` per binding.
    pub(crate) fn let_star(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::LetStar;
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.bindings(form, bindings, "name expression", false);
        if !self.enter(bindings.len(), span) {
            return Expr::unspecified(span);
        }
        let mut scope = scope;
        let mut variables = Vec::with_capacity(bindings.len());
        for binding in &bindings {
            let value = self.expand_named(&binding.value, Some(binding.name.name), scope);
            scope = self.scopes.add_local(scope);
            variables.push((self.bind_variable(binding.name, binding.span, scope), value));
        }
        let mut result = self.body(body.to_vec(), scope, form.name(), span);
        for binding in variables.into_iter().rev() {
            result = Expr::new(
                span,
                ExprKind::Let {
                    bindings: vec![binding],
                    body: Box::new(result),
                },
            );
        }
        self.leave(bindings.len());
        result
    }

    /// `(letrec bindings body …)`
    pub(crate) fn letrec(
        &mut self,
        operands: &[Syntax],
        star: bool,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = if star {
            CoreForm::LetrecStar
        } else {
            CoreForm::Letrec
        };
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.bindings(form, bindings, "name expression", true);
        let inner = self.scopes.add_local(scope);
        let variables: Vec<VarId> = bindings
            .iter()
            .map(|binding| self.bind_variable(binding.name, binding.span, inner))
            .collect();
        let mut values = Vec::with_capacity(bindings.len());
        for (binding, variable) in bindings.iter().zip(variables) {
            values.push((
                variable,
                self.expand_named(&binding.value, Some(binding.name.name), inner),
            ));
        }
        let body = self.body(body.to_vec(), inner, form.name(), span);
        if values.is_empty() {
            return body;
        }
        Expr::new(
            span,
            ExprKind::Letrec {
                star,
                bindings: values,
                body: Box::new(body),
            },
        )
    }

    /// `(let-syntax ((keyword transformer) …) body …)` and its relatives, as expressions.
    pub(crate) fn let_syntax(
        &mut self,
        operands: &[Syntax],
        form: CoreForm,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let recursive = matches!(
            form,
            CoreForm::LetrecSyntax | CoreForm::SplicingLetrecSyntax
        );
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let inner = self.bind_keywords(form, bindings, recursive, scope);
        self.body(body.to_vec(), inner, form.name(), span)
    }

    /// A new scope with the keywords of `((keyword transformer) …)`.
    pub(crate) fn bind_keywords(
        &mut self,
        form: CoreForm,
        bindings: &Syntax,
        recursive: bool,
        scope: ScopeId,
    ) -> ScopeId {
        let bindings = self.bindings(form, bindings, "keyword transformer", true);
        let inner = self.scopes.add_local(scope);
        let visible = if recursive { inner } else { scope };
        let mut denotations = Vec::with_capacity(bindings.len());
        for binding in &bindings {
            if let Some(denotation) = self.transformer(binding.name.name, &binding.value, visible) {
                self.note_local_keyword(binding.name, binding.span, &denotation);
                denotations.push((binding.name, denotation));
            }
        }
        for (name, denotation) in denotations {
            self.scopes.bind(inner, name, denotation);
        }
        inner
    }
}
