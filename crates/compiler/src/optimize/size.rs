//! How large an expression is, for deciding about copies.

use canny_syntax::core::{Expr, ExprKind, Lambda};

use crate::walk::{for_each_child, for_each_lambda_child};

/// Size of an expression in instructions, roughly; stops counting at `limit`.
pub fn size(expr: &Expr, limit: usize) -> usize {
    let mut total = 0;
    add(expr, limit, &mut total);
    total
}

/// Size of a procedure's body and defaults.
pub fn body_size(lambda: &Lambda, limit: usize) -> usize {
    let mut total = 0;
    for_each_lambda_child(lambda, &mut |child| add(child, limit, &mut total));
    total
}

/// Size of a procedure as an expression.
pub fn lambda_size(lambda: &Lambda, limit: usize) -> usize {
    1 + body_size(lambda, limit)
}

fn add(expr: &Expr, limit: usize, total: &mut usize) {
    if *total >= limit {
        return;
    }
    *total += match &expr.kind {
        ExprKind::Constant(_) | ExprKind::LocalRef(_) | ExprKind::PrimitiveRef(_) => 0,
        ExprKind::Sequence(_) | ExprKind::Let { .. } | ExprKind::Letrec { .. } => 0,
        ExprKind::Call { operator, operands } => match operator.kind {
            ExprKind::PrimitiveRef(_) => 1,
            _ => 2 + operands.len(),
        },
        _ => 1,
    };
    for_each_child(expr, &mut |child| add(child, limit, total));
}
