//! Simplifies binding forms: copy propagation, dead bindings, and moving a value to its only use.
//!
//! The order of evaluation stays: a value moves only past expressions that cannot observe it.
//! Nothing moves past the binding of an assigned variable, which a continuation that is entered
//! again may share.

use canny_syntax::core::{Expr, ExprKind, VarId};
use canny_syntax::datum::Datum;

use super::{Context, NOTHING, Simplifier, take};
use crate::optimize::effects::{is_boolean, is_single_valued, primitive_call};
use crate::walk::is_fixed;

impl Simplifier<'_> {
    pub(super) fn visit_let(&mut self, expr: &mut Expr, context: Context) {
        if let Some(test) = self.alternation(expr, context) {
            *expr = test;
            return self.visit(expr, context);
        }
        let span = expr.span;
        let ExprKind::Let { bindings, body } = std::mem::replace(&mut expr.kind, NOTHING) else {
            return;
        };
        let (mut bindings, mut body) = (bindings, *body);
        self.move_last_values(&mut bindings, &mut body);
        let mut kept: Vec<(VarId, Expr)> = Vec::with_capacity(bindings.len());
        for (var, mut init) in bindings {
            if self.locals[var].assigned {
                self.visit(&mut init, Context::Value);
                kept.push((var, init));
                continue;
            }
            let usage = self.usage(var);
            let is_procedure = matches!(init.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_));
            if is_procedure && usage.reads == 1 && usage.calls == 1 && self.spend() {
                self.pending.insert(var, init.kind);
                continue;
            }
            if is_procedure {
                self.procedures.insert(var);
            }
            let unused = usage.reads == 0;
            self.visit(
                &mut init,
                if unused {
                    Context::Effect
                } else {
                    Context::Value
                },
            );
            if unused && self.facts().is_discardable(&init) && self.spend() {
                continue;
            }
            if self.facts().is_atom(&init)
                && self.spend()
                && let Some(slot) = self.replacement.get_mut(var.0 as usize)
            {
                *slot = Some(init.kind);
                continue;
            }
            kept.push((var, init));
        }
        self.visit(&mut body, context);
        if let [(var, _)] = kept.as_slice()
            && self.usage(*var).reads == 0
            && !self.locals[*var].assigned
            && self.spend()
        {
            let mut parts: Vec<Expr> = kept.into_iter().map(|(_, init)| init).collect();
            parts.push(body);
            *expr = self.sequence(parts, span);
            return;
        }
        *expr = if kept.is_empty() {
            body
        } else {
            Expr::new(
                span,
                ExprKind::Let {
                    bindings: kept,
                    body: Box::new(body),
                },
            )
        };
    }

    /// Moves values to their only uses, from the last binding backwards, as long as that does not
    /// change the order of evaluation. Nothing moves past the binding of an assigned variable,
    /// which may be shared by a continuation that is entered again.
    fn move_last_values(&mut self, bindings: &mut Vec<(VarId, Expr)>, body: &mut Expr) {
        if bindings.iter().any(|(var, _)| self.locals[*var].assigned) {
            return;
        }
        while let Some((var, init)) = bindings.last_mut() {
            let movable = self.usage(*var).reads == 1 && !self.facts().is_movable(init);
            if !movable || !self.budget.allows() || !self.move_to_use(*var, init, body) {
                return;
            }
            self.spend();
            bindings.pop();
        }
    }

    /// `(let ((t e)) (if t t b))` as `(if e #t b)`, where only the truth matters or `e` is a
    /// boolean anyway.
    fn alternation(&mut self, expr: &mut Expr, context: Context) -> Option<Expr> {
        let ExprKind::Let { bindings, body } = &mut expr.kind else {
            return None;
        };
        let [(var, init)] = bindings.as_mut_slice() else {
            return None;
        };
        let ExprKind::If(parts) = &mut body.kind else {
            return None;
        };
        let is_var = |part: &Expr| matches!(part.kind, ExprKind::LocalRef(other) if other == *var);
        let shape = is_var(&parts[0]) && is_var(&parts[1]);
        if !shape || self.locals[*var].assigned || self.usage(*var).reads != 2 {
            return None;
        }
        if context == Context::Value && !is_boolean(init) {
            return None;
        }
        if !self.budget.spend() {
            return None;
        }
        self.changed = true;
        let yes = Expr::constant(parts[1].span, Datum::Boolean(true));
        let (init, alternative) = (take(init), take(&mut parts[2]));
        Some(Expr::conditional(expr.span, init, yes, alternative))
    }

    /// Puts a value in the place of its variable if that is what `body` evaluates first.
    fn move_to_use(&self, var: VarId, init: &mut Expr, body: &mut Expr) -> bool {
        match &mut body.kind {
            ExprKind::If(parts) => self.move_into(var, init, &mut parts[0]),
            ExprKind::Sequence(parts) => match parts.first_mut() {
                Some(first) => self.move_to_use(var, init, first),
                None => false,
            },
            ExprKind::Let { bindings, .. } => {
                self.move_into_first(var, init, &mut bindings.iter_mut().map(|(_, value)| value))
            }
            ExprKind::LocalSet(_, value) | ExprKind::GlobalSet(_, value) => {
                self.move_into(var, init, value)
            }
            ExprKind::Call { operator, operands } => {
                let mut parts = std::iter::once(&mut **operator).chain(operands);
                self.move_into_first(var, init, &mut parts)
            }
            _ => false,
        }
    }

    /// As [`Self::move_to_use`], for an expression whose value is used here.
    fn move_into(&self, var: VarId, init: &mut Expr, place: &mut Expr) -> bool {
        if matches!(place.kind, ExprKind::LocalRef(other) if other == var) {
            *place = take(init);
            return true;
        }
        self.move_to_use(var, init, place)
    }

    /// Looks at parts in the order of evaluation, as long as those before can wait.
    fn move_into_first(
        &self,
        var: VarId,
        init: &mut Expr,
        parts: &mut dyn Iterator<Item = &mut Expr>,
    ) -> bool {
        for part in parts {
            if self.move_into(var, init, part) {
                return true;
            }
            let waits = match &part.kind {
                // A replaced variable stands for an atom.
                ExprKind::LocalRef(other) => self.facts().is_stable(*other),
                _ => self.facts().is_movable(part),
            };
            if !waits {
                return false;
            }
        }
        false
    }

    pub(super) fn visit_letrec(&mut self, expr: &mut Expr, context: Context) {
        let ExprKind::Letrec { bindings, body, .. } = &mut expr.kind else {
            return;
        };
        let fixed = is_fixed(bindings, self.locals);
        if fixed && bindings.iter().all(|(var, _)| self.usage(*var).reads == 0) && self.spend() {
            *expr = take(body);
            return self.visit(expr, context);
        }
        if fixed {
            self.procedures.extend(bindings.iter().map(|(var, _)| *var));
        }
        for (_, init) in bindings.iter_mut() {
            self.visit(init, Context::Value);
        }
        self.visit(body, context);
    }

    pub(super) fn visit_let_values(&mut self, expr: &mut Expr, context: Context) {
        let ExprKind::LetValues {
            formals,
            init,
            body,
        } = &mut expr.kind
        else {
            return;
        };
        let direct = match primitive_call(init) {
            Some((id, operands)) => {
                id.row().name == "values"
                    && operands.len() == formals.required.len()
                    && formals.rest.is_none()
            }
            None => false,
        };
        if direct && self.budget.spend() {
            self.changed = true;
            let ExprKind::Call { operands, .. } = take(init).kind else {
                return;
            };
            let bindings = std::mem::take(&mut formals.required)
                .into_iter()
                .zip(operands)
                .collect();
            let body = Box::new(take(body));
            expr.kind = ExprKind::Let { bindings, body };
            return self.visit(expr, context);
        }
        if formals.rest.is_none()
            && is_single_valued(init)
            && self.budget.spend()
            && let [var] = formals.required.as_slice()
        {
            self.changed = true;
            let (bindings, body) = (vec![(*var, take(init))], Box::new(take(body)));
            expr.kind = ExprKind::Let { bindings, body };
            return self.visit(expr, context);
        }
        self.visit(init, Context::Value);
        self.visit(body, context);
    }
}
