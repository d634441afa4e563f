//! Direct application: a call of a `lambda` expression as a binding form.

use canny_syntax::core::{Expr, ExprKind, Lambda};
use canny_syntax::span::Span;

use super::build::primitive;
use super::walk::has_plain_parameters;

/// Whether a call with so many operands can be turned into a binding form.
pub fn is_applicable(lambda: &Lambda, operands: usize) -> bool {
    let required = lambda.required.len();
    lambda.keywords.is_empty()
        && !lambda.allow_other_keys
        && operands >= required
        && (lambda.rest.is_some() || operands <= required + lambda.optional.len())
}

/// The clause that takes so many operands.
pub fn select_clause(clauses: &[Lambda], operands: usize) -> Option<usize> {
    clauses
        .iter()
        .position(|clause| is_applicable(clause, operands))
}

/// Applies a procedure for which [`is_applicable`] holds.
pub fn apply(lambda: Lambda, operands: Vec<Expr>, span: Span) -> Expr {
    if has_plain_parameters(&lambda) {
        let bindings: Vec<_> = lambda.required.into_iter().zip(operands).collect();
        return bind(bindings, lambda.body, span);
    }
    let mut operands = operands.into_iter();
    let mut bindings = Vec::new();
    for var in lambda.required {
        bindings.extend(operands.next().map(|operand| (var, operand)));
    }
    let mut defaults = Vec::new();
    for (var, default) in lambda.optional {
        match operands.next() {
            Some(operand) => bindings.push((var, operand)),
            None => defaults.push((var, default)),
        }
    }
    if let Some(rest) = lambda.rest {
        let list = Expr::call(span, primitive("list", span), operands.collect());
        bindings.push((rest, list));
    }
    // A default sees the parameters before it, and is evaluated after all operands.
    let body = defaults
        .into_iter()
        .rev()
        .fold(lambda.body, |body, binding| bind(vec![binding], body, span));
    bind(bindings, body, span)
}

fn bind(bindings: Vec<(canny_syntax::core::VarId, Expr)>, body: Expr, span: Span) -> Expr {
    if bindings.is_empty() {
        return body;
    }
    Expr::new(
        span,
        ExprKind::Let {
            bindings,
            body: Box::new(body),
        },
    )
}
