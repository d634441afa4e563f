//! Static properties of an expression: its effects, its number of values, whether it is boolean.
//!
//! Every pass that removes, moves or copies an expression asks here. Answers are conservative:
//! *yes* is certain, *no* means unknown. Properties of primitives come from the rows of
//! `tables::primitives`, those of variables from usage counts, which the caller has to keep up to
//! date.

use canny_syntax::core::{Expr, ExprKind, GlobalName, PrimitiveId, VarId, VarTable};
use canny_syntax::datum::Datum;
use canny_tables::primitives::Flags;

use super::globals::Globals;
use super::usage::Usage;

/// The facts on which the answers depend.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The unit's variables.
    pub locals: &'a VarTable,
    /// Their mentions.
    pub usage: &'a [Usage],
    /// The known values of globals.
    pub globals: &'a Globals,
}

/// The primitive that an expression calls with an acceptable number of operands.
pub fn primitive_call(expr: &Expr) -> Option<(PrimitiveId, &[Expr])> {
    match &expr.kind {
        ExprKind::Call { operator, operands } => match operator.kind {
            ExprKind::PrimitiveRef(id) if id.row().accepts(operands.len()) => Some((id, operands)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the value is `#t` or `#f` whenever there is one.
pub fn is_boolean(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(datum) => matches!(datum, Datum::Boolean(_)),
        ExprKind::If(parts) => is_boolean(&parts[1]) && is_boolean(&parts[2]),
        ExprKind::Let { body, .. } | ExprKind::Letrec { body, .. } => is_boolean(body),
        ExprKind::Sequence(parts) => parts.last().is_some_and(is_boolean),
        ExprKind::Call { .. } => {
            primitive_call(expr).is_some_and(|(id, _)| id.row().signature.ends_with("-> boolean"))
        }
        _ => false,
    }
}

/// Whether the expression certainly gives one value: not none, and not several.
pub fn is_single_valued(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::PrimitiveRef(_)
        | ExprKind::Lambda(_)
        | ExprKind::CaseLambda(_) => true,
        ExprKind::Call { .. } => primitive_call(expr).is_some_and(|(id, _)| {
            let result = id
                .row()
                .signature
                .rsplit("->")
                .next()
                .unwrap_or_default()
                .trim();
            // An accessor may find an object that stands for several values.
            !result.starts_with("values") && result != "any" && !id.row().flags.has(Flags::FRAME)
        }),
        _ => false,
    }
}

/// Whether the value is certainly true or certainly false.
pub fn truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Constant(datum) => Some(!matches!(datum, Datum::Boolean(false))),
        ExprKind::Lambda(_) | ExprKind::CaseLambda(_) | ExprKind::PrimitiveRef(_) => Some(true),
        ExprKind::Let { body, .. } | ExprKind::Letrec { body, .. } => truth(body),
        ExprKind::Sequence(parts) => parts.last().and_then(truth),
        _ => None,
    }
}

impl Facts<'_> {
    /// Whether a variable has its value and keeps it wherever it is in scope.
    pub fn is_stable(&self, var: VarId) -> bool {
        let early = self
            .usage
            .get(var.0 as usize)
            .is_some_and(|usage| usage.may_be_early);
        !self.locals[var].assigned && !early
    }

    /// Whether reading a global cannot fail.
    fn is_defined(&self, global: &GlobalName) -> bool {
        self.globals.is_constant(global)
    }

    /// Whether the expression is small, certain to succeed and gives the same value at any time in
    /// its scope, so that it can stand for a variable bound to it.
    pub fn is_atom(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::PrimitiveRef(_) => true,
            ExprKind::LocalRef(var) => self.is_stable(*var),
            ExprKind::GlobalRef(global) => self.is_defined(global),
            _ => false,
        }
    }

    /// Whether evaluating the expression, at any time in its scope, has no effect, cannot fail and
    /// does not depend on effects of others.
    pub fn is_movable(&self, expr: &Expr) -> bool {
        self.is_atom(expr) || matches!(expr.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_))
    }

    /// Whether the expression can be left out when nobody needs its value.
    pub fn is_discardable(&self, expr: &Expr) -> bool {
        let all = |parts: &[Expr]| parts.iter().all(|part| self.is_discardable(part));
        match &expr.kind {
            ExprKind::Constant(_)
            | ExprKind::PrimitiveRef(_)
            | ExprKind::Lambda(_)
            | ExprKind::CaseLambda(_) => true,
            ExprKind::LocalRef(var) => !self
                .usage
                .get(var.0 as usize)
                .is_some_and(|usage| usage.may_be_early),
            ExprKind::GlobalRef(global) => self.is_defined(global),
            ExprKind::If(parts) => all(parts.as_slice()),
            ExprKind::Sequence(parts) => all(parts),
            ExprKind::Let { bindings, body } => {
                bindings.iter().all(|(_, init)| self.is_discardable(init))
                    && self.is_discardable(body)
            }
            ExprKind::Call { operands, .. } => {
                primitive_call(expr).is_some_and(|(id, _)| has_no_effect(id)) && all(operands)
            }
            _ => false,
        }
    }
}

/// Whether a call with the right number of operands does nothing but give a value.
pub fn has_no_effect(id: PrimitiveId) -> bool {
    id.row().flags.has(Flags::PURE.with(Flags::NEVER_RAISES))
}
