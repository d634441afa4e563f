//! Turns a direct application of a `lambda` expression into binding forms.
//!
//! Order of evaluation, default expressions, rest lists and keywords mean the same afterwards. A
//! call whose number of arguments or whose keywords do not fit is left as it is, so that it raises
//! its error when it runs.

use canny_syntax::core::{Expr, ExprKind, Lambda};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::build::{bind, primitive};
use crate::walk::has_plain_parameters;

/// Whether a call with these operands can be turned into a binding form.
pub fn is_applicable(lambda: &Lambda, operands: &[Expr]) -> bool {
    takes_keywords(lambda) && keyword_places(lambda, operands).is_some()
        || takes_count(lambda, operands.len())
}

fn takes_keywords(lambda: &Lambda) -> bool {
    !lambda.keywords.is_empty() || lambda.allow_other_keys
}

/// Whether the procedure has no keywords and takes so many arguments.
fn takes_count(lambda: &Lambda, count: usize) -> bool {
    let required = lambda.required.len();
    !takes_keywords(lambda)
        && count >= required
        && (lambda.rest.is_some() || count <= required + lambda.optional.len())
}

/// The clause that takes so many operands.
pub fn select_clause(clauses: &[Lambda], operands: usize) -> Option<usize> {
    clauses
        .iter()
        .position(|clause| takes_count(clause, operands))
}

/// Where a call's operands go.
struct Places {
    /// How many are positional.
    positional: usize,
    /// For each keyword with a value, in the order of the call, its number among the procedure's.
    keywords: Vec<usize>,
}

/// Where the operands of a call of a procedure with keywords go; none unless that is certain, and what
/// is left over has no place to be kept in.
fn keyword_places(lambda: &Lambda, operands: &[Expr]) -> Option<Places> {
    let required = lambda.required.len();
    if operands.len() < required || lambda.rest.is_some() || lambda.allow_other_keys {
        return None;
    }
    let mut positional = required;
    for operand in operands.iter().skip(required).take(lambda.optional.len()) {
        if keyword(operand).is_some() {
            break;
        }
        if !is_no_keyword(operand) {
            return None;
        }
        positional += 1;
    }
    let mut keywords = Vec::new();
    for pair in operands[positional..].chunks(2) {
        let [name, _] = pair else { return None };
        let name = keyword(name)?;
        let mut known = lambda.keywords.iter();
        let index = known.position(|(known, _, _)| *known == name)?;
        if keywords.contains(&index) {
            return None;
        }
        keywords.push(index);
    }
    Some(Places {
        positional,
        keywords,
    })
}

fn keyword(expr: &Expr) -> Option<Name> {
    match &expr.kind {
        ExprKind::Constant(Datum::Keyword(name)) => Some(*name),
        _ => None,
    }
}

/// Whether the value is certainly no keyword.
fn is_no_keyword(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(datum) => !matches!(datum, Datum::Keyword(_)),
        ExprKind::Lambda(_) | ExprKind::CaseLambda(_) | ExprKind::PrimitiveRef(_) => true,
        ExprKind::Call { .. } => super::effects::primitive_call(expr).is_some_and(|(id, _)| {
            id.row().signature.ends_with("-> number") || id.row().signature.ends_with("-> boolean")
        }),
        _ => false,
    }
}

/// Applies a procedure for which [`is_applicable`] holds, or a clause that [`select_clause`] chose.
pub fn apply(lambda: Lambda, operands: Vec<Expr>, span: Span) -> Expr {
    if has_plain_parameters(&lambda) {
        let bindings: Vec<_> = lambda.required.into_iter().zip(operands).collect();
        return bind(bindings, lambda.body, span);
    }
    let places = keyword_places(&lambda, &operands).filter(|_| takes_keywords(&lambda));
    let places = places.unwrap_or(Places {
        positional: operands.len(),
        keywords: Vec::new(),
    });
    let mut operands = operands.into_iter();
    let mut positional = operands.by_ref().take(places.positional);
    let mut bindings = Vec::new();
    for var in lambda.required {
        bindings.extend(positional.next().map(|operand| (var, operand)));
    }
    let mut defaults = Vec::new();
    for (var, default) in lambda.optional {
        match positional.next() {
            Some(operand) => bindings.push((var, operand)),
            None => defaults.push((var, default)),
        }
    }
    if let Some(rest) = lambda.rest {
        let list = Expr::call(span, primitive("list", span), positional.collect());
        bindings.push((rest, list));
    }
    // The remaining operands alternate between keywords and their values.
    let values = operands.skip(1).step_by(2);
    for (index, value) in places.keywords.iter().zip(values) {
        bindings.push((lambda.keywords[*index].1, value));
    }
    let absent = |index: &usize| !places.keywords.contains(index);
    let keywords = lambda.keywords.into_iter().enumerate();
    defaults.extend(
        keywords
            .filter(|(index, _)| absent(index))
            .map(|(_, (_, var, default))| (var, default)),
    );
    // A default sees the parameters before it, and is evaluated after all operands.
    let body = defaults
        .into_iter()
        .rev()
        .fold(lambda.body, |body, binding| bind(vec![binding], body, span));
    bind(bindings, body, span)
}
