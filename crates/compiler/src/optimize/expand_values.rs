//! Turns `call-with-values` into binding forms and plain calls.
//!
//! On exit no primitive call of `call-with-values` with two operands is left:
//! - with a consumer that is a `lambda` of required and rest parameters it becomes
//!   [`ExprKind::LetValues`], so that values can go straight to their variables;
//! - otherwise it becomes a call of the producer whose values `%apply-values` hands to the
//!   consumer, so that no frame of `call-with-values` is needed.
//!
//! A producer that is a `lambda` without parameters is replaced by its body. Not optional.

use canny_syntax::core::{Expr, ExprKind, Formals, Lambda, Unit, VarTable};
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::build::{local, primitive};
use crate::walk::{for_each_child_mut, form_expr_mut, has_plain_parameters};

/// Rewrites a unit.
pub fn run(unit: &mut Unit) {
    for form in &mut unit.body {
        visit(form_expr_mut(form), &mut unit.locals);
    }
}

fn visit(expr: &mut Expr, locals: &mut VarTable) {
    if is_call_with_values(expr) {
        rewrite(expr, locals);
    }
    for_each_child_mut(expr, &mut |child| visit(child, locals));
}

/// Whether this is a call that [`rewrite`] knows.
pub fn is_call_with_values(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { operator, operands } => match operator.kind {
            ExprKind::PrimitiveRef(id) => {
                operands.len() == 2 && id.row().name == "call-with-values"
            }
            _ => false,
        },
        _ => false,
    }
}

/// Rewrites one call.
pub fn rewrite(expr: &mut Expr, locals: &mut VarTable) {
    let span = expr.span;
    let ExprKind::Call { operands, .. } = &mut expr.kind else {
        return;
    };
    let (Some(consumer), Some(producer)) = (operands.pop(), operands.pop()) else {
        return;
    };
    let mut bindings = Vec::new();
    let mut name = |expr: Expr, name: &str| {
        if matches!(expr.kind, ExprKind::PrimitiveRef(_) | ExprKind::Lambda(_)) {
            return expr;
        }
        let var = locals.add(Name::new(name), span);
        bindings.push((var, expr));
        local(var, span)
    };
    let producer = name(producer, "producer");
    let consumer = name(consumer, "consumer");
    let values = call_thunk(producer, span);
    let kind = match consumer.kind {
        ExprKind::Lambda(lambda) if takes_values(&lambda) => ExprKind::LetValues {
            formals: Formals {
                required: lambda.required,
                rest: lambda.rest,
            },
            init: Box::new(values),
            body: Box::new(lambda.body),
        },
        kind => {
            let operator = primitive("%apply-values", span);
            Expr::call(span, operator, vec![Expr::new(consumer.span, kind), values]).kind
        }
    };
    expr.kind = if bindings.is_empty() {
        kind
    } else {
        ExprKind::Let {
            bindings,
            body: Box::new(Expr::new(span, kind)),
        }
    };
}

fn takes_values(lambda: &Lambda) -> bool {
    lambda.optional.is_empty() && lambda.keywords.is_empty() && !lambda.allow_other_keys
}

/// The value of a call without arguments.
fn call_thunk(procedure: Expr, span: Span) -> Expr {
    match procedure.kind {
        ExprKind::Lambda(lambda) if lambda.required.is_empty() && has_plain_parameters(&lambda) => {
            lambda.body
        }
        kind => Expr::call(span, Expr::new(procedure.span, kind), Vec::new()),
    }
}
