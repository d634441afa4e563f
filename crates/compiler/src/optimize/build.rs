//! Small constructors of core expressions.

use canny_syntax::core::{Expr, ExprKind, Lambda, VarId};
use canny_syntax::span::Span;
use canny_tables::primitives;

/// A reference to a local variable.
pub fn local(var: VarId, span: Span) -> Expr {
    Expr::new(span, ExprKind::LocalRef(var))
}

/// A reference to the primitive called `name`, which must exist.
pub fn primitive(name: &'static str, span: Span) -> Expr {
    match primitives::lookup(name) {
        Some(id) => Expr::new(span, ExprKind::PrimitiveRef(id)),
        None => unreachable!("primitive {name} exists"),
    }
}

/// A procedure without parameters.
pub fn thunk(body: Expr) -> Expr {
    let span = body.span;
    let lambda = Lambda {
        name: None,
        required: Vec::new(),
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        body,
        span,
    };
    Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
}
