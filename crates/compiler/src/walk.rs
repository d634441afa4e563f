//! Visits the subexpressions of core expressions, stated once for every kind.
//!
//! Children come in the order of evaluation, and each exactly once. Passes use this for the kinds
//! that they do not treat themselves. Visits are not recursive; the pass itself decides whether to
//! descend. Questions that passes before and after the optimizer ask of an expression are here too:
//! [`is_fixed`], [`has_plain_parameters`] and [`never_returns`]. Nothing here depends on a pass.

use canny_syntax::core::{Expr, ExprKind, Lambda, TopForm, VarId, VarTable};
use canny_tables::primitives::Flags;

/// The expression of a top-level form.
pub fn form_expr(form: &TopForm) -> &Expr {
    match form {
        TopForm::Define(_, expr) | TopForm::Expression(expr) => expr,
    }
}

/// The same, to be changed.
pub fn form_expr_mut(form: &mut TopForm) -> &mut Expr {
    match form {
        TopForm::Define(_, expr) | TopForm::Expression(expr) => expr,
    }
}

/// Calls `visit` for each direct subexpression, in the order of evaluation.
pub fn for_each_child_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Constant(_)
        | ExprKind::LocalRef(_)
        | ExprKind::GlobalRef(_)
        | ExprKind::PrimitiveRef(_) => {}
        ExprKind::LocalSet(_, value) | ExprKind::GlobalSet(_, value) => visit(value),
        ExprKind::If(parts) => parts.iter_mut().for_each(visit),
        ExprKind::Lambda(lambda) => for_each_lambda_child_mut(lambda, visit),
        ExprKind::CaseLambda(clauses) => {
            for clause in clauses {
                for_each_lambda_child_mut(clause, visit);
            }
        }
        ExprKind::Sequence(parts) => parts.iter_mut().for_each(visit),
        ExprKind::Let { bindings, body } | ExprKind::Letrec { bindings, body, .. } => {
            bindings.iter_mut().for_each(|(_, init)| visit(init));
            visit(body);
        }
        ExprKind::LetValues { init, body, .. } => {
            visit(init);
            visit(body);
        }
        ExprKind::Call { operator, operands } => {
            visit(operator);
            operands.iter_mut().for_each(visit);
        }
    }
}

/// Calls `visit` for the defaults and the body of a procedure.
pub fn for_each_lambda_child_mut(lambda: &mut Lambda, visit: &mut dyn FnMut(&mut Expr)) {
    lambda
        .optional
        .iter_mut()
        .for_each(|(_, default)| visit(default));
    lambda
        .keywords
        .iter_mut()
        .for_each(|(_, _, default)| visit(default));
    visit(&mut lambda.body);
}

/// Calls `visit` for each direct subexpression, in the order of evaluation.
pub fn for_each_child<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::LocalRef(_)
        | ExprKind::GlobalRef(_)
        | ExprKind::PrimitiveRef(_) => {}
        ExprKind::LocalSet(_, value) | ExprKind::GlobalSet(_, value) => visit(value),
        ExprKind::If(parts) => parts.iter().for_each(visit),
        ExprKind::Lambda(lambda) => for_each_lambda_child(lambda, visit),
        ExprKind::CaseLambda(clauses) => {
            for clause in clauses {
                for_each_lambda_child(clause, visit);
            }
        }
        ExprKind::Sequence(parts) => parts.iter().for_each(visit),
        ExprKind::Let { bindings, body } | ExprKind::Letrec { bindings, body, .. } => {
            bindings.iter().for_each(|(_, init)| visit(init));
            visit(body);
        }
        ExprKind::LetValues { init, body, .. } => {
            visit(init);
            visit(body);
        }
        ExprKind::Call { operator, operands } => {
            visit(operator);
            operands.iter().for_each(visit);
        }
    }
}

/// Calls `visit` for the defaults and the body of a procedure.
pub fn for_each_lambda_child<'a>(lambda: &'a Lambda, visit: &mut dyn FnMut(&'a Expr)) {
    lambda
        .optional
        .iter()
        .for_each(|(_, default)| visit(default));
    lambda
        .keywords
        .iter()
        .for_each(|(_, _, default)| visit(default));
    visit(&lambda.body);
}

/// Whether the procedure takes required parameters only.
pub fn has_plain_parameters(lambda: &Lambda) -> bool {
    lambda.optional.is_empty()
        && lambda.keywords.is_empty()
        && lambda.rest.is_none()
        && !lambda.allow_other_keys
}

/// Whether the bindings are procedures bound to variables that nobody assigns.
pub fn is_fixed(bindings: &[(VarId, Expr)], locals: &VarTable) -> bool {
    bindings
        .iter()
        .all(|(var, init)| is_procedure(init) && !locals[*var].assigned)
}

/// Whether the expression makes a procedure.
pub fn is_procedure(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_))
}

/// Procedures of `(canny machine control)` that do not return.
const NEVER_RETURNING: [&str; 4] = ["raise", "error", "exit", "emergency-exit"];

/// Whether a call certainly does not return to its place.
pub fn never_returns(expr: &Expr) -> bool {
    let ExprKind::Call { operator, .. } = &expr.kind else {
        return false;
    };
    match &operator.kind {
        ExprKind::PrimitiveRef(id) => id.row().flags.has(Flags::NEVER_RETURNS),
        ExprKind::GlobalRef(global) => {
            global.library.as_str() == "(canny machine control)"
                && NEVER_RETURNING.contains(&global.name.as_str())
        }
        _ => false,
    }
}
