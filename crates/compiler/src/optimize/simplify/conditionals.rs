//! Simplifies conditionals: constant and negated tests, boolean contexts, and branches that know
//! their test.
//!
//! In a branch of a test of a variable the variable's truth is known; so nested tests of it
//! disappear. In contexts where only truth matters, any true value may replace another.

use canny_syntax::core::{Expr, ExprKind, VarId};
use canny_syntax::datum::Datum;

use super::{Context, Simplifier, take};
use crate::optimize::effects::{is_boolean, primitive_call, truth};

impl Simplifier<'_> {
    pub(super) fn visit_if(&mut self, expr: &mut Expr, context: Context) {
        let ExprKind::If(parts) = &mut expr.kind else {
            return;
        };
        let [test, consequent, alternative] = &mut **parts;
        self.visit(test, Context::Test);
        while let Some((id, [_])) = primitive_call(test) {
            if id.row().name != "not" || !self.budget.spend() {
                break;
            }
            self.changed = true;
            if let ExprKind::Call { operands, .. } = &mut test.kind
                && let Some(operand) = operands.pop()
            {
                *test = operand;
            }
            std::mem::swap(consequent, alternative);
        }
        if let Some(known) = truth(test)
            && self.budget.spend()
        {
            self.changed = true;
            let mut branch = take(if known { consequent } else { alternative });
            self.visit(&mut branch, context);
            let (test, span) = (take(test), expr.span);
            *expr = self.sequence(vec![test, branch], span);
            return;
        }
        let fact = match test.kind {
            ExprKind::LocalRef(var) if self.facts().is_stable(var) => Some(var),
            _ => None,
        };
        self.visit_knowing(consequent, context, fact, true);
        self.visit_knowing(alternative, context, fact, false);
        self.finish_if(expr, context);
    }

    fn visit_knowing(
        &mut self,
        expr: &mut Expr,
        context: Context,
        fact: Option<VarId>,
        value: bool,
    ) {
        let before = fact.map(|var| (var, self.truths.insert(var, value)));
        self.visit(expr, context);
        match before {
            Some((var, Some(old))) => drop(self.truths.insert(var, old)),
            Some((var, None)) => drop(self.truths.remove(&var)),
            None => {}
        }
    }

    /// Simplifies a conditional whose parts have been visited.
    pub(super) fn finish_if(&mut self, expr: &mut Expr, context: Context) {
        let span = expr.span;
        let ExprKind::If(parts) = &mut expr.kind else {
            return;
        };
        let [test, consequent, alternative] = &mut **parts;
        let inert = |facts: super::Facts, part: &Expr| facts.is_discardable(part);
        if context == Context::Effect
            && inert(self.facts(), consequent)
            && inert(self.facts(), alternative)
        {
            if self.spend() {
                *expr = take_test(expr);
            }
            return;
        }
        let literal = |part: &Expr| match &part.kind {
            ExprKind::Constant(Datum::Boolean(value)) => Some(*value),
            ExprKind::Constant(_) if context == Context::Test => Some(true),
            _ => None,
        };
        let keeps_test = context == Context::Test || is_boolean(test);
        match (literal(consequent), literal(alternative)) {
            (Some(true), Some(false)) if keeps_test && self.spend() => {
                *expr = take_test(expr);
            }
            (Some(false), Some(true)) if self.spend() => {
                let test = take_test(expr);
                let not = crate::optimize::build::primitive("not", span);
                *expr = Expr::call(span, not, vec![test]);
            }
            _ => {}
        }
    }
}

fn take_test(expr: &mut Expr) -> Expr {
    match &mut expr.kind {
        ExprKind::If(parts) => take(&mut parts[0]),
        _ => take(expr),
    }
}
