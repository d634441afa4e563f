//! Small constructors of core expressions.

use canny_syntax::core::{Expr, ExprKind, Lambda, VarId};
use canny_syntax::name::Name;
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

/// A procedure with required parameters only.
pub fn procedure(name: Option<Name>, required: Vec<VarId>, body: Expr, span: Span) -> Expr {
    let lambda = Lambda {
        name,
        required,
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        body,
        span,
    };
    Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
}

/// A procedure without parameters.
pub fn thunk(body: Expr) -> Expr {
    let span = body.span;
    procedure(None, Vec::new(), body, span)
}

/// The body with variables bound, if there are any.
pub fn bind(bindings: Vec<(VarId, Expr)>, body: Expr, span: Span) -> Expr {
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
