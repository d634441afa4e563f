//! Expands `if`, `cond`, `and`, `or`, `when`, `unless`, `begin` and `set!`.
//!
//! All become `If`, `Sequence`, `Let` and assignments of the core. A test that is also a value is
//! evaluated once, in a fresh variable. Clauses nest in the result and count as levels, so that a
//! long `cond` meets the depth limit and not the native stack's end.

use crate::core::{Expr, ExprKind};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Syntax;

impl Expander<'_> {
    /// `(if test consequent [alternative])`
    pub(crate) fn if_form(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        match operands {
            [test, consequent, rest @ ..] if rest.len() <= 1 => {
                let test = self.expand(test, scope);
                let consequent = self.expand(consequent, scope);
                let alternative = match rest.first() {
                    Some(alternative) => self.expand(alternative, scope),
                    None => Expr::unspecified(span),
                };
                Expr::conditional(span, test, consequent, alternative)
            }
            _ => {
                let message = format!(
                    "expected a test and one or two branches, but found {}",
                    count(operands.len())
                );
                self.bad_expression(CoreForm::If, span, message)
            }
        }
    }

    /// `(set! name expression)`
    pub(crate) fn set(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let [name, value] = operands else {
            let message = format!(
                "expected a name and an expression, but found {}",
                count(operands.len())
            );
            return self.bad_expression(CoreForm::Set, span, message);
        };
        let Some(identifier) = name.as_identifier() else {
            return self.bad_expression(
                CoreForm::Set,
                name.span,
                format!("`{name}` is not a name"),
            );
        };
        let value = self.expand_named(value, Some(identifier.name), scope);
        self.assignment(identifier, name.span, value, scope, span)
    }

    /// `(begin expression …)` as an expression.
    pub(crate) fn begin(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        if operands.is_empty() {
            return self.bad_expression(CoreForm::Begin, span, "an expression is missing");
        }
        self.sequence(operands, scope, span)
    }

    /// `(when test expression …)`, or `unless`.
    pub(crate) fn when(
        &mut self,
        operands: &[Syntax],
        positive: bool,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = if positive {
            CoreForm::When
        } else {
            CoreForm::Unless
        };
        let Some((test, body)) = operands.split_first().filter(|(_, body)| !body.is_empty()) else {
            return self.bad_expression(form, span, "expected a test and at least one expression");
        };
        let test = self.expand(test, scope);
        let body = self.sequence(body, scope, span);
        let nothing = Expr::unspecified(span);
        if positive {
            Expr::conditional(span, test, body, nothing)
        } else {
            Expr::conditional(span, test, nothing, body)
        }
    }

    /// `(and expression …)`
    pub(crate) fn and(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let no = |span| Expr::constant(span, Datum::Boolean(false));
        if !self.enter(operands.len(), span) {
            return no(span);
        }
        let mut expressions: Vec<Expr> = operands
            .iter()
            .map(|operand| self.expand(operand, scope))
            .collect();
        self.leave(operands.len());
        let Some(mut result) = expressions.pop() else {
            return Expr::constant(span, Datum::Boolean(true));
        };
        while let Some(test) = expressions.pop() {
            result = Expr::conditional(span, test, result, no(span));
        }
        result
    }

    /// `(or expression …)`: each value but the last is kept in a variable while it is tested.
    pub(crate) fn or(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        if !self.enter(operands.len(), span) {
            return Expr::unspecified(span);
        }
        let mut expressions: Vec<Expr> = operands
            .iter()
            .map(|operand| self.expand(operand, scope))
            .collect();
        self.leave(operands.len());
        let Some(mut result) = expressions.pop() else {
            return Expr::constant(span, Datum::Boolean(false));
        };
        while let Some(test) = expressions.pop() {
            result = self.value_or(test, result, span);
        }
        result
    }

    /// The value of `test` if it is true, else that of `otherwise`.
    pub(crate) fn value_or(&mut self, test: Expr, otherwise: Expr, span: Span) -> Expr {
        let variable = self.locals.add(Name::new("t"), test.span);
        let value = |at| Expr::new(at, ExprKind::LocalRef(variable));
        let body = Expr::conditional(span, value(test.span), value(test.span), otherwise);
        Expr::new(
            span,
            ExprKind::Let {
                bindings: vec![(variable, test)],
                body: Box::new(body),
            },
        )
    }

    /// `(cond clause …)`
    pub(crate) fn cond(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        if operands.is_empty() {
            return self.bad_expression(CoreForm::Cond, span, "a clause is missing");
        }
        self.cond_clauses(operands, scope, span)
    }

    /// The clauses are nested in the result, so they count as levels.
    fn cond_clauses(&mut self, clauses: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        if !self.enter(clauses.len(), span) {
            return Expr::unspecified(span);
        }
        let mut parts: Vec<Clause> = Vec::with_capacity(clauses.len());
        let mut otherwise = None;
        for (index, clause) in clauses.iter().enumerate() {
            let Some(elements) = clause.elements().filter(|elements| !elements.is_empty()) else {
                self.bad_form(
                    CoreForm::Cond,
                    clause.span,
                    format!("clause {} is not (test expression …)", index + 1),
                );
                continue;
            };
            if self.is_auxiliary(&elements[0], CoreForm::Else, scope) {
                if index + 1 != clauses.len() {
                    self.bad_form(
                        CoreForm::Cond,
                        clause.span,
                        "the else clause must be the last one",
                    );
                }
                if elements.len() == 1 {
                    self.bad_form(
                        CoreForm::Cond,
                        clause.span,
                        "the else clause has no expression",
                    );
                }
                otherwise = Some(self.sequence(&elements[1..], scope, clause.span));
                continue;
            }
            parts.extend(self.cond_clause(&elements, clause.span, scope));
        }
        self.leave(clauses.len());
        let mut result = otherwise.unwrap_or_else(|| Expr::unspecified(span));
        while let Some(clause) = parts.pop() {
            result = match clause {
                Clause::Body { test, body, span } => Expr::conditional(span, test, body, result),
                Clause::Test { test, span } => self.value_or(test, result, span),
                Clause::Arrow {
                    test,
                    receiver,
                    span,
                } => {
                    let variable = self.locals.add(Name::new("t"), test.span);
                    let value = |at| Expr::new(at, ExprKind::LocalRef(variable));
                    let call = Expr::call(span, receiver, vec![value(span)]);
                    let body = Expr::conditional(span, value(test.span), call, result);
                    Expr::new(
                        span,
                        ExprKind::Let {
                            bindings: vec![(variable, test)],
                            body: Box::new(body),
                        },
                    )
                }
            };
        }
        result
    }

    /// A clause that is not the else clause; `None` after an error.
    fn cond_clause(&mut self, elements: &[Syntax], span: Span, scope: ScopeId) -> Option<Clause> {
        let test = self.expand(&elements[0], scope);
        let arrow = elements
            .get(1)
            .is_some_and(|second| self.is_auxiliary(second, CoreForm::Arrow, scope));
        if arrow {
            if elements.len() != 3 {
                let message = "a clause with => must be (test => procedure)";
                self.bad_form(CoreForm::Cond, span, message);
                return None;
            }
            let receiver = self.expand(&elements[2], scope);
            return Some(Clause::Arrow {
                test,
                receiver,
                span,
            });
        }
        if elements.len() == 1 {
            return Some(Clause::Test { test, span });
        }
        let body = self.sequence(&elements[1..], scope, span);
        Some(Clause::Body { test, body, span })
    }
}

/// A clause of `cond`, expanded.
enum Clause {
    Body {
        test: Expr,
        body: Expr,
        span: Span,
    },
    Test {
        test: Expr,
        span: Span,
    },
    Arrow {
        test: Expr,
        receiver: Expr,
        span: Span,
    },
}

/// A number of operands in words.
pub(crate) fn count(operands: usize) -> String {
    match operands {
        0 => "none".to_owned(),
        1 => "one operand".to_owned(),
        _ => format!("{operands} operands"),
    }
}
