//! `assert`: a failure shows the expression and the values of the variables in it.
//!
//! ```text
//! (assert expression irritant …)
//! ```

use std::collections::HashSet;

use crate::core::{Expr, ExprKind, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Syntax;

/// More variables are not shown.
const VARIABLES_MAX: usize = 10;

/// The variables of an expression that are bound outside of it, in the order of their first uses as values.
#[derive(Default)]
struct Variables {
    found: Vec<(Name, Expr)>,
    seen: HashSet<VarId>,
    bound: HashSet<VarId>,
}

impl Expander<'_> {
    pub(crate) fn assert(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let Some((syntax, irritants)) = operands.split_first() else {
            return self.bad_expression(CoreForm::Assert, span, "expected an expression");
        };
        let test = self.expand(syntax, scope);
        let mut variables = Variables::default();
        self.note_variables(&test, &mut variables);
        let constant = |datum| Expr::constant(span, datum);
        let datum = syntax.to_datum();
        let shown = if datum.has_open_labels() {
            Datum::Boolean(false)
        } else {
            datum
        };
        let mut parts = vec![constant(shown)];
        parts.extend(
            irritants
                .iter()
                .map(|irritant| self.expand(irritant, scope)),
        );
        if !variables.found.is_empty() {
            parts.push(constant(Datum::Symbol(Name::new("where"))));
        }
        for (name, value) in variables.found {
            let equation = vec![
                constant(Datum::Symbol(name)),
                constant(Datum::Symbol(Name::new("="))),
                value,
            ];
            parts.push(self.primitive_call("list", equation, span));
        }
        let list = self.primitive_call("list", parts, span);
        let failure = self.primitive_call("%assertion-failure", vec![list], span);
        Expr::conditional(span, test, Expr::unspecified(span), failure)
    }

    fn note_variables(&self, expr: &Expr, variables: &mut Variables) {
        match &expr.kind {
            ExprKind::LocalRef(variable) => {
                let is_new =
                    !variables.bound.contains(variable) && variables.seen.insert(*variable);
                if is_new && variables.found.len() < VARIABLES_MAX {
                    let name = self.locals[*variable].name;
                    variables.found.push((name, expr.clone()));
                }
            }
            ExprKind::GlobalRef(global) => {
                let own = global.library == *self.environment.key();
                let is_new = variables.found.iter().all(|(name, _)| *name != global.name);
                let is_bound = self.environment.lookup(global.name).is_some();
                if own && is_bound && is_new && variables.found.len() < VARIABLES_MAX {
                    variables.found.push((global.name, expr.clone()));
                }
            }
            ExprKind::If(parts) => parts
                .iter()
                .for_each(|part| self.note_variables(part, variables)),
            ExprKind::Sequence(parts) => {
                parts
                    .iter()
                    .for_each(|part| self.note_variables(part, variables));
            }
            ExprKind::Let { bindings, body } | ExprKind::Letrec { bindings, body, .. } => {
                variables
                    .bound
                    .extend(bindings.iter().map(|(variable, _)| *variable));
                for (_, value) in bindings {
                    self.note_variables(value, variables);
                }
                self.note_variables(body, variables);
            }
            ExprKind::Call { operator, operands } => {
                // The name of a called procedure says enough; its value is not shown.
                if !matches!(
                    operator.kind,
                    ExprKind::LocalRef(_) | ExprKind::GlobalRef(_)
                ) {
                    self.note_variables(operator, variables);
                }
                for operand in operands {
                    self.note_variables(operand, variables);
                }
            }
            // Expressions inside of procedures may never be evaluated.
            ExprKind::Lambda(_)
            | ExprKind::CaseLambda(_)
            | ExprKind::LetValues { .. }
            | ExprKind::Constant(_)
            | ExprKind::PrimitiveRef(_)
            | ExprKind::LocalSet(..)
            | ExprKind::GlobalSet(..) => {}
        }
    }
}
