//! Multiple values: `let-values`, `let*-values`, `receive` and `define-values`.
//!
//! `define-values` keeps its variables constant, if nobody assigns them: the values are collected
//! in a hidden vector once and each variable is defined as one of its elements.

use crate::core::{Expr, ExprKind, Formals, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::body::{DeferredKind, Item, Scan};
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// How many values a `define-values` expects.
pub(crate) struct ValuesFormals {
    pub required: usize,
    pub rest: bool,
    pub span: Span,
}

/// Names for the values of one expression.
struct Names {
    required: Vec<(Identifier, Span)>,
    rest: Option<(Identifier, Span)>,
}

impl Names {
    fn all(&self) -> impl Iterator<Item = (Identifier, Span)> {
        self.required.iter().chain(self.rest.iter()).copied()
    }
}

impl Expander<'_> {
    /// `(a b)`, `(a b . c)` or `c`.
    fn value_names(&mut self, form: CoreForm, formals: &Syntax) -> Option<Names> {
        let parts = formals.parts();
        let mut names = Names {
            required: Vec::new(),
            rest: None,
        };
        for element in &parts.elements {
            match element.as_identifier() {
                Some(name) => names.required.push((name, element.span)),
                None => {
                    self.bad_form(form, element.span, format!("`{element}` is not a name"));
                    return None;
                }
            }
        }
        if let Some(rest) = parts.tail.as_identifier() {
            names.rest = Some((rest, parts.tail.span));
        } else if !parts.tail.is_nil() {
            self.bad_form(
                form,
                parts.tail.span,
                format!("`{}` is not a name", parts.tail),
            );
            return None;
        }
        Some(names)
    }

    fn bind_names(&mut self, names: &Names, scope: ScopeId) -> Formals {
        let required = names
            .required
            .iter()
            .map(|(name, span)| self.bind_variable(*name, *span, scope))
            .collect();
        let rest = names
            .rest
            .map(|(name, span)| self.bind_variable(name, span, scope));
        Formals { required, rest }
    }

    /// `((formals expression) …)` taken apart.
    fn values_bindings(&mut self, form: CoreForm, bindings: &Syntax) -> Vec<(Names, Syntax)> {
        let Some(elements) = bindings.elements() else {
            self.bad_form(
                form,
                bindings.span,
                "the bindings must be a list of ((name …) expression)",
            );
            return Vec::new();
        };
        let mut result = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let Some(parts) = element.elements().filter(|parts| parts.len() == 2) else {
                let message = format!(
                    "binding {} is not ((name …) expression): `{element}`",
                    index + 1
                );
                self.bad_form(form, element.span, message);
                continue;
            };
            if let Some(names) = self.value_names(form, &parts[0]) {
                result.push((names, parts[1].clone()));
            }
        }
        result
    }

    /// `(let-values bindings body …)`. The expressions do not see the variables; since variables
    /// are resolved already, nested forms do.
    pub(crate) fn let_values(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::LetValues;
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.values_bindings(form, bindings);
        let all: Vec<(Identifier, Span)> =
            bindings.iter().flat_map(|(names, _)| names.all()).collect();
        self.check_distinct(form, &all);
        if !self.enter(bindings.len(), span) {
            return Expr::unspecified(span);
        }
        let inner = self.scopes.add_local(scope);
        let mut parts = Vec::with_capacity(bindings.len());
        for (names, init) in &bindings {
            let init = self.expand(init, scope);
            parts.push((self.bind_names(names, inner), init));
        }
        let body = self.body(body.to_vec(), inner, form.name(), span);
        self.leave(bindings.len());
        nest_values(parts, body, span)
    }

    /// `(let*-values bindings body …)`
    pub(crate) fn let_star_values(
        &mut self,
        operands: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = CoreForm::LetStarValues;
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.values_bindings(form, bindings);
        if !self.enter(bindings.len(), span) {
            return Expr::unspecified(span);
        }
        let mut scope = scope;
        let mut parts = Vec::with_capacity(bindings.len());
        for (names, init) in &bindings {
            let all: Vec<(Identifier, Span)> = names.all().collect();
            self.check_distinct(form, &all);
            let init = self.expand(init, scope);
            scope = self.scopes.add_local(scope);
            parts.push((self.bind_names(names, scope), init));
        }
        let body = self.body(body.to_vec(), scope, form.name(), span);
        self.leave(bindings.len());
        nest_values(parts, body, span)
    }

    /// `(receive formals expression body …)`
    pub(crate) fn receive(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::Receive;
        let [formals, init, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected (name …), an expression and a body");
        };
        let Some(names) = self.value_names(form, formals) else {
            return Expr::unspecified(span);
        };
        let all: Vec<(Identifier, Span)> = names.all().collect();
        self.check_distinct(form, &all);
        let init = self.expand(init, scope);
        let inner = self.scopes.add_local(scope);
        let formals = self.bind_names(&names, inner);
        let body = self.body(body.to_vec(), inner, form.name(), span);
        nest_values(vec![(formals, init)], body, span)
    }

    /// `(define-values formals expression)`
    pub(crate) fn define_values(&mut self, operands: &[Syntax], span: Span, scan: &mut Scan) {
        let form = CoreForm::DefineValues;
        let [formals, init] = operands else {
            self.bad_form(form, span, "expected (name …) and an expression");
            return;
        };
        let Some(names) = self.value_names(form, formals) else {
            return;
        };
        let all: Vec<(Identifier, Span)> = names.all().collect();
        self.check_distinct(form, &all);
        let hidden = self.declare_hidden("values", span, scan);
        let counts = ValuesFormals {
            required: names.required.len(),
            rest: names.rest.is_some(),
            span,
        };
        let value = self.deferred(DeferredKind::Values(counts, init.clone()), scan.current);
        scan.items.push(Item::Define {
            target: hidden.clone(),
            value,
            span,
        });
        for (index, (name, at)) in all.into_iter().enumerate() {
            let Some(target) = self.declare(&Syntax::identifier(at, name), form.name(), scan)
            else {
                continue;
            };
            let vector = Self::target_reference(&hidden, at);
            let index = Expr::constant(at, Datum::integer(index as i64));
            let element = self.primitive_call("vector-ref", vec![vector, index], at);
            let value = self.deferred(DeferredKind::Ready(element), scan.current);
            scan.items.push(Item::Define {
                target,
                value,
                span,
            });
        }
    }

    /// A vector of the values of `init`, the rest of them as a list.
    pub(crate) fn values_vector(
        &mut self,
        formals: ValuesFormals,
        init: &Syntax,
        scope: ScopeId,
    ) -> Expr {
        let span = formals.span;
        let init = self.expand(init, scope);
        let mut fresh = |name: &str| -> VarId { self.locals.add(Name::new(name), span) };
        let required: Vec<VarId> = (0..formals.required).map(|_| fresh("value")).collect();
        let rest = formals.rest.then(|| fresh("values"));
        let operands = required
            .iter()
            .chain(rest.iter())
            .map(|variable| Expr::new(span, ExprKind::LocalRef(*variable)))
            .collect();
        let body = self.primitive_call("vector", operands, span);
        nest_values(vec![(Formals { required, rest }, init)], body, span)
    }
}

/// `LetValues` forms around a body, the first one outermost.
fn nest_values(parts: Vec<(Formals, Expr)>, body: Expr, span: Span) -> Expr {
    parts.into_iter().rev().fold(body, |body, (formals, init)| {
        Expr::new(
            span,
            ExprKind::LetValues {
                formals,
                init: Box::new(init),
                body: Box::new(body),
            },
        )
    })
}
